-- Terminals and runs take turns, so that no two use the same number.
\set sent :sent + 1
\set id 1000 + (:run * 1000000000 + :sent) * 10000 + :client_id
\set payload text(100)
begin;
insert into job (id, done, payload) values (:id, 0, :payload);
commit;
