//! gbak, nbackup, gfix and gstat, as services of the engine: embedded in this process, or of a server on this machine.

use super::library::session_error;
use super::services::{Request, Services};
use super::{open, Firebird};
use crate::engine::Engine;
use rsfbclient_core::{Dialect as SqlDialect, FirebirdClientSqlOps};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use transaction::{failed, Class, Maintenance, Markers, Operation, Outcome, Performed, Session, TableDigest, Value};

const BACKUP: u8 = 1;
const RESTORE: u8 = 2;
const REPAIR: u8 = 3;
const STATISTICS: u8 = 11;
const NBACKUP: u8 = 20;
const NRESTORE: u8 = 21;
const VALIDATE: u8 = 30;

const DATABASE: u8 = 106;
const OPTIONS: u8 = 108;
const BACKUP_FILE: u8 = 5;
const PAGE_SIZE: u8 = 10;
const BACKUP_WORKERS: u8 = 21;
const REPAIR_WORKERS: u8 = 52;
const LEVEL: u8 = 5;
const INCREMENT: u8 = 6;

const NO_GARBAGE_COLLECT: u32 = 0x08;
const ZIP: u32 = 0x01_0000;
const REPLACE: u32 = 0x1000;
const CREATE: u32 = 0x2000;
const SWEEP: u32 = 0x02;
/// `gfix -validate -full -no_update`.
const CHECK_ALL: u32 = 0x01 | 0x10 | 0x80;
/// `gstat -data -record`.
const RECORD_VERSIONS: u32 = 0x01 | 0x20;

/// A blob, which has no text to be summed up.
const BLOB: i64 = 261;
/// The letters that a value has that is no text: enough for a moment and for any number.
const LETTERS: i64 = 64;

impl Firebird {
    /// Runs a service to its end; sees how many workers there are at most where more than one were asked for.
    fn serve(&mut self, request: &Request, asked: u32) -> Outcome<Performed> {
        let mut services = Services::attach(&self.target)?;
        if asked < 2 {
            let output = services.run(request, || Ok(true))?;
            return nothing_wrong(&output).map(|()| Performed { workers: None });
        }
        // The session itself, and what the engine has attached for itself.
        let others = self.attachments()?;
        let mut workers = 0;
        let output = services.run(request, || {
            workers = workers.max(self.attachments()?.saturating_sub(others));
            Ok(workers >= asked)
        })?;
        nothing_wrong(&output).map(|()| Performed { workers: Some(workers) })
    }

    fn attachments(&mut self) -> Outcome<u32> {
        let rows = self.rows("select count(*) from mon$attachments")?;
        Ok(rows.first().and_then(|row| row[0].as_i64()).and_then(|many| u32::try_from(many).ok()).unwrap_or(0))
    }

    /// What a service says that reports.
    fn report(&mut self, request: &Request) -> Outcome<String> {
        Services::attach(&self.target)?.run(request, || Ok(true))
    }

    fn numbers<const N: usize>(&mut self, sql: &str) -> Outcome<[i64; N]> {
        let row = self.rows(sql)?.into_iter().next().unwrap_or_default();
        let numbers: Vec<i64> = row.iter().filter_map(Value::as_i64).collect();
        numbers.try_into().map_err(|_| failed(Class::Other, format!("no numbers are answered to: {sql}")))
    }
}

impl Maintenance for Firebird {
    fn file(&self) -> Outcome<PathBuf> {
        let path = PathBuf::from(&self.target.database);
        match path.symlink_metadata() {
            Ok(found) if found.is_file() => Ok(path),
            Ok(_) => Err(failed(Class::Connection, format!("{}: the database is no file of its own", path.display()))),
            Err(error) => Err(failed(Class::Connection, format!("{}: {error}", path.display()))),
        }
    }

    fn open(&self, database: &Path) -> Outcome<Box<dyn Session>> {
        let mut target = self.target.clone();
        target.database = text(database)?.to_string();
        Ok(Box::new(<Firebird as Engine>::open(&target)?))
    }

    fn perform(&mut self, operation: &Operation) -> Outcome<Performed> {
        let own = self.target.database.clone();
        let request = match *operation {
            Operation::Backup { to, parallel, compress, garbage_collect } => {
                let zip = if compress { ZIP } else { 0 };
                let options = if garbage_collect { zip } else { zip | NO_GARBAGE_COLLECT };
                let request = Request::of(BACKUP).text(DATABASE, &own)?.text(BACKUP_FILE, text(to)?)?;
                workers(request.number(OPTIONS, options), BACKUP_WORKERS, parallel)
            }
            Operation::Restore { from, to, parallel, page_bytes, replace } => {
                let request = Request::of(RESTORE).text(BACKUP_FILE, text(from)?)?.text(DATABASE, text(to)?)?;
                let request = request.number(OPTIONS, if replace { REPLACE } else { CREATE });
                let request = if page_bytes > 0 { request.number(PAGE_SIZE, page_bytes) } else { request };
                workers(request, BACKUP_WORKERS, parallel)
            }
            Operation::Increment { level, to } => Request::of(NBACKUP)
                .text(DATABASE, &own)?
                .text(INCREMENT, text(to)?)?
                .number(LEVEL, level)
                .number(OPTIONS, 0),
            Operation::Merge { from, to } => {
                let request = Request::of(NRESTORE).text(DATABASE, text(to)?)?;
                let with = |request: Request, file: &PathBuf| request.text(INCREMENT, text(file)?);
                from.iter().try_fold(request, with)?.number(OPTIONS, 0)
            }
            Operation::Sweep { parallel } => {
                let request = Request::of(REPAIR).text(DATABASE, &own)?.number(OPTIONS, SWEEP);
                workers(request, REPAIR_WORKERS, parallel)
            }
        };
        // A restore's workers are attached to what is restored, where nobody else may be.
        let seen = match *operation {
            Operation::Backup { parallel, .. } | Operation::Sweep { parallel } => parallel,
            _ => 1,
        };
        self.serve(&request, seen)
    }

    fn flaws(&mut self, database: &Path, in_use: bool) -> Outcome<Vec<String>> {
        let name = text(database)?;
        let mut flaws = Vec::new();
        if !in_use {
            let output = self.report(&Request::of(REPAIR).text(DATABASE, name)?.number(OPTIONS, CHECK_ALL))?;
            flaws.extend(lines(&output).map(str::to_string));
        }
        let output = self.report(&Request::of(VALIDATE).text(DATABASE, name)?)?;
        flaws.extend(unsound(&output));
        Ok(flaws)
    }

    fn digest(&mut self) -> Outcome<Vec<TableDigest>> {
        let columns = self.rows(
            "select trim(r.rdb$relation_name), trim(c.rdb$field_name), f.rdb$field_type, f.rdb$character_length \
             from rdb$relations r join rdb$relation_fields c on c.rdb$relation_name = r.rdb$relation_name \
             join rdb$fields f on f.rdb$field_name = c.rdb$field_source \
             where r.rdb$system_flag = 0 and r.rdb$view_blr is null order by 1, 2",
        )?;
        let mut tables: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for column in columns {
            let [Value::Text(table), Value::Text(name), of, letters] = &column[..] else { continue };
            let texts = tables.entry(table.trim_end().to_string()).or_default();
            if of.as_i64() != Some(BLOB) {
                let letters = letters.as_i64().unwrap_or(LETTERS).max(LETTERS);
                texts.push(format!("coalesce(cast(\"{}\" as varchar({letters})), '~')", name.trim_end()));
            }
        }
        let mut digests = Vec::new();
        for (table, texts) in tables {
            let whole = if texts.is_empty() { "''".to_string() } else { texts.join(" || '|' || ") };
            // A prime: the sum of many hashes would be too large for 64 bits.
            let [rows, sum] = self.numbers(&format!(
                "select count(*), coalesce(sum(mod(hash({whole}), 1000000007)), 0) from \"{table}\""
            ))?;
            digests.push(TableDigest { table: table.to_lowercase(), rows, sum });
        }
        Ok(digests)
    }

    fn versions(&mut self) -> Outcome<u64> {
        let request = Request::of(STATISTICS).text(DATABASE, &self.target.database)?.number(OPTIONS, RECORD_VERSIONS);
        let output = self.report(&request)?;
        total_versions(&output)
            .ok_or_else(|| failed(Class::Other, "gstat does not say how many versions there are".into()))
    }

    fn markers(&mut self) -> Outcome<Markers> {
        let [oldest, oldest_active, oldest_snapshot, next] = self.numbers(
            "select mon$oldest_transaction, mon$oldest_active, mon$oldest_snapshot, mon$next_transaction \
             from mon$database",
        )?;
        Ok(Markers { oldest, oldest_active, oldest_snapshot, next })
    }

    fn page_bytes(&mut self) -> Outcome<u32> {
        let [bytes] = self.numbers("select mon$page_size from mon$database")?;
        Ok(bytes as u32)
    }

    /// Without an undo log the engine cannot take back what was written: the transaction stays a dead one, and the oldest
    /// that interests, until a sweep.
    fn abandon(&mut self, sql: &str) -> Outcome<()> {
        let mut transaction = Default::default();
        self.client
            .exec_immediate(&mut self.database, &mut transaction, SqlDialect::D3, "set transaction no auto undo")
            .map_err(session_error)?;
        self.transaction = Some(transaction);
        let done = open(&mut self.transaction).and_then(|transaction| {
            self.client.exec_immediate(&mut self.database, transaction, SqlDialect::D3, sql).map_err(session_error)
        });
        done.and(self.rollback())
    }
}

fn workers(request: Request, part: u8, parallel: u32) -> Request {
    if parallel > 1 {
        request.number(part, parallel)
    } else {
        request
    }
}

fn text(path: &Path) -> Outcome<&str> {
    path.to_str().ok_or_else(|| failed(Class::Other, format!("{}: its name is not UTF-8", path.display())))
}

fn lines(output: &str) -> impl Iterator<Item = &str> {
    output.lines().map(str::trim).filter(|line| !line.is_empty())
}

/// A service that is not to report prints what went wrong only; nbackup also of its time and pages, and gbak of pages
/// that become smaller, which was asked for and is read back.
fn nothing_wrong(output: &str) -> Outcome<()> {
    let is_notice = |line: &&str| is_nbackups_count(line) || line.contains("Reducing the database page size from");
    let words: Vec<_> = lines(output).filter(|line| !is_notice(line)).collect();
    if words.is_empty() {
        Ok(())
    } else {
        Err(failed(Class::Other, words.join(" ")))
    }
}

/// `time elapsed 0 sec`, `page reads 2227`, `page writes 2227`, perhaps with more blanks; on one line or on several.
fn is_nbackups_count(line: &str) -> bool {
    const WORDS: [&str; 6] = ["time", "elapsed", "sec", "page", "reads", "writes"];
    line.split_whitespace().all(|word| WORDS.contains(&word) || word.chars().all(|c| c.is_ascii_digit()))
}

/// What an online validation (`src/jrd/validation.cpp`) finds wrong: each table ends with `is ok` unless something is.
fn unsound(output: &str) -> Vec<String> {
    let wrong = |line: &&str| {
        let line = line.to_lowercase();
        line.contains("error") || line.contains("warning") || line.contains("failed") || line.contains("not ok")
    };
    let mut flaws: Vec<String> = lines(output).filter(wrong).map(str::to_string).collect();
    if !lines(output).any(|line| line.ends_with("Validation finished")) {
        flaws.push("the validation did not come to its end".to_string());
    }
    flaws
}

/// Of all tables: gstat says `total versions: 7` of each.
fn total_versions(output: &str) -> Option<u64> {
    let counts = output.split("total versions: ").skip(1);
    let counts = counts.map(|rest| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse::<u64>().ok());
    let counts: Vec<u64> = counts.collect::<Option<_>>()?;
    (!counts.is_empty()).then(|| counts.iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_those_of_all_tables() {
        let output = "A (128)\n  Average version length: 9.00, total versions: 20, max versions: 1\n\
                      B (129)\n  Average version length: 0.00, total versions: 0, max versions: 0\n";
        assert_eq!(total_versions(output), Some(20));
        assert_eq!(total_versions("Gstat completion time"), None);
    }

    #[test]
    fn what_a_service_says_is_an_error_unless_it_is_nbackups_count() {
        assert!(nothing_wrong("\n").is_ok());
        assert!(nothing_wrong("time elapsed\t0 sec\npage reads\t 2227\npage writes 2227\n").is_ok());
        assert!(nothing_wrong("gbak:Reducing the database page size from 8192 bytes to 4096 bytes\n").is_ok());
        let error = nothing_wrong("gbak: ERROR:database is already there\n").unwrap_err();
        assert_eq!(error.message, "gbak: ERROR:database is already there");
    }
}
