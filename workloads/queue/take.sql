begin;
select min(id) as oldest from job where done = 0 \gset
\if :oldest is not null
-- Another terminal may have taken it meanwhile: then this one tries again.
update job set done = 1 where id = :oldest and done = 0;
\expect 1
insert into result (job_id, terminal) values (:oldest, :client_id);
\endif
commit;
