-- No terminal's events have a gap.
select terminal from event group by terminal having count(*) <> max(number);
