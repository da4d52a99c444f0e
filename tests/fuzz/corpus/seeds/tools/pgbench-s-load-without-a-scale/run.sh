pgbench -i bench
