//! One client session of an engine. Workloads use the [`Session`] trait and never name an engine;
//! the words in which engines' SQL differs come with it, as its [`Dialect`].

use crate::{failed, Class, Dialect, Outcome, SessionError, Value};
use rustix::event::{poll, PollFd, PollFlags};
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::task::Poll;

/// Names a statement prepared on a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statement(pub usize);

/// What a caller on the measured path asks of a session. Statements run inside a transaction that was begun.
#[derive(Debug, Clone, Copy)]
pub enum Request<'a> {
    Begin,
    /// A transaction that only reads: it need not keep writers out.
    BeginReading,
    Commit,
    /// Safe when no transaction is open.
    Rollback,
    /// Answers how many rows it changed; rows that it answers go to the caller's sink.
    Run(Statement, &'a [Value]),
    /// The same, of a statement whose rows and number nobody wants: a session that can may answer before it knows, and
    /// answers a later request with the error.
    Later(Statement, &'a [Value]),
    /// A statement that must change exactly one row. A session that pipelines may answer 1 before it knows, and then
    /// answers a later request with [`SessionError::not_one`].
    One(Statement, &'a [Value]),
    /// As `Run`, where no transaction is open: the statement is one of its own, committed when it is answered. A server
    /// without an explicit start of transactions is asked once. What itself begins a transaction leaves it open.
    Alone(Statement, &'a [Value]),
    /// Anybody's SQL as it stands, run once and not prepared by us. It may begin or end a transaction, and stands alone where
    /// none is open. Answers how many rows it changed; of each row that it answers the sink hears, but not what is in it.
    Text(&'a str),
}

/// Where a query's rows go, one at a time.
pub type Sink<'a> = &'a mut dyn FnMut(&[Value]);

/// Where the rows of a statement that is run once go, each after the names of its columns.
pub type NamedSink<'a> = &'a mut dyn FnMut(&[String], &[Value]);

/// Where the rows of statements that travel together go, each with the number that its statement was joined under.
pub type NumberedSink<'a> = &'a mut dyn FnMut(usize, &[Value]);

/// One connection with its prepared statements. Statements outlive transactions.
///
/// The measured path is [`Session::call`] and [`Session::resume`], which never wait, so that one thread can drive many
/// sessions of a server; scripts use them through [`Client`](crate::Client). Everything else may wait, and is
/// not on the measured path.
pub trait Session: Send {
    fn dialect(&self) -> &'static Dialect;
    fn engine_version(&mut self) -> Outcome<String>;
    /// Prepares our own SQL, in which each `?` is a parameter.
    fn prepare(&mut self, sql: &str) -> Outcome<Statement>;

    /// Prepares anybody's SQL: the parts of a text around its parameters, one parameter between any two. What looks like a
    /// parameter inside a part is none of ours: it stays as it is, and a statement that the engine finds more or fewer
    /// parameters in is refused. Inside an open transaction it is prepared there.
    fn prepare_parts(&mut self, parts: &[&str]) -> Outcome<Statement>;

    /// Prepares anybody's SQL in which parameters are marked in the engine's own way (`$1`), as a log of the engine has it.
    fn prepare_logged(&mut self, sql: &str) -> Outcome<Statement> {
        self.prepare(sql)
    }

    /// Whether a transaction is open, as far as the engine has reported.
    fn in_transaction(&self) -> bool;

    /// The names of the columns that a prepared query answers, as far as the engine tells before it runs; none of what
    /// answers no rows. A name is as the engine has it, but that one which Firebird has folded to capitals is small: see
    /// [`unfolded`].
    fn columns(&mut self, statement: Statement) -> Vec<String>;

    /// Hands a request to the engine. An embedded engine answers at once; a server's answer is pending.
    fn call(&mut self, request: Request, row: Sink) -> Poll<Outcome<u64>>;

    /// Goes on with the pending request, once [`Session::descriptor`] can be read. Reads until nothing more is there,
    /// so that news of more to read is never missed.
    fn resume(&mut self, _row: Sink) -> Poll<Outcome<u64>> {
        unreachable!("an embedded engine leaves nothing pending")
    }

    /// Writes a statement that is to travel with others, whose rows [`Session::gather`] hands out under `number`; `one`: it
    /// must answer or change exactly one row. False, and nothing done, where each statement waits for its own answer.
    fn join(&mut self, _statement: Statement, _parameters: &[Value], _number: usize, _one: bool) -> Outcome<bool> {
        Ok(false)
    }

    /// Sends what was joined, and then the commit if that is asked for, and hands out the rows; called again where it is
    /// pending, once [`Session::descriptor`] can be read.
    fn gather(&mut self, _commit: bool, _row: NumberedSink) -> Poll<Outcome<()>> {
        unreachable!("nothing was joined")
    }

    /// The socket that a pending answer comes from; none of an embedded engine.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// A transaction has come to its end and has been booked: what was open for it alone is let go.
    fn ended(&mut self) -> Outcome<()> {
        Ok(())
    }

    /// Opens a connection in the place of the one that is there, where the script says how long a connection lasts.
    fn renew(&mut self) -> Outcome<()> {
        Ok(())
    }

    /// Closes the connection, where the script says how long one lasts.
    fn leave(&mut self) -> Outcome<()> {
        Ok(())
    }

    /// Begins a transaction that goes on seeing what is committed now, whatever the session's own isolation is, and reads in
    /// it, so that the engine has to keep old versions for as long as it is open. Nothing but [`Session::look`] follows.
    fn hold(&mut self) -> Outcome<()>;

    /// Asks the engine for a row; inside the transaction of [`Session::hold`] where that has begun one.
    fn look(&mut self) -> Outcome<()> {
        self.rows("select 1").map(|_| ())
    }

    /// Runs one statement without parameters in its own transaction, committed (schema, bulk load).
    fn batch(&mut self, sql: &str) -> Outcome<()>;

    /// All rows of a query that is run once, in its own transaction.
    fn rows(&mut self, sql: &str) -> Outcome<Vec<Vec<Value>>>;

    /// How the engine would run a query, in its own words.
    fn plan(&mut self, query: &str) -> Outcome<Vec<Vec<Value>>> {
        self.rows(&format!("explain {query}"))
    }

    /// Begins to fill `columns` of `table`, by the fastest way that the engine offers a client. Nothing is sure to be
    /// there before [`Bulk::finish`].
    fn bulk<'a>(&'a mut self, table: &str, columns: &[&str]) -> Outcome<Box<dyn Bulk + 'a>>;

    /// Where the engine stands, by name, of one that tells it without SQL and without being kept waiting.
    fn figures(&mut self) -> Outcome<Vec<(String, i64)>> {
        Ok(Vec::new())
    }

    /// What the engine does for its administrator through a session; none of one that offers nothing of the kind.
    fn maintenance(&mut self) -> Option<&mut dyn Maintenance> {
        None
    }

    /// What the engine's own command-line program does with a script; none of one that we run no such scripts on.
    fn scripted(&mut self) -> Option<&mut dyn Scripted> {
        None
    }
}

/// How a script for the engine's own command-line program is run: statement by statement, each of them once, in
/// transactions that the script begins in its own words.
pub trait Scripted {
    /// Opens the session anew, its texts in no character set: as many bytes as the script says. What was prepared is gone.
    fn unconverted(&mut self) -> Outcome<()>;

    /// From here on [`Request::Begin`] begins transactions by this statement; by none: as the session was opened.
    fn begins_by(&mut self, statement: Option<&str>);

    /// Runs a statement without parameters inside the open transaction, prepared for this once. How many rows it changed is
    /// not asked.
    fn once(&mut self, sql: &str, row: NamedSink) -> Outcome<()>;
}

/// The text whose parts have a mark between any two, which `mark` says of the parameter's number, from 1 on. Where a part
/// goes on with a letter or a digit, a space keeps it from becoming the mark's.
pub fn joined(parts: &[&str], mark: impl Fn(usize) -> String) -> String {
    let mut text = String::new();
    for (number, part) in parts.iter().enumerate() {
        if number > 0 {
            text += &mark(number);
            if part.starts_with(|next: char| next.is_alphanumeric() || next == '_') {
                text.push(' ');
            }
        }
        text += part;
    }
    text
}

/// Refuses a statement in which the engine has found `found` parameters where the text around them has `parts` parts.
pub fn as_many_as_parts(found: usize, parts: &[&str], sql: &str) -> Outcome<()> {
    let wanted = parts.len().saturating_sub(1);
    if found == wanted {
        return Ok(());
    }
    let message = format!(
        "the engine finds {found} parameters in a statement that has {wanted}: write what it takes for one in another \
         way: {sql}"
    );
    Err(failed(Class::Other, message))
}

pub fn as_many_parameters(wanted: usize, parameters: &[Value], sql: &str) -> Outcome<()> {
    match parameters.len() {
        given if given == wanted => Ok(()),
        given => Err(failed(Class::Other, format!("{given} parameters for {wanted}: {sql}"))),
    }
}

/// Refuses a row whose values are not as many as the columns that are filled.
pub fn as_many_values(columns: usize, values: &[Value]) -> Outcome<()> {
    match values.len() {
        given if given == columns => Ok(()),
        given => Err(failed(Class::Other, format!("{given} values for {columns} columns"))),
    }
}

/// A name that Firebird answers: it has folded to capitals what was written without quotes, so a name without any small
/// letter is made small, as the other engines answer it. A name of mixed letters was quoted, and stays.
pub fn unfolded(name: &str) -> String {
    if name.chars().any(char::is_lowercase) {
        name.to_string()
    } else {
        name.to_lowercase()
    }
}

pub fn not_alone() -> SessionError {
    failed(Class::Other, "a transaction is open, and the statement was to be one of its own".to_string())
}

/// Runs a request to its end on a session that answers at once or may be waited for; not for the measured path.
pub fn wait(session: &mut dyn Session, request: Request, row: Sink) -> Outcome<u64> {
    let mut answer = session.call(request, row);
    loop {
        match answer {
            Poll::Ready(outcome) => return outcome,
            Poll::Pending => {
                readable(session.descriptor().expect("what is pending comes from a socket"));
                answer = session.resume(row);
            }
        }
    }
}

/// Waits until a socket can be read.
pub fn readable(socket: BorrowedFd) {
    await_socket(socket, PollFlags::IN);
}

/// Waits for one of `events`. An interrupted wait is like one that ended: the reader finds nothing and waits again.
pub fn await_socket(socket: BorrowedFd, events: PollFlags) {
    poll(&mut [PollFd::from_borrowed_fd(socket, events)], None).ok();
}

/// A bulk load under way. Dropped before it is finished, it leaves no rows or some.
pub trait Bulk {
    /// One row, a value for each column. Answers the bytes of its values as they are handed over.
    fn row(&mut self, values: &[Value]) -> Outcome<u64>;
    /// Commits. Answers how many rows the engine has taken.
    fn finish(self: Box<Self>) -> Outcome<u64>;
}

/// A prepared insert a row, all in one transaction: the way that every engine has, and SQLite's fastest.
pub struct OneByOne<'a> {
    session: &'a mut dyn Session,
    insert: Statement,
    rows: u64,
}

impl<'a> OneByOne<'a> {
    pub fn begin(session: &'a mut dyn Session, table: &str, columns: &[&str]) -> Outcome<OneByOne<'a>> {
        let marks = vec!["?"; columns.len()].join(", ");
        let insert = session.prepare(&format!("insert into {table} ({}) values ({marks})", columns.join(", ")))?;
        wait(session, Request::Begin, &mut |_| {})?;
        Ok(OneByOne { session, insert, rows: 0 })
    }
}

impl Bulk for OneByOne<'_> {
    fn row(&mut self, values: &[Value]) -> Outcome<u64> {
        self.rows += wait(self.session, Request::One(self.insert, values), &mut |_| {})?;
        Ok(values.iter().map(Value::bytes).sum())
    }

    fn finish(self: Box<Self>) -> Outcome<u64> {
        wait(self.session, Request::Commit, &mut |_| {})?;
        Ok(self.rows)
    }
}

/// Inserts of many rows at once, all in one transaction, for engines to which that is worth a statement.
pub struct ManyRows<'a> {
    session: &'a mut dyn Session,
    columns: usize,
    one: Statement,
    many: Statement,
    /// How many values `many` takes.
    full: usize,
    waiting: Vec<Value>,
    /// The bytes of the waiting values. More than `bytes_max` wait for no full insert.
    bytes: u64,
    bytes_max: u64,
    rows: u64,
}

impl<'a> ManyRows<'a> {
    /// `one` inserts one row of so many `columns`, `many` as many as `rows` says.
    pub fn begin(
        session: &'a mut dyn Session,
        columns: usize,
        one: &str,
        (many, rows): (&str, usize),
        bytes_max: u64,
    ) -> Outcome<ManyRows<'a>> {
        let (one, many) = (session.prepare(one)?, session.prepare(many)?);
        wait(session, Request::Begin, &mut |_| {})?;
        let full = rows * columns;
        let waiting = Vec::with_capacity(full);
        Ok(ManyRows { session, columns, one, many, full, waiting, bytes: 0, bytes_max, rows: 0 })
    }

    fn run(&mut self, statement: Statement, values: usize) -> Outcome<()> {
        self.rows += wait(self.session, Request::Run(statement, &self.waiting[..values]), &mut |_| {})?;
        self.bytes -= self.waiting.drain(..values).map(|value| value.bytes()).sum::<u64>();
        Ok(())
    }
}

impl Bulk for ManyRows<'_> {
    fn row(&mut self, values: &[Value]) -> Outcome<u64> {
        as_many_values(self.columns, values)?;
        let bytes = values.iter().map(Value::bytes).sum();
        self.waiting.extend_from_slice(values);
        self.bytes += bytes;
        if self.waiting.len() == self.full {
            self.run(self.many, self.full)?;
        }
        while self.bytes > self.bytes_max && !self.waiting.is_empty() {
            self.run(self.one, self.columns)?;
        }
        Ok(bytes)
    }

    fn finish(mut self: Box<Self>) -> Outcome<u64> {
        while !self.waiting.is_empty() {
            self.run(self.one, self.columns)?;
        }
        wait(self.session, Request::Commit, &mut |_| {})?;
        Ok(self.rows)
    }
}

impl Drop for ManyRows<'_> {
    fn drop(&mut self) {
        // Nothing to do when it was finished; nobody is left to hear of an error.
        wait(self.session, Request::Rollback, &mut |_| {}).ok();
    }
}

/// The operations of one engine's maintenance, through a session of one database. Each waits for its end.
pub trait Maintenance {
    /// The database's own file. An error where it is none, as on a raw device.
    fn file(&self) -> Outcome<PathBuf>;

    /// A session of another database of the same engine, opened as this one was.
    fn open(&self, database: &Path) -> Outcome<Box<dyn Session>>;

    /// Does it to the session's own database. Nothing is flushed beside what the engine itself flushes.
    fn perform(&mut self, operation: &Operation) -> Outcome<Performed>;

    /// What the engine's own check finds wrong with a database, in its words; empty where it finds nothing. A database that
    /// has a session open is checked less closely.
    fn flaws(&mut self, database: &Path, in_use: bool) -> Outcome<Vec<String>>;

    /// Every table's rows and a sum over all that is in them: equal for databases that hold the same rows.
    fn digest(&mut self) -> Outcome<Vec<TableDigest>>;

    /// Old versions of rows in all tables; to be asked before anything reads the rows.
    fn versions(&mut self) -> Outcome<u64>;

    fn markers(&mut self) -> Outcome<Markers>;

    fn page_bytes(&mut self) -> Outcome<u32>;

    /// Runs a statement and rolls it back in such a way that what it has written stays, as garbage.
    fn abandon(&mut self, sql: &str) -> Outcome<()>;
}

#[derive(Debug, Clone, Copy)]
pub enum Operation<'a> {
    /// All rows, read as a transaction sees them, into a file that is not there yet.
    Backup { to: &'a Path, parallel: u32, compress: bool, garbage_collect: bool },
    /// A database out of such a file; 0 bytes a page leave its page size. Without `replace` it must not be there yet.
    Restore { from: &'a Path, to: &'a Path, parallel: u32, page_bytes: u32, replace: bool },
    /// The pages that were changed since the backup of the level below, of level 0 all, into a file that is not there yet.
    Increment { level: u32, to: &'a Path },
    /// A database that is not there yet, out of the increments of level 0, 1 and so on.
    Merge { from: &'a [PathBuf], to: &'a Path },
    /// Removes versions that no transaction needs any more.
    Sweep { parallel: u32 },
}

/// How an operation went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Performed {
    /// The most workers that were seen at once; `None` where one was asked for, or nothing shows them.
    pub workers: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableDigest {
    pub table: String,
    pub rows: i64,
    pub sum: i64,
}

/// Where an engine's counters of transactions stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Markers {
    /// The oldest that is not known to be committed.
    pub oldest: i64,
    pub oldest_active: i64,
    pub oldest_snapshot: i64,
    pub next: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_stand_between_the_parts_and_touch_no_word() {
        let numbered = |parts: &[&str]| joined(parts, |number| format!("${number}"));
        assert_eq!(numbered(&["select 1"]), "select 1");
        assert_eq!(numbered(&["select a ? 'b' where c = ", " and d > ", ""]), "select a ? 'b' where c = $1 and d > $2");
        assert_eq!(numbered(&["select ", "0, ", "::int, ", "_a"]), "select $1 0, $2::int, $3 _a");
        assert_eq!(joined(&["limit ", "0"], |_| "?".to_string()), "limit ? 0");
    }

    #[test]
    fn a_statement_has_a_parameter_between_any_two_parts() {
        assert!(as_many_as_parts(1, &["a = ", ""], "a = ?").is_ok());
        assert!(as_many_as_parts(0, &["a"], "a").is_ok());
        let refused = as_many_as_parts(2, &["a ? b = ", ""], "a ? b = ?").unwrap_err().message;
        assert!(refused.starts_with("the engine finds 2 parameters in a statement that has 1: "), "{refused}");
    }

    #[test]
    fn names_that_were_folded_are_small() {
        for (name, plain) in [("ABALANCE", "abalance"), ("aBalance", "aBalance"), ("", ""), ("A 1", "a 1"), ("Ä", "ä")]
        {
            assert_eq!(unfolded(name), plain);
        }
    }
}
