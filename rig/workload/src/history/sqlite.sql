-- How SQLite is made to read the rows of a history by each of its access paths, and what is made in transactions: tables, and indexes
-- and columns of the rows of all.

-- name: natural
select id, owner, version, grp, uniq, payload, body from history_rows not indexed

-- name: by_key
select id, owner, version, grp, uniq from history_rows where id >= 0 order by id

-- name: by_group
select id, owner, version, grp, uniq from history_rows indexed by history_rows_group where grp >= 0 order by grp

-- name: by_unique
select id, owner, version, grp, uniq from history_rows indexed by history_rows_unique where uniq >= 0 order by uniq

-- name: by_owner
select id, owner, version, grp, uniq from history_rows indexed by history_rows_owner where owner >= 0 order by owner

-- name: entries
select grp, id from history_rows indexed by history_rows_group where grp >= 0

-- name: looked_up
select id, owner, version, grp, uniq from history_rows where id in ({ids})

-- name: create
-- rows: in the same transaction
create table history_own_{terminal} (id {key}, v bigint)

-- name: create
create index history_own_{terminal}_v on history_own_{terminal} (v)

-- name: own
select name from sqlite_master where type = 'table' and name like 'history_own_%'

-- name: own_by_index
select id, v from history_own_{terminal} indexed by history_own_{terminal}_v where v >= 0 order by v

-- name: create_index
create index history_rows_made_{terminal} on history_rows (version)

-- name: drop_index
drop index history_rows_made_{terminal}

-- name: add_column
alter table history_rows add extra_{terminal} integer default {extra} not null

-- name: drop_column
alter table history_rows drop extra_{terminal}

-- name: made_indexes
select name from sqlite_master where type = 'index' and name like 'history_rows_made_%'

-- name: by_made_index
select id, owner, version, grp, uniq from history_rows indexed by history_rows_made_{terminal} where version >= 0

-- name: added_columns
select name from pragma_table_info('history_rows') where name like 'extra_%'

-- name: added_column
select id, extra_{terminal} from history_rows
