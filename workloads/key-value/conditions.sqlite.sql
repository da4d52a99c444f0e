-- Every field is whole.
select ycsb_key from usertable where length(field3) <> 100 or length(field5) <> 100;
-- No loaded record is gone.
select count(*) from usertable where ycsb_key <= 1000 * :thousands having count(*) <> 1000 * :thousands;
