//! One client session of an engine. Workloads speak to the [`Session`] trait and never name an engine;
//! what differs between engines in SQL is looked up by [`Dialect`] beside the workload.

mod firebird;
mod mysql;
mod postgres;
mod socket;
mod sqlite;

use crate::protocol::Target;
use rustix::event::{poll, PollFd, PollFlags};
use std::os::fd::BorrowedFd;
use std::task::Poll;

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

    /// Bytes of the value itself.
    pub fn bytes(&self) -> u64 {
        match self {
            Value::Null => 0,
            Value::Int(_) | Value::Real(_) => 8,
            Value::Text(s) => s.len() as u64,
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

impl SessionError {
    /// A statement for one row changed `found`.
    pub fn not_one(found: u64) -> SessionError {
        SessionError {
            class: if found == 0 { Class::RowMissed } else { Class::Other },
            message: format!("a statement for one row changed {found}"),
        }
    }
}

pub type Outcome<T> = Result<T, SessionError>;

/// Names a statement prepared on a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statement(pub usize);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    Sqlite,
    Firebird,
    Postgres,
    Mysql,
}

/// What a caller on the measured path asks of a session. Statements run inside a transaction that was begun.
#[derive(Debug, Clone, Copy)]
pub enum Request<'a> {
    Begin,
    /// A transaction that only reads: it need not keep writers out.
    BeginReading,
    Commit,
    /// Safe when no transaction is open.
    Rollback,
    /// Answers how many rows it changed; rows that it answers go to the caller's sink.
    Run(Statement, &'a [Value]),
    /// A statement that must change exactly one row. A session that pipelines may answer 1 before it knows, and then
    /// answers a later request with [`SessionError::not_one`].
    One(Statement, &'a [Value]),
}

/// Where a query's rows go, one at a time.
pub type Sink<'a> = &'a mut dyn FnMut(&[Value]);

/// One connection with its prepared statements. Statements outlive transactions.
///
/// The measured path is [`Session::call`] and [`Session::resume`], which never wait, so that one thread can drive many
/// sessions of a server; scripts use them through [`Client`](super::terminal::Client). Everything else may wait, and is
/// not on the measured path.
pub trait Session: Send {
    fn dialect(&self) -> Dialect;
    /// The version the engine itself reports.
    fn engine_version(&mut self) -> Outcome<String>;
    fn prepare(&mut self, sql: &str) -> Outcome<Statement>;

    /// Hands a request to the engine. An embedded engine answers at once; a server's answer is pending.
    fn call(&mut self, request: Request, row: Sink) -> Poll<Outcome<u64>>;

    /// Goes on with the pending request, once [`Session::descriptor`] can be read. Reads until nothing more is there,
    /// so that news of more to read is never missed.
    fn resume(&mut self, _row: Sink) -> Poll<Outcome<u64>> {
        unreachable!("an embedded engine leaves nothing pending")
    }

    /// The socket that a pending answer comes from; none of an embedded engine.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Runs one statement without parameters in a transaction of its own, committed (schema, bulk load).
    fn batch(&mut self, sql: &str) -> Outcome<()>;

    /// All rows of a query that is run once, in a transaction of its own.
    fn rows(&mut self, sql: &str) -> Outcome<Vec<Vec<Value>>>;

    /// Begins to fill `columns` of `table`, by the fastest way that the engine offers a client. Nothing is sure to be
    /// there before [`Bulk::finish`].
    fn bulk<'a>(&'a mut self, table: &str, columns: &[&str]) -> Outcome<Box<dyn Bulk + 'a>>;
}

/// A bulk load under way. Dropped before it is finished, it leaves no rows or some.
pub trait Bulk {
    /// One row, a value for each column. Answers the bytes of its values as they are handed over.
    fn row(&mut self, values: &[Value]) -> Outcome<u64>;
    /// Commits. Answers how many rows the engine has taken.
    fn finish(self: Box<Self>) -> Outcome<u64>;
}

/// Runs a request to its end on a session that answers at once or may be waited for; not for the measured path.
pub fn wait(session: &mut dyn Session, request: Request, row: Sink) -> Outcome<u64> {
    let mut answer = session.call(request, row);
    loop {
        match answer {
            Poll::Ready(outcome) => return outcome,
            Poll::Pending => {
                readable(session.descriptor().expect("what is pending comes from a socket"));
                answer = session.resume(row);
            }
        }
    }
}

/// Waits until a socket can be read.
pub fn readable(socket: BorrowedFd) {
    await_socket(socket, PollFlags::IN);
}

/// Waits for one of `events`. An interrupted wait is like one that ended: the reader finds nothing and waits again.
pub fn await_socket(socket: BorrowedFd, events: PollFlags) {
    poll(&mut [PollFd::from_borrowed_fd(socket, events)], None).ok();
}

/// A prepared insert a row, all in one transaction: the way that every engine has, and SQLite's fastest.
pub struct OneByOne<'a> {
    session: &'a mut dyn Session,
    insert: Statement,
    rows: u64,
}

impl<'a> OneByOne<'a> {
    pub fn begin(session: &'a mut dyn Session, table: &str, columns: &[&str]) -> Outcome<OneByOne<'a>> {
        let marks = vec!["?"; columns.len()].join(", ");
        let insert = session.prepare(&format!("insert into {table} ({}) values ({marks})", columns.join(", ")))?;
        wait(session, Request::Begin, &mut |_| {})?;
        Ok(OneByOne { session, insert, rows: 0 })
    }
}

impl Bulk for OneByOne<'_> {
    fn row(&mut self, values: &[Value]) -> Outcome<u64> {
        self.rows += wait(self.session, Request::One(self.insert, values), &mut |_| {})?;
        Ok(values.iter().map(Value::bytes).sum())
    }

    fn finish(self: Box<Self>) -> Outcome<u64> {
        wait(self.session, Request::Commit, &mut |_| {})?;
        Ok(self.rows)
    }
}

/// Opens a session.
pub fn open(target: &Target) -> Outcome<Box<dyn Session>> {
    match target {
        Target::Sqlite { path, setup, busy_timeout_ms } => {
            Ok(Box::new(sqlite::Sqlite::open(path, setup, *busy_timeout_ms)?))
        }
        Target::Firebird { .. } => Ok(Box::new(firebird::Firebird::open(target)?)),
        Target::Postgres { .. } => Ok(Box::new(postgres::Postgres::open(target)?)),
        Target::Mysql { .. } => Ok(Box::new(mysql::Mysql::open(target)?)),
    }
}
