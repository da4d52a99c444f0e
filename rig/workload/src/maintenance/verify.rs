//! What is looked into after the run: databases that were restored, and one that was swept.

use super::{beside, of_file, offered, Maintenance, State, What};
use crate::common::condition;
use protocol::Condition;
use std::fs;
use transaction::{Acknowledged, Operation, Outcome, Session};

impl Maintenance {
    /// Restores what was backed up, and looks into every database that was made.
    pub(super) fn restored(&self, session: &mut dyn Session, state: &State) -> Outcome<Vec<Condition>> {
        let many = state.made.len();
        let mut found = Findings::default();
        let source = if many > 0 { offered(session)?.digest()? } else { Vec::new() };
        for made in &state.made {
            let offered = offered(session)?;
            let verified = beside(made, "verified.fdb");
            let database = match self.parameters.operation {
                What::Restore => made,
                What::IncrementalBackup => {
                    let from: Vec<_> = state.given.iter().chain([made]).cloned().collect();
                    offered.perform(&Operation::Merge { from: &from, to: &verified })?;
                    &verified
                }
                _ => {
                    let restore =
                        Operation::Restore { from: made, to: &verified, parallel: 1, page_bytes: 0, replace: false };
                    offered.perform(&restore)?;
                    &verified
                }
            };
            found.flaws.extend(offered.flaws(database, false)?);
            let mut other = offered.open(database)?;
            let checked = self.loaded.check(other.as_mut(), &Acknowledged::default())?;
            let broken = checked.into_iter().filter(|one| !one.holds);
            found.broken.extend(broken.map(|one| format!("{}: {}", one.name, one.detail)));
            let other_offers = super::offered(other.as_mut())?;
            let rows = other_offers.digest()?;
            found.rows += rows.iter().map(|table| table.rows).sum::<i64>();
            found.differing.extend(
                source
                    .iter()
                    .filter(|table| !rows.contains(table))
                    .map(|table| format!("{} has other rows than the source's {}", table.table, table.rows)),
            );
            if rows.len() != source.len() {
                found.differing.push(format!("{} tables, the source has {}", rows.len(), source.len()));
            }
            found.page_bytes.push(other_offers.page_bytes()?);
            drop(other);
            if database == &verified {
                fs::remove_file(&verified).map_err(|error| of_file(&verified, &error))?;
            }
        }
        let of = if many == 1 { "1 database".to_string() } else { format!("{many} databases") };
        let detail = |wrong: &[String], right: String| if wrong.is_empty() { right } else { wrong.join("; ") };
        let page = self.parameters.page_bytes;
        let pages_right = page == 0 || found.page_bytes.iter().all(|bytes| *bytes == page);
        let mut conditions = vec![
            condition(
                "restored_is_valid",
                found.flaws.is_empty(),
                detail(&found.flaws, format!("{of} without a flaw")),
            ),
            condition(
                "restored_keeps_conditions",
                found.broken.is_empty(),
                detail(&found.broken, format!("all hold in {of}")),
            ),
            condition(
                "restored_equals_source",
                found.differing.is_empty(),
                detail(&found.differing, format!("{} rows in {of}, counts and sums as in the source", found.rows)),
            ),
        ];
        if self.parameters.operation == What::Restore {
            let detail = format!("{:?} bytes a page, asked for {page}", found.page_bytes);
            conditions.push(condition("restored_page_size_is_as_asked", pages_right, detail));
        }
        Ok(conditions)
    }

    /// What a sweep must have done to the database itself.
    pub(super) fn swept(&self, session: &mut dyn Session, state: &State) -> Outcome<Vec<Condition>> {
        let offered = offered(session)?;
        let flaws = if state.done.is_empty() { Vec::new() } else { offered.flaws(&offered.file()?, true)? };
        let detail = if flaws.is_empty() { "nothing is wrong".to_string() } else { flaws.join("; ") };
        let (removed, moved, versions, oldest) = match (&state.before, &state.after) {
            (Some(before), Some(after)) => (
                after.versions == 0 && (before.versions > 0 || self.parameters.changed_percent == 0),
                after.oldest > before.oldest || self.parameters.changed_percent == 0,
                format!("{} versions before, {} after", before.versions, after.versions),
                format!("{} of {} before, {} of {} after", before.oldest, before.next, after.oldest, after.next),
            ),
            _ => (true, true, "no sweep yet".to_string(), "no sweep yet".to_string()),
        };
        Ok(vec![
            condition("swept_is_valid", flaws.is_empty(), detail),
            condition("sweep_removes_old_versions", removed, versions),
            condition("sweep_moves_the_oldest_transaction", moved, oldest),
        ])
    }
}

/// What was found in databases that were made.
#[derive(Default)]
struct Findings {
    flaws: Vec<String>,
    broken: Vec<String>,
    differing: Vec<String>,
    rows: i64,
    page_bytes: Vec<u32>,
}
