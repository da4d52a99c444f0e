//! What is observed beside the terminals of a run. Each instrument says what it asks before they begin, how it listens while
//! they work, and what it records after they have ended.

use measure::Noted;
use observe::Watch;
use protocol::events::{EventWriter, Halted, Step};
use protocol::{Event, Observe, RunResult};
use std::sync::Mutex;
use terminal::{Listeners, Sampler};
use transaction::Session;

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

/// Watches the engine's system calls.
pub struct Watching {
    watch: Watch,
    terminals: u32,
    noted: Mutex<Vec<Noted>>,
    committed: u64,
}

impl Watching {
    pub fn start(asked: &Observe, terminals: u32) -> Step<Watching> {
        let watch = Watch::start(asked).map_err(not_watched)?;
        Ok(Watching { watch, terminals, noted: Mutex::default(), committed: 0 })
    }
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
