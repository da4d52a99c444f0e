\set customer random(1, 1000 * :scale)
select c.name, n.name, c.spent from customer c join country n on n.id = c.country_id where c.id = :customer;
select id, amount from purchase where customer_id = :customer;
