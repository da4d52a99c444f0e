pgbench -i -s 10 bench
