create table sbtest (id integer not null primary key, k integer not null, c char(119) not null, pad char(59) not null);
