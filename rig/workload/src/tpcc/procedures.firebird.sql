-- The five transactions as stored procedures, each one call between begin and commit, with the statements of script.rs.
-- Each answers xstate first: 0 well; 1 an item is not there, the caller rolls back; 2 another transaction has changed a
-- row that was to be changed. The files of the other engines ask for the same work.

create procedure tpcc_new_order (xw integer, xd integer, xc integer, xcount integer, xlocal integer,
  xlines varchar(210))
  returns (xstate integer, xnumber integer, xtotal bigint) as
  declare variable xw_tax integer;
  declare variable xd_tax integer;
  declare variable xdiscount integer;
  declare variable xlast varchar(16);
  declare variable xcredit char(2);
  declare variable xplace integer;
  declare variable xitem integer;
  declare variable xsupply integer;
  declare variable xremote integer;
  declare variable xquantity integer;
  declare variable xprice bigint;
  declare variable xname varchar(24);
  declare variable xitem_data varchar(50);
  declare variable xstock integer;
  declare variable xinformation char(24);
  declare variable xstock_data varchar(50);
  declare variable xbrand char(1);
begin
  xstate = 0;
  select w_tax from warehouse where w_id = :xw into :xw_tax;
  update district set d_next_o_id = d_next_o_id + 1 where d_w_id = :xw and d_id = :xd;
  if (row_count <> 1) then xstate = 2;
  select d_tax, d_next_o_id - 1 from district where d_w_id = :xw and d_id = :xd into :xd_tax, :xnumber;
  select c_discount, c_last, c_credit from customer where c_w_id = :xw and c_d_id = :xd and c_id = :xc
    into :xdiscount, :xlast, :xcredit;
  insert into orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
    values (:xw, :xd, :xnumber, :xc, current_timestamp, null, :xcount, :xlocal);
  insert into new_order (no_w_id, no_d_id, no_o_id) values (:xw, :xd, :xnumber);
  xtotal = 0;
  xplace = 1;
  while (xplace <= xcount and xstate = 0) do begin
    xitem = substring(xlines from 14 * xplace - 13 for 6);
    xsupply = substring(xlines from 14 * xplace - 7 for 6);
    xquantity = substring(xlines from 14 * xplace - 1 for 2);
    xprice = null;
    select i_price, i_name, i_data from item where i_id = :xitem into :xprice, :xname, :xitem_data;
    if (xprice is null) then begin
      xstate = 1;
    end
    if (xprice is not null) then begin
      xremote = 0;
      if (xsupply <> xw) then begin
        xremote = 1;
      end
      update stock set
        s_quantity = case when s_quantity - :xquantity >= 10 then s_quantity - :xquantity
          else s_quantity - :xquantity + 91 end,
        s_ytd = s_ytd + :xquantity, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + :xremote
        where s_w_id = :xsupply and s_i_id = :xitem;
      if (row_count <> 1) then xstate = 2;
      select s_quantity,
        case :xd when 1 then s_dist_01 when 2 then s_dist_02 when 3 then s_dist_03 when 4 then s_dist_04
        when 5 then s_dist_05 when 6 then s_dist_06 when 7 then s_dist_07 when 8 then s_dist_08 when 9 then s_dist_09
        else s_dist_10 end, s_data from stock where s_w_id = :xsupply and s_i_id = :xitem
        into :xstock, :xinformation, :xstock_data;
      xbrand = 'G';
      if (xitem_data like '%ORIGINAL%' and xstock_data like '%ORIGINAL%') then begin
        xbrand = 'B';
      end
      xtotal = xtotal + xquantity * xprice;
      insert into order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity,
        ol_amount, ol_dist_info)
        values (:xw, :xd, :xnumber, :xplace, :xitem, :xsupply, null, :xquantity, :xquantity * :xprice, :xinformation);
    end
    xplace = xplace + 1;
  end
  xtotal = xtotal * (10000 - xdiscount) * (10000 + xw_tax + xd_tax) / 100000000;
  suspend;
end

create procedure tpcc_payment (xw integer, xd integer, xc_w integer, xc_d integer, xc integer,
  xlast varchar(16), xamount bigint)
  returns (xstate integer, xnumber integer, xbalance bigint) as
  declare variable xmany integer;
  declare variable xw_name varchar(10);
  declare variable xd_name varchar(10);
  declare variable xstreet_1 varchar(20);
  declare variable xstreet_2 varchar(20);
  declare variable xcity varchar(20);
  declare variable xplace char(2);
  declare variable xzip char(9);
  declare variable xfirst varchar(16);
  declare variable xmiddle char(2);
  declare variable xname varchar(16);
  declare variable xphone char(16);
  declare variable xsince timestamp;
  declare variable xcredit char(2);
  declare variable xlimit bigint;
  declare variable xdiscount integer;
  declare variable xdata varchar(500);
begin
  xstate = 0;
  update warehouse set w_ytd = w_ytd + :xamount where w_id = :xw;
  if (row_count <> 1) then xstate = 2;
  select w_name, w_street_1, w_street_2, w_city, w_state, w_zip from warehouse where w_id = :xw
    into :xw_name, :xstreet_1, :xstreet_2, :xcity, :xplace, :xzip;
  update district set d_ytd = d_ytd + :xamount where d_w_id = :xw and d_id = :xd;
  if (row_count <> 1) then xstate = 2;
  select d_name, d_street_1, d_street_2, d_city, d_state, d_zip from district where d_w_id = :xw and d_id = :xd
    into :xd_name, :xstreet_1, :xstreet_2, :xcity, :xplace, :xzip;
  xnumber = xc;
  if (xc = 0) then begin
    select count(*) from customer where c_w_id = :xc_w and c_d_id = :xc_d and c_last = :xlast into :xmany;
    xmany = (xmany - 1 - mod(xmany - 1, 2)) / 2;
    select c_id from customer where c_w_id = :xc_w and c_d_id = :xc_d and c_last = :xlast
      order by c_first rows :xmany + 1 to :xmany + 1
      into :xnumber;
  end
  update customer set c_balance = c_balance - :xamount, c_ytd_payment = c_ytd_payment + :xamount,
    c_payment_cnt = c_payment_cnt + 1 where c_w_id = :xc_w and c_d_id = :xc_d and c_id = :xnumber;
  if (row_count <> 1) then xstate = 2;
  select c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit,
    c_credit_lim, c_discount, c_balance from customer where c_w_id = :xc_w and c_d_id = :xc_d and c_id = :xnumber
    into :xfirst, :xmiddle, :xname, :xstreet_1, :xstreet_2, :xcity, :xplace, :xzip, :xphone, :xsince, :xcredit, :xlimit,
    :xdiscount, :xbalance;
  if (xcredit = 'BC') then begin
    select c_data from customer where c_w_id = :xc_w and c_d_id = :xc_d and c_id = :xnumber into :xdata;
    xdata = substring(xnumber || ' ' || xc_d || ' ' || xc_w || ' ' || xd || ' ' || xw || ' '
      || xamount || '|' || xdata from 1 for 500);
    update customer set c_data = :xdata where c_w_id = :xc_w and c_d_id = :xc_d and c_id = :xnumber;
    if (row_count <> 1) then xstate = 2;
  end
  insert into history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    values (:xnumber, :xc_d, :xc_w, :xd, :xw, current_timestamp, :xamount, :xw_name || '    ' || :xd_name);
  suspend;
end

create procedure tpcc_order_status (xw integer, xd integer, xc integer, xlast varchar(16))
  returns (xstate integer, xnumber integer, xlines integer) as
  declare variable xmany integer;
  declare variable xbalance bigint;
  declare variable xfirst varchar(16);
  declare variable xmiddle char(2);
  declare variable xname varchar(16);
  declare variable xorder integer;
  declare variable xentry timestamp;
  declare variable xcarrier integer;
  declare variable xplace integer;
  declare variable xitem integer;
  declare variable xsupply integer;
  declare variable xquantity integer;
  declare variable xamount bigint;
  declare variable xdelivered timestamp;
begin
  xstate = 0;
  xnumber = xc;
  if (xc = 0) then begin
    select count(*) from customer where c_w_id = :xw and c_d_id = :xd and c_last = :xlast into :xmany;
    xmany = (xmany - 1 - mod(xmany - 1, 2)) / 2;
    select c_id from customer where c_w_id = :xw and c_d_id = :xd and c_last = :xlast
      order by c_first rows :xmany + 1 to :xmany + 1
      into :xnumber;
  end
  select c_balance, c_first, c_middle, c_last from customer where c_w_id = :xw and c_d_id = :xd and c_id = :xnumber
    into :xbalance, :xfirst, :xmiddle, :xname;
  select o_id, o_entry_d, o_carrier_id, o_ol_cnt from orders where o_w_id = :xw and o_d_id = :xd and o_c_id = :xnumber
    order by o_id desc rows 1 into :xorder, :xentry, :xcarrier, :xlines;
  xplace = 1;
  while (xplace <= xlines) do begin
    select ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d from order_line
      where ol_w_id = :xw and ol_d_id = :xd and ol_o_id = :xorder and ol_number = :xplace
      into :xitem, :xsupply, :xquantity, :xamount, :xdelivered;
    xplace = xplace + 1;
  end
  suspend;
end

create procedure tpcc_delivery (xw integer, xcarrier integer) returns (xstate integer, xdelivered integer) as
  declare variable xd integer;
  declare variable xorder integer;
  declare variable xc integer;
  declare variable xamount bigint;
begin
  xstate = 0;
  xdelivered = 0;
  xd = 1;
  while (xd <= 10 and xstate = 0) do begin
    xorder = null;
    select no_o_id from new_order where no_w_id = :xw and no_d_id = :xd order by no_w_id, no_d_id, no_o_id rows 1
      into :xorder;
    if (xorder is not null) then begin
      delete from new_order where no_w_id = :xw and no_d_id = :xd and no_o_id = :xorder;
      if (row_count <> 1) then xstate = 2;
      select o_c_id from orders where o_w_id = :xw and o_d_id = :xd and o_id = :xorder into :xc;
      update orders set o_carrier_id = :xcarrier where o_w_id = :xw and o_d_id = :xd and o_id = :xorder;
      if (row_count <> 1) then xstate = 2;
      update order_line set ol_delivery_d = current_timestamp
        where ol_w_id = :xw and ol_d_id = :xd and ol_o_id = :xorder;
      select sum(ol_amount) from order_line where ol_w_id = :xw and ol_d_id = :xd and ol_o_id = :xorder into :xamount;
      update customer set c_balance = c_balance + :xamount, c_delivery_cnt = c_delivery_cnt + 1
        where c_w_id = :xw and c_d_id = :xd and c_id = :xc;
      if (row_count <> 1) then xstate = 2;
      xdelivered = xdelivered + 1;
    end
    xd = xd + 1;
  end
  suspend;
end

create procedure tpcc_stock_level (xw integer, xd integer, xthreshold integer) returns (xstate integer, xlow bigint) as
  declare variable xnext integer;
begin
  xstate = 0;
  select d_next_o_id from district where d_w_id = :xw and d_id = :xd into :xnext;
  select count(distinct s_i_id) from order_line join stock on s_i_id = ol_i_id
    where ol_w_id = :xw and ol_d_id = :xd and ol_o_id >= :xnext - 20 and ol_o_id < :xnext and s_w_id = :xw
    and s_quantity < :xthreshold into :xlow;
  suspend;
end
