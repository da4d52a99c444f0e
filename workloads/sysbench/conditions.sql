-- As many rows as were loaded.
select count(*) from sbtest having count(*) <> 1000 * :thousands;
-- No text was cut.
select id from sbtest where char_length(trim(c)) <> 119 or char_length(trim(pad)) <> 59;
