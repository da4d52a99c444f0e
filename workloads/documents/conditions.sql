-- No document was cut.
select id from document where char_length(content) < 65536;
