//! The five transactions as stored procedures, each one call between begin and commit.
//!
//! A body is written once, with the statements of [`super::script`], and put into each engine's words: so every engine is
//! asked for the same work. SQLite has no procedures.

use super::inputs::{Customer, Desk, Inputs, Line, NewOrder, Payment};
use super::queue::Delivery;
use super::schema::first_row;
use super::script::{int, ints};
use crate::commit;
use std::hint::black_box;
use transaction::{Class, Client, Dialect, Ended, Outcome, Refused, Session, SessionError, Statement, Value};

type Variables = &'static [(&'static str, &'static str)];

struct Procedure {
    name: &'static str,
    takes: Variables,
    /// Besides `xstate`, which comes first.
    gives: Variables,
    uses: Variables,
    /// Statements, in which a variable is `:x…`; other lines begin with a capital:
    /// `LET x = …`, `IF …`, `END IF`, `WHILE …`, `END WHILE`, and `ONE`, which notes whether the statement before it
    /// changed one row. FIRST ends a query for its first row; SKIPPING x takes the one row after so many.
    body: &'static str,
}

/// What a procedure answers first.
const WELL: i64 = 0;
/// An item is not there: the caller rolls back.
const UNUSED: i64 = 1;
/// A row to be changed was not found: another transaction has changed it.
const MISSED: i64 = 2;

const PROCEDURES: [Procedure; 5] = [
    Procedure {
        name: "tpcc_new_order",
        takes: &[
            ("xw", "integer"),
            ("xd", "integer"),
            ("xc", "integer"),
            ("xcount", "integer"),
            ("xlocal", "integer"),
            ("xlines", "varchar(210)"),
        ],
        gives: &[("xnumber", "integer"), ("xtotal", "bigint")],
        uses: &[
            ("xw_tax", "integer"),
            ("xd_tax", "integer"),
            ("xdiscount", "integer"),
            ("xlast", "varchar(16)"),
            ("xcredit", "char(2)"),
            ("xplace", "integer"),
            ("xitem", "integer"),
            ("xsupply", "integer"),
            ("xremote", "integer"),
            ("xquantity", "integer"),
            ("xprice", "bigint"),
            ("xname", "varchar(24)"),
            ("xitem_data", "varchar(50)"),
            ("xstock", "integer"),
            ("xinformation", "char(24)"),
            ("xstock_data", "varchar(50)"),
            ("xbrand", "char(1)"),
        ],
        body: "
select w_tax from warehouse where w_id = :xw into :xw_tax;
update district set d_next_o_id = d_next_o_id + 1 where d_w_id = :xw and d_id = :xd;
ONE
select d_tax, d_next_o_id - 1 from district where d_w_id = :xw and d_id = :xd into :xd_tax, :xnumber;
select c_discount, c_last, c_credit from customer where c_w_id = :xw and c_d_id = :xd and c_id = :xc
  into :xdiscount, :xlast, :xcredit;
insert into orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
  values (:xw, :xd, :xnumber, :xc, current_timestamp, null, :xcount, :xlocal);
insert into new_order (no_w_id, no_d_id, no_o_id) values (:xw, :xd, :xnumber);
LET xtotal = 0
LET xplace = 1
WHILE xplace <= xcount and xstate = 0
LET xitem = substring(xlines from 14 * xplace - 13 for 6)
LET xsupply = substring(xlines from 14 * xplace - 7 for 6)
LET xquantity = substring(xlines from 14 * xplace - 1 for 2)
LET xprice = null
select i_price, i_name, i_data from item where i_id = :xitem into :xprice, :xname, :xitem_data;
IF xprice is null
LET xstate = 1
END IF
IF xprice is not null
LET xremote = 0
IF xsupply <> xw
LET xremote = 1
END IF
update stock set
  s_quantity = case when s_quantity - :xquantity >= 10 then s_quantity - :xquantity else s_quantity - :xquantity + 91 end,
  s_ytd = s_ytd + :xquantity, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + :xremote
  where s_w_id = :xsupply and s_i_id = :xitem;
ONE
select s_quantity, case :xd when 1 then s_dist_01 when 2 then s_dist_02 when 3 then s_dist_03 when 4 then s_dist_04
  when 5 then s_dist_05 when 6 then s_dist_06 when 7 then s_dist_07 when 8 then s_dist_08 when 9 then s_dist_09
  else s_dist_10 end, s_data from stock where s_w_id = :xsupply and s_i_id = :xitem
  into :xstock, :xinformation, :xstock_data;
LET xbrand = 'G'
IF xitem_data like '%ORIGINAL%' and xstock_data like '%ORIGINAL%'
LET xbrand = 'B'
END IF
LET xtotal = xtotal + xquantity * xprice
insert into order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity,
  ol_amount, ol_dist_info)
  values (:xw, :xd, :xnumber, :xplace, :xitem, :xsupply, null, :xquantity, :xquantity * :xprice, :xinformation);
END IF
LET xplace = xplace + 1
END WHILE
LET xtotal = xtotal * (10000 - xdiscount) * (10000 + xw_tax + xd_tax) / 100000000",
    },
    Procedure {
        name: "tpcc_payment",
        takes: &[
            ("xw", "integer"),
            ("xd", "integer"),
            ("xc_w", "integer"),
            ("xc_d", "integer"),
            ("xc", "integer"),
            ("xlast", "varchar(16)"),
            ("xamount", "bigint"),
        ],
        gives: &[("xnumber", "integer"), ("xbalance", "bigint")],
        uses: &[
            ("xmany", "integer"),
            ("xw_name", "varchar(10)"),
            ("xd_name", "varchar(10)"),
            ("xstreet_1", "varchar(20)"),
            ("xstreet_2", "varchar(20)"),
            ("xcity", "varchar(20)"),
            ("xplace", "char(2)"),
            ("xzip", "char(9)"),
            ("xfirst", "varchar(16)"),
            ("xmiddle", "char(2)"),
            ("xname", "varchar(16)"),
            ("xphone", "char(16)"),
            ("xsince", "timestamp"),
            ("xcredit", "char(2)"),
            ("xlimit", "bigint"),
            ("xdiscount", "integer"),
            ("xdata", "varchar(500)"),
        ],
        body: "
update warehouse set w_ytd = w_ytd + :xamount where w_id = :xw;
ONE
select w_name, w_street_1, w_street_2, w_city, w_state, w_zip from warehouse where w_id = :xw
  into :xw_name, :xstreet_1, :xstreet_2, :xcity, :xplace, :xzip;
update district set d_ytd = d_ytd + :xamount where d_w_id = :xw and d_id = :xd;
ONE
select d_name, d_street_1, d_street_2, d_city, d_state, d_zip from district where d_w_id = :xw and d_id = :xd
  into :xd_name, :xstreet_1, :xstreet_2, :xcity, :xplace, :xzip;
LET xnumber = xc
IF xc = 0
select count(*) from customer where c_w_id = :xc_w and c_d_id = :xc_d and c_last = :xlast into :xmany;
LET xmany = (xmany - 1 - mod(xmany - 1, 2)) / 2
select c_id from customer where c_w_id = :xc_w and c_d_id = :xc_d and c_last = :xlast order by c_first SKIPPING :xmany
  into :xnumber;
END IF
update customer set c_balance = c_balance - :xamount, c_ytd_payment = c_ytd_payment + :xamount,
  c_payment_cnt = c_payment_cnt + 1 where c_w_id = :xc_w and c_d_id = :xc_d and c_id = :xnumber;
ONE
select c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit,
  c_credit_lim, c_discount, c_balance from customer where c_w_id = :xc_w and c_d_id = :xc_d and c_id = :xnumber
  into :xfirst, :xmiddle, :xname, :xstreet_1, :xstreet_2, :xcity, :xplace, :xzip, :xphone, :xsince, :xcredit, :xlimit,
  :xdiscount, :xbalance;
IF xcredit = 'BC'
select c_data from customer where c_w_id = :xc_w and c_d_id = :xc_d and c_id = :xnumber into :xdata;
LET xdata = substring(xnumber || ' ' || xc_d || ' ' || xc_w || ' ' || xd || ' ' || xw || ' ' || xamount || '|' || xdata from 1 for 500)
update customer set c_data = :xdata where c_w_id = :xc_w and c_d_id = :xc_d and c_id = :xnumber;
ONE
END IF
insert into history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
  values (:xnumber, :xc_d, :xc_w, :xd, :xw, current_timestamp, :xamount, :xw_name || '    ' || :xd_name);",
    },
    Procedure {
        name: "tpcc_order_status",
        takes: &[("xw", "integer"), ("xd", "integer"), ("xc", "integer"), ("xlast", "varchar(16)")],
        gives: &[("xnumber", "integer"), ("xlines", "integer")],
        uses: &[
            ("xmany", "integer"),
            ("xbalance", "bigint"),
            ("xfirst", "varchar(16)"),
            ("xmiddle", "char(2)"),
            ("xname", "varchar(16)"),
            ("xorder", "integer"),
            ("xentry", "timestamp"),
            ("xcarrier", "integer"),
            ("xplace", "integer"),
            ("xitem", "integer"),
            ("xsupply", "integer"),
            ("xquantity", "integer"),
            ("xamount", "bigint"),
            ("xdelivered", "timestamp"),
        ],
        body: "
LET xnumber = xc
IF xc = 0
select count(*) from customer where c_w_id = :xw and c_d_id = :xd and c_last = :xlast into :xmany;
LET xmany = (xmany - 1 - mod(xmany - 1, 2)) / 2
select c_id from customer where c_w_id = :xw and c_d_id = :xd and c_last = :xlast order by c_first SKIPPING :xmany
  into :xnumber;
END IF
select c_balance, c_first, c_middle, c_last from customer where c_w_id = :xw and c_d_id = :xd and c_id = :xnumber
  into :xbalance, :xfirst, :xmiddle, :xname;
select o_id, o_entry_d, o_carrier_id, o_ol_cnt from orders where o_w_id = :xw and o_d_id = :xd and o_c_id = :xnumber
  order by o_id desc FIRST into :xorder, :xentry, :xcarrier, :xlines;
LET xplace = 1
WHILE xplace <= xlines
select ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d from order_line
  where ol_w_id = :xw and ol_d_id = :xd and ol_o_id = :xorder and ol_number = :xplace
  into :xitem, :xsupply, :xquantity, :xamount, :xdelivered;
LET xplace = xplace + 1
END WHILE",
    },
    Procedure {
        name: "tpcc_delivery",
        takes: &[("xw", "integer"), ("xcarrier", "integer")],
        gives: &[("xdelivered", "integer")],
        uses: &[("xd", "integer"), ("xorder", "integer"), ("xc", "integer"), ("xamount", "bigint")],
        body: "
LET xdelivered = 0
LET xd = 1
WHILE xd <= 10 and xstate = 0
LET xorder = null
select no_o_id from new_order where no_w_id = :xw and no_d_id = :xd order by no_w_id, no_d_id, no_o_id FIRST
  into :xorder;
IF xorder is not null
delete from new_order where no_w_id = :xw and no_d_id = :xd and no_o_id = :xorder;
ONE
select o_c_id from orders where o_w_id = :xw and o_d_id = :xd and o_id = :xorder into :xc;
update orders set o_carrier_id = :xcarrier where o_w_id = :xw and o_d_id = :xd and o_id = :xorder;
ONE
update order_line set ol_delivery_d = current_timestamp where ol_w_id = :xw and ol_d_id = :xd and ol_o_id = :xorder;
select sum(ol_amount) from order_line where ol_w_id = :xw and ol_d_id = :xd and ol_o_id = :xorder into :xamount;
update customer set c_balance = c_balance + :xamount, c_delivery_cnt = c_delivery_cnt + 1
  where c_w_id = :xw and c_d_id = :xd and c_id = :xc;
ONE
LET xdelivered = xdelivered + 1
END IF
LET xd = xd + 1
END WHILE",
    },
    Procedure {
        name: "tpcc_stock_level",
        takes: &[("xw", "integer"), ("xd", "integer"), ("xthreshold", "integer")],
        gives: &[("xlow", "bigint")],
        uses: &[("xnext", "integer")],
        body: "
select d_next_o_id from district where d_w_id = :xw and d_id = :xd into :xnext;
select count(distinct s_i_id) from order_line join stock on s_i_id = ol_i_id
  where ol_w_id = :xw and ol_d_id = :xd and ol_o_id >= :xnext - 20 and ol_o_id < :xnext and s_w_id = :xw
  and s_quantity < :xthreshold into :xlow;",
    },
];

/// The statements that create them.
pub fn create(dialect: Dialect) -> Outcome<Vec<String>> {
    let all = || PROCEDURES.iter().map(|procedure| procedure.create(dialect));
    match dialect {
        Dialect::Sqlite => {
            Err(SessionError { class: Class::Other, message: "SQLite has no stored procedures".to_string() })
        }
        // A procedure keeps the mode that it was made in; without this one || is an OR.
        Dialect::Mysql => {
            let mode = "set session sql_mode = concat(@@session.sql_mode, ',PIPES_AS_CONCAT')";
            Ok(std::iter::once(mode.to_string()).chain(all()).collect())
        }
        Dialect::Firebird | Dialect::Postgres => Ok(all().collect()),
    }
}

impl Procedure {
    fn create(&self, dialect: Dialect) -> String {
        let Procedure { name, takes, gives, uses, .. } = self;
        let gives: Vec<_> = std::iter::once(&("xstate", "integer")).chain(*gives).collect();
        let list = |variables: &[&(&str, &str)], before: &str| {
            variables.iter().map(|(name, kind)| format!("{before}{name} {kind}")).collect::<Vec<_>>().join(", ")
        };
        let each = |variables: &[&(&str, &str)], before: &str| {
            variables.iter().map(|(name, kind)| format!("{before}{name} {kind};\n")).collect::<String>()
        };
        let (takes, uses): (Vec<_>, Vec<_>) = (takes.iter().collect(), uses.iter().collect());
        let body = self.body(dialect);
        match dialect {
            Dialect::Firebird => format!(
                "create procedure {name} ({}) returns ({}) as\n{}begin\n{body}suspend;\nend",
                list(&takes, ""),
                list(&gives, ""),
                each(&uses, "declare variable ")
            ),
            Dialect::Postgres => format!(
                "create function {name}({}, {}) language plpgsql as $$\ndeclare\n{}begin\n{body}end $$",
                list(&takes, ""),
                list(&gives, "out "),
                each(&uses, "")
            ),
            _ => {
                let names: Vec<_> = gives.iter().map(|(name, _)| *name).collect();
                format!(
                    "create procedure {name}({})\nbegin\n{}{}{body}select {};\nend",
                    list(&takes, ""),
                    each(&gives, "declare "),
                    each(&uses, "declare ").replace(" timestamp;", " datetime;"),
                    names.join(", ")
                )
            }
        }
    }

    fn body(&self, dialect: Dialect) -> String {
        let (set, end_if, end_while, missed) = match dialect {
            Dialect::Firebird => ("", "end", "end", "if (row_count <> 1) then xstate = 2;"),
            Dialect::Postgres => ("", "end if;", "end loop;", "if not found then xstate = 2; end if;"),
            _ => ("set ", "end if;", "end while;", "if row_count() <> 1 then set xstate = 2; end if;"),
        };
        let mut body = format!("{set}xstate = 0;\n");
        for line in self.body.trim_start().lines() {
            body += &match line.split_once(' ').unwrap_or((line, "")) {
                ("LET", rest) => format!("{set}{rest};"),
                ("IF", rest) if dialect == Dialect::Firebird => format!("if ({rest}) then begin"),
                ("IF", rest) => format!("if {rest} then"),
                ("WHILE", rest) => match dialect {
                    Dialect::Firebird => format!("while ({rest}) do begin"),
                    Dialect::Postgres => format!("while {rest} loop"),
                    _ => format!("while {rest} do"),
                },
                ("END", "IF") => end_if.to_string(),
                ("END", _) => end_while.to_string(),
                ("ONE", _) => missed.to_string(),
                _ => {
                    let line = line.replace("FIRST", first_row(dialect));
                    match dialect {
                        Dialect::Firebird => line.replace("SKIPPING :xmany", "rows :xmany + 1 to :xmany + 1"),
                        _ => line.replace("SKIPPING", "limit 1 offset").replace(":x", "x"),
                    }
                }
            };
            body.push('\n');
        }
        body
    }

    fn call(&self, dialect: Dialect) -> String {
        let marks = vec!["?"; self.takes.len()].join(", ");
        match dialect {
            Dialect::Mysql => format!("call {}({marks})", self.name),
            _ => format!("select * from {}({marks})", self.name),
        }
    }
}

/// Calls prepared on a session.
pub struct Calls {
    new_order: Statement,
    payment: Statement,
    order_status: Statement,
    delivery: Statement,
    stock_level: Statement,
}

impl Calls {
    pub fn prepare(session: &mut dyn Session) -> Outcome<Calls> {
        let dialect = session.dialect();
        let mut calls = [Statement(0); PROCEDURES.len()];
        for (call, procedure) in calls.iter_mut().zip(&PROCEDURES) {
            *call = session.prepare(&procedure.call(dialect))?;
        }
        let [new_order, payment, order_status, delivery, stock_level] = calls;
        Ok(Calls { new_order, payment, order_status, delivery, stock_level })
    }

    pub async fn attempt(&self, client: &mut Client, desk: &Desk, inputs: &Inputs) -> Result<Ended, Refused> {
        let home = desk.warehouse;
        client.begin().await?;
        let state = match inputs {
            Inputs::NewOrder(NewOrder { district, customer, lines }) => {
                let local = lines.iter().all(|line| line.supply == home);
                let [home, district, customer, many, local] =
                    ints([home, *district, *customer, lines.len() as i64, i64::from(local)]);
                let values = [home, district, customer, many, local, Value::Text(packed(lines))];
                called(client, self.new_order, &values).await?.0
            }
            Inputs::Payment(Payment { district, customer_warehouse, customer_district, customer, amount }) => {
                let (number, name) = either(customer);
                let [home, district, warehouse_of, district_of, amount] =
                    ints([home, *district, *customer_warehouse, *customer_district, *amount]);
                let values = [home, district, warehouse_of, district_of, number, name, amount];
                called(client, self.payment, &values).await?.0
            }
            Inputs::OrderStatus { district, customer } => {
                let (number, name) = either(customer);
                let values = [Value::Int(home), Value::Int(*district), number, name];
                called(client, self.order_status, &values).await?.0
            }
            Inputs::StockLevel { threshold } => {
                called(client, self.stock_level, &ints([home, desk.district, *threshold])).await?.0
            }
            Inputs::Delivery { .. } => unreachable!("deliveries are queued"),
        };
        if state == UNUSED {
            client.rollback().await?;
            return Ok(Ended::RolledBack);
        }
        commit(client).await
    }

    pub async fn delivery(&self, client: &mut Client, delivery: Delivery) -> Result<(Ended, i64), Refused> {
        client.begin().await?;
        let delivered = called(client, self.delivery, &ints([delivery.warehouse, delivery.carrier])).await?.1;
        Ok((commit(client).await?, delivered))
    }
}

/// Calls; answers the state and the value after it.
async fn called(client: &mut Client, call: Statement, values: &[Value]) -> Result<(i64, i64), SessionError> {
    let mut answer = (WELL, 0);
    client
        .query_one(call, values, |row| {
            answer = (int(row, 0), int(row, 1));
            black_box(row);
        })
        .await?;
    match answer.0 {
        MISSED => Err(SessionError::not_one(0)),
        _ => Ok(answer),
    }
}

/// A customer's number, 0 where there is a name.
fn either(customer: &Customer) -> (Value, Value) {
    match customer {
        Customer::Number(number) => (Value::Int(*number), Value::Text(String::new())),
        Customer::Name(name) => (Value::Int(0), Value::Text(name.clone())),
    }
}

/// Item, supplying warehouse and quantity of each line in 14 digits.
fn packed(lines: &[Line]) -> String {
    lines.iter().map(|line| format!("{:06}{:06}{:02}", line.item, line.supply, line.quantity)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_packed_so_that_a_procedure_finds_them() {
        let line = |item, supply, quantity| Line { item, supply, quantity };
        assert_eq!(packed(&[line(100_001, 12, 10), line(7, 1, 3)]), "1000010000121000000700000103");
    }

    #[test]
    fn nothing_of_our_own_words_is_left_in_a_procedure() {
        for dialect in [Dialect::Firebird, Dialect::Postgres, Dialect::Mysql] {
            for sql in create(dialect).unwrap() {
                for word in ["LET ", "IF ", "WHILE ", "END ", "ONE\n", "FIRST", "SKIPPING"] {
                    assert!(!sql.contains(word), "{word} in {sql}");
                }
                assert_eq!(sql.contains(":x"), dialect == Dialect::Firebird && sql.contains("procedure"), "{sql}");
            }
        }
        assert_eq!(create(Dialect::Sqlite).unwrap_err().message, "SQLite has no stored procedures");
    }
}
