\set written :written + 1
\set id (:run * 1000000000 + :written) * 10000 + :client_id
\set message text(150, 200)
begin;
insert into event (id, terminal, number, message) values (:id, :client_id, :written, :message);
commit;
