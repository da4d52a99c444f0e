-- How PostgreSQL is made to read the rows of a history by each of its access paths, and what is made in transactions: tables, and indexes
-- and columns of the rows of all.

alter table history_rows add constraint history_rows_key primary key (id)

-- name: naturally
set enable_indexscan = off

-- name: naturally
set enable_indexonlyscan = off

-- name: naturally
set enable_bitmapscan = off

-- name: natural
select id, owner, version, grp, uniq, payload, body from history_rows

-- name: by_indexes
reset enable_indexscan

-- name: by_indexes
reset enable_indexonlyscan

-- name: by_indexes
reset enable_bitmapscan

-- name: by_indexes
set enable_seqscan = off

-- name: by_indexes
set enable_sort = off

-- name: by_key
select id, owner, version, grp, uniq from history_rows where id >= 0 order by id

-- name: by_group
select id, owner, version, grp, uniq from history_rows where grp >= 0 order by grp

-- name: by_unique
select id, owner, version, grp, uniq from history_rows where uniq >= 0 order by uniq

-- name: by_owner
select id, owner, version, grp, uniq from history_rows where owner >= 0 order by owner, version

-- name: entries
select grp, id from history_rows where grp >= 0 order by grp

-- name: looked_up
select id, owner, version, grp, uniq from history_rows where id in ({ids})

-- name: as_before
reset enable_seqscan

-- name: as_before
reset enable_sort

-- name: create
-- rows: in the same transaction
create table history_own_{terminal} (id {key}, v bigint)

-- name: create
create index history_own_{terminal}_v on history_own_{terminal} (v)

-- name: own
select tablename from pg_tables where tablename like 'history_own_%'

-- name: own_by_index
select id, v from history_own_{terminal} where v >= 0 order by v

-- name: create_index
create index history_rows_made_{terminal} on history_rows (version)

-- name: drop_index
drop index history_rows_made_{terminal}

-- name: add_column
alter table history_rows add extra_{terminal} integer default {extra} not null

-- name: drop_column
alter table history_rows drop extra_{terminal}

-- name: made_indexes
select indexname from pg_indexes where tablename = 'history_rows' and indexname like 'history_rows_made_%'

-- name: by_made_index
select id, owner, version, grp, uniq from history_rows where version >= 0 order by version

-- name: added_columns
select attname from pg_attribute where attrelid = 'history_rows'::regclass and not attisdropped and attname like 'extra_%'

-- name: added_column
select id, extra_{terminal} from history_rows
