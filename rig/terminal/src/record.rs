//! What terminals bring back, and the one result that it comes to.

use crate::series::Series;
use measure::{Latencies, Noted};
use protocol::{
    ArrivalCounts, ClassCount, ClassResult, Counts, Cpu, ErrorSample, Extent, Kind, Pacing, RunPlan, RunResult, Stage,
    StageResult, TerminalClass,
};
use std::collections::BTreeMap;
use transaction::{Acknowledged, Class, KindSpec, Sampled};

/// The pacing of each class in the plan's order; one where all terminals are alike.
pub fn pacings(plan: &RunPlan) -> impl Iterator<Item = &Pacing> {
    let alike = plan.classes.is_empty().then_some(&plan.pacing);
    plan.classes.iter().map(|class| class.pacing.as_ref().unwrap_or(&plan.pacing)).chain(alike)
}

/// What one terminal brings back beside what it has put into the books.
#[derive(Default)]
pub struct Record {
    pub samples: BTreeMap<Class, String>,
    pub acknowledged: Acknowledged,
    pub sampled: Sampled,
    pub noted: Vec<Noted>,
    pub last_end_ns: u64,
}

/// What one class of terminals, or one of them, did in one stage.
#[derive(Default)]
pub struct Tally {
    pub counts: Counts,
    pub classes: BTreeMap<Class, u64>,
    pub latency: Latencies,
    pub service: Latencies,
    pub kinds: Vec<OfKind>,
    pub arrivals: ArrivalCounts,
    /// How late terminals began that were free for an arrival.
    pub lateness: Latencies,
}

impl Tally {
    /// For a workload of so many kinds.
    pub fn new(kinds: usize) -> Tally {
        Tally { kinds: (0..kinds).map(|_| OfKind::default()).collect(), ..Tally::default() }
    }

    pub fn add(&mut self, other: &Tally) {
        let (counts, more) = (&mut self.counts, &other.counts);
        counts.committed += more.committed;
        counts.rolled_back += more.rolled_back;
        counts.conflicts += more.conflicts;
        counts.retries += more.retries;
        counts.given_up += more.given_up;
        counts.errors += more.errors;
        for (class, count) in &other.classes {
            *self.classes.entry(*class).or_default() += count;
        }
        self.latency.add(&other.latency);
        self.service.add(&other.service);
        for (sum, kind) in self.kinds.iter_mut().zip(&other.kinds) {
            sum.add(kind);
        }
        let (arrivals, more) = (&mut self.arrivals, &other.arrivals);
        arrivals.scheduled += more.scheduled;
        arrivals.late += more.late;
        arrivals.unfinished += more.unfinished;
        arrivals.unfinished_wait_ms_max = arrivals.unfinished_wait_ms_max.max(more.unfinished_wait_ms_max);
        self.lateness.add(&other.lateness);
    }

    /// `open`: of terminals that take arrivals of a schedule.
    fn to_protocol(&self, kinds: &[KindSpec], open: bool) -> protocol::Tally {
        let mut counts = self.counts.clone();
        let classes = self.classes.iter();
        counts.classes = classes.map(|(class, &count)| ClassCount { class: class.name().to_string(), count }).collect();
        protocol::Tally {
            counts,
            arrivals: open.then(|| ArrivalCounts { lateness: self.lateness.to_protocol(), ..self.arrivals.clone() }),
            latency: self.latency.to_protocol(),
            service: self.service.to_protocol(),
            kinds: self.kinds.iter().zip(kinds).map(|(kind, spec)| kind.to_protocol(spec)).collect(),
        }
    }
}

/// The tallies of all terminals, by class and stage. Workers have the last class.
pub struct Books(Vec<Vec<Option<Tally>>>);

impl Books {
    pub fn new(classes: usize, stages: usize) -> Books {
        Books((0..=classes).map(|_| (0..stages).map(|_| None).collect()).collect())
    }

    pub fn enter(&mut self, class: usize, stage: usize, tally: Tally) {
        match &mut self.0[class][stage] {
            Some(sum) => sum.add(&tally),
            empty => *empty = Some(tally),
        }
    }

    /// The sum of those that `wanted` names by class and stage.
    fn sum(&self, kinds: usize, wanted: impl Fn(usize, usize) -> bool) -> Tally {
        let mut sum = Tally::new(kinds);
        for (class, stages) in self.0.iter().enumerate() {
            for (stage, tally) in stages.iter().enumerate() {
                if let (Some(tally), true) = (tally, wanted(class, stage)) {
                    sum.add(tally);
                }
            }
        }
        sum
    }
}

/// What one kind of transaction came to.
#[derive(Default)]
pub struct OfKind {
    pub committed: u64,
    pub rolled_back: u64,
    pub conflicts: u64,
    pub given_up: u64,
    pub errors: u64,
    pub latency: Latencies,
}

impl OfKind {
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

pub struct RunLeft<'a> {
    pub plan: &'a RunPlan,
    pub threads: usize,
    pub kinds: &'a [KindSpec],
    pub warmup_ns: u64,
    pub clock_read_ns: f64,
    pub records: Vec<Record>,
    pub books: Books,
    pub series: Series,
    /// User and system seconds of this process.
    pub cpu_before: (f64, f64),
    pub cpu_after: (f64, f64),
}

pub fn summarise(left: RunLeft) -> (RunResult, Acknowledged) {
    let RunLeft { plan, threads, kinds, warmup_ns, clock_read_ns, records, books, series, cpu_before, cpu_after } =
        left;
    let mut samples: BTreeMap<Class, String> = BTreeMap::new();
    let mut acknowledged = Acknowledged::default();
    let mut sampled = Sampled::default();
    let mut last_end_ns = warmup_ns;
    for record in records {
        for (class, message) in record.samples {
            samples.entry(class).or_insert(message);
        }
        acknowledged.add(&record.acknowledged);
        sampled.add(record.sampled);
        last_end_ns = last_end_ns.max(record.last_end_ns);
    }
    // A run by duration lasts at least that long, also when its last transaction ended early (open loop, think time).
    let planned_s = match plan.extent {
        Extent::Duration { seconds } => seconds,
        Extent::Count { .. } => 0.0,
    };
    let measured_s = ((last_end_ns - warmup_ns) as f64 / 1e9).max(planned_s).max(1e-9);
    let any_open = pacings(plan).any(|pacing| !matches!(pacing, Pacing::Closed { .. }));
    let protocol::Tally { counts, arrivals, latency, service, kinds: of_kind } =
        books.sum(kinds.len(), |_, _| true).to_protocol(kinds, any_open);
    let finished = counts.committed + counts.rolled_back + counts.conflicts + counts.errors;
    let per_transaction = |ns: f64| ns / 1e3 / sampled.transactions.max(1) as f64;
    let result = RunResult {
        terminals: plan.part().count(plan.terminals),
        threads: threads as u32,
        warmup_s: warmup_ns as f64 / 1e9,
        measured_s,
        throughput_per_s: finished as f64 / measured_s,
        goodput_per_s: counts.committed as f64 / measured_s,
        counts,
        arrivals,
        latency,
        service,
        kinds: of_kind,
        series: series.finish(warmup_ns as f64 / 1e9, measured_s),
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
        classes: class_results(plan, kinds, &books),
        stages: stage_results(plan, kinds, &books, measured_s, any_open),
        sleepers: None,
        connections: None,
    };
    (result, acknowledged)
}

fn class_results(plan: &RunPlan, kinds: &[KindSpec], books: &Books) -> Vec<ClassResult> {
    let of = |(at, class): (usize, &TerminalClass)| {
        let open = !matches!(class.pacing.as_ref().unwrap_or(&plan.pacing), Pacing::Closed { .. });
        let tally = books.sum(kinds.len(), |class, _| class == at).to_protocol(kinds, open);
        ClassResult { name: class.name.clone(), terminals: plan.own_terminals_of(at), tally }
    };
    plan.classes.iter().enumerate().map(of).collect()
}

fn stage_results(
    plan: &RunPlan,
    kinds: &[KindSpec],
    books: &Books,
    measured_s: f64,
    any_open: bool,
) -> Vec<StageResult> {
    let mut at_s = 0.0;
    let last = plan.stages.len().saturating_sub(1);
    let of = |(at, stage): (usize, &Stage)| {
        let begins_s = at_s;
        at_s += stage.seconds;
        let sum = |of: fn(&protocol::Leg) -> f64| stage.legs.iter().map(of).sum();
        StageResult {
            at_s: begins_s,
            length_s: if at == last { measured_s - begins_s } else { stage.seconds },
            from: sum(|leg| leg.from),
            to: sum(|leg| leg.to),
            tally: books.sum(kinds.len(), |_, stage| stage == at).to_protocol(kinds, any_open),
        }
    };
    plan.stages.iter().enumerate().map(of).collect()
}
