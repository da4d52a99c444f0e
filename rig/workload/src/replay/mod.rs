//! A log of an engine, replayed: its sessions, its transactions and their times, over a database of the user's own.
//!
//! The lab has read the log, whatever its format, and has written what can be replayed into a file (`log.rs`). Each terminal
//! is one lane of that: sessions of the log, one after another (`player.rs`).

mod log;
mod player;
mod totals;

use crate::kind::Kind;
use crate::own::{Base, Message as Database};
use log::Log;
use protocol::{Condition, Replayed};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use totals::Totals;
use transaction::{failed, Acknowledged, AtWork, Class, LoadContext, Open, Outcome, Script, Seat, Session, Workload};

pub const NAME: &str = "replay";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replay {
    /// What the database is before the first statement. It has no transactions.
    pub database: Database,
    /// The file that the lab has made of the log.
    events: String,
    /// The rig's dialect of the engine that wrote the log.
    dialect: String,
    /// Each statement at its time; otherwise each as soon as the one before it was answered.
    paced: bool,
    /// How much faster than it was.
    speed: f64,
}

impl Kind for Replay {
    const NAME: &'static str = NAME;

    fn flaw(&self) -> Option<String> {
        if !(self.speed > 0.0 && self.speed.is_finite()) {
            return Some("speed must be above 0".to_string());
        }
        Base::read(&self.database, 0).1.into_iter().next()
    }

    fn samples() -> Vec<Replay> {
        let sample = |database: Database| Replay {
            database: Database { transactions: Vec::new(), ..database },
            events: "/data/replay/0f.jsonl".into(),
            dialect: "postgres".into(),
            paced: true,
            speed: 2.5,
        };
        Database::samples().into_iter().map(sample).collect()
    }

    fn workload(self, seed: u64) -> Box<dyn Workload> {
        Box::new(Read {
            base: Base::read(&self.database, seed).0,
            replay: self,
            log: Mutex::new(None),
            totals: Arc::default(),
        })
    }
}

struct Read {
    base: Base,
    replay: Replay,
    /// Read before the first run.
    log: Mutex<Option<Arc<Log>>>,
    totals: Arc<Mutex<Totals>>,
}

impl Read {
    fn log(&self) -> Outcome<Arc<Log>> {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(log) = &*log {
            return Ok(Arc::clone(log));
        }
        let path = &self.replay.events;
        let read = Log::read(Path::new(path)).map_err(|error| {
            failed(Class::Other, format!("what was made of the log cannot be read: {path}: {error}"))
        })?;
        Ok(Arc::clone(log.insert(Arc::new(read))))
    }
}

impl Workload for Read {
    fn load(&self, context: &LoadContext) -> Outcome<()> {
        self.base.load(context)
    }

    fn at_work(&self) -> Option<&AtWork> {
        Some(&self.base.at_work)
    }

    fn check(&self, session: &mut dyn Session, _: &Acknowledged) -> Outcome<Vec<Condition>> {
        self.base.check(session)
    }

    fn set_up(&self, _: Open) -> Outcome<()> {
        *self.totals.lock().unwrap_or_else(PoisonError::into_inner) = Totals::default();
        self.log().map(|_| ())
    }

    fn replayed(&self) -> Option<Replayed> {
        Some(self.totals.lock().unwrap_or_else(PoisonError::into_inner).to_protocol())
    }

    fn script(&self, session: &mut dyn Session, seat: Seat) -> Outcome<Box<dyn Script>> {
        let Replay { dialect, paced, speed, .. } = &self.replay;
        let here = session.dialect();
        if here.name != dialect {
            let message = format!("a log of {dialect} cannot be replayed on {}", here.engine);
            return Err(failed(Class::Other, message));
        }
        let log = self.log()?;
        let lane = usize::try_from(seat.terminal).ok().filter(|lane| *lane < log.lanes());
        let lane = lane.ok_or_else(|| {
            let message = format!("terminal {} has no session of the log: it has {}", seat.terminal, log.lanes());
            failed(Class::Other, message)
        })?;
        Ok(Box::new(player::Player::new(log, lane, paced.then_some(*speed), Arc::clone(&self.totals))))
    }
}
