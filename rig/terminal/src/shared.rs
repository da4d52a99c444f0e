//! What all terminals of a run share.

use crate::pacing::Schedule;
use crate::Stopped;
use measure::Noted;
use protocol::RunPlan;
use std::fs::File;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Nothing here is locked on the path of a closed loop.
pub struct Shared<'a> {
    pub plan: &'a RunPlan,
    pub began: Instant,
    pub warmup_ns: u64,
    /// When no further transaction starts; `u64::MAX` for a run by count.
    pub end_ns: u64,
    pub tickets: AtomicI64,
    pub schedule: Option<Mutex<Schedule>>,
    pub acknowledgements: Option<File>,
    pub committed: AtomicU64,
    /// Terminals that have not ended; workers end when there is none.
    pub at_work: AtomicU64,
    pub stop: AtomicBool,
    pub stopped: Mutex<Option<Stopped>>,
    /// Where transactions are noted while system calls are watched.
    pub noted: Option<&'a Mutex<Vec<Noted>>>,
}

impl Shared<'_> {
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
