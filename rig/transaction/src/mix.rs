//! A mix of kinds of transactions, drawn by weight.

use crate::{KindSpec, Rng};
use protocol::TerminalClass;
use rand::RngExt as _;

/// Draws kinds at random, each as often as its weight says.
#[derive(Debug, Clone, PartialEq)]
pub struct Mix {
    /// Of each kind its own weight and those of the kinds before it.
    sums: Vec<f64>,
}

impl Mix {
    /// The mix of a class, whose weights are those of `kinds` by name; none where the class has the workload's own.
    pub fn of(class: Option<&TerminalClass>, kinds: &[KindSpec]) -> Option<Mix> {
        let mix = &class?.mix;
        if mix.is_empty() {
            return None;
        }
        Some(Mix::by_weights(kinds.iter().map(|kind| mix.get(kind.name).copied().unwrap_or(0.0))))
    }

    /// The mix in which each kind, in its order, has this weight.
    pub fn by_weights(weights: impl IntoIterator<Item = f64>) -> Mix {
        let mut sum = 0.0;
        let sums = weights.into_iter().map(|weight| {
            sum += weight;
            sum
        });
        Mix { sums: sums.collect() }
    }

    /// What in the mix of a class cannot be followed: a kind that is none of `kinds`.
    pub fn flaw(class: &TerminalClass, kinds: &[KindSpec]) -> Option<String> {
        let unknown = class.mix.keys().find(|name| kinds.iter().all(|kind| kind.name != name.as_str()))?;
        let names: Vec<_> = kinds.iter().map(|kind| kind.name).collect();
        Some(format!("mix of class {}: {unknown} is none of {}", class.name, names.join(", ")))
    }

    /// The place of a kind. One without a weight is never drawn.
    pub fn draw(&self, rng: &mut Rng) -> usize {
        let whole = self.sums.last().copied().unwrap_or(0.0);
        // Below the whole, so that a kind with a weight is found.
        let at = rng.random::<f64>() * whole;
        self.sums.iter().position(|&sum| at < sum).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng as _;

    const KINDS: [KindSpec; 3] = KindSpec::without_limits(["a", "b", "c"]);

    fn class(mix: &[(&str, f64)]) -> TerminalClass {
        TerminalClass {
            name: "x".to_string(),
            terminals: 1,
            pacing: None,
            mix: mix.iter().map(|(name, weight)| (name.to_string(), *weight)).collect(),
            parameters: Default::default(),
        }
    }

    #[test]
    fn kinds_are_drawn_as_often_as_they_weigh() {
        let mix = Mix::of(Some(&class(&[("c", 3.0), ("a", 1.0)])), &KINDS).unwrap();
        let mut rng = Rng::seed_from_u64(5);
        let mut seen = [0u32; 3];
        (0..40_000).for_each(|_| seen[mix.draw(&mut rng)] += 1);
        assert_eq!(seen[1], 0);
        // Four standard deviations of a binomial of 40,000 and a quarter are 350.
        assert!(seen[0].abs_diff(10_000) < 350, "{seen:?}");
    }

    #[test]
    fn a_class_without_a_mix_has_the_workloads_own_and_an_unknown_kind_is_refused() {
        assert_eq!(Mix::of(Some(&class(&[])), &KINDS), None);
        assert_eq!(Mix::of(None, &KINDS), None);
        assert_eq!(Mix::flaw(&class(&[("b", 1.0)]), &KINDS), None);
        let flaw = Mix::flaw(&class(&[("d", 1.0)]), &KINDS).unwrap();
        assert_eq!(flaw, "mix of class x: d is none of a, b, c");
    }
}
