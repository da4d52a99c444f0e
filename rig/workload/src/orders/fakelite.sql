-- Fakelite has triggers and no procedures: the client runs what stands here under a name, as the procedures of others do.

create trigger orderline_ai after insert on orderline
begin update inventory set quantity = quantity - new.quantity where product_id = new.product_id; end

-- name: insert_order
insert into orders (orderdate, customer_id, netamount, tax, totalamount, line_count, thread_id)
  values (date('now', '-' || ? || ' days'), ?, 0, 0, 0, 0, ?) returning id

-- name: insert_line
insert into orderline (orders_id, product_id, quantity, orderdate)
  values (?, ?, ?, date('now', '-' || ? || ' days'))
