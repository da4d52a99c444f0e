-- `draw` is a part of the procedure: it sets a variable to a whole number from low to high. That of rand() is rounded as
-- in the original: the two ends come half as often. `draw_repeatable` takes its place where every engine is to draw the same.

create sequence ids

create function orderline_ai() returns trigger language plpgsql as $$
begin update inventory set quantity = quantity - new.quantity where product_id = new.product_id; return null; end $$

create trigger orderline_ai after insert on orderline for each row execute procedure orderline_ai()

-- name: draw
{name} := cast(random() * ({high} - {low}) + {low} as integer);

-- name: draw_repeatable
xseed := mod(xseed * {multiplier}, {modulus}); {name} := {low} + mod(xseed, {high} - {low} + 1);

-- name: create_orders
create function create_orders(xthread integer, xseed bigint, xorders integer, xlines_max integer) returns void language plpgsql as $$
declare
  xorder bigint;
  xdays integer;
  xcustomer bigint;
  xlines integer;
  xproduct bigint;
  xquantity integer;
  xprice bigint;
  xnet bigint;
  xtax bigint;
  xdate date;
  xproduct_min bigint;
  xproduct_max bigint;
  xcustomer_min bigint;
  xcustomer_max bigint;
begin
  select min(id) from product into xproduct_min;
  select max(id) from product into xproduct_max;
  select min(id) from customer into xcustomer_min;
  select max(id) from customer into xcustomer_max;
  for xleft_orders in 1..xorders loop
    xorder := nextval('ids');
    {draw_days}
    xdate := current_date - xdays;
    {draw_customer}
    insert into orders (id, orderdate, customer_id, netamount, tax, totalamount, line_count, thread_id)
      values (xorder, xdate, xcustomer, 0, 0, 0, 0, xthread);
    {draw_lines}
    xnet := 0;
    for xleft in 1..xlines loop
      {draw_product}
      {draw_quantity}
      insert into orderline (id, orders_id, product_id, quantity, orderdate)
        values (nextval('ids'), xorder, xproduct, xquantity, xdate);
      select price from product where id = xproduct into xprice;
      xnet := xnet + xquantity * xprice;
    end loop;
    xtax := xnet * {tax_percent} / 100;
    update orders set netamount = xnet, tax = xtax, totalamount = xnet + xtax, line_count = xlines
      where id = xorder;
  end loop;
end $$
