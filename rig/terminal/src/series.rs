//! What happened in each second. Each terminal keeps the second it is in; when that second is over it hands it on, and the
//! seconds of all terminals are merged away from the measured path.

use hdrhistogram::Histogram;
use protocol::{Second, SharedSecond};
use std::collections::BTreeMap;

const SECOND_NS: i64 = 1_000_000_000;

/// One terminal's part of one second.
pub type Part = SharedSecond;

/// Collects one terminal's current second. Two significant figures: enough for a line in a plot.
pub struct Collector {
    second: i64,
    committed: u64,
    conflicts: u64,
    errors: u64,
    latencies: Histogram<u64>,
}

pub enum Happened {
    Committed { latency_ns: u64 },
    Conflict,
    Error,
}

impl Collector {
    pub fn new() -> Collector {
        let mut latencies = Histogram::new(2).expect("two figures are allowed");
        // Grown now, so that no transaction up to ten seconds pays for it.
        latencies.record(10_000_000_000).expect("the histogram resizes");
        latencies.reset();
        Collector { second: i64::MIN, committed: 0, conflicts: 0, errors: 0, latencies }
    }

    /// Notes what happened `at_ns` from the start of the measurement; answers the second before if it is over.
    pub fn note(&mut self, at_ns: i64, what: &Happened) -> Option<Part> {
        let second = at_ns.div_euclid(SECOND_NS);
        let over = if second == self.second { None } else { self.take() };
        self.second = second;
        match what {
            Happened::Committed { latency_ns } => {
                self.committed += 1;
                self.latencies.record((*latency_ns).max(1)).expect("the histogram resizes");
            }
            Happened::Conflict => self.conflicts += 1,
            Happened::Error => self.errors += 1,
        }
        over
    }

    /// The second so far, which then is empty.
    pub fn take(&mut self) -> Option<Part> {
        if self.committed + self.conflicts + self.errors == 0 {
            return None;
        }
        let part = Part {
            second: self.second,
            committed: self.committed,
            conflicts: self.conflicts,
            errors: self.errors,
            latencies: self.latencies.iter_recorded().map(|v| (v.value_iterated_to(), v.count_at_value())).collect(),
            latency_ns_max: self.latencies.max(),
        };
        (self.committed, self.conflicts, self.errors) = (0, 0, 0);
        self.latencies.reset();
        Some(part)
    }
}

/// The seconds of all terminals, counted from one origin.
#[derive(Default)]
pub struct Series(BTreeMap<i64, Merged>);

#[derive(Default)]
struct Merged {
    committed: u64,
    conflicts: u64,
    errors: u64,
    latencies: BTreeMap<u64, u64>,
    latency_ns_max: u64,
}

impl Merged {
    fn of_second(&self, second: i64) -> SharedSecond {
        let Merged { committed, conflicts, errors, latency_ns_max, .. } = *self;
        let latencies = self.latencies.iter().map(|(&value, &count)| (value, count)).collect();
        SharedSecond { second, committed, conflicts, errors, latencies, latency_ns_max }
    }
}

impl Series {
    pub fn add(&mut self, part: Part) {
        let merged = self.0.entry(part.second).or_default();
        merged.committed += part.committed;
        merged.conflicts += part.conflicts;
        merged.errors += part.errors;
        merged.latency_ns_max = merged.latency_ns_max.max(part.latency_ns_max);
        for (value, count) in part.latencies {
            *merged.latencies.entry(value).or_default() += count;
        }
    }

    /// The seconds in which something ended, to be put together with those of other rigs.
    pub fn shared(&self) -> Vec<SharedSecond> {
        self.0.iter().map(|(&second, merged)| merged.of_second(second)).collect()
    }

    /// The same seconds, counted from an origin that many seconds earlier.
    pub fn counted_from_earlier(self, seconds: u64) -> Series {
        Series(self.0.into_iter().map(|(second, merged)| (second + seconds as i64, merged)).collect())
    }

    /// Every second from the start of the warm-up to the end, seconds in which nothing ended included: a stall shows.
    pub fn finish(mut self, warmup_s: f64, measured_s: f64) -> Vec<Second> {
        let first = -(warmup_s.ceil() as i64);
        // The measurement ends with its last transaction, a little after the planned end: that makes no second of its own.
        let last = ((measured_s - 0.05).ceil() as i64 - 1).max(0);
        for (_, merged) in self.0.split_off(&(last + 1)) {
            self.add(merged.of_second(last));
        }
        let mut merged = self.0;
        (first..=last)
            .map(|second| {
                let totals = merged.remove(&second).unwrap_or_default();
                let start = (second as f64).max(-warmup_s);
                let end = if second == last {
                    measured_s
                } else {
                    (second as f64 + 1.0).min(if second < 0 { 0.0 } else { measured_s })
                };
                Second {
                    at_s: start,
                    length_s: (end - start).max(0.0),
                    committed: totals.committed,
                    conflicts: totals.conflicts,
                    errors: totals.errors,
                    latency_ns_p50: quantile(&totals.latencies, 0.50),
                    latency_ns_p99: quantile(&totals.latencies, 0.99),
                    latency_ns_max: totals.latency_ns_max,
                }
            })
            .collect()
    }
}

/// The smallest value that at least `part` of all values do not exceed; 0 when there is none.
fn quantile(latencies: &BTreeMap<u64, u64>, part: f64) -> u64 {
    let total: u64 = latencies.values().sum();
    let wanted = (total as f64 * part).ceil() as u64;
    let mut seen = 0;
    for (&value, &count) in latencies {
        seen += count;
        if seen >= wanted {
            return value;
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn committed(latency_ns: u64) -> Happened {
        Happened::Committed { latency_ns }
    }

    #[test]
    fn seconds_are_distinguished_and_warm_up_is_negative() {
        let mut collector = Collector::new();
        let mut series = Series::default();
        for (at_ns, what) in [
            (-1_500_000_000, committed(10)),
            (-1, committed(20)),
            (0, committed(30)),
            (999_999_999, Happened::Conflict),
            (1_000_000_000, Happened::Error),
            (3_200_000_000, committed(40)),
        ] {
            collector.note(at_ns, &what).into_iter().for_each(|part| series.add(part));
        }
        collector.take().into_iter().for_each(|part| series.add(part));
        let seconds = series.finish(1.5, 3.4);
        let shown: Vec<_> = seconds.iter().map(|s| (s.at_s, s.committed, s.conflicts, s.errors)).collect();
        assert_eq!(
            shown,
            [(-1.5, 1, 0, 0), (-1.0, 1, 0, 0), (0.0, 1, 1, 0), (1.0, 0, 0, 1), (2.0, 0, 0, 0), (3.0, 1, 0, 0)]
        );
        assert!((seconds[0].length_s - 0.5).abs() < 1e-9);
        assert!((seconds[5].length_s - 0.4).abs() < 1e-9);
    }

    #[test]
    fn seconds_that_were_warm_up_by_plan_belong_to_a_measurement_that_began_earlier() {
        let mut collector = Collector::new();
        let mut series = Series::default();
        // Planned to begin after 10 s, begun after 3.
        for second in 0..6 {
            let at_ns = (second - 10) * SECOND_NS + 1;
            collector.note(at_ns, &committed(10)).into_iter().for_each(|part| series.add(part));
        }
        collector.take().into_iter().for_each(|part| series.add(part));
        let seconds = series.counted_from_earlier(7).finish(3.0, 3.0);
        let shown: Vec<_> = seconds.iter().map(|s| (s.at_s, s.committed)).collect();
        assert_eq!(shown, [(-3.0, 1), (-2.0, 1), (-1.0, 1), (0.0, 1), (1.0, 1), (2.0, 1)]);
    }

    #[test]
    fn terminals_merge_and_quantiles_are_of_all() {
        let mut series = Series::default();
        for terminal in 0..2u64 {
            let mut collector = Collector::new();
            for n in 0..50 {
                assert!(collector.note(0, &committed(1 + terminal * 50 + n)).is_none());
            }
            series.add(collector.take().unwrap());
        }
        let second = &series.finish(0.0, 1.0)[0];
        assert_eq!(
            (second.committed, second.latency_ns_p50, second.latency_ns_p99, second.latency_ns_max),
            (100, 50, 99, 100)
        );
    }
}
