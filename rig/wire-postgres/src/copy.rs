//! The binary form of a COPY.

use crate::message::put_length;
use crate::value::put_binary;
use transaction::{failed, Class, Outcome, Value};

/// Signature, no flags, no extension.
pub const COPY_HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
pub const COPY_TRAILER: [u8; 2] = (-1i16).to_be_bytes();

/// Writes a row of values for columns of such types; nothing of it when one does not fit. Answers the bytes of its values.
pub fn put_copy_row(values: &[Value], columns: &[u32], out: &mut Vec<u8>) -> Outcome<u64> {
    if values.len() != columns.len() {
        let message = format!("{} values for {} columns", values.len(), columns.len());
        return Err(failed(Class::Other, message));
    }
    let start = out.len();
    out.extend((values.len() as i16).to_be_bytes());
    let mut bytes = 0;
    for (value, &kind) in values.iter().zip(columns) {
        if *value == Value::Null {
            out.extend((-1i32).to_be_bytes());
            continue;
        }
        let before = out.len() + 4;
        let put = put_length(out, false, |out| put_binary(value, kind, out));
        put.inspect_err(|_| out.truncate(start))?;
        bytes += (out.len() - before) as u64;
    }
    Ok(bytes)
}
