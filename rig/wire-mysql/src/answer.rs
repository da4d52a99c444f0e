//! What a server answers to a statement, packet by packet.

use crate::packet::{refusal, Reader};
use crate::value::{read_binary_row, read_text_row, Column};
use transaction::{garbled, Outcome, Sink, Value};

/// Of the server's status; see `SERVER_STATUS_...` in `mysql_com.h`.
pub const IN_TRANSACTION: u16 = 1;
pub const AUTOCOMMIT: u16 = 2;
const MORE_RESULTS: u16 = 8;

/// How answers look on this connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Manner {
    /// No EOF packet stands between columns and rows, and an OK packet after the rows.
    pub deprecate_eof: bool,
    /// Behind the number of columns stands whether they are described.
    pub cache_metadata: bool,
}

/// What a statement's answer comes to, as it comes in: any number of results, each with rows or none.
pub struct Answer {
    binary: bool,
    next: Next,
    pub changed: u64,
    pub warnings: u16,
    pub status: u16,
}

enum Next {
    /// The first of a result.
    Head,
    /// The description of a column, and so many more.
    Column(u64),
    ColumnsEnd,
    Row,
}

impl Answer {
    pub fn to(binary: bool) -> Answer {
        Answer { binary, next: Next::Head, changed: 0, warnings: 0, status: 0 }
    }

    /// Takes a packet in. Answers, when it was the last, whether the statement was refused.
    pub fn take(
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
