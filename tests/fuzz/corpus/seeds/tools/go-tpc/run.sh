go-tpc tpcc --warehouses 100 run -T 64 --time 30m --isolation 4
