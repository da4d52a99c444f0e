//! What a job says of the kit, and the statements that ask for its tables.

use super::isql::scripted;
use crate::sql::{files, File, Files};
use serde::{Deserialize, Serialize};
use transaction::{failed, wait, Class, Outcome, Request, Session, Value};

const SQL: Files = files!("": "firebird");

/// The kit's files and settings, and how it is driven.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    pub title: String,
    /// Run one after the other; they make all objects, and fill the tables of settings.
    pub build: Vec<KitScript>,
    /// Each prints the script that is then run: after the settings are in their table, and before the filling.
    pub split: Vec<KitScript>,
    /// Run after that; they fill the other tables.
    pub fill: Vec<KitScript>,
    /// Each prints the script that is then run: before each run.
    pub adjust: Vec<KitScript>,
    pub settings: Vec<KitSetting>,
    /// Null where statements are ours and prepared once, but there.
    #[serde(deserialize_with = "Option::deserialize")]
    pub as_kit: Option<KitSession>,
    /// The business operations, which the table of them must agree with.
    pub units: Vec<String>,
    /// So many documents are there before the first run.
    pub init_docs: u32,
    /// The documents that are there are spread over so many sessions.
    pub expected_workers: u32,
    pub no_auto_undo: bool,
    pub separate_workers: bool,
    /// In so many of 100 operations a session takes the documents of another one.
    pub update_conflict_percent: u32,
    pub warmup_ms: u32,
    /// Null where the run is by count, but there.
    #[serde(deserialize_with = "Option::deserialize")]
    pub measured_ms: Option<u32>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KitScript {
    /// As messages name it.
    pub path: String,
    pub text: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KitSession {
    /// For isql, as the kit makes it, with one operation.
    pub script: KitScript,
    /// After so many operations it connects anew.
    pub actions: u32,
}

/// A row of the kit's table of settings.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KitSetting {
    pub mode: String,
    pub code: String,
    pub value: String,
    /// It may not be there yet.
    pub added: bool,
}

/// A statement of our file.
pub fn asked(session: &dyn Session, name: &str) -> Outcome<String> {
    file(session)?.one(name, session.dialect(), &[])
}

pub fn file(session: &dyn Session) -> Outcome<File> {
    let dialect = session.dialect();
    SQL.of(dialect).ok_or_else(|| failed(Class::Other, format!("OLTP-EMUL does not run on {}", dialect.engine)))
}

/// Runs `work` in a transaction begun by `statement`; others are begun as before.
pub fn within<T>(
    session: &mut dyn Session,
    statement: &str,
    work: impl FnOnce(&mut dyn Session) -> Outcome<T>,
) -> Outcome<T> {
    scripted(session)?.begins_by(Some(statement));
    let begun = wait(session, Request::Begin, &mut |_| {});
    scripted(session)?.begins_by(None);
    begun?;
    let worked = work(session).and_then(|value| wait(session, Request::Commit, &mut |_| {}).map(|_| value));
    if worked.is_err() {
        wait(session, Request::Rollback, &mut |_| {}).ok();
    }
    worked
}

/// How the kit begins the transactions that do its work: what it looks for since 4.0 is whether read committed is consistent.
pub fn begins(session: &mut dyn Session, no_auto_undo: bool) -> Outcome<String> {
    let question = asked(session, "isolation")?;
    let mut mode = 0;
    within(session, "set transaction read committed record_version", |session| {
        scripted(session)?.once(&question, &mut |_, row| mode = row.first().and_then(Value::as_i64).unwrap_or(0))
    })?;
    let isolation = if mode == 4 { "read committed read consistency" } else { "snapshot" };
    Ok(format!("set transaction {isolation} no wait{}", if no_auto_undo { " no auto undo" } else { "" }))
}
