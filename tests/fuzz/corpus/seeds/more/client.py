import psycopg

SETTINGS = {"shared_buffers": "4GB", "synchronous_commit": "off"}
PGBENCH = "pgbench -c 16 -j 4 -T 60 -M prepared bench"
conn = psycopg.connect("dbname=bench", options="-c synchronous_commit=off")
conn.execute("SET GLOBAL innodb_flush_log_at_trx_commit = 2")
db.execute("PRAGMA journal_mode=WAL")
