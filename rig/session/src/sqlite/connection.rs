//! One connection and its statements, as safe as the C interface is used here: a connection owns its statements, and
//! nothing that points into a row outlives the row.

use crate::sqlite::library::{text, Database, Prepared, Sqlite};
use libsqlite3_sys as code;
use std::ffi::{c_int, CString};
use std::ptr;
use transaction::{Class, Outcome, SessionError, Sink, Value};

pub struct Connection {
    sqlite: Sqlite,
    database: *mut Database,
    statements: Vec<Statement>,
}

struct Statement {
    sql: String,
    prepared: *mut Prepared,
    columns: c_int,
}

// SAFETY: SQLite lets a connection, with its statements, be used by any thread, by one at a time (SQLITE_OPEN_NOMUTEX,
// <https://sqlite.org/threadsafe.html>), and all of ours take it by `&mut` or only look at what never changes.
unsafe impl Send for Connection {}

impl Connection {
    /// Opens the database `path`, which is created when it is absent.
    pub fn open(sqlite: Sqlite, path: &str, busy_timeout_ms: u32) -> Outcome<Connection> {
        let name = c_string(path)?;
        let flags =
            code::SQLITE_OPEN_READWRITE | code::SQLITE_OPEN_CREATE | code::SQLITE_OPEN_NOMUTEX | code::SQLITE_OPEN_URI;
        let mut database = ptr::null_mut();
        // SAFETY: the name ends with a zero, and the answer has a place.
        let opened = unsafe { (sqlite.0.open_v2)(name.as_ptr(), &mut database, flags, ptr::null()) };
        // What was answered with an error must be closed too: its drop does.
        let connection = Connection { sqlite, database, statements: Vec::new() };
        if opened != code::SQLITE_OK {
            let SessionError { class, message } = connection.error(opened);
            return Err(SessionError { class, message: format!("{message}: {path}") });
        }
        let timeout = c_int::try_from(busy_timeout_ms).unwrap_or(c_int::MAX);
        // SAFETY: the connection is open.
        unsafe {
            (sqlite.0.extended_result_codes)(database, 1);
            (sqlite.0.busy_timeout)(database, timeout);
        }
        Ok(connection)
    }

    pub fn version(&self) -> String {
        self.sqlite.version()
    }

    pub fn is_autocommit(&self) -> bool {
        // SAFETY: the connection is open.
        unsafe { (self.sqlite.0.get_autocommit)(self.database) != 0 }
    }

    /// Prepares `sql` once; answers its number, by which it runs until the connection closes.
    pub fn prepare(&mut self, sql: &str) -> Outcome<usize> {
        if let Some(known) = self.statements.iter().position(|known| known.sql == sql) {
            return Ok(known);
        }
        let statement = self.prepared(sql, code::SQLITE_PREPARE_PERSISTENT)?;
        self.statements.push(statement);
        Ok(self.statements.len() - 1)
    }

    pub fn parameters(&self, number: usize) -> usize {
        // SAFETY: the statement is prepared.
        unsafe { (self.sqlite.0.bind_parameter_count)(self.statements[number].prepared) as usize }
    }

    pub fn columns(&self, number: usize) -> Vec<String> {
        let Statement { prepared, columns, .. } = self.statements[number];
        // SAFETY: the statement is prepared and has this column. The name is copied before the next call may change it; it
        // is null only where memory is short, which is taken for a column without a name.
        (0..columns).map(|column| unsafe { text((self.sqlite.0.column_name)(prepared, column)) }).collect()
    }

    /// Runs a prepared statement; answers how many rows it changed, or 0 where it answers rows.
    pub fn run(&mut self, number: usize, parameters: &[Value], row: Sink) -> Outcome<u64> {
        self.run_to_end(&self.statements[number], parameters, row)
    }

    pub fn run_once(&mut self, sql: &str, row: Sink) -> Outcome<u64> {
        let statement = self.prepared(sql, 0)?;
        let ran = self.run_to_end(&statement, &[], row);
        self.finalize(&statement);
        ran
    }

    /// Runs statements without parameters, one after the other.
    pub fn execute(&mut self, sql: &str) -> Outcome<()> {
        let sql = c_string(sql)?;
        // SAFETY: the connection is open, the text ends with a zero, and nobody wants rows or the text of an error.
        let ended =
            unsafe { (self.sqlite.0.exec)(self.database, sql.as_ptr(), None, ptr::null_mut(), ptr::null_mut()) };
        self.fine(ended)
    }

    fn prepared(&self, sql: &str, flags: u32) -> Outcome<Statement> {
        let bytes = c_int::try_from(sql.len()).map_err(|_| other("a statement is too long"))?;
        let mut prepared = ptr::null_mut();
        // SAFETY: the text has so many bytes, the answer has a place, and nobody asks for what is behind the statement.
        let ended = unsafe {
            (self.sqlite.0.prepare_v3)(self.database, sql.as_ptr().cast(), bytes, flags, &mut prepared, ptr::null_mut())
        };
        self.fine(ended)?;
        if prepared.is_null() {
            return Err(other("a text without a statement"));
        }
        // SAFETY: it is prepared.
        let columns = unsafe { (self.sqlite.0.column_count)(prepared) };
        Ok(Statement { sql: sql.to_string(), prepared, columns })
    }

    fn run_to_end(&self, statement: &Statement, parameters: &[Value], row: Sink) -> Outcome<u64> {
        let prepared = statement.prepared;
        let ran = self.bind(prepared, parameters).and_then(|()| self.step(statement, row));
        // SAFETY: the statement is prepared. The parameters are let go of before their owner may change them.
        unsafe {
            (self.sqlite.0.reset)(prepared);
            if !parameters.is_empty() {
                (self.sqlite.0.clear_bindings)(prepared);
            }
        }
        ran
    }

    fn bind(&self, prepared: *mut Prepared, parameters: &[Value]) -> Outcome<()> {
        let sqlite = self.sqlite.0;
        for (position, value) in (1..).zip(parameters) {
            // SAFETY: the statement is prepared and not running. A text and bytes are not copied (no destructor): they stay
            // where they are until `run_to_end` has cleared them.
            let bound = unsafe {
                match value {
                    Value::Null => (sqlite.bind_null)(prepared, position),
                    Value::Int(number) => (sqlite.bind_int64)(prepared, position, *number),
                    Value::Real(number) => (sqlite.bind_double)(prepared, position, *number),
                    Value::Text(text) => {
                        let bytes = c_int::try_from(text.len()).map_err(|_| other("a text is too long"))?;
                        (sqlite.bind_text)(prepared, position, text.as_ptr().cast(), bytes, None)
                    }
                    Value::Bytes(blob) => {
                        let bytes = c_int::try_from(blob.len()).map_err(|_| other("a blob is too long"))?;
                        // That of no bytes points somewhere too, or it would be NULL.
                        (sqlite.bind_blob)(prepared, position, blob.as_ptr().cast(), bytes, None)
                    }
                }
            };
            self.fine(bound)?;
        }
        Ok(())
    }

    fn step(&self, statement: &Statement, row: Sink) -> Outcome<u64> {
        let mut values = Vec::with_capacity(statement.columns as usize);
        loop {
            // SAFETY: the statement is prepared.
            match unsafe { (self.sqlite.0.step)(statement.prepared) } {
                code::SQLITE_ROW => {
                    values.clear();
                    values.extend((0..statement.columns).map(|column| self.value(statement.prepared, column)));
                    row(&values);
                }
                code::SQLITE_DONE if statement.columns > 0 => return Ok(0),
                // SAFETY: the connection is open.
                code::SQLITE_DONE => return Ok(unsafe { (self.sqlite.0.changes)(self.database) } as u64),
                failed => return Err(self.error(failed)),
            }
        }
    }

    fn value(&self, prepared: *mut Prepared, column: c_int) -> Value {
        let sqlite = self.sqlite.0;
        // SAFETY: the statement stands at a row that has this column. What `column_blob` answers is there until the next
        // step, and has so many bytes; the text of a column is asked for in no other encoding than the database's UTF-8.
        unsafe {
            match (sqlite.column_type)(prepared, column) {
                code::SQLITE_INTEGER => Value::Int((sqlite.column_int64)(prepared, column)),
                code::SQLITE_FLOAT => Value::Real((sqlite.column_double)(prepared, column)),
                code::SQLITE_NULL => Value::Null,
                kind => {
                    let from: *const u8 = (sqlite.column_blob)(prepared, column).cast();
                    let bytes = (sqlite.column_bytes)(prepared, column) as usize;
                    let bytes = if from.is_null() { &[] } else { std::slice::from_raw_parts(from, bytes) };
                    match kind {
                        code::SQLITE_BLOB => Value::Bytes(bytes.to_vec()),
                        _ => Value::Text(String::from_utf8_lossy(bytes).into_owned()),
                    }
                }
            }
        }
    }

    fn finalize(&self, statement: &Statement) {
        // SAFETY: the statement is prepared, and nobody uses it any more. The answer is the error of its last step.
        unsafe { (self.sqlite.0.finalize)(statement.prepared) };
    }

    fn fine(&self, result: c_int) -> Outcome<()> {
        if result == code::SQLITE_OK {
            return Ok(());
        }
        Err(self.error(result))
    }

    /// The message of the last call, which answered `result`.
    fn error(&self, result: c_int) -> SessionError {
        let message = if self.database.is_null() {
            self.sqlite.words(result)
        } else {
            // SAFETY: the connection is there; the text is copied before the next call may change it.
            unsafe { text((self.sqlite.0.errmsg)(self.database)) }
        };
        SessionError { class: classify(result), message }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        for statement in &self.statements {
            self.finalize(statement);
        }
        // SAFETY: none of its statements is left, and nobody uses it any more. Null is taken, and does nothing.
        unsafe { (self.sqlite.0.close)(self.database) };
    }
}

/// See <https://sqlite.org/rescode.html>: the lowest byte is the primary code.
fn classify(result: c_int) -> Class {
    match result & 0xff {
        code::SQLITE_BUSY | code::SQLITE_LOCKED => Class::Busy,
        code::SQLITE_FULL => Class::DiskFull,
        code::SQLITE_CONSTRAINT => Class::Constraint,
        code::SQLITE_CANTOPEN | code::SQLITE_IOERR | code::SQLITE_NOTADB | code::SQLITE_CORRUPT => Class::Connection,
        _ => Class::Other,
    }
}

fn c_string(text: &str) -> Outcome<CString> {
    CString::new(text).map_err(|_| other("a text has a nul byte in it"))
}

fn other(words: &str) -> SessionError {
    SessionError { class: Class::Other, message: words.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory() -> Connection {
        Connection::open(Sqlite::linked(), ":memory:", 0).unwrap()
    }

    fn all(connection: &mut Connection, sql: &str) -> Vec<Vec<Value>> {
        let mut rows = Vec::new();
        connection.run_once(sql, &mut |row| rows.push(row.to_vec())).unwrap();
        rows
    }

    #[test]
    fn values_come_back_as_they_went_in() {
        let mut connection = memory();
        connection.execute("create table t (a, b, c, d, e, f, g); create table u (a unique)").unwrap();
        let insert = connection.prepare("insert into t values (?, ?, ?, ?, ?, ?, ?)").unwrap();
        let values = [
            Value::Null,
            Value::Int(i64::MIN),
            Value::Real(0.5),
            Value::Text("naïve \0 text".to_string()),
            Value::Text(String::new()),
            Value::Bytes(vec![0, 255, b'A']),
            Value::Bytes(Vec::new()),
        ];
        assert_eq!(connection.run(insert, &values, &mut |_| {}).unwrap(), 1);
        assert_eq!(all(&mut connection, "select * from t"), [values.to_vec()]);
        assert_eq!(all(&mut connection, "select x'ff41'"), [[Value::Bytes(vec![255, b'A'])]]);
        assert_eq!(all(&mut connection, "select cast(x'ff41' as text)"), [[Value::Text("\u{fffd}A".to_string())]]);
        assert_eq!(connection.prepare("insert into t values (?, ?, ?, ?, ?, ?, ?)").unwrap(), insert);
        assert_eq!(connection.prepare(" -- nothing").unwrap_err().message, "a text without a statement");
    }

    #[test]
    fn a_parameter_is_let_go_of_and_a_refused_statement_runs_again() {
        let mut connection = memory();
        connection.execute("create table t (a text unique)").unwrap();
        let insert = connection.prepare("insert into t values (?)").unwrap();
        for number in 0..3 {
            let text = Value::Text(format!("row {number}"));
            assert_eq!(connection.run(insert, std::slice::from_ref(&text), &mut |_| {}).unwrap(), 1);
            let refused = connection.run(insert, &[text], &mut |_| {}).unwrap_err();
            assert_eq!((refused.class, refused.message.as_str()), (Class::Constraint, "UNIQUE constraint failed: t.a"));
        }
        connection.run(insert, &[], &mut |_| {}).unwrap(); // unbound is null
        let rows = all(&mut connection, "select a from t order by a");
        assert_eq!(rows.len(), 4);
        assert_eq!(rows[0], [Value::Null]);
    }

    #[test]
    fn errors_have_the_words_of_sqlite() {
        let error = Connection::open(Sqlite::linked(), "/nowhere/x.db", 0).err().unwrap();
        let words = "unable to open database file: /nowhere/x.db";
        assert_eq!((error.class, error.message.as_str()), (Class::Connection, words));
        let mut connection = memory();
        let error = connection.prepare("select * from nowhere").unwrap_err();
        assert_eq!((error.class, error.message.as_str()), (Class::Other, "no such table: nowhere"));
        assert!(connection.run_once("select 1 where 1 = ?", &mut |_| {}).is_ok());
    }
}
