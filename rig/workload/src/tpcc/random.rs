//! Random choices as the specification makes them.

use super::scale::Scale;
use rand::{RngExt as _, SeedableRng as _};
use transaction::Rng;

/// Non-uniform within `low..=high` (clause 2.1.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct NonUniform {
    a: i64,
    c: i64,
    low: i64,
    high: i64,
}

impl NonUniform {
    /// `many` numbers, with the clause's A and a C for it. The numbers form equal patterns of A + 1, in which some are
    /// drawn far oftener than others. Fewer numbers are fewer patterns, which leaves the skew as it is; where not even one
    /// is left, the pattern is halved until it fits, and its C with it.
    fn of(a: i64, c: i64, low: i64, many: i64) -> NonUniform {
        let mut fitting = a;
        while fitting >= many {
            fitting /= 2;
        }
        NonUniform { a: fitting, c: c * (fitting + 1) / (a + 1), low, high: low + many - 1 }
    }

    fn draw(&self, rng: &mut Rng) -> i64 {
        let NonUniform { a, c, low, high } = *self;
        ((rng.random_range(0..=a) | rng.random_range(low..=high)) + c) % (high - low + 1) + low
    }
}

/// What is chosen by NURand, with the constants C, the same for all terminals of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Constants {
    last: NonUniform,
    customer: NonUniform,
    item: NonUniform,
}

/// C-Load. Loading and running are done by different processes, so that it cannot be drawn; it leaves C-Run both ways.
const LAST_LOAD: i64 = 123;

impl Constants {
    fn new(scale: Scale, last: i64, customer: i64, item: i64) -> Constants {
        Constants {
            last: NonUniform::of(255, last, 0, scale.names()),
            customer: NonUniform::of(1023, customer, 1, scale.customers()),
            item: NonUniform::of(8191, item, 1, scale.items()),
        }
    }

    pub fn of_load(scale: Scale) -> Constants {
        Constants::new(scale, LAST_LOAD, 0, 0)
    }

    /// Those of a run. C-Run is 65 to 119 away from C-Load, but neither 96 nor 112 (clause 2.1.6.1).
    pub fn of_run(scale: Scale, seed: u64) -> Constants {
        let mut rng = Rng::seed_from_u64(seed);
        rng.set_stream(u64::MAX);
        let delta = loop {
            let delta = rng.random_range(65..=119);
            if delta != 96 && delta != 112 {
                break delta;
            }
        };
        let last = if rng.random_bool(0.5) { LAST_LOAD + delta } else { LAST_LOAD - delta };
        let (customer, item) = (rng.random_range(0..=1023), rng.random_range(0..=8191));
        Constants::new(scale, last, customer, item)
    }

    /// The number of a last name (see [`last_name`]).
    pub fn name(&self, rng: &mut Rng) -> i64 {
        self.last.draw(rng)
    }

    pub fn customer(&self, rng: &mut Rng) -> i64 {
        self.customer.draw(rng)
    }

    pub fn item(&self, rng: &mut Rng) -> i64 {
        self.item.draw(rng)
    }
}

const SYLLABLES: [&str; 10] = ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];

/// One syllable a digit (clause 4.3.2.3).
pub fn last_name(number: i64) -> String {
    [number / 100, number / 10 % 10, number % 10].map(|digit| SYLLABLES[digit as usize]).concat()
}

/// Uniformly a warehouse other than `home`; `home` if there is no other.
pub fn other(rng: &mut Rng, home: i64, warehouses: i64) -> i64 {
    if warehouses == 1 {
        return home;
    }
    let other = rng.random_range(1..warehouses);
    if other < home {
        other
    } else {
        other + 1
    }
}

/// 1 to `many` in random order.
pub fn permutation(rng: &mut Rng, many: i64) -> Vec<i64> {
    let mut numbers: Vec<i64> = (1..=many).collect();
    for left in (1..numbers.len()).rev() {
        numbers.swap(left, rng.random_range(0..=left));
    }
    numbers
}

/// Characters of random texts. Of one case, so that every engine's collation sorts customers alike.
const ALPHABET: &[u8; 36] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const POOL: usize = 1 << 17;
const LENGTH_MAX: usize = 500;

/// Random text to cut random pieces from: drawing each character would cost more than some engines take to store it.
pub struct Texts(String);

impl Texts {
    pub fn new(seed: u64) -> Texts {
        let mut rng = Rng::seed_from_u64(seed);
        rng.set_stream(u64::MAX - 1);
        let mut letter = || char::from(ALPHABET[rng.random_range(0..ALPHABET.len())]);
        Texts((0..POOL + LENGTH_MAX).map(|_| letter()).collect())
    }

    /// `min..=max` characters (clause 4.3.2.2).
    pub fn cut(&self, rng: &mut Rng, min: usize, max: usize) -> &str {
        let length = if min == max { min } else { rng.random_range(min..=max) };
        let start = rng.random_range(0..POOL);
        &self.0[start..start + length]
    }
}

/// A terminal's deck of 23 cards (clause 5.2.4.2), drawn from at random until it is empty.
#[derive(Debug, Clone)]
pub struct Deck {
    cards: [usize; 23],
    left: usize,
}

impl Deck {
    /// `cards` says how often each kind is in the deck.
    pub fn new(cards: [usize; 5]) -> Deck {
        let mut deck = Deck { cards: [0; 23], left: 23 };
        let kinds = cards.into_iter().enumerate().flat_map(|(kind, many)| std::iter::repeat_n(kind, many));
        deck.cards.iter_mut().zip(kinds).for_each(|(card, kind)| *card = kind);
        deck
    }

    pub fn draw(&mut self, rng: &mut Rng) -> usize {
        if self.left == 0 {
            self.left = self.cards.len();
        }
        let card = rng.random_range(0..self.left);
        self.left -= 1;
        self.cards.swap(card, self.left);
        self.cards[self.left]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rng() -> Rng {
        Rng::seed_from_u64(7)
    }

    #[test]
    fn nurand_covers_its_range_and_prefers_some() {
        let (mut rng, constants) = (rng(), Constants::of_run(Scale::WHOLE, 1));
        let mut seen = vec![0u32; 3_001];
        for _ in 0..600_000 {
            seen[constants.customer(&mut rng) as usize] += 1;
            assert!((1..=100_000).contains(&constants.item(&mut rng)));
            assert!((0..1_000).contains(&constants.name(&mut rng)));
        }
        assert_eq!(seen[0], 0);
        // Uniform draws would come 200 times each, at most some 280.
        let favourite = seen.iter().max().expect("customers");
        assert!(*favourite > 1_000, "{favourite}");
        assert!(seen[1..].iter().filter(|&&many| many < 100).count() > 1_000);
    }

    #[test]
    fn nurand_is_the_formula() {
        // All 8 by 8 pairs of random(0, 7) | random(0, 7), shifted by C = 3 within 0..=7: 27 of 64 are all ones.
        let mut rng = rng();
        let mut seen = [0u32; 8];
        (0..64_000).for_each(|_| seen[NonUniform::of(7, 3, 0, 8).draw(&mut rng) as usize] += 1);
        for (value, count) in seen.into_iter().enumerate() {
            // A bit is set in three of four pairs.
            let unshifted = (value + 8 - 3) % 8;
            let wanted = 3u32.pow(unshifted.count_ones()) * 1_000;
            assert!((f64::from(count) / f64::from(wanted) - 1.0).abs() < 0.15, "{value}: {count}, {wanted}");
        }
    }

    /// Of the draws, those that go to the fifth of all numbers that is drawn most.
    fn to_the_favourite_fifth(draw: impl Fn(&mut Rng) -> i64, many: i64) -> f64 {
        let mut rng = rng();
        let mut seen = vec![0u32; many as usize + 1];
        let draws = 400 * many as usize;
        (0..draws).for_each(|_| seen[draw(&mut rng) as usize] += 1);
        seen.sort_unstable_by(|one, other| other.cmp(one));
        f64::from(seen[..many as usize / 5].iter().sum::<u32>()) / draws as f64
    }

    #[test]
    fn a_smaller_warehouse_has_its_favourites_too() {
        // At 100 percent 84 of 100 items, 79 of 100 customers.
        for (percent, items, customers) in [(1, 0.75, 0.53), (5, 0.81, 0.67), (10, 0.82, 0.69)] {
            let scale = Scale { percent };
            let constants = Constants::of_run(scale, 1);
            let (a, a_customer) = (constants.item.a, constants.customer.a);
            assert!(a < scale.items() && (a == 8191 || 2 * a + 1 >= scale.items()), "{constants:?}");
            assert!(a_customer < scale.customers() && 2 * a_customer + 1 >= scale.customers(), "{constants:?}");
            let share = to_the_favourite_fifth(|rng| constants.item(rng), scale.items());
            assert!((share - items).abs() < 0.015, "{percent}: {share}");
            let share = to_the_favourite_fifth(|rng| constants.customer(rng), scale.customers());
            assert!((share - customers).abs() < 0.015, "{percent}: {share}");
            let mut rng = rng();
            let mut names: Vec<_> = (0..2_000).map(|_| constants.name(&mut rng)).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!((names[0], *names.last().expect("names")), (0, scale.names() - 1));
        }
        for percent in 1..=100 {
            let scale = Scale { percent };
            for seed in 0..50 {
                let constants = Constants::of_run(scale, seed);
                assert_ne!(constants.last.c, Constants::of_load(scale).last.c, "{percent}");
                for chosen in [constants.last, constants.customer, constants.item] {
                    assert!((0..=chosen.a).contains(&chosen.c) && (chosen.a + 1).count_ones() == 1, "{chosen:?}");
                }
            }
        }
    }

    #[test]
    fn the_run_constant_keeps_its_distance_from_that_of_the_load() {
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..5_000 {
            let constants = Constants::of_run(Scale::WHOLE, seed);
            let delta = (constants.last.c - Constants::of_load(Scale::WHOLE).last.c).abs();
            assert!((65..=119).contains(&delta) && delta != 96 && delta != 112, "{delta}");
            assert!((0..=255).contains(&constants.last.c));
            assert!((0..=1023).contains(&constants.customer.c) && (0..=8191).contains(&constants.item.c));
            assert_eq!(constants, Constants::of_run(Scale::WHOLE, seed));
            seen.insert(constants.last.c);
        }
        assert_eq!(seen.len(), 2 * 53, "every one that is allowed");
    }

    #[test]
    fn last_names_have_a_syllable_for_each_digit() {
        assert_eq!(last_name(0), "BARBARBAR");
        assert_eq!(last_name(371), "PRICALLYOUGHT");
        assert_eq!(last_name(40), "BARPRESBAR");
        assert_eq!(last_name(999), "EINGEINGEING");
        let all: std::collections::BTreeSet<_> = (0..1_000).map(last_name).collect();
        assert_eq!(all.len(), 1_000);
        assert!(all.iter().all(|name| name.len() <= 16));
    }

    #[test]
    fn a_permutation_holds_each_number_once() {
        let mut numbers = permutation(&mut rng(), 3_000);
        assert!((1..=3_000).zip(&numbers).filter(|(at, number)| at == *number).count() < 20);
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(1..=3_000));
    }

    #[test]
    fn another_warehouse_is_never_home_unless_it_is_the_only_one() {
        let mut rng = rng();
        assert_eq!(other(&mut rng, 1, 1), 1);
        for home in 1..=4 {
            let mut seen: Vec<_> = (0..200).map(|_| other(&mut rng, home, 4)).collect();
            seen.sort_unstable();
            seen.dedup();
            assert!(seen.into_iter().eq((1..=4).filter(|&warehouse| warehouse != home)));
        }
    }

    #[test]
    fn each_pass_through_a_deck_has_its_cards_in_another_order() {
        let mut rng = rng();
        let mut deck = Deck::new([10, 10, 1, 1, 1]);
        let passes: Vec<Vec<usize>> = (0..200).map(|_| (0..23).map(|_| deck.draw(&mut rng)).collect()).collect();
        for pass in &passes {
            for (kind, many) in [10, 10, 1, 1, 1].into_iter().enumerate() {
                assert_eq!(pass.iter().filter(|&&card| card == kind).count(), many);
            }
        }
        assert!(passes.windows(2).all(|pair| pair[0] != pair[1]));
        // Anything may come first.
        assert!((0..5).all(|kind| passes.iter().any(|pass| pass[0] == kind)));
    }

    #[test]
    fn texts_are_of_the_lengths_asked_for_and_seldom_the_same() {
        let (mut rng, texts) = (rng(), Texts::new(3));
        let cut: Vec<_> = (0..2_000).map(|_| texts.cut(&mut rng, 300, 500)).collect();
        assert!(cut.iter().all(|text| (300..=500).contains(&text.len())));
        assert!([300, 500].into_iter().all(|length| cut.iter().any(|text| text.len() == length)));
        let distinct: std::collections::BTreeSet<_> = cut.iter().collect();
        assert!(distinct.len() > 1_990);
        assert_eq!(Texts::new(3).0, texts.0);
        assert_ne!(Texts::new(4).0, texts.0);
    }
}
