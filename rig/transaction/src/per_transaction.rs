//! A session that does not last as long as its terminal: for one transaction, with which it is opened and closed, for so many
//! of them, or for as long as the script says.
//!
//! To a script it looks like any other. Its statements are prepared anew on each session that is opened, each when it is
//! used first, as a client would that knows no other transaction. Opening a session keeps its thread waiting.

use crate::{
    failed, wait, Bulk, Class, Dialect, NamedSink, Outcome, Request, Scripted, Session, SessionError, Sink, Statement,
    Value,
};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::task::Poll;

pub type OpenSession = dyn Fn() -> Outcome<Box<dyn Session>> + Send + Sync;
/// Asks a session for the settings in force, before it is closed.
pub type Inspect = dyn FnMut(&mut dyn Session) -> Outcome<()> + Send;

/// How long a session lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lasts {
    Transaction,
    /// So many, after which the next session is opened at once: no transaction has a login in its latency.
    Transactions(u32),
    /// From [`Session::renew`] to [`Session::leave`].
    AsTold,
}

/// One session of a terminal in so many is asked for the settings in force. The first, on which its script was prepared, has
/// been asked before the run; so the first of the run is asked here.
const INSPECTED_EVERY: u64 = 64;

/// How many sessions were opened for transactions, and how many of those were inspected.
#[derive(Default)]
pub struct Opened {
    pub sessions: AtomicU64,
    pub inspected: AtomicU64,
}

pub struct PerTransaction {
    dialect: &'static Dialect,
    lasts: Lasts,
    open: Arc<OpenSession>,
    inspect: Box<Inspect>,
    opened: Arc<Opened>,
    /// Of this terminal.
    count: u64,
    session: Option<Box<dyn Session>>,
    /// What a script has the session do before its first transaction.
    setup: Vec<String>,
    begins_by: Option<String>,
    statements: Vec<Text>,
    /// Transactions of the session that is open.
    ended: u32,
}

/// A statement's text: our own SQL, the parts of anybody's around its parameters, or what a log of the engine has.
#[derive(Clone, PartialEq)]
enum Form {
    Sql(String),
    Parts(Vec<String>),
    Logged(String),
}

impl Form {
    fn prepare(&self, session: &mut dyn Session) -> Outcome<Statement> {
        match self {
            Form::Sql(sql) => session.prepare(sql),
            Form::Logged(sql) => session.prepare_logged(sql),
            Form::Parts(parts) => session.prepare_parts(&parts.iter().map(String::as_str).collect::<Vec<_>>()),
        }
    }
}

struct Text {
    form: Form,
    /// On the session that is open.
    prepared: Option<Statement>,
}

impl PerTransaction {
    /// `opened` counts over all terminals.
    pub fn new(
        dialect: &'static Dialect,
        lasts: Lasts,
        open: Arc<OpenSession>,
        inspect: Box<Inspect>,
        opened: Arc<Opened>,
    ) -> Self {
        PerTransaction {
            dialect,
            lasts,
            open,
            inspect,
            opened,
            count: 0,
            session: None,
            setup: Vec::new(),
            begins_by: None,
            statements: Vec::new(),
            ended: 0,
        }
    }

    fn opened(&mut self) -> Outcome<&mut dyn Session> {
        if self.session.is_none() {
            let mut session = (self.open)().map_err(not_opened)?;
            for sql in &self.setup {
                session.batch(sql)?;
            }
            if let (Some(statement), Some(scripted)) = (&self.begins_by, session.scripted()) {
                scripted.begins_by(Some(statement));
            }
            self.session = Some(session);
            self.count += 1;
            self.opened.sessions.fetch_add(1, Ordering::Relaxed);
        }
        Ok(self.session.as_mut().expect("opened above").as_mut())
    }

    /// The statement on the session that is open.
    fn prepared(&mut self, statement: Statement) -> Outcome<Statement> {
        let text = &self.statements[statement.0];
        if let Some(prepared) = text.prepared {
            return Ok(prepared);
        }
        let form = text.form.clone();
        let prepared = form.prepare(self.opened()?)?;
        self.statements[statement.0].prepared = Some(prepared);
        Ok(prepared)
    }

    /// Prepares a statement that is new, so that what is wrong with it is reported at once.
    fn prepare_form(&mut self, form: Form) -> Outcome<Statement> {
        if let Some(known) = self.statements.iter().position(|text| text.form == form) {
            return Ok(Statement(known));
        }
        let prepared = Some(form.prepare(self.opened()?)?);
        self.statements.push(Text { form, prepared });
        Ok(Statement(self.statements.len() - 1))
    }

    fn close(&mut self) {
        (self.session, self.ended) = (None, 0);
        self.statements.iter_mut().for_each(|text| text.prepared = None);
    }

    fn ask(&mut self, request: Request, row: Sink) -> Outcome<u64> {
        let request = match request {
            Request::Run(statement, parameters) => Request::Run(self.prepared(statement)?, parameters),
            Request::One(statement, parameters) => Request::One(self.prepared(statement)?, parameters),
            Request::Later(statement, parameters) => Request::Later(self.prepared(statement)?, parameters),
            Request::Alone(statement, parameters) => Request::Alone(self.prepared(statement)?, parameters),
            Request::Rollback if self.session.is_none() => return Ok(0),
            other => other,
        };
        wait(self.opened()?, request, row)
    }
}

/// Another transaction may well find the server willing.
fn not_opened(error: SessionError) -> SessionError {
    failed(Class::Connect, error.message)
}

impl Session for PerTransaction {
    fn dialect(&self) -> &'static Dialect {
        self.dialect
    }

    fn engine_version(&mut self) -> Outcome<String> {
        self.opened()?.engine_version()
    }

    fn prepare(&mut self, sql: &str) -> Outcome<Statement> {
        self.prepare_form(Form::Sql(sql.to_string()))
    }

    fn prepare_parts(&mut self, parts: &[&str]) -> Outcome<Statement> {
        self.prepare_form(Form::Parts(parts.iter().map(|part| part.to_string()).collect()))
    }

    fn columns(&mut self, statement: Statement) -> Vec<String> {
        let prepared = self.prepared(statement);
        match (prepared, &mut self.session) {
            (Ok(prepared), Some(session)) => session.columns(prepared),
            _ => Vec::new(),
        }
    }

    fn call(&mut self, request: Request, row: Sink) -> Poll<Outcome<u64>> {
        Poll::Ready(self.ask(request, row))
    }

    fn prepare_logged(&mut self, sql: &str) -> Outcome<Statement> {
        self.prepare_form(Form::Logged(sql.to_string()))
    }

    fn in_transaction(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.in_transaction())
    }

    fn ended(&mut self) -> Outcome<()> {
        match self.lasts {
            Lasts::Transaction => self.leave(),
            Lasts::Transactions(all) => {
                self.ended += 1;
                if self.ended >= all {
                    self.leave()?;
                    // A server that refuses now is asked again by the next transaction, which says so.
                    self.opened().ok();
                }
                Ok(())
            }
            Lasts::AsTold => Ok(()),
        }
    }

    fn renew(&mut self) -> Outcome<()> {
        self.close();
        self.opened().map(|_| ())
    }

    fn leave(&mut self) -> Outcome<()> {
        let inspected = match &mut self.session {
            Some(session) if self.count % INSPECTED_EVERY == 2 => {
                self.opened.inspected.fetch_add(1, Ordering::Relaxed);
                // It is asked as it was opened: how a script begins its own transactions is no setting.
                if let Some(scripted) = session.scripted() {
                    scripted.begins_by(None);
                }
                (self.inspect)(session.as_mut())
            }
            _ => Ok(()),
        };
        self.close();
        inspected
    }

    fn batch(&mut self, sql: &str) -> Outcome<()> {
        self.opened()?.batch(sql)?;
        self.setup.push(sql.to_string());
        Ok(())
    }

    fn rows(&mut self, sql: &str) -> Outcome<Vec<Vec<Value>>> {
        self.opened()?.rows(sql)
    }

    fn hold(&mut self) -> Outcome<()> {
        self.opened()?.hold()
    }

    fn plan(&mut self, query: &str) -> Outcome<Vec<Vec<Value>>> {
        self.opened()?.plan(query)
    }

    fn bulk<'a>(&'a mut self, table: &str, columns: &[&str]) -> Outcome<Box<dyn Bulk + 'a>> {
        self.opened()?.bulk(table, columns)
    }

    fn scripted(&mut self) -> Option<&mut dyn Scripted> {
        self.opened().ok()?.scripted().is_some().then_some(self)
    }
}

impl PerTransaction {
    fn inner(&mut self) -> Outcome<&mut dyn Scripted> {
        let engine = self.dialect.engine;
        self.opened()?.scripted().ok_or_else(|| failed(Class::Other, format!("{engine} runs no scripts")))
    }
}

impl Scripted for PerTransaction {
    /// Of the session that is open.
    fn unconverted(&mut self) -> Outcome<()> {
        self.statements.iter_mut().for_each(|text| text.prepared = None);
        self.inner()?.unconverted()
    }

    /// On each that is opened.
    fn begins_by(&mut self, statement: Option<&str>) {
        self.begins_by = statement.map(str::to_string);
        if let Some(scripted) = self.session.as_mut().and_then(|session| session.scripted()) {
            scripted.begins_by(statement);
        }
    }

    fn once(&mut self, sql: &str, row: NamedSink) -> Outcome<()> {
        self.inner()?.once(sql, row)
    }
}
