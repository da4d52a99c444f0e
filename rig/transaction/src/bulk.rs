//! Loading many rows: the contract, and the way that every engine has.

use crate::{wait, Outcome, Request, Session, Statement, Value};

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
