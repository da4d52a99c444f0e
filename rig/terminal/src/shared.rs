//! What all terminals of a run share.

use crate::acknowledgements::Acknowledgements;
use crate::pacing::{Course, Deal, Schedule};
use crate::record::{pacings, Books, Tally};
use measure::Noted;
use protocol::{Extent, Leg, Pacing, RunPlan};
use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Why a run could not go on.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct Stopped(pub String);

/// Nothing here is locked on the path of a closed loop.
pub struct Shared<'a> {
    pub plan: &'a RunPlan,
    pub began: Instant,
    /// From where the seconds of the series are counted: the end of the warm-up as it was planned.
    pub origin_ns: u64,
    pub(crate) warmup_ns: AtomicU64,
    pub(crate) end_ns: AtomicU64,
    pub tickets: AtomicI64,
    /// In the plan's order; one where all terminals are alike.
    pub classes: Vec<ClassPace>,
    /// When each stage but the last ends.
    pub stage_ends_ns: Vec<u64>,
    pub books: Mutex<Books>,
    pub acknowledgements: Option<File>,
    pub committed: AtomicU64,
    /// Terminals that have not ended; workers end when there is none.
    pub at_work: AtomicU64,
    pub stop: AtomicBool,
    pub stopped: Mutex<Option<Stopped>>,
    /// Where transactions are noted while system calls are watched.
    pub noted: Option<&'a Mutex<Vec<Noted>>>,
    /// Whether a terminal that has ended leaves its session open.
    pub keeps_sessions: bool,
}

/// How the terminals of one class are paced.
pub struct ClassPace {
    /// Under open loop.
    pub schedule: Option<Mutex<Schedule>>,
    pub think: Duration,
    /// Under closed loop with stages: how many terminals are at work.
    pub at_work: Option<Course>,
}

impl ClassPace {
    pub fn of_plan(plan: &RunPlan, seed: u64) -> Vec<ClassPace> {
        let of = |(at, pacing): (usize, &Pacing)| {
            let legs: Vec<(f64, Leg)> = plan.stages.iter().map(|stage| (stage.seconds, stage.legs[at])).collect();
            let staged = (!legs.is_empty()).then(|| Course::of_legs(plan.warmup_s, &legs));
            match *pacing {
                Pacing::Closed { think_ms } => {
                    ClassPace { schedule: None, think: Duration::from_secs_f64(think_ms / 1e3), at_work: staged }
                }
                Pacing::Recorded {} => ClassPace { schedule: None, think: Duration::ZERO, at_work: None },
                Pacing::Open { rate_per_s, arrivals } => {
                    let course = staged.unwrap_or_else(|| Course::constant(rate_per_s));
                    // Each class draws from its own stream, the first from that of a run without classes.
                    let seed = seed ^ (at as u64).wrapping_mul(0xA076_1D64_78BD_642F);
                    let deal = Deal::of_class(plan, at);
                    let schedule = Some(Mutex::new(Schedule::new(course, arrivals, seed, deal)));
                    ClassPace { schedule, think: Duration::ZERO, at_work: None }
                }
            }
        };
        pacings(plan).enumerate().map(of).collect()
    }
}

/// When each stage but the last ends.
fn stage_ends_ns(plan: &RunPlan) -> Vec<u64> {
    let mut end_s = plan.warmup_s;
    let ends = plan.stages.iter().map(|stage| {
        end_s += stage.seconds;
        (end_s * 1e9) as u64
    });
    let mut ends: Vec<u64> = ends.collect();
    ends.pop();
    ends
}

/// The measurement starts no sooner than this after its announcement, so that everybody has seen it by then.
const LEAD_NS: u64 = 500_000_000;
const SECOND_NS: u64 = 1_000_000_000;

/// When a measurement starts that is asked for from this second on, while it is `now_ns`.
fn start_ns(second: u32, now_ns: u64) -> u64 {
    (u64::from(second) * SECOND_NS).max((now_ns + LEAD_NS).div_ceil(SECOND_NS) * SECOND_NS)
}

/// How many transactions a run by count is to commit.
pub fn tickets(plan: &RunPlan) -> i64 {
    match plan.extent {
        Extent::Duration { .. } => 0,
        Extent::Count { transactions } => transactions as i64,
    }
}

/// When the warm-up and the run end; the latter never for a run by count.
fn ends_ns(plan: &RunPlan) -> (u64, u64) {
    let warmup_ns = (plan.warmup_s * 1e9) as u64;
    let end_ns = match plan.extent {
        Extent::Duration { seconds } => warmup_ns + (seconds * 1e9) as u64,
        Extent::Count { .. } => u64::MAX,
    };
    (warmup_ns, end_ns)
}

impl<'a> Shared<'a> {
    pub fn new(
        plan: &'a RunPlan,
        seed: u64,
        began: Instant,
        noted: Option<&'a Mutex<Vec<Noted>>>,
        keeps_sessions: bool,
    ) -> Result<Self, Stopped> {
        let (warmup_ns, end_ns) = ends_ns(plan);
        let open = |path: &String| {
            Acknowledgements::open(Path::new(path)).map_err(|error| Stopped(format!("{path}: {error}")))
        };
        Ok(Shared {
            plan,
            began,
            origin_ns: warmup_ns,
            warmup_ns: warmup_ns.into(),
            end_ns: end_ns.into(),
            tickets: AtomicI64::new(tickets(plan)),
            classes: ClassPace::of_plan(plan, seed),
            stage_ends_ns: stage_ends_ns(plan),
            books: Mutex::new(Books::new(plan.classes.len().max(1), plan.stages.len().max(1))),
            acknowledgements: plan.acknowledge_to.as_ref().map(open).transpose()?,
            committed: AtomicU64::new(0),
            at_work: AtomicU64::new(plan.part().count(plan.terminals).into()),
            stop: AtomicBool::new(false),
            stopped: Mutex::new(None),
            noted,
            keeps_sessions,
        })
    }

    /// When the measurement starts. It changes at most once, while it is at least half a second away.
    pub fn warmup_ns(&self) -> u64 {
        self.warmup_ns.load(Ordering::Relaxed)
    }

    /// When no further transaction starts; `u64::MAX` for a run by count.
    pub fn end_ns(&self) -> u64 {
        self.end_ns.load(Ordering::Relaxed)
    }

    /// Starts the measurement from this second of the load on, unless it starts as soon as that anyway.
    pub fn measure_from(&self, second: u32) {
        let (planned_ns, start_ns) = (self.warmup_ns(), start_ns(second, self.now_ns()));
        if start_ns < planned_ns {
            self.warmup_ns.store(start_ns, Ordering::Relaxed);
            if self.end_ns() != u64::MAX {
                self.end_ns.fetch_sub(planned_ns - start_ns, Ordering::Relaxed);
            }
        }
    }

    /// The stage that this moment belongs to; the last for all that comes after it.
    pub fn stage_of(&self, at_ns: u64) -> usize {
        self.stage_ends_ns.partition_point(|&end_ns| end_ns <= at_ns)
    }

    pub fn enter(&self, class: usize, stage: usize, tally: Tally) {
        self.books.lock().expect("no panic under this lock").enter(class, stage, tally);
    }

    pub fn now_ns(&self) -> u64 {
        self.began.elapsed().as_nanos() as u64
    }

    pub fn at(&self, time_ns: u64) -> Instant {
        self.began + Duration::from_nanos(time_ns)
    }

    pub fn stop(&self, why: Stopped) {
        self.stop.store(true, Ordering::Relaxed);
        self.stopped.lock().expect("no panic under this lock").get_or_insert(why);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measurement_starts_with_a_second_that_everybody_hears_of_before() {
        let s = SECOND_NS;
        for (second, now_ns, start) in [
            (5, 3 * s, 5 * s),
            (5, 4 * s + LEAD_NS, 5 * s),
            (5, 4 * s + LEAD_NS + 1, 6 * s),
            (5, 9 * s, 10 * s),
            (0, 0, s),
        ] {
            assert_eq!(start_ns(second, now_ns), start);
        }
    }
}
