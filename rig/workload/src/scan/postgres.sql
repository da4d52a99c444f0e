-- There are no words for a plan in a query: settings of the session make it.

-- One process reads, as on the other engines.
-- name: settings
set max_parallel_workers_per_gather = 0

-- name: settings_indexed
set enable_seqscan = off

-- name: settings_indexed
set enable_bitmapscan = off

-- Otherwise the first to read marks the rows as committed, which is writing.
-- name: loaded
vacuum (freeze, analyze) scan

-- name: natural
-- says: ["seq scan on scan"]
-- never: ["index", "sort", "gather"]
select count(*), sum(amount) from scan

-- name: sorted
-- says: ["sort key: scan.filler", "seq scan on scan"]
-- never: ["index", "gather"]
select count(*), sum(amount) from (select amount from scan order by filler) sorted

-- name: indexed
-- says: ["index scan using scan_ordinal on scan"]
-- never: ["sort", "bitmap", "gather"]
select count(*), sum(amount) from scan where ordinal > 0
