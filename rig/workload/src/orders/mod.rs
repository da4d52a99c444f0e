//! `orders`: the benchmark that the Firebird project took apart when it seemed to show version 4 slower than 3.
//!
//! A call of a procedure, which is one transaction, writes many orders of 1 to 6 lines with random products; a trigger
//! takes each line off the product's inventory. Calls meet at the inventory. Its procedure draws the products itself, so
//! a call that the engine restarts asks for other ones. The two remedies named there are parameters: products that follow
//! from the call's seed, and one order a call.
//!
//! An engine without procedures (SQLite) must have triggers: there the client runs the procedure's statements, and draws as
//! if repeatable. The file of each engine has its trigger, and its procedure or those statements.

use crate::common::{cardinality, commit, condition, flaw_if_zero, none_differs, number, FILLER};
use crate::kind::Kind;
use crate::sql::{files, filled, File, Files, Values};
use protocol::{Condition, TerminalClass};
use rand::{RngExt as _, SeedableRng as _};
use serde::{Deserialize, Serialize};
use std::fmt::Display;
use transaction::{
    failed, Acknowledged, Attempt, Class, Client, Dialect, Drawn, LoadContext, NumberedTable, Outcome, Rng, Script,
    Seat, Session, Statement, Units, Value, Workload,
};

const CUSTOMERS: i64 = 1000;
/// Pieces of each product before the first order.
const STOCK: i64 = 1_000_000;
const LINES_MAX: i64 = 6;
const QUANTITY_MAX: i64 = 4;
const DAYS_MAX: i64 = 730;
const TAX_PERCENT: i64 = 16;
const CHUNK: i64 = 25_000;

const SCHEMA: File = File(include_str!("schema.sql"));
const ROUTINES: Files = files!("");

/// A procedure that writes orders of 1 to 6 lines with random products, and a trigger that updates the inventory.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Orders {
    products: u32,
    /// Orders written by one call, which is one transaction.
    orders_per_call: u32,
    /// The products of each call follow from its number, so that every engine is asked for the same ones.
    repeatable: bool,
    /// An order has 1 to so many lines, at most 6.
    lines: u32,
}

impl Kind for Orders {
    const NAME: &'static str = "orders";

    fn flaw(&self) -> Option<String> {
        let wrong_lines = !(1..=LINES_MAX).contains(&i64::from(self.lines));
        flaw_if_zero("products and orders_per_call", self.products.min(self.orders_per_call))
            .or_else(|| wrong_lines.then(|| format!("lines must be 1 to {LINES_MAX}")))
    }

    fn samples() -> Vec<Orders> {
        vec![Orders { products: 1_000, orders_per_call: 100, repeatable: true, lines: 6 }]
    }

    fn workload(self, _: u64) -> Box<dyn Workload> {
        Box::new(self)
    }
}

/// Lehmer's generator with the multiplier of Park, Miller and Stockmeyer (1993). Its products fit into 64 bits, so that
/// every engine's procedures compute the same numbers.
const MULTIPLIER: i64 = 48_271;
const MODULUS: i64 = 2_147_483_647;

struct Lehmer(i64);

impl Lehmer {
    fn draw(&mut self, low: i64, high: i64) -> i64 {
        self.0 = self.0 * MULTIPLIER % MODULUS;
        low + self.0 % (high - low + 1)
    }
}

fn of_engine(dialect: &Dialect) -> Outcome<File> {
    ROUTINES.of(dialect).ok_or_else(|| {
        let engine = dialect.engine;
        failed(Class::Other, format!("the workload orders has no trigger and no procedure for {engine}"))
    })
}

impl Orders {
    fn products(&self) -> i64 {
        self.products.into()
    }

    fn orders_per_call(&self) -> i64 {
        self.orders_per_call.into()
    }

    /// The statement that creates the procedure.
    fn procedure(&self, file: File, dialect: &Dialect) -> Outcome<String> {
        let draw = |name: &str, low: &dyn Display, high: &dyn Display| {
            let values: Values =
                &[("name", &name), ("low", low), ("high", high), ("multiplier", &MULTIPLIER), ("modulus", &MODULUS)];
            file.one(if self.repeatable { "draw_repeatable" } else { "draw" }, dialect, values)
        };
        let values: Values = &[
            ("tax_percent", &TAX_PERCENT),
            ("draw_days", &draw("xdays", &0, &DAYS_MAX)?),
            ("draw_customer", &draw("xcustomer", &"xcustomer_min", &"xcustomer_max")?),
            ("draw_lines", &draw("xlines", &1, &"xlines_max")?),
            ("draw_product", &draw("xproduct", &"xproduct_min", &"xproduct_max")?),
            ("draw_quantity", &draw("xquantity", &1, &QUANTITY_MAX)?),
        ];
        file.one("create_orders", dialect, values)
    }
}

impl Orders {
    /// Of another process the calls alone are known, each of so many orders as the workload's own.
    fn as_acknowledged(&self, orders: i64, acknowledged: &Acknowledged) -> Condition {
        let name = "orders_match_acknowledged";
        let per_call = self.orders_per_call();
        let Acknowledged { committed, unknown, units, .. } = *acknowledged;
        let alike = |units: &Units| {
            (units.committed, units.unknown) == (committed * per_call as u64, unknown * per_call as u64)
        };
        match units.filter(|units| !alike(units)) {
            None => {
                let calls = (orders % per_call == 0).then_some(orders / per_call);
                let found = format!("{orders} orders, {committed} calls of {per_call} acknowledged, {unknown} unknown");
                condition(name, calls.is_some_and(|calls| acknowledged.agrees(calls)), found)
            }
            Some(units) => {
                let (least, most) = (units.committed, units.committed + units.unknown);
                let holds = u64::try_from(orders).is_ok_and(|orders| (least..=most).contains(&orders));
                let found = format!(
                    "{orders} orders, {least} in {committed} calls acknowledged, {} in {unknown} unknown",
                    units.unknown
                );
                condition(name, holds, found)
            }
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Size {
    orders: i64,
    /// Of each order, at most.
    lines: i64,
}

impl Orders {
    /// What the calls of a class write; an error says what in the class cannot be followed.
    fn of_class(&self, class: Option<&TerminalClass>) -> Result<Size, String> {
        let mut size = Size { orders: self.orders_per_call(), lines: self.lines.into() };
        let Some(class) = class else { return Ok(size) };
        let wrong = |name: &str, what: &str| Err(format!("{name} of class {}: {what}", class.name));
        if let Some(name) = class.mix.keys().next() {
            return wrong(name, "the workload orders has one kind of transaction");
        }
        for (name, value) in &class.parameters {
            let (own, most) = match name.as_str() {
                "orders_per_call" => (&mut size.orders, i64::from(u32::MAX)),
                "lines" => (&mut size.lines, LINES_MAX),
                _ => return wrong(name, "a class of the workload orders has orders_per_call and lines alone"),
            };
            match value.as_i64().filter(|value| (1..=most).contains(value)) {
                Some(value) => *own = value,
                None => return wrong(name, "is out of range"),
            }
        }
        Ok(size)
    }
}

impl Workload for Orders {
    fn class_flaw(&self, class: &TerminalClass) -> Option<String> {
        self.of_class(Some(class)).err()
    }

    fn load(&self, context: &LoadContext) -> Outcome<()> {
        let dialect = context.dialect;
        let file = of_engine(dialect)?;
        let mut routines = file.unnamed(dialect, &[])?;
        if dialect.procedures.is_some() {
            routines.push(self.procedure(file, dialect)?);
        }
        context.statements(SCHEMA.unnamed(dialect, &[])?)?;
        let table = |name: &str, columns, rows| NumberedTable { name: name.to_string(), columns, rows };
        let tables = [
            table("customer", &["id", "name"], CUSTOMERS),
            table("product", &["id", "title", "price"], self.products()),
            table("inventory", &["product_id", "quantity"], self.products()),
        ];
        context.fill_numbered(&tables, CHUNK, |table, before| {
            let mut rng = Rng::seed_from_u64(context.seed ^ (before as u64 + 1));
            move |id, row| {
                row.clear();
                row.push(Value::Int(id));
                match table {
                    0 => row.push(Value::Text(format!("Customer {id} {}", &FILLER[..20]))),
                    1 => {
                        row.push(Value::Text(format!("Product {id} {}", &FILLER[..40])));
                        row.push(Value::Int(rng.random_range(100..=99_999)));
                    }
                    _ => row.push(Value::Int(STOCK)),
                }
            }
        })?;
        context.statements(routines)
    }

    fn check(&self, session: &mut dyn Session, acknowledged: &Acknowledged) -> Outcome<Vec<Condition>> {
        let mut conditions = Vec::new();
        for (table, right) in [("customer", CUSTOMERS), ("product", self.products()), ("inventory", self.products())] {
            conditions.push(cardinality(session, table, right)?);
        }
        let orders = number(session, "select count(*) from orders")?;
        conditions.push(self.as_acknowledged(orders, acknowledged));
        let whole = session.dialect().div;
        // Both sides of an equation in one column, summed for each key: no join, which not every engine does well without
        // an index, and neither side may have a key that the other has not.
        let unequal = |key: &str, one: String, other: &str| {
            format!(
                "select count(*) from (select {key}, sum(v) s from ({one} union all {other}) b group by {key}) e \
                 where s <> 0"
            )
        };
        for (name, sql) in [
            (
                "each_order_has_1_to_6_lines",
                format!("select count(*) from orders where line_count < 1 or line_count > {LINES_MAX}"),
            ),
            (
                "each_order_has_the_lines_it_counts",
                unequal(
                    "id",
                    "select id, line_count v from orders".to_string(),
                    "select orders_id id, -1 v from orderline",
                ),
            ),
            (
                "each_order_costs_what_its_lines_do",
                unequal(
                    "id",
                    "select id, netamount v from orders".to_string(),
                    "select l.orders_id id, -l.quantity * p.price v from orderline l \
                     left join product p on p.id = l.product_id",
                ),
            ),
            (
                "each_total_is_net_and_tax",
                format!(
                    "select count(*) from orders where tax <> netamount * {TAX_PERCENT} {whole} 100 \
                     or totalamount <> netamount + tax"
                ),
            ),
            (
                "each_line_has_1_to_4_pieces",
                format!("select count(*) from orderline where quantity < 1 or quantity > {QUANTITY_MAX}"),
            ),
            (
                "each_inventory_lacks_what_its_lines_took",
                unequal(
                    "product_id",
                    format!("select product_id, quantity - {STOCK} v from inventory"),
                    "select product_id, quantity v from orderline",
                ),
            ),
        ] {
            conditions.push(none_differs(session, name, &sql)?);
        }
        Ok(conditions)
    }

    fn script(&self, session: &mut dyn Session, seat: Seat) -> Outcome<Box<dyn Script>> {
        let thread = Value::Int(seat.terminal as i64);
        let dialect = session.dialect();
        let Size { orders, lines } = self.of_class(seat.class).map_err(|flaw| failed(Class::Other, flaw))?;
        if dialect.procedures.is_some() {
            let call = session.prepare(&filled("{call} create_orders(?, ?, ?, ?)", dialect, &[])?)?;
            return Ok(Box::new(Call {
                call,
                orders,
                inputs: [thread, Value::Null, Value::Int(orders), Value::Int(lines)],
            }));
        }
        let file = of_engine(dialect)?;
        Ok(Box::new(Steps {
            thread,
            seed: 0,
            orders,
            lines_max: lines,
            ends: ["select min(id) from product", "select max(id) from product"]
                .into_iter()
                .chain(["select min(id) from customer", "select max(id) from customer"])
                .map(|sql| session.prepare(sql))
                .collect::<Outcome<_>>()?,
            insert_order: session.prepare(&file.one("insert_order", dialect, &[])?)?,
            insert_line: session.prepare(&file.one("insert_line", dialect, &[])?)?,
            read_price: session.prepare("select price from product where id = ?")?,
            update_order: session
                .prepare("update orders set netamount = ?, tax = ?, totalamount = ?, line_count = ? where id = ?")?,
        }))
    }
}

/// The seed of one call. It stays the same when the call is tried again.
fn seed(rng: &mut Rng) -> i64 {
    rng.random_range(1..MODULUS)
}

struct Call {
    call: Statement,
    orders: i64,
    inputs: [Value; 4],
}

impl Script for Call {
    fn draw(&mut self, rng: &mut Rng) -> Option<Drawn> {
        self.inputs[1] = Value::Int(seed(rng));
        Some(Drawn { units: self.orders as u64, ..Drawn::default() })
    }

    fn attempt<'a>(&'a mut self, client: &'a mut Client) -> Attempt<'a> {
        Box::pin(async {
            client.begin().await?;
            client.execute(self.call, &self.inputs).await?;
            commit(client).await
        })
    }
}

struct Steps {
    thread: Value,
    seed: i64,
    orders: i64,
    lines_max: i64,
    ends: Vec<Statement>,
    insert_order: Statement,
    insert_line: Statement,
    read_price: Statement,
    update_order: Statement,
}

impl Script for Steps {
    fn draw(&mut self, rng: &mut Rng) -> Option<Drawn> {
        self.seed = seed(rng);
        Some(Drawn { units: self.orders as u64, ..Drawn::default() })
    }

    fn attempt<'a>(&'a mut self, client: &'a mut Client) -> Attempt<'a> {
        Box::pin(async {
            let mut lehmer = Lehmer(self.seed);
            client.begin().await?;
            let mut ends = [0; 4];
            for (end, statement) in ends.iter_mut().zip(&self.ends) {
                *end = one(client, *statement, &[]).await?;
            }
            let [product_min, product_max, customer_min, customer_max] = ends;
            for _ in 0..self.orders {
                let days = Value::Int(lehmer.draw(0, DAYS_MAX));
                let customer = Value::Int(lehmer.draw(customer_min, customer_max));
                let order =
                    Value::Int(one(client, self.insert_order, &[days.clone(), customer, self.thread.clone()]).await?);
                let lines = lehmer.draw(1, self.lines_max);
                let mut net = 0;
                for _ in 0..lines {
                    let product = Value::Int(lehmer.draw(product_min, product_max));
                    let quantity = lehmer.draw(1, QUANTITY_MAX);
                    let line = [order.clone(), product.clone(), Value::Int(quantity), days.clone()];
                    client.change_one(self.insert_line, &line).await?;
                    net += quantity * one(client, self.read_price, &[product]).await?;
                }
                let tax = net * TAX_PERCENT / 100;
                let sums = [net, tax, net + tax, lines].map(Value::Int);
                let [net, tax, total, lines] = sums;
                client.change_one(self.update_order, &[net, tax, total, lines, order]).await?;
            }
            commit(client).await
        })
    }
}

async fn one(client: &mut Client, query: Statement, parameters: &[Value]) -> Outcome<i64> {
    let mut number = None;
    client.query_one(query, parameters, |row| number = row[0].as_i64()).await?;
    Ok(number.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_the_published_one() {
        // Park, Miller and Stockmeyer, CACM 36 (7): from 1, the 10,000th number is 399268537.
        let mut lehmer = Lehmer(1);
        for _ in 0..10_000 {
            lehmer.draw(0, MODULUS - 1);
        }
        assert_eq!(lehmer.0, 399_268_537);
    }

    #[test]
    fn what_is_drawn_reaches_both_ends() {
        let mut lehmer = Lehmer(7);
        let drawn: Vec<i64> = (0..1000).map(|_| lehmer.draw(1, LINES_MAX)).collect();
        assert_eq!((drawn.iter().min(), drawn.iter().max()), (Some(&1), Some(&LINES_MAX)));
    }
}
