-- How MySQL and MariaDB are made to read the rows of a history by each of their access paths. What makes a table commits, so
-- that a history has none of that.

-- name: natural
select id, owner, version, grp, uniq, payload, body from history_rows use index ()

-- name: by_key
select id, owner, version, grp, uniq from history_rows force index (primary) where id >= 0 order by id

-- name: by_group
select id, owner, version, grp, uniq from history_rows force index (history_rows_group) where grp >= 0 order by grp

-- name: by_unique
select id, owner, version, grp, uniq from history_rows force index (history_rows_unique) where uniq >= 0 order by uniq

-- name: by_owner
select id, owner, version, grp, uniq from history_rows force index (history_rows_owner) where owner >= 0 order by owner

-- name: entries
select grp, id from history_rows force index (history_rows_group) where grp >= 0

-- name: looked_up
select id, owner, version, grp, uniq from history_rows force index (primary) where id in ({ids})
