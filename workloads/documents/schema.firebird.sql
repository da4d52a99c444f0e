create table document (id integer not null primary key, version integer not null, content blob sub_type text not null);
