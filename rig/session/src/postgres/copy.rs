//! A bulk load by `COPY … FROM STDIN`, binary: a fifth to a third less work for the server than text.

use super::connection::Ended;
use super::Postgres;
use std::task::Poll;
use transaction::{garbled, Bulk, Outcome, Value};
use wire_postgres::{
    affected, put_copy_done, put_copy_fail, put_copy_row, put_message, put_query, COPY_HEADER, COPY_TRAILER,
};

/// Rows are sent together until they are this many bytes.
const BUFFER: usize = 128 * 1024;

/// A COPY that is a transaction of its own.
pub struct Copy<'a> {
    session: &'a mut Postgres,
    columns: Vec<u32>,
    rows: Vec<u8>,
    ended: bool,
}

impl<'a> Copy<'a> {
    pub fn begin(session: &'a mut Postgres, table: &str, columns: &[&str]) -> Outcome<Copy<'a>> {
        let names = columns.join(", ");
        let columns = session.column_types(&format!("select {names} from {table}"))?;
        put_query(&mut session.wire.out, &format!("copy {table} ({names}) from stdin (format binary)"))?;
        match session.wire.converse(|_, _| Ok(()))? {
            Ended::CopyIn => {}
            Ended::Ready => return Err(garbled()),
        }
        let mut rows = Vec::with_capacity(BUFFER + BUFFER / 4);
        rows.extend(COPY_HEADER);
        Ok(Copy { session, columns, rows, ended: false })
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
        // It speaks before the end only to refuse: whatever else is sent it would pass over.
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
        let bytes = put_copy_row(values, &self.columns, &mut self.rows)?;
        if self.rows.len() >= BUFFER {
            self.send()?;
        }
        Ok(bytes)
    }

    fn finish(mut self: Box<Self>) -> Outcome<u64> {
        self.rows.extend(COPY_TRAILER);
        self.send()?;
        self.end(put_copy_done)
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
