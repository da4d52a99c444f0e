-- `draw` is a part of the procedure: it sets a variable to a whole number from low to high. That of rand() is rounded as
-- in the original: the two ends come half as often. `draw_repeatable` takes its place where every engine is to draw the same.

create generator ids

-- A key's index ascends, and such a one does not serve max().
create descending index product_down on product (id)

create descending index customer_down on customer (id)

-- A conflict may make the engine pass a row over that is there; without a word the trigger would go on, and the line stay.
create exception row_missed 'row_missed: the inventory of a product was not found'

create trigger orderline_ai for orderline active after insert as
begin
  update inventory set quantity = quantity - new.quantity where product_id = new.product_id;
  if (row_count = 0) then exception row_missed;
end

-- name: draw
{name} = cast(rand() * ({high} - {low}) + {low} as integer);

-- name: draw_repeatable
xseed = mod(xseed * {multiplier}, {modulus}); {name} = {low} + mod(xseed, {high} - {low} + 1);

-- name: create_orders
create procedure create_orders (xthread integer, xseed bigint, xorders integer, xlines_max integer) as
  declare variable xorder bigint;
  declare variable xdays integer;
  declare variable xcustomer bigint;
  declare variable xlines integer;
  declare variable xleft integer;
  declare variable xproduct bigint;
  declare variable xquantity integer;
  declare variable xprice bigint;
  declare variable xnet bigint;
  declare variable xtax bigint;
  declare variable xdate date;
  declare variable xproduct_min bigint;
  declare variable xproduct_max bigint;
  declare variable xcustomer_min bigint;
  declare variable xcustomer_max bigint;
begin
  select min(id) from product into :xproduct_min;
  select max(id) from product into :xproduct_max;
  select min(id) from customer into :xcustomer_min;
  select max(id) from customer into :xcustomer_max;
  while (xorders > 0) do
  begin
    xorder = gen_id(ids, 1);
    {draw_days}
    xdate = current_date - xdays;
    {draw_customer}
    insert into orders (id, orderdate, customer_id, netamount, tax, totalamount, line_count, thread_id)
      values (:xorder, :xdate, :xcustomer, 0, 0, 0, 0, :xthread);
    {draw_lines}
    xnet = 0;
    xleft = xlines;
    while (xleft > 0) do
    begin
      {draw_product}
      {draw_quantity}
      insert into orderline (id, orders_id, product_id, quantity, orderdate)
        values (gen_id(ids, 1), :xorder, :xproduct, :xquantity, :xdate);
      select price from product where id = :xproduct into :xprice;
      xnet = xnet + xquantity * xprice;
      xleft = xleft - 1;
    end
    xtax = xnet * {tax_percent} / 100;
    update orders set netamount = :xnet, tax = :xtax, totalamount = :xnet + :xtax, line_count = :xlines
      where id = :xorder;
    xorders = xorders - 1;
  end
end
