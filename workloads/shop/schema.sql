create table country (id integer not null primary key, name varchar(40) not null);
create table customer (id integer not null primary key, name varchar(40) not null, country_id integer not null,
  spent bigint not null);
create table product (id integer not null primary key, name varchar(40) not null, price integer not null,
  stock integer not null);
create table purchase (id bigint not null primary key, customer_id integer not null, amount bigint not null);
create table purchase_line (purchase_id bigint not null primary key, product_id integer not null,
  pieces integer not null);
