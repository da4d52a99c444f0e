//! What terminals bring back, and the one result that it comes to.

use crate::series::Series;
use measure::{Latencies, Noted};
use protocol::{ArrivalCounts, ClassCount, Counts, Cpu, ErrorSample, Extent, Kind, RunPlan, RunResult};
use std::collections::BTreeMap;
use transaction::{Acknowledged, Class, KindSpec, Sampled};

/// What one terminal brings back.
pub struct Record {
    pub counts: Counts,
    pub classes: BTreeMap<Class, u64>,
    pub samples: BTreeMap<Class, String>,
    pub latency: Latencies,
    pub service: Latencies,
    pub kinds: Vec<OfKind>,
    pub arrivals: ArrivalCounts,
    pub acknowledged: Acknowledged,
    pub sampled: Sampled,
    pub noted: Vec<Noted>,
    pub last_end_ns: u64,
}

impl Record {
    /// For a workload of so many kinds.
    pub fn new(kinds: usize) -> Record {
        Record {
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
        }
    }
}

/// What one kind of transaction came to.
pub struct OfKind {
    pub committed: u64,
    pub rolled_back: u64,
    pub conflicts: u64,
    pub given_up: u64,
    pub errors: u64,
    pub latency: Latencies,
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

#[allow(clippy::too_many_arguments, reason = "called once, with what the run left")]
pub fn summarise(
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
