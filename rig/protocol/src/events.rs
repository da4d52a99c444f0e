//! Events on their way to the lab, and how a job ends.

use crate::Event;
use std::io::{self, Write};

/// Why a job could not go on.
pub enum Halted {
    /// What was being done, and the engine's or the system's own words.
    Failed { doing: String, message: String },
    /// Nobody reads our events any more.
    Unheard(io::Error),
}

pub type Step<T> = Result<T, Halted>;

/// Does `work` and says how it ended, by its last event. Answers whether it ended well; an error means that nobody listens.
pub fn conclude(out: &mut dyn Write, work: impl FnOnce(&mut EventWriter) -> Step<()>) -> io::Result<bool> {
    let mut events = EventWriter(out);
    let (last, well) = match work(&mut events) {
        Ok(()) => (Event::Done {}, true),
        Err(Halted::Failed { doing, message }) => (Event::Failed { doing, message }, false),
        Err(Halted::Unheard(error)) => return Err(error),
    };
    match events.write(&last) {
        Err(Halted::Unheard(error)) => Err(error),
        _ => Ok(well),
    }
}

/// Writes events, each line whole and at once.
pub struct EventWriter<'a>(&'a mut dyn Write);

impl EventWriter<'_> {
    pub fn write(&mut self, event: &Event) -> Step<()> {
        let mut line = serde_json::to_vec(event).expect("events are plain data");
        line.push(b'\n');
        self.0.write_all(&line).and_then(|()| self.0.flush()).map_err(Halted::Unheard)
    }
}
