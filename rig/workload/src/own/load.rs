//! Fills a user's tables: each row from its own seed, so that the rows are the same whichever session writes them.

use super::compiled::{Compiled, Filled, Generated, Source, Statement};
use language::{Datum, Frame, Random};
use sha2::{Digest, Sha256};
use std::io::Read;
use transaction::{failed, AtWork, Class, Dialect, LoadContext, Outcome, SessionError, Value};

const CHUNK: i64 = 10_000;

pub fn load(compiled: &Compiled, context: &LoadContext, at_work: &AtWork) -> Outcome<()> {
    statements(&compiled.schema, context, at_work)?;
    context.expect(compiled.tables.iter().map(|table| table.rows as u64).sum());
    for (number, table) in compiled.tables.iter().enumerate() {
        match &table.source {
            Source::Generated(rows) => {
                let place = format!("{}: load.{}", rows.place, table.table);
                at_work.begins(&place);
                generate(table, rows, number, &place, context)?;
            }
            Source::Csv { path, sha256 } => {
                at_work.begins(path);
                copy(table, path, sha256, context)?;
            }
        }
    }
    statements(&compiled.load, context, at_work)?;
    statements(&compiled.indexes, context, at_work)?;
    at_work.ends();
    let settled = compiled.tables.iter().filter_map(|table| context.dialect.settled(&table.table));
    context.statements(settled)
}

/// Runs statements one after another; what one of them is refused for is reported with its file and line.
fn statements(statements: &[Statement], context: &LoadContext, at_work: &AtWork) -> Outcome<()> {
    if statements.is_empty() {
        return Ok(());
    }
    let mut session = context.session()?;
    statements.iter().try_for_each(|one| {
        at_work.begins(&one.place);
        session.batch(&one.sql).map_err(|error| placed(&one.place, error))
    })
}

pub fn placed(place: &str, error: SessionError) -> SessionError {
    SessionError { message: format!("{place}: {}", error.message), ..error }
}

impl Generated {
    /// Works out one row, `cell` taking its values one after another. An error has the column's number.
    fn row(
        &self,
        seed: u64,
        number: i64,
        variables: &mut [Datum],
        mut cell: impl FnMut(&Datum),
    ) -> Result<(), (usize, String)> {
        variables[self.row] = Datum::Int(number);
        let mut random = Random::new(seed);
        for (column, (expression, slot)) in self.expressions.iter().zip(&self.slots).enumerate() {
            let mut frame = Frame { names: &self.names, variables, random: &mut random, default_seed: 0 };
            let value = expression.value(&mut frame).map_err(|message| (column, message))?;
            cell(&value);
            variables[*slot] = value;
        }
        Ok(())
    }
}

fn generate(table: &Filled, rows: &Generated, number: usize, place: &str, context: &LoadContext) -> Outcome<()> {
    let columns: Vec<&str> = table.columns.iter().map(String::as_str).collect();
    let chunks = (0..table.rows).step_by(CHUNK as usize).map(|before| (before, table.rows.min(before + CHUNK)));
    context.each(chunks.collect(), |session, (before, last)| {
        let mut variables = rows.initial.clone();
        let (mut next, mut flaw, dialect) = (before, None, session.dialect());
        let filled = context.fill(session, &table.table, &columns, |cells| {
            if next == last {
                return false;
            }
            next += 1;
            cells.clear();
            let seed = row_seed(context.seed, number, next);
            flaw = rows.row(seed, next, &mut variables, |datum| cells.push(value(datum, dialect))).err();
            flaw.is_none()
        });
        match flaw {
            Some((column, message)) => {
                let message = format!("{place}.columns.{}, row {next}: {message}", columns[column]);
                Err(failed(Class::Other, message))
            }
            None => filled.map(|_| ()).map_err(|error| placed(place, error)),
        }
    })
}

fn row_seed(seed: u64, table: usize, row: i64) -> u64 {
    // Neighbours share no bits: what follows draws from a cipher that is begun with it.
    (seed ^ (table as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
        .wrapping_add((row as u64).wrapping_mul(0xD1B5_4A32_D192_ED03))
}

/// Copies the rows of a CSV file (RFC 4180); an empty field is null.
fn copy(table: &Filled, path: &str, sha256: &str, context: &LoadContext) -> Outcome<()> {
    let flawed = |error: csv::Error| failed(Class::Other, format!("{path}: {error}"));
    let unread = |error: std::io::Error| failed(Class::Other, format!("{path}: {error}"));
    let mut hashed = Hashed { file: std::fs::File::open(path).map_err(unread)?, hash: Sha256::new() };
    let mut file = csv::ReaderBuilder::new().from_reader(&mut hashed);
    let columns: Vec<&str> = table.columns.iter().map(String::as_str).collect();
    let mut session = context.session()?;
    let (mut record, mut flaw) = (csv::StringRecord::new(), None);
    let filled = context.fill(session.as_mut(), &table.table, &columns, |cells| match file.read_record(&mut record) {
        Ok(true) => {
            let field = |text: &str| if text.is_empty() { Value::Null } else { Value::Text(text.to_string()) };
            cells.clear();
            cells.extend(record.iter().map(field));
            true
        }
        Ok(false) => false,
        Err(error) => {
            flaw = Some(error);
            false
        }
    });
    let filled = match flaw {
        Some(error) => return Err(flawed(error)),
        None => filled?,
    };
    drop(file);
    let changed = |what: String| Err(failed(Class::Other, format!("{path}: {what} since the experiment was read")));
    if filled != table.rows as u64 {
        return changed(format!("it had {} rows, and has {filled}: it has changed", table.rows));
    }
    // Behind the last row there may be blank lines, which are bytes of the file too.
    std::io::copy(&mut hashed, &mut std::io::sink()).map_err(unread)?;
    match hashed.hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect::<String>() == sha256 {
        true => Ok(()),
        false => changed("its bytes have changed".to_string()),
    }
}

/// A file, and the hash of what was read of it.
struct Hashed {
    file: std::fs::File,
    hash: Sha256,
}

impl Read for Hashed {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let read = self.file.read(into)?;
        self.hash.update(&into[..read]);
        Ok(read)
    }
}

/// How many bytes a row has, from some of its rows; None of rows that cannot be worked out.
pub fn row_bytes(table: &Filled) -> Option<u64> {
    let Source::Generated(generated) = &table.source else { return None };
    let rows = table.rows.min(64);
    let mut variables = generated.initial.clone();
    let mut bytes = 0;
    for number in 1..=rows {
        let count = |datum: &Datum| {
            bytes += match datum {
                Datum::Text(text) => text.len() as u64,
                Datum::Unset | Datum::Null | Datum::Bool(_) => 1,
                Datum::Int(_) | Datum::Real(_) => 8,
            }
        };
        generated.row(row_seed(1, 0, number), number, &mut variables, count).ok()?;
    }
    bytes.checked_div(rows as u64)
}

pub fn value(datum: &Datum, dialect: &Dialect) -> Value {
    match datum {
        Datum::Unset | Datum::Null => Value::Null,
        Datum::Bool(truth) if matches!(dialect.name, "mysql" | "sqlite") => Value::Int((*truth).into()),
        Datum::Bool(truth) => Value::Text(truth.to_string()),
        Datum::Int(n) => Value::Int(*n),
        Datum::Real(x) => Value::Real(*x),
        Datum::Text(text) => Value::Text(text.clone()),
    }
}

/// What a variable becomes of a value that a query has answered.
pub fn datum(value: &Value) -> Datum {
    match value {
        Value::Null => Datum::Null,
        Value::Int(n) => Datum::Int(*n),
        Value::Real(x) => Datum::Real(*x),
        Value::Text(text) => Datum::Text(text.clone()),
        Value::Bytes(bytes) => Datum::Text(String::from_utf8_lossy(bytes).into_owned()),
    }
}
