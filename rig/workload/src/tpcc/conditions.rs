//! The twelve consistency conditions of clause 3.3.2, for every warehouse, district, order, line and customer.
//!
//! The engine sums up and counts by district; what it answers, a few rows a warehouse, is compared here. So no query joins
//! one derived table with another, which older planners do row by row.

use super::scale::{Scale, DISTRICTS, NEW_ORDER, PAYMENT};
use crate::common::{condition, number};
use protocol::Condition;
use std::collections::{BTreeMap, BTreeSet};
use transaction::{Acknowledged, Outcome, Session, Value};

/// What is found of a district, or under its number elsewhere.
#[derive(Debug, Default)]
struct District {
    /// Rows in the district table.
    rows: i64,
    ytd: i64,
    next: i64,

    orders: i64,
    newest_order: i64,
    /// Sum of `o_ol_cnt`.
    lines_wanted: i64,
    /// Orders with a carrier.
    carried: i64,

    new_orders: i64,
    oldest_new: i64,
    newest_new: i64,
    /// New-order rows whose order has no carrier.
    new_uncarried: i64,

    paid: i64,

    lines: i64,
    /// Orders with as many lines as they say.
    orders_whole: i64,
    /// Lines that are delivered if and only if their order is.
    lines_agree: i64,

    customers: i64,
    /// Customers and others whom payments or orders name.
    parties: i64,
    balances_agree: i64,
    payments_agree: i64,
    delivered: i64,
}

type Key = (i64, i64);

/// A query, and what its columns after warehouse and district fill.
type Query = (&'static str, fn(&mut District) -> Vec<&mut i64>);

const QUERIES: [Query; 8] = [
    ("select d_w_id, d_id, 1, d_ytd, d_next_o_id from district", |d| vec![&mut d.rows, &mut d.ytd, &mut d.next]),
    (
        "select o_w_id, o_d_id, count(*), max(o_id), sum(o_ol_cnt), count(o_carrier_id) from orders \
         group by o_w_id, o_d_id",
        |d| vec![&mut d.orders, &mut d.newest_order, &mut d.lines_wanted, &mut d.carried],
    ),
    ("select no_w_id, no_d_id, count(*), min(no_o_id), max(no_o_id) from new_order group by no_w_id, no_d_id", |d| {
        vec![&mut d.new_orders, &mut d.oldest_new, &mut d.newest_new]
    }),
    (
        "select no_w_id, no_d_id, count(*) from new_order \
         join orders on o_w_id = no_w_id and o_d_id = no_d_id and o_id = no_o_id \
         where o_carrier_id is null group by no_w_id, no_d_id",
        |d| vec![&mut d.new_uncarried],
    ),
    ("select h_w_id, h_d_id, sum(h_amount) from history group by h_w_id, h_d_id", |d| vec![&mut d.paid]),
    (
        "select w, d, sum(n), sum(case when o_ol_cnt = n then 1 else 0 end), \
         sum(case when o_id is null then 0 when o_carrier_id is null then n - delivered else delivered end) \
         from (select ol_w_id w, ol_d_id d, ol_o_id o, count(*) n, count(ol_delivery_d) delivered from order_line \
         group by ol_w_id, ol_d_id, ol_o_id) l \
         left join orders on o_w_id = w and o_d_id = d and o_id = o group by w, d",
        |d| vec![&mut d.lines, &mut d.orders_whole, &mut d.lines_agree],
    ),
    ("select c_w_id, c_d_id, count(*), sum(c_delivery_cnt) from customer group by c_w_id, c_d_id", |d| {
        vec![&mut d.customers, &mut d.delivered]
    }),
    // What a customer's balance, and balance and payments, have too much. Lines without an amount add nothing: the load's
    // delivered ones are passed over.
    (
        "select w, d, count(*), sum(case when balance = 0 then 1 else 0 end), \
         sum(case when payments = 0 then 1 else 0 end) from (\
         select w, d, c, sum(balance) balance, sum(payments) payments from (\
         select c_w_id w, c_d_id d, c_id c, c_balance balance, c_balance + c_ytd_payment payments from customer \
         union all select h_c_w_id, h_c_d_id, h_c_id, h_amount, 0 from history \
         union all select o_w_id, o_d_id, o_c_id, -ol_amount, -ol_amount from order_line \
         join orders on o_w_id = ol_w_id and o_d_id = ol_d_id and o_id = ol_o_id \
         where ol_delivery_d is not null and ol_amount <> 0) parts group by w, d, c) parties group by w, d",
        |d| vec![&mut d.parties, &mut d.balances_agree, &mut d.payments_agree],
    ),
];

pub fn check(
    session: &mut dyn Session,
    warehouses: i64,
    scale: Scale,
    acknowledged: &Acknowledged,
) -> Outcome<Vec<Condition>> {
    let mut districts: BTreeMap<Key, District> = BTreeMap::new();
    for (sql, fields) in QUERIES {
        for row in session.rows(sql)? {
            let district = districts.entry((int(&row[0]), int(&row[1]))).or_default();
            for (field, value) in fields(district).into_iter().zip(&row[2..]) {
                *field = int(value);
            }
        }
    }
    let mut of_warehouse: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
    for (&(warehouse, _), district) in &districts {
        let (ytd, paid) = of_warehouse.entry(warehouse).or_default();
        *ytd += district.ytd;
        *paid += district.paid;
    }
    let ytd: BTreeMap<i64, i64> =
        session.rows("select w_id, w_ytd from warehouse")?.iter().map(|row| (int(&row[0]), int(&row[1]))).collect();

    let total = |field: fn(&District) -> i64| districts.values().map(field).sum::<i64>();
    let mut conditions = Vec::new();
    for (name, rows, right) in [
        ("warehouse_cardinality", ytd.len() as i64, warehouses),
        ("district_cardinality", total(|d| d.rows), warehouses * DISTRICTS),
        ("customer_cardinality", total(|d| d.customers), warehouses * DISTRICTS * scale.customers()),
        ("item_cardinality", number(session, "select count(*) from item")?, scale.items()),
        ("stock_cardinality", number(session, "select count(*) from stock")?, warehouses * scale.items()),
    ] {
        conditions.push(condition(name, rows == right, format!("{rows} rows, {right} wanted")));
    }
    for (name, kind, before, now) in [
        ("new_orders_match_acknowledged", NEW_ORDER, scale.orders(), total(|d| d.orders)),
        ("payments_match_acknowledged", PAYMENT, scale.customers(), number(session, "select count(*) from history")?),
    ] {
        let more = now - before * DISTRICTS * warehouses;
        conditions.push(condition(
            name,
            acknowledged.agrees_of(kind, more),
            format!(
                "{more} more than after the load, {} acknowledged, {} commits unknown",
                acknowledged.kinds[kind], acknowledged.unknown
            ),
        ));
    }

    let by_warehouse = |name: &str, words: [&str; 2], of_districts: fn(&(i64, i64)) -> i64| {
        let keys: BTreeSet<_> = ytd.keys().chain(of_warehouse.keys()).collect();
        let figures = keys.into_iter().map(|warehouse| {
            let summed = of_warehouse.get(warehouse).map_or(0, of_districts);
            (format!("warehouse {warehouse}"), vec![ytd.get(warehouse).copied().unwrap_or(0), summed])
        });
        compared(name, &words, "warehouses", figures)
    };
    let by_district = |name: &str, words: &[&str], figures: &dyn Fn(&District) -> Vec<i64>| {
        let place = |&(warehouse, district): &Key| format!("warehouse {warehouse}, district {district}");
        let figures = districts.iter().map(|(key, district)| (place(key), figures(district)));
        compared(name, words, "districts", figures)
    };
    conditions.push(by_warehouse("condition_1_warehouse_ytd", ["w_ytd", "sum(d_ytd)"], |(ytd, _)| *ytd));
    conditions.push(by_district("condition_2_next_order", &["d_next_o_id - 1", "max(o_id)", "max(no_o_id)"], &|d| {
        match d.new_orders {
            0 => vec![d.next - 1, d.newest_order],
            _ => vec![d.next - 1, d.newest_order, d.newest_new],
        }
    }));
    conditions.push(by_district(
        "condition_3_new_orders_without_gaps",
        &["max(no_o_id) - min(no_o_id) + 1", "new-order rows"],
        &|d| match d.new_orders {
            0 => vec![0, 0],
            many => vec![d.newest_new - d.oldest_new + 1, many],
        },
    ));
    conditions.push(by_district("condition_4_district_lines", &["sum(o_ol_cnt)", "order-line rows"], &|d| {
        vec![d.lines_wanted, d.lines]
    }));
    conditions.push(by_district(
        "condition_5_carrier_or_new_order",
        &["orders without carrier", "new-order rows", "both"],
        &|d| vec![d.orders - d.carried, d.new_orders, d.new_uncarried],
    ));
    conditions.push(by_district("condition_6_order_lines", &["orders", "with o_ol_cnt lines"], &|d| {
        vec![d.orders, d.orders_whole]
    }));
    conditions.push(by_district(
        "condition_7_delivery_dates",
        &["order-line rows", "with a delivery date if their order has a carrier and only then"],
        &|d| vec![d.lines, d.lines_agree],
    ));
    conditions.push(by_warehouse("condition_8_warehouse_history", ["w_ytd", "sum(h_amount)"], |(_, paid)| *paid));
    conditions.push(by_district("condition_9_district_history", &["d_ytd", "sum(h_amount)"], &|d| vec![d.ytd, d.paid]));
    conditions.push(by_district(
        "condition_10_customer_balance",
        &["customers", "with c_balance = sum(ol_amount) - sum(h_amount)"],
        &|d| vec![d.parties, d.balances_agree],
    ));
    let delivered = scale.first_open() - 1;
    // The clause has 2,100, which is what the load leaves delivered; each delivery since adds one, and is counted with the
    // customer.
    conditions.push(by_district(
        "condition_11_orders_delivered",
        &["orders - new-order rows", &format!("{delivered} + sum(c_delivery_cnt)")],
        &|d| vec![d.orders - d.new_orders, delivered + d.delivered],
    ));
    conditions.push(by_district(
        "condition_12_customer_payments",
        &["customers", "with c_balance + c_ytd_payment = sum(ol_amount)"],
        &|d| vec![d.parties, d.payments_agree],
    ));
    Ok(conditions)
}

/// Differences that a detail names; the rest it counts.
const SHOWN: usize = 3;

/// Holds when in every place all figures are the same. `words` say what the figures are.
fn compared(name: &str, words: &[&str], places: &str, figures: impl Iterator<Item = (String, Vec<i64>)>) -> Condition {
    let (mut many, mut differ) = (0, 0);
    let mut shown = Vec::new();
    let mut sums = vec![0; words.len()];
    for (place, figures) in figures {
        many += 1;
        sums.iter_mut().zip(&figures).for_each(|(sum, figure)| *sum += figure);
        if figures.iter().any(|figure| *figure != figures[0]) {
            differ += 1;
            if shown.len() < SHOWN {
                shown.push(format!("; {place}: {}", pairs_shown(words, &figures)));
            }
        }
    }
    let detail = match differ {
        0 => format!("all {many} {places} agree; in all {}", pairs_shown(words, &sums)),
        _ => format!("of {many} {places} {differ} differ{}", shown.concat()),
    };
    condition(name, differ == 0, detail)
}

fn pairs_shown(words: &[&str], figures: &[i64]) -> String {
    let pairs: Vec<String> = words.iter().zip(figures).map(|(word, figure)| format!("{word} {figure}")).collect();
    pairs.join(", ")
}

fn int(value: &Value) -> i64 {
    value.as_i64().unwrap_or_default()
}
