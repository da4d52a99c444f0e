//! The rig as the lab sees it: a process that is given a job and answers with events, here always on SQLite. What it says
//! is held against what the database then contains.
//!
//! A condition that compares with the commits a process counted can only be seen to fail within that process; there
//! a trigger does the tampering, in the middle of the run.

use crate::common::*;
use protocol::{Event, PhaseName};
use serde_json::{json, Value};

// ------------------------------------------------------------------------------------------------------ whole jobs

#[test]
fn commits_that_were_acknowledged_are_in_the_database() {
    let place = Place::new();
    let ended = succeed(&place.job(commits(), vec![load(), check(), run(1, count(200)), check()]));
    let conditions: Vec<_> = ended.checks().iter().map(|checked| checked.conditions.len()).collect();
    assert_eq!(conditions, [2, 2]);
    ended.assert_holds();
    assert_eq!(ended.detail("rows_match_acknowledged"), "200 rows, 200 commits acknowledged, 0 unknown");

    let result = ended.result();
    assert_eq!((result.terminals, result.counts.committed), (1, 200));
    assert_eq!((result.counts.errors, result.counts.conflicts), (0, 0));
    assert!(result.arrivals.is_none());
    assert_eq!(committed_in_series(result, false), 200);
    assert!(result.cpu.sampled_transactions > 0 && result.cpu.sampled_transactions <= 200);
    assert_eq!(place.rows("commits"), 200);
    assert_eq!(place.number("select count(*) from commits where length(payload) = 100"), 200);
    assert_eq!(place.number("select count(distinct payload) from commits"), 200);

    let Some(Event::Hello { rig_version, engine_version, .. }) = ended.events.first() else { unreachable!() };
    assert_eq!((rig_version.as_str(), engine_version.as_str()), (env!("CARGO_PKG_VERSION"), rusqlite::version()));
}

#[test]
fn tpcb_moves_money_and_loses_none() {
    let place = Place::new();
    let plan = with(run(2, lasting(0.5)), [("warmup_s", json!(0.2))]);
    let ended = succeed(&place.job(tpcb(1), vec![load(), check(), plan, check()]));
    ended.assert_holds();
    assert_eq!(ended.checks().iter().map(|checked| checked.conditions.len()).collect::<Vec<_>>(), [10, 10]);
    let loaded = ended.events.iter().find_map(|event| match event {
        Event::Loaded(loaded) => Some(loaded.rows),
        _ => None,
    });
    assert_eq!(loaded, Some(100_011));
    assert_eq!(["branches", "tellers", "accounts"].map(|table| place.rows(table)), [1, 10, 100_000]);

    let result = ended.result();
    assert!(result.counts.committed > 0 && committed_in_series(result, true) > 0);
    assert!(result.measured_s >= 0.5);
    assert_eq!(committed_in_series(result, false), result.counts.committed);
    let all = committed_in_series(result, true) + committed_in_series(result, false);
    assert_eq!(place.rows("history"), all, "the warm-up's transactions took place too");
    // Something was moved at all, and not by one teller only.
    assert!(place.number("select count(*) from accounts where abalance <> 0") > 1);
    assert!(place.number("select count(*) from tellers where tbalance <> 0") > 1);
    assert_eq!(place.number("select count(*) from history where delta = 0 or mtime is null"), 0);
}

#[test]
fn orders_are_written_whole_and_taken_off_the_inventory() {
    let place = Place::new();
    let ended =
        succeed(&place.job(orders(200, 7), vec![load(), check(), run(3, count(40)), run(2, count(20)), check()]));
    ended.assert_holds();
    assert!(ended.checks().iter().all(|checked| checked.conditions.len() == 10));
    assert_eq!(place.rows("orders"), 60 * 7);
    assert_eq!(place.number("select count(distinct line_count) from orders"), 6);
    assert_eq!(place.number("select count(distinct thread_id) from orders"), 3);
    assert!(place.rows("orderline") > place.rows("orders"));
    assert!(place.number("select count(distinct product_id) from orderline") > 100);
    assert!(place.number("select sum(1000000 - quantity) from inventory") > place.rows("orderline") as i64);
}

#[test]
fn the_rows_of_whole_rounds_are_gone_and_those_of_a_round_under_way_are_there() {
    for (transactions, rows, updated) in [(8, 0, 0), (9, 30, 0), (10, 30, 0), (11, 30, 30), (12, 0, 0)] {
        let place = Place::new();
        let ended = succeed(&place.job(iud(30), vec![load(), check(), run(1, count(transactions)), check()]));
        assert_eq!(ended.broken(), [""; 0]);
        assert_eq!(place.rows("iud"), rows);
        assert_eq!(place.number("select coalesce(sum(updates), 0) from iud"), updated);
        let kinds: Vec<_> = ended.result().kinds.iter().map(|kind| (kind.name.as_str(), kind.committed)).collect();
        let turns = |place: u64| (transactions + 3 - place) / 4;
        assert_eq!(kinds, [("insert", turns(0)), ("select", turns(1)), ("update", turns(2)), ("delete", turns(3))]);
    }
    let place = Place::new();
    let ended = succeed(&place.job(iud(30), vec![load(), run(3, lasting(0.2)), run(2, count(9)), check()]));
    assert_eq!(ended.broken(), [""; 0], "rows of different runs and terminals do not meet");
    assert!(ended.results().iter().all(|result| result.counts.errors == 0));
}

#[test]
fn a_round_may_commit_each_row_by_itself() {
    let each = json!({"name": "iud", "rows": 5, "commit": "each"});
    // A round has 5 inserts, one select, 5 updates and 5 deletes.
    let cases = [(3, 3, 0, [3, 0, 0, 0]), (6, 5, 0, [5, 1, 0, 0]), (8, 5, 2, [5, 1, 2, 0]), (13, 3, 3, [5, 1, 5, 2])];
    for (transactions, rows, updated, kinds) in cases {
        let place = Place::new();
        let ended = succeed(&place.job(each.clone(), vec![load(), check(), run(1, count(transactions)), check()]));
        assert_eq!(ended.broken(), [""; 0]);
        assert_eq!((place.rows("iud"), place.number("select coalesce(sum(updates), 0) from iud")), (rows, updated));
        let committed: Vec<_> = ended.result().kinds.iter().map(|kind| kind.committed).collect();
        assert_eq!(committed, kinds);
    }
    let place = Place::new();
    let ended = succeed(&place.job(each.clone(), vec![load(), run(3, lasting(0.2)), run(2, count(99)), check()]));
    assert_eq!(ended.broken(), [""; 0]);
    // After 8: five rows, the first two of them updated.
    for (tampering, broken) in [
        (
            "delete from iud where id = 3",
            vec!["each_terminals_rows_are_all_there", "inserts_and_deletes_match_acknowledged"],
        ),
        ("update iud set updates = 1 where id = 4", vec!["each_update_is_of_all_rows", "updates_match_acknowledged"]),
        ("update iud set updates = 3 - id where id < 3", vec!["each_update_is_of_all_rows"]),
    ] {
        let place = Place::new();
        succeed(&place.job(each.clone(), vec![load()]));
        place.change("create table seen (n integer)");
        place.change(&format!(
            "create trigger tamper after update on iud when new.id = 2 begin insert into seen values (1); end;
             create trigger late after insert on seen begin {tampering}; end"
        ));
        let ended = succeed(&place.job(each.clone(), vec![run(1, count(8)), check()]));
        let mut found = ended.broken();
        found.sort_unstable();
        assert!(broken.iter().all(|name| found.contains(name)), "{tampering}: {found:?}");
    }
}

#[test]
fn a_table_is_read_whole_in_three_ways() {
    let place = Place::new();
    succeed(&place.job(scan(1, "natural"), vec![load()]));
    assert_eq!(place.rows("scan"), 1_213);
    assert_eq!(place.number("select count(distinct ordinal) from scan where ordinal between 1 and 1213"), 1_213);
    assert_eq!(place.number("select count(distinct filler) from scan where length(filler) = 800"), 1_213);
    let in_order = "select count(*) from scan a join scan b on b.ordinal = a.ordinal + 1 and b.id = a.id + 1";
    assert!(place.number(in_order) < 20, "the index has an order of its own");
    for read in ["natural", "sorted", "indexed"] {
        let ended = succeed(&place.job(scan(1, read), vec![check(), run(2, count(5)), check()]));
        assert_eq!(ended.broken(), [""; 0]);
        assert_eq!(ended.detail("each_read_finds_what_was_loaded"), "5 reads, each of the 1213 rows that were loaded");
        let kinds: Vec<_> = ended.result().kinds.iter().map(|kind| (kind.name.as_str(), kind.committed)).collect();
        assert_eq!(kinds, [(read, 5)]);
    }
}

#[test]
fn a_read_that_finds_other_rows_than_were_loaded_is_reported() {
    for change in ["update scan set amount = amount + 1 where id = 700", "delete from scan where ordinal = 3"] {
        for read in ["natural", "sorted", "indexed"] {
            let place = Place::new();
            succeed(&place.job(scan(1, read), vec![load()]));
            place.change(change);
            let ended = succeed(&place.job(scan(1, read), vec![run(1, count(2)), check()]));
            assert_eq!(ended.broken(), ["each_read_finds_what_was_loaded"], "{read}: {change}");
            assert!(ended.detail("each_read_finds_what_was_loaded").starts_with("2 of 2 reads"));
        }
    }
}

#[test]
fn a_reader_keeps_no_writer_out() {
    let place = Place::new();
    succeed(&place.job(scan(1, "natural"), vec![load()]));
    place.change("pragma journal_mode = wal");
    let writer = place.open();
    writer.execute_batch("begin immediate").unwrap();
    let ended = succeed(&place.job(scan(1, "natural"), vec![run(2, count(4)), check()]));
    assert_eq!(ended.broken(), [""; 0]);
    assert_eq!(ended.result().counts.conflicts, 0);
}

#[test]
fn the_runs_of_a_job_add_up_and_each_draws_its_own() {
    let place = Place::new();
    let phases = vec![load(), run(1, count(30)), check(), run(2, count(40)), check()];
    let ended = succeed(&place.job(commits(), phases));
    assert_eq!(ended.results().iter().map(|result| result.counts.committed).collect::<Vec<_>>(), [30, 40]);
    assert!(ended.results().iter().all(|result| result.counts.errors == 0), "no id is asked for twice");
    ended.assert_holds();
    assert_eq!(place.rows("commits"), 70);
    assert_eq!(place.number("select count(distinct payload) from commits"), 70);
}

#[test]
fn the_seed_decides_what_is_asked_for() {
    let contents = |seed: u64| {
        let place = Place::new();
        let phases = vec![load(), run(1, count(50))];
        succeed(&with(place.job(commits(), phases), [("seed", json!(seed))]));
        let connection = place.open();
        let mut rows = connection.prepare("select id, payload from commits order by id").unwrap();
        let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        rows.collect::<Result<Vec<(i64, String)>, _>>().unwrap()
    };
    let one = contents(1);
    assert_eq!(one, contents(1));
    assert!(one.iter().zip(contents(2)).all(|(a, b)| a.0 == b.0 && a.1 != b.1));
}

#[test]
fn settings_are_read_on_the_jobs_session_and_told_again_where_they_differ() {
    let place = Place::new();
    let mut job = place.job(commits(), vec![load(), run(2, count(10))]);
    job["target"]["setup"] = json!(["pragma journal_mode = wal", "pragma synchronous = off"]);
    job["inspect"] = json!([
        {"name": "journal_mode", "sql": "pragma journal_mode"},
        {"name": "", "sql": "select 'one', 1 union all select 'none', null"},
        {"name": "nothing", "sql": "select 1 where 0"},
    ]);
    let ended = succeed(&job);
    assert_eq!(ended.settings().len(), 1, "the terminals' answers are the same: {:?}", ended.settings());
    let (terminal, values) = ended.settings()[0];
    let values: Vec<_> = values.iter().map(|setting| (setting.name.as_str(), setting.value.as_deref())).collect();
    assert_eq!(terminal, None);
    assert_eq!(values, [("journal_mode", Some("wal")), ("one", Some("1")), ("none", None), ("nothing", None)]);

    // Every session answers this with another number.
    let other = Place::new();
    let mut job = other.job(commits(), vec![load(), run(2, count(10))]);
    job["inspect"] = json!([{"name": "random", "sql": "select random()"}]);
    let terminals: Vec<_> = succeed(&job).settings().iter().map(|settings| settings.0).collect();
    assert_eq!(terminals, [None, Some(0), Some(1)]);
}

// ------------------------------------------------------------------------------------------------------ tampering

#[test]
fn a_check_finds_what_was_changed_behind_its_back() {
    let place = Place::new();
    // The second of two branches' tellers are 11 to 20, its accounts 100,001 to 200,000.
    let ended = succeed(&place.job(tpcb(2), vec![load(), run(1, count(300)), check()]));
    assert_eq!(ended.broken(), [""; 0]);

    let untouched = "(select max(aid) from accounts where aid not in (select aid from history))";
    let moved = "(select aid from history group by aid having count(*) = 1 and sum(delta) <> 0 limit 1)";
    let tampered: [(&str, &str); 14] = [
        ("", ""),
        (
            "update tellers set tbalance = tbalance + 1 where tid = 7",
            "each_branch_equals_its_tellers tellers_sum_equals_history",
        ),
        (
            "update tellers set tbalance = tbalance + case tid when 1 then 5 else -5 end where tid in (1, 11)",
            "each_branch_equals_its_tellers",
        ),
        (
            "update branches set bbalance = bbalance + 1 where bid = 2",
            "branches_sum_equals_history each_branch_equals_its_history each_branch_equals_its_tellers",
        ),
        (
            &format!("update accounts set abalance = abalance + 1 where aid = {moved}"),
            "accounts_sum_equals_history each_account_equals_its_history",
        ),
        (&format!("update accounts set abalance = 1 where aid = {untouched}"), "accounts_sum_equals_history"),
        (
            "update accounts set abalance = abalance + iif(aid = (select max(aid) from history), 3, -3) \
             where aid in (select max(aid) from history union select min(aid) from history)",
            "each_account_equals_its_history",
        ),
        (
            &format!("delete from history where aid = {moved}"),
            "accounts_sum_equals_history branches_sum_equals_history each_branch_equals_its_history \
             tellers_sum_equals_history",
        ),
        (
            "insert into history select * from history where rowid = 1",
            "accounts_sum_equals_history branches_sum_equals_history each_account_equals_its_history \
             each_branch_equals_its_history tellers_sum_equals_history",
        ),
        ("update history set bid = 3 - bid where rowid = 1", "each_branch_equals_its_history"),
        (&format!("delete from accounts where aid = {untouched}"), "accounts_cardinality"),
        ("insert into accounts values (200001, 1, 0, '')", "accounts_cardinality"),
        (
            "delete from tellers where tid = 20",
            "each_branch_equals_its_tellers tellers_cardinality tellers_sum_equals_history",
        ),
        ("delete from branches where bid = 1", "branches_cardinality branches_sum_equals_history"),
    ];
    assert_each_is_found(&place, &tpcb(2), "history_matches_acknowledged", &tampered);
}

#[test]
fn a_check_finds_rows_of_oltp_that_are_missing_foreign_or_damaged() {
    let place = Place::new();
    let ended = succeed(&place.job(oltp(2, 300), vec![load(), check(), run(3, count(60)), check()]));
    assert_eq!(ended.broken(), [""; 0]);
    assert_eq!(ended.result().counts.committed, 60);
    assert_eq!(ended.detail("rows_are_unchanged_in_number"), "600 rows, 600 wanted");

    let tampered: [(&str, &str); 6] = [
        ("delete from sbtest2 where id = 300", "rows_are_unchanged_in_number"),
        ("update sbtest1 set id = 301 where id = 7", "ids_are_those_loaded"),
        (
            "insert into sbtest1 (id, c, pad) select 0, c, pad from sbtest1 where id = 1",
            "ids_are_those_loaded k_never_falls rows_are_unchanged_in_number",
        ),
        ("update sbtest2 set k = 0 where id = 150", "k_never_falls"),
        ("update sbtest1 set c = substr(c, 2) where id = 150", "texts_are_whole"),
        ("update sbtest2 set pad = '' where id = 1", "texts_are_whole"),
    ];
    assert_each_is_found(&place, &oltp(2, 300), "", &tampered);
}

#[test]
fn a_check_finds_orders_and_inventories_that_do_not_agree() {
    let place = Place::new();
    let ended = succeed(&place.job(orders(300, 5), vec![load(), run(2, count(20)), check()]));
    assert_eq!(ended.broken(), [""; 0]);
    place.change("drop trigger orderline_ai");
    let untouched = "product_id in (select id from product where id not in (select product_id from orderline) limit 1)";
    let tampered: [(&str, &str); 15] = [
        ("", ""),
        ("delete from customer where id = 7", "customer_cardinality"),
        (
            "delete from product where id = (select product_id from orderline limit 1)",
            "product_cardinality each_order_costs_what_its_lines_do",
        ),
        (&format!("delete from inventory where {untouched}"), "inventory_cardinality"),
        (
            &format!("update inventory set quantity = quantity + 1 where {untouched}"),
            "each_inventory_lacks_what_its_lines_took",
        ),
        (
            "update inventory set quantity = quantity + iif(product_id = 1, 1, -1) where product_id in (1, 2)",
            "each_inventory_lacks_what_its_lines_took",
        ),
        (
            "update orderline set product_id = product_id % 300 + 1 where id = 3",
            "each_inventory_lacks_what_its_lines_took each_order_costs_what_its_lines_do",
        ),
        (
            "update orderline set quantity = 9 where id = 3",
            "each_inventory_lacks_what_its_lines_took each_line_has_1_to_4_pieces \
             each_order_costs_what_its_lines_do",
        ),
        (
            "delete from orderline where id = 3",
            "each_inventory_lacks_what_its_lines_took each_order_costs_what_its_lines_do \
             each_order_has_the_lines_it_counts",
        ),
        ("delete from orders where id = 3", "each_order_costs_what_its_lines_do each_order_has_the_lines_it_counts"),
        (
            "update orderline set orders_id = orders_id % 100 + 1 where id = 3",
            "each_order_costs_what_its_lines_do each_order_has_the_lines_it_counts",
        ),
        (
            "update orders set line_count = line_count + 6 where id = 3",
            "each_order_has_1_to_6_lines each_order_has_the_lines_it_counts",
        ),
        (
            "insert into orders select 1000000, orderdate, customer_id, 0, 0, 0, 0, 0 from orders where id = 3",
            "each_order_has_1_to_6_lines",
        ),
        ("update orders set tax = tax + 1 where id = 3", "each_total_is_net_and_tax"),
        (
            "update orders set netamount = 100, tax = 16, totalamount = 116 where id = 3",
            "each_order_costs_what_its_lines_do",
        ),
    ];
    assert_each_is_found(&place, &orders(300, 5), "orders_match_acknowledged", &tampered);
}

#[test]
fn orders_lost_or_doubled_after_their_acknowledgement_are_detected() {
    let whole = "delete from orders where thread_id = 0 and id <= 5; delete from orderline where orders_id <= 5;";
    for (tampering, broken) in [
        ("", &[][..]),
        ("delete from orders where id = 1", &["orders_match_acknowledged"]),
        (whole, &["orders_match_acknowledged"]),
    ] {
        let place = Place::new();
        succeed(&place.job(orders(300, 5), vec![load()]));
        // The last of the orders that will be written; what is lost leaves no trace in the inventory.
        place.change(&format!(
            "create trigger tamper after update on orders when new.id = 100 begin {tampering}{} end",
            if tampering.is_empty() {
                "select 1;"
            } else if tampering.ends_with(';') {
                ""
            } else {
                ";"
            }
        ));
        let ended = succeed(&place.job(orders(300, 5), vec![run(1, count(20)), check()]));
        let violated = ended.broken();
        assert!(broken.iter().all(|name| violated.contains(name)), "after: {tampering}: {violated:?}");
        assert_eq!(violated.is_empty(), tampering.is_empty(), "{violated:?}");
    }
}

#[test]
fn a_check_finds_rounds_that_are_not_whole() {
    // After 7 of a round's transactions the rows are there, and updated.
    let after = |tampering: &str| {
        let place = Place::new();
        succeed(&place.job(iud(20), vec![load()]));
        // At the last row of the round under way: each tampering comes after the update of the rows that it changes.
        place.change("create table seen (n integer); insert into seen values (0)");
        if !tampering.is_empty() {
            place.change(&format!(
                "create trigger tamper after update on iud when new.id = 20 begin update seen set n = n + 1; end;
                 create trigger late after update on seen when new.n = 2 begin {tampering}; end"
            ));
        }
        let ended = succeed(&place.job(iud(20), vec![run(1, count(7)), check()]));
        ended.broken().into_iter().map(str::to_string).collect::<Vec<_>>()
    };
    let cases: [(&str, &[&str]); 7] = [
        ("", &[]),
        ("delete from iud where id = 3", &["each_terminals_rows_are_all_there"]),
        ("delete from iud", &["inserts_and_deletes_match_acknowledged", "updates_match_acknowledged"]),
        (
            "insert into iud select id + 100, 9, updates, payload from iud",
            &["inserts_and_deletes_match_acknowledged", "updates_match_acknowledged"],
        ),
        ("update iud set updates = 0 where id < 20", &["each_update_is_of_all_rows", "updates_match_acknowledged"]),
        ("update iud set updates = 2 where id = 5", &["each_update_is_of_all_rows"]),
        ("update iud set payload = 'short' where id = 5", &["payloads_are_whole"]),
    ];
    for (tampering, broken) in cases {
        assert_eq!(after(tampering), broken, "after: {tampering}");
    }
}

/// Loads, installs a trigger that tampers, and runs 200 transactions and a check in their own process.
fn run_tampered(workload: Value, trigger: &str) -> (Place, Ended) {
    let place = Place::new();
    succeed(&place.job(workload.clone(), vec![load()]));
    place.change(trigger);
    let ended = succeed(&place.job(workload, vec![run(1, count(200)), check()]));
    assert_eq!(ended.result().counts.committed, 200, "the tampering went unnoticed at the time");
    (place, ended)
}

#[test]
fn commits_lost_doubled_or_damaged_after_their_acknowledgement_are_detected() {
    let cases: [(&str, u64, &[&str]); 4] = [
        ("", 200, &[]),
        ("delete from commits where id = new.id", 199, &["rows_match_acknowledged"]),
        ("insert into commits values (-1, new.terminal, new.payload)", 201, &["rows_match_acknowledged"]),
        ("update commits set payload = 'short' where id = new.id", 200, &["payloads_are_whole"]),
    ];
    for (tampering, rows, broken) in cases {
        let trigger = format!("create trigger tamper after insert on commits when new.id = 50 begin {tampering}; end");
        let (place, ended) = run_tampered(commits(), if tampering.is_empty() { "" } else { &trigger });
        assert_eq!(ended.broken(), broken, "after: {tampering}");
        assert_eq!(place.rows("commits"), rows);
        let detail = ended.detail("rows_match_acknowledged");
        assert_eq!(detail, format!("{rows} rows, 200 commits acknowledged, 0 unknown"));
    }
}

#[test]
fn history_lost_after_its_acknowledgement_is_detected() {
    // What the row says is kept elsewhere, so that the balances alone would agree with each other.
    let (place, ended) = run_tampered(
        tpcb(1),
        "create trigger tamper after insert on history when new.rowid = 100 begin \
         update history set delta = delta + new.delta, aid = new.aid where rowid = 99; \
         update accounts set abalance = abalance + (select delta from history where rowid = 99) - new.delta \
         where aid = new.aid; \
         delete from history where rowid = 100; end",
    );
    let rows = place.rows("history");
    assert!(rows < 200, "{rows}");
    assert!(ended.broken().contains(&"history_matches_acknowledged"), "{:?}", ended.broken());
    assert!(!ended.broken().contains(&"each_branch_equals_its_history"), "{:?}", ended.broken());
    assert!(ended.detail("history_matches_acknowledged").contains("200 commits acknowledged"));
}

#[test]
fn a_process_answers_only_for_commits_it_was_told_of() {
    let place = Place::new();
    let ended = succeed(&place.job(commits(), vec![load(), check()]));
    assert_eq!(ended.broken(), [""; 0]);
    place.change("insert into commits values (-1, 0, '')");
    let ended = succeed(&place.job(commits(), vec![check()]));
    assert_eq!(ended.broken(), ["payloads_are_whole", "rows_match_acknowledged"]);
}

#[test]
fn a_commit_that_failed_counts_as_unknown() {
    let place = Place::new();
    succeed(&place.job(commits(), vec![load()]));
    // A foreign key deferred to the commit: the inserts succeed, the commit does not.
    place.change(
        "create table parents (id integer primary key);
         create table children (parent integer references parents (id) deferrable initially deferred);
         create trigger orphan after insert on commits when new.id = 50 begin insert into children values (1); end",
    );
    let mut job = place.job(commits(), vec![run(1, count(100)), check()]);
    job["target"]["setup"] = json!(["pragma synchronous = off", "pragma foreign_keys = on"]);
    let ended = succeed(&job);
    let result = ended.result();
    assert_eq!((result.counts.committed, result.counts.errors, result.counts.conflicts), (100, 1, 0));
    assert_eq!(class_count(result, "constraint"), 1);
    assert_eq!(ended.broken(), [""; 0]);
    assert_eq!(ended.detail("rows_match_acknowledged"), "100 rows, 100 commits acknowledged, 1 unknown");
}

// ------------------------------------------------------------------------------------------------------ extent

#[test]
fn a_run_by_count_commits_exactly_that_many_over_all_terminals() {
    for transactions in [0, 3, 500] {
        let place = Place::new();
        let ended = succeed(&place.job(commits(), vec![load(), run(4, count(transactions)), check()]));
        assert_eq!(ended.broken(), [""; 0]);
        assert_eq!(ended.result().terminals, 4);
        assert_eq!(ended.result().counts.committed, transactions);
        assert_eq!(place.rows("commits"), transactions);
    }
}

#[test]
fn conflicts_do_not_make_a_run_by_count_shorter() {
    for retries in [0, 3] {
        let place = Place::new();
        succeed(&place.job(commits(), vec![load()]));
        let plan = with(run(4, count(100)), [("retries", json!(retries))]);
        let mut job = place.job(commits(), vec![plan, check()]);
        job["target"]["busy_timeout_ms"] = json!(0);
        // Another writer keeps every terminal out until the run has gone on for a while: its first news may come before
        // a terminal's first attempt.
        let blocker = place.open();
        blocker.execute_batch("begin immediate").unwrap();
        let mut conversation = Conversation::start(&job);
        conversation.await_event(
            |event| matches!(event, Event::Progress { phase: PhaseName::Run, elapsed_s, .. } if *elapsed_s >= 2.0),
        );
        blocker.execute_batch("rollback").unwrap();
        let ended = conversation.end();
        assert_eq!(ended.code, Some(0));
        let progress = ended.events.iter().find(|event| is_progress(event, PhaseName::Run));
        assert!(matches!(progress, Some(Event::Progress { done: 0, .. })), "{progress:?}");

        let counts = &ended.result().counts;
        assert_eq!((counts.committed, counts.errors), (100, 0));
        assert!(counts.given_up > 0);
        assert!(counts.retries >= retries * counts.given_up, "{counts:?}");
        assert_eq!(counts.retries > 0, retries > 0, "{counts:?}");
        assert_eq!(class_count(ended.result(), "busy"), counts.conflicts);
        let in_series: u64 = ended.result().series.iter().map(|second| second.conflicts).sum();
        assert_eq!(in_series, counts.conflicts);
        assert_eq!(ended.broken(), [""; 0]);
        assert_eq!(place.rows("commits"), 100);
    }
}

#[test]
fn errors_are_counted_and_do_not_count_as_commits() {
    let place = Place::new();
    succeed(&place.job(commits(), vec![load()]));
    // The ids that the only terminal will ask for first.
    place.change(
        "insert into commits with recursive n(i) as (select 1 union all select i + 1 from n where i < 20)
         select i, 0, '' from n",
    );
    let ended = succeed(&place.job(commits(), vec![run(1, count(100)), check()]));
    let result = ended.result();
    assert_eq!((result.counts.committed, result.counts.errors, result.counts.conflicts), (100, 20, 0));
    assert_eq!(class_count(result, "constraint"), 20);
    assert_eq!(result.series.iter().map(|second| second.errors).sum::<u64>(), 20);
    assert!(result.error_samples[0].message.contains("UNIQUE"), "{:?}", result.error_samples);
    assert_eq!(place.rows("commits"), 120);
    assert_eq!(ended.broken(), ["payloads_are_whole", "rows_match_acknowledged"]);
}

#[test]
fn a_transaction_whose_row_is_missing_is_no_commit() {
    let place = Place::new();
    succeed(&place.job(tpcb(1), vec![load()]));
    place.change("delete from branches");
    let plan = with(run(1, lasting(0.2)), [("retries", json!(1))]);
    let ended = succeed(&place.job(tpcb(1), vec![plan, check()]));
    let counts = &ended.result().counts;
    assert_eq!((counts.committed, counts.errors), (0, 0));
    assert!(counts.given_up > 0 && class_count(ended.result(), "row_missed") == counts.conflicts, "{counts:?}");
    // What went before the missing row was rolled back.
    assert_eq!(place.rows("history"), 0);
    assert_eq!(place.number("select count(*) from accounts where abalance <> 0"), 0);
    assert_eq!(ended.broken(), ["branches_cardinality"]);
}

#[test]
fn a_run_in_which_nothing_succeeds_is_ended() {
    let place = Place::new();
    succeed(&place.job(commits(), vec![load()]));
    place.change("create trigger never before insert on commits begin select raise(abort, 'not today'); end");
    for extent in [count(100), lasting(600.0)] {
        let ended = perform(&place.job(commits(), vec![run(2, extent), check()]));
        assert_eq!(ended.code, Some(1));
        assert_eq!(ended.failure(), ("running transactions", "not today"));
        assert!(ended.results().is_empty() && ended.checks().is_empty());
        assert_eq!(place.rows("commits"), 0);
    }
}

#[test]
fn the_warm_up_is_not_counted() {
    for extent in [count(50), lasting(0.4)] {
        let place = Place::new();
        let by_count = extent["kind"] == "count";
        let plan = with(run(2, extent), [("warmup_s", json!(0.8))]);
        let ended = succeed(&place.job(commits(), vec![load(), plan, check()]));
        let result = ended.result();
        let (before, within) = (committed_in_series(result, true), committed_in_series(result, false));
        assert_eq!(result.warmup_s, 0.8);
        assert!(before > 0 && result.counts.committed > 0);
        assert_eq!(place.rows("commits"), before + within);
        if by_count {
            assert_eq!(result.counts.committed, 50);
            // A transaction begun before the measurement and ended in it is none of the 50.
            assert!((50..=50 + 2).contains(&within), "{within}");
        } else {
            assert_eq!(result.counts.committed, within);
            assert!(result.measured_s >= 0.4);
        }
        assert_eq!(ended.broken(), [""; 0], "the warm-up's commits were acknowledged too");
    }
}

// ------------------------------------------------------------------------------------------------------ pacing

#[test]
fn think_time_bounds_the_throughput_of_a_closed_loop() {
    let (terminals, think_s) = (4.0, 0.025);
    let place = Place::new();
    let pacing = json!({"kind": "closed", "think_ms": think_s * 1e3});
    let plan = with(run(4, lasting(0.6)), [("pacing", pacing)]);
    let ended = succeed(&place.job(commits(), vec![load(), plan, check()]));
    let result = ended.result();
    let committed = result.counts.committed as f64;
    // Each terminal's first transaction comes before its first thought.
    assert!(committed <= terminals * (result.measured_s / think_s + 1.0), "{committed}");
    assert!(committed > 0.0);
    assert_eq!(committed_in_series(result, false), result.counts.committed);
    assert_eq!(place.rows("commits"), result.counts.committed);
    // Thinking is no part of a transaction's time: half of them would otherwise be longer than a thought.
    assert!(result.latency.min_ns < (think_s * 1e9) as u64);
    assert_eq!(ended.broken(), [""; 0]);
}

#[test]
fn an_open_loop_keeps_its_schedule() {
    let place = Place::new();
    let plan = with(run(2, lasting(0.5)), [("pacing", open_loop(200.0)), ("warmup_s", json!(0.5))]);
    let ended = succeed(&place.job(commits(), vec![load(), plan, check()]));
    let result = ended.result();
    let arrivals = result.arrivals.as_ref().expect("an open loop");
    assert_eq!(arrivals.scheduled, 100, "one every 5 ms, those of the warm-up left out");
    assert_eq!(result.counts.committed + arrivals.unfinished, 100);
    assert!(result.counts.committed > 0);
    assert!(result.latency.max_ns >= result.service.max_ns);
    assert!(result.latency.mean_ns >= result.service.mean_ns);
    assert!(result.measured_s >= 0.5);
    let before = committed_in_series(result, true);
    assert!((1..=100).contains(&before), "{before}");
    assert_eq!(place.rows("commits"), before + committed_in_series(result, false));
    assert_eq!(ended.broken(), [""; 0]);
}

#[test]
fn poisson_arrivals_repeat_with_the_seed() {
    let scheduled = || {
        let place = Place::new();
        let pacing = json!({"kind": "open", "rate_per_s": 500.0, "arrivals": "poisson"});
        let plan = with(run(2, lasting(0.4)), [("pacing", pacing)]);
        let ended = succeed(&place.job(commits(), vec![load(), plan, check()]));
        assert_eq!(ended.broken(), [""; 0]);
        let result = ended.result();
        let arrivals = result.arrivals.as_ref().expect("an open loop");
        assert_eq!(arrivals.scheduled, result.counts.committed + arrivals.unfinished);
        arrivals.scheduled
    };
    let first = scheduled();
    // 200 are to be expected; seven deviations are 99.
    assert!((101..=299).contains(&first), "{first}");
    assert_eq!(first, scheduled());
}

/// Loads `commits` with a trigger that makes each insert count to some thousands: far from the
/// rates asked for here on any machine.
fn slow_place() -> Place {
    let place = Place::new();
    succeed(&place.job(commits(), vec![load()]));
    place.change(
        "create view slow as with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000)
         select i from n;
         create trigger slow after insert on commits begin select sum(i) from slow; end",
    );
    place
}

#[test]
fn under_overload_latency_counts_from_the_scheduled_start() {
    let place = slow_place();
    let plan = with(run(1, lasting(1.0)), [("pacing", open_loop(20_000.0))]);
    let ended = succeed(&place.job(commits(), vec![plan, check()]));
    let result = ended.result();
    let arrivals = result.arrivals.as_ref().expect("an open loop");
    let committed = result.counts.committed;
    assert_eq!(arrivals.scheduled, 20_000);
    assert!(committed > 0 && arrivals.unfinished > 5_000, "{arrivals:?}");
    assert_eq!(arrivals.scheduled, committed + arrivals.unfinished);
    assert_eq!(place.rows("commits"), committed);
    assert_eq!(committed_in_series(result, false), committed);
    assert_eq!(ended.broken(), [""; 0]);
    // Those that came while the first was served waited for the only terminal.
    assert!(arrivals.late > 0 && arrivals.late <= committed, "{arrivals:?}");
    // The first unfinished arrival had been due since the first `committed` had gone by.
    let waited_ms = 1e3 * (1.0 - committed as f64 / 20_000.0);
    assert!((arrivals.unfinished_wait_ms_max - waited_ms).abs() < 0.1, "{arrivals:?}, {waited_ms}");

    // One terminal serves one at a time.
    let served_ns = result.service.mean_ns * committed as f64;
    assert!(served_ns <= result.measured_s * 1e9 * 1.001);
    // The last one served had waited for all the others since it was due, however long each of them took.
    let due_ns = committed as f64 * 1e9 / 20_000.0;
    assert!(result.latency.max_ns as f64 >= 0.99 * served_ns - due_ns, "{} {served_ns}", result.latency.max_ns);
}

#[test]
fn every_arrival_is_accounted_for_when_several_terminals_share_an_overload() {
    let place = slow_place();
    let plan = with(run(3, lasting(0.3)), [("pacing", open_loop(20_000.0))]);
    let ended = succeed(&place.job(commits(), vec![plan, check()]));
    let result = ended.result();
    let arrivals = result.arrivals.as_ref().expect("an open loop");
    assert_eq!(arrivals.scheduled, 6_000);
    assert_eq!(arrivals.scheduled, result.counts.committed + arrivals.unfinished);
    assert!(arrivals.unfinished > 0);
    assert_eq!(place.rows("commits"), result.counts.committed);
    assert_eq!(ended.broken(), [""; 0]);
}

#[test]
fn the_arrivals_of_a_run_by_count_are_those_it_measured() {
    let place = Place::new();
    succeed(&place.job(commits(), vec![load()]));
    // Behind schedule from the start: another writer keeps every terminal out until the run is known to be under way.
    let plan = with(run(4, count(50)), [("pacing", open_loop(200.0)), ("warmup_s", json!(0.3))]);
    let blocker = place.open();
    blocker.execute_batch("begin immediate").unwrap();
    let mut conversation = Conversation::start(&place.job(commits(), vec![plan]));
    conversation.await_event(|event| is_progress(event, PhaseName::Run));
    blocker.execute_batch("rollback").unwrap();
    let ended = conversation.end();
    let result = ended.result();
    let arrivals = result.arrivals.as_ref().expect("an open loop");
    assert_eq!((result.counts.committed, arrivals.scheduled, arrivals.unfinished), (50, 50, 0));
    assert!(arrivals.late > 0, "{arrivals:?}");
    assert!(result.latency.mean_ns > 2.0 * result.service.mean_ns, "{result:?}");
}

#[test]
fn arrivals_that_were_given_up_are_accounted_for() {
    let place = Place::new();
    succeed(&place.job(commits(), vec![load()]));
    let plan = with(run(2, lasting(0.3)), [("pacing", open_loop(100.0)), ("retries", json!(2))]);
    let mut job = place.job(commits(), vec![plan]);
    job["target"]["busy_timeout_ms"] = json!(0);
    let blocker = place.open();
    blocker.execute_batch("begin immediate").unwrap();
    let ended = succeed(&job);
    let result = ended.result();
    let arrivals = result.arrivals.as_ref().expect("an open loop");
    assert_eq!(arrivals.scheduled, 30);
    assert_eq!(arrivals.scheduled, result.counts.given_up + arrivals.unfinished);
    assert_eq!(result.counts.retries, 2 * result.counts.given_up);
    assert_eq!((result.counts.committed, result.goodput_per_s), (0, 0.0));
    assert_eq!((result.latency.count, result.latency.buckets.len()), (0, 0));
}

// ------------------------------------------------------------------------------------------------------ bad input

/// Every object inside `value`, as JSON pointers.
fn objects(value: &Value, at: &str, pointers: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            pointers.push(at.to_string());
            fields.iter().for_each(|(name, inner)| objects(inner, &format!("{at}/{name}"), pointers));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(n, inner)| objects(inner, &format!("{at}/{n}"), pointers));
        }
        _ => {}
    }
}

/// The rig reads its input, finds it bad, and says so without a single event.
fn assert_no_job(input: &[u8]) {
    let output = rig(&["job"], input);
    let (shown, stderr) = (String::from_utf8_lossy(input), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(2), "{shown}\n{stderr}");
    assert!(output.stdout.is_empty(), "{shown}\n{}", String::from_utf8_lossy(&output.stdout));
    assert!(stderr.starts_with("acidtest-rig: "), "{shown}\n{stderr}");
}

/// A job with every kind of object in it.
fn full_job(place: &Place) -> Value {
    let open = with(run(1, lasting(0.01)), [("pacing", open_loop(100.0))]);
    let mut job = place.job(commits(), vec![load(), check(), run(1, count(1)), open]);
    job["inspect"] = json!([{"name": "journal_mode", "sql": "pragma journal_mode"}]);
    job
}

#[test]
fn what_is_no_job_is_refused() {
    let place = Place::new();
    let job = full_job(&place).to_string();
    let half = &job[..job.len() / 2];
    let twice = format!("{job}\n{job}");
    for input in ["", "hello", "null", "[]", "{}", "\"job\"", half, &twice] {
        assert_no_job(input.as_bytes());
    }
    assert_no_job(b"\xff\xfe\x00");
    assert_no_job(with(full_job(&place), [("protocol", json!(protocol::PROTOCOL + 1))]).to_string().as_bytes());
    for (at, wrong) in [
        ("/seed", json!(-1)),
        ("/seed", json!("42")),
        ("/target/engine", json!("oracle")),
        ("/target/busy_timeout_ms", json!(1.5)),
        ("/target/path", Value::Null),
        ("/workload/name", json!("tpcc")),
        ("/workload/row_bytes", json!(-1)),
        ("/phases", json!({})),
        ("/phases/0/phase", json!("unload")),
        ("/phases/2/terminals", json!(-1)),
        ("/phases/2/extent/kind", json!("forever")),
        ("/phases/2/pacing/kind", json!("ajar")),
        ("/phases/3/pacing/arrivals", json!("late")),
        ("/phases/3/warmup_s", json!("short")),
        ("/phases/2/terminals", json!(0)),
        ("/phases/2/warmup_s", json!(-1)),
        ("/phases/3/pacing/rate_per_s", json!(0)),
        ("/phases/3/pacing/rate_per_s", json!(-5.0)),
    ] {
        let mut job = full_job(&place);
        *job.pointer_mut(at).expect("such a field") = wrong;
        assert_no_job(job.to_string().as_bytes());
    }
    assert!(!place.database().exists(), "nothing was done");
}

#[test]
fn an_unknown_or_missing_field_is_refused_wherever_it_is() {
    let place = Place::new();
    let job = full_job(&place);
    let mut pointers = Vec::new();
    objects(&job, "", &mut pointers);
    assert_eq!(
        pointers.len(),
        1 + 2 + 1 + 4 + 4,
        "the job, target and workload, inspection, phases, pacings and extents"
    );
    for at in &pointers {
        let mut more = job.clone();
        more.pointer_mut(at).unwrap()["surplus"] = json!(1);
        assert_no_job(more.to_string().as_bytes());
        for name in job.pointer(at).unwrap().as_object().unwrap().keys() {
            let mut less = job.clone();
            less.pointer_mut(at).unwrap().as_object_mut().unwrap().remove(name);
            assert_no_job(less.to_string().as_bytes());
        }
    }
    assert!(!place.database().exists(), "nothing was done");
    // The job itself is a good one.
    assert_eq!(succeed(&job).results().len(), 2);
}

#[test]
fn a_job_that_cannot_go_on_says_what_it_was_doing_and_why() {
    let place = Place::new();
    let elsewhere = place.directory().join("absent").join("x.db");
    let foreign = place.directory().join("foreign.db");
    std::fs::write(&foreign, "This is a text and no database. ".repeat(100)).unwrap();
    let firebird = json!({
        "engine": "firebird", "library": place.directory().join("libfbclient.so.2"), "database": "/none/x.fdb",
        "user": "SYSDBA", "remote": null, "isolation": "snapshot", "lock_resolution": "wait", "lock_timeout_s": null,
        "setup": [],
    });
    let library = json!({
        "engine": "sqlite", "library": "/none/libsqlite3.so", "path": ":memory:", "setup": [], "busy_timeout_ms": 1,
    });
    let on = |fields: &[(&str, Value)], phases: Vec<Value>| {
        let mut job = Place::new().job(commits(), phases);
        job["target"]["path"] = json!(":memory:");
        fields.iter().for_each(|(at, value)| *job.pointer_mut(at).expect("such a field") = value.clone());
        job
    };
    let inspection = json!([{"name": "no", "sql": "select nonsense"}]);
    let twice = place.directory().join("twice.db");
    let cases = [
        (on(&[("/target/path", json!(elsewhere))], vec![load()]), "opening the database", "unable to open"),
        (on(&[("/target/path", json!(place.directory()))], vec![load()]), "opening the database", "unable to open"),
        (on(&[("/target/path", json!("nul\0byte"))], vec![load()]), "opening the database", "nul"),
        (on(&[("/target/setup", json!(["select nonsense"]))], vec![]), "opening the database", "nonsense"),
        (on(&[("/target", firebird)], vec![load()]), "opening the database", "libfbclient.so.2"),
        (on(&[("/target", library)], vec![load()]), "opening the database", "/none/libsqlite3.so: "),
        (on(&[("/inspect", inspection)], vec![load()]), "reading a setting (select nonsense)", "no such column"),
        (on(&[], vec![check()]), "checking consistency", "no such table"),
        (on(&[("/target/path", json!(twice))], vec![load(), load()]), "loading the database", "already exists"),
        // Each session has its own memory.
        (on(&[], vec![load(), run(1, count(1))]), "preparing statements", "no such table"),
        (
            on(&[("/target/path", json!(foreign)), ("/target/setup", json!([]))], vec![load()]),
            "loading the database",
            "not a database",
        ),
    ];
    for (job, doing, words) in cases {
        let ended = perform(&job);
        assert_eq!(ended.code, Some(1), "{job}");
        let (did, message) = ended.failure();
        assert_eq!(did, doing, "{message}");
        assert!(message.contains(words), "{message}");
        assert!(ended.results().is_empty() && ended.checks().is_empty());
    }
    assert!(!elsewhere.exists() && !elsewhere.parent().unwrap().exists());
}

#[test]
fn a_measurement_that_is_asked_for_after_its_job_is_no_job() {
    let place = Place::new();
    let mut input = serde_json::to_vec(&place.job(commits(), vec![load()])).unwrap();
    input.extend(b"\n{\"second\":3}\n");
    let output = rig(&["jobs"], &input);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn a_rig_that_nobody_listens_to_ends_quietly() {
    use std::io::Write;
    let place = Place::new();
    let (mut child, _watch) = start(&["job"]);
    drop(child.stdout.take());
    let job = place.job(commits(), vec![load(), run(1, lasting(600.0))]);
    child.stdin.take().unwrap().write_all(job.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_calm(&String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_command_line_answers_for_itself() {
    let output_of = |arguments: &[&str]| {
        let output = rig(arguments, b"");
        (output.status.code(), String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, stdout, stderr) = output_of(&["--version"]);
    let version = format!("acidtest-rig {} (SQLite {})\n", env!("CARGO_PKG_VERSION"), rusqlite::version());
    assert_eq!((code, stdout.as_str(), stderr.as_str()), (Some(0), version.as_str(), ""));

    let (code, stdout, _) = output_of(&["--help"]);
    assert_eq!(code, Some(0));
    assert!(stdout.contains("acidtest-rig job"), "{stdout}");

    for arguments in [&["drive"][..], &["job", "now"], &["protocol", "--read", "Jobs"]] {
        let (code, stdout, stderr) = output_of(arguments);
        assert_eq!((code, stdout.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(stderr.starts_with("acidtest-rig: ") && stderr.lines().count() == 1, "{stderr}");
    }
}
