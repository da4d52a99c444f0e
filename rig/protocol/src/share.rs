//! One load that several rigs drive together: which part of it is whose, when all begin, and what each brings back so that
//! the parts can be put together without loss.

use crate::{Extent, Pacing, RunPlan};
use serde::{Deserialize, Serialize};

/// Part `number` of `of`, the first being 0. Terminals are dealt out by their numbers, which are those of the whole load, and
/// each keeps the stream of random numbers that it would have in one rig. An arrival goes to the rig of the terminal whose
/// turn it is, so that all schedules together are that of one rig.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    pub number: u32,
    pub of: u32,
}

/// The lab's answer to `ready`, one line on standard input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Go {
    /// The load begins then: nanoseconds since 1970 by the clock of the rig's machine.
    pub at_ns: u64,
}

/// What a rig with a share brings back beside its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shared {
    /// How long after the moment of [`Go`] the load could begin, in nanoseconds.
    pub began_late_ns: u64,
    /// The longest time in the measurement in which this process did not come to what it does ten times a second.
    pub stood_still_ns_max: u64,
    /// Warm-up included.
    pub told: AcknowledgedTotals,
    /// The seconds in which something ended, ascending.
    pub seconds: Vec<SharedSecond>,
}

/// What the engine has acknowledged to one or more rigs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AcknowledgedTotals {
    pub committed: u64,
    /// The commit call itself failed: it may or may not have taken place.
    pub unknown: u64,
    /// Commits by kind of transaction, as the workload numbers them.
    pub kinds: Vec<u64>,
    /// What those that are committed, and those that may be, wrote in the workload's own unit; `null`: not known.
    pub units: Option<(u64, u64)>,
}

/// One second of a part, with all that a second of the whole is made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedSecond {
    /// 0 is the first of the measurement, -1 the last of the warm-up.
    pub second: i64,
    pub committed: u64,
    pub conflicts: u64,
    pub errors: u64,
    /// `[value, count]`, ascending, in nanoseconds; two significant figures.
    pub latencies: Vec<(u64, u64)>,
    pub latency_ns_max: u64,
}

impl Share {
    /// The whole load.
    pub const WHOLE: Share = Share { number: 0, of: 1 };

    /// Whether what has this number is in this part.
    pub fn holds(&self, number: u32) -> bool {
        number % self.of == self.number
    }

    /// How many of the numbers below `many` are in this part.
    pub fn count(&self, many: u32) -> u32 {
        (many + self.of - 1 - self.number) / self.of
    }
}

impl RunPlan {
    /// This rig's part.
    pub fn part(&self) -> Share {
        self.share.unwrap_or(Share::WHOLE)
    }

    /// The numbers of this rig's terminals, ascending.
    pub fn own_terminals(&self) -> impl Iterator<Item = u32> + '_ {
        let part = self.part();
        (0..self.terminals).filter(move |number| part.holds(*number))
    }

    /// How many of this rig's terminals are of the class at this place.
    pub fn own_terminals_of(&self, class: usize) -> u32 {
        self.own_terminals().filter(|number| self.class_of(*number).0 == class).count() as u32
    }

    pub(crate) fn share_flaw(&self) -> Option<String> {
        let Share { number, of } = self.share?;
        let recorded = |pacing: &Pacing| matches!(pacing, Pacing::Recorded {});
        [
            ("share is out of range", of >= 1 && number < of),
            ("a load of so few terminals cannot be shared among so many rigs", self.terminals >= of),
            (
                "a number of transactions cannot be shared: one rig counts them",
                matches!(self.extent, Extent::Duration { .. }),
            ),
            ("transactions with times of their own cannot be shared", !recorded(&self.pacing)),
        ]
        .into_iter()
        .find_map(|(flaw, right)| (!right).then(|| flaw.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_is_in_one_part() {
        for of in 1..9 {
            for many in 0..40 {
                let parts: Vec<Share> = (0..of).map(|number| Share { number, of }).collect();
                for number in 0..many {
                    assert_eq!(parts.iter().filter(|part| part.holds(number)).count(), 1);
                }
                for part in parts {
                    assert_eq!(part.count(many) as usize, (0..many).filter(|number| part.holds(*number)).count());
                }
            }
        }
    }
}
