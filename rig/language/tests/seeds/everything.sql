\set a random(1, 10 * :scale) + abs(-3) % 7 \
  - 1
\set b case when :a > 5 and not :a is null then 1.5e0 else pow(2, :a) end
\if :a >= 2 or :b <> 1
begin isolation level serializable;
select 1 as x, ':a' as y \gset p_
\elif :a << 2 | 1 # 3 & 7 = 1
start transaction;
select 2 \; select 3 \aset
\else
begin;
savepoint s; rollback to s;
\endif
update t set a = a + :a where b = :b and c = 'it''s :a' and d[1:2] = '{1}'::int[];
\expect 1
\repeat 3
insert into t values (E'\\n', $$:a$$, "q", /* c /* n */ */ :p_x); -- end
\endrepeat
\sleep :a us
commit;
\startpipeline
select 1;
\syncpipeline
select 2;
\endpipeline
\think 5 ms
select * from t:a;
