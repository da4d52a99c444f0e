//! MySQL and MariaDB over their own protocol: binary prepared statements, one send and one receive a request.
//!
//! The measured path allocates nothing: answers are read where they were received, and texts of rows keep their memory.
//! Rows that a statement matches count as changed, whether it changes their values or not.

mod bulk;
mod connection;
mod login;
#[cfg(test)]
mod tests;

use crate::registry::Engine;
use connection::Wire;
use serde::{Deserialize, Serialize};
use std::os::fd::BorrowedFd;
use std::task::Poll;
use transaction::{
    failed, garbled, Bulk, Class, Dialect, Outcome, Procedures, Request, Session, Sink, Statement, Value,
};
use wire_mysql::{as_many, command, put_parameters, refusal, Answer, Column, Manner, Reader, IN_TRANSACTION};

pub struct Mysql {
    wire: Wire,
    manner: Manner,
    statements: Vec<Prepared>,
    /// The statement whose answer is pending, and what has come of it.
    asked: Statement,
    answer: Answer,
    /// A transaction is open, as the server last said.
    open: bool,
}

struct Prepared {
    sql: String,
    /// None of a statement that this server does not prepare: it goes as text.
    handle: Option<u32>,
    parameters: usize,
    /// Types of the parameters as last sent.
    sent: Vec<u8>,
    columns: Vec<Column>,
    row: Vec<Value>,
}

// Prepared first of all.
const BEGIN: Statement = Statement(0);
const COMMIT: Statement = Statement(1);
const ROLLBACK: Statement = Statement(2);

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
}

impl Engine for Mysql {
    const NAME: &'static str = "mysql";
    const DIALECT: &'static Dialect = &DIALECT;
    type Target = Target;

    fn open(Target { host, port, user, password, database, setup }: &Target) -> Outcome<Mysql> {
        Mysql::over(Wire::connect(host, *port)?, database, user, password.as_deref(), setup)
    }

    fn samples() -> Vec<Target> {
        vec![Target {
            host: "127.0.0.1".into(),
            port: 3306,
            user: "acidtest".into(),
            password: None,
            database: "acidtest".into(),
            setup: vec!["set session sql_mode = ''".into()],
        }]
    }
}

impl Mysql {
    fn over(mut wire: Wire, database: &str, user: &str, password: Option<&str>, setup: &[String]) -> Outcome<Mysql> {
        let manner = login::log_in(&mut wire, database, user, password)?;
        let (asked, answer) = (BEGIN, Answer::to(false));
        let mut session = Mysql { wire, manner, statements: Vec::new(), asked, answer, open: false };
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
        as_many(prepared.parameters, parameters, &prepared.sql)?;
        self.asked = statement;
        self.answer = Answer::to(prepared.handle.is_some());
        let Some(handle) = prepared.handle else { return put_query(&mut self.wire, &prepared.sql) };
        self.wire.packets.command(|out| {
            out.push(command::STMT_EXECUTE);
            out.extend(handle.to_le_bytes());
            // No cursor; once.
            out.extend([0, 1, 0, 0, 0]);
            put_parameters(out, parameters, &mut prepared.sent);
        })
    }

    /// Runs a statement as text to its end; rows go to `row`. Answers what came of it.
    fn query(&mut self, sql: &str, row: Sink) -> Outcome<Answer> {
        put_query(&mut self.wire, sql)?;
        let (mut columns, mut values) = (Vec::new(), Vec::new());
        let mut answer = Answer::to(false);
        let manner = self.manner;
        self.wire.converse(|content| answer.take(content, manner, &mut columns, &mut values, row))??;
        self.open = answer.status & IN_TRANSACTION != 0;
        Ok(answer)
    }
}

fn put_query(wire: &mut Wire, sql: &str) -> Outcome<()> {
    wire.packets.command(|out| {
        out.push(command::QUERY);
        out.extend(sql.as_bytes());
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
                }
            }
            Ok(((*parameters, *rest) == (0, 0)).then_some(Ok(())))
        })??;
        self.statements.push(prepared);
        Ok(Statement(self.statements.len() - 1))
    }

    fn call(&mut self, request: Request, row: Sink) -> Poll<Outcome<u64>> {
        let (statement, parameters) = match request {
            Request::Begin | Request::BeginReading => (BEGIN, &[][..]),
            Request::Commit if self.open => (COMMIT, &[][..]),
            // The server would say yes, to nothing.
            Request::Commit => return Poll::Ready(Err(failed(Class::Other, "no transaction is open".to_string()))),
            Request::Rollback if self.open => (ROLLBACK, &[][..]),
            Request::Rollback => return Poll::Ready(Ok(0)),
            Request::Run(statement, parameters) | Request::One(statement, parameters) => (statement, parameters),
        };
        match self.ask(statement, parameters).and_then(|()| self.wire.send()) {
            Ok(false) => Poll::Pending,
            Ok(true) => self.resume(row),
            Err(error) => Poll::Ready(Err(error)),
        }
    }

    fn resume(&mut self, row: Sink) -> Poll<Outcome<u64>> {
        let Mysql { wire, manner, statements, asked, answer, open } = self;
        let Prepared { columns, row: values, .. } = &mut statements[asked.0];
        match wire.answers(|content| answer.take(content, *manner, columns, values, row)) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(ended) => Poll::Ready(ended.and_then(|refused| refused).map(|()| {
                *open = answer.status & IN_TRANSACTION != 0;
                answer.changed
            })),
        }
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.wire.descriptor())
    }

    fn batch(&mut self, sql: &str) -> Outcome<()> {
        self.query(sql, &mut |_| {}).map(|_| ())
    }

    fn rows(&mut self, sql: &str) -> Outcome<Vec<Vec<Value>>> {
        let mut rows = Vec::new();
        self.query(sql, &mut |row| rows.push(row.to_vec()))?;
        Ok(rows)
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
