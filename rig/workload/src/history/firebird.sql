-- How Firebird is made to read the rows of a history by each of its access paths, and what is made in transactions: tables, and indexes
-- and columns of the rows of all.

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

-- name: create_index
create index history_rows_made_{terminal} on history_rows (version)

-- name: drop_index
drop index history_rows_made_{terminal}

-- Without a default: a statement that another session has prepared before does not know it.
-- name: add_column
alter table history_rows add extra_{terminal} integer

-- name: drop_column
alter table history_rows drop extra_{terminal}

-- name: made_indexes
select trim(lower(rdb$index_name)) from rdb$indices where rdb$index_name starting with 'HISTORY_ROWS_MADE_'

-- name: by_made_index
select id, owner, version, grp, uniq from history_rows where version >= 0 plan (history_rows index (history_rows_made_{terminal}))

-- name: added_columns
select trim(lower(rdb$field_name)) from rdb$relation_fields
where rdb$relation_name = 'HISTORY_ROWS' and rdb$field_name starting with 'EXTRA_'

-- name: added_column
select id, coalesce(extra_{terminal}, {extra}) from history_rows
