\set customer random(1, 1000 * :scale)
\set product random(1, 200)
\set pieces random(1, 3)
\set purchase random(1, 9000000000000000)
begin;
update product set stock = stock - :pieces where id = :product;
select price from product where id = :product \gset
\set amount :price * :pieces
insert into purchase (id, customer_id, amount) values (:purchase, :customer, :amount);
insert into purchase_line (purchase_id, product_id, pieces) values (:purchase, :product, :pieces);
update customer set spent = spent + :amount where id = :customer;
commit;
