\set id random(1, rows(sbtest))
select c from sbtest where id = :id;
\expect 1
