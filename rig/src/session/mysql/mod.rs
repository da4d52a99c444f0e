//! MySQL and MariaDB over their own protocol: binary prepared statements, one send and one receive a request.
//!
//! The measured path allocates nothing: answers are read where they were received, and texts of rows keep their memory.
//! Rows that a statement matches count as changed, whether it changes their values or not.

mod bulk;
mod login;
#[cfg(test)]
mod tests;
mod value;
mod wire;

use super::{Bulk, Class, Dialect, Outcome, Request, Session, Sink, Statement, Value};
use crate::protocol::Target;
use login::Manner;
use std::os::fd::BorrowedFd;
use std::task::Poll;
use value::{as_many, put_parameters, read_binary_row, read_text_row, Column};
use wire::{failed, garbled, refusal, Reader, Wire};

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

/// Commands; see `enum_server_command` in `mysql_com.h`.
mod command {
    pub const QUIT: u8 = 1;
    pub const QUERY: u8 = 3;
    pub const STMT_PREPARE: u8 = 22;
    pub const STMT_EXECUTE: u8 = 23;
}

/// Of the server's status; see `SERVER_STATUS_...` in `mysql_com.h`.
const IN_TRANSACTION: u16 = 1;
const MORE_RESULTS: u16 = 8;

/// ER_UNSUPPORTED_PS: "This command is not supported in the prepared statement protocol yet".
const UNSUPPORTED_PS: u16 = 1295;

/// Every session's first statement. A table has InnoDB's rules wherever it says nothing else, and a value that does not
/// fit is refused, which old servers do not do of themselves.
const SETUP: &str = "set autocommit = 1, default_storage_engine = innodb, \
                     sql_mode = concat(@@session.sql_mode, ',STRICT_ALL_TABLES')";

impl Mysql {
    pub fn open(target: &Target) -> Outcome<Mysql> {
        let Target::Mysql { host, port, user, password, database, setup } = target else {
            unreachable!("session::open matches the target");
        };
        Mysql::over(Wire::connect(host, *port)?, database, user, password.as_deref(), setup)
    }

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
        self.wire.command(|out| {
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
    wire.command(|out| {
        out.push(command::QUERY);
        out.extend(sql.as_bytes());
    })
}

/// What a statement's answer comes to, as it comes in: any number of results, each with rows or none.
struct Answer {
    binary: bool,
    next: Next,
    changed: u64,
    warnings: u16,
    status: u16,
}

/// What the next packet is.
enum Next {
    /// The first of a result.
    Head,
    /// The description of a column, and so many more.
    Column(u64),
    /// The end of the columns' descriptions.
    ColumnsEnd,
    Row,
}

impl Answer {
    fn to(binary: bool) -> Answer {
        Answer { binary, next: Next::Head, changed: 0, warnings: 0, status: 0 }
    }

    /// Takes a packet in. Answers, when it was the last, whether the statement was refused.
    fn take(
        &mut self,
        content: &[u8],
        manner: Manner,
        columns: &mut Vec<Column>,
        values: &mut Vec<Value>,
        row: Sink,
    ) -> Outcome<Option<Outcome<()>>> {
        let Some(&first) = content.first() else { return Err(garbled()) };
        if first == 0xff {
            return Ok(Some(Err(refusal(content))));
        }
        match self.next {
            Next::Head if first == 0 => {
                let mut reader = Reader(&content[1..]);
                self.changed = reader.number()?;
                reader.number()?; // the last id that the server gave
                self.status = reader.u16()?;
                self.warnings = reader.u16()?;
                return Ok(self.result_ended());
            }
            Next::Head => {
                let mut reader = Reader(content);
                let many = reader.number()?;
                let described = !(self.binary && manner.cache_metadata) || reader.u8()? != 0;
                self.next = if described {
                    columns.clear();
                    Next::Column(many.checked_sub(1).ok_or_else(garbled)?)
                } else if columns.len() as u64 == many {
                    after_columns(manner)
                } else {
                    return Err(garbled());
                };
            }
            Next::Column(more) => {
                columns.push(Column::read(content)?);
                self.next = more.checked_sub(1).map_or_else(|| after_columns(manner), Next::Column);
            }
            Next::ColumnsEnd if first == 0xfe => self.next = Next::Row,
            Next::ColumnsEnd => return Err(garbled()),
            // A row of the text form begins so only if it is longer than a packet.
            Next::Row if first == 0xfe => {
                let mut reader = Reader(&content[1..]);
                if manner.deprecate_eof {
                    reader.number()?;
                    reader.number()?;
                    self.status = reader.u16()?;
                    self.warnings = reader.u16()?;
                } else {
                    self.warnings = reader.u16()?;
                    self.status = reader.u16()?;
                }
                return Ok(self.result_ended());
            }
            Next::Row => {
                if self.binary {
                    read_binary_row(content, columns, values)?;
                } else {
                    read_text_row(content, columns, values)?;
                }
                row(values);
            }
        }
        Ok(None)
    }

    fn result_ended(&mut self) -> Option<Outcome<()>> {
        self.next = Next::Head;
        (self.status & MORE_RESULTS == 0).then_some(Ok(()))
    }
}

fn after_columns(manner: Manner) -> Next {
    if manner.deprecate_eof {
        Next::Row
    } else {
        Next::ColumnsEnd
    }
}

impl Session for Mysql {
    fn dialect(&self) -> Dialect {
        Dialect::Mysql
    }

    fn engine_version(&mut self) -> Outcome<String> {
        let rows = self.rows("select version()")?;
        let said = rows.into_iter().flatten().next().and_then(Value::into_text).unwrap_or_default();
        // With what its distributor and its options add: "10.11.6-MariaDB-0+deb12u1", "5.5.9-log".
        let number = said.split('-').next().unwrap_or_default();
        Ok(if said.contains("MariaDB") { format!("{number}-MariaDB") } else { number.to_string() })
    }

    fn prepare(&mut self, sql: &str) -> Outcome<Statement> {
        if let Some(known) = self.statements.iter().position(|known| known.sql == sql) {
            return Ok(Statement(known));
        }
        self.wire.command(|out| {
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
        let mut found = Vec::new();
        self.query(sql, &mut |row| found.push(row.to_vec()))?;
        Ok(found)
    }

    fn bulk<'a>(&'a mut self, table: &str, columns: &[&str]) -> Outcome<Box<dyn Bulk + 'a>> {
        bulk::begin(self, table, columns)
    }
}

impl Drop for Mysql {
    fn drop(&mut self) {
        // Nobody is left to hear of an error. A server that is still sending an answer would never read this.
        if self.wire.command(|out| out.push(command::QUIT)).is_ok() {
            self.wire.send().ok();
        }
    }
}
