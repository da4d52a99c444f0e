//! The five transactions, statement by statement, as clauses 2.4.2 to 2.8.2 profile them.
//!
//! The statements are the same plain ones on every engine. Those that wait for nothing of each other stand together, so that
//! a session that pipelines sends them as one; everywhere else each waits for its answer, in the same order. A row that is to be read and changed is changed first and then
//! read: the change takes the lock, so that no engine needs a locking read, and a transaction reads what it wrote at every
//! level of isolation. The order of statements is the implementer's to choose (clause 2.3.1).

use super::inputs::{unused_item, Customer, Inputs, NewOrder, Payment, TerminalState};
use super::procedures::Calls;
use super::queue::{Delivery, Queue};
use super::scale::{Scale, DELIVERY, DISTRICTS};
use crate::common::{commit, int, ints};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;
use transaction::{
    Attempt, Client, Drawn, Ended, Outcome, Refused, Rng, Script, Session, SessionError, Statement, Value,
};

pub enum Means {
    Statements(Box<Statements>),
    Calls(Calls),
}

impl Means {
    pub fn prepare(session: &mut dyn Session, procedures: bool, scale: Scale) -> Outcome<Means> {
        Ok(match procedures {
            false => Means::Statements(Box::new(Statements::prepare(session, scale)?)),
            true => Means::Calls(Calls::prepare(session)?),
        })
    }
}

pub struct Terminal {
    means: Means,
    terminal_state: TerminalState,
    queue: Arc<Queue>,
    inputs: Inputs,
}

impl Terminal {
    pub fn new(means: Means, terminal_state: TerminalState, queue: Arc<Queue>) -> Terminal {
        Terminal { means, terminal_state, queue, inputs: Inputs::Delivery { carrier: 0 } }
    }
}

impl Script for Terminal {
    fn draw(&mut self, rng: &mut Rng) -> Option<Drawn> {
        let (drawn, inputs) = self.terminal_state.draw(rng);
        self.inputs = inputs;
        Some(drawn)
    }

    fn attempt<'a>(&'a mut self, client: &'a mut Client) -> Attempt<'a> {
        let Terminal { means, terminal_state, queue, inputs } = self;
        Box::pin(async move {
            let home = terminal_state.warehouse;
            if let Inputs::Delivery { carrier } = *inputs {
                queue.push(Delivery { warehouse: home, carrier, queued: Instant::now() });
                return Ok(Ended::Queued);
            }
            match means {
                Means::Statements(statements) => match inputs {
                    Inputs::NewOrder(order) => statements.new_order(client, home, order).await,
                    Inputs::Payment(payment) => statements.payment(client, home, payment).await,
                    Inputs::OrderStatus { district, customer } => {
                        statements.order_status(client, home, *district, customer).await
                    }
                    Inputs::StockLevel { threshold } => {
                        statements.stock_level(client, home, terminal_state.district, *threshold).await
                    }
                    Inputs::Delivery { .. } => unreachable!("queued above"),
                },
                Means::Calls(calls) => calls.attempt(client, terminal_state, inputs).await,
            }
        })
    }
}

/// Works off the deliveries that terminals have queued.
pub struct Deliverer {
    means: Means,
    queue: Arc<Queue>,
    taken: Option<Delivery>,
}

impl Deliverer {
    pub fn new(means: Means, queue: Arc<Queue>) -> Deliverer {
        Deliverer { means, queue, taken: None }
    }
}

impl Script for Deliverer {
    fn draw(&mut self, _: &mut Rng) -> Option<Drawn> {
        self.taken = self.queue.pop();
        let queued = Some(self.taken?.queued);
        Some(Drawn { kind: DELIVERY, queued, ..Drawn::default() })
    }

    fn attempt<'a>(&'a mut self, client: &'a mut Client) -> Attempt<'a> {
        let Deliverer { means, queue, taken } = self;
        Box::pin(async move {
            let delivery = taken.expect("attempts follow a draw");
            let (ended, delivered) = match means {
                Means::Statements(statements) => statements.delivery(client, delivery).await?,
                Means::Calls(calls) => calls.delivery(client, delivery).await?,
            };
            queue.done(delivered < DISTRICTS);
            Ok(ended)
        })
    }
}

/// What an order's line needs to know of its item and the item's stock.
#[derive(Clone, Default)]
struct Sold {
    exists: bool,
    price: i64,
    /// Both data say so (clause 2.4.2.2, brand-generic).
    original: bool,
    information: String,
}

const OF_CUSTOMER: &str = "c_w_id = ? and c_d_id = ? and c_id = ?";
const OF_ORDER: &str = "o_w_id = ? and o_d_id = ? and o_id = ?";
const OF_LINES: &str = "ol_w_id = ? and ol_d_id = ? and ol_o_id = ?";

/// Prepared statements by what they do.
pub struct Statements {
    unused_item: i64,

    warehouse_tax: Statement,
    take_number: Statement,
    district_number: Statement,
    customer_terms: Statement,
    insert_order: Statement,
    insert_new_order: Statement,
    item: Statement,
    take_stock: Statement,
    /// By district.
    stock: [Statement; DISTRICTS as usize],
    insert_line: Statement,

    pay_warehouse: Statement,
    warehouse: Statement,
    pay_district: Statement,
    district: Statement,
    customers_of_name: Statement,
    pay_customer: Statement,
    customer: Statement,
    customer_data: Statement,
    set_customer_data: Statement,
    insert_history: Statement,

    customer_balance: Statement,
    last_order: Statement,
    lines: Statement,

    oldest_new_order: Statement,
    delete_new_order: Statement,
    order_customer: Statement,
    set_carrier: Statement,
    deliver_lines: Statement,
    lines_amount: Statement,
    credit_customer: Statement,

    next_number: Statement,
    low_stock: Statement,
}

impl Statements {
    fn prepare(session: &mut dyn Session, scale: Scale) -> Outcome<Statements> {
        let first = session.dialect().first_row;
        let mut stock = [Statement(0); DISTRICTS as usize];
        for (statement, district) in stock.iter_mut().zip(1..) {
            *statement = session.prepare(&format!(
                "select s_quantity, s_dist_{district:02}, s_data from stock where s_w_id = ? and s_i_id = ?"
            ))?;
        }
        let mut prepare = |sql: &str| session.prepare(sql);
        Ok(Statements {
            unused_item: unused_item(scale),
            warehouse_tax: prepare("select w_tax from warehouse where w_id = ?")?,
            take_number: prepare("update district set d_next_o_id = d_next_o_id + 1 where d_w_id = ? and d_id = ?")?,
            district_number: prepare("select d_tax, d_next_o_id from district where d_w_id = ? and d_id = ?")?,
            customer_terms: prepare(&format!("select c_discount, c_last, c_credit from customer where {OF_CUSTOMER}"))?,
            insert_order: prepare(
                "insert into orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local) \
                 values (?, ?, ?, ?, current_timestamp, null, ?, ?)",
            )?,
            insert_new_order: prepare("insert into new_order (no_w_id, no_d_id, no_o_id) values (?, ?, ?)")?,
            item: prepare("select i_price, i_name, i_data from item where i_id = ?")?,
            take_stock: prepare(
                "update stock set s_quantity = case when s_quantity - ? >= 10 then s_quantity - ? \
                 else s_quantity - ? + 91 end, s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + 1, \
                 s_remote_cnt = s_remote_cnt + ? where s_w_id = ? and s_i_id = ?",
            )?,
            stock,
            insert_line: prepare(
                "insert into order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, \
                 ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) values (?, ?, ?, ?, ?, ?, null, ?, ?, ?)",
            )?,

            pay_warehouse: prepare("update warehouse set w_ytd = w_ytd + ? where w_id = ?")?,
            warehouse: prepare(
                "select w_name, w_street_1, w_street_2, w_city, w_state, w_zip from warehouse where w_id = ?",
            )?,
            pay_district: prepare("update district set d_ytd = d_ytd + ? where d_w_id = ? and d_id = ?")?,
            district: prepare(
                "select d_name, d_street_1, d_street_2, d_city, d_state, d_zip from district \
                 where d_w_id = ? and d_id = ?",
            )?,
            customers_of_name: prepare(
                "select c_id from customer where c_w_id = ? and c_d_id = ? and c_last = ? order by c_first",
            )?,
            pay_customer: prepare(&format!(
                "update customer set c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?, \
                 c_payment_cnt = c_payment_cnt + 1 where {OF_CUSTOMER}"
            ))?,
            customer: prepare(&format!(
                "select c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, \
                 c_credit, c_credit_lim, c_discount, c_balance from customer where {OF_CUSTOMER}"
            ))?,
            customer_data: prepare(&format!("select c_data from customer where {OF_CUSTOMER}"))?,
            set_customer_data: prepare(&format!("update customer set c_data = ? where {OF_CUSTOMER}"))?,
            insert_history: prepare(
                "insert into history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) \
                 values (?, ?, ?, ?, ?, current_timestamp, ?, ?)",
            )?,

            customer_balance: prepare(&format!(
                "select c_balance, c_first, c_middle, c_last from customer where {OF_CUSTOMER}"
            ))?,
            last_order: prepare(&format!(
                "select o_id, o_entry_d, o_carrier_id from orders where o_w_id = ? and o_d_id = ? and o_c_id = ? \
                 order by o_id desc {first}"
            ))?,
            lines: prepare(&format!(
                "select ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d from order_line \
                 where {OF_LINES}"
            ))?,

            // Ordered by the whole key, which every engine then walks from its start.
            oldest_new_order: prepare(&format!(
                "select no_o_id from new_order where no_w_id = ? and no_d_id = ? \
                 order by no_w_id, no_d_id, no_o_id {first}"
            ))?,
            delete_new_order: prepare("delete from new_order where no_w_id = ? and no_d_id = ? and no_o_id = ?")?,
            order_customer: prepare(&format!("select o_c_id from orders where {OF_ORDER}"))?,
            set_carrier: prepare(&format!("update orders set o_carrier_id = ? where {OF_ORDER}"))?,
            deliver_lines: prepare(&format!(
                "update order_line set ol_delivery_d = current_timestamp where {OF_LINES}"
            ))?,
            lines_amount: prepare(&format!("select sum(ol_amount) from order_line where {OF_LINES}"))?,
            credit_customer: prepare(&format!(
                "update customer set c_balance = c_balance + ?, c_delivery_cnt = c_delivery_cnt + 1 \
                 where {OF_CUSTOMER}"
            ))?,

            next_number: prepare("select d_next_o_id from district where d_w_id = ? and d_id = ?")?,
            low_stock: prepare(
                "select count(distinct s_i_id) from order_line join stock on s_i_id = ol_i_id \
                 where ol_w_id = ? and ol_d_id = ? and ol_o_id >= ? and ol_o_id < ? and s_w_id = ? and s_quantity < ?",
            )?,
        })
    }

    /// Clause 2.4.2.
    async fn new_order(&self, client: &mut Client, home: i64, order: &NewOrder) -> Result<Ended, Refused> {
        let NewOrder { district, customer, ref lines } = *order;
        // Of the queries for no line; those for a line have its place, or that of its stock.
        const WAREHOUSE: usize = usize::MAX;
        const DISTRICT: usize = usize::MAX - 1;
        const CUSTOMER: usize = usize::MAX - 2;
        const STOCK: usize = 1_000;
        client.begin().await?;
        let (mut warehouse_tax, mut district_tax, mut number, mut discount) = (0, 0, 0, 0);
        let mut sold = vec![Sold::default(); lines.len()];
        let mut first = client.pipeline(|query, row| {
            match query {
                WAREHOUSE => warehouse_tax = int(row, 0),
                DISTRICT => (district_tax, number) = (int(row, 0), int(row, 1) - 1),
                CUSTOMER => discount = int(row, 0),
                STOCK.. => {
                    let sold = &mut sold[query - STOCK];
                    text(row, 1).clone_into(&mut sold.information);
                    sold.original &= text(row, 2).contains("ORIGINAL");
                }
                line => {
                    let sold = &mut sold[line];
                    (sold.exists, sold.price) = (true, int(row, 0));
                    sold.original = text(row, 2).contains("ORIGINAL");
                }
            }
            black_box(row);
        });
        first.query_one(WAREHOUSE, self.warehouse_tax, &ints([home])).await?;
        first.change_one(self.take_number, &ints([home, district])).await?;
        first.query_one(DISTRICT, self.district_number, &ints([home, district])).await?;
        first.query_one(CUSTOMER, self.customer_terms, &ints([home, district, customer])).await?;
        // An item that nobody has is looked for and found missing, and the work for the others is done (clause 2.4.2.2).
        for (at, line) in lines.iter().enumerate() {
            let item = ints([line.item]);
            if line.item == self.unused_item {
                first.query(at, self.item, &item).await?;
                continue;
            }
            first.query_one(at, self.item, &item).await?;
            let quantity = line.quantity;
            let remote = i64::from(line.supply != home);
            let taken = ints([quantity, quantity, quantity, quantity, remote, line.supply, line.item]);
            first.change_one(self.take_stock, &taken).await?;
            let stock = self.stock[district as usize - 1];
            first.query_one(STOCK + at, stock, &ints([line.supply, line.item])).await?;
        }
        first.end().await?;
        let local = lines.iter().all(|line| line.supply == home);
        let header = ints([home, district, number, customer, lines.len() as i64, i64::from(local)]);
        client.change_one(self.insert_order, &header).await?;
        client.change_one(self.insert_new_order, &ints([home, district, number])).await?;
        let mut total = 0;
        let mut missing = false;
        for ((line, sold), place) in lines.iter().zip(&mut sold).zip(1..) {
            if line.item == self.unused_item {
                missing = !sold.exists;
                continue;
            }
            black_box(sold.original);
            let amount = line.quantity * sold.price;
            total += amount;
            let [warehouse, district, number, place, item, supply, quantity, amount] =
                ints([home, district, number, place, line.item, line.supply, line.quantity, amount]);
            let information = Value::Text(std::mem::take(&mut sold.information));
            let values = [warehouse, district, number, place, item, supply, quantity, amount, information];
            client.change_one(self.insert_line, &values).await?;
        }
        // Discounts and taxes are hundredths of a percent.
        black_box(total * (10_000 - discount) * (10_000 + warehouse_tax + district_tax) / 100_000_000);
        match lines.iter().any(|line| line.item == self.unused_item) {
            false => commit(client).await,
            true if missing => {
                client.rollback().await?;
                Ok(Ended::RolledBack)
            }
            true => Err(SessionError::not_one(2).into()),
        }
    }

    /// Clause 2.5.2.
    async fn payment(&self, client: &mut Client, home: i64, payment: &Payment) -> Result<Ended, Refused> {
        let Payment { district, customer_warehouse, customer_district, ref customer, amount } = *payment;
        const WAREHOUSE: usize = 0;
        const DISTRICT: usize = 1;
        const NAMED: usize = 2;
        const PAYS: usize = 3;
        client.begin().await?;
        let (mut warehouse, mut name, mut credit) = (String::new(), String::new(), String::new());
        let mut named = Vec::new();
        let mut first = client.pipeline(|query, row| {
            match query {
                WAREHOUSE => text(row, 0).clone_into(&mut warehouse),
                DISTRICT => text(row, 0).clone_into(&mut name),
                NAMED => named.push(int(row, 0)),
                _ => text(row, 10).clone_into(&mut credit),
            }
            black_box(row);
        });
        first.change_one(self.pay_warehouse, &ints([amount, home])).await?;
        first.query_one(WAREHOUSE, self.warehouse, &ints([home])).await?;
        first.change_one(self.pay_district, &ints([amount, home, district])).await?;
        first.query_one(DISTRICT, self.district, &ints([home, district])).await?;
        let pays = |number: i64| {
            let key = [customer_warehouse, customer_district, number];
            let [warehouse, district, number] = key;
            (ints([amount, amount, warehouse, district, number]), ints(key))
        };
        let number = match customer {
            Customer::Number(number) => {
                let (paid, key) = pays(*number);
                first.change_one(self.pay_customer, &paid).await?;
                first.query_one(PAYS, self.customer, &key).await?;
                first.end().await?;
                *number
            }
            Customer::Name(last) => {
                let values = [Value::Int(customer_warehouse), Value::Int(customer_district), Value::Text(last.clone())];
                first.query(NAMED, self.customers_of_name, &values).await?;
                first.end().await?;
                let number = in_the_middle(&named)?;
                let (paid, key) = pays(number);
                client.change_one(self.pay_customer, &paid).await?;
                client
                    .query_one(self.customer, &key, |row| {
                        text(row, 10).clone_into(&mut credit);
                        black_box(row);
                    })
                    .await?;
                number
            }
        };
        if credit == "BC" {
            let key = ints([customer_warehouse, customer_district, number]);
            let mut entry = format!("{number} {customer_district} {customer_warehouse} {district} {home} {amount}|");
            client.query_one(self.customer_data, &key, |row| entry.push_str(text(row, 0))).await?;
            entry.truncate(500);
            let [warehouse_key, district_key, number_key] = key;
            let values = [Value::Text(entry), warehouse_key, district_key, number_key];
            client.change_one(self.set_customer_data, &values).await?;
        }
        let [number, customer_district, customer_warehouse, district, home, amount] =
            ints([number, customer_district, customer_warehouse, district, home, amount]);
        let data = Value::Text(format!("{warehouse}    {name}"));
        let values = [number, customer_district, customer_warehouse, district, home, amount, data];
        client.change_one(self.insert_history, &values).await?;
        commit(client).await
    }

    /// Clause 2.6.2.
    async fn order_status(
        &self,
        client: &mut Client,
        home: i64,
        district: i64,
        customer: &Customer,
    ) -> Result<Ended, Refused> {
        const BALANCE: usize = 0;
        const ORDER: usize = 1;
        client.begin().await?;
        let number = match customer {
            Customer::Number(number) => *number,
            Customer::Name(name) => {
                let mut named = Vec::new();
                let values = [Value::Int(home), Value::Int(district), Value::Text(name.clone())];
                client.run(self.customers_of_name, &values, |row| named.push(int(row, 0))).await?;
                in_the_middle(&named)?
            }
        };
        let key = ints([home, district, number]);
        let mut order = 0;
        let mut of_customer = client.pipeline(|query, row| {
            if query == ORDER {
                order = int(row, 0);
            }
            black_box(row);
        });
        of_customer.query_one(BALANCE, self.customer_balance, &key).await?;
        of_customer.query_one(ORDER, self.last_order, &key).await?;
        of_customer.end().await?;
        let mut of_order = client.pipeline(|_, row| _ = black_box(row));
        of_order.query(0, self.lines, &ints([home, district, order])).await?;
        of_order.commit().await?;
        Ok(Ended::Committed)
    }

    /// Clause 2.7.4: all districts in one database transaction. Also answers for how many there was an order.
    async fn delivery(&self, client: &mut Client, delivery: Delivery) -> Result<(Ended, i64), Refused> {
        let Delivery { warehouse, carrier, .. } = delivery;
        client.begin().await?;
        // By district.
        let mut oldest = [None; DISTRICTS as usize];
        let mut first = client.pipeline(|at, row| oldest[at] = Some(int(row, 0)));
        for (at, district) in (1..=DISTRICTS).enumerate() {
            first.query(at, self.oldest_new_order, &ints([warehouse, district])).await?;
        }
        first.end().await?;
        let orders = || (1..).zip(oldest).filter_map(|(district, number)| Some((district, number?)));
        // The customer's number and, behind them, the amounts; none of an order without lines.
        let mut customers = [0; DISTRICTS as usize];
        let mut amounts = [None; DISTRICTS as usize];
        let mut second = client.pipeline(|query, row| match query.checked_sub(DISTRICTS as usize) {
            None => customers[query] = int(row, 0),
            Some(at) => amounts[at] = row[0].as_i64(),
        });
        for (district, number) in orders() {
            let at = district as usize - 1;
            let order = ints([warehouse, district, number]);
            second.change_one(self.delete_new_order, &order).await?;
            second.query_one(at, self.order_customer, &order).await?;
            second.change_one(self.set_carrier, &ints([carrier, warehouse, district, number])).await?;
            second.query(at, self.deliver_lines, &order).await?;
            second.query_one(at + DISTRICTS as usize, self.lines_amount, &order).await?;
        }
        second.end().await?;
        let mut delivered = 0;
        for (district, _) in orders() {
            let at = district as usize - 1;
            let amount = amounts[at].ok_or_else(|| SessionError::not_one(0))?;
            client.change_one(self.credit_customer, &ints([amount, warehouse, district, customers[at]])).await?;
            delivered += 1;
        }
        Ok((commit(client).await?, delivered))
    }

    /// Clause 2.8.2.
    async fn stock_level(
        &self,
        client: &mut Client,
        home: i64,
        district: i64,
        threshold: i64,
    ) -> Result<Ended, Refused> {
        client.begin().await?;
        let mut next = 0;
        client.query_one(self.next_number, &ints([home, district]), |row| next = int(row, 0)).await?;
        let values = ints([home, district, next - 20, next, home, threshold]);
        let mut low = client.pipeline(|_, row| _ = black_box(row));
        low.query_one(0, self.low_stock, &values).await?;
        low.commit().await?;
        Ok(Ended::Committed)
    }
}

/// Of the customers with a name, in the order of their first names, the middle one, rounded up (clause 2.5.2.2).
fn in_the_middle(numbers: &[i64]) -> Result<i64, SessionError> {
    let middle = numbers.len().div_ceil(2).checked_sub(1).ok_or_else(|| SessionError::not_one(0))?;
    Ok(numbers[middle])
}

fn text(row: &[Value], at: usize) -> &str {
    match &row[at] {
        Value::Text(text) => text,
        _ => "",
    }
}
