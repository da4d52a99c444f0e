//! A user's own workload: SQL files, a load, transactions in the script language, conditions.

mod compiled;
mod load;
mod message;
mod script;

use crate::common::{condition, kinds_named};
use crate::kind::Kind;
use compiled::{compiled, Compiled, DIALECTS};
pub use message::Message;
use protocol::{Condition, TerminalClass};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use transaction::{
    failed, Acknowledged, AtWork, Class, KindSpec, LoadContext, Mix, Outcome, Script, Seat, Session, Value, Workload,
    KINDS_MAX,
};

const LIMIT_MAX_S: f64 = 7.0 * 86_400.0;

#[derive(Serialize, Deserialize)]
#[serde(transparent)]
pub struct Own(Message);

impl Kind for Own {
    const NAME: &'static str = "sql";

    fn flaw(&self) -> Option<String> {
        self.compiled(0).1.into_iter().next()
    }

    fn samples() -> Vec<Own> {
        Message::samples().into_iter().map(Own).collect()
    }

    fn workload(self, seed: u64) -> Box<dyn Workload> {
        Box::new(self.read(seed))
    }
}

impl Own {
    /// The files as they are read for each dialect, and everything that is wrong in them for any.
    fn compiled(&self, default_seed: i64) -> (Dialects, Vec<String>) {
        let Message { transactions, title, .. } = &self.0;
        let mut flaws = BTreeSet::new();
        if transactions.is_empty() || transactions.len() > KINDS_MAX {
            flaws.insert(format!("{title}: {} transactions are not 1 to {KINDS_MAX}", transactions.len()));
        }
        for transaction in transactions {
            if !(transaction.weight >= 0.0 && transaction.weight.is_finite()) {
                flaws.insert(format!("{title}: the weight of {} must not be negative", transaction.name));
            }
        }
        if transactions.iter().all(|transaction| transaction.weight <= 0.0) && !transactions.is_empty() {
            flaws.insert(format!("{title}: no transaction has a weight above 0"));
        }
        let (dialects, more) = for_each_dialect(&self.0, default_seed);
        flaws.extend(more);
        (dialects, flaws.into_iter().collect())
    }

    fn read(self, seed: u64) -> Read {
        let transactions = &self.0.transactions;
        Read {
            base: Base::read(&self.0, seed).0,
            kinds: kinds_named(transactions.iter().map(|transaction| &transaction.name)),
            weights: transactions.iter().map(|transaction| transaction.weight).collect(),
        }
    }
}

/// A message's files as they are read for each dialect, and what is wrong in them for any.
fn for_each_dialect(message: &Message, default_seed: i64) -> (Dialects, BTreeSet<String>) {
    let (mut dialects, mut flaws) = (Vec::new(), BTreeSet::new());
    let Message { title, statement_limit_s, .. } = message;
    if !(0.0..=LIMIT_MAX_S).contains(statement_limit_s) {
        flaws.insert(format!("{title}: a statement_limit_s of {statement_limit_s} is out of range"));
    }
    for dialect in DIALECTS {
        match compiled(message, dialect, default_seed) {
            Ok(read) => dialects.push((dialect, Arc::new(read))),
            Err(more) => flaws.extend(more),
        }
    }
    (dialects, flaws)
}

/// What a message says of a workload, for people who are about to run it; as JSON, for the lab.
#[derive(Debug, Default, Serialize)]
pub struct Description {
    kinds: Vec<Described>,
    conditions: Vec<String>,
    /// Of each table that the load fills.
    loaded_rows: Vec<(String, i64)>,
    /// The bytes of a row's values, where they are known.
    row_bytes: Vec<(String, u64)>,
    warnings: Vec<String>,
    /// What engines of one dialect cannot do: the dialect, and file, line and reason.
    refused: Vec<(String, String)>,
    errors: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Described {
    name: String,
    weight: f64,
    writes: bool,
}

/// Reads the fields of a message. An error says that they are none.
pub fn describe(fields: &protocol::Fields) -> Result<Description, String> {
    let own: Own = protocol::read_fields(Own::NAME, fields)?;
    let (dialects, errors) = own.compiled(0);
    Ok(described(&own.0, &dialects, errors))
}

/// The same of a database that others work on.
pub fn describe_database(message: &Message) -> Description {
    let (dialects, errors) = for_each_dialect(message, 0);
    described(message, &dialects, errors.into_iter().collect())
}

fn described(message: &Message, dialects: &Dialects, errors: Vec<String>) -> Description {
    let Some((_, first)) = dialects.first() else { return Description { errors, ..Description::default() } };
    let writes = |number: usize| dialects.iter().any(|(_, read)| read.programs[number].writes);
    let kinds = message.transactions.iter().enumerate();
    let mut warnings = Vec::new();
    if message.conditions.is_none() {
        warnings.push(format!("{}: it has no conditions.sql: nothing shows that its rows are right", message.title));
    }
    Description {
        kinds: kinds
            .map(|(number, one)| Described { name: one.name.clone(), weight: one.weight, writes: writes(number) })
            .collect(),
        conditions: first.conditions.iter().map(|condition| condition.name.clone()).collect(),
        loaded_rows: first.tables.iter().map(|table| (table.table.clone(), table.rows)).collect(),
        row_bytes: first
            .tables
            .iter()
            .filter_map(|table| load::row_bytes(table).map(|bytes| (table.table.clone(), bytes)))
            .collect(),
        warnings,
        refused: dialects
            .iter()
            .flat_map(|(dialect, read)| read.refused.iter().map(|why| (dialect.to_string(), why.clone())))
            .collect(),
        errors,
    }
}

/// By the name of each dialect that the files could be read for.
type Dialects = Vec<(&'static str, Arc<Compiled>)>;

/// A database whose files have been read for every dialect: its schema, its load, its conditions.
pub struct Base {
    dialects: Dialects,
    /// The statement or table of the load, or the condition, that is at work.
    pub at_work: AtWork,
}

impl Base {
    /// With everything that is wrong in the files.
    pub fn read(message: &Message, seed: u64) -> (Base, BTreeSet<String>) {
        let (dialects, flaws) = for_each_dialect(message, (seed >> 1) as i64);
        let limit = Duration::try_from_secs_f64(message.statement_limit_s).unwrap_or(Duration::MAX);
        (Base { dialects, at_work: AtWork::new(limit) }, flaws)
    }

    fn of(&self, dialect: &str) -> Outcome<&Arc<Compiled>> {
        let no = |message| failed(Class::Other, message);
        let found = self.dialects.iter().find(|(name, _)| *name == dialect);
        let read = found.map(|(_, read)| read).ok_or_else(|| no(format!("no scripts for {dialect}")))?;
        match read.refused.first() {
            Some(why) => Err(no(why.clone())),
            None => Ok(read),
        }
    }

    pub fn load(&self, context: &LoadContext) -> Outcome<()> {
        let loaded = load::load(self.of(context.dialect.name)?, context, &self.at_work);
        self.at_work.ends();
        loaded
    }

    pub fn check(&self, session: &mut dyn Session) -> Outcome<Vec<Condition>> {
        let read = Arc::clone(self.of(session.dialect().name)?);
        let check = |one: &compiled::Statement| {
            self.at_work.begins(&one.place);
            let rows = session.rows(&one.sql).map_err(|error| load::placed(&one.place, error))?;
            Ok(condition(&one.name, rows.is_empty(), shown(&rows)))
        };
        let checked = read.conditions.iter().map(check).collect();
        self.at_work.ends();
        checked
    }
}

/// A workload whose files have been read for every dialect.
struct Read {
    base: Base,
    kinds: &'static [KindSpec],
    weights: Vec<f64>,
}

impl Workload for Read {
    fn load(&self, context: &LoadContext) -> Outcome<()> {
        self.base.load(context)
    }

    fn at_work(&self) -> Option<&AtWork> {
        Some(&self.base.at_work)
    }

    fn check(&self, session: &mut dyn Session, _: &Acknowledged) -> Outcome<Vec<Condition>> {
        self.base.check(session)
    }

    fn kinds(&self) -> &'static [KindSpec] {
        self.kinds
    }

    fn class_flaw(&self, class: &TerminalClass) -> Option<String> {
        let unknown = class.parameters.keys().next();
        let of_parameters = unknown
            .map(|name| format!("{name} of class {}: a class of a workload of yours has a mix alone", class.name));
        of_parameters.or_else(|| Mix::flaw(class, self.kinds()))
    }

    fn script(&self, session: &mut dyn Session, seat: Seat) -> Outcome<Box<dyn Script>> {
        let read = Arc::clone(self.base.of(session.dialect().name)?);
        let own = || Mix::by_weights(self.weights.iter().copied());
        let mix = Mix::of(seat.class, self.kinds).unwrap_or_else(own);
        Ok(Box::new(script::Client::new(read, mix, session, seat)?))
    }
}

/// The rows that a condition answered, of which there must be none.
fn shown(rows: &[Vec<Value>]) -> String {
    let Some(first) = rows.first() else { return "no row".to_string() };
    let cells: Vec<String> =
        first.iter().map(|value| value.clone().into_text().unwrap_or_else(|| "null".to_string())).collect();
    let cells: String = cells.join(" | ").chars().take(200).collect();
    match rows.len() {
        1 => format!("1 row: {cells}"),
        more => format!("{more} rows, the first: {cells}"),
    }
}
