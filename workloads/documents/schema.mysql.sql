create table document (id integer not null primary key, version integer not null, content longtext not null);
