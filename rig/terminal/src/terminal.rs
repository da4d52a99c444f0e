//! One terminal: what is due when, its transactions with their retries, and what is recorded of each.

use crate::acknowledgements::Acknowledgements;
use crate::pacing::Course;
use crate::record::{Record, Tally};
use crate::series::{Collector, Happened, Part};
use crate::shared::{Shared, Stopped};
use measure::{monotonic_ns, Noted};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};
use transaction::{sleep_until, Client, Drawn, Ended, Outcome, Refused, Rng, Script, Session};

/// A terminal ready to start.
pub struct Ready {
    /// Among all terminals of the load, those of other rigs included; workers come after them.
    pub number: u32,
    pub session: Box<dyn Session>,
    pub script: Box<dyn Script>,
    /// Works off what terminals have queued, instead of submitting transactions of its own.
    pub worker: bool,
    /// The place of its class in the plan, 0 where there are none; means nothing of a worker.
    pub class: usize,
    /// Its place among the terminals of its class.
    pub rank: usize,
}

/// One transaction in so many has its processor time sampled.
const SAMPLE_EVERY: u64 = 64;
/// An arrival taken later than this was late.
const LATE_NS: u64 = 1_000_000;
/// A terminal that fails so often in a row without a commit will not succeed any more.
const HOPELESS: u64 = 100;

/// So many of a terminal's transactions are noted while system calls are watched; the calls of more are not kept either.
const NOTED_MAX: usize = 1 << 18;

/// How long a terminal that waits for a time of its script's own sleeps before it looks whether the run goes on.
const LOOK_NS: u64 = 1_000_000_000;

/// How long a worker that found nothing to do waits before it looks again.
const IDLE: Duration = Duration::from_millis(1);

/// Submits transactions, or works off what others have queued, on its own session.
pub struct Terminal<'a> {
    shared: &'a Shared<'a>,
    number: u32,
    /// What its session may wait for.
    pub socket: Option<RawFd>,
    client: Client,
    script: Box<dyn Script>,
    worker: bool,
    class: usize,
    rank: usize,
    kinds: usize,
    acknowledgements: Option<Acknowledgements<'a>>,
    rng: Rng,
    parts: Sender<Part>,
    collector: Collector,
    record: Record,
    /// Of the stage that it is in; earlier ones are in the books.
    tally: Tally,
    stage: usize,
    consecutive_errors: u64,
}

/// When a transaction was due and whether it belongs to the measurement for that.
struct Due {
    scheduled_ns: Option<u64>,
    ticket: bool,
}

/// How an arrival was taken, and how long after its time.
enum Taken {
    /// The terminal had waited for it: what it is late, the generator is.
    Free { after_ns: u64 },
    /// Every terminal was busy when it came.
    Busy { after_ns: u64 },
}

impl<'a> Terminal<'a> {
    pub fn new(
        shared: &'a Shared<'a>,
        kinds: usize,
        ready: Ready,
        rng: Rng,
        clock_read_ns: f64,
        parts: Sender<Part>,
    ) -> Terminal<'a> {
        Terminal {
            shared,
            number: ready.number,
            socket: ready.session.descriptor().map(|socket| socket.as_raw_fd()),
            client: Client::new(ready.session, shared.began, clock_read_ns, shared.noted.is_some()),
            script: ready.script,
            worker: ready.worker,
            class: if ready.worker { shared.classes.len() } else { ready.class },
            rank: ready.rank,
            kinds,
            acknowledgements: shared
                .acknowledgements
                .as_ref()
                .map(|file| Acknowledgements::new(file, ready.number as usize)),
            rng,
            parts,
            collector: Collector::new(),
            record: Record::default(),
            tally: Tally::new(kinds),
            stage: 0,
            consecutive_errors: 0,
        }
    }

    /// Goes on until the run's end. Brings back the session too where it is to stay open.
    pub async fn run(mut self) -> (Record, Option<Box<dyn Session>>) {
        if self.worker {
            self.work_off().await;
        } else {
            self.submit().await;
            self.shared.at_work.fetch_sub(1, Ordering::Relaxed);
        }
        if let Some(part) = self.collector.take() {
            self.hand_on(part);
        }
        self.record.sampled = self.client.sampled;
        self.shared.enter(self.class, self.stage, self.tally);
        if let Some(noted) = self.shared.noted {
            noted.lock().expect("no panic under this lock").append(&mut self.record.noted);
        }
        (self.record, self.shared.keeps_sessions.then(|| self.client.into_session()))
    }

    async fn submit(&mut self) {
        let think = self.shared.classes[self.class].think;
        let mut number = 0u64;
        while let Some(mut due) = self.next().await {
            let Some(drawn) = self.script.draw(&mut self.rng) else {
                self.give_back(&due);
                return;
            };
            if let Some(after) = drawn.at {
                due.scheduled_ns = Some(after.as_nanos() as u64);
                if !self.await_own_time(after.as_nanos() as u64, !drawn.aside).await {
                    self.give_back(&due);
                    return;
                }
            }
            if !self.pause(drawn.keying).await {
                self.give_back(&due);
                continue;
            }
            self.sampled_transaction(&due, drawn, number).await;
            number += 1;
            self.pause(think + drawn.think).await;
        }
    }

    /// Waits for the time that the script has for what it drew, and notes how it was taken where that `counts`. Answers
    /// whether the run still goes on.
    async fn await_own_time(&mut self, time_ns: u64, counts: bool) -> bool {
        let shared = self.shared;
        let free = shared.now_ns() < time_ns;
        loop {
            if shared.stop.load(Ordering::Relaxed) {
                return false;
            }
            let now_ns = shared.now_ns();
            if now_ns >= time_ns {
                break;
            }
            // A log may be silent for hours: what ends the run is noticed all the same.
            sleep_until(shared.at(time_ns.min(now_ns + LOOK_NS))).await;
        }
        if counts {
            let after_ns = shared.now_ns() - time_ns;
            self.took(time_ns, if free { Taken::Free { after_ns } } else { Taken::Busy { after_ns } });
        }
        true
    }

    fn took(&mut self, time_ns: u64, taken: Taken) {
        let tally = self.tally(time_ns);
        tally.arrivals.scheduled += 1;
        match taken {
            Taken::Free { after_ns } => tally.lateness.record(after_ns),
            Taken::Busy { after_ns } => tally.arrivals.late += u64::from(after_ns > LATE_NS),
        }
    }

    /// Works off what terminals have queued, until they have ended.
    async fn work_off(&mut self) {
        let shared = self.shared;
        let mut number = 0u64;
        while !shared.stop.load(Ordering::Relaxed)
            && shared.at_work.load(Ordering::Relaxed) > 0
            && shared.now_ns() < shared.end_ns()
        {
            match self.script.draw(&mut self.rng) {
                Some(drawn) => {
                    let ticket = shared.end_ns() == u64::MAX && shared.now_ns() >= shared.warmup_ns();
                    // Counted, but no transaction of a terminal: it takes none of a run's tickets.
                    let due = Due { scheduled_ns: None, ticket };
                    self.sampled_transaction(&due, drawn, number).await;
                    number += 1;
                }
                None => sleep_until(Instant::now() + IDLE).await,
            }
        }
    }

    /// Waits, but not past the end; answers whether the end has not come.
    async fn pause(&self, length: Duration) -> bool {
        let shared = self.shared;
        if !length.is_zero() {
            let until_ns = shared.now_ns().saturating_add(length.as_nanos() as u64);
            sleep_until(shared.at(until_ns.min(shared.end_ns()))).await;
            return shared.now_ns() < shared.end_ns() && !shared.stop.load(Ordering::Relaxed);
        }
        true
    }

    async fn sampled_transaction(&mut self, due: &Due, drawn: Drawn, number: u64) {
        if number.is_multiple_of(SAMPLE_EVERY) && self.shared.now_ns() >= self.shared.warmup_ns() {
            self.client.begin_sample();
        }
        self.transaction(due, drawn).await;
        self.client.end_sample();
        if let Err(error) = self.client.ended() {
            self.shared.stop(Stopped(error.message));
        }
    }

    /// Waits for the next transaction to be due; `None` when there is none any more.
    async fn next(&mut self) -> Option<Due> {
        let shared = self.shared;
        if shared.stop.load(Ordering::Relaxed) {
            return None;
        }
        let mut taken = None;
        let pace = &shared.classes[self.class];
        let scheduled_ns = match &pace.schedule {
            None => {
                if let Some(course) = &pace.at_work {
                    self.await_turn(course).await?;
                }
                None
            }
            Some(schedule) => {
                let time_ns = schedule.lock().expect("no panic under this lock").take();
                if time_ns >= shared.end_ns() {
                    return None;
                }
                taken = Some(self.await_arrival(time_ns).await?);
                Some(time_ns)
            }
        };
        let now_ns = shared.now_ns();
        if scheduled_ns.is_none() && now_ns >= shared.end_ns() {
            return None;
        }
        let ticket = shared.end_ns() == u64::MAX && now_ns >= shared.warmup_ns();
        if ticket && shared.tickets.fetch_sub(1, Ordering::Relaxed) <= 0 {
            shared.tickets.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        if let (Some(time_ns), Some(taken)) = (scheduled_ns, taken) {
            // A run by count measures the transactions that have a ticket, whenever they were due.
            let measured = if shared.end_ns() == u64::MAX { ticket } else { time_ns >= shared.warmup_ns() };
            if measured {
                self.took(time_ns, taken);
            }
        }
        Some(Due { scheduled_ns, ticket })
    }

    /// Pauses until the course has this terminal at work; `None` when it never has it again.
    async fn await_turn(&self, course: &Course) -> Option<()> {
        let shared = self.shared;
        loop {
            let now_ns = shared.now_ns();
            let turn_ns = course.turn(self.rank, now_ns).filter(|turn_ns| *turn_ns < shared.end_ns())?;
            if turn_ns <= now_ns {
                return Some(());
            }
            sleep_until(shared.at(turn_ns)).await;
            if shared.stop.load(Ordering::Relaxed) {
                return None;
            }
        }
    }

    /// What is counted at this moment.
    fn tally(&mut self, at_ns: u64) -> &mut Tally {
        let stage = self.shared.stage_of(at_ns);
        if stage != self.stage {
            let full = std::mem::replace(&mut self.tally, Tally::new(self.kinds));
            self.shared.enter(self.class, std::mem::replace(&mut self.stage, stage), full);
        }
        &mut self.tally
    }

    /// That of a transaction: open loop counts it where it was due.
    fn tally_of(&mut self, due: &Due, ended_ns: u64) -> &mut Tally {
        self.tally(due.scheduled_ns.unwrap_or(ended_ns))
    }

    /// Sleeps until an arrival is due; answers how it was taken, `None` if only after the end: it is unfinished.
    async fn await_arrival(&mut self, time_ns: u64) -> Option<Taken> {
        let shared = self.shared;
        let now_ns = shared.now_ns();
        if now_ns < time_ns {
            sleep_until(shared.at(time_ns)).await;
            if time_ns >= shared.end_ns() {
                return None; // the end has come nearer meanwhile
            }
            return Some(Taken::Free { after_ns: shared.now_ns().saturating_sub(time_ns) });
        }
        if now_ns >= shared.end_ns() {
            self.leave_unfinished(time_ns);
            return None;
        }
        Some(Taken::Busy { after_ns: now_ns - time_ns })
    }

    /// This arrival, and every further one of the schedule before the end, was never started.
    fn leave_unfinished(&mut self, first_ns: u64) {
        let shared = self.shared;
        let mut time_ns = first_ns;
        loop {
            if time_ns >= shared.warmup_ns() {
                let waited_ms = (shared.end_ns() - time_ns) as f64 / 1e6;
                let arrivals = &mut self.tally(time_ns).arrivals;
                arrivals.scheduled += 1;
                arrivals.unfinished += 1;
                arrivals.unfinished_wait_ms_max = arrivals.unfinished_wait_ms_max.max(waited_ms);
            }
            let Some(schedule) = &shared.classes[self.class].schedule else { return };
            time_ns = schedule.lock().expect("no panic under this lock").take();
            if time_ns >= shared.end_ns() {
                return;
            }
        }
    }

    async fn transaction(&mut self, due: &Due, drawn: Drawn) {
        let shared = self.shared;
        let started_ns = shared.now_ns();
        let noting_ns = shared.noted.map(|_| monotonic_ns());
        let mut tries_left = shared.plan.retries;
        loop {
            let began_ns = self.acknowledgements.as_ref().map(|_| monotonic_ns());
            let outcome = self.script.attempt(&mut self.client).await;
            let ended_ns = shared.now_ns();
            let drawn = Drawn { kind: self.script.kind().unwrap_or(drawn.kind), ..drawn };
            match outcome {
                Ok(Ended::Committed) => {
                    if let (Some(acknowledgements), Some(began_ns)) = (&mut self.acknowledgements, began_ns) {
                        if let Err(error) = acknowledgements.write(drawn.kind, drawn.number, began_ns) {
                            shared.stop(Stopped(format!("writing acknowledgements: {error}")));
                        }
                    }
                    self.committed(due, &drawn, started_ns, ended_ns, noting_ns);
                    return;
                }
                Ok(Ended::RolledBack) => {
                    self.consecutive_errors = 0;
                    if self.belongs(due, ended_ns) {
                        self.record.last_end_ns = ended_ns;
                        let tally = self.tally_of(due, ended_ns);
                        tally.counts.rolled_back += 1;
                        if let Some(kind) = tally.kinds.get_mut(drawn.kind) {
                            kind.rolled_back += 1;
                        }
                    }
                    self.give_back(due);
                    return;
                }
                Ok(Ended::Queued) => {
                    self.give_back(due);
                    return;
                }
                Err(refused) => {
                    let rolled_back = self.client.rollback().await;
                    let again = self.refused(due, &drawn, &refused, rolled_back, tries_left > 0);
                    if !again {
                        self.give_back(due);
                        return;
                    }
                    tries_left -= 1;
                }
            }
        }
    }

    fn committed(&mut self, due: &Due, drawn: &Drawn, started_ns: u64, ended_ns: u64, noting_ns: Option<u64>) {
        let shared = self.shared;
        self.consecutive_errors = 0;
        if let Some(begin_ns) = noting_ns.filter(|_| self.record.noted.len() < NOTED_MAX) {
            let (tid, commit_ns) = (rustix::thread::gettid().as_raw_pid() as u32, self.client.commit_ns.take());
            let end_ns = monotonic_ns();
            self.record.noted.push(Noted { tid, terminal: self.number, begin_ns, commit_ns, end_ns });
        }
        self.record.acknowledged.commit(drawn.kind, drawn.units);
        shared.committed.fetch_add(1, Ordering::Relaxed);
        let queued_ns = drawn.queued.map(|at| (at - shared.began).as_nanos() as u64);
        let latency_ns = ended_ns - due.scheduled_ns.or(queued_ns).unwrap_or(started_ns);
        if self.belongs(due, ended_ns) {
            self.record.last_end_ns = ended_ns;
            let tally = self.tally_of(due, ended_ns);
            tally.counts.committed += 1;
            tally.latency.record(latency_ns);
            tally.service.record(ended_ns - started_ns);
            if let Some(kind) = tally.kinds.get_mut(drawn.kind) {
                kind.committed += 1;
                kind.latency.record(latency_ns);
            }
        }
        self.note(ended_ns, &Happened::Committed { latency_ns });
    }

    /// Books a refusal; answers whether the transaction is to be tried again.
    fn refused(
        &mut self,
        due: &Due,
        drawn: &Drawn,
        refused: &Refused,
        rolled_back: Outcome<()>,
        may_retry: bool,
    ) -> bool {
        let shared = self.shared;
        let ended_ns = shared.now_ns();
        let class = refused.error.class;
        let conflict = class.is_conflict();
        if refused.at_commit && !conflict {
            self.record.acknowledged.doubt(drawn.units);
        }
        let stopping = shared.stop.load(Ordering::Relaxed);
        let past_end = ended_ns >= shared.end_ns() && due.scheduled_ns.is_none();
        let again = conflict && may_retry && !stopping && !past_end;
        if self.belongs(due, ended_ns) {
            let tally = self.tally_of(due, ended_ns);
            *tally.classes.entry(class).or_default() += 1;
            let counts = &mut tally.counts;
            if conflict {
                counts.conflicts += 1;
                counts.retries += u64::from(again);
                counts.given_up += u64::from(!again);
            } else {
                counts.errors += 1;
            }
            if let Some(of_kind) = tally.kinds.get_mut(drawn.kind) {
                of_kind.conflicts += u64::from(conflict);
                of_kind.given_up += u64::from(conflict && !again);
                of_kind.errors += u64::from(!conflict);
            }
            self.record.last_end_ns = ended_ns;
        }
        self.record.samples.entry(class).or_insert_with(|| refused.error.message.clone());
        self.note(ended_ns, if conflict { &Happened::Conflict } else { &Happened::Error });
        self.consecutive_errors += 1;
        if class.is_final() || (!conflict && self.consecutive_errors >= HOPELESS) {
            shared.stop(Stopped(refused.error.message.clone()));
        } else if let Err(error) = rolled_back {
            shared.stop(Stopped(format!("rolling back: {}", error.message)));
        }
        again
    }

    fn belongs(&self, due: &Due, ended_ns: u64) -> bool {
        match due.scheduled_ns {
            Some(time_ns) if self.shared.end_ns() != u64::MAX => time_ns >= self.shared.warmup_ns(),
            _ if self.shared.end_ns() == u64::MAX => due.ticket,
            _ => ended_ns >= self.shared.warmup_ns(),
        }
    }

    /// A ticket that did not become a commit goes back, so that the run ends with the number asked for.
    fn give_back(&self, due: &Due) {
        if due.ticket && !self.worker {
            self.shared.tickets.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn note(&mut self, at_ns: u64, what: &Happened) {
        if let Some(part) = self.collector.note(at_ns as i64 - self.shared.origin_ns as i64, what) {
            self.hand_on(part);
        }
    }

    fn hand_on(&self, part: Part) {
        // The receiver lives until every terminal has ended.
        self.parts.send(part).ok();
    }
}
