psql -c "ALTER SYSTEM SET shared_buffers = '1GB'"
psql -c "SELECT pg_reload_conf()"
