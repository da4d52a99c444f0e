-- Money is in hundredths.

create table customer (id {key}, name varchar(40) not null)

create table product (id {key}, title varchar(60) not null, price bigint not null)

create table inventory (product_id {key}, quantity bigint not null)

create table orders (
  id {own_key},
  orderdate date not null,
  customer_id bigint not null,
  netamount bigint not null,
  tax bigint not null,
  totalamount bigint not null,
  line_count integer not null,
  thread_id integer not null)

create table orderline (
  id {own_key},
  orders_id bigint not null,
  product_id bigint not null,
  quantity integer not null,
  orderdate date not null)
