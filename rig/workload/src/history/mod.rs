//! `history`: transactions of every kind, with a model beside them that knows what must be there after each.
//!
//! Each terminal has its own history ([`generate`]): it inserts, updates, moves and deletes rows under keys of its own,
//! between the other terminals' on the same pages and in the same indexes, adds to rows that all share, and makes and drops
//! tables, and indexes and columns of the rows of all. With each commit
//! it writes the commit's number beside its rows. So a database says which of the states it must be in, and a reader who looks
//! ([`inspect`]) compares it row by row, by every access path.

mod generate;
mod inspect;

use crate::common::{commit, flaw_if_zero};
use crate::kind::Kind;
use crate::sql::filled;
use generate::{Change, Ddl, History, Part, Settings, Step, EXTRA, SHARED, TEXT_MAX};
use protocol::{Condition, Survey, SurveyedTerminal};
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};
use transaction::{
    failed, sleep_until, Acknowledged, Attempt, Class, Client, Dialect, Drawn, Ended, KindSpec, LoadContext, Outcome,
    Refused, Rng, Script, Seat, Session, Statement, Value, Workload,
};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// At least as many as submit transactions.
    terminals: u32,
    /// Of each terminal, loaded.
    rows: u32,
    /// What the history may have in it; at least one kind of transactions.
    parts: Vec<Part>,
    /// A transaction is left open for at most so long.
    open_ms: u32,
}

const TERMINALS_MAX: u32 = 10_000;
const ROWS_MAX: u32 = 1_000_000;

/// An engine that admits one writer keeps all others waiting behind a transaction that is open.
const ONE_WRITER_OPEN_MS: u64 = 3;

const KINDS: [KindSpec; 8] =
    KindSpec::without_limits(["insert", "update", "move", "delete", "savepoint", "open", "shared", "ddl"]);

impl Kind for Parameters {
    const NAME: &'static str = "history";

    fn flaw(&self) -> Option<String> {
        if self.terminals > TERMINALS_MAX || self.rows > ROWS_MAX {
            return Some("terminals or rows is out of range".to_string());
        }
        if !self.parts.iter().any(|part| part.is_kind()) {
            return Some("parts must have a kind of transactions".to_string());
        }
        flaw_if_zero("terminals and open_ms", self.terminals.min(self.open_ms))
    }

    fn samples() -> Vec<Parameters> {
        use Part::*;
        let parts = vec![Insert, Update, Move, Delete, Savepoint, Open, Shared, Ddl, Rollback, Blob];
        vec![Parameters { terminals: 4, rows: 100, parts, open_ms: 300 }]
    }

    fn workload(self, seed: u64) -> Box<dyn Workload> {
        Box::new(Workloaded { parameters: self, seed })
    }
}

struct Workloaded {
    parameters: Parameters,
    /// Of the histories that begin now.
    seed: u64,
}

impl Workloaded {
    fn settings(&self, dialect: &Dialect) -> Outcome<Settings> {
        let file = inspect::file(dialect)?;
        let ddl = match (file.text("create"), file.remark("create", "rows")) {
            (None, _) => Ddl::None,
            (Some(_), None) => Ddl::Alone,
            (Some(_), Some(_)) => Ddl::WithRows,
        };
        let open_ms = u64::from(self.parameters.open_ms);
        Ok(Settings {
            terminals: self.parameters.terminals.into(),
            rows: self.parameters.rows.into(),
            parts: self.parameters.parts.clone(),
            open_ms: if dialect.one_writer { open_ms.min(ONE_WRITER_OPEN_MS) } else { open_ms },
            ddl,
        })
    }
}

/// The columns that are loaded: a body comes with a change.
const LOADED: [&str; 6] = ["id", "owner", "version", "grp", "uniq", "payload"];

impl Workload for Workloaded {
    fn load(&self, context: &LoadContext) -> Outcome<()> {
        let dialect = context.dialect;
        let settings = self.settings(dialect)?;
        let rows = "create table history_rows (id {later_key}, owner integer not null, version bigint not null, \
                    grp bigint not null, uniq bigint not null, payload varchar({width}) {bytes} not null, body {blob})";
        context.statements([
            filled(rows, dialect, &[("width", &TEXT_MAX)])?,
            filled("create table history_terminals (id {small_key}, commits bigint, seed bigint)", dialect, &[])?,
            filled("create table history_shared (id {small_key}, total bigint)", dialect, &[])?,
        ])?;
        let mut session = context.session()?;
        for terminal in 0..settings.terminals {
            let history = History::new(&settings, 0, terminal);
            let mut rows = history.state.rows.iter();
            context.fill(session.as_mut(), "history_rows", &LOADED, |values| {
                let Some((id, row)) = rows.next() else { return false };
                values.clear();
                values.extend([*id, terminal, row.version, row.grp, row.uniq].map(|number| Value::Int(number as i64)));
                values.push(Value::Text(history.text(*id, row)));
                true
            })?;
        }
        let mut terminals = 0..settings.terminals as i64;
        context.fill(session.as_mut(), "history_terminals", &["id", "commits", "seed"], |values| {
            let Some(terminal) = terminals.next() else { return false };
            values.clear();
            values.extend([terminal, 0, 0].map(Value::Int));
            true
        })?;
        let mut shared = 0..SHARED as i64;
        context.fill(session.as_mut(), "history_shared", &["id", "total"], |values| {
            let Some(which) = shared.next() else { return false };
            values.clear();
            values.extend([which, 0].map(Value::Int));
            true
        })?;
        drop(session);
        context.statements(inspect::file(dialect)?.unnamed(dialect, &[])?)?;
        context.statements([
            "create index history_rows_group on history_rows (grp)",
            "create unique index history_rows_unique on history_rows (uniq)",
            "create index history_rows_owner on history_rows (owner, version)",
        ])
    }

    fn check(&self, session: &mut dyn Session, acknowledged: &Acknowledged) -> Outcome<Vec<Condition>> {
        let settings = self.settings(session.dialect())?;
        let found = inspect::read(session, &settings)?;
        Ok(inspect::compare(&settings, &found, acknowledged))
    }

    fn kinds(&self) -> &'static [KindSpec] {
        &KINDS
    }

    fn script(&self, session: &mut dyn Session, seat: Seat) -> Outcome<Box<dyn Script>> {
        let settings = self.settings(session.dialect())?;
        let at = format!("select commits, seed from history_terminals where id = {}", seat.terminal);
        let row = session.rows(&at)?.into_iter().next().unwrap_or_default();
        let numbers: Vec<_> = row.iter().map(|value| value.as_i64()).collect();
        let [Some(commits), Some(seed)] = numbers[..] else {
            let message = format!("history_terminals has no row for terminal {}", seat.terminal);
            return Err(failed(Class::Other, message));
        };
        // A history that was begun goes on.
        let seed = if commits == 0 { self.seed } else { seed as u64 };
        let history = History::at(&settings, seed, seat.terminal, commits.try_into().unwrap_or(0));
        let mut prepared = |sql: &str| session.prepare(sql);
        Ok(Box::new(Player {
            insert: prepared(
                "insert into history_rows (id, owner, version, grp, uniq, payload, body) values (?, ?, ?, ?, ?, ?, ?)",
            )?,
            update: prepared("update history_rows set version = ?, payload = ?, body = ? where id = ?")?,
            relocate: prepared("update history_rows set version = ?, grp = ?, uniq = ? where id = ?")?,
            delete: prepared("delete from history_rows where id = ?")?,
            add: prepared("update history_shared set total = total + ? where id = ?")?,
            count: prepared("update history_terminals set commits = ?, seed = ? where id = ?")?,
            look: prepared("select commits from history_terminals where id = ?")?,
            dialect: session.dialect(),
            history,
            step: None,
            in_doubt: false,
        }))
    }

    fn survey(&self, session: &mut dyn Session) -> Outcome<Survey> {
        let counters = inspect::counters(session)?;
        let terminals = (0..u64::from(self.parameters.terminals))
            .map(|terminal| {
                let counter = counters.get(&terminal).map(|(commits, _)| *commits);
                let whole = counter.and_then(|commits| u64::try_from(commits).ok()).map(|commits| (0, commits));
                SurveyedTerminal { terminal, counter, whole: whole.into_iter().collect(), torn: Vec::new() }
            })
            .collect();
        Ok(Survey { terminals, strays: 0 })
    }
}

/// One terminal, going through its history.
struct Player {
    insert: Statement,
    update: Statement,
    relocate: Statement,
    delete: Statement,
    add: Statement,
    count: Statement,
    look: Statement,
    dialect: &'static Dialect,
    history: History,
    /// The transaction that is next, until it has ended as it is to.
    step: Option<Step>,
    /// Whether the last commit took place is not known: nothing can follow it.
    in_doubt: bool,
}

impl Script for Player {
    fn draw(&mut self, _: &mut Rng) -> Option<Drawn> {
        if self.in_doubt {
            return None;
        }
        let step = self.step.get_or_insert_with(|| self.history.next());
        let kind = KINDS.iter().position(|kind| kind.name == step.kind.name()).expect("each kind has its place");
        Some(Drawn { kind, number: step.commit.unwrap_or(0), ..Drawn::default() })
    }

    fn attempt<'a>(&'a mut self, client: &'a mut Client) -> Attempt<'a> {
        Box::pin(async {
            let step = self.step.take().expect("it was drawn");
            let ended = self.perform(client, &step).await;
            if let Err(refused) = &ended {
                self.in_doubt = refused.at_commit && !refused.error.class.is_conflict();
                self.step = Some(step);
            }
            ended
        })
    }
}

impl Player {
    async fn perform(&self, client: &mut Client, step: &Step) -> Result<Ended, Refused> {
        let terminal = self.history.terminal;
        client.begin().await?;
        for change in &step.changes {
            self.change(client, change).await?;
        }
        if let Some(commit) = step.commit {
            let row = [commit, self.history.seed, terminal].map(|number| Value::Int(number as i64));
            client.change_one(self.count, &row).await?;
        }
        if step.open_ms > 0 {
            // What was asked is answered: a session may have kept it to send it with the next.
            client.run(self.look, &[Value::Int(terminal as i64)], |_| {}).await?;
            sleep_until(Instant::now() + Duration::from_millis(step.open_ms)).await;
        }
        if step.commit.is_some() {
            return commit(client).await;
        }
        client.rollback().await?;
        Ok(Ended::RolledBack)
    }

    async fn change(&self, client: &mut Client, change: &Change) -> Outcome<()> {
        let terminal = self.history.terminal;
        let int = |number: u64| Value::Int(number as i64);
        match change {
            Change::Insert(id, row) => {
                let text = Value::Text(self.history.text(*id, row));
                let values = [int(*id), int(terminal), int(row.version), int(row.grp), int(row.uniq), text];
                let [a, b, c, d, e, f] = values;
                client.change_one(self.insert, &[a, b, c, d, e, f, self.body(*id, row)]).await
            }
            Change::Update(id, row) => {
                let text = Value::Text(self.history.text(*id, row));
                client.change_one(self.update, &[int(row.version), text, self.body(*id, row), int(*id)]).await
            }
            Change::Move(id, row) => {
                client.change_one(self.relocate, &[row.version, row.grp, row.uniq, *id].map(int)).await
            }
            Change::Delete(id) => client.change_one(self.delete, &[int(*id)]).await,
            Change::Shared(which, by) => {
                client.change_one(self.add, &[Value::Int(*by), Value::Int(*which as i64)]).await
            }
            Change::Savepoint => self.text(client, "savepoint history_kept").await,
            Change::Back => self.text(client, "rollback to savepoint history_kept").await,
            Change::CreateOwn => self.named(client, "create").await,
            Change::CreateIndex => self.named(client, "create_index").await,
            Change::DropIndex => self.named(client, "drop_index").await,
            Change::AddColumn => self.named(client, "add_column").await,
            Change::DropColumn => self.named(client, "drop_column").await,
            Change::IntoColumn(id, value) => {
                let sql = format!("update history_rows set extra_{terminal} = {value} where id = {id}");
                self.text(client, &sql).await
            }
            Change::DropOwn => self.text(client, &format!("drop table history_own_{terminal}")).await,
            Change::IntoOwn(id, value) => {
                let sql = format!("insert into history_own_{terminal} (id, v) values ({id}, {value})");
                self.text(client, &sql).await
            }
        }
    }

    fn body(&self, id: u64, row: &generate::Row) -> Value {
        self.history.body(id, row).map_or(Value::Null, Value::Bytes)
    }

    /// The statements of this name, which make or drop what is the terminal's.
    async fn named(&self, client: &mut Client, name: &str) -> Outcome<()> {
        let values: crate::sql::Values = &[("terminal", &self.history.terminal), ("extra", &EXTRA)];
        for sql in inspect::file(self.dialect)?.named(name, self.dialect, values)? {
            self.text(client, &sql).await?;
        }
        Ok(())
    }

    async fn text(&self, client: &mut Client, sql: &str) -> Outcome<()> {
        client.text(sql, || {}).await.map(|_| ())
    }
}
