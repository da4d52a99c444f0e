//! Fakelite: SQLite under another name, with a target and a dialect of its own.

use crate::registry::Engine;
use crate::sqlite::{self, Sqlite};
use serde::{Deserialize, Serialize};
use std::task::Poll;
use transaction::{Bulk, Dialect, Outcome, Request, Session, Sink, Statement, Value};

pub struct Fakelite(Sqlite);

static DIALECT: Dialect = Dialect {
    name: "fakelite",
    engine: "Fakelite",
    one_writer: true,
    keys_after_load: false,
    key: "integer primary key",
    small_key: "integer primary key",
    own_key: "integer primary key",
    by_key: "without rowid",
    datetime: "timestamp",
    bytes: "",
    char_length: "length",
    div: "/",
    first_row: "limit 1",
    procedures: None,
    settle: None,
    recount: None,
};

#[derive(Serialize, Deserialize)]
#[serde(transparent)]
pub struct Target(sqlite::Target);

impl Engine for Fakelite {
    const NAME: &'static str = "fakelite";
    const DIALECT: &'static Dialect = &DIALECT;
    type Target = Target;

    fn open(target: &Target) -> Outcome<Fakelite> {
        Sqlite::open(&target.0).map(Fakelite)
    }

    fn samples() -> Vec<Target> {
        Sqlite::samples().into_iter().map(Target).collect()
    }
}

impl Session for Fakelite {
    fn dialect(&self) -> &'static Dialect {
        &DIALECT
    }

    fn engine_version(&mut self) -> Outcome<String> {
        self.0.engine_version()
    }

    fn prepare(&mut self, sql: &str) -> Outcome<Statement> {
        self.0.prepare(sql)
    }

    fn call(&mut self, request: Request, row: Sink) -> Poll<Outcome<u64>> {
        self.0.call(request, row)
    }

    fn batch(&mut self, sql: &str) -> Outcome<()> {
        self.0.batch(sql)
    }

    fn rows(&mut self, sql: &str) -> Outcome<Vec<Vec<Value>>> {
        self.0.rows(sql)
    }

    fn plan(&mut self, query: &str) -> Outcome<Vec<Vec<Value>>> {
        self.0.plan(query)
    }

    fn bulk<'a>(&'a mut self, table: &str, columns: &[&str]) -> Outcome<Box<dyn Bulk + 'a>> {
        self.0.bulk(table, columns)
    }
}
