\set known 1
select :knwon;
