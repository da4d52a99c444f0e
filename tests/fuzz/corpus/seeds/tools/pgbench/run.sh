CLIENTS=64
pgbench -c $CLIENTS -j 8 \
  -T 60 -M prepared -C -f own.sql@3 -f other.sql bench > out.txt
