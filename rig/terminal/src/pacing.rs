//! When the next transaction is due, and which terminals are at work. Pure: no clock, only numbers.
//!
//! Under open loop a class of terminals has one schedule; whichever of its terminals is free takes the next arrival. An
//! arrival keeps its time however late it is taken, so waiting is part of its latency (no coordinated omission).

use protocol::{Arrivals, Leg, RunPlan, Share};
use rand::{RngExt as _, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A height over time: arrivals a second, or terminals at work. It changes evenly within each piece and may jump between two.
#[derive(Debug, Clone)]
pub struct Course(Vec<Piece>);

#[derive(Debug, Clone, Copy)]
struct Piece {
    start_s: f64,
    /// Of the last piece perhaps infinite.
    length_s: f64,
    from: f64,
    to: f64,
    /// The integral of the height up to its start.
    before: f64,
}

impl Piece {
    fn end_s(&self) -> f64 {
        self.start_s + self.length_s
    }

    /// How much the height changes in a second.
    fn slope(&self) -> f64 {
        if self.to == self.from {
            0.0
        } else {
            (self.to - self.from) / self.length_s
        }
    }

    /// The height `after_s` from its start.
    fn height(&self, after_s: f64) -> f64 {
        self.from + self.slope() * after_s
    }

    fn integral(&self, after_s: f64) -> f64 {
        self.from * after_s + self.slope() * after_s * after_s / 2.0
    }

    /// When its own integral comes to `amount`, in seconds from its start: the root of
    /// `from * x + slope * x^2 / 2 = amount`, in the form that does not cancel out.
    fn reaches(&self, amount: f64) -> f64 {
        let root = (self.from * self.from + 2.0 * self.slope() * amount).max(0.0).sqrt();
        2.0 * amount / (self.from + root)
    }
}

impl Course {
    pub fn constant(height: f64) -> Course {
        Course(vec![Piece { start_s: 0.0, length_s: f64::INFINITY, from: height, to: height, before: 0.0 }])
    }

    /// A warm-up at the height with which the first leg begins, then each leg for so many seconds. Nothing comes after.
    pub fn of_legs(warmup_s: f64, legs: &[(f64, Leg)]) -> Course {
        let first = legs.first().map_or(0.0, |(_, leg)| leg.from);
        let (mut start_s, mut before) = (0.0, 0.0);
        let warmup = (warmup_s, Leg { from: first, to: first });
        let pieces = [&warmup].into_iter().chain(legs).map(|&(length_s, Leg { from, to })| {
            let piece = Piece { start_s, length_s, from, to, before };
            before += piece.integral(length_s);
            start_s = piece.end_s();
            piece
        });
        Course(pieces.filter(|piece| piece.length_s > 0.0).collect())
    }

    /// The first moment after which more than `amount` has come, in nanoseconds; none where so much never comes.
    pub fn passes(&self, amount: f64) -> Option<u64> {
        for piece in &self.0 {
            let own = amount - piece.before;
            let whole =
                if piece.length_s.is_infinite() { piece.from * f64::INFINITY } else { piece.integral(piece.length_s) };
            if own < whole {
                let after_s = if own <= 0.0 { 0.0 } else { piece.reaches(own).min(piece.length_s) };
                return Some(((piece.start_s + after_s) * 1e9) as u64);
            }
        }
        None
    }

    /// When the terminal of this rank, the first being 0, is at work from `now_ns` on: now, at a later time, or never.
    /// So many terminals are at work as the height says, rounded, those of low rank.
    pub fn turn(&self, rank: usize, now_ns: u64) -> Option<u64> {
        let (now_s, needed) = (now_ns as f64 / 1e9, rank as f64 + 0.5);
        for piece in self.0.iter().filter(|piece| piece.end_s() > now_s) {
            let after_s = (now_s - piece.start_s).max(0.0);
            if piece.height(after_s) >= needed {
                return Some(now_ns.max((piece.start_s * 1e9).ceil() as u64));
            }
            if piece.to >= needed && piece.slope() > 0.0 {
                let at_s = piece.start_s + (needed - piece.from) / piece.slope();
                return Some(((at_s * 1e9).ceil() as u64).max(now_ns + 1));
            }
        }
        None
    }
}

/// The times of all arrivals, in nanoseconds from the start of the load, one after the other.
///
/// They follow the integral of the rate: fixed arrivals come when it passes 0, 1, 2 and so on, so that in any time there are as
/// many as the integral says; Poisson arrivals when it passes the sums of exponential gaps of mean 1, which is a Poisson
/// process of that rate (inversion; Lewis and Shedler, Naval Research Logistics Quarterly 26 (1979) 403, section 2).
///
/// Where several rigs drive one load, each goes through the whole schedule and takes the arrivals that are dealt to its own
/// terminals.
pub struct Schedule {
    arrivals: Arrivals,
    course: Course,
    passed: f64,
    taken: u64,
    rng: ChaCha8Rng,
    deal: Deal,
}

/// Whose arrivals of a class are: they go to its terminals in turn, and a rig has those of its own.
#[derive(Debug, Clone, Copy)]
pub struct Deal {
    /// The number of the class's first terminal, and how many it has.
    first: u32,
    terminals: u32,
    share: Share,
}

impl Deal {
    pub fn of_class(plan: &RunPlan, class: usize) -> Deal {
        let first = plan.classes.iter().take(class).map(|class| class.terminals).sum();
        let terminals = plan.classes.get(class).map_or(plan.terminals, |class| class.terminals);
        Deal { first, terminals, share: plan.part() }
    }

    fn is_own(&self, arrival: u64) -> bool {
        self.share.holds(self.first + (arrival % u64::from(self.terminals)) as u32)
    }
}

impl Schedule {
    pub fn new(course: Course, arrivals: Arrivals, seed: u64, deal: Deal) -> Schedule {
        Schedule { arrivals, course, passed: 0.0, taken: 0, rng: ChaCha8Rng::seed_from_u64(seed), deal }
    }

    /// The time of the next arrival of this rig; `u64::MAX` where there is none any more.
    pub fn take(&mut self) -> u64 {
        loop {
            let is_own = self.deal.is_own(self.taken);
            let time_ns = self.pass();
            if is_own || time_ns == u64::MAX {
                return time_ns;
            }
        }
    }

    /// The time of the next arrival, whosever it is.
    fn pass(&mut self) -> u64 {
        self.passed = match self.arrivals {
            Arrivals::Fixed => self.taken as f64,
            // 1 - u lies above 0.
            Arrivals::Poisson => self.passed - (1.0 - self.rng.random::<f64>()).ln(),
        };
        self.taken += 1;
        self.course.passes(self.passed).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn schedule(rate: f64, arrivals: Arrivals, seed: u64) -> Schedule {
        Schedule::new(Course::constant(rate), arrivals, seed, WHOLE)
    }

    /// Of a class of one terminal, in one rig.
    const WHOLE: Deal = Deal { first: 0, terminals: 1, share: Share::WHOLE };

    fn legs(of: &[(f64, f64, f64)]) -> Vec<(f64, Leg)> {
        of.iter().map(|&(seconds, from, to)| (seconds, Leg { from, to })).collect()
    }

    #[test]
    fn fixed_arrivals_stand_at_multiples_of_the_gap() {
        for (rate, times) in [
            (1.0, [0, 1_000_000_000, 2_000_000_000, 3_000_000_000]),
            (4.0, [0, 250_000_000, 500_000_000, 750_000_000]),
            (3.0, [0, 333_333_333, 666_666_666, 1_000_000_000]),
        ] {
            let mut schedule = schedule(rate, Arrivals::Fixed, 1);
            assert_eq!([(); 4].map(|()| schedule.take()), times);
        }
    }

    #[test]
    fn arrivals_of_a_ramp_stand_where_the_integral_passes_whole_numbers() {
        // From 0 to 8 in 4 s: t^2 have come after t seconds. Then nothing for a second, then 2 a second.
        let of = legs(&[(4.0, 0.0, 8.0), (1.0, 0.0, 0.0), (1.0, 2.0, 2.0)]);
        let mut schedule = Schedule::new(Course::of_legs(0.0, &of), Arrivals::Fixed, 1, WHOLE);
        let times: Vec<f64> = std::iter::repeat_with(|| schedule.take())
            .take_while(|at| *at < u64::MAX)
            .map(|at| at as f64 / 1e9)
            .collect();
        assert_eq!(times.len(), 18);
        for (k, time) in times[..16].iter().enumerate() {
            assert!((time * time - k as f64).abs() < 1e-6, "{k}: {time}");
        }
        assert_eq!(times[16..], [5.0, 5.5]);
        assert_eq!(schedule.take(), u64::MAX);
    }

    #[test]
    fn terminals_join_and_pause_as_the_course_says() {
        // None, then up to four in 4 s, then two, then four.
        let course = Course::of_legs(1.0, &legs(&[(4.0, 0.0, 4.0), (1.0, 2.0, 2.0), (1.0, 4.0, 4.0)]));
        let s = |seconds: f64| (seconds * 1e9) as u64;
        assert_eq!(course.turn(0, 0), Some(s(1.5)));
        assert_eq!(course.turn(0, s(1.5)), Some(s(1.5)));
        assert_eq!(course.turn(3, 0), Some(s(4.5)));
        assert_eq!(course.turn(3, s(4.75)), Some(s(4.75)));
        assert_eq!(course.turn(3, s(5.0)), Some(s(6.0)));
        assert_eq!(course.turn(1, s(5.5)), Some(s(5.5)));
        assert_eq!(course.turn(4, 0), None);
        assert_eq!(course.turn(0, s(7.0)), None);
    }

    #[test]
    fn poisson_gaps_have_the_mean_and_spread_of_an_exponential() {
        let mut schedule = schedule(1000.0, Arrivals::Poisson, 42);
        let times: Vec<u64> = (0..100_001).map(|_| schedule.take()).collect();
        let gaps: Vec<f64> = times.windows(2).map(|w| (w[1] - w[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let deviation = (gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64).sqrt();
        assert!((mean / 1e6 - 1.0).abs() < 0.02, "{mean}");
        assert!((deviation / mean - 1.0).abs() < 0.02, "{deviation}");
    }

    fn some_legs() -> impl Strategy<Value = Vec<(f64, f64, f64)>> {
        let height = prop_oneof![Just(0.0), 0.0f64..500.0];
        prop::collection::vec((0.1f64..20.0, height.clone(), height), 1..6)
    }

    proptest! {
        #[test]
        fn times_never_go_back_and_repeat_with_the_seed(rate in 0.1f64..1e6, seed: u64, poisson: bool) {
            let kind = if poisson { Arrivals::Poisson } else { Arrivals::Fixed };
            let (mut one, mut two) = (schedule(rate, kind, seed), schedule(rate, kind, seed));
            let mut last = 0;
            for _ in 0..200 {
                let time = one.take();
                prop_assert!(time >= last);
                prop_assert_eq!(time, two.take());
                last = time;
            }
        }

        #[test]
        fn there_are_as_many_arrivals_as_the_integral_of_the_rate(of in some_legs(), warmup_s in 0.0f64..3.0) {
            let course = Course::of_legs(warmup_s, &legs(&of));
            let mut schedule = Schedule::new(course, Arrivals::Fixed, 1, WHOLE);
            let times: Vec<f64> = std::iter::repeat_with(|| schedule.take())
                .take_while(|at| *at < u64::MAX)
                .map(|at| at as f64 / 1e9)
                .collect();
            prop_assert!(times.windows(2).all(|pair| pair[0] <= pair[1]));
            // By the trapezoids alone, at the end of each leg. One arrival may fall on either side of a boundary.
            let (mut end_s, mut whole) = (warmup_s, warmup_s * of[0].1);
            for (seconds, from, to) in of {
                end_s += seconds;
                whole += seconds * (from + to) / 2.0;
                let come = times.iter().filter(|at| **at < end_s).count() as f64;
                prop_assert!((come - whole.ceil()).abs() <= 1.0, "{come} by {end_s}, {whole} wanted");
            }
            prop_assert!((times.len() as f64 - whole.ceil()).abs() <= 1.0);
        }

        #[test]
        fn poisson_arrivals_of_a_ramp_are_as_many_as_its_integral_within_their_spread(of in some_legs(), seed: u64) {
            let whole: f64 = of.iter().map(|(seconds, from, to)| seconds * (from + to) / 2.0).sum();
            let mut schedule = Schedule::new(Course::of_legs(0.0, &legs(&of)), Arrivals::Poisson, seed, WHOLE);
            let come = std::iter::repeat_with(|| schedule.take()).take_while(|at| *at < u64::MAX).count() as f64;
            // Seven standard deviations and the tail of small means.
            prop_assert!((come - whole).abs() <= 7.0 * whole.sqrt() + 20.0, "{come}, {whole} wanted");
        }

        #[test]
        fn the_schedules_of_all_parts_together_are_that_of_one_rig(
            of in some_legs(), seed: u64, poisson: bool, machines in 1u32..6, more in 0u32..9, first in 0u32..7
        ) {
            let kind = if poisson { Arrivals::Poisson } else { Arrivals::Fixed };
            let terminals = machines + more;
            let all = |share: Share| -> Vec<u64> {
                let course = Course::of_legs(0.5, &legs(&of));
                let mut schedule = Schedule::new(course, kind, seed, Deal { first, terminals, share });
                std::iter::repeat_with(|| schedule.take()).take_while(|at| *at < u64::MAX).collect()
            };
            let whole = all(Share::WHOLE);
            let parts: Vec<Vec<u64>> = (0..machines).map(|number| all(Share { number, of: machines })).collect();
            let mut together = parts.concat();
            together.sort_unstable();
            prop_assert_eq!(&together, &whole);
            // Each arrival is where the terminal is whose turn it was.
            let mut left: Vec<_> = parts.iter().map(|part| part.iter()).collect();
            for (arrival, at) in whole.iter().enumerate() {
                let terminal = first + (arrival as u32) % terminals;
                prop_assert_eq!(left[(terminal % machines) as usize].next(), Some(at));
            }
        }

        #[test]
        fn a_terminal_has_the_first_moment_of_its_turn(
            of in prop::collection::vec((0.1f64..5.0, 0u32..8, 0u32..8), 1..6), rank in 0usize..8, part in 0.0f64..1.0
        ) {
            let plain: Vec<(f64, f64, f64)> = of.iter().map(|&(s, from, to)| (s, from.into(), to.into())).collect();
            let course = Course::of_legs(0.0, &legs(&plain));
            let end_s: f64 = plain.iter().map(|leg| leg.0).sum();
            // The rounded height, from the legs alone.
            let at_work = |at_s: f64| {
                let mut start = 0.0;
                for &(seconds, from, to) in &plain {
                    if at_s < start + seconds {
                        return (from + (to - from) * (at_s - start) / seconds + 0.5).floor() as usize;
                    }
                    start += seconds;
                }
                0
            };
            let now_s = part * end_s;
            let turn_s = course.turn(rank, (now_s * 1e9) as u64).map_or(end_s, |at| at as f64 / 1e9);
            prop_assert!(turn_s <= end_s + 1e-6);
            let steps = 400;
            for step in 0..steps {
                let at_s = now_s + (end_s - now_s) * f64::from(step) / f64::from(steps);
                if at_s < turn_s - 1e-6 {
                    prop_assert!(at_work(at_s) <= rank, "at {at_s} before {turn_s}");
                }
            }
            if turn_s + 2e-6 < end_s && course.turn(rank, (now_s * 1e9) as u64).is_some() {
                prop_assert!(at_work(turn_s + 1e-6) > rank || at_work(turn_s) > rank);
            }
        }
    }
}
