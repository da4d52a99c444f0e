//! What a replay comes to, beside the transactions.

use measure::Latencies;
use protocol::Replayed;

/// So many are listed.
const DIFFERENCES_MAX: usize = 20;

/// How long one statement took, in nanoseconds; see [`Replayed`].
pub struct Times {
    pub latency: u64,
    pub service: u64,
    pub logged: Option<u64>,
}

/// One attempt at a transaction.
#[derive(Default)]
pub struct Tried {
    pub counts: Replayed,
    pub times: Vec<Times>,
}

impl Tried {
    pub fn clear(&mut self) {
        self.counts = Replayed::default();
        self.times.clear();
    }
}

#[derive(Default)]
pub struct Totals {
    /// Without the histograms.
    pub counts: Replayed,
    latency: Latencies,
    service: Latencies,
    logged: Latencies,
}

impl Totals {
    /// Takes over what one attempt came to.
    pub fn take(&mut self, tried: &mut Tried) {
        for times in tried.times.drain(..) {
            self.latency.record(times.latency);
            self.service.record(times.service);
            if let Some(logged) = times.logged {
                self.logged.record(logged);
            }
        }
        self.count(std::mem::take(&mut tried.counts));
    }

    pub fn add(&mut self, more: Totals) {
        self.latency.add(&more.latency);
        self.service.add(&more.service);
        self.logged.add(&more.logged);
        self.count(more.counts);
    }

    fn count(&mut self, more: Replayed) {
        let counts = &mut self.counts;
        counts.sessions += more.sessions;
        counts.sessions_refused += more.sessions_refused;
        counts.statements += more.statements;
        counts.left_out += more.left_out;
        counts.errors_alike += more.errors_alike;
        counts.errors_new += more.errors_new;
        counts.errors_missing += more.errors_missing;
        counts.rows_compared += more.rows_compared;
        counts.rows_differ += more.rows_differ;
        let room = DIFFERENCES_MAX.saturating_sub(counts.differences.len());
        counts.differences.extend(more.differences.into_iter().take(room));
    }

    pub fn to_protocol(&self) -> Replayed {
        Replayed {
            latency: self.latency.to_protocol(),
            service: self.service.to_protocol(),
            logged: self.logged.to_protocol(),
            ..self.counts.clone()
        }
    }
}
