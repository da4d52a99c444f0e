-- first
create table t (a int);
set term ^ ;
create procedure p as begin if (1 = 1) then exit; end^
set term ; ^
delimiter //
create trigger g before insert on t begin case 1 when 1 then set a = 1; end case; end//
delimiter ;
create function f() returns int as $b$ begin return 1; end $b$ language plpgsql;
select a from t where a < 0;
