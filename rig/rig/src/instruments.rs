//! What is observed beside the terminals of a run. Each instrument says what it asks before they begin, how it listens while
//! they work, and what it records after they have ended.

use crate::counting::Counter;
use crate::sessions::{IdleSessions, OneSessionEach};
use measure::Noted;
use observe::Watch;
use protocol::events::{EventWriter, Halted, Step};
use protocol::{Event, Job, RunPlan, RunResult, Setting};
use session::Database;
use std::sync::{Arc, Mutex};
use terminal::{Listeners, Sampler};
use transaction::{Lasts, Session};

pub trait Instrument {
    /// The session of a terminal, where the instrument has one of its own for it.
    fn open(&self, _terminal: u32) -> Option<Box<dyn Session>> {
        None
    }

    /// Asks the session that a terminal is about to use.
    fn session(&mut self, _session: &mut dyn Session) {}

    /// The terminals are about to begin.
    fn begin(&mut self, _events: &mut EventWriter) -> Step<()> {
        Ok(())
    }

    /// Joins those that listen while the terminals work.
    fn listen<'s>(&'s mut self, _listeners: &mut Listeners<'s>) {}

    /// The terminals have ended, with so many commits, and their sessions are still open.
    fn end(&mut self, _committed: u64) {}

    /// Adds to the run's result what belongs there. The terminals' sessions are closed.
    fn complete(&mut self, _result: &mut RunResult, _events: &mut EventWriter) -> Step<()> {
        Ok(())
    }

    /// What it recorded beside the result.
    fn record(self: Box<Self>) -> Step<Option<Event>> {
        Ok(None)
    }
}

/// The instruments that a job and its plan ask for. They begin in the reverse of this order.
pub fn open<'a>(
    job: &'a Job,
    plan: &RunPlan,
    database: &'a Arc<dyn Database>,
    lasts: Option<Lasts>,
    settings: &'a [Setting],
) -> Step<Vec<Box<dyn Instrument + 'a>>> {
    let mut instruments: Vec<Box<dyn Instrument>> = Vec::new();
    if let Some(asked) = &job.observe {
        // Before sessions open: what an engine tells the kernel about a file it mostly tells when it opens it.
        let watch = Watch::start(asked).map_err(not_watched)?;
        instruments.push(Box::new(Watching {
            watch,
            terminals: plan.terminals,
            noted: Mutex::default(),
            committed: 0,
        }));
    }
    if let Some(asked) = plan.idle_sessions() {
        instruments.push(Box::new(IdleSessions::open(database.as_ref(), asked)?));
    }
    if let Some(lasts) = lasts {
        instruments.push(Box::new(OneSessionEach::new(lasts, job, database, settings)));
    }
    if let Some(asked) = &job.count {
        instruments.push(Box::new(Counter::open(asked, database.as_ref(), lasts.is_none())));
    }
    if let Some(asked) = &job.sample {
        instruments.push(Box::new(Sampler::new(asked, database.open())));
    }
    Ok(instruments)
}

/// Watches the engine's system calls.
struct Watching {
    watch: Watch,
    terminals: u32,
    noted: Mutex<Vec<Noted>>,
    committed: u64,
}

impl Instrument for Watching {
    fn begin(&mut self, _: &mut EventWriter) -> Step<()> {
        self.watch.begin().map_err(not_watched)
    }

    fn listen<'s>(&'s mut self, listeners: &mut Listeners<'s>) {
        listeners.noted = Some(&self.noted);
    }

    fn end(&mut self, committed: u64) {
        self.committed = committed;
    }

    fn record(self: Box<Self>) -> Step<Option<Event>> {
        let noted = self.noted.into_inner().expect("no panic under this lock");
        let observed = self.watch.finish(self.terminals, self.committed, noted).map_err(not_watched)?;
        Ok(Some(Event::Observed(Box::new(observed))))
    }
}

fn not_watched(error: anyhow::Error) -> Halted {
    Halted::Failed { doing: "watching the engine's system calls".to_string(), message: format!("{error:#}") }
}

impl Instrument for Sampler {
    fn listen<'s>(&'s mut self, listeners: &mut Listeners<'s>) {
        listeners.sampler = Some(self);
    }

    fn record(self: Box<Self>) -> Step<Option<Event>> {
        Ok(Some(Event::Sampled(self.finish())))
    }
}
