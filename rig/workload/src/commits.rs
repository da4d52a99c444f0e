//! `commits`: one row inserted, one commit, over and over: what a commit costs and nothing else.
//!
//! Source: MySQL bug 31876, whose benchmark is 500 insert-and-commit pairs.

use crate::common::{commit, condition, number, random_letters};
use crate::kind::Kind;
use crate::sql::filled;
use protocol::Condition;
use serde::{Deserialize, Serialize};
use transaction::{
    Acknowledged, Attempt, Client, Drawn, LoadContext, Outcome, Rng, Script, Seat, Session, Statement, Value, Workload,
};

/// One table, one insert and one commit a transaction.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Commits {
    row_bytes: u32,
}

impl Kind for Commits {
    const NAME: &'static str = "commits";

    fn flaw(&self) -> Option<String> {
        None
    }

    fn samples() -> Vec<Commits> {
        vec![Commits { row_bytes: 100 }]
    }

    fn workload(self, _: u64) -> Box<dyn Workload> {
        Box::new(self)
    }
}

impl Workload for Commits {
    fn load(&self, context: &LoadContext) -> Outcome<()> {
        let width = self.row_bytes.max(1);
        let sql = "create table commits (id {key}, terminal integer, payload varchar({width}))";
        context.statements([filled(sql, context.dialect, &[("width", &width)])?])
    }

    fn check(&self, session: &mut dyn Session, acknowledged: &Acknowledged) -> Outcome<Vec<Condition>> {
        let rows = number(session, "select count(*) from commits")?;
        let sql = "select count(*) from commits where {char_length}(payload) <> {wanted}";
        let sql = filled(sql, session.dialect(), &[("wanted", &self.row_bytes)])?;
        let short = number(session, &sql)?;
        Ok(vec![
            condition(
                "rows_match_acknowledged",
                acknowledged.agrees(rows),
                format!("{rows} rows, {}", acknowledged.shown(acknowledged.committed)),
            ),
            condition(
                "payloads_are_whole",
                short == 0,
                format!("{short} rows of another length than {}", self.row_bytes),
            ),
        ])
    }

    fn script(&self, session: &mut dyn Session, seat: Seat) -> Outcome<Box<dyn Script>> {
        let insert = session.prepare("insert into commits (id, terminal, payload) values (?, ?, ?)")?;
        Ok(Box::new(Insert {
            insert,
            // Ids of different runs and terminals never meet, and rise together.
            next_id: (seat.run << 40) as i64 + 1 + seat.terminal as i64,
            step: seat.terminals as i64,
            row: [Value::Int(0), Value::Int(seat.terminal as i64), Value::Null],
            row_bytes: self.row_bytes as usize,
        }))
    }
}

struct Insert {
    insert: Statement,
    next_id: i64,
    step: i64,
    row: [Value; 3],
    row_bytes: usize,
}

impl Script for Insert {
    fn draw(&mut self, rng: &mut Rng) -> Option<Drawn> {
        self.row[0] = Value::Int(self.next_id);
        self.next_id += self.step;
        random_letters(&mut self.row[2], self.row_bytes, rng);
        Some(Drawn::default())
    }

    fn attempt<'a>(&'a mut self, client: &'a mut Client) -> Attempt<'a> {
        Box::pin(async {
            client.begin().await?;
            client.change_one(self.insert, &self.row).await?;
            commit(client).await
        })
    }
}
