-- No document was cut.
select id from document where length(content) < 65536;
