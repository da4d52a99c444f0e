//! What a replay comes to, beside the transactions.

use measure::Latencies;
use protocol::{Difference, Replayed};

/// So many are told.
const DIFFERENCES_MAX: usize = 20;

#[derive(Debug, Default, Clone, Copy)]
pub struct Counts {
    pub sessions: u64,
    pub sessions_refused: u64,
    pub statements: u64,
    pub left_out: u64,
    pub errors_alike: u64,
    pub errors_new: u64,
    pub errors_missing: u64,
    pub rows_compared: u64,
    pub rows_differ: u64,
}

impl Counts {
    fn add(&mut self, more: &Counts) {
        self.sessions += more.sessions;
        self.sessions_refused += more.sessions_refused;
        self.statements += more.statements;
        self.left_out += more.left_out;
        self.errors_alike += more.errors_alike;
        self.errors_new += more.errors_new;
        self.errors_missing += more.errors_missing;
        self.rows_compared += more.rows_compared;
        self.rows_differ += more.rows_differ;
    }
}

/// How long one statement took, in nanoseconds; see [`Replayed`].
pub struct Times {
    pub latency: u64,
    pub service: u64,
    pub logged: Option<u64>,
}

#[derive(Default)]
pub struct Tried {
    pub counts: Counts,
    pub times: Vec<Times>,
    pub differences: Vec<Difference>,
}

impl Tried {
    pub fn clear(&mut self) {
        self.counts = Counts::default();
        self.times.clear();
        self.differences.clear();
    }
}

#[derive(Default)]
pub struct Totals {
    pub counts: Counts,
    latency: Latencies,
    service: Latencies,
    logged: Latencies,
    differences: Vec<Difference>,
}

impl Totals {
    /// Takes over what one attempt came to.
    pub fn take(&mut self, tried: &mut Tried) {
        self.counts.add(&tried.counts);
        for times in &tried.times {
            self.latency.record(times.latency);
            self.service.record(times.service);
            if let Some(logged) = times.logged {
                self.logged.record(logged);
            }
        }
        let room = DIFFERENCES_MAX.saturating_sub(self.differences.len());
        self.differences.extend(tried.differences.drain(..).take(room));
        tried.clear();
    }

    pub fn add(&mut self, more: Totals) {
        self.counts.add(&more.counts);
        self.latency.add(&more.latency);
        self.service.add(&more.service);
        self.logged.add(&more.logged);
        let room = DIFFERENCES_MAX.saturating_sub(self.differences.len());
        self.differences.extend(more.differences.into_iter().take(room));
    }

    pub fn to_protocol(&self) -> Replayed {
        let Counts {
            sessions,
            sessions_refused,
            statements,
            left_out,
            errors_alike,
            errors_new,
            errors_missing,
            rows_compared,
            rows_differ,
        } = self.counts;
        Replayed {
            sessions,
            sessions_refused,
            statements,
            left_out,
            errors_alike,
            errors_new,
            errors_missing,
            rows_compared,
            rows_differ,
            latency: self.latency.to_protocol(),
            service: self.service.to_protocol(),
            logged: self.logged.to_protocol(),
            differences: self.differences.clone(),
        }
    }
}
