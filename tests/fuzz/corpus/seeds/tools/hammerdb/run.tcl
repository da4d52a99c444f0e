dbset db pg
dbset bm TPROC-C
diset tpcc pg_count_ware 100
diset tpcc pg_rampup 2
diset tpcc pg_duration 5
diset tpcc pg_superuserpass x
vuset vu 16
vucreate
