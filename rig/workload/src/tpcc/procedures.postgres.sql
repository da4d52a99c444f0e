-- The five transactions as stored procedures, each one call between begin and commit, with the statements of script.rs.
-- Each answers xstate first: 0 well; 1 an item is not there, the caller rolls back; 2 another transaction has changed a
-- row that was to be changed. The files of the other engines ask for the same work.

create function tpcc_new_order(xw integer, xd integer, xc integer, xcount integer, xlocal integer, xlines varchar(210),
  out xstate integer, out xnumber integer, out xtotal bigint)
language plpgsql as $$
declare
  xw_tax integer;
  xd_tax integer;
  xdiscount integer;
  xlast varchar(16);
  xcredit char(2);
  xplace integer;
  xitem integer;
  xsupply integer;
  xremote integer;
  xquantity integer;
  xprice bigint;
  xname varchar(24);
  xitem_data varchar(50);
  xstock integer;
  xinformation char(24);
  xstock_data varchar(50);
  xbrand char(1);
begin
  xstate = 0;
  select w_tax from warehouse where w_id = xw into xw_tax;
  update district set d_next_o_id = d_next_o_id + 1 where d_w_id = xw and d_id = xd;
  if not found then xstate = 2; end if;
  select d_tax, d_next_o_id - 1 from district where d_w_id = xw and d_id = xd into xd_tax, xnumber;
  select c_discount, c_last, c_credit from customer where c_w_id = xw and c_d_id = xd and c_id = xc
    into xdiscount, xlast, xcredit;
  insert into orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
    values (xw, xd, xnumber, xc, current_timestamp, null, xcount, xlocal);
  insert into new_order (no_w_id, no_d_id, no_o_id) values (xw, xd, xnumber);
  xtotal = 0;
  xplace = 1;
  while xplace <= xcount and xstate = 0 loop
    xitem = substring(xlines from 14 * xplace - 13 for 6);
    xsupply = substring(xlines from 14 * xplace - 7 for 6);
    xquantity = substring(xlines from 14 * xplace - 1 for 2);
    xprice = null;
    select i_price, i_name, i_data from item where i_id = xitem into xprice, xname, xitem_data;
    if xprice is null then
      xstate = 1;
    end if;
    if xprice is not null then
      xremote = 0;
      if xsupply <> xw then
        xremote = 1;
      end if;
      update stock set
        s_quantity = case when s_quantity - xquantity >= 10 then s_quantity - xquantity
          else s_quantity - xquantity + 91 end,
        s_ytd = s_ytd + xquantity, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + xremote
        where s_w_id = xsupply and s_i_id = xitem;
      if not found then xstate = 2; end if;
      select s_quantity, case xd when 1 then s_dist_01 when 2 then s_dist_02 when 3 then s_dist_03 when 4 then s_dist_04
        when 5 then s_dist_05 when 6 then s_dist_06 when 7 then s_dist_07 when 8 then s_dist_08 when 9 then s_dist_09
        else s_dist_10 end, s_data from stock where s_w_id = xsupply and s_i_id = xitem
        into xstock, xinformation, xstock_data;
      xbrand = 'G';
      if xitem_data like '%ORIGINAL%' and xstock_data like '%ORIGINAL%' then
        xbrand = 'B';
      end if;
      xtotal = xtotal + xquantity * xprice;
      insert into order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity,
        ol_amount, ol_dist_info)
        values (xw, xd, xnumber, xplace, xitem, xsupply, null, xquantity, xquantity * xprice, xinformation);
    end if;
    xplace = xplace + 1;
  end loop;
  xtotal = xtotal * (10000 - xdiscount) * (10000 + xw_tax + xd_tax) / 100000000;
end $$

create function tpcc_payment(xw integer, xd integer, xc_w integer, xc_d integer, xc integer,
  xlast varchar(16), xamount bigint,
  out xstate integer, out xnumber integer, out xbalance bigint)
language plpgsql as $$
declare
  xmany integer;
  xw_name varchar(10);
  xd_name varchar(10);
  xstreet_1 varchar(20);
  xstreet_2 varchar(20);
  xcity varchar(20);
  xplace char(2);
  xzip char(9);
  xfirst varchar(16);
  xmiddle char(2);
  xname varchar(16);
  xphone char(16);
  xsince timestamp;
  xcredit char(2);
  xlimit bigint;
  xdiscount integer;
  xdata varchar(500);
begin
  xstate = 0;
  update warehouse set w_ytd = w_ytd + xamount where w_id = xw;
  if not found then xstate = 2; end if;
  select w_name, w_street_1, w_street_2, w_city, w_state, w_zip from warehouse where w_id = xw
    into xw_name, xstreet_1, xstreet_2, xcity, xplace, xzip;
  update district set d_ytd = d_ytd + xamount where d_w_id = xw and d_id = xd;
  if not found then xstate = 2; end if;
  select d_name, d_street_1, d_street_2, d_city, d_state, d_zip from district where d_w_id = xw and d_id = xd
    into xd_name, xstreet_1, xstreet_2, xcity, xplace, xzip;
  xnumber = xc;
  if xc = 0 then
    select count(*) from customer where c_w_id = xc_w and c_d_id = xc_d and c_last = xlast into xmany;
    xmany = (xmany - 1 - mod(xmany - 1, 2)) / 2;
    select c_id from customer where c_w_id = xc_w and c_d_id = xc_d and c_last = xlast
      order by c_first limit 1 offset xmany
      into xnumber;
  end if;
  update customer set c_balance = c_balance - xamount, c_ytd_payment = c_ytd_payment + xamount,
    c_payment_cnt = c_payment_cnt + 1 where c_w_id = xc_w and c_d_id = xc_d and c_id = xnumber;
  if not found then xstate = 2; end if;
  select c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit,
    c_credit_lim, c_discount, c_balance from customer where c_w_id = xc_w and c_d_id = xc_d and c_id = xnumber
    into xfirst, xmiddle, xname, xstreet_1, xstreet_2, xcity, xplace, xzip, xphone, xsince, xcredit, xlimit,
    xdiscount, xbalance;
  if xcredit = 'BC' then
    select c_data from customer where c_w_id = xc_w and c_d_id = xc_d and c_id = xnumber into xdata;
    xdata = substring(xnumber || ' ' || xc_d || ' ' || xc_w || ' ' || xd || ' ' || xw || ' '
      || xamount || '|' || xdata from 1 for 500);
    update customer set c_data = xdata where c_w_id = xc_w and c_d_id = xc_d and c_id = xnumber;
    if not found then xstate = 2; end if;
  end if;
  insert into history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    values (xnumber, xc_d, xc_w, xd, xw, current_timestamp, xamount, xw_name || '    ' || xd_name);
end $$

create function tpcc_order_status(xw integer, xd integer, xc integer, xlast varchar(16),
  out xstate integer, out xnumber integer, out xlines integer)
language plpgsql as $$
declare
  xmany integer;
  xbalance bigint;
  xfirst varchar(16);
  xmiddle char(2);
  xname varchar(16);
  xorder integer;
  xentry timestamp;
  xcarrier integer;
  xplace integer;
  xitem integer;
  xsupply integer;
  xquantity integer;
  xamount bigint;
  xdelivered timestamp;
begin
  xstate = 0;
  xnumber = xc;
  if xc = 0 then
    select count(*) from customer where c_w_id = xw and c_d_id = xd and c_last = xlast into xmany;
    xmany = (xmany - 1 - mod(xmany - 1, 2)) / 2;
    select c_id from customer where c_w_id = xw and c_d_id = xd and c_last = xlast order by c_first limit 1 offset xmany
      into xnumber;
  end if;
  select c_balance, c_first, c_middle, c_last from customer where c_w_id = xw and c_d_id = xd and c_id = xnumber
    into xbalance, xfirst, xmiddle, xname;
  select o_id, o_entry_d, o_carrier_id, o_ol_cnt from orders where o_w_id = xw and o_d_id = xd and o_c_id = xnumber
    order by o_id desc limit 1 into xorder, xentry, xcarrier, xlines;
  xplace = 1;
  while xplace <= xlines loop
    select ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d from order_line
      where ol_w_id = xw and ol_d_id = xd and ol_o_id = xorder and ol_number = xplace
      into xitem, xsupply, xquantity, xamount, xdelivered;
    xplace = xplace + 1;
  end loop;
end $$

create function tpcc_delivery(xw integer, xcarrier integer,
  out xstate integer, out xdelivered integer)
language plpgsql as $$
declare
  xd integer;
  xorder integer;
  xc integer;
  xamount bigint;
begin
  xstate = 0;
  xdelivered = 0;
  xd = 1;
  while xd <= 10 and xstate = 0 loop
    xorder = null;
    select no_o_id from new_order where no_w_id = xw and no_d_id = xd order by no_w_id, no_d_id, no_o_id limit 1
      into xorder;
    if xorder is not null then
      delete from new_order where no_w_id = xw and no_d_id = xd and no_o_id = xorder;
      if not found then xstate = 2; end if;
      select o_c_id from orders where o_w_id = xw and o_d_id = xd and o_id = xorder into xc;
      update orders set o_carrier_id = xcarrier where o_w_id = xw and o_d_id = xd and o_id = xorder;
      if not found then xstate = 2; end if;
      update order_line set ol_delivery_d = current_timestamp where ol_w_id = xw and ol_d_id = xd and ol_o_id = xorder;
      select sum(ol_amount) from order_line where ol_w_id = xw and ol_d_id = xd and ol_o_id = xorder into xamount;
      update customer set c_balance = c_balance + xamount, c_delivery_cnt = c_delivery_cnt + 1
        where c_w_id = xw and c_d_id = xd and c_id = xc;
      if not found then xstate = 2; end if;
      xdelivered = xdelivered + 1;
    end if;
    xd = xd + 1;
  end loop;
end $$

create function tpcc_stock_level(xw integer, xd integer, xthreshold integer,
  out xstate integer, out xlow bigint)
language plpgsql as $$
declare
  xnext integer;
begin
  xstate = 0;
  select d_next_o_id from district where d_w_id = xw and d_id = xd into xnext;
  select count(distinct s_i_id) from order_line join stock on s_i_id = ol_i_id
    where ol_w_id = xw and ol_d_id = xd and ol_o_id >= xnext - 20 and ol_o_id < xnext and s_w_id = xw
    and s_quantity < xthreshold into xlow;
end $$
