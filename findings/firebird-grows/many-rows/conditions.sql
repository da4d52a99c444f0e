-- Whole loads only.
select 1 from (select count(*) as n from entry) as e where mod(n, 1000) <> 0;
