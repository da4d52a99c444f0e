//! A bulk load by `COPY … FROM STDIN`, binary: a fifth to a third less work for the server than text. Where a column has no
//! binary form that is known here it is text; where a value has none, such as a date in words, the rest of the load is a
//! second COPY, of text, and the server says what it makes of it.

use super::connection::Ended;
use super::Postgres;
use std::task::Poll;
use transaction::{garbled, Bulk, Outcome, Value};
use wire_postgres::{
    affected, copies_binary, put_copy_done, put_copy_fail, put_copy_row, put_message, put_query, put_text_row,
    COPY_HEADER, COPY_TRAILER,
};

/// Rows are sent together until they are this many bytes.
const BUFFER: usize = 128 * 1024;

/// A COPY that is its own transaction.
pub struct Copy<'a> {
    session: &'a mut Postgres,
    /// The table and its columns, as a COPY names them.
    target: String,
    columns: Vec<u32>,
    binary: bool,
    rows: Vec<u8>,
    /// How many rows were taken by a COPY before this one.
    taken: u64,
    ended: bool,
}

impl<'a> Copy<'a> {
    pub fn begin(session: &'a mut Postgres, table: &str, columns: &[&str]) -> Outcome<Copy<'a>> {
        let names = columns.join(", ");
        let columns = session.column_types(&format!("select {names} from {table}"))?;
        let binary = copies_binary(&columns);
        let rows = Vec::with_capacity(BUFFER + BUFFER / 4);
        // Nothing is to be broken off until the server waits for rows.
        let mut copy =
            Copy { session, target: format!("{table} ({names})"), columns, binary, rows, taken: 0, ended: true };
        copy.ask()?;
        Ok(copy)
    }

    fn ask(&mut self) -> Outcome<()> {
        let form = if self.binary { " (format binary)" } else { "" };
        put_query(&mut self.session.wire.out, &format!("copy {} from stdin{form}", self.target))?;
        match self.session.wire.converse(|_, _| Ok(()))? {
            Ended::CopyIn => self.ended = false,
            Ended::Ready => return Err(garbled()),
        }
        if self.binary {
            self.rows.extend(COPY_HEADER);
        }
        Ok(())
    }

    fn go_on_with_text(&mut self) -> Outcome<()> {
        self.taken = self.complete()?;
        self.binary = false;
        self.ask()
    }

    fn complete(&mut self) -> Outcome<u64> {
        if self.binary {
            self.rows.extend(COPY_TRAILER);
        }
        self.send()?;
        Ok(self.taken + self.end(put_copy_done)?)
    }

    fn send(&mut self) -> Outcome<()> {
        let wire = &mut self.session.wire;
        put_message(&mut wire.out, b'd', |out| {
            out.append(&mut self.rows);
            Ok(())
        })?;
        if !wire.send()? {
            return Ok(());
        }
        // It answers before the end only to refuse: what else is sent it would pass over.
        match wire.answers(|_, _| Ok(())) {
            Poll::Pending => Ok(()),
            Poll::Ready(ended) => {
                self.ended = true;
                ended.and(Err(garbled()))
            }
        }
    }

    /// Sends the end of the COPY, or its breaking off, which `put` writes; answers how many rows the server has taken.
    fn end(&mut self, put: fn(&mut Vec<u8>) -> Outcome<()>) -> Outcome<u64> {
        self.ended = true;
        let wire = &mut self.session.wire;
        put(&mut wire.out)?;
        let mut taken = 0;
        wire.converse(|tag, body| {
            if tag == b'C' {
                taken = affected(body);
            }
            Ok(())
        })?;
        Ok(taken)
    }
}

impl Bulk for Copy<'_> {
    fn row(&mut self, values: &[Value]) -> Outcome<u64> {
        let mut put = None;
        if self.binary {
            put = put_copy_row(values, &self.columns, &mut self.rows)?;
            if put.is_none() {
                self.go_on_with_text()?;
            }
        }
        let bytes = put.map_or_else(|| put_text_row(values, &self.columns, &mut self.rows), Ok)?;
        if self.rows.len() >= BUFFER {
            self.send()?;
        }
        Ok(bytes)
    }

    fn finish(mut self: Box<Self>) -> Outcome<u64> {
        self.complete()
    }
}

impl Drop for Copy<'_> {
    fn drop(&mut self) {
        if !self.ended {
            // Nobody is left to hear of an error; the session can be used again, or says itself that it is lost.
            self.end(put_copy_fail).ok();
        }
    }
}
