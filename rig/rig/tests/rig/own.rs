//! A workload of the user's own, on SQLite: the schema, load, scripts and conditions that its message brings.

use crate::common::*;
use protocol::Event;
use serde_json::{json, Value};

fn file(name: &str, text: &str) -> Value {
    json!({"path": format!("shop/{name}.sql"), "text": text, "variants": []})
}

fn table(name: &str, rows: &str, columns: &[(&str, &str)]) -> Value {
    json!({"source": "generated", "table": name, "rows": rows, "columns": columns, "where": "shop/workload.toml"})
}

/// A shop: items with a stock, and orders that take from it.
fn shop(scripts: &[(&str, f64, &str)]) -> Value {
    let schema = "create table item (id integer primary key, stock integer not null, name text not null);\n\
                  create table sold (id integer primary key, item integer not null, amount integer not null);";
    let conditions = "-- No stock is negative.\nselect id from item where stock < 0;\n\n\
                      -- What was sold is gone from the stock.\n\
                      select 1 where (select sum(1000 - stock) from item) <> (select coalesce(sum(amount), 0) from sold);";
    json!({
        "name": "sql",
        "title": "shop",
        "statement_limit_s": 7200.0,
        "variables": [["scale", "2"], ["word", "'it''s'"]],
        "schema": file("schema", schema),
        "load_sql": null,
        "tables": [table("item", "50 * :scale", &[("id", ":row"), ("stock", "1000"), ("name", "concat(:word, :id, text(3, 9))")])],
        "indexes": file("indexes", "create index sold_item on sold (item);"),
        "transactions": scripts
            .iter()
            .map(|(name, weight, text)| json!({"name": name, "weight": weight, "file": file(name, text)}))
            .collect::<Vec<_>>(),
        "conditions": file("conditions", conditions),
    })
}

const BUY: &str = "\\set id random(1, rows(item))\n\\set amount random(1, 3)\nbegin;\n\
                   select stock from item where id = :id \\gset\n\\if :stock >= :amount\n\
                   update item set stock = stock - :amount where id = :id;\n\\expect 1\n\
                   insert into sold (item, amount) values (:id, :amount);\ncommit;\n\\else\nrollback;\n\\endif\n";
const LOOK: &str = "\\set id random(1, 50 * :scale)\nselect name from item where id = :id;\n\\expect 1\n";

#[test]
fn a_shop_is_loaded_run_and_checked() {
    let place = Place::new();
    let workload = shop(&[("buy", 3.0, BUY), ("look", 1.0, LOOK)]);
    let ended = succeed(&place.job(workload, vec![load(), check(), run(2, count(400)), check()]));
    ended.assert_holds();
    assert_eq!(place.rows("item"), 100);
    assert_eq!(place.number("select count(*) from item where name like 'it''s' || id || '%'"), 100);
    let result = ended.result();
    assert_eq!(result.counts.committed, 400);
    let kinds: Vec<_> = result.kinds.iter().map(|kind| kind.name.as_str()).collect();
    assert_eq!(kinds, ["buy", "look"]);
    let bought = result.kinds[0].committed;
    assert!((240..360).contains(&bought), "three of four are to buy: {bought}");
    assert_eq!(place.rows("sold"), bought);
}

#[test]
fn the_rows_and_what_is_drawn_follow_from_the_seed_alone() {
    let sums = |sessions: u32| {
        let place = Place::new();
        let workload = shop(&[("buy", 1.0, BUY)]);
        let loading = with(load(), [("sessions", json!(sessions))]);
        succeed(&place.job(workload, vec![loading, run(1, count(50))]));
        ["select sum(length(name) * id) from item", "select sum(id * item * amount) from sold"]
            .map(|sql| place.number(sql))
    };
    assert_eq!(sums(1), sums(3));
}

#[test]
fn a_condition_that_answers_rows_does_not_hold() {
    let place = Place::new();
    let workload = shop(&[("buy", 1.0, BUY)]);
    succeed(&place.job(workload.clone(), vec![load()]));
    place.change("update item set stock = -1 where id in (7, 9)");
    let ended = succeed(&place.job(workload, vec![check()]));
    assert_eq!(ended.broken(), ["No stock is negative.", "What was sold is gone from the stock."]);
    assert_eq!(ended.detail("No stock is negative."), "2 rows, the first: 7");
}

#[test]
fn a_script_may_roll_back_and_go_on_after_a_commit() {
    let place = Place::new();
    let text = "begin;\ninsert into sold (item, amount) values (:client_id, 1);\nrollback;\n";
    let ended = succeed(&place.job(shop(&[("undo", 1.0, text)]), vec![load(), run(1, lasting(0.2)), check()]));
    let counts = &ended.result().counts;
    assert_eq!((counts.committed, counts.errors), (0, 0));
    assert!(counts.rolled_back > 0);
    assert_eq!(place.rows("sold"), 0);

    let place = Place::new();
    let text = "\\repeat 3\ninsert into sold (item, amount) values (1, 0);\n\\endrepeat\n\
                begin;\ninsert into sold (item, amount) values (2, 0);\nend;\n\
                select 1 as one \\; insert into sold (item, amount) values (3, 0);\n";
    succeed(&place.job(shop(&[("steps", 1.0, text)]), vec![load(), run(1, count(10))]));
    let of = |item: u32| place.number(&format!("select count(*) from sold where item = {item}"));
    assert_eq!([of(1), of(2), of(3)], [30, 10, 10]);
}

#[test]
fn variables_reach_into_strings_and_names() {
    let place = Place::new();
    let text = "\\set n 7\n\\set table 'item'\nupdate :table set name = 'n:n of :nobody' where id = :n;\n";
    succeed(&place.job(shop(&[("rename", 1.0, text)]), vec![load(), run(1, count(2))]));
    assert_eq!(place.number("select count(*) from item where name = 'n7 of :nobody' and id = 7"), 1);
}

#[test]
fn what_an_engine_refuses_is_told_with_file_and_line() {
    for (text, wanted) in [
        ("begin;\n\nselect nix from item;\nend;", "shop/bad.sql:3: no such column: nix"),
        ("select 1;\nupdate item set stok = 1;", "shop/bad.sql:2: no such column: stok"),
    ] {
        let place = Place::new();
        let ended = perform(&place.job(shop(&[("bad", 1.0, text)]), vec![load(), run(1, count(1))]));
        let Some(Event::Failed { message, .. }) = ended.events.last() else { panic!("{:?}", ended.events.last()) };
        assert!(message.starts_with(wanted), "{message}");
    }
    for (text, wanted) in [
        ("\\set n 0\n\\set m 1 / :n\nselect 1;", "shop/bad.sql:2: division by zero"),
        (
            "select id from item where id < 3 \\gset",
            "shop/bad.sql:1: \\gset takes one row, and the query has answered 2",
        ),
        ("begin;\nselect 1;", "shop/bad.sql: it ends with a transaction open"),
        ("update item set stock = 0 where id < 3;\n\\expect 1", "shop/bad.sql:1: 1 row expected, 2 found"),
        (
            "\\set n 5\n\\if :n > 7\nselect 1 as one \\gset\n\\endif\nselect :one;",
            "shop/bad.sql:5: the variable :one has no value",
        ),
    ] {
        let place = Place::new();
        let ended = perform(&place.job(shop(&[("bad", 1.0, text)]), vec![load(), run(1, lasting(0.3))]));
        let message = format!("{:?}", ended.events);
        assert!(message.replace("\\\\", "\\").contains(wanted), "{text}: {message}");
    }
}

#[test]
fn a_condition_knows_the_variables_of_the_workload() {
    let checked = |conditions: &str| {
        let place = Place::new();
        let mut workload = shop(&[("look", 1.0, LOOK)]);
        workload["conditions"]["text"] = json!(conditions);
        let ended = succeed(&place.job(workload, vec![load(), check()]));
        ended.checks()[0].conditions.iter().map(|one| (one.holds, one.detail.clone())).collect::<Vec<_>>()
    };
    let found = checked(
        "-- As many as were loaded.\nselect count(*) from item having count(*) <> 50 * :scale;\n\
         -- More than that.\nselect count(*), ':scale' from item having count(*) -:scale <> 51*:scale;\n\
         -- Named by the word.\nselect id from item where name not like :word || '%';\n",
    );
    let wanted = [(true, "no row"), (false, "1 row: 100 | :scale"), (true, "no row")];
    assert_eq!(found, wanted.map(|(holds, detail)| (holds, detail.to_string())));
}

#[test]
fn what_is_wrong_in_the_files_is_told_before_anything_is_done() {
    let described = |workload: &Value| -> Value {
        let output = rig(&["describe"], workload.to_string().as_bytes());
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let right = described(&shop(&[("buy", 3.0, BUY), ("look", 1.0, LOOK)]));
    assert_eq!(right["errors"], json!([]));
    assert_eq!(right["kinds"][0], json!({"name": "buy", "weight": 3.0, "writes": true}));
    assert_eq!(right["kinds"][1]["writes"], json!(false));
    assert_eq!(right["conditions"], json!(["No stock is negative.", "What was sold is gone from the stock."]));
    assert_eq!(right["loaded_rows"], json!([["item", 100]]));
    let mut wrong = shop(&[("buy", 1.0, "\\set id random(1, :rows)\nselect :id;"), ("look", -1.0, LOOK)]);
    wrong["tables"][0]["columns"][1][1] = json!("1000 +");
    wrong["conditions"]["text"] = json!("delete from item;");
    let errors = described(&wrong)["errors"].as_array().unwrap().clone();
    for part in [
        "shop/buy.sql:1: unknown variable :rows",
        "shop/workload.toml: load.item.columns.stock: a value is missing at the end",
        "shop/conditions.sql:1: a condition is a query, and this is none",
        "shop: the weight of look must not be negative",
    ] {
        assert!(errors.iter().any(|error| error.as_str().unwrap().starts_with(part)), "{part}: {errors:?}");
    }
    for (condition, expected) in [
        ("select :client_id;", "the variable :client_id is a terminal's, and a condition is asked without one"),
        ("select 1 where :words = 'a';", "unknown variable :words; perhaps :word is meant"),
    ] {
        let mut asked = shop(&[("look", 1.0, LOOK)]);
        asked["conditions"]["text"] = json!(format!("select 1 where 0;\n{condition}"));
        assert_eq!(described(&asked)["errors"], json!([format!("shop/conditions.sql:2: {expected}")]));
    }
    // A job with such files is refused.
    let refused = rig(&["job"], Place::new().job(wrong, vec![load()]).to_string().as_bytes());
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn a_table_is_read_from_a_csv_file() {
    let place = Place::new();
    let csv = place.directory().join("item.csv");
    std::fs::write(&csv, "id,stock,name\n1,1000,\"a, \"\"b\"\"\"\n2,1000,007\n").unwrap();
    let sha256 = "a27f87dde023b77f4ef6d52e6b0cfc02bfa1ba1e4581233bc9c3917682d52b89";
    let mut workload = shop(&[("look", 1.0, "select name from item where id = 2;")]);
    workload["tables"] = json!([{"source": "csv", "table": "item", "csv": csv, "sha256": sha256, "rows": 2, "columns": ["id", "stock", "name"]}]);
    succeed(&place.job(workload.clone(), vec![load(), check(), run(1, count(1))]));
    assert_eq!(
        place.number("select count(*) from item where (id = 1 and name = 'a, \"b\"') or (id = 2 and name = '007')"),
        2
    );
    for (changed, expected) in [
        ("id,stock,name\n1,1000,a\n", "it had 2 rows, and has 1: it has changed since the experiment was read"),
        ("id,stock,name\n1,1000,x\n2,1000,007\n", "its bytes have changed since the experiment was read"),
    ] {
        std::fs::write(&csv, changed).unwrap();
        let ended = perform(&Place::new().job(workload.clone(), vec![load()]));
        let (doing, message) = ended.failure();
        assert_eq!((doing, message), ("loading the database", format!("{}: {expected}", csv.display()).as_str()));
    }
}

#[test]
fn what_does_not_end_is_told_with_file_and_line() {
    let endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n";
    let ends = |changes: &[(&str, Value)], phases: Vec<Value>| {
        let mut workload = shop(&[("look", 1.0, LOOK)]);
        changes.iter().for_each(|(key, value)| workload[*key] = value.clone());
        workload["statement_limit_s"] = json!(0.3);
        let ended = perform(&Place::new().job(workload, phases));
        let (doing, message) = ended.failure();
        assert!(
            message.ends_with("it has not ended within 0.3 s: correct it, or give it more time by statement_limit_s")
        );
        (doing.to_string(), message.split(": it has").next().unwrap().to_string())
    };
    let loads = |place: &str| ("loading the database".to_string(), place.to_string());
    let sql = |name: &str, before: &str| file(name, &format!("{before}{endless};\n"));
    for (key, name) in [("schema", "schema"), ("load_sql", "load"), ("indexes", "indexes")] {
        let text = "create table item (id integer primary key, stock integer, name text);\n\n";
        let before = if key == "schema" { text } else { "select 1;\n\n" };
        assert_eq!(ends(&[(key, sql(name, before))], vec![load()]), loads(&format!("shop/{name}.sql:3")));
    }
    let schema = format!(
        "create table item (id integer primary key);\ncreate view numbers as {endless};\n\
         create trigger slow after insert on item begin select * from numbers; end;\n"
    );
    let table = json!([table("item", "9", &[("id", ":row")])]);
    assert_eq!(
        ends(&[("schema", file("schema", &schema)), ("tables", table)], vec![load()]),
        loads("shop/workload.toml: load.item")
    );
    let conditions = sql("conditions", "-- One is none.\nselect 1 where 0;\n-- All.\n");
    let of_check = ("checking consistency".to_string(), "shop/conditions.sql:4".to_string());
    assert_eq!(ends(&[("conditions", conditions)], vec![load(), check()]), of_check);
}

#[test]
fn what_one_engine_cannot_do_is_told_for_that_one() {
    let place = Place::new();
    let workload = shop(&[("read", 1.0, "begin read only;\nselect 1;\nend;\n")]);
    let output = rig(&["describe"], workload.to_string().as_bytes());
    let described: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(described["errors"], json!([]));
    let refused: Vec<&Value> = described["refused"].as_array().unwrap().iter().map(|pair| &pair[0]).collect();
    assert_eq!(refused, ["firebird", "mysql", "sqlite"]);
    let ended = perform(&place.job(workload, vec![load()]));
    let (_, message) = ended.failure();
    assert!(message.starts_with("shop/read.sql:1: begin read only: only PostgreSQL begins with options"), "{message}");
}
