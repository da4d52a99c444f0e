-- `draw` is a part of the procedure: it sets a variable to a whole number from low to high. That of rand() is rounded as
-- in the original: the two ends come half as often. `draw_repeatable` takes its place where every engine is to draw the same.

create trigger orderline_ai after insert on orderline for each row
  update inventory set quantity = quantity - new.quantity where product_id = new.product_id

-- name: draw
set {name} = round(rand() * ({high} - {low}) + {low});

-- name: draw_repeatable
set xseed = mod(xseed * {multiplier}, {modulus}); set {name} = {low} + mod(xseed, {high} - {low} + 1);

-- name: create_orders
create procedure create_orders(xthread integer, xseed bigint, xorders integer, xlines_max integer)
begin
  declare xdays, xlines, xleft, xquantity integer;
  declare xorder, xcustomer, xproduct, xprice, xnet, xtax bigint;
  declare xproduct_min, xproduct_max, xcustomer_min, xcustomer_max bigint;
  declare xdate date;
  select min(id) into xproduct_min from product;
  select max(id) into xproduct_max from product;
  select min(id) into xcustomer_min from customer;
  select max(id) into xcustomer_max from customer;
  while xorders > 0 do
    {draw_days}
    set xdate = date_sub(current_date, interval xdays day);
    {draw_customer}
    insert into orders (orderdate, customer_id, netamount, tax, totalamount, line_count, thread_id)
      values (xdate, xcustomer, 0, 0, 0, 0, xthread);
    set xorder = last_insert_id();
    {draw_lines}
    set xnet = 0;
    set xleft = xlines;
    while xleft > 0 do
      {draw_product}
      {draw_quantity}
      insert into orderline (orders_id, product_id, quantity, orderdate)
        values (xorder, xproduct, xquantity, xdate);
      select price into xprice from product where id = xproduct;
      set xnet = xnet + xquantity * xprice;
      set xleft = xleft - 1;
    end while;
    set xtax = xnet * {tax_percent} div 100;
    update orders set netamount = xnet, tax = xtax, totalamount = xnet + xtax, line_count = xlines
      where id = xorder;
    set xorders = xorders - 1;
  end while;
end
