\set drawn random_zipfian(1, rows(usertable), 0.99)
\set key 1 + mod(abs(hash_fnv1a(:drawn) / 2), rows(usertable))
\set value text(100)
begin;
select field0, field1, field2, field3, field4, field5, field6, field7, field8, field9 from usertable where ycsb_key = :key;
\expect 1
update usertable set field5 = :value where ycsb_key = :key;
\expect 1
commit;
