//! One client session of an engine. Workloads speak to the [`Session`] trait and never name an engine;
//! what differs between engines in SQL is looked up by [`Dialect`] beside the workload.

mod firebird;
mod sqlite;

use crate::protocol::Target;

/// A value that goes into a statement or comes out of a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Int(i64),
    Real(f64),
    Text(String),
}

impl Value {
    /// As an integer; sums arrive as whole reals from some engines.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Value::Int(n) => Some(*n),
            Value::Real(x) if x.fract() == 0.0 => Some(*x as i64),
            Value::Text(s) => s.trim().parse().ok(),
            _ => None,
        }
    }

    /// As a person reads it; `None` for NULL.
    pub fn into_text(self) -> Option<String> {
        match self {
            Value::Null => None,
            Value::Int(n) => Some(n.to_string()),
            Value::Real(x) => Some(x.to_string()),
            Value::Text(s) => Some(s.trim_end().to_string()),
        }
    }
}

/// What went wrong, in the same few words for every engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    Busy,
    Deadlock,
    UpdateConflict,
    /// A row that is there was not found, because another transaction was changing it.
    RowMissed,
    LockTimeout,
    LockConflict,
    Constraint,
    Connection,
    DiskFull,
    Other,
}

impl Class {
    pub fn name(self) -> &'static str {
        match self {
            Class::Busy => "busy",
            Class::Deadlock => "deadlock",
            Class::UpdateConflict => "update_conflict",
            Class::RowMissed => "row_missed",
            Class::LockTimeout => "lock_timeout",
            Class::LockConflict => "lock_conflict",
            Class::Constraint => "constraint",
            Class::Connection => "connection",
            Class::DiskFull => "disk_full",
            Class::Other => "other",
        }
    }

    /// Refused for another transaction's sake: trying again may succeed.
    pub fn is_conflict(self) -> bool {
        matches!(
            self,
            Class::Busy
                | Class::Deadlock
                | Class::UpdateConflict
                | Class::RowMissed
                | Class::LockTimeout
                | Class::LockConflict
        )
    }

    /// No further transaction on this database can succeed.
    pub fn is_final(self) -> bool {
        matches!(self, Class::Connection | Class::DiskFull)
    }
}

#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct SessionError {
    pub class: Class,
    pub message: String,
}

pub type Outcome<T> = Result<T, SessionError>;

/// Names a statement prepared on a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statement(pub usize);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    Sqlite,
    Firebird,
}

/// One connection with its prepared statements. Statements outlive transactions.
///
/// Every statement runs inside a transaction that the caller began, but for [`Session::batch`].
pub trait Session: Send {
    fn dialect(&self) -> Dialect;
    /// The version the engine itself reports.
    fn engine_version(&mut self) -> Outcome<String>;
    fn prepare(&mut self, sql: &str) -> Outcome<Statement>;
    fn begin(&mut self) -> Outcome<()>;
    fn commit(&mut self) -> Outcome<()>;
    /// Safe to call when no transaction is open.
    fn rollback(&mut self) -> Outcome<()>;
    /// Runs a statement that answers no rows; answers how many it changed.
    fn execute(&mut self, statement: Statement, parameters: &[Value]) -> Outcome<u64>;

    /// Runs a statement that must change exactly one row. An engine may, at weak isolation, pass over a row that another
    /// transaction is changing: that is a refusal, not a success.
    fn change_one(&mut self, statement: Statement, parameters: &[Value]) -> Outcome<()> {
        match self.execute(statement, parameters)? {
            1 => Ok(()),
            found => Err(SessionError {
                class: if found == 0 { Class::RowMissed } else { Class::Other },
                message: format!("a statement for one row changed {found}"),
            }),
        }
    }

    /// Runs a query and hands each row to `row`.
    fn query(&mut self, statement: Statement, parameters: &[Value], row: &mut dyn FnMut(&[Value])) -> Outcome<()>;
    /// Runs one statement without parameters in a transaction of its own, committed (schema, bulk load).
    fn batch(&mut self, sql: &str) -> Outcome<()>;

    /// All rows of a query that is run once, in a transaction of its own.
    fn rows(&mut self, sql: &str) -> Outcome<Vec<Vec<Value>>>;
}

/// Opens a session.
pub fn open(target: &Target) -> Outcome<Box<dyn Session>> {
    match target {
        Target::Sqlite { path, setup, busy_timeout_ms } => {
            Ok(Box::new(sqlite::Sqlite::open(path, setup, *busy_timeout_ms)?))
        }
        Target::Firebird { .. } => Ok(Box::new(firebird::Firebird::open(target)?)),
    }
}
