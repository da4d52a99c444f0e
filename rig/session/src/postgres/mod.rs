//! PostgreSQL over its own protocol: binary prepared statements, one send and one receive a request.
//!
//! The measured path allocates nothing: what is constant of a statement's messages is written once, when it is prepared,
//! and answers are read where they were received.

mod connection;
mod copy;

use crate::engine::Engine;
use crate::tls::Tls;
use connection::{log_in, Ended, Wire};
use copy::Copy;
use serde::{Deserialize, Serialize};
use std::os::fd::BorrowedFd;
use std::task::Poll;
use transaction::{
    as_many_as_parts, as_many_parameters, failed, garbled, joined, not_alone, Bulk, Class, Dialect, NumberedSink,
    Outcome, Procedures, Request, Session, SessionError, Sink, Statement, Value,
};
use wire_postgres::{affected, columns, numbered, parameter_types, put_prepare, put_query, read_row, Prepared, TEXT};

pub struct Postgres {
    wire: Wire,
    /// Requests are queued where the protocol allows it, and sent with the next that needs its answer.
    pipeline: bool,
    statements: Vec<Prepared>,
    /// The text of each, and the names of its columns.
    texts: Vec<(String, Vec<String>)>,
    /// Statements written since the last answer, in their order.
    asked: Vec<Asked>,
    /// What is asked is a text, with answers of its own.
    text: bool,
    /// How many of them were answered.
    answered: usize,
    /// How often the server will yet say that it is ready, before the last time.
    to_pass: usize,
    changed: u64,
    /// The first of the queued statements for one row that changed another number.
    not_one: Option<u64>,
    committed: bool,
    /// What was joined is being answered: nobody looks at the last statement's number of rows.
    gathers: bool,
    values: Vec<Value>,
}

#[derive(Clone, Copy)]
struct Asked {
    statement: Statement,
    one: bool,
    /// Its rows are handed out under this number.
    number: Option<usize>,
}

// Prepared first of all.
const BEGIN: Statement = Statement(0);
const COMMIT: Statement = Statement(1);
const ROLLBACK: Statement = Statement(2);

/// So many statements travel together at most: both sides hold what is under way in memory.
const TOGETHER_MAX: usize = 256;

const SYNC: &[u8] = b"S\0\0\0\x04";
const TERMINATE: &[u8] = b"X\0\0\0\x04";

static DIALECT: Dialect = Dialect {
    name: "postgres",
    engine: "PostgreSQL",
    one_writer: false,
    keys_after_load: true,
    key: "bigint not null primary key",
    small_key: "integer not null primary key",
    own_key: "bigint not null primary key",
    by_key: "",
    datetime: "timestamp",
    bytes: "collate \"C\"",
    blob: "bytea",
    char_length: "char_length",
    div: "/",
    first_row: "limit 1",
    procedures: Some(Procedures { call: "select", call_for_row: "select * from" }),
    // The first to read does it otherwise, or the autovacuum.
    settle: Some("vacuum analyze {table}"),
    recount: None,
};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// A name or an address, or the directory that holds the server's Unix socket.
    host: String,
    port: u16,
    user: String,
    password: Option<String>,
    /// An existing database.
    database: String,
    /// Statements run on every new session, before anything else (`SET ...`).
    setup: Vec<String>,
    /// Statements that need not wait for each other's answers are sent together. Never for a comparison of engines.
    pipeline: bool,
    /// None: nothing is encrypted. A Unix socket has none.
    tls: Option<Tls>,
}

impl Engine for Postgres {
    const NAME: &'static str = "postgres";
    const DIALECT: &'static Dialect = &DIALECT;
    type Target = Target;

    fn open(Target { host, port, user, password, database, setup, pipeline, tls }: &Target) -> Outcome<Postgres> {
        let mut wire = Wire::connect(host, *port)?;
        if let Some(tls) = tls {
            wire.encrypt(tls, host)?;
        }
        log_in(&mut wire, database, user, password.as_deref())?;
        let mut session = Postgres {
            wire,
            pipeline: *pipeline,
            statements: Vec::new(),
            texts: Vec::new(),
            asked: Vec::new(),
            text: false,
            answered: 0,
            to_pass: 0,
            changed: 0,
            not_one: None,
            committed: false,
            gathers: false,
            values: Vec::new(),
        };
        for sql in setup {
            session.batch(sql)?;
        }
        for (statement, sql) in [(BEGIN, "begin"), (COMMIT, "commit"), (ROLLBACK, "rollback")] {
            assert_eq!(session.prepare(sql)?, statement);
        }
        Ok(session)
    }

    fn samples() -> Vec<Target> {
        vec![Target {
            host: "/data/instance".into(),
            port: 5432,
            user: "acidtest".into(),
            password: Some("secret".into()),
            database: "acidtest".into(),
            setup: vec!["set synchronous_commit = off".into()],
            pipeline: true,
            tls: Some(Tls::sample()),
        }]
    }
}

#[cfg(test)]
pub fn log_in_over(socket: crate::socket::Socket, tls: Option<&Tls>) -> Outcome<()> {
    let mut wire = Wire::over(socket);
    if let Some(tls) = tls {
        wire.encrypt(tls, "localhost")?;
    }
    log_in(&mut wire, "bench", "me", Some("secret"))
}

impl Postgres {
    /// Writes Bind and Execute.
    fn ask(&mut self, asked: Asked, parameters: &[Value]) -> Outcome<()> {
        let statement = asked.statement;
        let prepared = &self.statements[statement.0];
        as_many_parameters(prepared.parameters.len(), parameters, &self.texts[statement.0].0)?;
        if !prepared.put_integers(parameters, &mut self.wire.out) {
            prepared.put(parameters, &mut self.wire.out)?;
        }
        self.asked.push(asked);
        Ok(())
    }

    /// Sends a text by the simple protocol, which nothing may be queued before.
    fn ask_text(&mut self, sql: &str, row: Sink) -> Poll<Outcome<u64>> {
        if !self.asked.is_empty() {
            return Poll::Ready(Err(failed(Class::Other, "statements are queued, and a text goes alone".to_string())));
        }
        put_query(&mut self.wire.out, sql)?;
        self.changed = 0;
        let heard = self.wire.send()?;
        self.text = true;
        if heard {
            return self.resume(row);
        }
        Poll::Pending
    }

    /// Prepares a statement whose parameters are `$1`, `$2`, …
    fn prepare_numbered(&mut self, sql: String) -> Outcome<Statement> {
        if let Some(known) = self.texts.iter().position(|(known, _)| *known == sql) {
            return Ok(Statement(known));
        }
        if !self.asked.is_empty() {
            // What is queued is answered first, or its answers would be taken for this one's.
            self.wire.out.extend(SYNC);
            self.wire.send()?;
            while self.resume(&mut |_| {})?.is_pending() {
                self.wire.socket.wait()?;
            }
        }
        let name = format!("s{}", self.statements.len());
        put_prepare(&mut self.wire.out, &name, &sql)?;
        let (mut parameters, mut described) = (Vec::new(), (Vec::new(), Vec::new()));
        self.converse(|tag, body| {
            match tag {
                b't' => parameters = parameter_types(body)?,
                b'T' => described = columns(body)?,
                _ => {}
            }
            Ok(())
        })?;
        let (names, types) = described;
        self.statements.push(Prepared::new(&name, parameters, types)?);
        self.texts.push((sql, names));
        Ok(Statement(self.statements.len() - 1))
    }

    /// Waits until the server is ready for the next request.
    fn converse(&mut self, each: impl FnMut(u8, &[u8]) -> Outcome<()>) -> Outcome<()> {
        match self.wire.converse(each)? {
            Ended::Ready => Ok(()),
            Ended::CopyIn => Err(garbled()),
        }
    }

    fn column_types(&mut self, sql: &str) -> Outcome<Vec<u32>> {
        let statement = self.prepare(sql)?;
        Ok(self.statements[statement.0].columns.clone())
    }

    /// Reads answers; each row of a statement that was joined goes to `row` with its number, each of the last one without.
    fn answers(&mut self, row: &mut dyn FnMut(Option<usize>, &[Value])) -> Poll<Outcome<u64>> {
        let Postgres { wire, statements, asked, text, values, answered, changed, not_one, committed, gathers, .. } =
            self;
        let text = *text;
        let ended = wire.answers(|tag, body| {
            match tag {
                b'C' if text => *changed = affected(body),
                b'D' if text => row(None, &[]),
                b'C' => {
                    let Asked { statement, one, .. } = *asked.get(*answered).ok_or_else(garbled)?;
                    *changed = affected(body);
                    *answered += 1;
                    *committed |= statement == COMMIT && body.starts_with(b"COMMIT");
                    if one && *changed != 1 && (*answered < asked.len() || *gathers) {
                        not_one.get_or_insert(*changed);
                    }
                }
                b'D' => {
                    let Asked { statement, number, .. } = *asked.get(*answered).ok_or_else(garbled)?;
                    // A queued statement's rows have nobody left who waits for them.
                    if number.is_some() || *answered + 1 == asked.len() {
                        read_row(body, &statements[statement.0].columns, values)?;
                        row(number, values);
                    }
                }
                _ => {}
            }
            Ok(())
        });
        match ended {
            Poll::Pending => Poll::Pending,
            Poll::Ready(ended) if self.to_pass > 0 => {
                self.to_pass -= 1;
                // Whatever was refused is taken back now.
                match ended {
                    Err(error) if self.wire.alive().is_err() => Poll::Ready(Err(error)),
                    _ => {
                        self.answered = self.asked.len() - 1;
                        self.answers(row)
                    }
                }
            }
            Poll::Ready(ended) => Poll::Ready(self.verdict(ended)),
        }
    }

    fn has_joined(&self) -> bool {
        self.asked.iter().any(|asked| asked.number.is_some())
    }

    /// What the answers to all that was asked come to.
    fn verdict(&mut self, ended: Outcome<Ended>) -> Outcome<u64> {
        let last = self.asked.last().map(|asked| asked.statement);
        let not_one = self.not_one.take();
        let committed = std::mem::take(&mut self.committed);
        self.gathers = false;
        self.asked.clear();
        self.answered = 0;
        self.text = false;
        match ended? {
            Ended::Ready => {}
            Ended::CopyIn => return Err(garbled()),
        }
        match not_one {
            Some(changed) if committed => {
                let SessionError { message, .. } = SessionError::not_one(changed);
                // It can neither be taken back nor tried again.
                return Err(failed(Class::Other, format!("{message}, and was committed with its transaction")));
            }
            Some(changed) if last != Some(ROLLBACK) => return Err(SessionError::not_one(changed)),
            _ => {}
        }
        if last == Some(COMMIT) && !committed {
            // The answer to the commit of a transaction that has failed, and no error.
            return Err(failed(Class::Other, "the commit was answered with a rollback".to_string()));
        }
        Ok(self.changed)
    }
}

impl Session for Postgres {
    fn dialect(&self) -> &'static Dialect {
        &DIALECT
    }

    fn engine_version(&mut self) -> Outcome<String> {
        let rows = self.rows("show server_version")?;
        let version = rows.into_iter().flatten().next().and_then(Value::into_text).unwrap_or_default();
        // Debian adds its own: "15.14 (Debian 15.14-0+deb12u1)".
        Ok(version.split(' ').next().unwrap_or_default().to_string())
    }

    fn prepare(&mut self, sql: &str) -> Outcome<Statement> {
        self.prepare_numbered(numbered(sql))
    }

    fn prepare_parts(&mut self, parts: &[&str]) -> Outcome<Statement> {
        let sql = joined(parts, |number| format!("${number}"));
        let statement = self.prepare_numbered(sql)?;
        as_many_as_parts(self.statements[statement.0].parameters.len(), parts, &self.texts[statement.0].0)?;
        Ok(statement)
    }

    fn prepare_logged(&mut self, sql: &str) -> Outcome<Statement> {
        self.prepare_numbered(sql.to_string())
    }

    fn in_transaction(&self) -> bool {
        self.wire.open
    }

    fn columns(&mut self, statement: Statement) -> Vec<String> {
        self.texts[statement.0].1.clone()
    }

    fn call(&mut self, request: Request, row: Sink) -> Poll<Outcome<u64>> {
        let nothing: &[Value] = &[];
        let (statement, parameters, one) = match request {
            Request::Begin | Request::BeginReading => (BEGIN, nothing, false),
            Request::Commit => (COMMIT, nothing, false),
            Request::Rollback if !self.wire.open && self.asked.is_empty() => {
                return Poll::Ready(self.wire.alive().map(|()| 0))
            }
            Request::Rollback => (ROLLBACK, nothing, false),
            Request::Alone(..) if self.wire.open || !self.asked.is_empty() => return Poll::Ready(Err(not_alone())),
            // Sent at once with its own Sync, which ends its transaction: its caller knows that it is committed.
            Request::Alone(statement, parameters) => (statement, parameters, false),
            Request::Run(statement, parameters) | Request::Later(statement, parameters) => {
                (statement, parameters, false)
            }
            Request::One(statement, parameters) => (statement, parameters, true),
            Request::Text(sql) => return self.ask_text(sql, row),
        };
        if statement == ROLLBACK && !self.asked.is_empty() {
            // After an error the server passes over everything up to the next Sync: the rollback must not be in that.
            self.wire.out.extend(SYNC);
            self.to_pass += 1;
        }
        self.ask(Asked { statement, one, number: None }, parameters)?;
        let may_wait = self.pipeline && (one || statement == BEGIN) || matches!(request, Request::Later(..));
        if may_wait && (self.asked.len() < TOGETHER_MAX || self.has_joined()) {
            return Poll::Ready(self.wire.alive().map(|()| 1));
        }
        self.wire.out.extend(SYNC);
        if self.wire.send()? {
            return self.resume(row);
        }
        Poll::Pending
    }

    fn resume(&mut self, row: Sink) -> Poll<Outcome<u64>> {
        // Rows that were joined under a number belong to what has been given up since.
        self.answers(&mut |number, values| {
            if number.is_none() {
                row(values);
            }
        })
    }

    fn join(&mut self, statement: Statement, parameters: &[Value], number: usize, one: bool) -> Outcome<bool> {
        if !self.pipeline {
            return Ok(false);
        }
        if self.asked.len() >= TOGETHER_MAX {
            return Err(failed(Class::Other, format!("more than {TOGETHER_MAX} statements are to travel together")));
        }
        self.ask(Asked { statement, one, number: Some(number) }, parameters)?;
        Ok(true)
    }

    fn gather(&mut self, commit: bool, row: NumberedSink) -> Poll<Outcome<()>> {
        if !self.gathers {
            self.gathers = true;
            if commit {
                self.ask(Asked { statement: COMMIT, one: false, number: None }, &[])?;
            }
            self.wire.out.extend(SYNC);
            if !self.wire.send()? {
                return Poll::Pending;
            }
        }
        self.answers(&mut |number, values| {
            if let Some(number) = number {
                row(number, values);
            }
        })
        .map(|answered| answered.map(|_| ()))
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.wire.socket.descriptor())
    }

    /// With its first query a transaction at this level takes the snapshot that it keeps (PostgreSQL's manual, 13.2.2).
    fn hold(&mut self) -> Outcome<()> {
        self.batch("begin isolation level repeatable read")?;
        self.look()
    }

    fn batch(&mut self, sql: &str) -> Outcome<()> {
        put_query(&mut self.wire.out, sql)?;
        self.converse(|_, _| Ok(()))
    }

    fn rows(&mut self, sql: &str) -> Outcome<Vec<Vec<Value>>> {
        put_query(&mut self.wire.out, sql)?;
        let (mut types, mut rows) = (Vec::new(), Vec::new());
        self.converse(|tag, body| {
            match tag {
                // The simple protocol answers everything as text.
                b'T' => types = vec![TEXT; columns(body)?.1.len()],
                b'D' => {
                    let mut values = Vec::new();
                    read_row(body, &types, &mut values)?;
                    rows.push(values);
                }
                _ => {}
            }
            Ok(())
        })?;
        Ok(rows)
    }

    fn bulk<'a>(&'a mut self, table: &str, columns: &[&str]) -> Outcome<Box<dyn Bulk + 'a>> {
        Ok(Box::new(Copy::begin(self, table, columns)?))
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.wire.out.clear();
        self.wire.out.extend(TERMINATE);
        self.wire.send().ok();
    }
}
