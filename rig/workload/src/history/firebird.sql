-- How Firebird is made to read the rows of a history by each of its access paths, and tables that are made in transactions.

alter table history_rows add constraint history_rows_key primary key (id)

-- name: natural
select id, owner, version, grp, uniq, payload, body from history_rows plan (history_rows natural)

-- name: by_key
select id, owner, version, grp, uniq from history_rows plan (history_rows order history_rows_key) order by id

-- name: by_group
select id, owner, version, grp, uniq from history_rows plan (history_rows order history_rows_group) order by grp

-- name: by_unique
select id, owner, version, grp, uniq from history_rows plan (history_rows order history_rows_unique) order by uniq

-- name: by_owner
select id, owner, version, grp, uniq from history_rows where owner >= 0 plan (history_rows index (history_rows_owner))

-- name: looked_up
select id, owner, version, grp, uniq from history_rows where id in ({ids}) plan (history_rows index (history_rows_key))

-- name: create
create table history_own_{terminal} (id {key}, v bigint)

-- name: create
create index history_own_{terminal}_v on history_own_{terminal} (v)

-- name: own
select trim(lower(rdb$relation_name)) from rdb$relations where rdb$relation_name starting with 'HISTORY_OWN_'

-- name: own_by_index
select id, v from history_own_{terminal} plan (history_own_{terminal} order history_own_{terminal}_v) order by v
