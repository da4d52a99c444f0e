//! What is done beside the terminals during a run.

use crate::series::{Part, Series};
use crate::shared::{tickets, Shared};
use measure::process_s;
use protocol::PhaseName;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// News of a run, for people.
pub struct News {
    pub phase: PhaseName,
    pub fraction: Option<f64>,
    pub elapsed_s: f64,
    pub committed: u64,
    pub rate_per_s: f64,
}

/// How often a part of a load looks whether it still runs.
const BEAT_NS: u64 = 100_000_000;
const NEWS_EVERY_NS: u64 = 1_000_000_000;
/// News sooner than this after the last do not make the rate of a moment.
const NEWS_NS_MIN: u64 = 100_000_000;

/// Merges the seconds, sets marks where the measurement begins and ends, and hands on the news.
pub struct RunMonitor<'a> {
    shared: &'a Shared<'a>,
    news: &'a mut dyn FnMut(News) -> Option<u32>,
    arriving: Receiver<Part>,
    pub series: Series,
    /// Of the marks, how many are behind.
    passed: usize,
    /// User and system seconds of this process before the measurement.
    pub cpu_before: (f64, f64),
    reported_ns: u64,
    reported: u64,
    /// When the next beat is due; never where nobody asks.
    beat_ns: u64,
    pub stood_still_ns_max: u64,
}

impl<'a> RunMonitor<'a> {
    pub fn new(
        shared: &'a Shared<'a>,
        news: &'a mut dyn FnMut(News) -> Option<u32>,
        arriving: Receiver<Part>,
    ) -> RunMonitor<'a> {
        let cpu_before = process_s();
        RunMonitor {
            shared,
            news,
            arriving,
            series: Series::default(),
            passed: 0,
            cpu_before,
            reported_ns: 0,
            reported: 0,
            beat_ns: if shared.plan.share.is_some() { shared.warmup_ns() + BEAT_NS } else { u64::MAX },
            stood_still_ns_max: 0,
        }
    }

    /// Waits until every terminal has ended.
    pub fn attend(&mut self) {
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
    pub fn look(&mut self) -> Instant {
        while let Ok(part) = self.arriving.try_recv() {
            self.series.add(part);
        }
        let shared = self.shared;
        let now_ns = shared.now_ns();
        if now_ns >= self.beat_ns {
            // What it is late after the end is not the measurement's.
            self.stood_still_ns_max =
                self.stood_still_ns_max.max(now_ns.min(shared.end_ns()).saturating_sub(self.beat_ns));
            self.beat_ns = now_ns + BEAT_NS;
        }
        let at_mark = now_ns >= self.mark_ns();
        if at_mark {
            if self.passed == 0 {
                // The processor time of the warm-up is not the measurement's.
                self.cpu_before = process_s();
            }
            self.passed += 1;
        }
        if at_mark || now_ns >= self.reported_ns + NEWS_EVERY_NS {
            let committed = shared.committed.load(Ordering::Relaxed);
            let since_s = (now_ns - self.reported_ns).max(NEWS_NS_MIN) as f64 / 1e9;
            let asked = (self.news)(News {
                phase: if self.passed == 0 { PhaseName::Warmup } else { PhaseName::Run },
                fraction: fraction(shared, now_ns),
                elapsed_s: now_ns as f64 / 1e9,
                committed,
                rate_per_s: (committed - self.reported) as f64 / since_s,
            });
            if let Some(second) = asked.filter(|_| self.passed == 0) {
                shared.measure_from(second);
            }
            (self.reported_ns, self.reported) = (now_ns, committed);
        }
        shared.at(self.due_ns())
    }

    fn mark_ns(&self) -> u64 {
        [self.shared.warmup_ns(), self.shared.end_ns()].get(self.passed).copied().unwrap_or(u64::MAX)
    }

    /// Marks are set on time, not at the next news.
    fn due_ns(&self) -> u64 {
        self.mark_ns().min(self.reported_ns + NEWS_EVERY_NS).min(self.beat_ns)
    }
}

fn fraction(shared: &Shared, now_ns: u64) -> Option<f64> {
    let part = if shared.end_ns() == u64::MAX {
        1.0 - shared.tickets.load(Ordering::Relaxed).max(0) as f64 / tickets(shared.plan).max(1) as f64
    } else {
        now_ns as f64 / shared.end_ns().max(1) as f64
    };
    Some(part.clamp(0.0, 1.0))
}
