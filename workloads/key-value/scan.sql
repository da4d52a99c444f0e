\set key random(1, rows(usertable))
\set length random(1, 100)
select ycsb_key, field0 from usertable where ycsb_key >= :key order by ycsb_key limit :length;
