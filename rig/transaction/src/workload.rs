//! A workload as those see it who load, run and check it.

use crate::{Acknowledged, Class, LoadContext, Outcome, Script, Session, SessionError};
use protocol::{Condition, Survey};

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
    fn load(&self, context: &LoadContext) -> Outcome<()>;

    /// What a workload has whose database can grow; none of others.
    fn growing(&self) -> Option<&dyn Growing> {
        None
    }

    /// The consistency conditions, each with the figures compared.
    fn check(&self, session: &mut dyn Session, acknowledged: &Acknowledged) -> Outcome<Vec<Condition>>;

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

/// A workload whose loaded database can be added to.
pub trait Growing {
    /// How many units of the workload's own size (warehouses) its database has.
    fn units(&self) -> u32;

    /// Loads the units after the first `from`, which must be there, all of them and no others. The rows are those of a load
    /// of all at once.
    fn add(&self, context: &LoadContext, from: u32) -> Outcome<()>;
}
