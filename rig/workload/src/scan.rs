//! `scan`: one table read whole, in one of three ways: as it lies there, sorted outside of memory, in the order of an index.
//!
//! Source: D. Yemanov, "Firebird vs Windows: file-system caching issue" (2012), whose three reads these are. An engine is
//! made to take the plan that is measured, and the plan is read back. What is answered is counted and summed up, by the
//! engine where that leaves the plan as it is, so that handing rows over does not hide how they are read.

use super::{commit, condition};
use protocol::{Condition, Read};
use rand::{Rng as _, SeedableRng};
use std::sync::{Arc, Mutex};
use transaction::{
    Acknowledged, Attempt, Client, Dialect, Drawn, Ended, KindSpec, LoadContext, Outcome, Refused, Rng, Script, Seat,
    Session, Statement, Value, Workload,
};

/// Text in each row, the larger part of it. A sort by it carries it along, whatever the engine does with other columns.
const FILLER_BYTES: usize = 800;
/// A row's values: three numbers and the text.
const ROW_BYTES: u64 = 3 * 8 + FILLER_BYTES as u64;
const AMOUNT_MAX: u64 = 1_000_000;
const CHUNK: u64 = 10_000;
/// After the text: an engine that lays long rows out in several pages must have read them all to come to the amount.
const COLUMNS: [&str; 4] = ["id", "ordinal", "filler", "amount"];

pub struct Scan {
    pub read: Read,
    rows: u64,
    seen: Arc<Mutex<Seen>>,
}

/// What the reads of this process were answered.
#[derive(Default)]
struct Seen {
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
    pub fn new(size_mb: u32, read: Read) -> Scan {
        let rows = (u64::from(size_mb) * 1_000_000 / ROW_BYTES).max(1);
        Scan { read, rows, seen: Arc::default() }
    }
}

impl Workload for Scan {
    /// The rows follow from their number alone, so that another process, with another seed, knows what it must find.
    fn load(&self, context: &LoadContext) -> Outcome<()> {
        let dialect = context.dialect();
        // As in `tpcb`: the key is the table itself, or it is built over all rows.
        let (id, key_after) = match dialect {
            Dialect::Sqlite => ("integer primary key", false),
            Dialect::Mysql => ("bigint not null primary key", false),
            Dialect::Firebird | Dialect::Postgres => ("bigint not null", true),
        };
        // One byte a letter, compared as bytes: the sort is the same work on every engine.
        let bytes = match dialect {
            Dialect::Sqlite => "",
            Dialect::Firebird => " character set ascii",
            Dialect::Postgres => " collate \"C\"",
            Dialect::Mysql => " character set latin1 collate latin1_bin",
        };
        context.statements([format!(
            "create table scan (id {id}, ordinal bigint not null, filler varchar({FILLER_BYTES}){bytes} not null, \
             amount integer not null)"
        )])?;
        context.expect(self.rows);
        let order = Shuffle::of(self.rows);
        let chunks = (0..self.rows).step_by(CHUNK as usize).collect();
        context.each(chunks, |session, before| {
            let mut rng = Rng::seed_from_u64(before);
            let last = self.rows.min(before + CHUNK);
            let mut next = before;
            context
                .fill(session, "scan", &COLUMNS, |row| {
                    if next == last {
                        return false;
                    }
                    row.resize(COLUMNS.len(), Value::Null);
                    row[0] = Value::Int(next as i64 + 1);
                    row[1] = Value::Int(order.place(next) as i64 + 1);
                    fill(&mut row[2], &mut rng);
                    row[3] = Value::Int(amount(next) as i64);
                    next += 1;
                    true
                })
                .map(|_| ())
        })?;
        let key = key_after.then_some("alter table scan add constraint pk_scan primary key (id)");
        // Otherwise the first to read marks the rows as committed, which is writing.
        let clean = matches!(dialect, Dialect::Postgres).then_some("vacuum (freeze, analyze) scan");
        let index = "create index scan_ordinal on scan (ordinal)";
        context.statements(key.into_iter().chain([index]).chain(clean))
    }

    /// Reads none of the rows, so that a run after it finds caches as it was meant to; each read of a run is checked
    /// by itself.
    fn check(&self, session: &mut dyn Session, _: &Acknowledged) -> Outcome<Vec<Condition>> {
        let plan = plan(session, self.read)?;
        let wanted = wanted(session.dialect(), self.read);
        let seen = self.seen.lock().expect("no panic under this lock");
        let told = match seen.wrong {
            None => format!("{} reads, each of the {} rows that were loaded", seen.reads, self.rows),
            Some((Answer { rows, amount }, times)) => {
                let loaded = self.loaded();
                format!(
                    "{times} of {} reads found other rows than were loaded: {rows} with the sum {amount} instead of {} \
                     with {}",
                    seen.reads, loaded.rows, loaded.amount
                )
            }
        };
        Ok(vec![
            condition(
                &format!("plan_is_{}", KINDS[self.read as usize].name),
                wanted.fits(&plan),
                format!("plan: {plan}"),
            ),
            condition("each_read_finds_what_was_loaded", seen.wrong.is_none(), told),
        ])
    }

    fn kinds(&self) -> &'static [KindSpec] {
        let only = self.read as usize;
        &KINDS[only..=only]
    }

    fn script(&self, session: &mut dyn Session, _: Seat) -> Outcome<Box<dyn Script>> {
        steer(session, self.read)?;
        Ok(Box::new(Reading {
            statement: session.prepare(query(session.dialect(), self.read))?,
            loaded: self.loaded(),
            seen: self.seen.clone(),
        }))
    }
}

impl Scan {
    fn loaded(&self) -> Answer {
        Answer { rows: self.rows as i64, amount: (0..self.rows).map(amount).sum::<u64>() as i64 }
    }
}

/// In the order of [`Read`].
const KINDS: [KindSpec; 3] = [
    KindSpec { name: "natural", limit_ms: None },
    KindSpec { name: "sorted", limit_ms: None },
    KindSpec { name: "indexed", limit_ms: None },
];

/// Answers rows of two numbers: how many rows of the table one stands for, and the sum of their amounts. An engine that
/// would leave out a sort nobody sees (MySQL), or not sort as it does otherwise (SQLite, to which a subquery's sort means a
/// table of its own), answers row by row.
fn query(dialect: Dialect, read: Read) -> &'static str {
    match (dialect, read) {
        (Dialect::Sqlite, Read::Natural) => "select count(*), sum(amount) from scan not indexed",
        (Dialect::Sqlite, Read::Sorted) => "select 1, amount from scan not indexed order by filler",
        (Dialect::Sqlite, Read::Indexed) => {
            "select count(*), sum(amount) from scan indexed by scan_ordinal where ordinal > 0"
        }
        (Dialect::Firebird, Read::Natural) => "select count(*), sum(amount) from scan plan (scan natural)",
        (Dialect::Firebird, Read::Sorted) => {
            "select count(*), sum(amount) from (select amount from scan plan (scan natural) order by filler) sorted"
        }
        (Dialect::Firebird, Read::Indexed) => {
            "select count(*), sum(amount) \
             from (select amount from scan plan (scan order scan_ordinal) order by ordinal) sorted"
        }
        (Dialect::Postgres, Read::Natural) => "select count(*), sum(amount) from scan",
        (Dialect::Postgres, Read::Sorted) => {
            "select count(*), sum(amount) from (select amount from scan order by filler) sorted"
        }
        (Dialect::Postgres, Read::Indexed) => "select count(*), sum(amount) from scan where ordinal > 0",
        (Dialect::Mysql, Read::Natural) => "select count(*), sum(amount) from scan use index ()",
        (Dialect::Mysql, Read::Sorted) => "select 1, amount from scan use index () order by filler",
        (Dialect::Mysql, Read::Indexed) => {
            "select count(*), sum(amount) from scan force index (scan_ordinal) where ordinal > 0"
        }
    }
}

/// Settings of the session, where an engine has no words for a plan in the query itself.
fn steer(session: &mut dyn Session, read: Read) -> Outcome<()> {
    if session.dialect() != Dialect::Postgres {
        return Ok(());
    }
    // One process reads, as on the other engines.
    session.batch("set max_parallel_workers_per_gather = 0")?;
    if read == Read::Indexed {
        session.batch("set enable_seqscan = off")?;
        session.batch("set enable_bitmapscan = off")?;
    }
    Ok(())
}

/// What the engine would do, in its own words, on one line.
fn plan(session: &mut dyn Session, read: Read) -> Outcome<String> {
    steer(session, read)?;
    let query = query(session.dialect(), read);
    let rows = match session.dialect() {
        Dialect::Sqlite => session.rows(&format!("explain query plan {query}"))?,
        Dialect::Postgres | Dialect::Mysql => session.rows(&format!("explain {query}"))?,
        Dialect::Firebird => {
            session.prepare(query)?;
            session.rows(&format!(
                "select cast(mon$explained_plan as varchar(4000)) from mon$statements \
                 where mon$attachment_id = current_connection and mon$sql_text starting with '{query}'"
            ))?
        }
    };
    let words: Vec<_> = rows.into_iter().flatten().filter_map(Value::into_text).collect();
    Ok(words.join(" ").split_whitespace().collect::<Vec<_>>().join(" "))
}

/// What a plan must say, and what it must not, in small letters.
struct Wanted {
    says: &'static [&'static str],
    never: &'static [&'static str],
}

impl Wanted {
    fn fits(&self, plan: &str) -> bool {
        let plan = plan.to_lowercase();
        self.says.iter().all(|words| plan.contains(words)) && !self.never.iter().any(|words| plan.contains(words))
    }
}

fn wanted(dialect: Dialect, read: Read) -> Wanted {
    let (says, never): (&'static [_], &'static [_]) = match (dialect, read) {
        (Dialect::Sqlite, Read::Natural) => (&["scan scan"], &["index"]),
        (Dialect::Sqlite, Read::Sorted) => (&["scan scan", "temp b-tree for order by"], &["index"]),
        (Dialect::Sqlite, Read::Indexed) => (&["using index scan_ordinal"], &["temp b-tree"]),
        (Dialect::Firebird, Read::Natural) => (&["table \"scan\" full scan"], &["index", "sort"]),
        // With "refetch" the sort would be of keys only, and the rows read again in its order.
        (Dialect::Firebird, Read::Sorted) => (&["-> sort", "full scan"], &["index", "refetch"]),
        // A bitmap would be read in the order of the table.
        (Dialect::Firebird, Read::Indexed) => (&["index \"scan_ordinal\""], &["-> sort", "bitmap"]),
        (Dialect::Postgres, Read::Natural) => (&["seq scan on scan"], &["index", "sort", "gather"]),
        (Dialect::Postgres, Read::Sorted) => (&["sort key: scan.filler", "seq scan on scan"], &["index", "gather"]),
        (Dialect::Postgres, Read::Indexed) => {
            (&["index scan using scan_ordinal on scan"], &["sort", "bitmap", "gather"])
        }
        (Dialect::Mysql, Read::Natural) => (&[" scan all "], &["filesort"]),
        (Dialect::Mysql, Read::Sorted) => (&[" scan all ", "using filesort"], &["using temporary"]),
        // Multi-range read would sort the rows by their key before it reads them.
        (Dialect::Mysql, Read::Indexed) => (&[" scan range scan_ordinal "], &["mrr", "filesort"]),
    };
    Wanted { says, never }
}

struct Reading {
    statement: Statement,
    loaded: Answer,
    seen: Arc<Mutex<Seen>>,
}

impl Reading {
    async fn once(&mut self, client: &mut Client) -> Result<Ended, Refused> {
        client.begin_reading().await?;
        let mut answer = Answer::default();
        client
            .query(self.statement, &[], |row| {
                answer.rows += row[0].as_i64().unwrap_or(0);
                answer.amount += row[1].as_i64().unwrap_or(0);
            })
            .await?;
        let ended = commit(client).await?;
        let mut seen = self.seen.lock().expect("no panic under this lock");
        seen.reads += 1;
        if answer != self.loaded {
            seen.wrong.get_or_insert((answer, 0)).1 += 1;
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
    let n = n.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let n = (n ^ (n >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    n ^ (n >> 31)
}

/// Letters without repetition: an engine that compresses stores as much as one that does not.
fn fill(value: &mut Value, rng: &mut Rng) {
    let mut bytes = match std::mem::replace(value, Value::Null) {
        Value::Text(text) => text.into_bytes(),
        _ => vec![0; FILLER_BYTES],
    };
    for chunk in bytes.chunks_mut(10) {
        let mut bits = rng.next_u64();
        for byte in chunk {
            *byte = super::LETTERS[(bits & 63) as usize];
            bits >>= 6;
        }
    }
    *value = Value::Text(String::from_utf8(bytes).expect("letters only"));
}

#[cfg(test)]
mod tests {
    use super::*;
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
        for (dialect, read, plan, fits) in [
            (Dialect::Sqlite, Read::Natural, "2 0 0 SCAN scan", true),
            (Dialect::Sqlite, Read::Natural, "2 0 0 SCAN scan USING COVERING INDEX scan_ordinal", false),
            (Dialect::Postgres, Read::Indexed, "Aggregate -> Index Scan using scan_ordinal on scan", true),
            (Dialect::Postgres, Read::Indexed, "Aggregate -> Seq Scan on scan", false),
            (Dialect::Postgres, Read::Natural, "Gather -> Parallel Seq Scan on scan", false),
            (
                Dialect::Mysql,
                Read::Indexed,
                "1 SIMPLE scan range scan_ordinal scan_ordinal 8 9 Using where; Using MRR",
                false,
            ),
        ] {
            assert_eq!(wanted(dialect, read).fits(plan), fits, "{plan}");
        }
    }
}
