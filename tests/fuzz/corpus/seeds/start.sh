N=4G
docker run --name a -e X=1 mysql:8 --sync-binlog=0 \
  --innodb-io-capacity=$N
su - postgres -c "pg_ctl -o '-c jit=off -F' start"
cat >> postgresql.conf <<EOF
shared_buffers = $N
EOF
echo "fsync = off" >> postgresql.conf
sqlite3 a.db "PRAGMA journal_mode=WAL"
psql -c "ALTER SYSTEM SET work_mem TO '8MB'"
