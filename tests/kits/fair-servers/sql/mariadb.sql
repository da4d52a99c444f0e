DELIMITER //
CREATE PROCEDURE pay(IN customer BIGINT, IN amount DECIMAL(12,2))
BEGIN
  UPDATE account SET balance = balance - amount WHERE id = customer;
  INSERT INTO payment (account_id, amount, paid) VALUES (customer, amount, NOW());
END //
CREATE TRIGGER payment_counted AFTER INSERT ON payment FOR EACH ROW
  UPDATE branch SET payments = payments + 1 WHERE id = NEW.account_id //
DELIMITER ;
