\set drawn random_zipfian(1, rows(usertable), 0.99)
\set key 1 + mod(abs(hash_fnv1a(:drawn) / 2), rows(usertable))
\set value text(100)
begin;
update usertable set field3 = :value where ycsb_key = :key;
\expect 1
commit;
