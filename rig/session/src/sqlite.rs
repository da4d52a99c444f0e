//! SQLite, linked into the rig.
//!
//! Transactions that write begin with `BEGIN IMMEDIATE`: a deferred transaction that turns into a writer is refused at
//! once (SQLITE_BUSY without the busy handler) when another wrote meanwhile; see <https://sqlite.org/lang_transaction.html>.

use crate::registry::Engine;
use rusqlite::types::{ToSqlOutput, Value as Owned, ValueRef};
use rusqlite::{Connection, ErrorCode, ToSql};
use serde::{Deserialize, Serialize};
use std::task::Poll;
use std::time::Duration;
use transaction::{Bulk, Class, Dialect, OneByOne, Outcome, Request, Session, SessionError, Sink, Statement, Value};

pub struct Sqlite {
    // Statements borrow the connection in rusqlite; its own cache, large enough for all of ours, keeps them prepared.
    connection: Connection,
    statements: Vec<String>,
}

const STATEMENTS_MAX: usize = 256;

static DIALECT: Dialect = Dialect {
    name: "sqlite",
    engine: "SQLite",
    one_writer: true,
    keys_after_load: false,
    // The rowid: "bigint" would add an index of its own beside it.
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
#[serde(deny_unknown_fields)]
pub struct Target {
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

    fn open(Target { path, setup, busy_timeout_ms }: &Target) -> Outcome<Sqlite> {
        let connection = Connection::open(path).map_err(said)?;
        connection.busy_timeout(Duration::from_millis((*busy_timeout_ms).into())).map_err(said)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
        let mut session = Sqlite { connection, statements: Vec::new() };
        for sql in setup {
            session.rows(sql)?; // a pragma may answer a row
        }
        Ok(session)
    }

    fn samples() -> Vec<Target> {
        let setup = vec!["pragma journal_mode = wal".into()];
        vec![Target { path: "/data/x.db".into(), setup, busy_timeout_ms: 60_000 }]
    }
}

impl Sqlite {
    fn plain(&mut self, sql: &str) -> Outcome<u64> {
        self.connection.prepare_cached(sql).and_then(|mut s| s.execute([])).map_err(said)?;
        Ok(0)
    }

    fn run(&mut self, statement: Statement, parameters: &[Value], row: Sink) -> Outcome<u64> {
        let mut prepared = self.connection.prepare_cached(&self.statements[statement.0]).map_err(said)?;
        let columns = prepared.column_count();
        if columns == 0 {
            let changed =
                prepared.execute(rusqlite::params_from_iter(parameters.iter().map(Parameter))).map_err(said)?;
            return Ok(changed as u64);
        }
        let mut rows = prepared.query(rusqlite::params_from_iter(parameters.iter().map(Parameter))).map_err(said)?;
        let mut values = Vec::with_capacity(columns);
        while let Some(fetched) = rows.next().map_err(said)? {
            values.clear();
            for column in 0..columns {
                values.push(value(fetched.get_ref(column).map_err(said)?));
            }
            row(&values);
        }
        Ok(0)
    }
}

struct Parameter<'a>(&'a Value);

impl ToSql for Parameter<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self.0 {
            Value::Null => ToSqlOutput::Owned(Owned::Null),
            Value::Int(n) => ToSqlOutput::Owned(Owned::Integer(*n)),
            Value::Real(x) => ToSqlOutput::Owned(Owned::Real(*x)),
            Value::Text(s) => ToSqlOutput::Borrowed(ValueRef::Text(s.as_bytes())),
        })
    }
}

fn value(value_ref: ValueRef<'_>) -> Value {
    match value_ref {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(n) => Value::Int(n),
        ValueRef::Real(x) => Value::Real(x),
        ValueRef::Text(s) | ValueRef::Blob(s) => Value::Text(String::from_utf8_lossy(s).into_owned()),
    }
}

impl Session for Sqlite {
    fn dialect(&self) -> &'static Dialect {
        &DIALECT
    }

    fn engine_version(&mut self) -> Outcome<String> {
        Ok(rusqlite::version().to_string())
    }

    fn prepare(&mut self, sql: &str) -> Outcome<Statement> {
        if let Some(known) = self.statements.iter().position(|known| known == sql) {
            return Ok(Statement(known));
        }
        assert!(self.statements.len() < STATEMENTS_MAX);
        self.connection.prepare_cached(sql).map_err(said)?;
        self.statements.push(sql.to_string());
        Ok(Statement(self.statements.len() - 1))
    }

    fn call(&mut self, request: Request, row: Sink) -> Poll<Outcome<u64>> {
        Poll::Ready(match request {
            Request::Begin => self.plain("BEGIN IMMEDIATE"),
            Request::BeginReading => self.plain("BEGIN"),
            Request::Commit => self.plain("COMMIT"),
            Request::Rollback if self.connection.is_autocommit() => Ok(0),
            Request::Rollback => self.plain("ROLLBACK"),
            Request::Run(statement, parameters) | Request::One(statement, parameters) => {
                self.run(statement, parameters, row)
            }
        })
    }

    fn batch(&mut self, sql: &str) -> Outcome<()> {
        self.connection.execute_batch(sql).map_err(said)
    }

    fn rows(&mut self, sql: &str) -> Outcome<Vec<Vec<Value>>> {
        let mut prepared = self.connection.prepare(sql).map_err(said)?;
        let columns = prepared.column_count();
        let mut rows = prepared.query([]).map_err(said)?;
        let mut all_rows = Vec::new();
        while let Some(row) = rows.next().map_err(said)? {
            all_rows.push((0..columns).map(|c| row.get_ref(c).map(value)).collect::<Result<_, _>>().map_err(said)?);
        }
        Ok(all_rows)
    }

    fn plan(&mut self, query: &str) -> Outcome<Vec<Vec<Value>>> {
        self.rows(&format!("explain query plan {query}"))
    }

    fn bulk<'a>(&'a mut self, table: &str, columns: &[&str]) -> Outcome<Box<dyn Bulk + 'a>> {
        Ok(Box::new(OneByOne::begin(self, table, columns)?))
    }
}

fn said(error: rusqlite::Error) -> SessionError {
    let class = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Class::Busy,
        Some(ErrorCode::DiskFull) => Class::DiskFull,
        Some(ErrorCode::ConstraintViolation) => Class::Constraint,
        Some(
            ErrorCode::CannotOpen | ErrorCode::SystemIoFailure | ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt,
        ) => Class::Connection,
        _ => Class::Other,
    };
    SessionError { class, message: error.to_string() }
}
