//! A workload as those see it who load, run and check it.

use crate::{Acknowledged, AtWork, Class, Lasts, LoadContext, Open, Outcome, Script, Session, SessionError};
use protocol::{Condition, Maintained, Replayed, Survey, TerminalClass};

/// A kind of transaction, as results name it.
#[derive(Debug, Clone, Copy)]
pub struct KindSpec {
    pub name: &'static str,
    /// Nine of ten must be answered in this time.
    pub limit_ms: Option<f64>,
}

impl KindSpec {
    pub const fn without_limits<const N: usize>(names: [&'static str; N]) -> [KindSpec; N] {
        let mut kinds = [KindSpec { name: "", limit_ms: None }; N];
        let mut at = 0;
        while at < N {
            kinds[at].name = names[at];
            at += 1;
        }
        kinds
    }
}

/// Which terminal of which run a script is for; `run` counts the runs of this process from 0. Workers are counted apart
/// from terminals, each from 0.
#[derive(Debug, Clone, Copy)]
pub struct Seat<'a> {
    pub run: u64,
    pub terminal: u64,
    pub terminals: u64,
    pub worker: bool,
    /// None of a worker, and where all terminals are alike.
    pub class: Option<&'a TerminalClass>,
}

pub trait Workload: Sync {
    /// Creates the schema and fills it. The rows do not depend on how many sessions fill it.
    fn load(&self, context: &LoadContext) -> Outcome<()>;

    /// What a workload has whose database can grow; none of others.
    fn growing(&self) -> Option<&dyn Growing> {
        None
    }

    /// What its load and its check are at, of a workload whose statements are not ours.
    fn at_work(&self) -> Option<&AtWork> {
        None
    }

    /// The consistency conditions, each with the figures compared.
    fn check(&self, session: &mut dyn Session, acknowledged: &Acknowledged) -> Outcome<Vec<Condition>>;

    /// Kinds of transactions; none when there is but one.
    fn kinds(&self) -> &'static [KindSpec] {
        &[]
    }

    /// What in a class of terminals this workload cannot follow: a kind in its mix or a parameter that it does not know.
    fn class_flaw(&self, class: &TerminalClass) -> Option<String> {
        let unknown = class.mix.keys().chain(class.parameters.keys()).next();
        unknown.map(|name| format!("{name} of class {}: the workload does not have that", class.name))
    }

    /// Sessions beside the terminals' that work off what those queue.
    fn workers(&self, _terminals: u32) -> u32 {
        0
    }

    /// How long sessions last in a run that leaves it to the workload.
    fn sessions_last(&self) -> Lasts {
        Lasts::AsTold
    }

    /// What is there of each numbered transaction.
    fn survey(&self, _session: &mut dyn Session) -> Outcome<Survey> {
        let message = "the transactions of this workload carry no number".to_string();
        Err(SessionError { class: Class::Other, message })
    }

    /// What a run needs to be there, made before its sessions are open and not measured.
    fn set_up(&self, _open: Open) -> Outcome<()> {
        Ok(())
    }

    /// What the runs so far have done as an administrator does, the last of which has just ended; none of a workload that
    /// submits transactions.
    fn maintained(&self, _open: Open) -> Outcome<Option<Maintained>> {
        Ok(None)
    }

    /// What the run that has just ended came to beside its transactions; none of a workload that replays no log.
    fn replayed(&self) -> Option<Replayed> {
        None
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
