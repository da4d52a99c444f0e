-- No stock is negative.
select id from product where stock < 0;
-- Pieces that were bought are missing in the stock.
select p.id from product p
where p.stock <> 1000000 - (select coalesce(sum(l.pieces), 0) from purchase_line l where l.product_id = p.id);
-- A customer has spent what the customer's purchases cost.
select c.id from customer c
where c.spent <> (select coalesce(sum(p.amount), 0) from purchase p where p.customer_id = c.id);
