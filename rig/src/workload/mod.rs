//! Workloads: schema, load, transactions, consistency conditions. SQL that differs by engine is data beside each.

mod commits;
mod tpcb;

use crate::protocol;
use crate::session::{Outcome, Session};
use rand_chacha::ChaCha8Rng;

pub type Rng = ChaCha8Rng;

/// How an attempt at a transaction ended, when it did not end in an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Committed,
    /// As the workload itself wanted it.
    #[allow(dead_code, reason = "TPC-C-like new-order rolls back one in a hundred; the counts keep its place")]
    RolledBack,
}

/// What this process has been told by the engine, over all its runs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Acknowledged {
    pub committed: u64,
    /// The commit call itself failed: it may or may not have taken place.
    pub unknown: u64,
}

impl Acknowledged {
    /// Whether `found` transactions in the database agree with what was acknowledged.
    pub fn agrees(self, found: i64) -> bool {
        u64::try_from(found).is_ok_and(|n| (self.committed..=self.committed + self.unknown).contains(&n))
    }
}

/// Which terminal of which run a script is for; `run` counts the runs of this process from 0.
#[derive(Debug, Clone, Copy)]
pub struct Seat {
    pub run: u64,
    pub terminal: u64,
    pub terminals: u64,
}

pub trait Workload: Sync {
    /// Creates the schema and fills it. `progress` hears rows written so far and in all.
    fn load(&self, session: &mut dyn Session, progress: &mut dyn FnMut(u64, u64)) -> Outcome<u64>;

    /// The consistency conditions, each with the figures compared.
    fn check(&self, session: &mut dyn Session, acknowledged: Acknowledged) -> Outcome<Vec<protocol::Condition>>;

    /// What one terminal does, its statements prepared on `session`.
    fn script(&self, session: &mut dyn Session, seat: Seat) -> Outcome<Box<dyn Script>>;
}

/// One terminal's transactions.
pub trait Script: Send {
    /// Chooses the next transaction's inputs.
    fn draw(&mut self, rng: &mut Rng);

    /// One attempt at the transaction last drawn, from begin to commit. After an error the caller rolls back and may
    /// call again: the inputs stay the same.
    fn attempt(&mut self, session: &mut dyn Session) -> Result<Ended, Refused>;
}

/// An attempt that failed, and whether it was the commit itself that did.
#[derive(Debug)]
pub struct Refused {
    pub error: crate::session::SessionError,
    pub at_commit: bool,
}

impl From<crate::session::SessionError> for Refused {
    fn from(error: crate::session::SessionError) -> Self {
        Refused { error, at_commit: false }
    }
}

/// Commits, and marks a failure as one of the commit.
fn commit(session: &mut dyn Session) -> Result<Ended, Refused> {
    session.commit().map(|()| Ended::Committed).map_err(|error| Refused { error, at_commit: true })
}

pub fn of(workload: &protocol::Workload) -> Box<dyn Workload> {
    match workload {
        protocol::Workload::Commits { row_bytes } => Box::new(commits::Commits { row_bytes: *row_bytes }),
        protocol::Workload::Tpcb { scale } => Box::new(tpcb::Tpcb { scale: i64::from(*scale) }),
    }
}

/// The first value of a query that answers one number; NULL (a sum over no rows) counts as 0.
fn number(session: &mut dyn Session, sql: &str) -> Outcome<i64> {
    let rows = session.rows(sql)?;
    Ok(rows.first().and_then(|row| row.first()).and_then(|value| value.as_i64()).unwrap_or(0))
}

fn condition(name: &str, holds: bool, detail: String) -> protocol::Condition {
    protocol::Condition { name: name.to_string(), holds, detail }
}

/// Text without repetitions to fill rows with, so that an engine that compresses stores as much as one that does not.
const FILLER: &str =
    "q7ZkV3xTnB0cJ5wYhR8dMfLsP2aGu9eKXoI4tQvbC1rWmD6yHjEzNpSgUAFliOxBk3Rj7TqVw5nYc0ZhM8dLsPfGu2aKe9XtI";
