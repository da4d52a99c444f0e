-- As many rows as were loaded.
select count(*) from sbtest where id <= 1000 having count(*) <> 1000;
-- No text was cut.
select id from sbtest where char_length(trim(c)) <> 119 or char_length(trim(pad)) <> 59;
