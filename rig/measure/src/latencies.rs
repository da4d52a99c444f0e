//! Latencies as HDR histograms: three significant figures at any size. The range grows with what is recorded, so a slow
//! transaction is never clamped to a ceiling.

use hdrhistogram::Histogram;

pub struct Latencies(Histogram<u64>);

impl Default for Latencies {
    fn default() -> Latencies {
        let mut histogram = Histogram::new(3).expect("three figures are allowed");
        // Grown now, so that no transaction up to ten seconds pays for it; longer ones still make it grow.
        histogram.record(10_000_000_000).expect("the histogram resizes");
        histogram.reset();
        Latencies(histogram)
    }
}

impl Latencies {
    pub fn new() -> Latencies {
        Latencies::default()
    }

    /// `ns` up to `u64::MAX / 2`, some 290 years.
    pub fn record(&mut self, ns: u64) {
        self.0.record(ns.max(1)).expect("the histogram resizes");
    }

    pub fn add(&mut self, other: &Latencies) {
        self.0.add(&other.0).expect("the histogram resizes");
    }

    pub fn to_protocol(&self) -> protocol::Histogram {
        protocol::Histogram {
            count: self.0.len(),
            min_ns: if self.0.is_empty() { 0 } else { self.0.min() },
            max_ns: self.0.max(),
            mean_ns: self.0.mean(),
            buckets: self.0.iter_recorded().map(|v| (v.value_iterated_to(), v.count_at_value())).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_value_keeps_three_figures_and_none_is_lost(values in prop::collection::vec(1u64..(1 << 60), 1..200)) {
            let mut latencies = Latencies::new();
            for &value in &values {
                latencies.record(value);
            }
            let shown = latencies.to_protocol();
            prop_assert_eq!(shown.count, values.len() as u64);
            prop_assert_eq!(shown.buckets.iter().map(|b| b.1).sum::<u64>(), shown.count);
            let mut sorted = values.clone();
            sorted.sort_unstable();
            let spread = shown.buckets.iter().flat_map(|&(v, n)| std::iter::repeat_n(v, n as usize));
            for (bucket, value) in spread.zip(&sorted) {
                prop_assert!(bucket >= *value);
                prop_assert!((bucket - value) as f64 <= *value as f64 / 1000.0 + 1.0);
            }
            prop_assert!(shown.max_ns >= *sorted.last().unwrap());
        }
    }

    proptest! {
        #[test]
        fn buckets_added_one_by_one_are_those_of_one_histogram(
            parts in prop::collection::vec(prop::collection::vec(1u64..(1 << 50), 0..60), 1..5)
        ) {
            let mut whole = Latencies::new();
            let mut sum = std::collections::BTreeMap::new();
            for part in &parts {
                let mut latencies = Latencies::new();
                for &value in part {
                    latencies.record(value);
                    whole.record(value);
                }
                for (value, count) in latencies.to_protocol().buckets {
                    *sum.entry(value).or_insert(0u64) += count;
                }
            }
            prop_assert_eq!(sum.into_iter().collect::<Vec<_>>(), whole.to_protocol().buckets);
        }
    }

    #[test]
    fn an_hour_is_not_clamped() {
        let mut latencies = Latencies::new();
        latencies.record(3_600_000_000_000);
        assert!(latencies.to_protocol().max_ns >= 3_600_000_000_000);
    }

    #[test]
    fn adding_is_recording_both() {
        let (mut one, mut two, mut both) = (Latencies::new(), Latencies::new(), Latencies::new());
        for n in 1..1000u64 {
            one.record(n * 1_000);
            two.record(n * 1_000_000_000);
            both.record(n * 1_000);
            both.record(n * 1_000_000_000);
        }
        one.add(&two);
        assert_eq!(one.to_protocol().buckets, both.to_protocol().buckets);
    }
}
