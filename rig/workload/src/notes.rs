//! `notes`: each transaction writes one note and commits. There are as many notes as commits.

use crate::registry::Kind;
use crate::sql::filled;
use crate::{commit, condition, flaw_if_zero, number};
use protocol::Condition;
use serde::{Deserialize, Serialize};
use transaction::{
    Acknowledged, Attempt, Client, Drawn, LoadContext, Outcome, Rng, Script, Seat, Session, Statement, Value, Workload,
};

/// One table of notes.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Notes {
    /// Letters of each note.
    letters: u32,
}

impl Kind for Notes {
    const NAME: &'static str = "notes";

    fn flaw(&self) -> Option<String> {
        flaw_if_zero("letters", self.letters)
    }

    fn samples() -> Vec<Notes> {
        vec![Notes { letters: 20 }]
    }

    fn workload(self, _: u64) -> Box<dyn Workload> {
        Box::new(self)
    }
}

impl Workload for Notes {
    fn load(&self, context: &LoadContext) -> Outcome<()> {
        let sql = "create table notes (id {key}, note varchar({letters}))";
        context.statements([filled(sql, context.dialect(), &[("letters", &self.letters)])?])
    }

    fn check(&self, session: &mut dyn Session, acknowledged: &Acknowledged) -> Outcome<Vec<Condition>> {
        let notes = number(session, "select count(*) from notes")?;
        let detail = format!("{notes} notes, {}", acknowledged.shown(acknowledged.committed));
        Ok(vec![condition("notes_match_acknowledged", acknowledged.agrees(notes), detail)])
    }

    fn script(&self, session: &mut dyn Session, seat: Seat) -> Outcome<Box<dyn Script>> {
        Ok(Box::new(Write {
            insert: session.prepare("insert into notes (id, note) values (?, ?)")?,
            // Ids of different runs and terminals never meet.
            next_id: (seat.run << 40) as i64 + 1 + seat.terminal as i64,
            step: seat.terminals as i64,
            row: [Value::Int(0), Value::Text("n".repeat(self.letters as usize))],
        }))
    }
}

struct Write {
    insert: Statement,
    next_id: i64,
    step: i64,
    row: [Value; 2],
}

impl Script for Write {
    fn draw(&mut self, _: &mut Rng) -> Option<Drawn> {
        self.row[0] = Value::Int(self.next_id);
        self.next_id += self.step;
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
