//! One session of the kit: it has the database choose an operation, does it, and goes on.

use super::asked;
use super::filling::failure;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::Arc;
use std::time::Instant;
use transaction::{
    failed, Attempt, Class, Client, Drawn, Ended, KindSpec, Outcome, Refused, Rng, Script, Session, Statement, Value,
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

pub struct Worker {
    choose: Statement,
    repeat: Statement,
    clear: Statement,
    work: Statement,
    estimate: Statement,
    forget: Statement,
    watch: Statement,
    conflicts: [Value; 1],
    kinds: &'static [KindSpec],
    kind: Option<usize>,
    unit: String,
    /// The operation is to be chosen; else the last one is tried again.
    fresh: bool,
    start: (Arc<Start>, u32),
    watching: bool,
}

impl Worker {
    /// `conflicts`: in so many of 100 operations it takes another session's documents. `start` is shared by all, with the
    /// warm-up in milliseconds.
    pub fn prepare(
        session: &mut dyn Session,
        conflicts: u32,
        kinds: &'static [KindSpec],
        start: (Arc<Start>, u32),
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
            watch: prepare("move-watch")?,
            conflicts: [Value::Int(conflicts.into())],
            kinds,
            kind: None,
            unit: String::new(),
            fresh: true,
            // Without a warm-up the measurement begins before the sessions, of which none is at work yet.
            watching: start.1 == 0,
            start,
        })
    }

    /// Has the database choose an operation.
    async fn choose(&mut self, client: &mut Client) -> Outcome<()> {
        (self.kind, self.unit) = (None, String::new());
        let (unit, mut chosen) = (&mut self.unit, false);
        client
            .query(self.choose, &self.conflicts, |row| {
                chosen = true;
                *unit = row.first().cloned().and_then(Value::into_text).unwrap_or_default();
            })
            .await?;
        if !chosen {
            // As a lost connection: nothing further on this database can succeed.
            let message = "the kit has halted its test: its table perf_log says why, in the row sp_halt_on_error";
            return Err(failed(Class::Connection, message.to_string()));
        }
        self.fresh = false;
        Ok(())
    }

    async fn once(&mut self, client: &mut Client) -> Result<Ended, Refused> {
        if !self.watching {
            let since = self.start.0.since_ms();
            let away = i64::from(self.start.1) - since;
            client.alone(self.watch, &[Value::Int(i64::from(since == 0)), Value::Int(away)], |_| {}).await?;
            self.watching = true;
        }
        client.begin().await?;
        if self.fresh {
            self.choose(client).await?;
        } else {
            client.execute(self.repeat, &[Value::Text(self.unit.clone())]).await?;
        }
        self.kind = self.kinds.iter().position(|kind| kind.name == self.unit);
        if self.kind.is_none() {
            let message = format!("the kit chose the operation \"{}\", which is none of its own", self.unit);
            return Err(failed(Class::Other, message).into());
        }
        client.execute(self.clear, &[]).await?;
        let mut refused = None;
        client.query(self.work, &[], |row| refused = failure(row)).await?;
        client.query(self.estimate, &[], |_| {}).await?;
        client.execute(self.forget, &[]).await?;
        // Also after a failure, as the kit does: what the operation did is undone, and without auto undo a transaction that is
        // rolled back would stay in the way of garbage collection.
        let ended = crate::commit(client).await?;
        match refused {
            None => Ok(ended),
            Some((BY_THE_KIT, _)) => Ok(Ended::RolledBack),
            Some((code, name)) => Err(failed(class(code), format!("{}: {name} ({code})", self.unit)).into()),
        }
    }
}

/// An exception of the kit's own: isc_except. It had no document to work on, or may not do what was asked.
const BY_THE_KIT: i64 = 335_544_517;

/// Codes as the kit's reports sort them; see Firebird's iberror.h.
fn class(code: i64) -> Class {
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
