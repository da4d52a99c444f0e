create table document (id integer not null primary key, version integer not null, content text not null);
