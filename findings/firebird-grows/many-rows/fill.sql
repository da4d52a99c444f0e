begin;
\repeat 1000
\set sent :sent + 1
\set id (:run * 1000000000 + :sent) * 10000 + :client_id
\set content text(1000)
insert into entry (id, content) values (:id, :content);
\endrepeat
commit;
