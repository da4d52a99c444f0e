./bin/ycsb run jdbc -P workloads/workloadb -threads 32 -p recordcount=1000 -p db.passwd=x
