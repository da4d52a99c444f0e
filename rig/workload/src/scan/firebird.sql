-- name: natural
-- says: ["table \"scan\" full scan"]
-- never: ["index", "sort"]
select count(*), sum(amount) from scan plan (scan natural)

-- With "refetch" the sort would be of keys only, and the rows read again in its order.
-- name: sorted
-- says: ["-> sort", "full scan"]
-- never: ["index", "refetch"]
select count(*), sum(amount) from (select amount from scan plan (scan natural) order by filler) sorted

-- A bitmap would be read in the order of the table.
-- name: indexed
-- says: ["index \"scan_ordinal\""]
-- never: ["-> sort", "bitmap"]
select count(*), sum(amount) from (select amount from scan plan (scan order scan_ordinal) order by ordinal) sorted
