dbset("db", "maria")
dbset("bm", "TPC-C")
diset("tpcc", "maria_count_ware", "100")
vuset("vu", "16")
