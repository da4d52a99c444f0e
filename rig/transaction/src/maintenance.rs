//! What an engine does for its administrator: backups, restores, and the removal of old row versions.

use crate::{Outcome, Session};
use std::path::{Path, PathBuf};

/// The operations of one engine's maintenance, through a session of one database. Each waits for its end.
pub trait Maintenance {
    /// The database's own file. An error where it is none, as on a raw device.
    fn file(&self) -> Outcome<PathBuf>;

    /// A session of another database of the same engine, opened as this one was.
    fn open(&self, database: &Path) -> Outcome<Box<dyn Session>>;

    /// Does it to the session's own database. Nothing is flushed beside what the engine itself flushes.
    fn perform(&mut self, operation: &Operation) -> Outcome<Performed>;

    /// What the engine's own check finds wrong with a database, in its words; empty where it finds nothing. A database that
    /// has a session open is checked less closely.
    fn flaws(&mut self, database: &Path, in_use: bool) -> Outcome<Vec<String>>;

    /// Every table's rows and a sum over all that is in them: equal for databases that hold the same rows.
    fn digest(&mut self) -> Outcome<Vec<TableDigest>>;

    /// Old versions of rows in all tables; to be asked before anything reads the rows.
    fn versions(&mut self) -> Outcome<u64>;

    fn markers(&mut self) -> Outcome<Markers>;

    fn page_bytes(&mut self) -> Outcome<u32>;

    /// Runs a statement and rolls it back in such a way that what it has written stays, as garbage.
    fn abandon(&mut self, sql: &str) -> Outcome<()>;
}

#[derive(Debug, Clone, Copy)]
pub enum Operation<'a> {
    /// All rows, read as a transaction sees them, into a file that is not there yet.
    Backup { to: &'a Path, parallel: u32, compress: bool, garbage_collect: bool },
    /// A database out of such a file; 0 bytes a page leave its page size. Without `replace` it must not be there yet.
    Restore { from: &'a Path, to: &'a Path, parallel: u32, page_bytes: u32, replace: bool },
    /// The pages that were changed since the backup of the level below, of level 0 all, into a file that is not there yet.
    Increment { level: u32, to: &'a Path },
    /// A database that is not there yet, out of the increments of level 0, 1 and so on.
    Merge { from: &'a [PathBuf], to: &'a Path },
    /// Removes versions that no transaction needs any more.
    Sweep { parallel: u32 },
}

/// How an operation went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Performed {
    /// The most workers that were seen at once; `None` where one was asked for, or nothing shows them.
    pub workers: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableDigest {
    pub table: String,
    pub rows: i64,
    pub sum: i64,
}

/// Where an engine's counters of transactions stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Markers {
    /// The oldest that is not known to be committed.
    pub oldest: i64,
    pub oldest_active: i64,
    pub oldest_snapshot: i64,
    pub next: i64,
}
