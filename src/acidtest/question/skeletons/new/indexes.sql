-- Made after the rows, which is faster. May be missing.
create index payment_of_payer on payment (payer);
