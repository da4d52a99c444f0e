-- All accounts together hold what they began with.
select id from account where id = 1
  and (select sum(balance) from account) <> 1000 * (select count(*) from account);
-- Each payment is of an account that there is.
select p.id from payment p where not exists (select 1 from account a where a.id = p.payer);
