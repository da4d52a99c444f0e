//! Asks one session what the lab's contract suites want to know of it: a line of JSON in, a line of JSON out. The first
//! line names the database, as a job's target does; tests/session/asking.py sends to it.

use serde_json::{json, Map, Value as Json};
use std::io::{BufRead, Write};
use transaction::{wait, Outcome, Request, Session, Statement, Value};

fn main() {
    let mut lines = std::io::stdin().lock().lines().map(|line| line.expect("standard input can be read"));
    let target = serde_json::from_str(&lines.next().expect("a target")).expect("a target");
    let database = session::database(&target).expect("a target that is known");
    let mut session = database.open();
    let say = |answer: Json| {
        let mut out = std::io::stdout().lock();
        writeln!(out, "{answer}").and_then(|()| out.flush()).expect("somebody listens");
    };
    say(match &session {
        Ok(_) => json!({}),
        Err(error) => json!({ "class": error.class.name(), "message": error.message }),
    });
    let Ok(session) = &mut session else { return };
    for line in lines {
        let command: Json = serde_json::from_str(&line).expect("a command");
        say(match answer(session.as_mut(), &command) {
            Ok(answer) => answer,
            Err(error) => json!({ "class": error.class.name(), "message": error.message }),
        });
    }
}

fn answer(session: &mut dyn Session, command: &Json) -> Outcome<Json> {
    let word = |name: &str| command[name].as_str().unwrap_or_else(|| panic!("{command} has no {name}"));
    let words = |name: &str| -> Vec<&str> {
        command[name].as_array().expect("a list").iter().map(|word| word.as_str().expect("a text")).collect()
    };
    Ok(match word("do") {
        "batch" => session.batch(word("sql")).map(|()| json!({}))?,
        "rows" => json!({ "rows": rows(&session.rows(word("sql"))?) }),
        "prepare" => {
            let statement = session.prepare_parts(&words("parts"))?;
            json!({ "statement": statement.0, "columns": session.columns(statement) })
        }
        "begin" => json!({ "changed": wait(session, Request::Begin, &mut |_| {})? }),
        "commit" => json!({ "changed": wait(session, Request::Commit, &mut |_| {})? }),
        "rollback" => json!({ "changed": wait(session, Request::Rollback, &mut |_| {})? }),
        how @ ("run" | "alone") => {
            let statement = Statement(command["statement"].as_u64().expect("a statement") as usize);
            let parameters = values(&command["parameters"]);
            let request = if how == "run" {
                Request::Run(statement, &parameters)
            } else {
                Request::Alone(statement, &parameters)
            };
            let mut found = Vec::new();
            let changed = wait(session, request, &mut |row| found.push(row.to_vec()))?;
            json!({ "changed": changed, "rows": rows(&found) })
        }
        "bulk" => {
            let mut bulk = session.bulk(word("table"), &words("columns"))?;
            for row in command["rows"].as_array().expect("rows") {
                bulk.row(&values(row))?;
            }
            json!({ "taken": bulk.finish()? })
        }
        other => panic!("{other} is no command"),
    })
}

fn values(list: &Json) -> Vec<Value> {
    list.as_array().expect("values").iter().map(value).collect()
}

/// `null`, or one of `{"int": 1}`, `{"real": 0.5}`, `{"text": "a"}`, `{"bytes": "00ff"}`; `{"pattern": 9}` are so many bytes.
fn value(json: &Json) -> Value {
    let Some((kind, json)) = json.as_object().and_then(|kinds| kinds.iter().next()) else { return Value::Null };
    let text = || json.as_str().expect("a text");
    match kind.as_str() {
        "int" => Value::Int(json.as_i64().expect("an integer")),
        "real" => Value::Real(json.as_f64().expect("a number")),
        "text" => Value::Text(text().to_string()),
        "letters" => Value::Text("xyzä".repeat(json.as_u64().expect("how many") as usize)),
        "pattern" => Value::Bytes(pattern(json.as_u64().expect("how many"))),
        "bytes" => {
            let digits = |at: usize| u8::from_str_radix(&text()[at..at + 2], 16).expect("hexadecimal digits");
            Value::Bytes((0..text().len()).step_by(2).map(digits).collect())
        }
        other => panic!("{other} is no kind of value"),
    }
}

fn rows(rows: &[Vec<Value>]) -> Json {
    rows.iter().map(|row| row.iter().map(as_json).collect::<Vec<_>>()).collect::<Vec<_>>().into()
}

/// Longer than this, a value is described by how it was made.
const LONG: usize = 10_000;

fn as_json(value: &Value) -> Json {
    let (kind, as_json) = match value {
        Value::Null => return Json::Null,
        Value::Int(n) => ("int", json!(n)),
        Value::Real(x) => ("real", json!(x)),
        Value::Text(text) if text.len() > LONG && *text == "xyzä".repeat(text.len() / 5) => {
            ("letters", json!(text.len() / 5))
        }
        Value::Text(text) => ("text", json!(text)),
        Value::Bytes(bytes) if bytes.len() > LONG && *bytes == pattern(bytes.len() as u64) => {
            ("pattern", json!(bytes.len()))
        }
        Value::Bytes(bytes) => {
            ("bytes", json!(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()))
        }
    };
    Map::from_iter([(kind.to_string(), as_json)]).into()
}

/// Bytes of every value, in an order that repeats late.
fn pattern(many: u64) -> Vec<u8> {
    (0..many).map(|at| ((at * 7 + at / 251) % 256) as u8).collect()
}
