//! `iud`: insert `rows` rows, select them all, update them all, delete them all: four transactions, over and over.
//!
//! The simple test that users of Firebird hand around: 5,000 inserts, each a statement of its own, then the rest. Each
//! terminal does it to rows of its own, so that after a whole round the table is empty again.

use crate::registry::Kind;
use crate::sql::filled;
use crate::{commit, condition, flaw_if_zero, number, FILLER};
use protocol::Condition;
use serde::{Deserialize, Serialize};
use transaction::{
    Acknowledged, Attempt, Class, Client, Drawn, Ended, KindSpec, LoadContext, Outcome, Refused, Rng, Script, Seat,
    Session, SessionError, Statement, Value, Workload,
};

/// Insert `rows` rows, select all, update all, delete all.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Iud {
    rows: u32,
}

impl Kind for Iud {
    const NAME: &'static str = "iud";

    fn flaw(&self) -> Option<String> {
        flaw_if_zero("rows", self.rows)
    }

    fn samples() -> Vec<Iud> {
        vec![Iud { rows: 5_000 }]
    }

    fn workload(self, _: u64) -> Box<dyn Workload> {
        Box::new(self)
    }
}

const INSERT: usize = 0;
const SELECT: usize = 1;
const UPDATE: usize = 2;
const DELETE: usize = 3;
const KINDS: [KindSpec; 4] = [
    KindSpec { name: "insert", limit_ms: None },
    KindSpec { name: "select", limit_ms: None },
    KindSpec { name: "update", limit_ms: None },
    KindSpec { name: "delete", limit_ms: None },
];

impl Workload for Iud {
    fn load(&self, context: &LoadContext) -> Outcome<()> {
        let sql = "create table iud (id {key}, owner bigint not null, updates integer not null, \
                   payload varchar(100) not null)";
        context.statements([filled(sql, context.dialect(), &[])?])
    }

    fn check(&self, session: &mut dyn Session, acknowledged: &Acknowledged) -> Outcome<Vec<Condition>> {
        let wanted = i64::from(self.rows);
        let rows = number(session, "select count(*) from iud")?;
        let owners = session.rows("select owner, count(*), min(updates), max(updates) from iud group by owner")?;
        let owners: Vec<[i64; 3]> =
            owners.iter().map(|row| [1, 2, 3].map(|column| row[column].as_i64().unwrap_or(-1))).collect();
        let of = |kind: usize| acknowledged.kinds[kind] as i64;
        // A commit that may or may not have taken place may have been any of them.
        let near = |present: usize, expected: i64| (present as i64 - expected).unsigned_abs() <= acknowledged.unknown;
        let updated = owners.iter().filter(|owner| owner[1] > 0).count();
        let torn = owners.iter().filter(|owner| owner[0] != wanted).count();
        let uneven = owners.iter().filter(|owner| owner[1] != owner[2] || !(0..=1).contains(&owner[1])).count();
        let ids = number(session, "select count(distinct id) from iud")?;
        let whole = filled("select count(*) from iud where {char_length}(payload) <> 100", session.dialect(), &[])?;
        let short = number(session, &whole)?;
        Ok(vec![
            condition(
                "inserts_and_deletes_match_acknowledged",
                near(owners.len(), of(INSERT) - of(DELETE)),
                format!(
                    "rows of {} terminals, {} inserts and {} deletes acknowledged, {} unknown",
                    owners.len(),
                    of(INSERT),
                    of(DELETE),
                    acknowledged.unknown
                ),
            ),
            condition(
                "updates_match_acknowledged",
                near(updated, of(UPDATE) - of(DELETE)),
                format!("{updated} terminals' rows are updated, {} updates acknowledged", of(UPDATE)),
            ),
            condition(
                "each_terminals_rows_are_all_there",
                torn == 0,
                format!("{rows} rows; of {torn} terminals not {wanted}"),
            ),
            condition("each_update_is_of_all_rows", uneven == 0, format!("{uneven} terminals' rows differ")),
            condition("no_row_is_there_twice", ids == rows, format!("{rows} rows, {ids} ids")),
            condition("payloads_are_whole", short == 0, format!("{short} rows of another length than 100")),
        ])
    }

    fn kinds(&self) -> &'static [KindSpec] {
        &KINDS
    }

    fn script(&self, session: &mut dyn Session, seat: Seat) -> Outcome<Box<dyn Script>> {
        // Rows of different runs and terminals never meet.
        let owner = (seat.run << 24 | seat.terminal) as i64;
        let first = ((seat.run << 44) + seat.terminal * u64::from(self.rows)) as i64 + 1;
        Ok(Box::new(Round {
            insert: session.prepare("insert into iud (id, owner, updates, payload) values (?, ?, 0, ?)")?,
            select: session.prepare("select id, owner, updates, payload from iud where id between ? and ?")?,
            update: session.prepare("update iud set updates = updates + 1 where id between ? and ?")?,
            delete: session.prepare("delete from iud where id between ? and ?")?,
            rows: u64::from(self.rows),
            range: [first, first + i64::from(self.rows) - 1].map(Value::Int),
            row: [Value::Int(first), Value::Int(owner), Value::Text(FILLER.repeat(2)[..100].to_string())],
            first,
            kind: INSERT,
            ended: false,
        }))
    }
}

struct Round {
    insert: Statement,
    select: Statement,
    update: Statement,
    delete: Statement,
    rows: u64,
    range: [Value; 2],
    row: [Value; 3],
    first: i64,
    kind: usize,
    /// The transaction last drawn was committed: the next one's turn has come. Given up, it is drawn again.
    ended: bool,
}

impl Round {
    async fn insert(&mut self, client: &mut Client) -> Outcome<u64> {
        for id in self.first..self.first + self.rows as i64 {
            self.row[0] = Value::Int(id);
            client.change_one(self.insert, &self.row).await?;
        }
        Ok(self.rows)
    }

    async fn select(&mut self, client: &mut Client) -> Outcome<u64> {
        let mut rows = 0;
        client.query(self.select, &self.range, |_| rows += 1).await?;
        Ok(rows)
    }

    async fn once(&mut self, client: &mut Client) -> Result<Ended, Refused> {
        client.begin().await?;
        let rows = match self.kind {
            INSERT => self.insert(client).await?,
            SELECT => self.select(client).await?,
            UPDATE => client.execute(self.update, &self.range).await?,
            _ => client.execute(self.delete, &self.range).await?,
        };
        if rows != self.rows {
            let message = format!("{}: {} rows are the terminal's, {rows} found", KINDS[self.kind].name, self.rows);
            return Err(SessionError { class: Class::RowMissed, message }.into());
        }
        let ended = commit(client).await?;
        self.ended = true;
        Ok(ended)
    }
}

impl Script for Round {
    fn draw(&mut self, _: &mut Rng) -> Option<Drawn> {
        if std::mem::take(&mut self.ended) {
            self.kind = (self.kind + 1) % KINDS.len();
        }
        Some(Drawn { kind: self.kind, ..Drawn::default() })
    }

    fn attempt<'a>(&'a mut self, client: &'a mut Client) -> Attempt<'a> {
        Box::pin(self.once(client))
    }
}
