//! `iud`: insert `rows` rows, select them all, update them all, delete them all: four transactions, over and over.
//!
//! The simple test that users of Firebird hand around: 5,000 inserts, each its own statement, then the rest. Each
//! terminal does it to rows of its own, so that after a whole round the table is empty again.
//!
//! Its callers commit all rows of a kind together, or each row by itself, as a client does that commits on its own after
//! each statement: then the same test is a test of commits.

use crate::common::{commit, condition, flaw_if_zero, number, FILLER};
use crate::kind::Kind;
use crate::sql::filled;
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
    commit: Committed,
}

/// How many rows a transaction inserts, updates or deletes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Committed {
    All,
    Each,
}

impl Kind for Iud {
    const NAME: &'static str = "iud";

    fn flaw(&self) -> Option<String> {
        flaw_if_zero("rows", self.rows)
    }

    fn samples() -> Vec<Iud> {
        [Committed::All, Committed::Each].map(|commit| Iud { rows: 5_000, commit }).into()
    }

    fn workload(self, _: u64) -> Box<dyn Workload> {
        Box::new(self)
    }
}

const INSERT: usize = 0;
const SELECT: usize = 1;
const UPDATE: usize = 2;
const DELETE: usize = 3;
const KINDS: [KindSpec; 4] = KindSpec::without_limits(["insert", "select", "update", "delete"]);

impl Workload for Iud {
    fn load(&self, context: &LoadContext) -> Outcome<()> {
        let sql = "create table iud (id {key}, owner bigint not null, updates integer not null, \
                   payload varchar(100) not null)";
        context.statements([filled(sql, context.dialect, &[])?])
    }

    fn check(&self, session: &mut dyn Session, acknowledged: &Acknowledged) -> Outcome<Vec<Condition>> {
        let wanted = i64::from(self.rows);
        let rows = number(session, "select count(*) from iud")?;
        let owners = session.rows(
            "select owner, count(*), min(updates), max(updates), min(id), max(id), \
                    count(case when updates = 1 then 1 end), max(case when updates = 1 then id else 0 end) \
             from iud group by owner",
        )?;
        let owners: Vec<Rows> = owners.iter().map(|row| Rows::of(row)).collect();
        let of = |kind: usize| acknowledged.kinds[kind] as i64;
        // A commit that may or may not have taken place may have been any of them.
        let near = |present: i64, expected: i64| (present - expected).unsigned_abs() <= acknowledged.unknown;
        let each = self.commit == Committed::Each;
        let (present, updated) = if each {
            (rows, owners.iter().map(|owner| owner.updated).sum())
        } else {
            (owners.len() as i64, owners.iter().filter(|owner| owner.least > 0).count() as i64)
        };
        let what = if each { "rows" } else { "rows of terminals" };
        let torn = owners.iter().filter(|owner| if each { !owner.in_a_row() } else { owner.count != wanted }).count();
        let uneven = owners.iter().filter(|owner| !owner.updated_once(each)).count();
        let ids = number(session, "select count(distinct id) from iud")?;
        let whole = filled("select count(*) from iud where {char_length}(payload) <> 100", session.dialect(), &[])?;
        let short = number(session, &whole)?;
        Ok(vec![
            condition(
                "inserts_and_deletes_match_acknowledged",
                near(present, of(INSERT) - of(DELETE)),
                format!(
                    "{what}: {present}; {} inserts and {} deletes acknowledged, {} unknown",
                    of(INSERT),
                    of(DELETE),
                    acknowledged.unknown
                ),
            ),
            condition(
                "updates_match_acknowledged",
                near(updated, of(UPDATE) - of(DELETE)),
                format!("{what} that are updated: {updated}; {} updates acknowledged", of(UPDATE)),
            ),
            condition(
                "each_terminals_rows_are_all_there",
                torn == 0,
                if each {
                    format!("{rows} rows; of {torn} terminals not one after the other")
                } else {
                    format!("{rows} rows; of {torn} terminals not {wanted}")
                },
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
            each: self.commit == Committed::Each,
            done: 0,
            kind: INSERT,
            ended: false,
        }))
    }
}

struct Rows {
    count: i64,
    /// The fewest and the most updates of any.
    least: i64,
    most: i64,
    first: i64,
    last: i64,
    updated: i64,
    /// The last that is updated; 0 where none is.
    last_updated: i64,
}

impl Rows {
    fn of(row: &[Value]) -> Rows {
        let of = |column: usize| row[column].as_i64().unwrap_or(-1);
        Rows { count: of(1), least: of(2), most: of(3), first: of(4), last: of(5), updated: of(6), last_updated: of(7) }
    }

    /// They are inserted, and deleted, one after the other.
    fn in_a_row(&self) -> bool {
        self.last - self.first + 1 == self.count
    }

    /// Each row at most once, and where `each` is updated by itself those before it are too.
    fn updated_once(&self, each: bool) -> bool {
        (0..=1).contains(&self.least)
            && self.most <= 1
            && if each {
                self.updated == 0 || self.last_updated - self.first + 1 == self.updated
            } else {
                self.least == self.most
            }
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
    /// Each row is inserted, updated and deleted by its own transaction.
    each: bool,
    /// Of the kind whose turn it is, so many rows, where each has its own transaction.
    done: u64,
    kind: usize,
    /// The transaction last drawn was committed: the next one's turn has come. Given up, it is drawn again.
    ended: bool,
}

impl Round {
    /// The first and the last row of the transaction whose turn it is.
    fn turn(&self) -> (i64, i64) {
        if self.each && self.kind != SELECT {
            let only = self.first + self.done as i64;
            (only, only)
        } else {
            (self.first, self.first + self.rows as i64 - 1)
        }
    }

    async fn insert(&mut self, client: &mut Client, first: i64, last: i64) -> Outcome<u64> {
        for id in first..=last {
            self.row[0] = Value::Int(id);
            client.change_one(self.insert, &self.row).await?;
        }
        Ok((last - first + 1) as u64)
    }

    async fn select(&mut self, client: &mut Client) -> Outcome<u64> {
        let mut rows = 0;
        client.run(self.select, &self.range, |_| rows += 1).await?;
        Ok(rows)
    }

    async fn once(&mut self, client: &mut Client) -> Result<Ended, Refused> {
        client.begin().await?;
        let (first, last) = self.turn();
        let wanted = (last - first + 1) as u64;
        self.range = [first, last].map(Value::Int);
        let rows = match self.kind {
            INSERT => self.insert(client, first, last).await?,
            SELECT => self.select(client).await?,
            UPDATE => client.execute(self.update, &self.range).await?,
            _ => client.execute(self.delete, &self.range).await?,
        };
        if rows != wanted {
            let message = format!("{}: {wanted} rows are the terminal's, {rows} found", KINDS[self.kind].name);
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
            self.done += 1;
            if !self.each || self.kind == SELECT || self.done == self.rows {
                self.kind = (self.kind + 1) % KINDS.len();
                self.done = 0;
            }
        }
        Some(Drawn { kind: self.kind, ..Drawn::default() })
    }

    fn attempt<'a>(&'a mut self, client: &'a mut Client) -> Attempt<'a> {
        Box::pin(self.once(client))
    }
}
