//! `scan`: one table read whole, in one of three ways: as it lies there, sorted outside of memory, in the order of an index.
//!
//! Source: D. Yemanov, "Firebird vs Windows: file-system caching issue" (2012), whose three reads these are. An engine is
//! made to take the plan that is measured, and the plan is read back. What is answered is counted and summed up, by the
//! engine where that leaves the plan as it is, so that handing rows over does not hide how they are read.

use crate::common::{commit, condition, flaw_if_zero, mixed as multiplied, random_letters};
use crate::kind::Kind;
use crate::sql::{files, filled, File, Files};
use protocol::Condition;
use rand::SeedableRng;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex};
use transaction::{
    failed, Acknowledged, Attempt, Class, Client, Dialect, Drawn, Ended, KindSpec, LoadContext, NumberedTable, Outcome,
    Refused, Rng, Script, Seat, Session, Statement, Value, Workload,
};

/// Text in each row, the larger part of it. A sort by it carries it along, whatever the engine does with other columns.
const FILLER_BYTES: usize = 800;
/// A row's values: three numbers and the text.
const ROW_BYTES: u64 = 3 * 8 + FILLER_BYTES as u64;
const AMOUNT_MAX: u64 = 1_000_000;
const CHUNK: i64 = 10_000;
/// After the text: an engine that lays long rows out in several pages must have read them all to come to the amount.
const COLUMNS: [&str; 4] = ["id", "ordinal", "filler", "amount"];

/// How each engine is made to read, by the names of the reads, and what its plan must say. A query answers rows of two
/// numbers: how many rows of the table each represents, and the sum of their amounts. `settings` are of the session, those
/// with a read's name behind theirs for it alone; `loaded` ends the load.
const READS: Files = files!("");

/// A table read whole, over and over.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// The table's values, in 10^6 bytes.
    size_mb: u32,
    read: Read,
}

/// In which way a table is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Read {
    /// As it lies there.
    Natural,
    /// By a column without an index: the engine sorts all rows.
    Sorted,
    /// In the order of a secondary index, which has no relation to that of the table.
    Indexed,
}

impl Read {
    fn name(self) -> &'static str {
        KINDS[self as usize].name
    }
}

impl Kind for Parameters {
    const NAME: &'static str = "scan";

    fn flaw(&self) -> Option<String> {
        flaw_if_zero("size_mb", self.size_mb)
    }

    fn samples() -> Vec<Parameters> {
        [Read::Natural, Read::Sorted, Read::Indexed].map(|read| Parameters { size_mb: 100, read }).into()
    }

    fn workload(self, _: u64) -> Box<dyn Workload> {
        Box::new(Scan::new(self.size_mb, self.read))
    }
}

struct Scan {
    read: Read,
    rows: u64,
    results: Arc<Mutex<ReadResults>>,
}

/// What the reads of this process were answered.
#[derive(Default)]
struct ReadResults {
    reads: u64,
    /// The first answer that was not what had been loaded, and how many there were.
    wrong: Option<(Answer, u64)>,
}

/// How many rows a read came upon, and the sum of their amounts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Answer {
    rows: i64,
    amount: i64,
}

impl Scan {
    fn new(size_mb: u32, read: Read) -> Scan {
        let rows = (u64::from(size_mb) * 1_000_000 / ROW_BYTES).max(1);
        Scan { read, rows, results: Arc::default() }
    }
}

impl Workload for Scan {
    /// The rows follow from their number alone, so that another process, with another seed, knows what it must find.
    fn load(&self, context: &LoadContext) -> Outcome<()> {
        let dialect = context.dialect;
        let file = of_engine(dialect)?;
        // One byte a letter, compared as bytes: the sort is the same work on every engine.
        let sql =
            "create table scan (id {later_key}, ordinal bigint not null, filler varchar({letters}) {bytes} not null, \
                   amount integer not null)";
        context.statements([filled(sql, dialect, &[("letters", &FILLER_BYTES)])?])?;
        let order = &Shuffle::of(self.rows);
        let table = NumberedTable { name: "scan".to_string(), columns: &COLUMNS, rows: self.rows as i64 };
        context.fill_numbered(&[table], CHUNK, |_, before| {
            let mut rng = Rng::seed_from_u64(before as u64);
            move |number, row| {
                let before = number as u64 - 1;
                row.resize(COLUMNS.len(), Value::Null);
                row[0] = Value::Int(number);
                row[1] = Value::Int(order.place(before) as i64 + 1);
                random_letters(&mut row[2], FILLER_BYTES, &mut rng);
                row[3] = Value::Int(amount(before) as i64);
            }
        })?;
        let key = "alter table scan add constraint pk_scan primary key (id)".to_string();
        let index = "create index scan_ordinal on scan (ordinal)".to_string();
        let key = dialect.keys_after_load.then_some(key);
        context.statements(key.into_iter().chain([index]).chain(file.named("loaded", dialect, &[])?))
    }

    /// Reads none of the rows, so that a run after it finds caches as it was meant to; each read of a run is checked
    /// by itself.
    fn check(&self, session: &mut dyn Session, _: &Acknowledged) -> Outcome<Vec<Condition>> {
        let file = of_engine(session.dialect())?;
        let plan = plan(session, file, self.read)?;
        let wanted = Wanted::of(file, self.read)?;
        let results = self.results.lock().expect("no panic under this lock");
        let detail = match results.wrong {
            None => format!("{} reads, each of the {} rows that were loaded", results.reads, self.rows),
            Some((Answer { rows, amount }, times)) => {
                let loaded = self.loaded();
                format!(
                    "{times} of {} reads found other rows than were loaded: {rows} with the sum {amount} instead of {} \
                     with {}",
                    results.reads, loaded.rows, loaded.amount
                )
            }
        };
        Ok(vec![
            condition(&format!("plan_is_{}", self.read.name()), wanted.fits(&plan), format!("plan: {plan}")),
            condition("each_read_finds_what_was_loaded", results.wrong.is_none(), detail),
        ])
    }

    fn kinds(&self) -> &'static [KindSpec] {
        let only = self.read as usize;
        &KINDS[only..=only]
    }

    fn script(&self, session: &mut dyn Session, _: Seat) -> Outcome<Box<dyn Script>> {
        let file = of_engine(session.dialect())?;
        steer(session, file, self.read)?;
        let query = file.one(self.read.name(), session.dialect(), &[])?;
        Ok(Box::new(Reading {
            statement: session.prepare(&query)?,
            loaded: self.loaded(),
            results: self.results.clone(),
        }))
    }
}

impl Scan {
    fn loaded(&self) -> Answer {
        Answer { rows: self.rows as i64, amount: (0..self.rows).map(amount).sum::<u64>() as i64 }
    }
}

/// In the order of [`Read`].
const KINDS: [KindSpec; 3] = KindSpec::without_limits(["natural", "sorted", "indexed"]);

fn of_engine(dialect: &Dialect) -> Outcome<File> {
    READS.of(dialect).ok_or_else(|| {
        let engine = dialect.engine;
        failed(Class::Other, format!("the workload scan does not know how {engine} is made to read in one way"))
    })
}

/// Sets what the session needs so that the engine reads in this way, where there are no words for that in the query itself.
fn steer(session: &mut dyn Session, file: File, read: Read) -> Outcome<()> {
    for name in ["settings", &format!("settings_{}", read.name())] {
        for sql in file.named(name, session.dialect(), &[])? {
            session.batch(&sql)?;
        }
    }
    Ok(())
}

/// What the engine would do, in its own words, on one line.
fn plan(session: &mut dyn Session, file: File, read: Read) -> Outcome<String> {
    steer(session, file, read)?;
    let rows = session.plan(&file.one(read.name(), session.dialect(), &[])?)?;
    let words: Vec<_> = rows.into_iter().flatten().filter_map(Value::into_text).collect();
    Ok(words.join(" ").split_whitespace().collect::<Vec<_>>().join(" "))
}

/// What a plan must say, and what it must not, in small letters.
struct Wanted {
    says: Vec<String>,
    never: Vec<String>,
}

impl Wanted {
    /// As the engine's file has it above the query.
    fn of(file: File, read: Read) -> Outcome<Wanted> {
        let words = |what| {
            let list = file.remark(read.name(), what).and_then(|list| serde_json::from_str(list).ok());
            list.ok_or_else(|| failed(Class::Other, format!("a file of SQL has no list `{what}` for {}", read.name())))
        };
        Ok(Wanted { says: words("says")?, never: words("never")? })
    }

    fn fits(&self, plan: &str) -> bool {
        let plan = plan.to_lowercase();
        self.says.iter().all(|words| plan.contains(words)) && !self.never.iter().any(|words| plan.contains(words))
    }
}

struct Reading {
    statement: Statement,
    loaded: Answer,
    results: Arc<Mutex<ReadResults>>,
}

impl Reading {
    async fn once(&mut self, client: &mut Client) -> Result<Ended, Refused> {
        client.begin_reading().await?;
        let mut answer = Answer::default();
        client
            .run(self.statement, &[], |row| {
                answer.rows += row[0].as_i64().unwrap_or(0);
                answer.amount += row[1].as_i64().unwrap_or(0);
            })
            .await?;
        let ended = commit(client).await?;
        let mut results = self.results.lock().expect("no panic under this lock");
        results.reads += 1;
        if answer != self.loaded {
            results.wrong.get_or_insert((answer, 0)).1 += 1;
        }
        Ok(ended)
    }
}

impl Script for Reading {
    fn draw(&mut self, _: &mut Rng) -> Option<Drawn> {
        Some(Drawn::default())
    }

    fn attempt<'a>(&'a mut self, client: &'a mut Client) -> Attempt<'a> {
        Box::pin(self.once(client))
    }
}

/// The order of the second index: each of `rows` places once, without relation to the order in which rows are loaded, and
/// without a table of them. A Feistel network over the next power of four; what falls outside goes through it again.
struct Shuffle {
    rows: u64,
    half_bits: u32,
}

impl Shuffle {
    fn of(rows: u64) -> Shuffle {
        let bits = u64::BITS - (rows - 1).leading_zeros();
        Shuffle { rows, half_bits: bits.div_ceil(2) }
    }

    fn place(&self, row: u64) -> u64 {
        let mask = (1 << self.half_bits) - 1;
        let once = |at: u64| {
            let (left, right) = (0..4).fold((at >> self.half_bits, at & mask), |(left, right), round| {
                (right, left ^ (mixed(right << 2 | round) & mask))
            });
            left << self.half_bits | right
        };
        let mut at = once(row);
        while at >= self.rows {
            at = once(at);
        }
        at
    }
}

fn amount(row: u64) -> u64 {
    mixed(row) % AMOUNT_MAX
}

/// SplitMix64 (Steele, Lea and Flood 2014): every bit of what goes in stirs every bit of what comes out.
fn mixed(n: u64) -> u64 {
    let bits = multiplied(n.wrapping_add(0x9E37_79B9_7F4A_7C15));
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::tests::PLAIN;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_place_is_taken_once(rows in 1u64..5_000) {
            let order = Shuffle::of(rows);
            let mut taken = vec![false; rows as usize];
            for row in 0..rows {
                let place = order.place(row) as usize;
                prop_assert!(!std::mem::replace(&mut taken[place], true));
            }
        }
    }

    #[test]
    fn the_second_order_knows_nothing_of_the_first() {
        let rows = 100_000;
        let order = Shuffle::of(rows);
        let places: Vec<f64> = (0..rows).map(|row| order.place(row) as f64).collect();
        let mean = (rows - 1) as f64 / 2.0;
        let variance = mean * (mean + 1.0) / 3.0 * (1.0 + 1.0 / rows as f64);
        for lag in [0, 1, 2, 7, 64] {
            let together: f64 = if lag == 0 {
                places.iter().enumerate().map(|(row, place)| (row as f64 - mean) * (place - mean)).sum()
            } else {
                places.iter().zip(&places[lag..]).map(|(one, other)| (one - mean) * (other - mean)).sum()
            };
            let correlation = together / variance / rows as f64;
            // Of chance alone it is below this in all but one of ten thousand tries.
            assert!(correlation.abs() < 4.0 / (rows as f64).sqrt(), "lag {lag}: {correlation}");
        }
        let near = places.windows(2).filter(|pair| (pair[0] - pair[1]).abs() < 100.0).count();
        assert!(near < 400, "{near} neighbours are neighbours again");
    }

    #[test]
    fn a_read_is_as_large_as_was_asked_for() {
        for (size_mb, rows) in [(1, 1_213), (100, 121_359), (8_000, 9_708_737)] {
            let scan = Scan::new(size_mb, Read::Natural);
            assert_eq!(scan.rows, rows);
        }
    }

    #[test]
    fn a_plan_must_say_all_and_nothing_else() {
        for (engine, read, plan, fits) in [
            ("sqlite", Read::Natural, "2 0 0 SCAN scan", true),
            ("sqlite", Read::Natural, "2 0 0 SCAN scan USING COVERING INDEX scan_ordinal", false),
            ("postgres", Read::Indexed, "Aggregate -> Index Scan using scan_ordinal on scan", true),
            ("postgres", Read::Indexed, "Aggregate -> Seq Scan on scan", false),
            ("postgres", Read::Natural, "Gather -> Parallel Seq Scan on scan", false),
            ("mysql", Read::Indexed, "1 SIMPLE scan range scan_ordinal scan_ordinal 8 9 Using where; Using MRR", false),
        ] {
            let file = READS.of(&Dialect { name: engine, ..PLAIN }).unwrap();
            assert_eq!(Wanted::of(file, read).unwrap().fits(plan), fits, "{plan}");
        }
    }
}
