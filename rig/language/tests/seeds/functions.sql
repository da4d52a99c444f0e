\set a concat(text(1, 9), digits(3), choose(1, 'x', null))
\set b hash(:client_id, 3) + permute(2, 10) + nurand(255, 1, 9) + random_zipfian(1, 9, 1.1)
\set c day('2026-02-28', 1)
\set d moment('2026-12-31 23:59:59', 1)
\set e greatest(1, 2.5) + least(1, 2) + mod(7, 3) + int(2.5) + double(1) + ln(2) + exp(1) + sqrt(4) + pi() + debug(1)
\set f random_exponential(1, 9, 2) + random_gaussian(1, 9, 2)
select :a, :b;
