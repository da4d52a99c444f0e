-- SQLite sorts a subquery into a separate table, so the sorted read answers row by row.

-- name: natural
-- says: ["scan scan"]
-- never: ["index"]
select count(*), sum(amount) from scan not indexed

-- name: sorted
-- says: ["scan scan", "temp b-tree for order by"]
-- never: ["index"]
select 1, amount from scan not indexed order by filler

-- name: indexed
-- says: ["using index scan_ordinal"]
-- never: ["temp b-tree"]
select count(*), sum(amount) from scan indexed by scan_ordinal where ordinal > 0
