//! Rows of a COPY, in its binary form and as text.

use crate::message::put_length;
use crate::value::{has_binary_form, put_binary, put_copied_text};
use transaction::{failed, Class, Outcome, Value};

/// Signature, no flags, no extension.
pub const COPY_HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
pub const COPY_TRAILER: [u8; 2] = (-1i16).to_be_bytes();

/// Whether values of all these types have a binary form that is known here.
pub fn copies_binary(columns: &[u32]) -> bool {
    columns.iter().all(|&kind| has_binary_form(kind))
}

/// Writes a row of values for columns of such types; nothing of it, and no answer, when one has no such form. Answers the
/// bytes of its values.
pub fn put_copy_row(values: &[Value], columns: &[u32], out: &mut Vec<u8>) -> Outcome<Option<u64>> {
    as_many(values, columns)?;
    let start = out.len();
    out.extend((values.len() as i16).to_be_bytes());
    let mut bytes = 0;
    for (value, &kind) in values.iter().zip(columns) {
        if *value == Value::Null {
            out.extend((-1i32).to_be_bytes());
            continue;
        }
        let before = out.len() + 4;
        let put = put_length(out, false, |out| Ok(put_binary(value, kind, out)));
        if put.inspect_err(|_| out.truncate(start))?.is_none() {
            out.truncate(start);
            return Ok(None);
        }
        bytes += (out.len() - before) as u64;
    }
    Ok(Some(bytes))
}

/// As [`put_copy_row`], as text: of any type, and whatever the server reads as one.
pub fn put_text_row(values: &[Value], columns: &[u32], out: &mut Vec<u8>) -> Outcome<u64> {
    as_many(values, columns)?;
    for (position, (value, &kind)) in values.iter().zip(columns).enumerate() {
        if position > 0 {
            out.push(b'\t');
        }
        put_copied_text(value, kind, out);
    }
    out.push(b'\n');
    Ok(values.iter().map(Value::bytes).sum())
}

fn as_many(values: &[Value], columns: &[u32]) -> Outcome<()> {
    match (values.len(), columns.len()) {
        (given, wanted) if given == wanted => Ok(()),
        (given, wanted) => Err(failed(Class::Other, format!("{given} values for {wanted} columns"))),
    }
}
