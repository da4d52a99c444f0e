//! Workloads: schema, load, transactions, consistency conditions. SQL that differs by engine is data beside each.

mod commits;
mod iud;
mod numbered;
mod oltp;
mod orders;
mod scan;
mod site;
mod tpcb;
mod tpcc;

pub use site::Site;

use crate::protocol::{self, Survey};
use crate::session::{Class, Outcome, Session, SessionError};
use crate::terminal::Client;
use rand_chacha::ChaCha8Rng;
use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

pub type Rng = ChaCha8Rng;

/// How an attempt at a transaction ended, when it did not end in an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Committed,
    /// As the workload itself wanted it.
    RolledBack,
    /// Left to a worker; the database has not been asked anything.
    Queued,
}

pub const KINDS_MAX: usize = 8;

/// More than can have been acknowledged to anybody else.
const MANY: u64 = 1 << 40;

/// What this process has been told by the engine, over all its runs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Acknowledged {
    pub committed: u64,
    /// The commit call itself failed: it may or may not have taken place.
    pub unknown: u64,
    /// Commits by kind of transaction, in the order of [`Workload::kinds`].
    pub kinds: [u64; KINDS_MAX],
}

impl Acknowledged {
    /// Whether `found` transactions in the database agree with what was acknowledged.
    pub fn agrees(&self, found: i64) -> bool {
        self.allows(self.committed, found)
    }

    /// The same of one kind of transaction; those unknown may all be of that kind.
    pub fn agrees_of(&self, kind: usize, found: i64) -> bool {
        self.allows(self.kinds[kind], found)
    }

    /// What was acknowledged, `committed` of it in question, for people.
    pub fn shown(&self, committed: u64) -> String {
        match self.unknown {
            MANY => format!("at least {committed} commits acknowledged"),
            unknown => format!("{committed} commits acknowledged, {unknown} unknown"),
        }
    }

    fn allows(&self, committed: u64, found: i64) -> bool {
        u64::try_from(found).is_ok_and(|n| (committed..=committed + self.unknown).contains(&n))
    }

    pub fn commit(&mut self, kind: usize) {
        self.committed += 1;
        self.kinds[kind] += 1;
    }

    /// What another process was told, commits of each kind: more may be there.
    pub fn at_least(kinds: &[u64]) -> Acknowledged {
        let mut told = Acknowledged { committed: kinds.iter().sum(), unknown: MANY, ..Acknowledged::default() };
        for (sum, kind) in told.kinds.iter_mut().zip(kinds) {
            *sum = *kind;
        }
        told
    }

    pub fn add(&mut self, other: &Acknowledged) {
        self.committed += other.committed;
        self.unknown += other.unknown;
        for (sum, kind) in self.kinds.iter_mut().zip(&other.kinds) {
            *sum += kind;
        }
    }
}

/// A kind of transaction, as results name it.
#[derive(Debug, Clone, Copy)]
pub struct KindSpec {
    pub name: &'static str,
    /// Nine of ten must be answered in this time.
    pub limit_ms: Option<f64>,
}

/// Which terminal of which run a script is for; `run` counts the runs of this process from 0. Workers are counted apart
/// from terminals, each from 0.
#[derive(Debug, Clone, Copy)]
pub struct Seat {
    pub run: u64,
    pub terminal: u64,
    pub terminals: u64,
    pub worker: bool,
}

pub trait Workload: Sync {
    /// Creates the schema and fills it. The rows do not depend on how many sessions fill it.
    fn load(&self, site: &Site) -> Outcome<()>;

    /// The consistency conditions, each with the figures compared.
    fn check(&self, session: &mut dyn Session, acknowledged: &Acknowledged) -> Outcome<Vec<protocol::Condition>>;

    /// Kinds of transactions; none when there is but one.
    fn kinds(&self) -> &'static [KindSpec] {
        &[]
    }

    /// Sessions beside the terminals' that work off what those queue.
    fn workers(&self, _terminals: u32) -> u32 {
        0
    }

    /// What is there of each numbered transaction.
    fn survey(&self, _session: &mut dyn Session) -> Outcome<Survey> {
        let message = "the transactions of this workload carry no number".to_string();
        Err(SessionError { class: Class::Other, message })
    }

    /// What one terminal, or one worker, does, its statements prepared on `session`.
    fn script(&self, session: &mut dyn Session, seat: Seat) -> Outcome<Box<dyn Script>>;
}

/// The transaction drawn.
#[derive(Debug, Clone, Copy, Default)]
pub struct Drawn {
    /// Its place in [`Workload::kinds`]; 0 where there is but one.
    pub kind: usize,
    /// Pause before it is submitted, which is when its latency begins.
    pub keying: Duration,
    /// Pause after it, beside the run's own.
    pub think: Duration,
    /// When a terminal queued it: its latency began then.
    pub queued: Option<Instant>,
    /// Its number among those of its terminal, where the workload writes it into the database.
    pub number: u64,
}

/// An attempt under way.
pub type Attempt<'a> = Pin<Box<dyn Future<Output = Result<Ended, Refused>> + 'a>>;

/// One terminal's transactions, or one worker's.
pub trait Script: Send {
    /// Chooses the next transaction's inputs. `None` from a worker: nothing is queued; from a terminal: it has nothing
    /// more to do.
    fn draw(&mut self, rng: &mut Rng) -> Option<Drawn>;

    /// One attempt at the transaction last drawn, from begin to commit. After an error the caller rolls back and may
    /// call again: the inputs stay the same.
    fn attempt<'a>(&'a mut self, client: &'a mut Client) -> Attempt<'a>;
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
async fn commit(client: &mut Client) -> Result<Ended, Refused> {
    client.commit().await.map(|()| Ended::Committed).map_err(|error| Refused { error, at_commit: true })
}

/// The workload that a job names; `seed` is the job's.
pub fn of(workload: &protocol::Workload, seed: u64) -> Box<dyn Workload> {
    match workload {
        protocol::Workload::Commits { row_bytes } => Box::new(commits::Commits { row_bytes: *row_bytes }),
        protocol::Workload::Numbered { terminals, parts, row_bytes } => Box::new(numbered::Numbered {
            terminals: u64::from(*terminals),
            parts: u64::from(*parts),
            row_bytes: *row_bytes as usize,
        }),
        protocol::Workload::Tpcb { scale } => Box::new(tpcb::Tpcb { scale: i64::from(*scale) }),
        protocol::Workload::Orders { products, orders_per_call, repeatable } => Box::new(orders::Orders {
            products: i64::from(*products),
            orders_per_call: i64::from(*orders_per_call),
            repeatable: *repeatable,
        }),
        protocol::Workload::Iud { rows } => Box::new(iud::Iud { rows: *rows }),
        protocol::Workload::Scan { size_mb, read } => Box::new(scan::Scan::new(*size_mb, *read)),
        protocol::Workload::Oltp { tables, table_rows } => {
            Box::new(oltp::Oltp { tables: i64::from(*tables), table_rows: i64::from(*table_rows) })
        }
        protocol::Workload::Tpcc { warehouses, percent, procedures, keying, roaming } => {
            Box::new(tpcc::Tpcc::new(*warehouses, *percent, *procedures, *keying, *roaming, seed))
        }
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

/// Six random bits make one.
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
