//! `orders`: the benchmark that the Firebird project took apart when it seemed to show version 4 slower than 3.
//!
//! A call of a procedure, which is one transaction, writes many orders of 1 to 6 lines with random products; a trigger
//! takes each line off the product's inventory. Calls meet at the inventory. Its procedure draws the products itself, so
//! a call that the engine restarts asks for other ones. The two remedies named there are parameters: products that follow
//! from the call's seed, and one order a call.
//!
//! SQLite has triggers and no procedures: there the client runs the procedure's statements, and draws as if repeatable.

use super::{commit, condition, number, FILLER};
use protocol::Condition;
use rand::{RngExt as _, SeedableRng as _};
use transaction::{
    Acknowledged, Attempt, Client, Dialect, Drawn, LoadContext, Outcome, Rng, Script, Seat, Session, Statement, Value,
    Workload,
};

const CUSTOMERS: i64 = 1000;
/// Pieces of each product before the first order.
const STOCK: i64 = 1_000_000;
const LINES_MAX: i64 = 6;
const QUANTITY_MAX: i64 = 4;
const DAYS_MAX: i64 = 730;
const TAX_PERCENT: i64 = 16;
const CHUNK: i64 = 25_000;

pub struct Orders {
    pub products: i64,
    pub orders_per_call: i64,
    pub repeatable: bool,
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

/// Tables with their rows' columns. Money is in hundredths.
fn tables(dialect: Dialect) -> Vec<String> {
    // SQLite's rowid is the key itself; MySQL has no sequences.
    let (key, own_key) = match dialect {
        Dialect::Sqlite => ("integer primary key", "integer primary key"),
        Dialect::Mysql => ("bigint not null primary key", "bigint not null auto_increment primary key"),
        Dialect::Firebird | Dialect::Postgres => ("bigint not null primary key", "bigint not null primary key"),
    };
    vec![
        format!("create table customer (id {key}, name varchar(40) not null)"),
        format!("create table product (id {key}, title varchar(60) not null, price bigint not null)"),
        format!("create table inventory (product_id {key}, quantity bigint not null)"),
        format!(
            "create table orders (id {own_key}, orderdate date not null, customer_id bigint not null, \
             netamount bigint not null, tax bigint not null, totalamount bigint not null, \
             line_count integer not null, thread_id integer not null)"
        ),
        format!(
            "create table orderline (id {own_key}, orders_id bigint not null, product_id bigint not null, \
             quantity integer not null, orderdate date not null)"
        ),
    ]
}

const TAKE: &str = "update inventory set quantity = quantity - new.quantity where product_id = new.product_id";

impl Orders {
    /// What each engine has besides tables.
    fn routines(&self, dialect: Dialect) -> Vec<String> {
        match dialect {
            Dialect::Sqlite => vec![format!("create trigger orderline_ai after insert on orderline begin {TAKE}; end")],
            Dialect::Firebird => vec![
                "create generator ids".to_string(),
                // A key's index ascends, and such a one does not serve max().
                "create descending index product_down on product (id)".to_string(),
                "create descending index customer_down on customer (id)".to_string(),
                format!("create trigger orderline_ai for orderline active after insert as begin {TAKE}; end"),
                self.firebird(),
            ],
            Dialect::Postgres => vec![
                "create sequence ids".to_string(),
                format!(
                    "create function orderline_ai() returns trigger language plpgsql as $$ begin {TAKE}; return null; \
                     end $$"
                ),
                "create trigger orderline_ai after insert on orderline for each row execute procedure orderline_ai()"
                    .to_string(),
                self.postgres(),
            ],
            Dialect::Mysql => {
                vec![format!("create trigger orderline_ai after insert on orderline for each row {TAKE}"), self.mysql()]
            }
        }
    }

    /// Statements of a procedure that set `name` to a whole number from `low` to `high`. Those of `rand()` are rounded as
    /// in the original: the two ends come half as often.
    fn draw(&self, dialect: Dialect, name: &str, low: &str, high: &str) -> String {
        let (set, is) = match dialect {
            Dialect::Mysql => ("set ", "="),
            Dialect::Postgres => ("", ":="),
            _ => ("", "="),
        };
        if self.repeatable {
            return format!(
                "{set}xseed {is} mod(xseed * {MULTIPLIER}, {MODULUS}); \
                 {set}{name} {is} {low} + mod(xseed, {high} - {low} + 1);"
            );
        }
        let value = match dialect {
            Dialect::Mysql => format!("round(rand() * ({high} - {low}) + {low})"),
            Dialect::Postgres => format!("cast(random() * ({high} - {low}) + {low} as integer)"),
            _ => format!("cast(rand() * ({high} - {low}) + {low} as integer)"),
        };
        format!("{set}{name} {is} {value};")
    }

    fn draws(&self, dialect: Dialect) -> [String; 5] {
        [
            self.draw(dialect, "xdays", "0", &DAYS_MAX.to_string()),
            self.draw(dialect, "xcustomer", "xcustomer_min", "xcustomer_max"),
            self.draw(dialect, "xlines", "1", &LINES_MAX.to_string()),
            self.draw(dialect, "xproduct", "xproduct_min", "xproduct_max"),
            self.draw(dialect, "xquantity", "1", &QUANTITY_MAX.to_string()),
        ]
    }

    fn firebird(&self) -> String {
        let [days, customer, lines, product, quantity] = self.draws(Dialect::Firebird);
        let orders = self.orders_per_call;
        format!(
            "create procedure create_orders (xthread integer, xseed bigint) as
             declare variable xorders integer; declare variable xorder bigint; declare variable xdays integer;
             declare variable xcustomer bigint; declare variable xlines integer; declare variable xleft integer;
             declare variable xproduct bigint; declare variable xquantity integer; declare variable xprice bigint;
             declare variable xnet bigint; declare variable xtax bigint; declare variable xdate date;
             declare variable xproduct_min bigint; declare variable xproduct_max bigint;
             declare variable xcustomer_min bigint; declare variable xcustomer_max bigint;
             begin
               select min(id) from product into :xproduct_min;
               select max(id) from product into :xproduct_max;
               select min(id) from customer into :xcustomer_min;
               select max(id) from customer into :xcustomer_max;
               xorders = {orders};
               while (xorders > 0) do
               begin
                 xorder = gen_id(ids, 1);
                 {days}
                 xdate = current_date - xdays;
                 {customer}
                 insert into orders (id, orderdate, customer_id, netamount, tax, totalamount, line_count, thread_id)
                   values (:xorder, :xdate, :xcustomer, 0, 0, 0, 0, :xthread);
                 {lines}
                 xnet = 0;
                 xleft = xlines;
                 while (xleft > 0) do
                 begin
                   {product}
                   {quantity}
                   insert into orderline (id, orders_id, product_id, quantity, orderdate)
                     values (gen_id(ids, 1), :xorder, :xproduct, :xquantity, :xdate);
                   select price from product where id = :xproduct into :xprice;
                   xnet = xnet + xquantity * xprice;
                   xleft = xleft - 1;
                 end
                 xtax = xnet * {TAX_PERCENT} / 100;
                 update orders set netamount = :xnet, tax = :xtax, totalamount = :xnet + :xtax, line_count = :xlines
                   where id = :xorder;
                 xorders = xorders - 1;
               end
             end"
        )
    }

    fn postgres(&self) -> String {
        let [days, customer, lines, product, quantity] = self.draws(Dialect::Postgres);
        let orders = self.orders_per_call;
        format!(
            "create function create_orders(xthread integer, xseed bigint) returns void language plpgsql as $$
             declare
               xorder bigint; xdays integer; xcustomer bigint; xlines integer; xproduct bigint; xquantity integer;
               xprice bigint; xnet bigint; xtax bigint; xdate date;
               xproduct_min bigint; xproduct_max bigint; xcustomer_min bigint; xcustomer_max bigint;
             begin
               select min(id) from product into xproduct_min;
               select max(id) from product into xproduct_max;
               select min(id) from customer into xcustomer_min;
               select max(id) from customer into xcustomer_max;
               for xorders in 1..{orders} loop
                 xorder := nextval('ids');
                 {days}
                 xdate := current_date - xdays;
                 {customer}
                 insert into orders (id, orderdate, customer_id, netamount, tax, totalamount, line_count, thread_id)
                   values (xorder, xdate, xcustomer, 0, 0, 0, 0, xthread);
                 {lines}
                 xnet := 0;
                 for xleft in 1..xlines loop
                   {product}
                   {quantity}
                   insert into orderline (id, orders_id, product_id, quantity, orderdate)
                     values (nextval('ids'), xorder, xproduct, xquantity, xdate);
                   select price from product where id = xproduct into xprice;
                   xnet := xnet + xquantity * xprice;
                 end loop;
                 xtax := xnet * {TAX_PERCENT} / 100;
                 update orders set netamount = xnet, tax = xtax, totalamount = xnet + xtax, line_count = xlines
                   where id = xorder;
               end loop;
             end $$"
        )
    }

    fn mysql(&self) -> String {
        let [days, customer, lines, product, quantity] = self.draws(Dialect::Mysql);
        let orders = self.orders_per_call;
        format!(
            "create procedure create_orders(xthread integer, xseed bigint)
             begin
               declare xorders, xdays, xlines, xleft, xquantity integer;
               declare xorder, xcustomer, xproduct, xprice, xnet, xtax bigint;
               declare xproduct_min, xproduct_max, xcustomer_min, xcustomer_max bigint;
               declare xdate date;
               select min(id) into xproduct_min from product;
               select max(id) into xproduct_max from product;
               select min(id) into xcustomer_min from customer;
               select max(id) into xcustomer_max from customer;
               set xorders = {orders};
               while xorders > 0 do
                 {days}
                 set xdate = date_sub(current_date, interval xdays day);
                 {customer}
                 insert into orders (orderdate, customer_id, netamount, tax, totalamount, line_count, thread_id)
                   values (xdate, xcustomer, 0, 0, 0, 0, xthread);
                 set xorder = last_insert_id();
                 {lines}
                 set xnet = 0;
                 set xleft = xlines;
                 while xleft > 0 do
                   {product}
                   {quantity}
                   insert into orderline (orders_id, product_id, quantity, orderdate)
                     values (xorder, xproduct, xquantity, xdate);
                   select price into xprice from product where id = xproduct;
                   set xnet = xnet + xquantity * xprice;
                   set xleft = xleft - 1;
                 end while;
                 set xtax = xnet * {TAX_PERCENT} div 100;
                 update orders set netamount = xnet, tax = xtax, totalamount = xnet + xtax, line_count = xlines
                   where id = xorder;
                 set xorders = xorders - 1;
               end while;
             end"
        )
    }
}

impl Workload for Orders {
    fn load(&self, context: &LoadContext) -> Outcome<()> {
        let dialect = context.dialect();
        context.statements(tables(dialect))?;
        context.expect((CUSTOMERS + 2 * self.products) as u64);
        let chunks = |table: usize, rows: i64| {
            (0..rows).step_by(CHUNK as usize).map(move |before| (table, before + 1, rows.min(before + CHUNK)))
        };
        let tasks = chunks(0, CUSTOMERS).chain(chunks(1, self.products)).chain(chunks(2, self.products));
        context.each(tasks.collect(), |session, (table, first, last)| {
            let (name, columns): (&str, &[&str]) = [
                ("customer", &["id", "name"][..]),
                ("product", &["id", "title", "price"][..]),
                ("inventory", &["product_id", "quantity"][..]),
            ][table];
            let mut rng = Rng::seed_from_u64(context.seed() ^ first as u64);
            let mut id = first;
            context
                .fill(session, name, columns, |row| {
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
                    id += 1;
                    id <= last + 1
                })
                .map(|_| ())
        })?;
        context.statements(self.routines(dialect))
    }

    fn check(&self, session: &mut dyn Session, acknowledged: &Acknowledged) -> Outcome<Vec<Condition>> {
        let mut found = Vec::new();
        for (table, right) in [("customer", CUSTOMERS), ("product", self.products), ("inventory", self.products)] {
            let rows = number(session, &format!("select count(*) from {table}"))?;
            let name = format!("{table}_cardinality");
            found.push(condition(&name, rows == right, format!("{rows} rows, {right} wanted")));
        }
        let orders = number(session, "select count(*) from orders")?;
        let calls = (orders % self.orders_per_call == 0).then_some(orders / self.orders_per_call);
        found.push(condition(
            "orders_match_acknowledged",
            calls.is_some_and(|calls| acknowledged.agrees(calls)),
            format!(
                "{orders} orders, {} calls of {} acknowledged, {} unknown",
                acknowledged.committed, self.orders_per_call, acknowledged.unknown
            ),
        ));
        let whole = if session.dialect() == Dialect::Mysql { "div" } else { "/" };
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
            let wrong = number(session, &sql)?;
            found.push(condition(name, wrong == 0, format!("{wrong} differ")));
        }
        Ok(found)
    }

    fn script(&self, session: &mut dyn Session, seat: Seat) -> Outcome<Box<dyn Script>> {
        let thread = Value::Int(seat.terminal as i64);
        let call = match session.dialect() {
            Dialect::Sqlite => {
                return Ok(Box::new(Steps {
                    thread,
                    seed: 0,
                    orders: self.orders_per_call,
                    ends: ["select min(id) from product", "select max(id) from product"]
                        .into_iter()
                        .chain(["select min(id) from customer", "select max(id) from customer"])
                        .map(|sql| session.prepare(sql))
                        .collect::<Outcome<_>>()?,
                    insert_order: session.prepare(
                        "insert into orders (orderdate, customer_id, netamount, tax, totalamount, line_count, \
                         thread_id) values (date('now', '-' || ? || ' days'), ?, 0, 0, 0, 0, ?) returning id",
                    )?,
                    insert_line: session.prepare(
                        "insert into orderline (orders_id, product_id, quantity, orderdate) \
                         values (?, ?, ?, date('now', '-' || ? || ' days'))",
                    )?,
                    read_price: session.prepare("select price from product where id = ?")?,
                    update_order: session.prepare(
                        "update orders set netamount = ?, tax = ?, totalamount = ?, line_count = ? where id = ?",
                    )?,
                }))
            }
            Dialect::Firebird => "execute procedure create_orders(?, ?)",
            Dialect::Postgres => "select create_orders(?, ?)",
            Dialect::Mysql => "call create_orders(?, ?)",
        };
        Ok(Box::new(Call { call: session.prepare(call)?, inputs: [thread, Value::Null] }))
    }
}

/// The seed of one call. It stays the same when the call is tried again.
fn seed(rng: &mut Rng) -> i64 {
    rng.random_range(1..MODULUS)
}

struct Call {
    call: Statement,
    inputs: [Value; 2],
}

impl Script for Call {
    fn draw(&mut self, rng: &mut Rng) -> Option<Drawn> {
        self.inputs[1] = Value::Int(seed(rng));
        Some(Drawn::default())
    }

    fn attempt<'a>(&'a mut self, client: &'a mut Client) -> Attempt<'a> {
        Box::pin(async {
            client.begin().await?;
            client.execute(self.call, &self.inputs).await?;
            commit(client).await
        })
    }
}

/// The procedure's statements, one by one.
struct Steps {
    thread: Value,
    seed: i64,
    orders: i64,
    ends: Vec<Statement>,
    insert_order: Statement,
    insert_line: Statement,
    read_price: Statement,
    update_order: Statement,
}

impl Script for Steps {
    fn draw(&mut self, rng: &mut Rng) -> Option<Drawn> {
        self.seed = seed(rng);
        Some(Drawn::default())
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
                let lines = lehmer.draw(1, LINES_MAX);
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

/// The whole number that a query for one row answers.
async fn one(client: &mut Client, query: Statement, parameters: &[Value]) -> Outcome<i64> {
    let mut found = None;
    client.query_one(query, parameters, |row| found = row[0].as_i64()).await?;
    Ok(found.unwrap_or_default())
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
