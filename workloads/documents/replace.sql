\set id random(1, rows(document))
\set content text(1024 * :kib)
begin;
update document set content = :content, version = version + 1 where id = :id;
\expect 1
commit;
