\set account random(1, 1000 * :scale)
select name, balance from account where id = :account;
select payee, amount from payment where payer = :account;
