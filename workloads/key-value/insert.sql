-- Terminals and runs take turns, so that no two insert the same key.
\set inserted :inserted + 1
\set key rows(usertable) + (:run * 1000000000 + :inserted) * 10000 + :client_id
\set value text(100)
begin;
insert into usertable (ycsb_key, field0, field1, field2, field3, field4, field5, field6, field7, field8, field9)
  values (:key, :value, :value, :value, :value, :value, :value, :value, :value, :value, :value);
commit;
