\set indexed random(1, rows(sbtest))
\set other random(1, rows(sbtest))
\set replaced random(1, rows(sbtest))
\set k random(1, rows(sbtest))
\set c digits(119)
\set pad digits(59)
begin;
\repeat 10
\set id random(1, rows(sbtest))
select c from sbtest where id = :id;
\expect 1
\endrepeat
\set first random(1, rows(sbtest))
\set last :first + 99
select c from sbtest where id between :first and :last;
\expect least(100, rows(sbtest) - :first + 1)
\set first random(1, rows(sbtest))
\set last :first + 99
select sum(k) from sbtest where id between :first and :last;
\expect 1
\set first random(1, rows(sbtest))
\set last :first + 99
select c from sbtest where id between :first and :last order by c;
\expect least(100, rows(sbtest) - :first + 1)
\set first random(1, rows(sbtest))
\set last :first + 99
select distinct c from sbtest where id between :first and :last order by c;
\expect least(100, rows(sbtest) - :first + 1)
update sbtest set k = k + 1 where id = :indexed;
\expect 1
update sbtest set c = :c where id = :other;
\expect 1
delete from sbtest where id = :replaced;
\expect 1
insert into sbtest (id, k, c, pad) values (:replaced, :k, :c, :pad);
commit;
