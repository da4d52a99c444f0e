//! Firebird through a client library loaded at run time; embedded when the target names no remote.
//!
//! One attachment a session, statements prepared once and kept across transactions, one transaction at a time. Attachments
//! and transactions are those of the low-level half of `rsfbclient`; statements and blobs are ours, over the same handles:
//! its own know neither exact decimals nor every type, and ask for each value's memory anew.

mod blob;
mod bulk;
mod column;
mod descriptor;
mod figures;
mod library;
mod maintenance;
mod services;
mod statement;

use crate::engine::Engine;
use blob::Place;
use library::{session_error, Library};
use rsfbclient_core::{
    charset::{Charset, UTF_8},
    Dialect as SqlDialect, FirebirdClientDbOps, FirebirdClientSqlOps, TrDataAccessMode, TrIsolationLevel,
    TrLockResolution, TrOp, TrRecordVersion, TransactionConfiguration,
};
use rsfbclient_native::{DynLoad, NativeFbAttachmentConfig, NativeFbClient, RemoteConfig};
use serde::{Deserialize, Serialize};
use statement::Prepared;
use std::task::Poll;
use std::time::{Duration, Instant};
use transaction::{
    as_many_as_parts, failed, joined, not_alone, Bulk, Class, Dialect, Maintenance, NamedSink, Outcome, Procedures,
    Request, Scripted, Session, SessionError, Sink, Statement, Value,
};

type Client = NativeFbClient<DynLoad>;
type Handle = <Client as FirebirdClientDbOps>::DbHandle;
type Transaction = <Client as FirebirdClientSqlOps>::TrHandle;

pub struct Firebird {
    client: Client,
    library: Library,
    database: Handle,
    transaction: Option<Transaction>,
    statements: Vec<Prepared>,
    kind: TransactionConfiguration,
    /// A statement that begins transactions, in place of `kind`.
    begins_by: Option<String>,
    remote: bool,
    /// What is asked in the transaction that [`Session::hold`] has begun.
    held: Option<Statement>,
    target: Target,
}

/// Firebird does not wait for the lock on its database's file, and the lock outlives the last close while another process
/// has a duplicate of the descriptor: the lab holds a duplicate for a moment, each time it gives an access hint.
const LOCKED: &str = "Database already opened with engine instance";
const LOCK_WAIT: Duration = Duration::from_secs(1);

const LOOK: &str = "select 1 from rdb$database";

static DIALECT: Dialect = Dialect {
    name: "firebird",
    engine: "Firebird",
    one_writer: false,
    keys_after_load: true,
    key: "bigint not null primary key",
    small_key: "integer not null primary key",
    own_key: "bigint not null primary key",
    by_key: "",
    datetime: "timestamp",
    bytes: "character set ascii",
    blob: "blob",
    char_length: "char_length",
    div: "/",
    first_row: "rows 1",
    procedures: Some(Procedures { call: "execute procedure", call_for_row: "select * from" }),
    settle: None,
    recount: Some("set statistics index {index}"),
};

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Full path of the client library to load (`libfbclient.so.2`); the embedded engine comes with it.
    library: String,
    /// Path (embedded) or path on the server (remote) of an existing database.
    database: String,
    user: String,
    /// `null` for an embedded engine.
    remote: Option<Remote>,
    isolation: Isolation,
    lock_resolution: LockResolution,
    /// Seconds a `wait` transaction waits; `null` waits until the engine breaks a deadlock.
    lock_timeout_s: Option<u32>,
    /// Statements run on every new session, before anything else, each in its own transaction.
    setup: Vec<String>,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Remote {
    host: String,
    port: u16,
    password: String,
}

impl Remote {
    /// The host as it stands before a port: an IPv6 address needs brackets there.
    fn named(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]", self.host)
        } else {
            self.host.clone()
        }
    }
}

impl Target {
    /// A name and a password have one byte for their length in what the client library takes.
    fn fits(&self) -> Outcome<()> {
        let password = self.remote.as_ref().map_or("", |remote| &remote.password);
        match [("user", self.user.as_str()), ("password", password)].into_iter().find(|(_, text)| text.len() > 255) {
            Some((what, _)) => Err(failed(
                Class::Connection,
                format!("the {what} has more than 255 bytes, which Firebird does not take"),
            )),
            None => Ok(()),
        }
    }

    /// Why there is no session on a server, in one plain line; the client library's own words where nothing is plainer.
    fn explained(&self, message: String) -> String {
        let Some(remote) = &self.remote else { return message };
        let at = format!("{}:{}", remote.named(), remote.port);
        let (user, database) = (&self.user, &self.database);
        let says = |words: &str| message.contains(words);
        if says("user name and password are not defined") {
            format!("{at}: the server does not let {user} in: there is no such user, or the password is wrong")
        } else if says("Failed to locate host machine") {
            format!("{at}: no host of this name is known")
        } else if says("Failed to establish a connection") {
            format!("{at}: no Firebird server answers there")
        } else if says("Incompatible wire encryption levels") {
            format!("{at}: one side demands that the wire is encrypted, and the other refuses it (WireCrypt)")
        } else if says("connection rejected by remote interface") {
            format!("{at}: what answers there is no Firebird server, or older than Firebird's client libraries know")
        } else if says("No such file or directory") || says("cannot find the file") || says("cannot find the path") {
            format!("{at}: the server has no database or alias \"{database}\"")
        } else {
            format!("{at}: {message}")
        }
    }
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Isolation {
    /// Read committed, record version. Firebird 4 and later turn it into read consistency
    /// when `ReadConsistency = 1` is in force.
    ReadCommitted,
    /// Firebird's `SNAPSHOT` (concurrency).
    Snapshot,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum LockResolution {
    Wait,
    NoWait,
}

impl Engine for Firebird {
    const NAME: &'static str = "firebird";
    const DIALECT: &'static Dialect = &DIALECT;
    type Target = Target;

    fn open(target: &Target) -> Outcome<Firebird> {
        Firebird::attached(target, UTF_8)
    }

    fn samples() -> Vec<Target> {
        let target = |remote, lock_timeout_s, isolation, lock_resolution| Target {
            library: "/opt/firebird/libfbclient.so.2".into(),
            database: "/data/x.fdb".into(),
            user: "SYSDBA".into(),
            remote,
            isolation,
            lock_resolution,
            lock_timeout_s,
            setup: vec!["create table t (a integer)".into()],
        };
        let remote = Remote { host: "localhost".into(), port: 3050, password: "masterkey".into() };
        vec![
            target(None, None, Isolation::ReadCommitted, LockResolution::Wait),
            target(Some(remote), Some(10), Isolation::Snapshot, LockResolution::NoWait),
        ]
    }
}

impl Firebird {
    /// A session whose texts are of this character set.
    fn attached(target: &Target, charset: Charset) -> Outcome<Firebird> {
        let Target { library: path, database, user, remote, isolation, lock_resolution, lock_timeout_s, setup } =
            target;
        target.fits()?;
        let load = DynLoad { charset, lib_path: path.clone() };
        let mut client = load
            .try_to_client()
            .map_err(|error| SessionError { class: Class::Connection, message: format!("{path}: {error}") })?;
        let library = Library::load(path)?;
        let attachment = NativeFbAttachmentConfig {
            db_name: database.clone(),
            user: user.clone(),
            role_name: None,
            remote: remote.as_ref().map(|remote| RemoteConfig {
                host: remote.named(),
                port: remote.port,
                pass: remote.password.clone(),
            }),
        };
        let kind = TransactionConfiguration {
            data_access: TrDataAccessMode::ReadWrite,
            isolation: match isolation {
                Isolation::ReadCommitted => TrIsolationLevel::ReadCommited(TrRecordVersion::RecordVersion),
                Isolation::Snapshot => TrIsolationLevel::Concurrency,
            },
            lock_resolution: match lock_resolution {
                LockResolution::Wait => TrLockResolution::Wait(*lock_timeout_s),
                LockResolution::NoWait => TrLockResolution::NoWait,
            },
        };
        let tried = Instant::now();
        let database = loop {
            let message = match client.attach_database(&attachment, SqlDialect::D3, false) {
                Ok(database) => break database,
                Err(error) => session_error(error).message,
            };
            if !message.contains(LOCKED) || tried.elapsed() > LOCK_WAIT {
                return Err(SessionError { class: Class::Connection, message: target.explained(message) });
            }
            std::thread::sleep(LOCK_WAIT / 100);
        };
        let remote = remote.is_some();
        let (transaction, statements, begins_by, held, target) = (None, Vec::new(), None, None, target.clone());
        let mut session =
            Firebird { client, library, database, transaction, statements, kind, begins_by, remote, held, target };
        for sql in setup {
            session.batch(sql)?;
        }
        Ok(session)
    }

    fn begin(&mut self) -> Outcome<()> {
        if let Some(sql) = &self.begins_by {
            self.transaction = Some(statement::begun(&self.library, &mut self.database, sql)?);
            return Ok(());
        }
        let transaction = self.client.begin_transaction(&mut self.database, self.kind).map_err(session_error)?;
        self.transaction = Some(transaction);
        Ok(())
    }

    fn commit(&mut self) -> Outcome<()> {
        // A commit that fails leaves the transaction open: the caller rolls it back.
        let transaction = open(&mut self.transaction)?;
        self.client.transaction_operation(transaction, TrOp::Commit).map_err(session_error)?;
        self.transaction = None;
        Ok(())
    }

    fn rollback(&mut self) -> Outcome<()> {
        match self.transaction.take() {
            Some(mut transaction) => {
                self.client.transaction_operation(&mut transaction, TrOp::Rollback).map_err(session_error)
            }
            None => Ok(()),
        }
    }

    fn run(&mut self, statement: Statement, parameters: &[Value], row: Sink) -> Outcome<u64> {
        let Firebird { library, database, transaction, statements, .. } = self;
        let mut place = Place { library, database, transaction: open(transaction)? };
        statements[statement.0].run(&mut place, parameters, row)
    }

    /// Prepares inside the open transaction.
    fn prepared(&mut self, sql: &str) -> Outcome<Prepared> {
        let Firebird { library, database, transaction, .. } = self;
        Prepared::new(&mut Place { library, database, transaction: open(transaction)? }, sql)
    }

    /// Prepares, runs and lets go of a statement inside the open transaction.
    fn run_once(&mut self, sql: &str, row: Sink) -> Outcome<u64> {
        let mut prepared = self.prepared(sql)?;
        let Firebird { library, database, transaction, .. } = self;
        let ran = open(transaction)
            .and_then(|transaction| prepared.run(&mut Place { library, database, transaction }, &[], row));
        prepared.close(&self.library);
        ran
    }

    /// Runs `work` in its own transaction, committed when it succeeds.
    fn apart<T>(&mut self, work: impl FnOnce(&mut Self) -> Outcome<T>) -> Outcome<T> {
        self.begin()?;
        match work(self).and_then(|value| self.commit().map(|()| value)) {
            Ok(value) => Ok(value),
            Err(error) => {
                self.rollback().ok();
                Err(error)
            }
        }
    }
}

impl Session for Firebird {
    fn dialect(&self) -> &'static Dialect {
        &DIALECT
    }

    /// Of a server also whether we know its catalogue: 2.5 lacks columns that we ask for, 2.0 does not tell its version.
    fn engine_version(&mut self) -> Outcome<String> {
        match self.rows("select rdb$get_context('SYSTEM', 'ENGINE_VERSION') from rdb$database") {
            Ok(rows) => {
                let version = rows.into_iter().flatten().next().and_then(Value::into_text).unwrap_or_default();
                match is_known(&version) {
                    false if self.remote => Err(failed(Class::Connection, too_old(&format!("is Firebird {version}")))),
                    _ => Ok(version),
                }
            }
            Err(error) if self.remote && error.message.contains("ENGINE_VERSION") => {
                Err(failed(Class::Connection, too_old("does not tell its version")))
            }
            Err(error) => Err(error),
        }
    }

    fn prepare(&mut self, sql: &str) -> Outcome<Statement> {
        if let Some(known) = self.statements.iter().position(|known| known.sql == sql) {
            return Ok(Statement(known));
        }
        // A statement is prepared inside a transaction but outlives it.
        let prepared =
            if self.transaction.is_some() { self.prepared(sql) } else { self.apart(|session| session.prepared(sql)) };
        self.statements.push(prepared?);
        Ok(Statement(self.statements.len() - 1))
    }

    fn prepare_parts(&mut self, parts: &[&str]) -> Outcome<Statement> {
        let sql = joined(parts, |_| "?".to_string());
        let statement = self.prepare(&sql)?;
        as_many_as_parts(self.statements[statement.0].parameters(), parts, &sql)?;
        Ok(statement)
    }

    fn in_transaction(&self) -> bool {
        self.transaction.is_some()
    }

    fn columns(&mut self, statement: Statement) -> Vec<String> {
        self.statements[statement.0].columns().map(str::to_string).collect()
    }

    fn call(&mut self, request: Request, row: Sink) -> Poll<Outcome<u64>> {
        Poll::Ready(match request {
            Request::Begin | Request::BeginReading => self.begin().map(|()| 0),
            Request::Commit => self.commit().map(|()| 0),
            Request::Rollback => self.rollback().map(|()| 0),
            Request::Run(statement, parameters)
            | Request::Later(statement, parameters)
            | Request::One(statement, parameters) => self.run(statement, parameters, row),
            Request::Alone(..) if self.transaction.is_some() => Err(not_alone()),
            Request::Alone(statement, parameters) => self.apart(|session| session.run(statement, parameters, row)),
            Request::Text(sql) if self.transaction.is_some() => self.run_once(sql, row),
            Request::Text(sql) => self.apart(|session| session.run_once(sql, row)),
        })
    }

    fn hold(&mut self) -> Outcome<()> {
        self.kind.isolation = TrIsolationLevel::Concurrency;
        self.held = Some(self.prepare(LOOK)?);
        self.begin()?;
        self.look()
    }

    fn look(&mut self) -> Outcome<()> {
        match self.held {
            Some(statement) => self.run(statement, &[], &mut |_| {}).map(|_| ()),
            None => self.rows(LOOK).map(|_| ()),
        }
    }

    fn batch(&mut self, sql: &str) -> Outcome<()> {
        self.apart(|session| {
            if sql.len() > usize::from(u16::MAX) {
                // The client library takes a length of 16 bits otherwise.
                return session.run_once(sql, &mut |_| {}).map(|_| ());
            }
            let transaction = open(&mut session.transaction)?;
            session
                .client
                .exec_immediate(&mut session.database, transaction, SqlDialect::D3, sql)
                .map_err(session_error)
        })
    }

    fn rows(&mut self, sql: &str) -> Outcome<Vec<Vec<Value>>> {
        let known = self.statements.len();
        let statement = self.prepare(sql)?;
        let mut rows = Vec::new();
        let ran = self.apart(|session| session.run(statement, &[], &mut |row| rows.push(row.to_vec())));
        for prepared in self.statements.drain(known..) {
            prepared.close(&self.library);
        }
        ran.map(|_| rows)
    }

    fn plan(&mut self, query: &str) -> Outcome<Vec<Vec<Value>>> {
        self.prepare(query)?;
        self.rows(&format!(
            "select cast(mon$explained_plan as varchar(4000)) from mon$statements \
             where mon$attachment_id = current_connection and mon$sql_text starting with '{}'",
            query.replace('\'', "''")
        ))
    }

    fn bulk<'a>(&'a mut self, table: &str, columns: &[&str]) -> Outcome<Box<dyn Bulk + 'a>> {
        Ok(Box::new(bulk::begin(self, table, columns)?))
    }

    fn figures(&mut self) -> Outcome<Vec<(String, i64)>> {
        figures::of(&self.library, &mut self.database)
    }

    fn maintenance(&mut self) -> Option<&mut dyn Maintenance> {
        Some(self)
    }

    fn scripted(&mut self) -> Option<&mut dyn Scripted> {
        Some(self)
    }
}

impl Scripted for Firebird {
    fn unconverted(&mut self) -> Outcome<()> {
        // As isql: a text of 32,765 bytes has no room for four bytes each.
        *self = Firebird::attached(&self.target, Charset { on_firebird: "NONE", on_rust: None })?;
        Ok(())
    }

    fn begins_by(&mut self, statement: Option<&str>) {
        self.begins_by = statement.map(str::to_string);
    }

    fn once(&mut self, sql: &str, row: NamedSink) -> Outcome<()> {
        let Firebird { library, database, transaction, .. } = self;
        let mut place = Place { library, database, transaction: open(transaction)? };
        let mut prepared = Prepared::for_once(&mut place, sql)?;
        let names: Vec<String> = prepared.columns().map(str::to_string).collect();
        let ran = prepared.run(&mut place, &[], &mut |values| row(&names, values));
        prepared.close(&self.library);
        ran.map(|_| ())
    }
}

impl Drop for Firebird {
    fn drop(&mut self) {
        // Nobody is left to hear of an error here; what matters, the commits, was acknowledged before.
        self.rollback().ok();
        for prepared in self.statements.drain(..) {
            prepared.close(&self.library);
        }
        self.client.detach_database(&mut self.database).ok();
    }
}

fn open(transaction: &mut Option<Transaction>) -> Outcome<&mut Transaction> {
    transaction
        .as_mut()
        .ok_or_else(|| SessionError { class: Class::Other, message: "no transaction is open".to_string() })
}

/// Whether it is one of 3.0 or later: "5.0.4".
fn is_known(version: &str) -> bool {
    version.split('.').next().and_then(|major| major.parse::<u32>().ok()).is_some_and(|major| major >= 3)
}

fn too_old(what: &str) -> String {
    format!("the server {what}: acidtest knows Firebird 3.0 and later")
}

#[cfg(test)]
mod tests {
    use super::library::classify;
    use super::*;

    #[test]
    fn why_there_is_no_session_is_one_plain_line() {
        let mut target = Firebird::samples().pop().unwrap();
        for (message, plain) in [
            (
                "Your user name and password are not defined. Ask your database administrator to set up a Firebird login.",
                "localhost:3050: the server does not let SYSDBA in: there is no such user, or the password is wrong",
            ),
            (
                "Unable to complete network request to host \"x\". -Failed to locate host machine. -The specified name was \
                 not found in the hosts file or Domain Name Services.",
                "localhost:3050: no host of this name is known",
            ),
            (
                "Unable to complete network request to host \"x\". -Failed to establish a connection.",
                "localhost:3050: no Firebird server answers there",
            ),
            (
                "Incompatible wire encryption levels requested on client and server",
                "localhost:3050: one side demands that the wire is encrypted, and the other refuses it (WireCrypt)",
            ),
            (
                "I/O error during \"open\" operation for file \"x\" -Error while trying to open file -No such file or \
                 directory",
                "localhost:3050: the server has no database or alias \"/data/x.fdb\"",
            ),
            (
                "connection rejected by remote interface",
                "localhost:3050: what answers there is no Firebird server, or older than Firebird's client libraries know",
            ),
            ("database /data/x.fdb shutdown", "localhost:3050: database /data/x.fdb shutdown"),
        ] {
            assert_eq!(target.explained(message.to_string()), plain);
        }
        target.remote.as_mut().unwrap().host = "::1".into();
        assert_eq!(target.explained("x".into()), "[::1]:3050: x");
        target.remote = None;
        assert_eq!(target.explained("x".into()), "x");
    }

    #[test]
    fn versions_are_known_from_3_0_on() {
        for (version, known) in
            [("3.0.14", true), ("5.0.4", true), ("10.1", true), ("2.5.9", false), ("2.1.7", false), ("", false)]
        {
            assert_eq!(is_known(version), known, "{version}");
        }
    }

    #[test]
    fn what_is_too_long_is_refused_and_not_sent() {
        let mut target = Firebird::samples().pop().unwrap();
        assert!(target.fits().is_ok());
        target.remote.as_mut().unwrap().password = "x".repeat(256);
        let message = target.fits().unwrap_err().message;
        assert_eq!(message, "the password has more than 255 bytes, which Firebird does not take");
        target.user = "x".repeat(256);
        assert!(target.fits().unwrap_err().message.starts_with("the user has more"));
    }

    #[test]
    fn firebirds_words_become_classes() {
        for (code, message, class) in [
            (
                -913,
                "deadlock -update conflicts with concurrent update -concurrent transaction number is 7",
                Class::UpdateConflict,
            ),
            (-913, "deadlock", Class::Deadlock),
            (-901, "lock conflict on no wait transaction -deadlock", Class::Deadlock),
            (-901, "lock conflict on no wait transaction", Class::LockConflict),
            (-901, "lock time-out on wait transaction", Class::LockTimeout),
            (-803, "violation of PRIMARY or UNIQUE KEY constraint", Class::Constraint),
            (-902, "I/O error during \"write\" operation -No space left on device", Class::DiskFull),
            (-902, "Error writing data to the connection.", Class::Connection),
            (-508, "no current record for fetch operation", Class::RowMissed),
            (-836, "exception 3 -ROW_MISSED -row_missed: the inventory of a product was not found", Class::RowMissed),
            (-204, "Table unknown", Class::Other),
        ] {
            assert_eq!(classify(code, message), class, "{message}");
        }
    }
}
