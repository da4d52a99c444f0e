//! What an engine has acknowledged, to hold against what is there.

use protocol::AcknowledgedTotals;

pub const KINDS_MAX: usize = 32;

/// More than can have been acknowledged to other processes.
const MANY: u64 = 1 << 40;

/// What the engine has acknowledged to this process, over all its runs.
#[derive(Debug, Clone, Copy)]
pub struct Acknowledged {
    pub committed: u64,
    /// The commit call itself failed: it may or may not have taken place.
    pub unknown: u64,
    /// Commits by kind of transaction, in the order of [`Workload::kinds`].
    pub kinds: [u64; KINDS_MAX],
    /// What the committed transactions wrote, in the workload's own unit ([`Drawn::units`](crate::Drawn::units)), and what
    /// those of unknown fate may have written. `None`: only the commits of another process are known.
    pub units: Option<Units>,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Units {
    pub committed: u64,
    pub unknown: u64,
}

impl Default for Acknowledged {
    fn default() -> Acknowledged {
        Acknowledged { committed: 0, unknown: 0, kinds: [0; KINDS_MAX], units: Some(Units::default()) }
    }
}

impl Acknowledged {
    /// Whether `found` transactions in the database agree with what was acknowledged.
    pub fn agrees(&self, found: i64) -> bool {
        self.allows(self.committed, found)
    }

    /// The same of one kind of transaction; those unknown may all be of that kind.
    pub fn agrees_of(&self, kind: usize, found: i64) -> bool {
        self.allows(self.kinds[kind], found)
    }

    /// What was acknowledged, `committed` of it in question, for people.
    pub fn shown(&self, committed: u64) -> String {
        match self.unknown {
            MANY => format!("at least {committed} commits acknowledged"),
            unknown => format!("{committed} commits acknowledged, {unknown} unknown"),
        }
    }

    fn allows(&self, committed: u64, found: i64) -> bool {
        u64::try_from(found).is_ok_and(|n| (committed..=committed + self.unknown).contains(&n))
    }

    /// A transaction of this kind, which wrote so many units, was committed.
    pub fn commit(&mut self, kind: usize, units: u64) {
        self.committed += 1;
        self.kinds[kind] += 1;
        if let Some(sum) = &mut self.units {
            sum.committed += units;
        }
    }

    /// A transaction that would have written so many units may have been committed.
    pub fn doubt(&mut self, units: u64) {
        self.unknown += 1;
        if let Some(sum) = &mut self.units {
            sum.unknown += units;
        }
    }

    /// Commits of each kind that were acknowledged to another process: more may be there.
    pub fn at_least(kinds: &[u64]) -> Acknowledged {
        Acknowledged { committed: kinds.iter().sum(), unknown: MANY, kinds: by_kind(kinds), units: None }
    }

    /// What was acknowledged to several processes, in all.
    pub fn merged(totals: &AcknowledgedTotals) -> Acknowledged {
        let AcknowledgedTotals { committed, unknown, ref kinds, units } = *totals;
        let units = units.map(|(committed, unknown)| Units { committed, unknown });
        Acknowledged { committed, unknown, kinds: by_kind(kinds), units }
    }

    /// This, to be merged with what was acknowledged to other processes.
    pub fn totals(&self) -> AcknowledgedTotals {
        let units = self.units.map(|units| (units.committed, units.unknown));
        AcknowledgedTotals { committed: self.committed, unknown: self.unknown, kinds: self.kinds.to_vec(), units }
    }

    pub fn add(&mut self, other: &Acknowledged) {
        self.committed += other.committed;
        self.unknown += other.unknown;
        for (sum, kind) in self.kinds.iter_mut().zip(&other.kinds) {
            *sum += kind;
        }
        self.units = self.units.zip(other.units).map(|(one, other)| Units {
            committed: one.committed + other.committed,
            unknown: one.unknown + other.unknown,
        });
    }
}

fn by_kind(commits: &[u64]) -> [u64; KINDS_MAX] {
    std::array::from_fn(|kind| commits.get(kind).copied().unwrap_or(0))
}
