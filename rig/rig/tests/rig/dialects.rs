//! Every workload's SQL in every dialect: nothing is left to be put in, and what an engine lacks is refused in
//! plain words before anything is made. What the SQL does is tested on the engines themselves.

use protocol::Workload as Message;
use serde_json::json;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use transaction::{
    Acknowledged, Bulk, Dialect, LoadContext, Outcome, Procedures, Request, Seat, Session, Sink, Statement, Value,
};

/// What is asked of a database, in its order.
type Asked = Arc<Mutex<Vec<String>>>;

/// Notes what is asked, and answers no rows.
struct Recorder {
    dialect: &'static Dialect,
    asked: Asked,
    prepared: usize,
}

impl Recorder {
    fn note(&self, what: &str, sql: &str) {
        self.asked.lock().unwrap().push(format!("{what} {sql}"));
    }
}

impl Session for Recorder {
    fn dialect(&self) -> &'static Dialect {
        self.dialect
    }

    fn engine_version(&mut self) -> Outcome<String> {
        Ok("1".to_string())
    }

    fn prepare(&mut self, sql: &str) -> Outcome<Statement> {
        self.note("prepare", sql);
        self.prepared += 1;
        Ok(Statement(self.prepared - 1))
    }

    fn prepare_parts(&mut self, parts: &[&str]) -> Outcome<Statement> {
        self.prepare(&parts.join("?"))
    }

    fn in_transaction(&self) -> bool {
        false
    }

    fn columns(&mut self, _: Statement) -> Vec<String> {
        Vec::new()
    }

    fn call(&mut self, _: Request, _: Sink) -> Poll<Outcome<u64>> {
        unreachable!("no transaction is attempted")
    }

    fn hold(&mut self) -> Outcome<()> {
        unreachable!("no session sleeps")
    }

    fn batch(&mut self, sql: &str) -> Outcome<()> {
        self.note("batch", sql);
        Ok(())
    }

    fn rows(&mut self, sql: &str) -> Outcome<Vec<Vec<Value>>> {
        self.note("rows", sql);
        Ok(Vec::new())
    }

    fn bulk<'a>(&'a mut self, table: &str, columns: &[&str]) -> Outcome<Box<dyn Bulk + 'a>> {
        self.note("bulk", &format!("{table} ({})", columns.join(", ")));
        Ok(Box::new(Counted(0)))
    }
}

struct Counted(u64);

impl Bulk for Counted {
    fn row(&mut self, values: &[Value]) -> Outcome<u64> {
        self.0 += 1;
        Ok(values.iter().map(Value::bytes).sum())
    }

    fn finish(self: Box<Self>) -> Outcome<u64> {
        Ok(self.0)
    }
}

/// The samples of every workload in their smallest size, with all that can be chosen and with none of it.
fn messages() -> Vec<Message> {
    let sized = |mut message: Message, chosen: bool| {
        for value in message.fields.values_mut() {
            if value.is_number() {
                *value = json!(1);
            } else if value.is_boolean() {
                *value = json!(chosen);
            }
        }
        message
    };
    // The SQL of a user, of a log or of a kit is not ours, and a maintenance is asked of services, which only Firebird has.
    let others = ["sql", "replay", "oltp_emul", "maintenance"];
    let ours = workload::samples().into_iter().filter(|message| !others.contains(&message.name.as_str()));
    ours.flat_map(|message| [sized(message.clone(), true), sized(message, false)]).collect()
}

/// What a workload asks sessions of a dialect, or why it refuses to.
fn asked(dialect: &'static Dialect, message: &Message) -> (Vec<String>, Result<(), String>) {
    let asked = Asked::default();
    let open =
        || -> Outcome<Box<dyn Session>> { Ok(Box::new(Recorder { dialect, asked: asked.clone(), prepared: 0 })) };
    let workload = workload::of(message, 7).expect("a sample");
    let work = || -> Outcome<()> {
        workload.load(&LoadContext::new(&open, dialect, 7, 1, false))?;
        for worker in [false, true] {
            workload.script(open()?.as_mut(), Seat { run: 0, terminal: 0, terminals: 1, worker, class: None })?;
        }
        workload.check(open()?.as_mut(), &Acknowledged::default())?;
        // Not every workload can be surveyed.
        workload.survey(open()?.as_mut()).ok();
        Ok(())
    };
    let ended = work().map_err(|error| error.message);
    let asked = asked.lock().unwrap().clone();
    (asked, ended)
}

#[test]
fn nothing_is_left_in_braces_and_nothing_empty_is_asked() {
    for dialect in session::dialects() {
        for message in messages() {
            let (asked, ended) = asked(dialect, &message);
            let about = format!("{message:?} on {}", dialect.engine);
            match ended {
                Ok(()) => {}
                // It goes on from the rows that are there, and a recorder has none.
                Err(refusal) if message.name == "history" => {
                    assert_eq!(refusal, "history_terminals has no row for terminal 0", "{about}");
                }
                Err(refusal) => {
                    assert!(dialect.procedures.is_none(), "{about}: {refusal}");
                    assert_eq!(refusal, format!("{} has no stored procedures", dialect.engine));
                    assert!(asked.is_empty(), "{about}: {asked:?}");
                    continue;
                }
            }
            assert!(asked.len() >= 3, "{about}: {asked:?}");
            for sql in asked {
                assert!(!sql.contains(['{', '}']) && !sql.contains("--"), "{about}: {sql}");
                assert!(sql.split_whitespace().count() > 1, "{about}: {sql}");
            }
        }
    }
}

/// A workload has plain SQL for an engine that is new, or refuses it.
#[test]
fn an_engine_that_no_workload_knows_is_served_or_refused() {
    let known = session::dialects().next().expect("there are engines");
    let procedures = Some(Procedures { call: "call", call_for_row: "call" });
    let new: &'static Dialect = Box::leak(Box::new(Dialect { name: "new", engine: "Engine X", procedures, ..*known }));
    let mut served = 0;
    for message in messages() {
        let (asked, ended) = asked(new, &message);
        match ended {
            Ok(()) => served += 1,
            Err(refusal) => {
                assert!(refusal.contains("Engine X") && refusal.contains(&message.name), "{refusal}");
                assert!(asked.is_empty(), "{message:?}: {asked:?}");
            }
        }
    }
    assert!(served > messages().len() / 2, "{served}");
}
