-- Your tables: each statement ends with a semicolon. Where an engine needs other words, a file beside this one has them:
-- schema.firebird.sql, schema.mysql.sql (MariaDB too), schema.postgresql.sql or schema.sqlite.sql. So has any other .sql.
create table account (id integer not null primary key, name varchar(40) not null, balance bigint not null);
create table payment (id bigint not null primary key, payer integer not null, payee integer not null,
  amount bigint not null);
