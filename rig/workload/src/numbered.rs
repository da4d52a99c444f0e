//! `numbered`: transactions that carry their number in all that they write, so that after a power cut each can be found,
//! found missing, or found in parts.
//!
//! Transaction `n` of a terminal inserts `parts` rows in each of two tables and sets the terminal's counter to `n`. What
//! a row must hold follows from its place alone. Number 0 of each terminal comes with the load.

use crate::common::{commit, condition, flaw_if_zero, letters, none_differs, number};
use crate::kind::Kind;
use crate::sql::filled;
use protocol::{Condition, Survey, SurveyedTerminal, Torn};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use transaction::{
    Acknowledged, Attempt, Client, Drawn, LoadContext, Outcome, Rng, Script, Seat, Session, Statement, Value, Workload,
};

/// Transactions that carry their number in every row that they write.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Numbered {
    /// At least as many as submit transactions.
    terminals: u32,
    /// Rows that a transaction writes in each of two tables.
    parts: u32,
    row_bytes: u32,
}

const TERMINALS_MAX: u32 = 10_000;
const PARTS_MAX: u32 = 1 << PART_BITS;

impl Kind for Numbered {
    const NAME: &'static str = "numbered";

    fn flaw(&self) -> Option<String> {
        if self.terminals > TERMINALS_MAX || self.parts > PARTS_MAX {
            return Some("terminals or parts is out of range".to_string());
        }
        flaw_if_zero("terminals and parts", self.terminals.min(self.parts))
    }

    fn samples() -> Vec<Numbered> {
        vec![Numbered { terminals: 4, parts: 3, row_bytes: 100 }]
    }

    fn workload(self, _: u64) -> Box<dyn Workload> {
        Box::new(self)
    }
}

const TABLES: [&str; 2] = ["numbered_left", "numbered_right"];
const COLUMNS: [&str; 5] = ["id", "terminal", "seq", "part", "payload"];
/// Bits of a row's id below its transaction's number, and below its terminal.
const PART_BITS: u32 = 8;
const SEQ_BITS: u32 = 40;

impl Numbered {
    fn row(&self, table: usize, terminal: u64, seq: u64, part: u64) -> [Value; 5] {
        let id = row_id(terminal, seq, part);
        let payload = Value::Text(payload(table, id, self.row_bytes as usize));
        [Value::Int(id as i64), Value::Int(terminal as i64), Value::Int(seq as i64), Value::Int(part as i64), payload]
    }
}

fn row_id(terminal: u64, seq: u64, part: u64) -> u64 {
    (terminal << SEQ_BITS) + (seq << PART_BITS) + part
}

/// What the row of this id must hold: letters that no other row has.
fn payload(table: usize, id: u64, bytes: usize) -> String {
    letters((id << 1) + table as u64, bytes)
}

impl Workload for Numbered {
    fn load(&self, context: &LoadContext) -> Outcome<()> {
        let width = self.row_bytes.max(1);
        let rows = |table| {
            let sql = "create table {table} (id {key}, terminal integer, seq bigint, part integer, \
                       payload varchar({width}))";
            filled(sql, context.dialect, &[("table", &table), ("width", &width)])
        };
        let counters = "create table numbered_counters (terminal integer not null primary key, seq bigint)".to_string();
        context.statements([rows(TABLES[0])?, rows(TABLES[1])?, counters])?;
        let mut session = context.session()?;
        for (table, name) in TABLES.into_iter().enumerate() {
            let mut rows = (0..self.terminals).flat_map(|t| (0..self.parts).map(move |part| (t.into(), part.into())));
            context.fill(session.as_mut(), name, &COLUMNS, |values| {
                let Some((terminal, part)) = rows.next() else { return false };
                values.clear();
                values.extend(self.row(table, terminal, 0, part));
                true
            })?;
        }
        let mut terminals = 0..self.terminals;
        context.fill(session.as_mut(), "numbered_counters", &["terminal", "seq"], |values| {
            let Some(terminal) = terminals.next() else { return false };
            values.clear();
            values.extend([Value::Int(terminal.into()), Value::Int(0)]);
            true
        })?;
        Ok(())
    }

    fn check(&self, session: &mut dyn Session, acknowledged: &Acknowledged) -> Outcome<Vec<Condition>> {
        let mut conditions = Vec::new();
        for table in TABLES {
            let rows = number(session, &format!("select count(*) from {table}"))?;
            let parts = i64::from(self.parts);
            let transactions = rows / parts - i64::from(self.terminals);
            conditions.push(condition(
                &format!("{table}_matches_acknowledged"),
                rows % parts == 0 && acknowledged.agrees(transactions),
                format!("{rows} rows, {}", acknowledged.shown(acknowledged.committed)),
            ));
        }
        for table in TABLES {
            let sql = format!(
                "select count(*) from numbered_counters c where c.seq <> \
                 (select max(t.seq) from {table} t where t.terminal = c.terminal)"
            );
            conditions.push(none_differs(session, &format!("counters_match_{table}"), &sql)?);
        }
        Ok(conditions)
    }

    fn script(&self, session: &mut dyn Session, seat: Seat) -> Outcome<Box<dyn Script>> {
        let insert = |session: &mut dyn Session, table| {
            session.prepare(&format!("insert into {table} ({}) values (?, ?, ?, ?, ?)", COLUMNS.join(", ")))
        };
        let counter = format!("select seq from numbered_counters where terminal = {}", seat.terminal);
        let counted = number(session, &counter)?;
        Ok(Box::new(Commit {
            workload: Numbered { ..*self },
            inserts: [insert(session, TABLES[0])?, insert(session, TABLES[1])?],
            count: session.prepare("update numbered_counters set seq = ? where terminal = ?")?,
            terminal: seat.terminal,
            // Numbers of different runs never meet, nor those of what another process has left.
            seq: (seat.run << 24).max(counted.try_into().unwrap_or(0)),
        }))
    }

    fn survey(&self, session: &mut dyn Session) -> Outcome<Survey> {
        let mut surveyor = Surveyor { workload: self, seen: BTreeMap::new(), strays: 0 };
        for (table, name) in TABLES.into_iter().enumerate() {
            for row in session.rows(&format!("select {} from {name}", COLUMNS.join(", ")))? {
                surveyor.see(table, &row);
            }
        }
        let counters = session.rows("select terminal, seq from numbered_counters")?;
        Ok(surveyor.survey(&counters))
    }
}

struct Commit {
    workload: Numbered,
    inserts: [Statement; 2],
    count: Statement,
    terminal: u64,
    seq: u64,
}

impl Script for Commit {
    fn draw(&mut self, _: &mut Rng) -> Option<Drawn> {
        self.seq += 1;
        Some(Drawn { number: self.seq, ..Drawn::default() })
    }

    fn attempt<'a>(&'a mut self, client: &'a mut Client) -> Attempt<'a> {
        Box::pin(async {
            client.begin().await?;
            for table in 0..TABLES.len() {
                for part in 0..self.workload.parts {
                    let row = self.workload.row(table, self.terminal, self.seq, part.into());
                    client.change_one(self.inserts[table], &row).await?;
                }
                if table == 0 {
                    let counter = [Value::Int(self.seq as i64), Value::Int(self.terminal as i64)];
                    client.change_one(self.count, &counter).await?;
                }
            }
            commit(client).await
        })
    }
}

/// Sorts what is in the tables by the transaction that it belongs to.
struct Surveyor<'a> {
    workload: &'a Numbered,
    /// By terminal and number: how often each right row was found, and how many wrong ones.
    seen: BTreeMap<(u64, u64), TransactionRows>,
    strays: u64,
}

#[derive(Default, Clone)]
struct TransactionRows {
    right: u64,
    wrong: u64,
    /// One bit a part and table; a part found twice is a wrong row.
    parts: [u128; 4],
}

impl Surveyor<'_> {
    fn see(&mut self, table: usize, row: &[Value]) {
        let numbers: Vec<Option<u64>> =
            row[..4].iter().map(|value| value.as_i64().and_then(|n| u64::try_from(n).ok())).collect();
        let [Some(id), Some(terminal), Some(seq), Some(part)] = numbers[..] else {
            self.strays += 1;
            return;
        };
        if terminal >= self.workload.terminals.into()
            || part >= self.workload.parts.into()
            || seq >> (SEQ_BITS - PART_BITS) != 0
        {
            self.strays += 1;
            return;
        }
        let rows = self.seen.entry((terminal, seq)).or_default();
        let bit = table * (1 << PART_BITS) + part as usize;
        let twice = rows.parts[bit / 128] >> (bit % 128) & 1 == 1;
        rows.parts[bit / 128] |= 1 << (bit % 128);
        // Some engines answer numbers as text: the values are compared, not their types.
        let right = id == row_id(terminal, seq, part)
            && matches!(&row[4], Value::Text(text) if *text == payload(table, id, self.workload.row_bytes as usize));
        if twice || !right {
            rows.wrong += 1;
        } else {
            rows.right += 1;
        }
    }

    fn survey(self, counters: &[Vec<Value>]) -> Survey {
        let expected = u64::from(self.workload.parts) * TABLES.len() as u64;
        let mut terminals: Vec<SurveyedTerminal> = (0..self.workload.terminals)
            .map(|terminal| SurveyedTerminal {
                terminal: terminal.into(),
                counter: None,
                whole: Vec::new(),
                torn: Vec::new(),
            })
            .collect();
        let mut strays = self.strays;
        for row in counters {
            let place = row[0].as_i64().and_then(|n| usize::try_from(n).ok()).and_then(|n| terminals.get_mut(n));
            match place {
                Some(of) if of.counter.is_none() => of.counter = row[1].as_i64(),
                _ => strays += 1,
            }
        }
        for ((terminal, number), rows) in self.seen {
            let of = &mut terminals[terminal as usize];
            if rows.right != expected || rows.wrong > 0 {
                of.torn.push(Torn { number, right: rows.right, wrong: rows.wrong, expected });
            } else if let Some((_, last)) = of.whole.last_mut().filter(|(_, last)| *last + 1 == number) {
                *last = number;
            } else {
                of.whole.push((number, number));
            }
        }
        Survey { terminals, strays }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Numbered = Numbered { terminals: 2, parts: 3, row_bytes: 40 };

    fn rows(seqs: &[u64]) -> Vec<(usize, Vec<Value>)> {
        let mut rows = Vec::new();
        for &seq in seqs {
            for table in 0..2 {
                rows.extend((0..3).map(|part| (table, SMALL.row(table, 0, seq, part).to_vec())));
            }
        }
        rows
    }

    fn surveyed(rows: &[(usize, Vec<Value>)], counter: i64) -> Survey {
        let mut surveyor = Surveyor { workload: &SMALL, seen: BTreeMap::new(), strays: 0 };
        for (table, row) in rows {
            surveyor.see(*table, row);
        }
        surveyor.survey(&[vec![Value::Int(0), Value::Int(counter)]])
    }

    #[test]
    fn payloads_differ_by_row_and_table_and_have_their_length() {
        let mut all: Vec<String> = (0..2).flat_map(|table| (0..500).map(move |id| payload(table, id, 25))).collect();
        assert!(all.iter().all(|text| text.len() == 25));
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 1000);
        assert_eq!(payload(0, 1, 0), "");
    }

    #[test]
    fn whole_transactions_are_told_as_ranges() {
        let survey = surveyed(&rows(&[0, 1, 2, 5, 7, 8]), 8);
        assert_eq!(survey.terminals[0].whole, [(0, 2), (5, 5), (7, 8)]);
        assert_eq!(survey.terminals[0].counter, Some(8));
        assert!(survey.terminals[0].torn.is_empty());
        assert_eq!(survey.terminals[1].counter, None);
        assert_eq!(survey.strays, 0);
    }

    #[test]
    fn a_row_missing_mangled_or_found_twice_tears_its_transaction() {
        let whole = rows(&[0, 1]);
        let mut missing = whole.clone();
        missing.remove(7);
        let mut mangled = whole.clone();
        mangled[7].1[4] = Value::Text("x".repeat(40));
        let mut twice = whole.clone();
        twice.push(whole[7].clone());
        for (rows, right, wrong) in [(missing, 5, 0), (mangled, 5, 1), (twice, 6, 1)] {
            let survey = surveyed(&rows, 1);
            assert_eq!(survey.terminals[0].whole, [(0, 0)]);
            assert_eq!(survey.terminals[0].torn, [Torn { number: 1, right, wrong, expected: 6 }]);
        }
    }

    #[test]
    fn what_belongs_to_no_transaction_is_a_stray() {
        let mut strange = rows(&[0]);
        for (column, value) in [(1, Value::Int(2)), (2, Value::Null), (2, Value::Int(-1)), (3, Value::Int(3))] {
            let mut row = SMALL.row(0, 0, 0, 0).to_vec();
            row[column] = value;
            strange.push((0, row));
        }
        assert_eq!(surveyed(&strange, 0).strays, 4);
    }
}
