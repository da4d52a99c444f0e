//! One client session of an engine. Workloads speak to the [`Session`] trait and never name an engine;
//! the words in which engines' SQL differs come with it, as its [`Dialect`].

use crate::{Bulk, Dialect, Outcome, Value};
use rustix::event::{poll, PollFd, PollFlags};
use std::os::fd::BorrowedFd;
use std::task::Poll;

/// Names a statement prepared on a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statement(pub usize);

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
/// sessions of a server; scripts use them through [`Client`](crate::Client). Everything else may wait, and is
/// not on the measured path.
pub trait Session: Send {
    fn dialect(&self) -> &'static Dialect;
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

    /// How the engine would run a query, in its own words.
    fn plan(&mut self, query: &str) -> Outcome<Vec<Vec<Value>>> {
        self.rows(&format!("explain {query}"))
    }

    /// Begins to fill `columns` of `table`, by the fastest way that the engine offers a client. Nothing is sure to be
    /// there before [`Bulk::finish`].
    fn bulk<'a>(&'a mut self, table: &str, columns: &[&str]) -> Outcome<Box<dyn Bulk + 'a>>;
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
