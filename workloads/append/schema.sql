create table event (id bigint not null primary key, terminal integer not null, number bigint not null,
  message varchar(200) not null);
