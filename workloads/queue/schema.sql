create table job (id bigint not null primary key, done integer not null, payload varchar(100) not null);
create table result (job_id bigint not null primary key, terminal integer not null);
