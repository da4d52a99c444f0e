-- Accounts and tellers have the same balance together.
select 1 from pgbench_branches where bid = 1
  and (select sum(abalance) from pgbench_accounts) <> (select sum(tbalance) from pgbench_tellers);
-- Branches and tellers have the same balance together.
select 1 from pgbench_branches where bid = 1
  and (select sum(bbalance) from pgbench_branches) <> (select sum(tbalance) from pgbench_tellers);
