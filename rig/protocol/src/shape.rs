//! The shape of a load: terminals that differ from one another, load that changes from stage to stage, sessions that sleep
//! beside the terminals', and what each of these came to.

use crate::{ArrivalCounts, Counts, Fields, Histogram, Kind, Pacing, RunPlan, SECONDS_MAX};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Terminals that are alike.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TerminalClass {
    pub name: String,
    /// At least 1.
    pub terminals: u32,
    /// `null`: the run's own. Under open loop each class has its own schedule.
    pub pacing: Option<Pacing>,
    /// Weights of the workload's kinds of transactions, by name; kinds that are left out are not drawn. Empty: the
    /// workload's own mix.
    pub mix: BTreeMap<String, f64>,
    /// Of the workload's parameters those that this class has otherwise.
    pub parameters: Fields,
}

/// A part of the measurement, in which the load keeps its height or changes evenly.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    pub seconds: f64,
    /// For each class, in their order; a single one where there are no classes.
    pub legs: Vec<Leg>,
}

/// How a stage begins and ends for one class: arrivals a second under open loop, terminals at work under closed loop.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Leg {
    pub from: f64,
    pub to: f64,
}

/// Sessions that are opened before the measurement and do nothing until its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdleSessions {
    pub sessions: u32,
    /// Each has a transaction open that sees what was committed when it began, so that the engine keeps old versions.
    pub in_transaction: bool,
}

/// How long a terminal keeps a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Connect {
    /// From the beginning to the end of the run.
    #[default]
    Once,
    /// For one transaction with its retries. The login is a part of its latency; closing the session is not.
    PerTransaction,
    /// As the workload says: as a log has it, or for so many transactions.
    AsRecorded,
}

impl RunPlan {
    /// The place of a terminal's class, and its own among the terminals of that: they are numbered class by class.
    pub fn class_of(&self, terminal: u32) -> (usize, u32) {
        let mut rank = terminal;
        for (at, class) in self.classes.iter().enumerate() {
            if rank < class.terminals {
                return (at, rank);
            }
            rank -= class.terminals;
        }
        (0, terminal)
    }

    /// The idle sessions of this rig's part.
    pub fn idle_sessions(&self) -> Option<IdleSessions> {
        self.sleepers.map(|asked| IdleSessions { sessions: self.part().count(asked.sessions), ..asked })
    }

    /// What cannot be followed in the classes and stages.
    pub(crate) fn shape_flaw(&self) -> Option<String> {
        if !self.classes.is_empty() {
            if self.classes.iter().map(|class| u64::from(class.terminals)).sum::<u64>() != u64::from(self.terminals) {
                return Some("terminals must be as many as those of the classes together".to_string());
            }
            let mut names: Vec<&str> = self.classes.iter().map(|class| class.name.as_str()).collect();
            names.sort_unstable();
            if names.windows(2).any(|pair| pair[0] == pair[1]) {
                return Some("classes: two have the same name".to_string());
            }
        }
        let class_flaw = self.classes.iter().find_map(TerminalClass::flaw);
        class_flaw.or_else(|| self.stages_flaw())
    }

    fn stages_flaw(&self) -> Option<String> {
        if self.stages.is_empty() {
            return None;
        }
        let seconds: f64 = self.stages.iter().map(|stage| stage.seconds).sum();
        match self.extent {
            crate::Extent::Duration { seconds: whole } if (whole - seconds).abs() <= 1e-6 * whole.max(1.0) => {}
            _ => return Some("the measurement must last as long as the stages together".to_string()),
        }
        // Terminals and pacing of each class, or of all.
        let of_all = (self.terminals, &self.pacing);
        let classes: Vec<(u32, &Pacing)> = match self.classes.as_slice() {
            [] => vec![of_all],
            classes => {
                classes.iter().map(|class| (class.terminals, class.pacing.as_ref().unwrap_or(&self.pacing))).collect()
            }
        };
        let right = |stage: &Stage| {
            stage.seconds > 0.0
                && stage.seconds <= SECONDS_MAX
                && stage.legs.len() == classes.len()
                && stage.legs.iter().zip(&classes).all(|(leg, (terminals, pacing))| leg.fits(*terminals, pacing))
        };
        (!self.stages.iter().all(right)).then(|| "a stage is out of range".to_string())
    }
}

impl TerminalClass {
    fn flaw(&self) -> Option<String> {
        let weights = || self.mix.values();
        let mix_right = weights().all(|weight| weight.is_finite() && *weight >= 0.0);
        let drawn = self.mix.is_empty() || weights().any(|weight| *weight > 0.0);
        [
            ("terminals", self.terminals >= 1),
            ("mix", mix_right && drawn),
            ("pacing", self.pacing.as_ref().is_none_or(|pacing| pacing.flaw().is_none())),
        ]
        .into_iter()
        .find_map(|(name, right)| (!right).then(|| format!("{name} of class {} is out of range", self.name)))
    }
}

impl Leg {
    fn fits(&self, terminals: u32, pacing: &Pacing) -> bool {
        [self.from, self.to].into_iter().all(|height| match pacing {
            Pacing::Open { .. } => height.is_finite() && height >= 0.0,
            Pacing::Recorded {} => false,
            Pacing::Closed { .. } => (0.0..=f64::from(terminals)).contains(&height) && height.fract() == 0.0,
        })
    }
}

/// What a part of a run came to: one class of terminals, one stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tally {
    /// As those of the whole run, which the parts add up to.
    pub counts: Counts,
    /// `null` where nothing arrives by a schedule.
    pub arrivals: Option<ArrivalCounts>,
    pub latency: Histogram,
    pub service: Histogram,
    pub kinds: Vec<Kind>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassResult {
    pub name: String,
    pub terminals: u32,
    pub tally: Tally,
}

/// A transaction belongs to the stage in which it was due (open loop) or ended (closed loop).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StageResult {
    /// From the start of the measurement.
    pub at_s: f64,
    /// As planned; of the last until the measurement's end.
    pub length_s: f64,
    /// Arrivals a second, or terminals at work, of all classes together, as planned.
    pub from: f64,
    pub to: f64,
    pub tally: Tally,
}

/// The outcome of the sleeping sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdleSessionsSeen {
    /// That were opened before the measurement.
    pub sessions: u32,
    pub in_transaction: bool,
    /// Of those, that still answered after the measurement, inside their transaction where they have one.
    pub awake_at_end: u32,
    /// The message of the first of those that did not answer.
    pub lost: Option<String>,
}

/// Sessions that were opened for single transactions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Connections {
    pub opened: u64,
    /// Of those, that were asked for the settings in force.
    pub inspected: u64,
}
