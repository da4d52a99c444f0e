DELIMITER //
CREATE DEFINER=`a`@`%` PROCEDURE `pay`(IN a INT)
BEGIN
  DECLARE k INT DEFAULT 0;
  l: LOOP
    IF k > 40 THEN LEAVE l; END IF;
    SET k = k + 1, @r = UUID();
    INSERT INTO t (id) VALUES (@r) ON DUPLICATE KEY UPDATE v = 'it\'s';
  END LOOP;
  UPDATE total SET n = n + 1 WHERE id = 1; # hot
  SELECT v INTO k FROM t WHERE id = @r FOR UPDATE;
END //
DELIMITER ;
