\set id random(1, rows(document))
select version, content from document where id = :id;
\expect 1
