//! `oltp`: the statements of sysbench's `oltp_read_write`, in its numbers, its order, and over its tables.
//!
//! Source: sysbench 1.0.20, `oltp_common.lua` and `oltp_read_write.lua` with their default options. Rows are drawn by
//! its default distribution, `special`.

use crate::common::{commit, condition, flaw_if_zero, number};
use crate::kind::Kind;
use crate::sql::filled;
use protocol::Condition;
use rand::{Rng as _, RngExt as _, SeedableRng};
use serde::{Deserialize, Serialize};
use transaction::{
    Acknowledged, Attempt, Class, Client, Drawn, LoadContext, NumberedTable, Outcome, Rng, Script, Seat, Session,
    SessionError, Statement, Value, Workload,
};

const POINT_SELECTS: usize = 10;
const RANGE_SIZE: i64 = 100;
/// Groups of eleven digits with dashes between.
const C_GROUPS: usize = 10;
const PAD_GROUPS: usize = 5;
const CHUNK: i64 = 10_000;
const COLUMNS: [&str; 4] = ["id", "k", "c", "pad"];

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Oltp {
    tables: u32,
    /// Rows of each.
    table_rows: u32,
}

impl Kind for Oltp {
    const NAME: &'static str = "oltp";

    fn flaw(&self) -> Option<String> {
        flaw_if_zero("tables and table_rows", self.tables.min(self.table_rows))
    }

    fn samples() -> Vec<Oltp> {
        vec![Oltp { tables: 2, table_rows: 1_000 }]
    }

    fn workload(self, _: u64) -> Box<dyn Workload> {
        Box::new(self)
    }
}

impl Oltp {
    fn rows(&self) -> i64 {
        self.table_rows.into()
    }
}

impl Workload for Oltp {
    fn load(&self, context: &LoadContext) -> Outcome<()> {
        let dialect = context.dialect;
        let sql = "create table sbtest{table} (id {later_small_key}, k integer default 0 not null, \
                   c char(120) default '' not null, pad char(60) default '' not null)";
        let create = (1..=self.tables).map(|table| filled(sql, dialect, &[("table", &table)]));
        context.statements(create.collect::<Outcome<Vec<_>>>()?)?;
        let table = |number| NumberedTable { name: format!("sbtest{number}"), columns: &COLUMNS, rows: self.rows() };
        let tables: Vec<_> = (1..=self.tables).map(table).collect();
        context.fill_numbered(&tables, CHUNK, |table, before| {
            let mut rng = Rng::seed_from_u64(context.seed ^ (((table as u64 + 1) << 32) + before as u64 + 1));
            move |id, row| {
                row.resize(COLUMNS.len(), Value::Null);
                row[0] = Value::Int(id);
                row[1] = Value::Int(special(&mut rng, self.rows()));
                digits(&mut row[2], C_GROUPS, &mut rng);
                digits(&mut row[3], PAD_GROUPS, &mut rng);
            }
        })?;
        context.statements((1..=self.tables).flat_map(|table| {
            let key = format!("alter table sbtest{table} add constraint pk_sbtest{table} primary key (id)");
            let index = format!("create index k_{table} on sbtest{table} (k)");
            dialect.keys_after_load.then_some(key).into_iter().chain([index])
        }))
    }

    fn check(&self, session: &mut dyn Session, _: &Acknowledged) -> Outcome<Vec<Condition>> {
        let length = session.dialect().char_length;
        let (c, pad) = (C_GROUPS * 12 - 1, PAD_GROUPS * 12 - 1);
        let (mut rows, mut foreign, mut below, mut cut) = (0, 0, 0, 0);
        for table in 1..=self.tables {
            let mut count = |what: &str| number(session, &format!("select count(*) from sbtest{table}{what}"));
            rows += count("")?;
            foreign += count(&format!(" where id < 1 or id > {}", self.table_rows))?;
            below += count(" where k < 1")?;
            // Some engines fill a char up with blanks.
            cut += count(&format!(" where {length}(trim(c)) <> {c} or {length}(trim(pad)) <> {pad}"))?;
        }
        let wanted = i64::from(self.tables) * self.rows();
        Ok(vec![
            // Each transaction deletes a row and inserts it again. The key admits no id twice.
            condition("rows_are_unchanged_in_number", rows == wanted, format!("{rows} rows, {wanted} wanted")),
            condition(
                "ids_are_those_loaded",
                foreign == 0,
                format!("{foreign} rows outside of 1 to {}", self.table_rows),
            ),
            condition("k_never_falls", below == 0, format!("{below} rows with k below 1")),
            condition("texts_are_whole", cut == 0, format!("{cut} rows with a c or a pad of another length")),
        ])
    }

    fn script(&self, session: &mut dyn Session, _: Seat) -> Outcome<Box<dyn Script>> {
        let prepare = |table| {
            let mut prepare = |before: &str, after: &str| session.prepare(&format!("{before} sbtest{table} {after}"));
            let range = "where id between ? and ?";
            Ok(Prepared {
                point: prepare("select c from", "where id = ?")?,
                ranges: [
                    prepare("select c from", range)?,
                    prepare("select sum(k) from", range)?,
                    prepare("select c from", &format!("{range} order by c"))?,
                    prepare("select distinct c from", &format!("{range} order by c"))?,
                ],
                update_index: prepare("update", "set k = k + 1 where id = ?")?,
                update_other: prepare("update", "set c = ? where id = ?")?,
                delete: prepare("delete from", "where id = ?")?,
                insert: prepare("insert into", "(id, k, c, pad) values (?, ?, ?, ?)")?,
            })
        };
        Ok(Box::new(ReadWrite {
            tables: (1..=self.tables).map(prepare).collect::<Outcome<_>>()?,
            table_rows: self.rows(),
            points: Asked::new(),
            ranges: std::array::from_fn(|_| Asked::new()),
            update_index: Asked::new(),
            update_other: Asked::new(),
            insert: Asked::new(),
        }))
    }
}

struct Prepared {
    point: Statement,
    /// All, their sum, in order, the distinct ones in order.
    ranges: [Statement; 4],
    update_index: Statement,
    update_other: Statement,
    delete: Statement,
    insert: Statement,
}

/// Of which table something is asked, and the values; their texts keep their memory.
struct Asked<const N: usize> {
    table: usize,
    values: [Value; N],
}

impl<const N: usize> Asked<N> {
    fn new() -> Asked<N> {
        Asked { table: 0, values: std::array::from_fn(|_| Value::Null) }
    }
}

struct ReadWrite {
    tables: Vec<Prepared>,
    table_rows: i64,
    points: Asked<POINT_SELECTS>,
    ranges: [Asked<2>; 4],
    update_index: Asked<1>,
    update_other: Asked<2>,
    insert: Asked<4>,
}

impl Script for ReadWrite {
    fn draw(&mut self, rng: &mut Rng) -> Option<Drawn> {
        let (tables, rows) = (self.tables.len(), self.table_rows);
        let table = |rng: &mut Rng| rng.random_range(0..tables);
        self.points.table = table(rng);
        self.points.values.iter_mut().for_each(|id| *id = Value::Int(special(rng, rows)));
        for range in &mut self.ranges {
            range.table = table(rng);
            let first = special(rng, rows);
            range.values = [first, first + RANGE_SIZE - 1].map(Value::Int);
        }
        self.update_index = Asked { table: table(rng), values: [Value::Int(special(rng, rows))] };
        self.update_other.table = table(rng);
        digits(&mut self.update_other.values[0], C_GROUPS, rng);
        self.update_other.values[1] = Value::Int(special(rng, rows));
        self.insert.table = table(rng);
        self.insert.values[0] = Value::Int(special(rng, rows));
        self.insert.values[1] = Value::Int(special(rng, rows));
        digits(&mut self.insert.values[2], C_GROUPS, rng);
        digits(&mut self.insert.values[3], PAD_GROUPS, rng);
        Some(Drawn::default())
    }

    fn attempt<'a>(&'a mut self, client: &'a mut Client) -> Attempt<'a> {
        Box::pin(async {
            let tables = &self.tables;
            client.begin().await?;
            for id in &self.points.values {
                client.query_one(tables[self.points.table].point, std::slice::from_ref(id), |_| {}).await?;
            }
            for (which, range) in self.ranges.iter().enumerate() {
                let first = range.values[0].as_i64().unwrap_or_default();
                // Equal texts in a hundred are not to be expected.
                let wanted = if which == 1 { 1 } else { RANGE_SIZE.min(self.table_rows - first + 1) };
                let mut rows = 0;
                client.run(tables[range.table].ranges[which], &range.values, |_| rows += 1).await?;
                if rows != wanted {
                    return Err(missed(rows, wanted).into());
                }
            }
            let Asked { table, values } = &self.update_index;
            client.change_one(tables[*table].update_index, values).await?;
            let Asked { table, values } = &self.update_other;
            client.change_one(tables[*table].update_other, values).await?;
            let Asked { table, values } = &self.insert;
            client.change_one(tables[*table].delete, &values[..1]).await?;
            client.change_one(tables[*table].insert, values).await?;
            commit(client).await
        })
    }
}

fn missed(rows: i64, wanted: i64) -> SessionError {
    SessionError { class: Class::RowMissed, message: format!("a range of {wanted} rows was answered with {rows}") }
}

/// A row number from 1 to `rows` by sysbench's distribution `special`: three in four from the middle hundredth, evenly,
/// the others from all, by the mean of twelve even draws.
///
/// Source: `sb_rand_special` in `sb_rand.c` of sysbench 1.0.20, with `--rand-spec-iter=12 --rand-spec-pct=1
/// --rand-spec-res=75`. As there, a draw that has chosen the hundredth is at least 0.25 and chooses the row as well, so
/// that the hundredth's first quarter is left out.
fn special(rng: &mut Rng, rows: i64) -> i64 {
    let width = (rows - 1) as f64;
    let drawn: f64 = rng.random();
    let at = if drawn < 0.25 {
        (0..12).map(|_| rng.random::<f64>()).sum::<f64>() / 12.0 * width
    } else {
        drawn * (width / 100.0 + 1.0) + width / 2.0 - width / 200.0
    };
    1 + at as i64
}

/// Makes a text of groups of eleven random digits, a dash between two: `sysbench.rand.string` of its templates.
fn digits(value: &mut Value, groups: usize, rng: &mut Rng) {
    let text = value.empty_text();
    for group in 0..groups {
        if group > 0 {
            text.push('-');
        }
        let mut number = rng.next_u64() % 100_000_000_000;
        let mut digits = [0; 11];
        for digit in digits.iter_mut().rev() {
            *digit = b'0' + (number % 10) as u8;
            number /= 10;
        }
        text.push_str(std::str::from_utf8(&digits).expect("digits"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use transaction::Rng;

    #[test]
    fn three_in_four_rows_are_of_the_middle_hundredth_without_its_first_quarter() {
        let mut rng = Rng::seed_from_u64(7);
        let all: Vec<i64> = (0..200_000).map(|_| special(&mut rng, 100_000)).collect();
        let share = |from: i64, to: i64| all.iter().filter(|id| (from..=to).contains(id)).count() as f64 / 200_000.0;
        // The mean of twelve draws adds a few to the middle: its density there is 4.8 times the even one.
        assert!((0.75..0.77).contains(&share(49_750, 50_502)), "{}", share(49_750, 50_502));
        assert!(share(49_500, 49_700) < 0.004);
        assert!((0.11..0.13).contains(&share(1, 49_500)), "{}", share(1, 49_500));
    }

    #[test]
    fn texts_look_like_sysbenchs() {
        let mut rng = Rng::seed_from_u64(7);
        let mut value = Value::Null;
        for (groups, length) in [(C_GROUPS, 119), (PAD_GROUPS, 59)] {
            digits(&mut value, groups, &mut rng);
            let Value::Text(text) = &value else { panic!("{value:?}") };
            assert_eq!(text.len(), length);
            assert!(text.split('-').all(|group| group.len() == 11 && group.bytes().all(|byte| byte.is_ascii_digit())));
        }
    }

    proptest! {
        #[test]
        fn every_row_drawn_is_there(rows in 1i64..5_000_000_000, seed: u64) {
            let mut rng = Rng::seed_from_u64(seed);
            for _ in 0..100 {
                prop_assert!((1..=rows).contains(&special(&mut rng, rows)));
            }
        }
    }
}
