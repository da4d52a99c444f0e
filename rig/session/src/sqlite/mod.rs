//! SQLite: the one that is linked into the rig, or a library that a target names.
//!
//! Transactions that write begin with `BEGIN IMMEDIATE`: a deferred transaction that turns into a writer is refused at
//! once (SQLITE_BUSY without the busy handler) when another wrote meanwhile; see <https://sqlite.org/lang_transaction.html>.

mod connection;
mod library;

use crate::engine::Engine;
use connection::Connection;
use serde::{Deserialize, Serialize};
use std::task::Poll;
use transaction::{
    as_many_as_parts, joined, not_alone, Bulk, Class, Dialect, OneByOne, Outcome, Request, Session, SessionError, Sink,
    Statement, Value,
};

pub use library::Sqlite as Library;

pub struct Sqlite {
    connection: Connection,
    begin: usize,
    begin_reading: usize,
    commit: usize,
    rollback: usize,
}

static DIALECT: Dialect = Dialect {
    name: "sqlite",
    engine: "SQLite",
    one_writer: true,
    keys_after_load: false,
    // The rowid: "bigint" would add its own index beside it.
    key: "integer primary key",
    small_key: "integer primary key",
    own_key: "integer primary key",
    by_key: "without rowid",
    datetime: "timestamp",
    bytes: "",
    blob: "blob",
    char_length: "length",
    div: "/",
    first_row: "limit 1",
    procedures: None,
    settle: None,
    recount: None,
};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Full path of the library to load (`libsqlite3.so.0`); `null` for the one that is linked into the rig.
    library: Option<String>,
    /// Database file; created by the load phase when absent.
    path: String,
    /// Statements run on every new session, before anything else (`PRAGMA ...`).
    setup: Vec<String>,
    /// How long a session waits for another's lock before the attempt counts as a conflict.
    busy_timeout_ms: u32,
}

impl Engine for Sqlite {
    const NAME: &'static str = "sqlite";
    const DIALECT: &'static Dialect = &DIALECT;
    type Target = Target;

    fn open(Target { library, path, setup, busy_timeout_ms }: &Target) -> Outcome<Sqlite> {
        let sqlite =
            Library::of(library.as_deref()).map_err(|message| SessionError { class: Class::Connection, message })?;
        let mut connection = Connection::open(sqlite, path, *busy_timeout_ms)?;
        for sql in setup {
            connection.run_once(sql, &mut |_| {})?; // a pragma may answer a row
        }
        Ok(Sqlite {
            begin: connection.prepare("BEGIN IMMEDIATE")?,
            begin_reading: connection.prepare("BEGIN")?,
            commit: connection.prepare("COMMIT")?,
            rollback: connection.prepare("ROLLBACK")?,
            connection,
        })
    }

    fn samples() -> Vec<Target> {
        let setup = vec!["pragma journal_mode = wal".into()];
        let target =
            |library| Target { library, path: "/data/x.db".into(), setup: setup.clone(), busy_timeout_ms: 60_000 };
        vec![target(None), target(Some("/opt/sqlite/libsqlite3.so".into()))]
    }
}

impl Session for Sqlite {
    fn dialect(&self) -> &'static Dialect {
        &DIALECT
    }

    fn engine_version(&mut self) -> Outcome<String> {
        Ok(self.connection.version())
    }

    fn prepare(&mut self, sql: &str) -> Outcome<Statement> {
        self.connection.prepare(sql).map(Statement)
    }

    fn prepare_parts(&mut self, parts: &[&str]) -> Outcome<Statement> {
        let sql = joined(parts, |_| "?".to_string());
        let statement = self.connection.prepare(&sql)?;
        as_many_as_parts(self.connection.parameters(statement), parts, &sql)?;
        Ok(Statement(statement))
    }

    fn in_transaction(&self) -> bool {
        !self.connection.is_autocommit()
    }

    fn columns(&mut self, statement: Statement) -> Vec<String> {
        self.connection.columns(statement.0)
    }

    fn call(&mut self, request: Request, row: Sink) -> Poll<Outcome<u64>> {
        let plain = match request {
            Request::Begin => self.begin,
            Request::BeginReading => self.begin_reading,
            Request::Commit => self.commit,
            Request::Rollback if self.connection.is_autocommit() => return Poll::Ready(Ok(0)),
            Request::Rollback => self.rollback,
            Request::Text(sql) => return Poll::Ready(self.connection.run_once(sql, row)),
            Request::Alone(..) if !self.connection.is_autocommit() => return Poll::Ready(Err(not_alone())),
            Request::Alone(statement, parameters)
            | Request::Run(statement, parameters)
            | Request::Later(statement, parameters)
            | Request::One(statement, parameters) => {
                return Poll::Ready(self.connection.run(statement.0, parameters, row));
            }
        };
        Poll::Ready(self.connection.run(plain, &[], row).map(|_| 0))
    }

    fn hold(&mut self) -> Outcome<()> {
        self.batch("begin")?;
        self.look()
    }

    /// From the database's file: a query without a table reads no page, and so takes no snapshot.
    fn look(&mut self) -> Outcome<()> {
        self.rows("select count(*) from sqlite_master").map(|_| ())
    }

    fn batch(&mut self, sql: &str) -> Outcome<()> {
        self.connection.execute(sql)
    }

    fn rows(&mut self, sql: &str) -> Outcome<Vec<Vec<Value>>> {
        let mut rows = Vec::new();
        self.connection.run_once(sql, &mut |row| rows.push(row.to_vec()))?;
        Ok(rows)
    }

    fn plan(&mut self, query: &str) -> Outcome<Vec<Vec<Value>>> {
        self.rows(&format!("explain query plan {query}"))
    }

    fn bulk<'a>(&'a mut self, table: &str, columns: &[&str]) -> Outcome<Box<dyn Bulk + 'a>> {
        Ok(Box::new(OneByOne::begin(self, table, columns)?))
    }
}
