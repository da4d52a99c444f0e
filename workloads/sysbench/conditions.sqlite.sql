-- As many rows as were loaded.
select count(*) from sbtest having count(*) <> 1000 * :thousands;
-- No text was cut.
select id from sbtest where length(trim(c)) <> 119 or length(trim(pad)) <> 59;
