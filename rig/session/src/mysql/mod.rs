//! MySQL and MariaDB over their own protocol: binary prepared statements, one send and one receive a request.
//!
//! The measured path allocates nothing: answers are read where they were received, and texts of rows keep their memory.
//! Rows that a statement matches count as changed, whether it changes their values or not.

mod bulk;
mod connection;
#[cfg(test)]
mod tests;

use crate::engine::Engine;
use crate::tls::Tls;
use connection::{log_in, Wire};
use serde::{Deserialize, Serialize};
use std::os::fd::BorrowedFd;
use std::task::Poll;
use transaction::{
    as_many_as_parts, as_many_parameters, failed, garbled, joined, not_alone, Bulk, Class, Dialect, Outcome,
    Procedures, Request, Session, Sink, Statement, Value,
};
use wire_mysql::{
    column_name, command, only_private, put_parameters, refusal, too_long, Answer, Column, Form, Manner, Reader,
    AUTOCOMMIT, IN_TRANSACTION,
};

pub struct Mysql {
    wire: Wire,
    manner: Manner,
    statements: Vec<Prepared>,
    /// The statement whose answer is pending, and what has come of it.
    asked: Statement,
    answer: Answer,
    /// A transaction is open, as the server last reported.
    open: bool,
    /// What is asked outside a transaction is committed, as the server last reported.
    autocommit: bool,
    /// The longest packet that the server takes; asked for before the first that it might not.
    packet_max: Option<usize>,
}

struct Prepared {
    sql: String,
    /// None of a statement that this server does not prepare: it goes as text.
    handle: Option<u32>,
    parameters: usize,
    /// Types of the parameters as last sent.
    sent: Vec<u8>,
    columns: Vec<Column>,
    names: Vec<String>,
    row: Vec<Value>,
}

// Prepared first of all.
const BEGIN: Statement = Statement(0);
const COMMIT: Statement = Statement(1);
const ROLLBACK: Statement = Statement(2);

/// Every server takes a packet of this length, unless its `max_allowed_packet` was made smaller than any version's own.
const PACKET_MIN: usize = 1 << 20;

/// ER_UNSUPPORTED_PS: "This command is not supported in the prepared statement protocol yet".
const UNSUPPORTED_PS: u16 = 1295;

/// Every session's first statement. A table has InnoDB's rules wherever it says nothing else, and a value that does not
/// fit is refused, which old servers do not do of themselves.
const SETUP: &str = "set autocommit = 1, default_storage_engine = innodb, \
                     sql_mode = concat(@@session.sql_mode, ',STRICT_ALL_TABLES')";

static DIALECT: Dialect = Dialect {
    name: "mysql",
    engine: "MySQL",
    one_writer: false,
    // InnoDB keeps a table in the order of its key.
    keys_after_load: false,
    key: "bigint not null primary key",
    small_key: "integer not null primary key",
    // There are no sequences.
    own_key: "bigint not null auto_increment primary key",
    by_key: "",
    // A timestamp sets itself and is never null.
    datetime: "datetime",
    bytes: "character set latin1 collate latin1_bin",
    blob: "longblob",
    char_length: "char_length",
    div: "div",
    first_row: "limit 1",
    procedures: Some(Procedures { call: "call", call_for_row: "call" }),
    settle: None,
    recount: None,
};

/// MySQL and MariaDB.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// A name or an address, or the path of the server's Unix socket; `port` is not used then.
    host: String,
    port: u16,
    user: String,
    password: Option<String>,
    /// An existing database.
    database: String,
    /// Statements run on every new session, before anything else (`SET ...`).
    setup: Vec<String>,
    /// None: nothing is encrypted.
    tls: Option<Tls>,
    /// The path of the server's Unix socket beside `host`. Where the server wants to see the password there first, it is
    /// shown; the session itself goes to `host` all the same.
    socket: Option<String>,
}

impl Engine for Mysql {
    const NAME: &'static str = "mysql";
    const DIALECT: &'static Dialect = &DIALECT;
    type Target = Target;

    fn open(Target { host, port, user, password, database, setup, tls, socket }: &Target) -> Outcome<Mysql> {
        let enter = |wire: &mut Wire, tls| log_in(wire, database, user, password.as_deref(), tls);
        let tls = tls.as_ref().map(|tls| (tls, host.as_str()));
        let mut wire = Wire::connect(host, *port)?;
        let mut manner = enter(&mut wire, tls)?;
        if let (None, Some(socket)) = (manner, socket) {
            enter(&mut Wire::connect(socket, 0)?, None)?;
            wire = Wire::connect(host, *port)?;
            manner = enter(&mut wire, tls)?;
        }
        Mysql::over(wire, manner.ok_or_else(only_private)?, setup)
    }

    fn samples() -> Vec<Target> {
        vec![Target {
            host: "127.0.0.1".into(),
            port: 3306,
            user: "acidtest".into(),
            password: None,
            database: "acidtest".into(),
            setup: vec!["set session sql_mode = ''".into()],
            tls: Some(Tls::sample()),
            socket: Some("/run/mysqld/mysqld.sock".into()),
        }]
    }
}

impl Mysql {
    /// Over a connection that is logged in.
    fn over(wire: Wire, manner: Manner, setup: &[String]) -> Outcome<Mysql> {
        let (asked, answer) = (BEGIN, Answer::to(false));
        let statements = Vec::new();
        let mut session =
            Mysql { wire, manner, statements, asked, answer, open: false, autocommit: true, packet_max: None };
        session.batch(SETUP)?;
        for sql in setup {
            session.batch(sql)?;
        }
        for (statement, sql) in [(BEGIN, "begin"), (COMMIT, "commit"), (ROLLBACK, "rollback")] {
            assert_eq!(session.prepare(sql)?, statement);
        }
        Ok(session)
    }

    /// Writes a statement's execution.
    fn ask(&mut self, statement: Statement, parameters: &[Value]) -> Outcome<()> {
        let prepared = &mut self.statements[statement.0];
        as_many_parameters(prepared.parameters, parameters, &prepared.sql)?;
        self.asked = statement;
        self.answer = Answer::to(prepared.handle.is_some());
        let Some(handle) = prepared.handle else { return put_query(&mut self.wire, &prepared.sql) };
        let put = put_execution(&mut self.wire, handle, parameters, &mut prepared.sent);
        let length = self.wire.packets.out.len();
        if put.is_ok() && length <= PACKET_MIN {
            return Ok(());
        }
        // It is written anew, or not at all: the server has not heard of the types in it.
        self.wire.packets.out.clear();
        prepared.sent.clear();
        put.and_then(|()| self.fits(length))?;
        put_execution(&mut self.wire, handle, parameters, &mut self.statements[statement.0].sent)
    }

    /// Refuses what is longer than the server takes, which would answer it by closing the connection.
    fn fits(&mut self, length: usize) -> Outcome<()> {
        let most = match self.packet_max {
            Some(most) => most,
            None => {
                let rows = self.rows("select @@max_allowed_packet")?;
                let most = rows.first().and_then(|row| row.first()).and_then(Value::as_i64).ok_or_else(garbled)?;
                *self.packet_max.insert(usize::try_from(most).unwrap_or(usize::MAX))
            }
        };
        if length > most {
            return Err(too_long(length, most));
        }
        Ok(())
    }

    /// Runs a statement as text to its end; rows go to `row`. Answers what came of it, and the columns of its last rows.
    fn query(&mut self, sql: &str, row: Sink) -> Outcome<(Answer, Vec<Column>)> {
        put_query(&mut self.wire, sql)?;
        let (mut columns, mut values) = (Vec::new(), Vec::new());
        let mut answer = Answer::to(false);
        let manner = self.manner;
        self.wire.converse(|content| answer.take(content, manner, &mut columns, &mut values, row))??;
        self.open = answer.status & IN_TRANSACTION != 0;
        self.autocommit = answer.status & AUTOCOMMIT != 0;
        Ok((answer, columns))
    }

    fn forms(&mut self, sql: &str) -> Outcome<Vec<Form>> {
        let (_, columns) = self.query(sql, &mut |_| {})?;
        Ok(columns.into_iter().map(Column::form).collect())
    }
}

#[cfg(test)]
pub fn log_in_over(socket: crate::socket::Socket, tls: Option<&Tls>) -> Outcome<()> {
    let tls = tls.map(|tls| (tls, "localhost"));
    log_in(&mut Wire::over(socket, false), "bench", "me", Some("secret"), tls).map(|_| ())
}

fn put_query(wire: &mut Wire, sql: &str) -> Outcome<()> {
    wire.packets.command(|out| {
        out.push(command::QUERY);
        out.extend(sql.as_bytes());
    })
}

/// Writes a statement's execution; `sent` are the types of its parameters as last sent.
fn put_execution(wire: &mut Wire, handle: u32, parameters: &[Value], sent: &mut Vec<u8>) -> Outcome<()> {
    wire.packets.command(|out| {
        out.push(command::STMT_EXECUTE);
        out.extend(handle.to_le_bytes());
        // No cursor; once.
        out.extend([0, 1, 0, 0, 0]);
        put_parameters(out, parameters, sent);
    })
}

impl Session for Mysql {
    fn dialect(&self) -> &'static Dialect {
        &DIALECT
    }

    fn engine_version(&mut self) -> Outcome<String> {
        let rows = self.rows("select version()")?;
        let version = rows.into_iter().flatten().next().and_then(Value::into_text).unwrap_or_default();
        // With what its distributor and its options add: "10.11.6-MariaDB-0+deb12u1", "5.5.9-log".
        let number = version.split('-').next().unwrap_or_default();
        Ok(if version.contains("MariaDB") { format!("{number}-MariaDB") } else { number.to_string() })
    }

    fn prepare(&mut self, sql: &str) -> Outcome<Statement> {
        if let Some(known) = self.statements.iter().position(|known| known.sql == sql) {
            return Ok(Statement(known));
        }
        self.wire.packets.command(|out| {
            out.push(command::STMT_PREPARE);
            out.extend(sql.as_bytes());
        })?;
        let mut prepared = Prepared {
            sql: sql.to_string(),
            handle: None,
            parameters: 0,
            sent: Vec::new(),
            columns: Vec::new(),
            names: Vec::new(),
            row: Vec::new(),
        };
        let deprecate_eof = self.manner.deprecate_eof;
        let mut more: Option<(usize, usize)> = None;
        self.wire.converse(|content| {
            let Some((parameters, rest)) = &mut more else {
                let mut reader = Reader(content);
                match reader.u8()? {
                    0 => {}
                    0xff if reader.u16()? == UNSUPPORTED_PS => return Ok(Some(Ok(()))),
                    0xff => return Ok(Some(Err(refusal(content)))),
                    _ => return Err(garbled()),
                }
                prepared.handle = Some(reader.u32()?);
                let columns = usize::from(reader.u16()?);
                prepared.parameters = usize::from(reader.u16()?);
                // Each of the two lists ends with an EOF packet.
                let list = |many: usize| many + usize::from(many > 0 && !deprecate_eof);
                let counted = (list(prepared.parameters), list(columns));
                more = Some(counted);
                return Ok((counted == (0, 0)).then_some(Ok(())));
            };
            if *parameters > 0 {
                *parameters -= 1;
            } else {
                *rest -= 1;
                if deprecate_eof || *rest > 0 {
                    prepared.columns.push(Column::read(content)?);
                    prepared.names.push(column_name(content)?);
                }
            }
            Ok(((*parameters, *rest) == (0, 0)).then_some(Ok(())))
        })??;
        self.statements.push(prepared);
        Ok(Statement(self.statements.len() - 1))
    }

    fn prepare_parts(&mut self, parts: &[&str]) -> Outcome<Statement> {
        let sql = joined(parts, |_| "?".to_string());
        let statement = self.prepare(&sql)?;
        as_many_as_parts(self.statements[statement.0].parameters, parts, &sql)?;
        Ok(statement)
    }

    fn in_transaction(&self) -> bool {
        self.open
    }

    /// Those of what a procedure answers come when it runs, and not here.
    fn columns(&mut self, statement: Statement) -> Vec<String> {
        self.statements[statement.0].names.clone()
    }

    fn call(&mut self, request: Request, row: Sink) -> Poll<Outcome<u64>> {
        let (statement, parameters) = match request {
            Request::Begin | Request::BeginReading => (BEGIN, &[][..]),
            Request::Commit if self.open => (COMMIT, &[][..]),
            // The server would say yes, to nothing.
            Request::Commit => return Poll::Ready(Err(failed(Class::Other, "no transaction is open".to_string()))),
            Request::Rollback if self.open => (ROLLBACK, &[][..]),
            Request::Rollback => return Poll::Ready(Ok(0)),
            Request::Alone(..) if self.open => return Poll::Ready(Err(not_alone())),
            Request::Alone(..) if !self.autocommit => {
                let message = "autocommit is off, so that a statement alone commits nothing: leave it on".to_string();
                return Poll::Ready(Err(failed(Class::Other, message)));
            }
            // It is committed when the server answers it.
            Request::Alone(statement, parameters)
            | Request::Run(statement, parameters)
            | Request::Later(statement, parameters)
            | Request::One(statement, parameters) => (statement, parameters),
            Request::Text(sql) => {
                // Its columns are described anew, and nobody reads them: those of a statement without any keep their place.
                self.asked = BEGIN;
                self.answer = Answer::to(false);
                return match put_query(&mut self.wire, sql).and_then(|()| self.wire.send()) {
                    Ok(false) => Poll::Pending,
                    Ok(true) => self.resume(row),
                    Err(error) => Poll::Ready(Err(error)),
                };
            }
        };
        match self.ask(statement, parameters).and_then(|()| self.wire.send()) {
            Ok(false) => Poll::Pending,
            Ok(true) => self.resume(row),
            Err(error) => Poll::Ready(Err(error)),
        }
    }

    fn resume(&mut self, row: Sink) -> Poll<Outcome<u64>> {
        let Mysql { wire, manner, statements, asked, answer, open, autocommit, .. } = self;
        let Prepared { columns, row: values, .. } = &mut statements[asked.0];
        match wire.answers(|content| answer.take(content, *manner, columns, values, row)) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(ended) => Poll::Ready(ended.and_then(|refused| refused).map(|()| {
                *open = answer.status & IN_TRANSACTION != 0;
                *autocommit = answer.status & AUTOCOMMIT != 0;
                answer.changed
            })),
        }
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.wire.socket.descriptor())
    }

    /// At other levels than this one the server passes over `with consistent snapshot`.
    fn hold(&mut self) -> Outcome<()> {
        self.batch("set transaction isolation level repeatable read")?;
        self.batch("start transaction with consistent snapshot")?;
        self.look()
    }

    fn batch(&mut self, sql: &str) -> Outcome<()> {
        self.query(sql, &mut |_| {}).map(|_| ())
    }

    fn rows(&mut self, sql: &str) -> Outcome<Vec<Vec<Value>>> {
        let mut rows = Vec::new();
        self.query(sql, &mut |row| rows.push(row.to_vec()))?;
        Ok(rows)
    }

    /// As a table: a MySQL that has other formats, which are those from 8.0.32 on, may take another one of itself. Others,
    /// and MariaDB, pass over what is for these.
    fn plan(&mut self, query: &str) -> Outcome<Vec<Vec<Value>>> {
        self.rows(&format!("explain /*!80032 format = traditional */ {query}"))
    }

    fn bulk<'a>(&'a mut self, table: &str, columns: &[&str]) -> Outcome<Box<dyn Bulk + 'a>> {
        bulk::begin(self, table, columns)
    }
}

impl Drop for Mysql {
    fn drop(&mut self) {
        // Nobody is left to hear of an error. A server that is still sending an answer would never read this.
        if self.wire.packets.command(|out| out.push(command::QUIT)).is_ok() {
            self.wire.send().ok();
        }
    }
}
