psql -c 'ALTER SYSTEM SET max_connections = 500'
psql -c 'SELECT pg_reload_conf()'
