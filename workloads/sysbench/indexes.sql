create index k_1 on sbtest (k);
