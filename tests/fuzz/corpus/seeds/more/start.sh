#!/bin/sh
docker compose -f compose.bench.yml up -d
pgbench -T 60 -c 8 bench
