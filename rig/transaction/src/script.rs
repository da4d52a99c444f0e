//! The transactions of one terminal or one worker.

use crate::{Client, Refused};
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
    /// Left to a worker, or nothing that counts: the database has not been asked anything.
    Queued,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Drawn {
    /// Its place in [`Workload::kinds`](crate::Workload::kinds); 0 where there is but one.
    pub kind: usize,
    /// Pause before it is submitted, which is when its latency begins.
    pub keying: Duration,
    /// Pause after it, beside the run's own.
    pub think: Duration,
    /// When it is due, from the run's beginning; `None`: when the run's pacing has it.
    pub at: Option<Duration>,
    /// No transaction, but something else of the client's that has its time: it is not counted.
    pub aside: bool,
    /// When a terminal queued it: its latency began then.
    pub queued: Option<Instant>,
    /// Its number among those of its terminal, where the workload writes it into the database.
    pub number: u64,
    /// How much it writes, in a unit of the workload's own, where transactions differ in that and a condition counts it.
    pub units: u64,
}

pub type Attempt<'a> = Pin<Box<dyn Future<Output = Result<Ended, Refused>> + 'a>>;

/// One terminal's transactions, or one worker's.
pub trait Script: Send {
    /// Chooses the next transaction's inputs. `None` from a worker: nothing is queued; from a terminal: it has nothing
    /// more to do.
    fn draw(&mut self, rng: &mut Rng) -> Option<Drawn>;

    /// One attempt at the transaction last drawn, from begin to commit. After an error the caller rolls back and may
    /// call again: the inputs stay the same.
    fn attempt<'a>(&'a mut self, client: &'a mut Client) -> Attempt<'a>;

    /// The kind that the last attempt turned out to be, where the database itself has drawn it; none where [`Drawn::kind`]
    /// holds.
    fn kind(&self) -> Option<usize> {
        None
    }
}
