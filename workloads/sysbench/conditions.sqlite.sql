-- As many rows as were loaded.
select count(*) from sbtest where id <= 1000 having count(*) <> 1000;
-- No text was cut.
select id from sbtest where length(trim(c)) <> 119 or length(trim(pad)) <> 59;
