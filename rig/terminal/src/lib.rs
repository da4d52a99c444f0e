//! Terminals submit transactions, each on its own session; here is how they are driven and what they measure.
//!
//! An embedded engine works inside the calling thread, so each of its terminals has one. Terminals of a server are futures
//! that share a few threads (see [`drive`]): what a client costs is mostly the switching between threads.
//!
//! What belongs to the measurement:
//! - closed loop by duration: every transaction that ends after the warm-up. Terminals start none after the planned end;
//!   the measurement lasts until the last in flight has ended, so that a stall at the end is not hidden.
//! - open loop: every arrival whose scheduled time lies inside the measurement, whenever it is served. Those that no
//!   terminal could start before the planned end are counted as unfinished.
//! - by count: after the warm-up, exactly that many commits.

mod acknowledgements;
mod beside;
mod drive;
mod monitor;
mod pacing;
mod record;
mod sampler;
mod series;
mod shared;
mod terminal;

pub use beside::{Beside, Underway};
pub use monitor::News;
pub use sampler::Sampler;
pub use shared::Stopped;
pub use terminal::Ready;

use drive::Task;
use measure::{clock_read_ns, process_s, Noted};
use monitor::RunMonitor;
use protocol::{Connect, RunPlan, RunResult, SharedSecond};
use rand::SeedableRng;
use record::{summarise, Record, RunLeft};
use series::Part;
use shared::Shared;
use std::sync::mpsc::{self, Sender};
use std::sync::{Barrier, Mutex};
use std::time::Instant;
use terminal::Terminal;
use transaction::{Acknowledged, KindSpec, Rng, Session};

pub struct Load<'a> {
    pub plan: &'a RunPlan,
    pub seed: u64,
    pub kinds: &'a [KindSpec],
    /// The moment from which its times count; it may be past.
    pub began: Instant,
}

/// What listens while terminals are at work.
#[derive(Default)]
pub struct Listeners<'a> {
    /// Takes each committed transaction.
    pub noted: Option<&'a Mutex<Vec<Noted>>>,
    /// Asked in the last moments of the warm-up, where there is one.
    pub beside: Option<&'a mut dyn Beside>,
    /// Asks while the measurement goes on.
    pub sampler: Option<&'a mut Sampler>,
}

/// What a run that went to its end leaves.
pub struct Ended {
    pub result: RunResult,
    /// By the engine, warm-up included.
    pub acknowledged: Acknowledged,
    /// Those of the terminals, still open, where somebody is asked beside them.
    pub sessions: Vec<Box<dyn Session>>,
    /// The seconds of a part of a load; empty of a whole one.
    pub seconds: Vec<SharedSecond>,
    /// The longest time in the measurement in which it was too late for what is done beside the terminals; of a part alone.
    pub stood_still_ns_max: u64,
}

/// How many threads drive the terminals. One each where a call keeps its thread busy or waiting until it is answered.
fn threads(plan: &RunPlan, terminals: &[Ready]) -> usize {
    // To open a session keeps a thread waiting.
    if plan.connect != Connect::Once || terminals.iter().any(|ready| ready.session.descriptor().is_none()) {
        return terminals.len();
    }
    let wanted = plan.threads.map_or_else(default_threads, |threads| threads as usize);
    wanted.min(plan.part().count(plan.terminals) as usize)
}

/// Half of the processors: the server, which does the greater part of the work, may well have the same ones.
fn default_threads() -> usize {
    std::thread::available_parallelism().map_or(1, |many| many.get().div_ceil(2))
}

/// Drives a load over the terminals. `news` is called from the calling thread about once a second, and when the measurement
/// begins and, by its duration, ends: then its fraction is 1 for the first time. In the warm-up of a plan that may start
/// early it may answer the second from which on to measure.
pub fn run(
    load: &Load,
    terminals: Vec<Ready>,
    listeners: Listeners,
    news: &mut dyn FnMut(News) -> Option<u32>,
) -> Result<Ended, Stopped> {
    let Load { plan, seed, kinds, began } = *load;
    let Listeners { noted, beside, mut sampler } = listeners;
    let clock_read_ns = clock_read_ns();
    let shared = Shared::new(plan, seed, began, noted, beside.is_some())?;
    let threads = threads(plan, &terminals);
    let mut shares: Vec<Vec<Ready>> = (0..threads).map(|_| Vec::new()).collect();
    for (index, ready) in terminals.into_iter().enumerate() {
        shares[index % threads].push(ready);
    }
    let (parts, arriving) = mpsc::channel();
    let seat = |share: Vec<Ready>, parts: Sender<Part>| -> Vec<Terminal> {
        let terminals = share.into_iter().map(|ready| {
            let rng = Rng::seed_from_u64(seed ^ (u64::from(ready.number) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
            Terminal::new(&shared, kinds.len(), ready, rng, clock_read_ns, parts.clone())
        });
        terminals.collect()
    };
    let mut monitor = RunMonitor::new(&shared, news, arriving);
    let ended = std::thread::scope(|scope| {
        if let Some(beside) = beside.filter(|_| shared.origin_ns > 0) {
            // A thread that has ended when the measurement begins: see the reason below.
            scope.spawn(|| beside::in_warmup(&shared, beside));
        }
        if threads == 1 && shares[0].len() > 1 {
            // On this thread: in a process of one thread each system call is cheaper.
            let terminals = seat(shares.remove(0), parts);
            let ended = drive_share(&shared, terminals, sampler.take(), Some(&mut || monitor.look()));
            monitor.attend();
            return ended;
        }
        let barrier = Barrier::new(threads);
        if let Some(sampler) = sampler.take() {
            scope.spawn(|| drive_share(&shared, Vec::new(), Some(sampler), None));
        }
        std::thread::scope(|scope| {
            let start = |share| {
                let (shared, barrier, seat, parts) = (&shared, &barrier, &seat, parts.clone());
                scope.spawn(move || {
                    let terminals = seat(share, parts);
                    barrier.wait();
                    drive_share(shared, terminals, None, None)
                })
            };
            let handles: Vec<_> = shares.into_iter().map(start).collect();
            drop(parts);
            monitor.attend();
            handles.into_iter().flat_map(|handle| handle.join().expect("a terminal does not panic")).collect()
        })
    });
    let (records, sessions): (Vec<_>, Vec<_>) = ended.into_iter().unzip();
    let RunMonitor { series, cpu_before, stood_still_ns_max, .. } = monitor;
    let seconds = plan.share.map_or_else(Vec::new, |_| series.shared());
    let cpu_after = process_s();
    if let Some(stopped) = shared.stopped.into_inner().expect("no panic under this lock") {
        return Err(stopped);
    }
    let books = shared.books.into_inner().expect("no panic under this lock");
    let warmup_ns = shared.warmup_ns.into_inner();
    let series = series.counted_from_earlier((shared.origin_ns - warmup_ns) / 1_000_000_000);
    let left =
        RunLeft { plan, threads, kinds, warmup_ns, clock_read_ns, records, books, series, cpu_before, cpu_after };
    let (result, acknowledged) = summarise(left);
    Ok(Ended { result, acknowledged, sessions: sessions.into_iter().flatten().collect(), seconds, stood_still_ns_max })
}

type Left = (Record, Option<Box<dyn Session>>);

/// Drives one thread's terminals, and who asks beside them, to their end.
fn drive_share(
    shared: &Shared,
    terminals: Vec<Terminal>,
    sampler: Option<&mut Sampler>,
    chore: Option<drive::Chore>,
) -> Vec<Left> {
    let mut left: Vec<Option<Left>> = terminals.iter().map(|_| None).collect();
    let tasks = terminals.into_iter().zip(&mut left).map(|(terminal, left)| Task {
        socket: terminal.socket,
        future: Box::pin(async move { *left = Some(terminal.run().await) }),
    });
    let asks = sampler.map(|sampler| Task { socket: sampler.socket(), future: Box::pin(sampler.attend(shared)) });
    if let Err(error) = drive::drive(tasks.chain(asks).collect(), chore) {
        shared.stop(Stopped(format!("waiting for sessions: {error}")));
    }
    left.into_iter().flatten().collect()
}
