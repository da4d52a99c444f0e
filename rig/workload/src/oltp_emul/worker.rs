//! One session of the kit: it has the database choose an operation, does it, and goes on.

use super::filling::failure;
use super::kit::asked;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::Arc;
use std::time::Instant;
use transaction::{
    failed, Attempt, Class, Client, Drawn, Ended, KindSpec, Outcome, Refused, Rng, Script, Session, SessionError,
    Statement, Value,
};

/// When the first of a run's terminals began: from there on the kit's measurement is as far away as ours.
pub struct Start {
    made: Instant,
    at_ms: AtomicI64,
}

const NEVER: i64 = -1;

impl Default for Start {
    fn default() -> Start {
        Start { made: Instant::now(), at_ms: AtomicI64::new(NEVER) }
    }
}

impl Start {
    pub fn forget(&self) {
        self.at_ms.store(NEVER, Ordering::SeqCst);
    }

    /// Milliseconds since then; 0 to the first who asks.
    fn since_ms(&self) -> i64 {
        let now = self.made.elapsed().as_millis() as i64;
        match self.at_ms.compare_exchange(NEVER, now, Ordering::SeqCst, Ordering::SeqCst) {
            Ok(_) => 0,
            Err(began) => now - began,
        }
    }
}

/// Has a session begin the kit's measurement with ours: once, before its first operation.
pub struct Watch {
    moved: Statement,
    start: Arc<Start>,
    warmup_ms: u32,
    watching: bool,
}

impl Watch {
    /// `start` is shared by all terminals of a run.
    pub fn prepare(session: &mut dyn Session, start: Arc<Start>, warmup_ms: u32) -> Outcome<Watch> {
        let moved = session.prepare(&asked(session, "move-watch")?)?;
        // Without a warm-up the measurement begins before the sessions, of which none is at work yet.
        Ok(Watch { moved, start, warmup_ms, watching: warmup_ms == 0 })
    }

    pub async fn keep(&mut self, client: &mut Client) -> Outcome<()> {
        if !self.watching {
            let since = self.start.since_ms();
            let away = i64::from(self.warmup_ms) - since;
            client.alone(self.moved, &[Value::Int(i64::from(since == 0)), Value::Int(away)], |_| {}).await?;
            self.watching = true;
        }
        Ok(())
    }
}

/// Our session: what it asks of the kit is prepared once, and it asks for nothing that would only be printed.
pub struct Worker {
    choose: Statement,
    repeat: Statement,
    clear: Statement,
    work: Statement,
    estimate: Statement,
    forget: Statement,
    watch: Watch,
    conflicts: [Value; 1],
    kinds: &'static [KindSpec],
    kind: Option<usize>,
    unit: String,
    /// The operation is to be chosen; else the last one is tried again.
    fresh: bool,
}

impl Worker {
    /// `conflicts`: in so many of 100 operations it takes another session's documents.
    pub fn prepare(
        session: &mut dyn Session,
        conflicts: u32,
        kinds: &'static [KindSpec],
        watch: Watch,
    ) -> Outcome<Worker> {
        let mut prepare = |name: &str| {
            let sql = asked(session, name)?;
            session.prepare(&sql)
        };
        Ok(Worker {
            choose: prepare("choose")?,
            repeat: prepare("repeat")?,
            clear: prepare("clear")?,
            work: prepare("do")?,
            estimate: prepare("estimate")?,
            forget: prepare("forget")?,
            watch,
            conflicts: [Value::Int(conflicts.into())],
            kinds,
            kind: None,
            unit: String::new(),
            fresh: true,
        })
    }

    /// Has the database choose an operation.
    async fn choose(&mut self, client: &mut Client) -> Outcome<()> {
        (self.kind, self.unit) = (None, String::new());
        let (unit, mut chosen) = (&mut self.unit, false);
        client
            .run(self.choose, &self.conflicts, |row| {
                chosen = true;
                *unit = row.first().cloned().and_then(Value::into_text).unwrap_or_default();
            })
            .await?;
        if !chosen {
            return Err(halted());
        }
        self.fresh = false;
        Ok(())
    }

    async fn once(&mut self, client: &mut Client) -> Result<Ended, Refused> {
        self.watch.keep(client).await?;
        client.begin().await?;
        if self.fresh {
            self.choose(client).await?;
        } else {
            client.execute(self.repeat, &[Value::Text(self.unit.clone())]).await?;
        }
        self.kind = self.kinds.iter().position(|kind| kind.name == self.unit);
        if self.kind.is_none() {
            return Err(unknown(&self.unit).into());
        }
        client.execute(self.clear, &[]).await?;
        let mut refused = None;
        client.run(self.work, &[], |row| refused = failure(row)).await?;
        client.run(self.estimate, &[], |_| {}).await?;
        client.execute(self.forget, &[]).await?;
        // Also after a failure, as the kit does: what the operation did is undone, and without auto undo a transaction that is
        // rolled back would stay in the way of garbage collection.
        let ended = crate::common::commit(client).await?;
        match refused {
            None => Ok(ended),
            Some((BY_THE_KIT, _)) => Ok(Ended::RolledBack),
            Some((code, name)) => Err(failed(class(code), format!("{}: {name} ({code})", self.unit)).into()),
        }
    }
}

/// An exception of the kit's own: isc_except. It had no document to work on, or may not do what was asked.
pub const BY_THE_KIT: i64 = 335_544_517;

/// Codes as the kit's reports sort them; see Firebird's iberror.h.
pub fn class(code: i64) -> Class {
    match code {
        335_544_345 => Class::LockConflict,
        335_544_336 => Class::Deadlock,
        335_544_451 | 335_544_878 => Class::UpdateConflict,
        335_544_347 | 335_544_349 | 335_544_466 | 335_544_558 | 335_544_665 | 335_544_838 | 335_544_839 => {
            Class::Constraint
        }
        _ => Class::Other,
    }
}

/// As a lost connection: nothing further on this database can succeed.
pub fn halted() -> SessionError {
    let message = "the kit has halted its test: its table perf_log says why, in the row sp_halt_on_error";
    failed(Class::Connection, message.to_string())
}

pub fn unknown(unit: &str) -> SessionError {
    failed(Class::Other, format!("the kit chose the operation \"{unit}\", which is none of its own"))
}

impl Script for Worker {
    /// The database draws what it is.
    fn draw(&mut self, _: &mut Rng) -> Option<Drawn> {
        self.fresh = true;
        Some(Drawn::default())
    }

    fn attempt<'a>(&'a mut self, client: &'a mut Client) -> Attempt<'a> {
        Box::pin(self.once(client))
    }

    fn kind(&self) -> Option<usize> {
        self.kind
    }
}
