create index job_by_done on job (done, id);
