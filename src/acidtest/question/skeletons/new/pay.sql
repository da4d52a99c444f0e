-- One transaction. \set works out a value, and :name puts it into a statement. \gset keeps what a query answers.
-- docs/SCRIPTS.md has the whole language: a script of pgbench's runs as it is.
\set payer random(1, 1000 * :scale)
\set payee random(1, 1000 * :scale)
\set amount random(1, 100)
\set payment random(1, 9000000000000000)
begin;
update account set balance = balance - :amount where id = :payer;
update account set balance = balance + :amount where id = :payee;
insert into payment (id, payer, payee, amount) values (:payment, :payer, :payee, :amount);
commit;
