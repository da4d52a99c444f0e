//! The shape of a load on a real database: stages, classes of terminals, sleeping sessions, a session for each transaction.

use crate::common::*;
use protocol::{RunResult, Tally};
use serde_json::{json, Value};

fn with_all(plan: Value, fields: &[(&str, Value)]) -> Value {
    let mut plan = plan;
    for (name, value) in fields {
        plan[*name] = value.clone();
    }
    plan
}

fn ran(workload: Value, plan: Value) -> RunResult {
    let ended = succeed(&Place::new().job(workload, vec![load(), check(), plan, check()]));
    assert_eq!(ended.broken(), Vec::<&str>::new());
    ended.result().clone()
}

fn flat(height: f64) -> Value {
    json!({"from": height, "to": height})
}

fn assert_adds_up<'a>(result: &RunResult, parts: impl Iterator<Item = &'a Tally> + Clone) {
    let sum = |of: fn(&Tally) -> u64| parts.clone().map(of).sum::<u64>();
    assert_eq!(sum(|tally| tally.counts.committed), result.counts.committed);
    assert_eq!(sum(|tally| tally.counts.conflicts), result.counts.conflicts);
    assert_eq!(sum(|tally| tally.counts.errors), result.counts.errors);
    assert_eq!(sum(|tally| tally.latency.count), result.latency.count);
    assert_eq!(sum(|tally| tally.service.count), result.service.count);
    if let Some(arrivals) = &result.arrivals {
        let of = |of: fn(&protocol::ArrivalCounts) -> u64| {
            parts.clone().filter_map(|tally| tally.arrivals.as_ref()).map(of).sum::<u64>()
        };
        assert_eq!(of(|one| one.scheduled), arrivals.scheduled);
        assert_eq!(of(|one| one.unfinished), arrivals.unfinished);
    }
}

#[test]
fn each_stage_has_the_arrivals_that_the_integral_of_its_rate_says() {
    let stages = json!([
        {"seconds": 0.5, "legs": [flat(40.0)]},
        {"seconds": 1.0, "legs": [{"from": 40.0, "to": 120.0}]},
        {"seconds": 0.5, "legs": [flat(0.0)]},
        {"seconds": 0.5, "legs": [flat(200.0)]},
    ]);
    let plan = with(run(2, lasting(2.5)), [("pacing", open_loop(72.0))]);
    let result = ran(commits(), with_all(plan, &[("stages", stages)]));
    let scheduled: Vec<u64> =
        result.stages.iter().map(|stage| stage.tally.arrivals.as_ref().unwrap().scheduled).collect();
    // An arrival on the very boundary may be of either stage.
    for (scheduled, wanted) in scheduled.iter().zip([20u64, 80, 0, 100]) {
        assert!(scheduled.abs_diff(wanted) <= 1, "{scheduled} for {wanted}");
    }
    assert_eq!(result.arrivals.as_ref().unwrap().scheduled, 200);
    let heights: Vec<_> = result.stages.iter().map(|stage| (stage.at_s, stage.from, stage.to)).collect();
    assert_eq!(heights, [(0.0, 40.0, 40.0), (0.5, 40.0, 120.0), (1.5, 0.0, 0.0), (2.0, 200.0, 200.0)]);
    assert_adds_up(&result, result.stages.iter().map(|stage| &stage.tally));
}

#[test]
fn terminals_pause_where_a_stage_has_fewer_of_them() {
    // A single one with think time, then none, then all.
    let stages = json!([
        {"seconds": 0.5, "legs": [flat(1.0)]},
        {"seconds": 1.0, "legs": [flat(0.0)]},
        {"seconds": 0.5, "legs": [flat(4.0)]},
    ]);
    let plan = with(run(4, lasting(2.0)), [("pacing", json!({"kind": "closed", "think_ms": 1.0}))]);
    let result = ran(commits(), with_all(plan, &[("stages", stages)]));
    let committed: Vec<u64> = result.stages.iter().map(|stage| stage.tally.counts.committed).collect();
    assert!(committed[0] + committed[2] > 0, "{committed:?}");
    // The one transaction that was under way when its terminal was to pause.
    assert!(committed[1] <= 1, "{committed:?}");
    assert!(result.arrivals.is_none());
    assert_adds_up(&result, result.stages.iter().map(|stage| &stage.tally));
}

#[test]
fn classes_have_their_own_parameters_pacing_and_results() {
    let class = |name: &str, terminals: u32, orders: u32, pacing: Value| {
        json!({"name": name, "terminals": terminals, "pacing": pacing, "mix": {},
               "parameters": {"orders_per_call": orders}})
    };
    let classes = json!([class("caller", 1, 20, Value::Null), class("single", 2, 1, open_loop(50.0))]);
    let result = ran(orders(1_000, 7), with_all(run(3, lasting(1.0)), &[("classes", classes)]));
    let shown: Vec<_> = result.classes.iter().map(|class| (class.name.as_str(), class.terminals)).collect();
    assert_eq!(shown, [("caller", 1), ("single", 2)]);
    assert!(result.classes[0].tally.arrivals.is_none());
    assert_eq!(result.classes[1].tally.arrivals.as_ref().unwrap().scheduled, 50);
    assert!(result.counts.committed > 0);
    assert_adds_up(&result, result.classes.iter().map(|class| &class.tally));
}

#[test]
fn a_class_draws_the_kinds_of_its_mix_alone() {
    let workload = json!({"name": "tpcc", "warehouses": 1, "percent": 1, "procedures": false, "keying": false,
                          "roaming": false});
    let class =
        |name: &str, mix: Value| json!({"name": name, "terminals": 1, "pacing": null, "mix": mix, "parameters": {}});
    let drawn = |mix: Value| -> Vec<String> {
        let plan = with_all(run(1, count(200)), &[("classes", json!([class("x", mix)]))]);
        let result = ran(workload.clone(), plan);
        let kinds = result.classes[0].tally.kinds.iter().filter(|kind| kind.committed > 0);
        kinds.map(|kind| kind.name.clone()).collect()
    };
    assert_eq!(drawn(json!({"payment": 3.0, "order_status": 1.0})), ["payment", "order_status"]);
    assert!(drawn(json!({})).contains(&"new_order".to_string()));
}

#[test]
fn what_a_workload_does_not_know_of_a_class_is_refused() {
    for (workload, mix, parameters, expected) in [
        (commits(), json!({"a": 1.0}), json!({}), "a of class x: the workload does not have that"),
        (orders(10, 1), json!({}), json!({"products": 3}), "has orders_per_call and lines alone"),
        (orders(10, 1), json!({}), json!({"lines": 7}), "is out of range"),
        (orders(10, 1), json!({}), json!({"orders_per_call": 0}), "is out of range"),
    ] {
        let class = json!({"name": "x", "terminals": 1, "pacing": null, "mix": mix, "parameters": parameters});
        let place = Place::new();
        let job = place.job(workload, vec![with_all(run(1, count(1)), &[("classes", json!([class]))])]);
        assert_refused(&job, expected);
    }
}

#[test]
fn stages_and_classes_that_do_not_fit_are_refused() {
    let class =
        |terminals: u32| json!({"name": "x", "terminals": terminals, "pacing": null, "mix": {}, "parameters": {}});
    let stage = |seconds: f64, to: f64| json!({"seconds": seconds, "legs": [{"from": 1.0, "to": to}]});
    for (fields, expected) in [
        (vec![("classes", json!([class(2)]))], "as many as those of the classes"),
        (vec![("terminals", json!(2)), ("classes", json!([class(1), class(1)]))], "two have the same name"),
        (vec![("stages", json!([stage(0.5, 1.0)]))], "as long as the stages together"),
        (vec![("stages", json!([stage(1.0, 2.0)]))], "a stage is out of range"),
        (vec![("stages", json!([stage(1.0, 0.5)]))], "a stage is out of range"),
    ] {
        let place = Place::new();
        let job = place.job(commits(), vec![with_all(run(1, lasting(1.0)), &fields)]);
        assert_refused(&job, expected);
    }
}

#[test]
fn sleeping_sessions_are_there_until_the_end() {
    for in_transaction in [false, true] {
        let sleepers = json!({"sessions": 3, "in_transaction": in_transaction});
        let plan = with_all(run(1, count(20)), &[("sleepers", sleepers)]);
        let place = Place::new();
        let mut job = place.job(commits(), vec![load(), check(), plan, check()]);
        // With a rollback journal a reader that sleeps in a transaction keeps every commit waiting.
        job["target"]["setup"] = json!(["pragma journal_mode = wal", "pragma synchronous = off"]);
        let ended = succeed(&job);
        let result = ended.result();
        let seen = result.sleepers.as_ref().expect("they were asked for");
        assert_eq!((seen.sessions, seen.in_transaction, seen.awake_at_end), (3, in_transaction, 3));
        assert_eq!(seen.lost, None);
    }
}

#[test]
fn each_transaction_has_a_session_of_its_own() {
    let result = ran(commits(), with_all(run(2, count(300)), &[("connect", json!("per_transaction"))]));
    let connections = result.connections.as_ref().expect("it was asked for");
    assert_eq!(connections.opened, 300 + result.counts.errors + result.counts.given_up);
    assert!(connections.inspected >= 2);
    assert_eq!(class_count(&result, "connect"), 0);
    assert_eq!(result.threads, 2);
}
