//! The workload `tpcc` as the lab sees it, on SQLite: what is loaded, what runs, and that each of the twelve conditions
//! finds what breaks it.

use crate::common::*;
use protocol::Event;
use serde_json::{json, Value};
use std::collections::BTreeMap;

fn tpcc(changes: &[(&str, Value)]) -> Value {
    let mut workload = json!({"name": "tpcc", "warehouses": 1, "percent": 100, "procedures": false, "keying": false, "roaming": false});
    changes.iter().for_each(|(name, value)| workload[*name] = value.clone());
    workload
}

const TABLES: [&str; 9] =
    ["warehouse", "district", "customer", "history", "new_order", "orders", "order_line", "item", "stock"];

/// Everything in the database, folded.
fn contents(place: &Place) -> BTreeMap<&'static str, u64> {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let connection = place.open();
    let fold = |table: &&'static str| {
        let mut statement = connection.prepare(&format!("select * from {table}")).unwrap();
        let columns = statement.column_count();
        let mut rows = statement.query([]).unwrap();
        let mut hasher = DefaultHasher::new();
        while let Some(row) = rows.next().unwrap() {
            (0..columns).for_each(|column| format!("{:?}", row.get_ref(column).unwrap()).hash(&mut hasher));
        }
        (*table, hasher.finish())
    };
    TABLES.iter().map(fold).collect()
}

#[test]
fn two_loads_with_one_seed_are_identical() {
    let loaded = || {
        let place = Place::new();
        succeed(&place.job(small(2), vec![load()]));
        contents(&place)
    };
    assert_eq!(loaded(), loaded());
}

fn small(warehouses: u32) -> Value {
    tpcc(&[("warehouses", json!(warehouses)), ("percent", json!(3))])
}

/// One warehouse in which no kind of transaction meets the same rows too often.
fn tenth() -> Value {
    tpcc(&[("percent", json!(10))])
}

fn adding(from: u32) -> Value {
    with(load(), [("from_units", json!(from))])
}

#[test]
fn a_smaller_warehouse_has_fewer_rows_of_all_and_holds_every_condition() {
    let place = Place::new();
    let ended = succeed(&place.job(small(2), vec![load(), check(), run(2, count(300)), check()]));
    ended.assert_holds();
    for (sql, wanted) in [
        ("select count(*) from item", 3_000),
        ("select count(*) from stock", 6_000),
        ("select count(*) from district", 20),
        ("select count(*) from customer", 1_800),
        ("select count(distinct c_last) from customer", 30),
        ("select count(*) from orders where o_id <= 90", 1_800),
        ("select sum(o_id) from orders where o_id <= 90 and o_carrier_id is null and o_d_id = 1 and o_w_id = 1", 0),
    ] {
        match wanted {
            0 => assert!(place.number(sql) <= (64..=90).sum::<i64>(), "{sql}"),
            _ => assert_eq!(place.number(sql), wanted, "{sql}"),
        }
    }
    assert!(place.number("select max(o_id) from orders") > 90);
}

#[test]
fn warehouses_that_are_added_are_as_if_loaded_at_once() {
    let (at_once, grown) = (Place::new(), Place::new());
    succeed(&at_once.job(small(4), vec![load()]));
    succeed(&grown.job(small(2), vec![load()]));
    let used = grown.copy();
    let ended = succeed(&grown.job(small(4), vec![adding(2), check()]));
    assert_eq!(ended.broken(), [""; 0]);
    assert_eq!(contents(&grown), contents(&at_once));

    // A database may have been at work before it grows.
    succeed(&used.job(small(2), vec![run(2, count(100))]));
    let orders = used.rows("orders");
    let roaming = with(small(4), [("roaming", json!(true))]);
    let check_at_least = json!({"phase": "check", "at_least": [0, 0, 0, 0, 0]});
    let ended =
        succeed(&used.job(roaming, vec![adding(2), check_at_least.clone(), run(2, count(200)), check_at_least]));
    ended.assert_holds();
    assert!(used.rows("orders") > orders + 1_800);
    assert!(
        used.number("select count(distinct o_w_id) from orders where o_id > 90") == 4,
        "two terminals, all warehouses"
    );
}

#[test]
fn warehouses_are_added_to_nothing_but_the_database_asked_for() {
    let place = Place::new();
    succeed(&place.job(small(2), vec![load()]));
    let before = contents(&place);
    let refused = |place: &Place, workload: Value, from: u32| {
        let ended = perform(&place.job(workload, vec![adding(from)]));
        let (doing, message) = ended.failure();
        assert_eq!(doing, "loading the database");
        message.to_string()
    };
    assert_eq!(refused(&place, small(4), 1), "the database holds 2 warehouses, and not the first 1 to add more to");
    assert_eq!(refused(&place, small(4), 3), "the database holds 2 warehouses, and not the first 3 to add more to");
    assert_eq!(
        refused(&place, with(small(4), [("percent", json!(4))]), 2),
        "the database holds 3000 items, and 4000 belong to the percentage asked for"
    );
    assert_eq!(contents(&place), before);
    let unfinished = place.copy();
    unfinished.change("insert into new_order (no_w_id, no_d_id, no_o_id) values (3, 1, 64)");
    assert_eq!(
        refused(&unfinished, small(4), 2),
        "an unfinished load has left rows of other warehouses in new_order: the database must be loaded anew"
    );
    let message = refused(&Place::new(), small(4), 2);
    assert!(message.starts_with("the database does not hold 2 warehouses: "), "{message}");
    let ended = perform(&place.job(small(2), vec![adding(2)]));
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("the workload must have more units than from_units"), "{}", ended.stderr);
    let ended = perform(&place.job(tpcb(1), vec![adding(2)]));
    assert!(ended.stderr.contains("the database of the workload tpcb does not grow"), "{}", ended.stderr);
}

#[test]
fn an_engine_without_procedures_says_so_before_anything_is_made() {
    let place = Place::new();
    let ended = perform(&place.job(tpcc(&[("procedures", json!(true))]), vec![load()]));
    assert_eq!(ended.failure(), ("loading the database", "SQLite has no stored procedures"));
    assert_eq!(place.number("select count(*) from sqlite_master"), 0);
}

#[test]
fn users_who_key_and_think_leave_a_short_run_empty() {
    let place = Place::new();
    let workload = with(small(1), [("keying", json!(true))]);
    let ended = succeed(&place.job(workload, vec![load(), run(4, lasting(0.5)), check()]));
    assert_eq!(ended.broken(), [""; 0]);
    assert_eq!(ended.result().counts.committed, 0, "nobody keys in half a second");
}

#[test]
fn transactions_leave_every_condition_holding_and_each_violation_is_named() {
    let place = Place::new();
    let plan = run(3, count(600));
    let ended = succeed(&place.job(tenth(), vec![load(), check(), plan, check()]));
    ended.assert_holds();
    assert!(ended.checks().iter().all(|checked| checked.conditions.len() == 5 + 2 + 12 + 1));
    let loaded = ended.events.iter().find_map(|event| match event {
        Event::Loaded(loaded) => Some(loaded.rows),
        _ => None,
    });
    assert!(loaded.is_some_and(|rows| (59_000..61_000).contains(&rows)), "{loaded:?}");

    // 23 cards a pass: what the deck makes of 600 draws of three terminals.
    let result = ended.result();
    let kinds: BTreeMap<&str, _> = result.kinds.iter().map(|kind| (kind.name.as_str(), kind)).collect();
    let limits = |name: &str| kinds[name].limit_ms;
    assert_eq!(["new_order", "payment", "order_status"].map(limits), [Some(5_000.0); 3]);
    assert_eq!((limits("delivery"), limits("stock_level")), (Some(80_000.0), Some(20_000.0)));
    let committed = |name: &str| kinds[name].committed;
    assert!(committed("new_order") + kinds["new_order"].rolled_back >= 250);
    assert!((240..=290).contains(&committed("payment")));
    assert!(committed("order_status") > 20 && committed("stock_level") > 20);
    assert_eq!(kinds.values().map(|kind| kind.errors).sum::<u64>(), 0);
    assert!(committed("delivery") > 0, "workers deliver");
    assert_eq!(place.number("select sum(c_delivery_cnt) from customer") as u64, 10 * committed("delivery"));
    assert_eq!(place.rows("orders"), 3_000 + committed("new_order"));
    assert_eq!(place.rows("history"), 3_000 + committed("payment"));
    // Each kind has done what its profile says.
    for (sql, wanted) in [
        ("select count(*) from orders where o_id > 300 and (o_ol_cnt < 5 or o_ol_cnt > 15)", 0),
        ("select count(*) from order_line join item on i_id = ol_i_id where ol_o_id > 300 \
          and (ol_amount <> ol_quantity * i_price or ol_dist_info = '')", 0),
        ("select count(*) from stock where s_quantity < 10 or s_quantity > 100", 0),
        ("select count(*) from customer where c_credit = 'BC' and c_payment_cnt > 1 \
          and c_data not like c_id || ' ' || c_d_id || ' ' || c_w_id || ' %|%'", 0),
        ("select count(*) from customer where length(c_data) > 500", 0),
        ("select count(*) from history where h_amount <> 1000 and h_data not like '%    %'", 0),
        ("select (select sum(s_ytd) from stock) - (select sum(ol_quantity) from order_line where ol_o_id > 300)", 0),
        ("select (select sum(s_order_cnt) from stock) - (select count(*) from order_line where ol_o_id > 300)", 0),
        ("select count(*) from order_line join stock on s_w_id = ol_supply_w_id and s_i_id = ol_i_id where ol_o_id > 300 \
          and ol_dist_info not in (s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, s_dist_07, \
          s_dist_08, s_dist_09, s_dist_10)", 0),
    ] {
        assert_eq!(place.number(sql), wanted, "{sql}");
    }
    // Half of the customers are named, and payments go to those.
    assert!(place.number("select count(*) from customer where c_payment_cnt > 1") > 150);

    each_violation_is_named(&place);
}

/// The statements that tests/session/violations.py also plants on other engines, with all conditions that each breaks.
fn each_violation_is_named(place: &Place) {
    let planted = include_str!("../../../../tests/session/violations.json").replace("{undelivered}", "290");
    let planted: Vec<Planted> = serde_json::from_str(&planted).unwrap();
    let named: Vec<&str> = planted.iter().map(|planted| planted.condition.as_str()).collect();
    assert_eq!(named.len(), 12);
    assert!(named.iter().zip(1..).all(|(name, number)| name.starts_with(&format!("condition_{number}_"))), "{named:?}");
    for Planted { condition, sql, also } in &planted {
        let other = place.copy();
        other.change(sql);
        let ended = succeed(&other.job(tenth(), vec![check()]));
        // This process counted no commit.
        let others = ["new_orders_match_acknowledged", "payments_match_acknowledged"];
        let mut expected: Vec<&str> = also.iter().map(String::as_str).chain(others).collect();
        expected.push(condition);
        expected.sort_unstable();
        assert_eq!(ended.broken(), expected, "after: {sql}");
        let detail = ended.detail(condition);
        assert!(detail.contains(" differ; warehouse 1"), "{detail}");
    }
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Planted {
    condition: String,
    sql: String,
    also: Vec<String>,
}
