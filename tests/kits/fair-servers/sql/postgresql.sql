CREATE FUNCTION pay(customer bigint, amount numeric) RETURNS numeric LANGUAGE plpgsql AS $pay$
DECLARE
  now_has numeric;
BEGIN
  UPDATE account SET balance = balance - amount WHERE id = customer RETURNING balance INTO now_has;
  INSERT INTO payment (id, account_id, amount, paid) VALUES (nextval('payment_no'), customer, amount, now());
  RETURN now_has;
END
$pay$;

CREATE FUNCTION counted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE branch SET payments = payments + 1 WHERE id = NEW.account_id;
  RETURN NEW;
END
$$;
CREATE TRIGGER payment_counted AFTER INSERT ON payment FOR EACH ROW EXECUTE FUNCTION counted();
