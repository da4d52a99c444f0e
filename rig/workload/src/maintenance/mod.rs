//! `maintenance`: what an administrator does to a database, each operation one transaction: a backup, a restore, an
//! incremental backup, a sweep.
//!
//! The database is that of another workload, as it is loaded. What an operation needs (a backup to restore, changes to
//! back up, old versions to remove) is made before the run and not measured. What it has made is restored after the run,
//! opened, and held against the source: by the engine's own check, by the loaded workload's conditions, and table by table.

mod verify;

use crate::kind::{known, Kind};
use protocol::{Condition, Garbage, Maintained, OperationDone};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use transaction::{
    failed, Acknowledged, Attempt, Class, Client, Drawn, Ended, KindSpec, LoadContext, Maintenance as Offered, Open,
    Operation, Outcome, Refused, Rng, Script, Seat, Session, SessionError, Workload,
};

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// The workload whose loaded database it is.
    data: Data,
    /// Its size, in that workload's own unit.
    scale: u32,
    operation: What,
    /// Of an incremental backup.
    level: u32,
    /// So many percent of the largest table's rows are changed before the run.
    changed_percent: u32,
    /// Of what is restored; 0: the page size of what was backed up.
    page_bytes: u32,
    parallel: u32,
    compress: bool,
    garbage_collect: bool,
    replace: bool,
    /// An operation ends when what it has written is on the drive.
    flush: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Data {
    Tpcb,
    Tpcc,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum What {
    Backup,
    Restore,
    IncrementalBackup,
    Sweep,
}

/// In the order of [`What`].
const KINDS: [KindSpec; 4] = KindSpec::without_limits(["backup", "restore", "incremental_backup", "sweep"]);

/// The largest table of the data, a column of it that no condition looks at, and the number by which its rows are in order.
struct Changes {
    table: &'static str,
    column: &'static str,
    letters: usize,
    number: &'static str,
    /// The largest number, where the database has one unit of size.
    rows: u64,
    /// Whether it grows with the size.
    grows: bool,
}

/// Which rows are changed: side by side, so that their share of the pages is about as large as that of the rows. A row
/// changed twice has no old version of the first time left.
#[derive(Clone, Copy)]
enum Part {
    First,
    Last,
}

impl Data {
    fn message(self, scale: u32) -> String {
        match self {
            Data::Tpcb => format!(r#"{{"name":"tpcb","scale":{scale}}}"#),
            Data::Tpcc => format!(
                r#"{{"name":"tpcc","warehouses":{scale},"percent":100,"procedures":false,"keying":false,"roaming":false}}"#
            ),
        }
    }

    fn changes(self) -> Changes {
        match self {
            Data::Tpcb => {
                let (table, column, number) = ("accounts", "filler", "aid");
                Changes { table, column, letters: 84, number, rows: 100_000, grows: true }
            }
            Data::Tpcc => {
                let (table, column, number) = ("stock", "s_dist_01", "s_i_id");
                Changes { table, column, letters: 24, number, rows: 100_000, grows: false }
            }
        }
    }
}

impl Parameters {
    fn changing(&self, part: Part) -> String {
        let Changes { table, column, letters, number, rows, grows } = self.data.changes();
        let rows = if grows { rows * u64::from(self.scale) } else { rows };
        let changed = rows * u64::from(self.changed_percent) / 100;
        let chosen = match part {
            Part::First => format!("{number} <= {changed}"),
            Part::Last => format!("{number} > {}", rows - changed),
        };
        format!("update {table} set {column} = '{}' where {chosen}", "y".repeat(letters))
    }
}

impl Kind for Parameters {
    const NAME: &'static str = "maintenance";

    fn flaw(&self) -> Option<String> {
        if self.scale == 0 || self.parallel == 0 {
            return Some("scale and parallel must be at least 1".to_string());
        }
        (self.level > 1 || self.changed_percent > 100).then(|| "level or changed_percent is out of range".to_string())
    }

    fn samples() -> Vec<Parameters> {
        let sample = |operation, data| Parameters {
            data,
            scale: 2,
            operation,
            level: 1,
            changed_percent: 20,
            page_bytes: 8192,
            parallel: 2,
            compress: true,
            garbage_collect: true,
            replace: true,
            flush: true,
        };
        [What::Backup, What::Restore, What::IncrementalBackup, What::Sweep]
            .into_iter()
            .flat_map(|operation| [Data::Tpcb, Data::Tpcc].map(|data| sample(operation, data)))
            .collect()
    }

    fn workload(self, seed: u64) -> Box<dyn Workload> {
        let message: protocol::Workload =
            serde_json::from_str(&self.data.message(self.scale)).expect("a message of ours");
        let loaded = match self.data {
            Data::Tpcb => known::<crate::tpcb::Tpcb>(),
            Data::Tpcc => known::<crate::tpcc::Parameters>(),
        };
        let loaded = (loaded.workload)(&message.fields, seed).unwrap_or_else(|flaw| panic!("{flaw}"));
        Box::new(Maintenance { parameters: self, loaded, state: Arc::default() })
    }
}

struct Maintenance {
    parameters: Parameters,
    /// The workload whose database it is.
    loaded: Box<dyn Workload>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// Made before the run: the backup that is restored, the increments below the one that is made.
    given: Vec<PathBuf>,
    /// What each operation has made, in their order.
    made: Vec<PathBuf>,
    done: Vec<OperationDone>,
    before: Option<Garbage>,
    after: Option<Garbage>,
}

impl Workload for Maintenance {
    fn load(&self, context: &LoadContext) -> Outcome<()> {
        self.loaded.load(context)
    }

    fn check(&self, session: &mut dyn Session, _: &Acknowledged) -> Outcome<Vec<Condition>> {
        // Nobody has submitted a transaction of that workload.
        let mut conditions = self.loaded.check(session, &Acknowledged::default())?;
        let state = self.state.lock().expect("no panic under this lock");
        conditions.extend(match self.parameters.operation {
            What::Sweep => self.swept(session, &state)?,
            _ => self.restored(session, &state)?,
        });
        Ok(conditions)
    }

    fn kinds(&self) -> &'static [KindSpec] {
        let only = self.parameters.operation as usize;
        &KINDS[only..=only]
    }

    fn set_up(&self, open: Open) -> Outcome<()> {
        let mut given = Vec::new();
        let mut session = open()?;
        let file = offered(session.as_mut())?.file()?;
        let what = self.parameters.operation;
        if what == What::Restore {
            let to = beside(&file, "given.fbk");
            let operation =
                Operation::Backup { to: &to, parallel: 1, compress: self.parameters.compress, garbage_collect: true };
            offered(session.as_mut())?.perform(&operation)?;
            given.push(to);
            if self.parameters.replace {
                fs::copy(&file, beside(&file, "made-1.fdb")).map_err(|error| of_file(&file, &error))?;
            }
        }
        if what == What::IncrementalBackup && self.parameters.level == 1 {
            let to = beside(&file, "given-0.nbk");
            offered(session.as_mut())?.perform(&Operation::Increment { level: 0, to: &to })?;
            given.push(to);
        }
        if self.parameters.changed_percent > 0 && what != What::Restore {
            session.batch(&self.parameters.changing(Part::First))?;
            // The engine's garbage collector works while a session is open: each is closed at once.
            drop(session);
            if what != What::IncrementalBackup {
                offered(open()?.as_mut())?.abandon(&self.parameters.changing(Part::Last))?;
            }
        }
        self.state.lock().expect("no panic under this lock").given = given;
        Ok(())
    }

    fn maintained(&self, open: Open) -> Outcome<Option<Maintained>> {
        let mut state = self.state.lock().expect("no panic under this lock");
        if self.parameters.operation == What::Sweep {
            state.after = Some(garbage(offered(open()?.as_mut())?)?);
        }
        let State { done, before, after, .. } = &*state;
        Ok(Some(Maintained { operations: done.clone(), before: before.clone(), after: after.clone() }))
    }

    fn script(&self, session: &mut dyn Session, _: Seat) -> Outcome<Box<dyn Script>> {
        let offered = offered(session)?;
        let mut state = self.state.lock().expect("no panic under this lock");
        if self.parameters.operation == What::Sweep {
            state.before = Some(garbage(offered)?);
        }
        let (file, given) = (offered.file()?, state.given.clone());
        Ok(Box::new(Doing { parameters: self.parameters.clone(), file, given, state: self.state.clone() }))
    }
}

struct Doing {
    parameters: Parameters,
    /// The database's.
    file: PathBuf,
    given: Vec<PathBuf>,
    state: Arc<Mutex<State>>,
}

impl Doing {
    async fn once(&mut self, client: &mut Client) -> Result<Ended, Refused> {
        let number = self.state.lock().expect("no panic under this lock").made.len() + 1;
        let done = client.maintain(|offered| self.perform(offered, number)).map_err(for_good)?;
        let mut state = self.state.lock().expect("no panic under this lock");
        state.made.push(self.to(number));
        state.done.push(done);
        Ok(Ended::Committed)
    }

    /// What the operation of this number makes; of a sweep the database itself.
    fn to(&self, number: usize) -> PathBuf {
        let name = match self.parameters.operation {
            What::Backup => format!("made-{number}.fbk"),
            What::Restore if self.parameters.replace => "made-1.fdb".to_string(),
            What::Restore => format!("made-{number}.fdb"),
            What::IncrementalBackup => format!("made-{number}.nbk"),
            What::Sweep => return self.file.clone(),
        };
        beside(&self.file, &name)
    }

    fn perform(&self, offered: &mut dyn Offered, number: usize) -> Outcome<OperationDone> {
        let Parameters { operation, level, page_bytes, parallel, compress, garbage_collect, replace, .. } =
            self.parameters;
        let to = self.to(number);
        let asked = match operation {
            What::Backup => Operation::Backup { to: &to, parallel, compress, garbage_collect },
            What::Restore => Operation::Restore { from: &self.given[0], to: &to, parallel, page_bytes, replace },
            What::IncrementalBackup => Operation::Increment { level, to: &to },
            What::Sweep => Operation::Sweep { parallel },
        };
        let began = Instant::now();
        let performed = offered.perform(&asked)?;
        let answered = Instant::now();
        if self.parameters.flush {
            flush(&to)?;
        }
        let flush_s = self.parameters.flush.then(|| answered.elapsed().as_secs_f64());
        let seconds = began.elapsed().as_secs_f64();
        let (database, backup) = match operation {
            What::Backup | What::IncrementalBackup => (&self.file, Some(&to)),
            What::Restore => (&to, Some(&self.given[0])),
            What::Sweep => (&self.file, None),
        };
        Ok(OperationDone {
            seconds,
            flush_s,
            database_bytes: size(database)?,
            backup_bytes: backup.map(|file| size(file)).transpose()?,
            workers: performed.workers,
        })
    }
}

impl Script for Doing {
    fn draw(&mut self, _: &mut Rng) -> Option<Drawn> {
        Some(Drawn::default())
    }

    fn attempt<'a>(&'a mut self, client: &'a mut Client) -> Attempt<'a> {
        Box::pin(self.once(client))
    }
}

fn offered(session: &mut dyn Session) -> Outcome<&mut dyn Offered> {
    let engine = session.dialect().engine;
    session.maintenance().ok_or_else(|| {
        failed(Class::Other, format!("the workload maintenance does not know how {engine} is backed up or restored"))
    })
}

fn garbage(offered: &mut dyn Offered) -> Outcome<Garbage> {
    let versions = offered.versions()?;
    let transaction::Markers { oldest, oldest_active, oldest_snapshot, next } = offered.markers()?;
    Ok(Garbage { versions, oldest, oldest_active, oldest_snapshot, next })
}

/// A database that could not be backed up, restored or swept will not be so when it is tried again.
fn for_good(error: SessionError) -> SessionError {
    SessionError { class: if error.class.is_final() { error.class } else { Class::Connection }, ..error }
}

fn beside(file: &Path, name: &str) -> PathBuf {
    file.with_file_name(name)
}

/// Until the file and its entry in the directory are on the drive.
fn flush(file: &Path) -> Outcome<()> {
    let directory = file.parent().unwrap_or(Path::new("."));
    for path in [file, directory] {
        File::open(path).and_then(|open| open.sync_all()).map_err(|error| of_file(path, &error))?;
    }
    Ok(())
}

fn size(file: &Path) -> Outcome<u64> {
    file.metadata().map(|found| found.len()).map_err(|error| of_file(file, &error))
}

fn of_file(path: &Path, error: &std::io::Error) -> SessionError {
    let full = error.kind() == std::io::ErrorKind::StorageFull;
    failed(if full { Class::DiskFull } else { Class::Connection }, format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters(data: Data, scale: u32, changed_percent: u32) -> Parameters {
        Parameters { data, scale, changed_percent, ..Parameters::samples().remove(0) }
    }

    #[test]
    fn changed_rows_are_as_many_percent_as_was_asked_for() {
        for (data, percent, part, begins, ends) in [
            (Data::Tpcb, 20, Part::First, "update accounts set filler = 'yyy", "y' where aid <= 60000"),
            (Data::Tpcb, 20, Part::Last, "update accounts set filler = 'yyy", "y' where aid > 240000"),
            (Data::Tpcc, 5, Part::First, "update stock set s_dist_01 = 'yyy", "y' where s_i_id <= 5000"),
            (Data::Tpcc, 100, Part::Last, "update stock set s_dist_01 = 'yyy", "y' where s_i_id > 0"),
        ] {
            let changing = parameters(data, 3, percent).changing(part);
            assert!(changing.starts_with(begins) && changing.ends_with(ends), "{changing}");
        }
    }

    #[test]
    fn a_kind_has_the_name_of_its_operation() {
        for parameters in Parameters::samples() {
            let name = serde_json::to_value(parameters.operation).unwrap();
            assert_eq!(parameters.workload(1).kinds()[0].name, name);
        }
    }
}
