\set id random(1, rows(sbtest))
update sbtest set k = k + 1 where id = :id;
\expect 1
