-- MySQL leaves out a sort in a subquery, which nobody sees, so the sorted read answers row by row.

-- name: natural
-- says: [" scan all "]
-- never: ["filesort"]
select count(*), sum(amount) from scan use index ()

-- name: sorted
-- says: [" scan all ", "using filesort"]
-- never: ["using temporary"]
select 1, amount from scan use index () order by filler

-- Multi-range read would sort the rows by their key before it reads them.
-- name: indexed
-- says: [" scan range scan_ordinal "]
-- never: ["mrr", "filesort"]
select count(*), sum(amount) from scan force index (scan_ordinal) where ordinal > 0
