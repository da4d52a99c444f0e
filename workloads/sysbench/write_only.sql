\set indexed random(1, rows(sbtest))
\set other random(1, rows(sbtest))
\set replaced random(1, rows(sbtest))
\set k random(1, rows(sbtest))
\set c digits(119)
\set pad digits(59)
begin;
update sbtest set k = k + 1 where id = :indexed;
\expect 1
update sbtest set c = :c where id = :other;
\expect 1
delete from sbtest where id = :replaced;
\expect 1
insert into sbtest (id, k, c, pad) values (:replaced, :k, :c, :pad);
commit;
