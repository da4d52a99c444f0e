//! The names of a workload's variables, each with its slot. pgbench's variables belong to the client, not to a script:
//! what one script has set, the next one sees.

use std::collections::HashMap;

/// Bytes of the longest name for which one like it is looked for.
const NEAR_MAX: usize = 64;

#[derive(Debug, Clone, Default)]
pub struct Names {
    slots: HashMap<String, usize>,
    names: Vec<String>,
    /// How many rows each loaded table has.
    rows: HashMap<String, i64>,
    /// Queries name variables too (`\gset`): which, only their answers tell.
    pub from_queries: bool,
}

impl Names {
    /// The slot of a name, a new one where it has none.
    pub fn slot(&mut self, name: &str) -> usize {
        if let Some(slot) = self.slots.get(name) {
            return *slot;
        }
        self.slots.insert(name.to_string(), self.names.len());
        self.names.push(name.to_string());
        self.names.len() - 1
    }

    pub fn find(&self, name: &str) -> Option<usize> {
        self.slots.get(name).copied()
    }

    pub fn name(&self, slot: usize) -> &str {
        &self.names[slot]
    }

    pub fn len(&self) -> usize {
        self.names.len()
    }

    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    pub fn set_rows(&mut self, table: &str, rows: i64) {
        self.rows.insert(table.to_ascii_lowercase(), rows);
    }

    /// The slot of a variable that is used; an error where nothing can have assigned to it.
    pub fn used(&mut self, name: &str) -> Result<usize, String> {
        match self.find(name) {
            Some(slot) => Ok(slot),
            None if self.from_queries => Ok(self.slot(name)),
            None => Err(match self.near(name) {
                Some(near) => format!("unknown variable :{name}; perhaps :{near} is meant"),
                None => format!("unknown variable :{name}: no \\set and no variable of the workload has this name"),
            }),
        }
    }

    /// What `rows(TABLE)` means.
    pub fn rows(&self, table: &str) -> Option<i64> {
        self.rows.get(&table.to_ascii_lowercase()).copied()
    }

    /// The name that was meant perhaps. What it takes grows with the product of two names' lengths.
    fn near(&self, name: &str) -> Option<&str> {
        if name.len() > NEAR_MAX {
            return None;
        }
        let distance = |other: &str| {
            let (a, b): (Vec<char>, Vec<char>) = (name.chars().collect(), other.chars().collect());
            let mut row: Vec<usize> = (0..=b.len()).collect();
            for (i, x) in a.iter().enumerate() {
                let mut before = std::mem::replace(&mut row[0], i + 1);
                for (j, y) in b.iter().enumerate() {
                    let replaced = before + usize::from(x != y);
                    before = row[j + 1];
                    row[j + 1] = replaced.min(row[j] + 1).min(before + 1);
                }
            }
            row[b.len()]
        };
        self.names
            .iter()
            .filter(|other| other.len() <= NEAR_MAX)
            .map(|other| (distance(other), other))
            .filter(|(far, _)| *far <= 2)
            .min()
            .map(|(_, n)| n.as_str())
    }
}
