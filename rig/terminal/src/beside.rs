//! Somebody who is asked beside the terminals, never while the measurement goes on.

use crate::shared::Shared;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Who looks at the engine in the last moments of the warm-up. The sessions of the terminals stay open until the thread that started
/// the run has looked again.
pub trait Beside: Send {
    /// How long before the measurement it begins; at most half of the warm-up is taken.
    fn lead(&self) -> Duration;
    /// Called once, on a separate thread that ends with it.
    fn look(&mut self, run: &dyn Underway);
}

/// A run that is under way.
pub trait Underway {
    /// Transactions committed so far, warm-up included.
    fn committed(&self) -> u64;
    /// Seconds since the measurement began; negative before.
    fn measured_s(&self) -> f64;
}

impl Underway for Shared<'_> {
    fn committed(&self) -> u64 {
        self.committed.load(Ordering::Relaxed)
    }

    fn measured_s(&self) -> f64 {
        (self.now_ns() as f64 - self.warmup_ns() as f64) / 1e9
    }
}

/// How often it is looked whether the run has ended in its warm-up.
const LOOK: Duration = Duration::from_millis(50);

/// Waits for the last moments of the warm-up and has `beside` look then; not at all where the run ends before.
pub fn in_warmup(shared: &Shared, beside: &mut dyn Beside) {
    loop {
        let due_ns = shared.warmup_ns() - (beside.lead().as_nanos() as u64).min(shared.warmup_ns() / 2);
        if shared.stop.load(Ordering::Relaxed) || shared.at_work.load(Ordering::Relaxed) == 0 {
            return;
        }
        let left = Duration::from_nanos(due_ns.saturating_sub(shared.now_ns()));
        if left.is_zero() {
            return beside.look(shared);
        }
        std::thread::sleep(left.min(LOOK));
    }
}
