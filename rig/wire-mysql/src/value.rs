//! Values as the protocol writes them: parameters, and rows in the binary and the text form.
//! Source: MySQL internals manual, "Binary Protocol Value".

use crate::packet::{put_text, Reader};
use std::fmt::Write as _;
use transaction::{garbled, Outcome, Value};

/// Types of columns and parameters; see `enum_field_types` in `mysql_com.h`.
mod kind {
    pub const TINY: u8 = 1;
    pub const SHORT: u8 = 2;
    pub const LONG: u8 = 3;
    pub const FLOAT: u8 = 4;
    pub const DOUBLE: u8 = 5;
    pub const NULL: u8 = 6;
    pub const TIMESTAMP: u8 = 7;
    pub const LONGLONG: u8 = 8;
    pub const INT24: u8 = 9;
    pub const DATE: u8 = 10;
    pub const TIME: u8 = 11;
    pub const DATETIME: u8 = 12;
    pub const YEAR: u8 = 13;
    pub const VARCHAR: u8 = 15;
    pub const BIT: u8 = 16;
    pub const TINY_BLOB: u8 = 249;
    pub const BLOB: u8 = 252;
    pub const VAR_STRING: u8 = 253;
    pub const STRING: u8 = 254;
    pub const GEOMETRY: u8 = 255;
}

/// The number of the character set `binary`: what a text column of bytes has. See `my_charset_bin`.
const BINARY: u16 = 63;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    kind: u8,
    unsigned: bool,
    /// Its values are bytes and no letters.
    bytes: bool,
}

impl Column {
    /// Reads a column definition. Of all its fields the last ones have a fixed place from the end: their length (1),
    /// character set (2), width (4), type (1), flags (2), decimals (1), filler (2).
    pub fn read(definition: &[u8]) -> Outcome<Column> {
        let fields: &[u8; 13] = definition.last_chunk().ok_or_else(garbled)?;
        if fields[0] != 12 {
            return Err(garbled());
        }
        let (kind, flags) = (fields[7], u16::from_le_bytes([fields[8], fields[9]]));
        // JSON, decimals and times have this character set as well, and are texts.
        let texts = matches!(kind, kind::VARCHAR | kind::TINY_BLOB..=kind::BLOB | kind::VAR_STRING | kind::STRING);
        let bytes = kind == kind::GEOMETRY || (texts && u16::from_le_bytes([fields[1], fields[2]]) == BINARY);
        Ok(Column { kind, unsigned: flags & 0x20 != 0, bytes })
    }
}

/// How values of a column are written into a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Letters,
    Bytes,
    Bits,
}

impl Column {
    pub fn form(self) -> Form {
        match self.kind {
            kind::BIT => Form::Bits,
            _ if self.bytes => Form::Bytes,
            _ => Form::Letters,
        }
    }
}

/// The name in a column definition: the fifth of its texts, after catalogue, schema, table and the table's own name.
pub fn column_name(definition: &[u8]) -> Outcome<String> {
    let mut reader = Reader(definition);
    for _ in 0..4 {
        reader.text()?;
    }
    reader.text().map(|name| String::from_utf8_lossy(name).into_owned())
}

/// Writes the parameters of an execution: which are NULL, their types when they differ from the last ones sent, values.
pub fn put_parameters(out: &mut Vec<u8>, parameters: &[Value], sent: &mut Vec<u8>) {
    if parameters.is_empty() {
        return;
    }
    let nulls = out.len();
    out.resize(nulls + parameters.len().div_ceil(8), 0);
    let fresh = sent.len() != parameters.len();
    if fresh {
        sent.clear();
        sent.resize(parameters.len(), kind::NULL);
    }
    let mut changed = fresh;
    for (position, (value, sent)) in parameters.iter().zip(sent.iter_mut()).enumerate() {
        let kind = match value {
            Value::Null => {
                out[nulls + position / 8] |= 1 << (position % 8);
                continue;
            }
            Value::Int(_) => kind::LONGLONG,
            Value::Real(_) => kind::DOUBLE,
            Value::Text(_) => kind::VAR_STRING,
            Value::Bytes(_) => kind::BLOB,
        };
        changed |= *sent != kind;
        *sent = kind;
    }
    out.push(changed.into());
    if changed {
        for &kind in sent.iter() {
            out.extend([kind, 0]);
        }
    }
    for value in parameters {
        match value {
            Value::Null => {}
            Value::Int(n) => out.extend(n.to_le_bytes()),
            Value::Real(x) => out.extend(x.to_le_bytes()),
            Value::Text(s) => put_text(out, s.as_bytes()),
            Value::Bytes(bytes) => put_text(out, bytes),
        }
    }
}

/// Reads a row of the binary form into `values`, whose texts keep their memory.
pub fn read_binary_row(content: &[u8], columns: &[Column], values: &mut Vec<Value>) -> Outcome<()> {
    let mut reader = Reader(content);
    if reader.u8()? != 0 {
        return Err(garbled());
    }
    // The first two bits are not used.
    let nulls = reader.bytes((columns.len() + 9) / 8)?;
    values.resize(columns.len(), Value::Null);
    for (position, (column, value)) in columns.iter().zip(values.iter_mut()).enumerate() {
        if nulls[(position + 2) / 8] & 1 << ((position + 2) % 8) != 0 {
            *value = Value::Null;
        } else {
            read_binary(&mut reader, *column, value)?;
        }
    }
    if reader.0.is_empty() {
        Ok(())
    } else {
        Err(garbled())
    }
}

fn read_binary(reader: &mut Reader, column: Column, value: &mut Value) -> Outcome<()> {
    let whole = |signed: i64, unsigned: u64| Value::Int(if column.unsigned { unsigned as i64 } else { signed });
    *value = match column.kind {
        kind::TINY => reader.u8().map(|n| whole((n as i8).into(), n.into()))?,
        kind::SHORT | kind::YEAR => reader.u16().map(|n| whole((n as i16).into(), n.into()))?,
        kind::LONG | kind::INT24 => reader.u32().map(|n| whole((n as i32).into(), n.into()))?,
        kind::LONGLONG => {
            let n = reader.array().map(u64::from_le_bytes)?;
            match i64::try_from(n) {
                Err(_) if column.unsigned => Value::Text(n.to_string()),
                _ => Value::Int(n as i64),
            }
        }
        kind::FLOAT => reader.array().map(|bytes| Value::single(f32::from_le_bytes(bytes)))?,
        kind::DOUBLE => reader.array().map(|bytes| Value::Real(f64::from_le_bytes(bytes)))?,
        kind::NULL => Value::Null,
        kind::DATE | kind::DATETIME | kind::TIMESTAMP => {
            let (length, text) = (reader.u8()?, value.empty_text());
            return read_date(Reader(reader.bytes(length.into())?), column.kind == kind::DATE, text);
        }
        kind::TIME => {
            let (length, text) = (reader.u8()?, value.empty_text());
            return read_time(Reader(reader.bytes(length.into())?), text);
        }
        kind::BIT => bits(reader.text()?),
        _ if column.bytes => {
            value.no_bytes().extend_from_slice(reader.text()?);
            return Ok(());
        }
        // Decimals among them.
        _ => {
            put(value.empty_text(), reader.text()?);
            return Ok(());
        }
    };
    Ok(())
}

/// Up to 64 bits, the highest first, as the number that they are.
fn bits(bytes: &[u8]) -> Value {
    let number = bytes.iter().fold(0u64, |sum, &byte| sum << 8 | u64::from(byte));
    i64::try_from(number).map_or_else(|_| Value::Text(number.to_string()), Value::Int)
}

/// Year (2), month, day; hour, minute, second; microseconds (4): the last parts are left out when they are zero.
fn read_date(mut reader: Reader, date_only: bool, text: &mut String) -> Outcome<()> {
    let length = reader.0.len();
    if !matches!(length, 0 | 4 | 7 | 11) {
        return Err(garbled());
    }
    let (year, month, day) = if length > 0 { (reader.u16()?, reader.u8()?, reader.u8()?) } else { (0, 0, 0) };
    write!(text, "{year:04}-{month:02}-{day:02}").expect("a String takes everything");
    if date_only {
        return Ok(());
    }
    let [hour, minute, second] = if length > 4 { reader.array()? } else { [0; 3] };
    write!(text, " {hour:02}:{minute:02}:{second:02}").expect("a String takes everything");
    read_fraction(reader, text)
}

/// Sign (1), days (4), hours, minutes, seconds; microseconds (4).
fn read_time(mut reader: Reader, text: &mut String) -> Outcome<()> {
    if !matches!(reader.0.len(), 0 | 8 | 12) {
        return Err(garbled());
    }
    let (negative, days, [hours, minutes, seconds]) =
        if reader.0.is_empty() { (0, 0, [0; 3]) } else { (reader.u8()?, reader.u32()?, reader.array()?) };
    let sign = if negative == 0 { "" } else { "-" };
    let hours = u64::from(days) * 24 + u64::from(hours);
    write!(text, "{sign}{hours:02}:{minutes:02}:{seconds:02}").expect("a String takes everything");
    read_fraction(reader, text)
}

fn read_fraction(mut reader: Reader, text: &mut String) -> Outcome<()> {
    if !reader.0.is_empty() {
        write!(text, ".{:06}", reader.u32()?).expect("a String takes everything");
    }
    Ok(())
}

pub fn read_text_row(content: &[u8], columns: &[Column], values: &mut Vec<Value>) -> Outcome<()> {
    let mut reader = Reader(content);
    values.clear();
    for column in columns {
        if let Some(rest) = reader.0.strip_prefix(b"\xfb") {
            reader.0 = rest;
            values.push(Value::Null);
            continue;
        }
        let bytes = reader.text()?;
        if column.bytes {
            values.push(Value::Bytes(bytes.to_vec()));
            continue;
        }
        let text = String::from_utf8_lossy(bytes);
        values.push(
            match column.kind {
                kind::TINY | kind::SHORT | kind::LONG | kind::LONGLONG | kind::INT24 | kind::YEAR => {
                    text.parse().ok().map(Value::Int)
                }
                kind::FLOAT | kind::DOUBLE => text.parse().ok().map(Value::Real),
                kind::BIT => Some(bits(bytes)),
                _ => None,
            }
            .unwrap_or_else(|| Value::Text(text.into_owned())),
        );
    }
    if reader.0.is_empty() {
        Ok(())
    } else {
        Err(garbled())
    }
}

fn put(text: &mut String, bytes: &[u8]) {
    match std::str::from_utf8(bytes) {
        Ok(valid) => text.push_str(valid),
        Err(_) => text.push_str(&String::from_utf8_lossy(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::refusal;
    use proptest::prelude::*;

    /// A column definition of such a type and character set.
    fn column(kind: u8, charset: u16) -> Column {
        let mut definition = Vec::new();
        ["def", "s", "t", "u", "NAME", "n"].iter().for_each(|text| put_text(&mut definition, text.as_bytes()));
        definition.push(12);
        definition.extend(charset.to_le_bytes());
        definition.extend([0, 0, 0, 1, kind, 0, 0, 0, 0, 0]);
        assert_eq!(column_name(&definition).unwrap(), "NAME");
        Column::read(&definition).unwrap()
    }

    const JSON: u8 = 245;
    const DECIMAL: u8 = 246;
    const UTF8: u16 = 45;

    #[test]
    fn bytes_are_told_from_letters_by_their_character_set() {
        for (kind, charset, bytes) in [
            (kind::BLOB, BINARY, true),
            (kind::BLOB, UTF8, false),
            (kind::STRING, BINARY, true),
            (kind::VAR_STRING, BINARY, true),
            (kind::VAR_STRING, UTF8, false),
            (kind::GEOMETRY, BINARY, true),
            (JSON, BINARY, false),
            (DECIMAL, BINARY, false),
            (kind::DATETIME, BINARY, false),
        ] {
            assert_eq!(column(kind, charset).bytes, bytes, "{kind} {charset}");
        }
    }

    #[test]
    fn both_forms_say_the_same() {
        let columns =
            [column(kind::BLOB, BINARY), column(kind::BIT, BINARY), column(kind::FLOAT, BINARY), column(DECIMAL, 63)];
        let wanted = [
            Value::Bytes(vec![0, 255]),
            Value::Int(513),
            Value::Real(0.1),
            Value::Text("-12345678901234567890.10".to_string()),
        ];
        let mut binary = vec![0, 0];
        let mut text = Vec::new();
        put_text(&mut binary, &[0, 255]);
        put_text(&mut binary, &[2, 1]);
        binary.extend(0.1f32.to_le_bytes());
        put_text(&mut binary, b"-12345678901234567890.10");
        for value in [&[0, 255][..], &[2, 1], b"0.1", b"-12345678901234567890.10"] {
            put_text(&mut text, value);
        }
        let mut values = Vec::new();
        // Once into nothing, once into what a row has left there.
        for _ in 0..2 {
            read_binary_row(&binary, &columns, &mut values).unwrap();
            assert_eq!(values, wanted);
        }
        read_text_row(&text, &columns, &mut values).unwrap();
        assert_eq!(values, wanted);
    }

    proptest! {
        #[test]
        fn any_row_is_read_or_refused(content: Vec<u8>, definitions: Vec<Vec<u8>>, kinds: Vec<(u8, bool, bool)>) {
            definitions.iter().for_each(|bytes| drop(column_name(bytes)));
            let read = definitions.iter().filter_map(|bytes| Column::read(bytes).ok());
            let columns: Vec<Column> =
                kinds.into_iter().map(|(kind, unsigned, bytes)| Column { kind, unsigned, bytes }).chain(read).collect();
            let mut values = Vec::new();
            read_binary_row(&content, &columns, &mut values).ok();
            read_text_row(&content, &columns, &mut values).ok();
            refusal(&content);
        }
    }
}
