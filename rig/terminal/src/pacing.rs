//! When the next transaction is due. Pure: no clock, only numbers.
//!
//! Under open loop there is one schedule for all terminals together; whichever terminal is free takes the next arrival.
//! An arrival keeps its time however late it is taken, so waiting is part of its latency (no coordinated omission).

use protocol::Arrivals;
use rand::{RngExt as _, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The times of all arrivals, in nanoseconds from the start of the load, one after the other.
pub struct Schedule {
    arrivals: Arrivals,
    gap_ns: f64,
    last_ns: f64,
    taken: u64,
    rng: ChaCha8Rng,
}

impl Schedule {
    /// `rate_per_s` must be above 0.
    pub fn new(rate_per_s: f64, arrivals: Arrivals, seed: u64) -> Schedule {
        Schedule { arrivals, gap_ns: 1e9 / rate_per_s, last_ns: 0.0, taken: 0, rng: ChaCha8Rng::seed_from_u64(seed) }
    }

    /// The time of the next arrival. Fixed arrivals are counted from the start and do not drift; the gaps of Poisson
    /// arrivals are exponential: `-ln(1 - u) / rate`.
    pub fn take(&mut self) -> u64 {
        self.last_ns = match self.arrivals {
            Arrivals::Fixed => self.taken as f64 * self.gap_ns,
            Arrivals::Poisson => self.last_ns - (1.0 - self.rng.random::<f64>()).ln() * self.gap_ns,
        };
        self.taken += 1;
        self.last_ns as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fixed_arrivals_stand_at_multiples_of_the_gap() {
        for (rate, times) in [
            (1.0, [0, 1_000_000_000, 2_000_000_000, 3_000_000_000]),
            (4.0, [0, 250_000_000, 500_000_000, 750_000_000]),
            (3.0, [0, 333_333_333, 666_666_666, 1_000_000_000]),
        ] {
            let mut schedule = Schedule::new(rate, Arrivals::Fixed, 1);
            assert_eq!([(); 4].map(|()| schedule.take()), times);
        }
    }

    #[test]
    fn poisson_gaps_have_the_mean_and_spread_of_an_exponential() {
        let mut schedule = Schedule::new(1000.0, Arrivals::Poisson, 42);
        let times: Vec<u64> = (0..100_001).map(|_| schedule.take()).collect();
        let gaps: Vec<f64> = times.windows(2).map(|w| (w[1] - w[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let deviation = (gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64).sqrt();
        assert!((mean / 1e6 - 1.0).abs() < 0.02, "{mean}");
        assert!((deviation / mean - 1.0).abs() < 0.02, "{deviation}");
    }

    proptest! {
        #[test]
        fn times_never_go_back_and_repeat_with_the_seed(rate in 0.1f64..1e6, seed: u64, poisson: bool) {
            let kind = if poisson { Arrivals::Poisson } else { Arrivals::Fixed };
            let (mut one, mut two) = (Schedule::new(rate, kind, seed), Schedule::new(rate, kind, seed));
            let mut last = 0;
            for _ in 0..200 {
                let time = one.take();
                prop_assert!(time >= last);
                prop_assert_eq!(time, two.take());
                last = time;
            }
        }
    }
}
