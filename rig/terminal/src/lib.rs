//! Terminals submit transactions, each on a session of its own; here is how they are driven and what they measure.
//!
//! An embedded engine works inside the calling thread, so each of its terminals has one. Terminals of a server are futures
//! that share a few threads (see [`drive`]): what a client costs is mostly the switching between threads.
//!
//! What belongs to the measurement:
//! - closed loop by duration: every transaction that ends after the warm-up. Terminals start none after the planned end;
//!   the measurement lasts until the last one in flight has ended, so that a stall at the end is not hidden.
//! - open loop: every arrival whose scheduled time lies inside the measurement, whenever it is served. Those that no
//!   terminal could start before the planned end are counted as unfinished.
//! - by count: after the warm-up, exactly that many commits.

mod acknowledgements;
mod drive;
mod pacing;
mod series;

use acknowledgements::Acknowledgements;
use drive::Task;
use measure::{clock_read_ns, monotonic_ns, process_s, Latencies, Noted};
use pacing::Schedule;
use protocol::{
    ArrivalCounts, ClassCount, Counts, Cpu, ErrorSample, Extent, Kind, Pacing, PhaseName, RunPlan, RunResult,
};
use rand::SeedableRng;
use series::{Collector, Happened, Part, Series};
use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::{AsRawFd, RawFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Barrier, Mutex};
use std::time::{Duration, Instant};
use transaction::{
    sleep_until, Acknowledged, Class, Client, Drawn, Ended, KindSpec, Outcome, Refused, Rng, Sampled, Script, Session,
};

/// One transaction in so many has its processor time sampled.
const SAMPLE_EVERY: u64 = 64;
/// An arrival taken later than this was late.
const LATE_NS: u64 = 1_000_000;
/// A terminal that fails so often in a row without a commit will not succeed any more.
const HOPELESS: u64 = 100;

/// So many of a terminal's transactions are noted while system calls are watched; the calls of more are not kept either.
const NOTED_MAX: usize = 1 << 18;

const NEWS_EVERY_NS: u64 = 1_000_000_000;
/// News sooner than this after the last do not make the rate of a moment.
const NEWS_NS_MIN: u64 = 100_000_000;

/// How long a worker that found nothing to do waits before it looks again.
const IDLE: Duration = Duration::from_millis(1);

/// A terminal ready to start.
pub struct Ready {
    pub session: Box<dyn Session>,
    pub script: Box<dyn Script>,
    /// Works off what terminals have queued, instead of submitting transactions of its own.
    pub worker: bool,
}

/// News of a run, for people.
pub struct News {
    pub phase: PhaseName,
    pub fraction: Option<f64>,
    pub elapsed_s: f64,
    pub committed: u64,
    pub rate_per_s: f64,
}

/// Why a run could not go on.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct Stopped(pub String);

/// What all terminals of a run share. Nothing here is locked on the path of a closed loop.
struct Shared<'a> {
    plan: &'a RunPlan,
    began: Instant,
    warmup_ns: u64,
    /// When no further transaction starts; `u64::MAX` for a run by count.
    end_ns: u64,
    tickets: AtomicI64,
    schedule: Option<Mutex<Schedule>>,
    acknowledgements: Option<File>,
    committed: AtomicU64,
    /// Terminals that have not ended; workers end when there is none.
    at_work: AtomicU64,
    stop: AtomicBool,
    stopped: Mutex<Option<Stopped>>,
    /// Where transactions are noted while system calls are watched.
    noted: Option<&'a Mutex<Vec<Noted>>>,
}

impl Shared<'_> {
    fn now_ns(&self) -> u64 {
        self.began.elapsed().as_nanos() as u64
    }

    fn at(&self, time_ns: u64) -> Instant {
        self.began + Duration::from_nanos(time_ns)
    }

    fn stop(&self, why: Stopped) {
        self.stop.store(true, Ordering::Relaxed);
        self.stopped.lock().expect("no panic under this lock").get_or_insert(why);
    }
}

/// What one terminal brings back.
struct Record {
    counts: Counts,
    classes: BTreeMap<Class, u64>,
    samples: BTreeMap<Class, String>,
    latency: Latencies,
    service: Latencies,
    kinds: Vec<OfKind>,
    arrivals: ArrivalCounts,
    acknowledged: Acknowledged,
    sampled: Sampled,
    noted: Vec<Noted>,
    last_end_ns: u64,
}

/// What one kind of transaction came to.
struct OfKind {
    committed: u64,
    rolled_back: u64,
    conflicts: u64,
    given_up: u64,
    errors: u64,
    latency: Latencies,
}

impl OfKind {
    fn new() -> OfKind {
        OfKind { committed: 0, rolled_back: 0, conflicts: 0, given_up: 0, errors: 0, latency: Latencies::new() }
    }

    fn add(&mut self, other: &OfKind) {
        self.committed += other.committed;
        self.rolled_back += other.rolled_back;
        self.conflicts += other.conflicts;
        self.given_up += other.given_up;
        self.errors += other.errors;
        self.latency.add(&other.latency);
    }

    fn to_protocol(&self, spec: &KindSpec) -> Kind {
        Kind {
            name: spec.name.to_string(),
            committed: self.committed,
            rolled_back: self.rolled_back,
            conflicts: self.conflicts,
            given_up: self.given_up,
            errors: self.errors,
            latency: self.latency.to_protocol(),
            limit_ms: spec.limit_ms,
        }
    }
}

/// How many threads drive the terminals. One each where a call keeps its thread busy or waiting until it is answered.
fn threads(plan: &RunPlan, terminals: &[Ready]) -> usize {
    if terminals.iter().any(|ready| ready.session.descriptor().is_none()) {
        return terminals.len();
    }
    let wanted = plan.threads.map_or_else(default_threads, |threads| threads as usize);
    wanted.min(plan.terminals as usize)
}

/// Half of the processors: the server, which does the greater part of the work, may well have the same ones.
fn default_threads() -> usize {
    std::thread::available_parallelism().map_or(1, |many| many.get().div_ceil(2))
}

/// Runs `plan` over the terminals. `news` is called from the calling thread about once a second, and when the measurement
/// begins and, by its duration, ends: then its fraction is 1 for the first time.
///
/// Answers the result and what the engine acknowledged, warm-up included.
pub fn run(
    plan: &RunPlan,
    seed: u64,
    kinds: &[KindSpec],
    terminals: Vec<Ready>,
    noted: Option<&Mutex<Vec<Noted>>>,
    news: &mut dyn FnMut(News),
) -> Result<(RunResult, Acknowledged), Stopped> {
    let warmup_ns = (plan.warmup_s * 1e9) as u64;
    let (end_ns, tickets) = match plan.extent {
        Extent::Duration { seconds } => (warmup_ns + (seconds * 1e9) as u64, 0),
        Extent::Count { transactions } => (u64::MAX, transactions as i64),
    };
    let schedule = match plan.pacing {
        Pacing::Closed { .. } => None,
        Pacing::Open { rate_per_s, arrivals } => Some(Mutex::new(Schedule::new(rate_per_s, arrivals, seed))),
    };
    let open = schedule.is_some();
    let acknowledgements = match &plan.acknowledge_to {
        None => None,
        Some(path) => {
            Some(Acknowledgements::open(Path::new(path)).map_err(|error| Stopped(format!("{path}: {error}")))?)
        }
    };
    let clock_read_ns = clock_read_ns();
    let shared = Shared {
        plan,
        began: Instant::now(),
        warmup_ns,
        end_ns,
        tickets: AtomicI64::new(tickets),
        schedule,
        acknowledgements,
        committed: AtomicU64::new(0),
        at_work: AtomicU64::new(plan.terminals.into()),
        stop: AtomicBool::new(false),
        stopped: Mutex::new(None),
        noted,
    };
    let threads = threads(plan, &terminals);
    let mut shares: Vec<Vec<(usize, Ready)>> = (0..threads).map(|_| Vec::new()).collect();
    for (index, ready) in terminals.into_iter().enumerate() {
        shares[index % threads].push((index, ready));
    }
    let (parts, arriving) = mpsc::channel();
    let seat = |share: Vec<(usize, Ready)>, parts: Sender<Part>| -> Vec<Terminal> {
        let terminals = share.into_iter().map(|(index, ready)| {
            let rng = Rng::seed_from_u64(seed ^ (index as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
            Terminal::new(&shared, index, kinds.len(), ready, rng, clock_read_ns, parts.clone())
        });
        terminals.collect()
    };
    let mut desk = Desk::new(&shared, tickets, news, arriving);
    let records: Vec<Record> = if threads == 1 && shares[0].len() > 1 {
        // On this thread: in a process of one thread each system call is cheaper.
        let terminals = seat(shares.remove(0), parts);
        let records = drive_share(&shared, terminals, Some(&mut || desk.look()));
        desk.attend();
        records
    } else {
        let barrier = Barrier::new(threads);
        std::thread::scope(|scope| {
            let start = |share| {
                let (shared, barrier, seat, parts) = (&shared, &barrier, &seat, parts.clone());
                scope.spawn(move || {
                    let terminals = seat(share, parts);
                    barrier.wait();
                    drive_share(shared, terminals, None)
                })
            };
            let handles: Vec<_> = shares.into_iter().map(start).collect();
            drop(parts);
            desk.attend();
            handles.into_iter().flat_map(|handle| handle.join().expect("a terminal does not panic")).collect()
        })
    };
    let Desk { series, cpu_before, .. } = desk;
    let cpu_after = process_s();
    if let Some(stopped) = shared.stopped.into_inner().expect("no panic under this lock") {
        return Err(stopped);
    }
    Ok(summarise(plan, threads, kinds, warmup_ns, open, clock_read_ns, records, series, cpu_before, cpu_after))
}

/// Drives one thread's terminals to their end and brings back their records.
fn drive_share(shared: &Shared, terminals: Vec<Terminal>, chore: Option<drive::Chore>) -> Vec<Record> {
    let mut records: Vec<Option<Record>> = terminals.iter().map(|_| None).collect();
    let tasks = terminals.into_iter().zip(&mut records).map(|(terminal, record)| Task {
        socket: terminal.socket,
        future: Box::pin(async move { *record = Some(terminal.run().await) }),
    });
    if let Err(error) = drive::drive(tasks.collect(), chore) {
        shared.stop(Stopped(format!("waiting for sessions: {error}")));
    }
    records.into_iter().flatten().collect()
}

/// What is done beside the terminals during a run: the seconds are merged, marks are set where the measurement begins and
/// ends, and the news are told.
struct Desk<'a> {
    shared: &'a Shared<'a>,
    tickets: i64,
    news: &'a mut dyn FnMut(News),
    arriving: Receiver<Part>,
    series: Series,
    /// Of the marks, how many are behind.
    passed: usize,
    cpu_before: (f64, f64),
    told_ns: u64,
    told: u64,
}

impl<'a> Desk<'a> {
    fn new(shared: &'a Shared<'a>, tickets: i64, news: &'a mut dyn FnMut(News), arriving: Receiver<Part>) -> Desk<'a> {
        let cpu_before = process_s();
        Desk { shared, tickets, news, arriving, series: Series::default(), passed: 0, cpu_before, told_ns: 0, told: 0 }
    }

    /// Waits until every terminal has ended.
    fn attend(&mut self) {
        loop {
            let left_ns = self.due_ns().saturating_sub(self.shared.now_ns());
            match self.arriving.recv_timeout(Duration::from_nanos(left_ns.max(1))) {
                Ok(part) => self.series.add(part),
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {}
            }
            self.look();
        }
    }

    /// Does what is due, and answers when to look again.
    fn look(&mut self) -> Instant {
        while let Ok(part) = self.arriving.try_recv() {
            self.series.add(part);
        }
        let shared = self.shared;
        let now_ns = shared.now_ns();
        let at_mark = now_ns >= self.mark_ns();
        if at_mark {
            if self.passed == 0 {
                // The processor time of the warm-up is not the measurement's.
                self.cpu_before = process_s();
            }
            self.passed += 1;
        }
        if at_mark || now_ns >= self.told_ns + NEWS_EVERY_NS {
            let committed = shared.committed.load(Ordering::Relaxed);
            let since_s = (now_ns - self.told_ns).max(NEWS_NS_MIN) as f64 / 1e9;
            (self.news)(News {
                phase: if self.passed == 0 { PhaseName::Warmup } else { PhaseName::Run },
                fraction: fraction(shared, now_ns, self.tickets),
                elapsed_s: now_ns as f64 / 1e9,
                committed,
                rate_per_s: (committed - self.told) as f64 / since_s,
            });
            (self.told_ns, self.told) = (now_ns, committed);
        }
        shared.at(self.due_ns())
    }

    fn mark_ns(&self) -> u64 {
        [self.shared.warmup_ns, self.shared.end_ns].get(self.passed).copied().unwrap_or(u64::MAX)
    }

    /// Marks are set on time, not at the next news.
    fn due_ns(&self) -> u64 {
        self.mark_ns().min(self.told_ns + NEWS_EVERY_NS)
    }
}

fn fraction(shared: &Shared, now_ns: u64, tickets: i64) -> Option<f64> {
    let part = if shared.end_ns == u64::MAX {
        1.0 - shared.tickets.load(Ordering::Relaxed).max(0) as f64 / tickets.max(1) as f64
    } else {
        now_ns as f64 / shared.end_ns.max(1) as f64
    };
    Some(part.clamp(0.0, 1.0))
}

#[allow(clippy::too_many_arguments, reason = "called once, with what the run left")]
fn summarise(
    plan: &RunPlan,
    threads: usize,
    kinds: &[KindSpec],
    warmup_ns: u64,
    open: bool,
    clock_read_ns: f64,
    records: Vec<Record>,
    series: Series,
    cpu_before: (f64, f64),
    cpu_after: (f64, f64),
) -> (RunResult, Acknowledged) {
    let mut counts = Counts::default();
    let mut classes: BTreeMap<Class, u64> = BTreeMap::new();
    let mut samples: BTreeMap<Class, String> = BTreeMap::new();
    let (mut latency, mut service) = (Latencies::new(), Latencies::new());
    let mut arrivals = ArrivalCounts { scheduled: 0, late: 0, unfinished: 0, unfinished_wait_ms_max: 0.0 };
    let mut acknowledged = Acknowledged::default();
    let mut sampled = Sampled::default();
    let mut of_kind: Vec<OfKind> = kinds.iter().map(|_| OfKind::new()).collect();
    let mut last_end_ns = warmup_ns;
    for record in records {
        counts.committed += record.counts.committed;
        counts.rolled_back += record.counts.rolled_back;
        counts.conflicts += record.counts.conflicts;
        counts.retries += record.counts.retries;
        counts.given_up += record.counts.given_up;
        counts.errors += record.counts.errors;
        for (class, count) in record.classes {
            *classes.entry(class).or_default() += count;
        }
        for (class, message) in record.samples {
            samples.entry(class).or_insert(message);
        }
        latency.add(&record.latency);
        service.add(&record.service);
        arrivals.scheduled += record.arrivals.scheduled;
        arrivals.late += record.arrivals.late;
        arrivals.unfinished += record.arrivals.unfinished;
        arrivals.unfinished_wait_ms_max = arrivals.unfinished_wait_ms_max.max(record.arrivals.unfinished_wait_ms_max);
        acknowledged.add(&record.acknowledged);
        for (sum, kind) in of_kind.iter_mut().zip(&record.kinds) {
            sum.add(kind);
        }
        sampled.add(record.sampled);
        last_end_ns = last_end_ns.max(record.last_end_ns);
    }
    counts.classes =
        classes.into_iter().map(|(class, count)| ClassCount { class: class.name().to_string(), count }).collect();
    // A run by duration lasts at least that long, also when its last transaction ended early (open loop, think time).
    let planned_s = match plan.extent {
        Extent::Duration { seconds } => seconds,
        Extent::Count { .. } => 0.0,
    };
    let measured_s = ((last_end_ns - warmup_ns) as f64 / 1e9).max(planned_s).max(1e-9);
    let finished = counts.committed + counts.rolled_back + counts.conflicts + counts.errors;
    let per_transaction = |ns: f64| ns / 1e3 / sampled.transactions.max(1) as f64;
    let result = RunResult {
        terminals: plan.terminals,
        threads: threads as u32,
        warmup_s: plan.warmup_s,
        measured_s,
        throughput_per_s: finished as f64 / measured_s,
        goodput_per_s: counts.committed as f64 / measured_s,
        counts,
        arrivals: open.then_some(arrivals),
        latency: latency.to_protocol(),
        service: service.to_protocol(),
        kinds: of_kind.iter().zip(kinds).map(|(kind, spec)| kind.to_protocol(spec)).collect(),
        series: series.finish(plan.warmup_s, measured_s),
        cpu: Cpu {
            process_user_s: cpu_after.0 - cpu_before.0,
            process_system_s: cpu_after.1 - cpu_before.1,
            sampled_transactions: sampled.transactions,
            generator_us_per_transaction: per_transaction(sampled.generator_ns),
            session_us_per_transaction: per_transaction(sampled.session_ns),
            clock_read_ns,
        },
        error_samples: samples
            .into_iter()
            .map(|(class, message)| ErrorSample { class: class.name().to_string(), message })
            .collect(),
    };
    (result, acknowledged)
}

struct Terminal<'a> {
    shared: &'a Shared<'a>,
    number: u32,
    socket: Option<RawFd>,
    client: Client,
    script: Box<dyn Script>,
    worker: bool,
    acknowledgements: Option<Acknowledgements<'a>>,
    rng: Rng,
    parts: Sender<Part>,
    collector: Collector,
    record: Record,
    in_vain: u64,
}

/// When a transaction was due and whether it belongs to the measurement for that.
struct Due {
    scheduled_ns: Option<u64>,
    ticket: bool,
}

impl<'a> Terminal<'a> {
    fn new(
        shared: &'a Shared<'a>,
        index: usize,
        kinds: usize,
        ready: Ready,
        rng: Rng,
        clock_read_ns: f64,
        parts: Sender<Part>,
    ) -> Terminal<'a> {
        Terminal {
            shared,
            number: index as u32,
            socket: ready.session.descriptor().map(|socket| socket.as_raw_fd()),
            client: Client::new(ready.session, clock_read_ns, shared.noted.is_some()),
            script: ready.script,
            worker: ready.worker,
            acknowledgements: shared.acknowledgements.as_ref().map(|file| Acknowledgements::new(file, index)),
            rng,
            parts,
            collector: Collector::new(),
            record: Record {
                counts: Counts::default(),
                classes: BTreeMap::new(),
                samples: BTreeMap::new(),
                latency: Latencies::new(),
                service: Latencies::new(),
                kinds: (0..kinds).map(|_| OfKind::new()).collect(),
                arrivals: ArrivalCounts { scheduled: 0, late: 0, unfinished: 0, unfinished_wait_ms_max: 0.0 },
                acknowledged: Acknowledged::default(),
                sampled: Sampled::default(),
                noted: Vec::new(),
                last_end_ns: 0,
            },
            in_vain: 0,
        }
    }

    async fn run(mut self) -> Record {
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
        if let Some(noted) = self.shared.noted {
            noted.lock().expect("no panic under this lock").append(&mut self.record.noted);
        }
        self.record
    }

    async fn submit(&mut self) {
        let think = match self.shared.plan.pacing {
            Pacing::Closed { think_ms } => Duration::from_secs_f64(think_ms / 1e3),
            Pacing::Open { .. } => Duration::ZERO,
        };
        let mut number = 0u64;
        while let Some(due) = self.next().await {
            let Some(drawn) = self.script.draw(&mut self.rng) else {
                self.give_back(&due);
                return;
            };
            if !self.pause(drawn.keying).await {
                self.give_back(&due);
                continue;
            }
            self.sampled_transaction(&due, drawn, number).await;
            number += 1;
            self.pause(think + drawn.think).await;
        }
    }

    /// Works off what terminals have queued, until they have ended.
    async fn work_off(&mut self) {
        let shared = self.shared;
        let mut number = 0u64;
        while !shared.stop.load(Ordering::Relaxed)
            && shared.at_work.load(Ordering::Relaxed) > 0
            && shared.now_ns() < shared.end_ns
        {
            match self.script.draw(&mut self.rng) {
                Some(drawn) => {
                    let ticket = shared.end_ns == u64::MAX && shared.now_ns() >= shared.warmup_ns;
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
            sleep_until(shared.at(until_ns.min(shared.end_ns))).await;
            return shared.now_ns() < shared.end_ns && !shared.stop.load(Ordering::Relaxed);
        }
        true
    }

    async fn sampled_transaction(&mut self, due: &Due, drawn: Drawn, number: u64) {
        if number.is_multiple_of(SAMPLE_EVERY) && self.shared.now_ns() >= self.shared.warmup_ns {
            self.client.begin_sample();
        }
        self.transaction(due, drawn).await;
        self.client.end_sample();
    }

    /// Waits for the next transaction to be due; `None` when there is none any more.
    async fn next(&mut self) -> Option<Due> {
        let shared = self.shared;
        if shared.stop.load(Ordering::Relaxed) {
            return None;
        }
        let mut late = false;
        let scheduled_ns = match &shared.schedule {
            None => None,
            Some(schedule) => {
                let time_ns = schedule.lock().expect("no panic under this lock").take();
                if time_ns >= shared.end_ns {
                    return None;
                }
                late = self.await_arrival(time_ns).await?;
                Some(time_ns)
            }
        };
        let now_ns = shared.now_ns();
        if scheduled_ns.is_none() && now_ns >= shared.end_ns {
            return None;
        }
        let ticket = shared.end_ns == u64::MAX && now_ns >= shared.warmup_ns;
        if ticket && shared.tickets.fetch_sub(1, Ordering::Relaxed) <= 0 {
            shared.tickets.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        if let Some(time_ns) = scheduled_ns {
            // A run by count measures the transactions that have a ticket, whenever they were due.
            let measured = if shared.end_ns == u64::MAX { ticket } else { time_ns >= shared.warmup_ns };
            self.record.arrivals.scheduled += u64::from(measured);
            self.record.arrivals.late += u64::from(measured && late);
        }
        Some(Due { scheduled_ns, ticket })
    }

    /// Sleeps until an arrival is due; answers whether it was taken late, `None` if only after the end: it is unfinished.
    async fn await_arrival(&mut self, time_ns: u64) -> Option<bool> {
        let shared = self.shared;
        let now_ns = shared.now_ns();
        if now_ns < time_ns {
            sleep_until(shared.at(time_ns)).await;
            return Some(false);
        }
        if now_ns >= shared.end_ns {
            self.leave_unfinished(time_ns);
            return None;
        }
        Some(now_ns - time_ns > LATE_NS)
    }

    /// This arrival, and every further one of the schedule before the end, was never started.
    fn leave_unfinished(&mut self, first_ns: u64) {
        let shared = self.shared;
        let mut time_ns = first_ns;
        loop {
            if time_ns >= shared.warmup_ns {
                self.record.arrivals.scheduled += 1;
                self.record.arrivals.unfinished += 1;
                let waited_ms = (shared.end_ns - time_ns) as f64 / 1e6;
                let longest = &mut self.record.arrivals.unfinished_wait_ms_max;
                *longest = longest.max(waited_ms);
            }
            let Some(schedule) = &shared.schedule else { return };
            time_ns = schedule.lock().expect("no panic under this lock").take();
            if time_ns >= shared.end_ns {
                return;
            }
        }
    }

    /// One transaction with its retries.
    async fn transaction(&mut self, due: &Due, drawn: Drawn) {
        let shared = self.shared;
        let started_ns = shared.now_ns();
        let noting_ns = shared.noted.map(|_| monotonic_ns());
        let mut tries_left = shared.plan.retries;
        loop {
            let began_ns = self.acknowledgements.as_ref().map(|_| monotonic_ns());
            let outcome = self.script.attempt(&mut self.client).await;
            let ended_ns = shared.now_ns();
            match outcome {
                Ok(Ended::Committed) => {
                    if let (Some(acknowledgements), Some(began_ns)) = (&mut self.acknowledgements, began_ns) {
                        if let Err(error) = acknowledgements.write(drawn.kind, drawn.number, began_ns) {
                            shared.stop(Stopped(format!("writing acknowledgements: {error}")));
                        }
                    }
                    self.in_vain = 0;
                    if let Some(begin_ns) = noting_ns.filter(|_| self.record.noted.len() < NOTED_MAX) {
                        let (tid, commit_ns) =
                            (rustix::thread::gettid().as_raw_pid() as u32, self.client.commit_ns.take());
                        let end_ns = monotonic_ns();
                        self.record.noted.push(Noted { tid, terminal: self.number, begin_ns, commit_ns, end_ns });
                    }
                    self.record.acknowledged.commit(drawn.kind);
                    shared.committed.fetch_add(1, Ordering::Relaxed);
                    let queued_ns = drawn.queued.map(|at| (at - shared.began).as_nanos() as u64);
                    let latency_ns = ended_ns - due.scheduled_ns.or(queued_ns).unwrap_or(started_ns);
                    if self.belongs(due, ended_ns) {
                        self.record.counts.committed += 1;
                        self.record.latency.record(latency_ns);
                        self.record.service.record(ended_ns - started_ns);
                        self.record.last_end_ns = ended_ns;
                        if let Some(kind) = self.record.kinds.get_mut(drawn.kind) {
                            kind.committed += 1;
                            kind.latency.record(latency_ns);
                        }
                    }
                    self.note(ended_ns, &Happened::Committed { latency_ns });
                    return;
                }
                Ok(Ended::RolledBack) => {
                    self.in_vain = 0;
                    if self.belongs(due, ended_ns) {
                        self.record.counts.rolled_back += 1;
                        self.record.last_end_ns = ended_ns;
                        if let Some(kind) = self.record.kinds.get_mut(drawn.kind) {
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
                    let again = self.refused(due, drawn.kind, &refused, rolled_back, tries_left > 0);
                    if !again {
                        self.give_back(due);
                        return;
                    }
                    tries_left -= 1;
                }
            }
        }
    }

    /// Books a refusal; answers whether the transaction is to be tried again.
    fn refused(
        &mut self,
        due: &Due,
        kind: usize,
        refused: &Refused,
        rolled_back: Outcome<()>,
        may_retry: bool,
    ) -> bool {
        let shared = self.shared;
        let ended_ns = shared.now_ns();
        let class = refused.error.class;
        let conflict = class.is_conflict();
        if refused.at_commit && !conflict {
            self.record.acknowledged.unknown += 1;
        }
        let stopping = shared.stop.load(Ordering::Relaxed);
        let past_end = ended_ns >= shared.end_ns && due.scheduled_ns.is_none();
        let again = conflict && may_retry && !stopping && !past_end;
        if self.belongs(due, ended_ns) {
            *self.record.classes.entry(class).or_default() += 1;
            let counts = &mut self.record.counts;
            if conflict {
                counts.conflicts += 1;
                counts.retries += u64::from(again);
                counts.given_up += u64::from(!again);
            } else {
                counts.errors += 1;
            }
            if let Some(of_kind) = self.record.kinds.get_mut(kind) {
                of_kind.conflicts += u64::from(conflict);
                of_kind.given_up += u64::from(conflict && !again);
                of_kind.errors += u64::from(!conflict);
            }
            self.record.last_end_ns = ended_ns;
        }
        self.record.samples.entry(class).or_insert_with(|| refused.error.message.clone());
        self.note(ended_ns, if conflict { &Happened::Conflict } else { &Happened::Error });
        self.in_vain += 1;
        if class.is_final() || (!conflict && self.in_vain >= HOPELESS) {
            shared.stop(Stopped(refused.error.message.clone()));
        } else if let Err(error) = rolled_back {
            shared.stop(Stopped(format!("rolling back: {}", error.message)));
        }
        again
    }

    fn belongs(&self, due: &Due, ended_ns: u64) -> bool {
        match due.scheduled_ns {
            Some(time_ns) if self.shared.end_ns != u64::MAX => time_ns >= self.shared.warmup_ns,
            _ if self.shared.end_ns == u64::MAX => due.ticket,
            _ => ended_ns >= self.shared.warmup_ns,
        }
    }

    /// A ticket that did not become a commit goes back, so that the run ends with the number asked for.
    fn give_back(&self, due: &Due) {
        if due.ticket && !self.worker {
            self.shared.tickets.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn note(&mut self, at_ns: u64, what: &Happened) {
        if let Some(part) = self.collector.note(at_ns as i64 - self.shared.warmup_ns as i64, what) {
            self.hand_on(part);
        }
    }

    fn hand_on(&self, part: Part) {
        // The receiver lives until every terminal has ended.
        self.parts.send(part).ok();
    }
}
