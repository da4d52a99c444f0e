-- Each job that is done has its result.
select id from job where done = 1 and id not in (select job_id from result);
-- No result is of a job that is not done.
select job_id from result where job_id not in (select id from job where done = 1);
