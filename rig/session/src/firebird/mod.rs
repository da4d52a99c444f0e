//! Firebird through a client library loaded at run time; embedded when the target names no remote.
//!
//! The low-level half of `rsfbclient` is used as it is: one attachment a session, statements prepared once and kept
//! across transactions, one transaction at a time.

mod bulk;

use crate::registry::Engine;
use rsfbclient_core::{
    charset::UTF_8, Column, Dialect as SqlDialect, FbError, FirebirdClientDbOps, FirebirdClientSqlOps, FreeStmtOp,
    SqlType, StmtType, TrDataAccessMode, TrIsolationLevel, TrLockResolution, TrOp, TrRecordVersion,
    TransactionConfiguration,
};
use rsfbclient_native::{DynLoad, NativeFbAttachmentConfig, NativeFbClient, RemoteConfig};
use serde::{Deserialize, Serialize};
use std::task::Poll;
use transaction::{Bulk, Class, Dialect, Outcome, Procedures, Request, Session, SessionError, Sink, Statement, Value};

type Client = NativeFbClient<DynLoad>;
type Handle = <Client as FirebirdClientDbOps>::DbHandle;
type Transaction = <Client as FirebirdClientSqlOps>::TrHandle;

/// A statement as it was prepared.
struct Prepared {
    sql: String,
    kind: StmtType,
    handle: <Client as FirebirdClientSqlOps>::StmtHandle,
    /// It writes one row or fails: there is no need to ask how many, which takes a round trip more of its own.
    one_row: bool,
}

pub struct Firebird {
    client: Client,
    database: Handle,
    transaction: Option<Transaction>,
    statements: Vec<Prepared>,
    kind: TransactionConfiguration,
    remote: bool,
}

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
    char_length: "char_length",
    div: "/",
    first_row: "rows 1",
    procedures: Some(Procedures { call: "execute procedure", call_for_row: "select * from" }),
    settle: None,
    recount: Some("set statistics index {index}"),
};

#[derive(Serialize, Deserialize)]
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
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Remote {
    host: String,
    port: u16,
    password: String,
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
        let Target { library, database, user, remote, isolation, lock_resolution, lock_timeout_s } = target;
        let load = DynLoad { charset: UTF_8, lib_path: library.clone() };
        let mut client = load
            .try_to_client()
            .map_err(|error| SessionError { class: Class::Connection, message: format!("{library}: {error}") })?;
        let attachment = NativeFbAttachmentConfig {
            db_name: database.clone(),
            user: user.clone(),
            role_name: None,
            remote: remote.as_ref().map(|remote| RemoteConfig {
                host: remote.host.clone(),
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
        let database = client
            .attach_database(&attachment, SqlDialect::D3, false)
            .map_err(|error| SessionError { class: Class::Connection, message: said(error).message })?;
        let remote = remote.is_some();
        Ok(Firebird { client, database, transaction: None, statements: Vec::new(), kind, remote })
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
        };
        let remote = Remote { host: "localhost".into(), port: 3050, password: "masterkey".into() };
        vec![
            target(None, None, Isolation::ReadCommitted, LockResolution::Wait),
            target(Some(remote), Some(10), Isolation::Snapshot, LockResolution::NoWait),
        ]
    }
}

impl Firebird {
    fn begin(&mut self) -> Outcome<()> {
        let transaction = self.client.begin_transaction(&mut self.database, self.kind).map_err(said)?;
        self.transaction = Some(transaction);
        Ok(())
    }

    fn commit(&mut self) -> Outcome<()> {
        // A commit that fails leaves the transaction open: the caller rolls it back.
        let transaction = open(&mut self.transaction)?;
        self.client.transaction_operation(transaction, TrOp::Commit).map_err(said)?;
        self.transaction = None;
        Ok(())
    }

    fn rollback(&mut self) -> Outcome<()> {
        match self.transaction.take() {
            Some(mut transaction) => self.client.transaction_operation(&mut transaction, TrOp::Rollback).map_err(said),
            None => Ok(()),
        }
    }

    fn run(&mut self, statement: Statement, parameters: &[Value], row: Sink) -> Outcome<u64> {
        let transaction = open(&mut self.transaction)?;
        let Prepared { kind, handle, one_row, .. } = &mut self.statements[statement.0];
        let parameters = parameters.iter().map(parameter).collect();
        if *one_row {
            self.client.execute2(&mut self.database, transaction, handle, parameters).map_err(said)?;
            return Ok(1);
        }
        let changed = self.client.execute(&mut self.database, transaction, handle, parameters).map_err(said)?;
        if *kind != StmtType::Select && *kind != StmtType::SelectForUpd {
            return Ok(changed as u64);
        }
        let fetched = loop {
            match self.client.fetch(&mut self.database, transaction, handle) {
                Ok(Some(columns)) => row(&columns.into_iter().map(value).collect::<Vec<_>>()),
                Ok(None) => break Ok(0),
                Err(error) => break Err(said(error)),
            }
        };
        // The cursor is closed in any case, or the statement could not run again.
        let closed = self.client.free_statement(handle, FreeStmtOp::Close).map_err(said);
        fetched.and_then(|none| closed.map(|()| none))
    }

    /// Runs `work` in a transaction of its own, committed when it succeeds.
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

    fn engine_version(&mut self) -> Outcome<String> {
        let rows = self.rows("select rdb$get_context('SYSTEM', 'ENGINE_VERSION') from rdb$database")?;
        Ok(rows.into_iter().flatten().next().and_then(Value::into_text).unwrap_or_default())
    }

    fn prepare(&mut self, sql: &str) -> Outcome<Statement> {
        if let Some(known) = self.statements.iter().position(|known| known.sql == sql) {
            return Ok(Statement(known));
        }
        // A statement is prepared inside a transaction but outlives it.
        self.apart(|session| {
            let transaction = open(&mut session.transaction)?;
            let (kind, handle) = session
                .client
                .prepare_statement(&mut session.database, transaction, SqlDialect::D3, sql)
                .map_err(said)?;
            let prepared = Prepared { sql: sql.to_string(), kind, handle, one_row: inserts_one_row(sql) };
            session.statements.push(prepared);
            Ok(Statement(session.statements.len() - 1))
        })
    }

    fn call(&mut self, request: Request, row: Sink) -> Poll<Outcome<u64>> {
        Poll::Ready(match request {
            Request::Begin | Request::BeginReading => self.begin().map(|()| 0),
            Request::Commit => self.commit().map(|()| 0),
            Request::Rollback => self.rollback().map(|()| 0),
            Request::Run(statement, parameters) | Request::One(statement, parameters) => {
                self.run(statement, parameters, row)
            }
        })
    }

    fn batch(&mut self, sql: &str) -> Outcome<()> {
        self.apart(|session| {
            let transaction = open(&mut session.transaction)?;
            session.client.exec_immediate(&mut session.database, transaction, SqlDialect::D3, sql).map_err(said)
        })
    }

    fn rows(&mut self, sql: &str) -> Outcome<Vec<Vec<Value>>> {
        let known = self.statements.len();
        let statement = self.prepare(sql)?;
        let mut rows = Vec::new();
        let ran = self.apart(|session| session.run(statement, &[], &mut |row| rows.push(row.to_vec())));
        for mut prepared in self.statements.drain(known..) {
            self.client.free_statement(&mut prepared.handle, FreeStmtOp::Drop).map_err(said)?;
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
        Ok(Box::new(bulk::Blocks::begin(self, table, columns)?))
    }
}

impl Drop for Firebird {
    fn drop(&mut self) {
        // Nobody is left to hear of an error here; what matters, the commits, was acknowledged before.
        self.rollback().ok();
        for mut prepared in self.statements.drain(..) {
            self.client.free_statement(&mut prepared.handle, FreeStmtOp::Drop).ok();
        }
        self.client.detach_database(&mut self.database).ok();
    }
}

fn open(transaction: &mut Option<Transaction>) -> Outcome<&mut Transaction> {
    transaction
        .as_mut()
        .ok_or_else(|| SessionError { class: Class::Other, message: "no transaction is open".to_string() })
}

/// Told from the text: to Firebird `insert ... select` is of the same kind.
fn inserts_one_row(sql: &str) -> bool {
    let words: Vec<_> = sql.split_whitespace().map(str::to_lowercase).collect();
    words.starts_with(&["insert".to_string(), "into".to_string()])
        && words.iter().all(|word| !word.contains("select") && !word.contains("returning"))
}

fn parameter(value: &Value) -> SqlType {
    match value {
        Value::Null => SqlType::Null,
        Value::Int(n) => SqlType::Integer(*n),
        Value::Real(x) => SqlType::Floating(*x),
        Value::Text(s) => SqlType::Text(s.clone()),
    }
}

fn value(column: Column) -> Value {
    match column.value {
        SqlType::Null => Value::Null,
        SqlType::Integer(n) => Value::Int(n),
        // SUM over BIGINT is INT128 from Firebird 4 on.
        SqlType::Int128(n) => i64::try_from(n).map_or_else(|_| Value::Text(n.to_string()), Value::Int),
        SqlType::Floating(x) => Value::Real(x),
        SqlType::Text(s) => Value::Text(s),
        SqlType::Boolean(b) => Value::Text(b.to_string()),
        SqlType::Timestamp(at) => Value::Text(at.to_string()),
        SqlType::Binary(bytes) => Value::Text(String::from_utf8_lossy(&bytes).into_owned()),
    }
}

fn said(error: FbError) -> SessionError {
    match error {
        FbError::Sql { msg, code } => {
            let message = msg.split_whitespace().collect::<Vec<_>>().join(" ");
            SessionError { class: classify(code, &message), message }
        }
        other => SessionError { class: Class::Other, message: other.to_string() },
    }
}

/// SQL codes as in Firebird's `sqlerr` table; the words tell apart what shares a code.
/// -913 covers a deadlock and an update conflict, -901 a lock conflict and a lock time-out among others.
fn classify(code: i32, message: &str) -> Class {
    let lower = message.to_lowercase();
    let says = |words: &str| lower.contains(words);
    if says("no space left") || says("disk full") {
        Class::DiskFull
    } else if says("lock time-out") {
        Class::LockTimeout
    } else if says("update conflicts with concurrent update") || says("concurrent transaction number is") {
        Class::UpdateConflict
    } else if says("no current record for fetch operation") {
        Class::RowMissed
    } else if says("deadlock") {
        Class::Deadlock
    } else if says("lock conflict") {
        Class::LockConflict
    } else if code == -803 || code == -530 || says("violation of") {
        Class::Constraint
    } else if code == -902 || code == -904 || says("connection") {
        Class::Connection
    } else {
        Class::Other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_insert_of_values_writes_one_row() {
        for (sql, one) in [
            ("insert into t (a, b) values (?, ?)", true),
            ("INSERT\n  INTO t VALUES (?)", true),
            ("insert into t (a) select a from u", false),
            ("insert into t (a) (select a from u)", false),
            ("insert into t (a) values (?) returning a", false),
            ("update or insert into t (a) values (?)", false),
            ("update t set a = ?", false),
        ] {
            assert_eq!(inserts_one_row(sql), one, "{sql}");
        }
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
            (-204, "Table unknown", Class::Other),
        ] {
            assert_eq!(classify(code, message), class, "{message}");
        }
    }
}
