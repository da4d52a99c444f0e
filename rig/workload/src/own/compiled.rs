//! A user's files as they were read for one dialect.

use super::message::{Message, SqlFile, Table};
use language::{
    declare, expression, program, statements_with, verb, Datum, Expression, Frame, Names, Program, Random, Verb,
    Written,
};
use std::collections::BTreeSet;

/// Dialects that a file may have a variant for.
pub const DIALECTS: [&str; 4] = ["firebird", "mysql", "postgres", "sqlite"];
/// Of one table: more is a mistake.
const ROWS_MAX: i64 = 1_000_000_000_000;

/// Variables that every workload has, as pgbench's: the number of the terminal, two seeds, and how often the rig has run
/// in this job.
pub const CLIENT_ID: usize = 0;
pub const DEFAULT_SEED: usize = 1;
pub const RANDOM_SEED: usize = 2;
pub const RUN: usize = 3;
const BUILT_IN: [&str; 4] = ["client_id", "default_seed", "random_seed", "run"];

pub struct Compiled {
    pub names: Names,
    /// By slot, before any script has run.
    pub initial: Vec<Datum>,
    pub schema: Vec<Statement>,
    pub load: Vec<Statement>,
    pub tables: Vec<Filled>,
    pub indexes: Vec<Statement>,
    pub programs: Vec<Program>,
    pub conditions: Vec<Statement>,
    /// What engines of this dialect cannot do, each with file and line: the workload runs on others.
    pub refused: Vec<String>,
}

/// A statement that is run once, with where it stands.
pub struct Statement {
    pub sql: String,
    /// "shop/schema.sql:3"
    pub place: String,
    /// Of a condition.
    pub name: String,
}

pub struct Filled {
    pub table: String,
    pub columns: Vec<String>,
    pub rows: i64,
    pub source: Source,
}

pub enum Source {
    Generated(Box<Generated>),
    Csv { path: String, sha256: String },
}

pub struct Generated {
    /// Of each column.
    pub expressions: Vec<Expression>,
    /// The slots that the columns' values take, for the columns behind them.
    pub slots: Vec<usize>,
    /// The slot of `:row`.
    pub row: usize,
    /// The file that says so.
    pub place: String,
    pub names: Names,
    pub initial: Vec<Datum>,
}

/// Reads all files for a dialect. The flaws are for the user, each with file and line.
pub fn compiled(message: &Message, dialect: &str, default_seed: i64) -> Result<Compiled, Vec<String>> {
    let mut flaws = Vec::new();
    let mut names = Names::default();
    for name in BUILT_IN {
        names.slot(name);
    }
    let mut initial = vec![Datum::Unset; BUILT_IN.len()];
    initial[DEFAULT_SEED] = Datum::Int(default_seed);
    initial[RANDOM_SEED] = Datum::Int(default_seed);
    for (name, value) in &message.variables {
        let slot = names.slot(name);
        initial.resize(initial.len().max(slot + 1), Datum::Unset);
        match literal(value) {
            Some(value) => initial[slot] = value,
            None => flaws.push(format!("{}: the variable {name} is no number and no text: {value}", message.title)),
        }
    }
    if names.find("scale").is_none() {
        names.slot("scale");
        initial.push(Datum::Int(1));
    }
    let before_scripts = names.clone();
    let mut tables = Vec::new();
    let mut rows_known = before_scripts.clone();
    for table in &message.tables {
        match filled(table, &rows_known, &initial, default_seed) {
            Ok(filled) => {
                rows_known.set_rows(&filled.table, filled.rows);
                names.set_rows(&filled.table, filled.rows);
                tables.push(filled);
            }
            Err(mut more) => flaws.append(&mut more),
        }
    }
    let as_written = |name: &str| Ok(format!(":{name}"));
    let (schema, load, indexes) = (&message.schema, &message.load_sql, &message.indexes);
    let [schema, load, indexes] = [schema, load, indexes]
        .map(|file| once(file.as_ref(), dialect, as_written).unwrap_or_else(noted_in(&mut flaws)));
    let of_variables = |name: &str| value_in_sql(name, &before_scripts, &initial, dialect);
    let conditions = once(message.conditions.as_ref(), dialect, of_variables).unwrap_or_else(noted_in(&mut flaws));
    let (mut programs, mut refused) = (Vec::new(), Vec::new());
    for transaction in &message.transactions {
        let source = transaction.file.of(dialect);
        if let Err(flaw) = declare(source, &mut names) {
            flaws.push(flaw.located(source.path));
        }
    }
    for transaction in &message.transactions {
        let source = transaction.file.of(dialect);
        match program(source, &mut names) {
            Ok(program) => {
                refused.extend(begins_with_options(&program, dialect));
                programs.push(program);
            }
            Err(flaw) => flaws.push(flaw.located(source.path)),
        }
    }
    flaws.extend(twice(&conditions));
    flaws.extend(no_queries(&conditions));
    if !flaws.is_empty() {
        return Err(flaws.into_iter().collect::<BTreeSet<_>>().into_iter().collect());
    }
    initial.resize(names.len(), Datum::Unset);
    Ok(Compiled { names, initial, schema, load, tables, indexes, programs, conditions, refused })
}

/// What a variable of the workload is set to.
fn literal(written: &str) -> Option<Datum> {
    let text = written.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
    match text {
        Some(text) => Some(Datum::Text(text.replace("''", "'"))),
        None => written.parse().map(Datum::Int).or_else(|_| written.parse().map(Datum::Real)).ok(),
    }
}

fn filled(table: &Table, names: &Names, initial: &[Datum], seed: i64) -> Result<Filled, Vec<String>> {
    match table {
        Table::Csv { table, csv, rows, columns, sha256 } => Ok(Filled {
            table: table.clone(),
            columns: columns.clone(),
            rows: *rows as i64,
            source: Source::Csv { path: csv.clone(), sha256: sha256.clone() },
        }),
        Table::Generated { table, rows, columns, place } => {
            generated(table, rows, columns, place, names, initial, seed)
        }
    }
}

fn generated(
    table: &str,
    rows: &str,
    columns: &[(String, String)],
    place: &str,
    names: &Names,
    initial: &[Datum],
    seed: i64,
) -> Result<Filled, Vec<String>> {
    let in_table = |what: &str, message: String| format!("{place}: load.{table}.{what}: {message}");
    let mut names = names.clone();
    let count = expression(rows, 1, &mut names).map_err(|flaw| flaw.message).and_then(|rows| {
        let mut frame = Frame { names: &names, variables: initial, random: &mut Random::new(0), default_seed: seed };
        rows.value(&mut frame)?.int()
    });
    let mut flaws = Vec::new();
    let count = count.unwrap_or_else(|message| {
        flaws.push(in_table("rows", message));
        0
    });
    if !(0..=ROWS_MAX).contains(&count) {
        flaws.push(in_table("rows", format!("{count} rows are not between 0 and {ROWS_MAX}")));
    }
    let row = names.slot("row");
    let (mut expressions, mut slots) = (Vec::new(), Vec::new());
    for (column, written) in columns {
        match expression(written, 1, &mut names) {
            Ok(expression) => expressions.push(expression),
            Err(flaw) => flaws.push(in_table(&format!("columns.{column}"), flaw.message)),
        }
        slots.push(names.slot(column));
    }
    if !flaws.is_empty() {
        return Err(flaws);
    }
    let mut initial = initial.to_vec();
    initial.resize(names.len(), Datum::Unset);
    Ok(Filled {
        table: table.to_string(),
        columns: columns.iter().map(|(name, _)| name.clone()).collect(),
        rows: count,
        source: Source::Generated(Box::new(Generated {
            expressions,
            slots,
            row,
            place: place.to_string(),
            names,
            initial,
        })),
    })
}

/// Notes what is wrong with a file, and goes on without its statements.
fn noted_in(flaws: &mut Vec<String>) -> impl FnOnce(String) -> Vec<Statement> + '_ {
    |flaw| {
        flaws.push(flaw);
        Vec::new()
    }
}

/// A variable's value where no parameter is sent. In a schema `:name` may be a procedure's own, in a condition it cannot.
fn value_in_sql(name: &str, names: &Names, initial: &[Datum], dialect: &str) -> Result<String, String> {
    let quoted = |text: &str| match dialect {
        "mysql" => text.replace('\\', "\\\\").replace('\'', "''"),
        _ => text.replace('\'', "''"),
    };
    match &initial[names.clone().used(name)?] {
        Datum::Unset => Err(format!("the variable :{name} is a terminal's, and a condition is asked without one")),
        Datum::Null => Ok("null".to_string()),
        Datum::Bool(truth) => Ok(truth.to_string()),
        Datum::Int(n) => Ok(format!("({n})")),
        Datum::Real(x) => Ok(format!("({x:?})")),
        Datum::Text(text) => Ok(format!("'{}'", quoted(text))),
    }
}

fn once(
    file: Option<&SqlFile>,
    dialect: &str,
    value: impl Fn(&str) -> Result<String, String>,
) -> Result<Vec<Statement>, String> {
    let Some(file) = file else { return Ok(Vec::new()) };
    let source = file.of(dialect);
    let name = source.path.rsplit('/').next().unwrap_or(source.path);
    let statement = |Written { sql, line, comment }| Statement {
        sql,
        place: format!("{}:{line}", source.path),
        name: comment.filter(|comment| !comment.is_empty()).unwrap_or_else(|| format!("{name}:{line}")),
    };
    let found = statements_with(source, value).map_err(|flaw| flaw.located(source.path))?;
    Ok(found.into_iter().map(statement).collect())
}

/// PostgreSQL alone takes an isolation level there.
fn begins_with_options(program: &Program, dialect: &str) -> Vec<String> {
    let refused = |(command, line): &(language::Command, usize)| {
        match command {
        language::Command::Begin { options } if !options.is_empty() && dialect != "postgres" => Some(format!(
            "{}:{line}: begin {options}: only PostgreSQL begins with options; write begin; alone, and ask for an isolation \
             level under [settings], or leave the other engines out",
            program.path
        )),
        _ => None,
    }
    };
    program.commands.iter().filter_map(refused).collect()
}

/// Conditions are distinguished by their names.
fn twice(conditions: &[Statement]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let again = conditions.iter().filter(|condition| !seen.insert(&condition.name));
    again.map(|one| format!("{}: another condition has the name \"{}\" too", one.place, one.name)).collect()
}

fn no_queries(conditions: &[Statement]) -> Vec<String> {
    let others = conditions.iter().filter(|condition| verb(&condition.sql) != Verb::Reads);
    others.map(|condition| format!("{}: a condition is a query, and this is none", condition.place)).collect()
}
