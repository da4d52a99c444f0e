//! Values as PostgreSQL sends and takes them: numbers and bytes in its own binary form, everything else as text, which the
//! server reads as it does a literal in quotes. A COPY takes nothing but the binary form, or nothing but text.

use std::io::Write as _;
use transaction::{garbled, Outcome, Value};

// pg_type.dat
pub const BYTEA: u32 = 17;
pub const INT8: u32 = 20;
pub const INT2: u32 = 21;
pub const INT4: u32 = 23;
pub const TEXT: u32 = 25;
pub const FLOAT4: u32 = 700;
pub const FLOAT8: u32 = 701;
pub const BPCHAR: u32 = 1042;
pub const VARCHAR: u32 = 1043;
pub const TIMESTAMP: u32 = 1114;
pub const NUMERIC: u32 = 1700;

pub fn is_number(kind: u32) -> bool {
    matches!(kind, INT2 | INT4 | INT8 | FLOAT8)
}

/// Whether a column of this type is read in its binary form.
pub fn comes_binary(kind: u32) -> bool {
    is_number(kind) || kind == BYTEA
}

/// Whether [`put`] writes the binary form. A number that does not fit goes as text: the server says why it refuses it.
pub fn is_binary(value: &Value, kind: u32) -> bool {
    match (value, kind) {
        (Value::Int(n), INT4) => i32::try_from(*n).is_ok(),
        (Value::Int(n), INT2) => i16::try_from(*n).is_ok(),
        (Value::Int(_), INT8 | FLOAT8) | (Value::Real(_), FLOAT8) | (Value::Bytes(_), BYTEA) => true,
        _ => false,
    }
}

/// A parameter's bytes; of NULL there are none.
pub fn put(value: &Value, kind: u32, out: &mut Vec<u8>) {
    match (value, kind) {
        (Value::Null, _) => {}
        (Value::Int(n), INT8) => out.extend(n.to_be_bytes()),
        (Value::Int(n), INT4 | INT2) => match (i32::try_from(*n), i16::try_from(*n)) {
            (Ok(n), _) if kind == INT4 => out.extend(n.to_be_bytes()),
            (_, Ok(n)) if kind == INT2 => out.extend(n.to_be_bytes()),
            _ => write!(out, "{n}").expect("memory takes it"),
        },
        (Value::Int(n), FLOAT8) => out.extend((*n as f64).to_be_bytes()),
        (Value::Real(x), FLOAT8) => out.extend(x.to_be_bytes()),
        (Value::Int(n), _) => write!(out, "{n}").expect("memory takes it"),
        (Value::Real(x), _) => write!(out, "{x}").expect("memory takes it"),
        (Value::Text(s), _) => out.extend(s.as_bytes()),
        (Value::Bytes(bytes), _) => out.extend(bytes),
    }
}

/// Whether [`put_binary`] knows the type.
pub fn has_binary_form(kind: u32) -> bool {
    comes_binary(kind) || matches!(kind, TEXT | BPCHAR | VARCHAR | NUMERIC | TIMESTAMP)
}

/// A field of a binary COPY; none where the value has no binary form of this type that is known here.
pub fn put_binary(value: &Value, kind: u32, out: &mut Vec<u8>) -> Option<()> {
    match (value, kind) {
        (_, NUMERIC) => {
            let start = out.len();
            put(value, kind, out);
            let decimal = out.split_off(start);
            put_numeric(&decimal, out)?;
        }
        (Value::Text(s), TIMESTAMP) => out.extend(microseconds(s)?.to_be_bytes()),
        (_, TEXT | BPCHAR | VARCHAR) | (Value::Null, _) => put(value, kind, out),
        _ if is_binary(value, kind) => put(value, kind, out),
        _ => return None,
    }
    Some(())
}

/// A field of a COPY of text: what has a meaning there stands behind a backslash. Bytes go in the hexadecimal form of a
/// bytea; see PostgreSQL documentation, COPY, and section 8.4.
pub fn put_copied_text(value: &Value, kind: u32, out: &mut Vec<u8>) {
    let letters = match value {
        Value::Null => return out.extend(b"\\N"),
        Value::Int(n) => return write!(out, "{n}").expect("memory takes it"),
        Value::Real(x) => return write!(out, "{x}").expect("memory takes it"),
        Value::Bytes(bytes) if kind == BYTEA => {
            out.extend(b"\\\\x");
            return bytes.iter().for_each(|byte| write!(out, "{byte:02x}").expect("memory takes it"));
        }
        Value::Bytes(bytes) => bytes.as_slice(),
        Value::Text(text) => text.as_bytes(),
    };
    for &byte in letters {
        match byte {
            b'\\' => out.extend(b"\\\\"),
            b'\t' => out.extend(b"\\t"),
            b'\n' => out.extend(b"\\n"),
            b'\r' => out.extend(b"\\r"),
            byte => out.push(byte),
        }
    }
}

/// Microseconds from the start of 2000 to `YYYY-MM-DD HH:MM:SS`.
fn microseconds(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    let marks = [(4, b'-'), (7, b'-'), (10, b' '), (13, b':'), (16, b':')];
    if bytes.len() != 19 || marks.iter().any(|&(at, mark)| bytes[at] != mark) {
        return None;
    }
    let number = |from: usize, to: usize| {
        bytes[from..to].iter().try_fold(0, |sum, byte| byte.is_ascii_digit().then(|| sum * 10 + i64::from(byte - b'0')))
    };
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let lengths = [31, 28 + i64::from(leap), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let length = *lengths.get(usize::try_from(month - 1).ok()?)?;
    if year == 0 || !(1..=length).contains(&day) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let before = year - 1;
    let leaps = before / 4 - before / 100 + before / 400;
    let days = before * 365 + leaps + lengths[..month as usize - 1].iter().sum::<i64>() + day - 1;
    const BEFORE_2000: i64 = 1999 * 365 + 1999 / 4 - 1999 / 100 + 1999 / 400;
    Some((((days - BEFORE_2000) * 24 + hour) * 60 + minute) * 60_000_000 + second * 1_000_000)
}

/// The number that a decimal text says: counts of digits to the base 10,000, the weight of the first, sign, decimals,
/// digits; see `numeric_recv` in PostgreSQL's numeric.c.
fn put_numeric(decimal: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let (negative, digits) = decimal.strip_prefix(b"-").map_or((false, decimal), |rest| (true, rest));
    let mut parts = digits.splitn(2, |&byte| byte == b'.');
    let (whole, part) = (parts.next()?, parts.next().unwrap_or_default());
    if whole.is_empty() || !whole.iter().chain(part).all(u8::is_ascii_digit) {
        return None;
    }
    // Groups of four on either side of the point, the outermost filled up with zeros.
    let groups = whole.len().div_ceil(4);
    let lead = groups * 4 - whole.len();
    let many = groups + part.len().div_ceil(4);
    out.extend(i16::try_from(many).ok()?.to_be_bytes());
    out.extend((groups as i16 - 1).to_be_bytes());
    out.extend(if negative { 0x4000u16 } else { 0 }.to_be_bytes());
    out.extend(i16::try_from(part.len()).ok()?.to_be_bytes());
    let digit = |at: usize| {
        let at = at.checked_sub(lead)?;
        whole.get(at).or_else(|| part.get(at - whole.len())).map(|byte| u16::from(byte - b'0'))
    };
    for group in 0..many {
        let value = (group * 4..group * 4 + 4).fold(0, |sum, at| sum * 10 + digit(at).unwrap_or(0));
        out.extend(value.to_be_bytes());
    }
    Some(())
}

/// A DataRow's values: numbers of a known type and bytes are binary, everything else is text. Texts and bytes keep their
/// memory from row to row.
pub fn read_row(body: &[u8], columns: &[u32], values: &mut Vec<Value>) -> Outcome<()> {
    values.resize(columns.len(), Value::Null);
    let mut rest = body.get(2..).ok_or_else(garbled)?;
    for (&kind, value) in columns.iter().zip(values) {
        let (length, after) = rest.split_first_chunk().ok_or_else(garbled)?;
        let Ok(length) = usize::try_from(i32::from_be_bytes(*length)) else {
            *value = Value::Null;
            rest = after;
            continue;
        };
        let (bytes, after) = after.split_at_checked(length).ok_or_else(garbled)?;
        rest = after;
        match kind {
            INT8 => *value = Value::Int(i64::from_be_bytes(exactly(bytes)?)),
            INT4 => *value = Value::Int(i32::from_be_bytes(exactly(bytes)?).into()),
            INT2 => *value = Value::Int(i16::from_be_bytes(exactly(bytes)?).into()),
            FLOAT8 => *value = Value::Real(f64::from_be_bytes(exactly(bytes)?)),
            BYTEA => value.no_bytes().extend_from_slice(bytes),
            _ => {
                let text = String::from_utf8_lossy(bytes);
                if kind == FLOAT4 {
                    // Its text has as few digits as tell it apart.
                    if let Ok(number) = text.parse() {
                        *value = Value::Real(number);
                        continue;
                    }
                }
                value.empty_text().push_str(&text);
            }
        }
    }
    Ok(())
}

fn exactly<const N: usize>(bytes: &[u8]) -> Outcome<[u8; N]> {
    bytes.try_into().map_err(|_| garbled())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn field(value: &Value, kind: u32) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        put_binary(value, kind, &mut out).map(|()| out)
    }

    #[test]
    fn times_are_microseconds_since_2000() {
        for (text, seconds) in [
            ("2000-01-01 00:00:00", Some(0)),
            ("1999-12-31 23:59:59", Some(-1)),
            ("1970-01-01 00:00:00", Some(-946_684_800)),
            ("2000-02-29 00:00:01", Some(59 * 86_400 + 1)),
            ("2026-07-04 12:34:56", Some(836_483_696)),
            ("1900-02-29 00:00:00", None),
            ("2001-13-01 00:00:00", None),
            ("2001-00-01 00:00:00", None),
            ("2001-01-01T00:00:00", None),
            ("2001-01-01", None),
            ("2001-01-01 24:00:00", None),
        ] {
            assert_eq!(microseconds(text), seconds.map(|s: i64| s * 1_000_000), "{text}");
        }
    }

    #[test]
    fn decimals_are_groups_of_four_digits() {
        for (value, numbers) in [
            (Value::Int(0), vec![1, 0, 0, 0, 0]),
            (Value::Int(12_345), vec![2, 1, 0, 0, 1, 2345]),
            (Value::Int(-7), vec![1, 0, 0x4000, 0, 7]),
            (Value::Real(12.34), vec![2, 0, 0, 2, 12, 3400]),
            (Value::Real(-0.05), vec![2, 0, 0x4000, 2, 0, 500]),
            (Value::Text("1.00005".to_string()), vec![3, 0, 0, 5, 1, 0, 5000]),
        ] {
            let bytes: Vec<u8> = numbers.into_iter().flat_map(|n: i16| n.to_be_bytes()).collect();
            assert_eq!(field(&value, NUMERIC).unwrap(), bytes, "{value:?}");
        }
    }

    #[test]
    fn what_has_no_binary_form_is_refused() {
        for (value, kind) in [
            (Value::Text("one".to_string()), INT4),
            (Value::Text("one".to_string()), NUMERIC),
            (Value::Text("now".to_string()), TIMESTAMP),
            (Value::Int(1 << 40), INT4),
            (Value::Real(0.5), INT8),
            (Value::Real(f64::NAN), NUMERIC),
            (Value::Int(1), TIMESTAMP),
        ] {
            assert_eq!(field(&value, kind), None, "{value:?} {kind}");
        }
    }

    #[test]
    fn a_field_of_text_is_one_line_whatever_is_in_it() {
        for (value, kind, field) in [
            (Value::Null, TEXT, "\\N"),
            (Value::Text("\\N".to_string()), TEXT, "\\\\N"),
            (Value::Text("a\tb\nc\rd\\e'f".to_string()), TEXT, "a\\tb\\nc\\rd\\\\e'f"),
            (Value::Int(-7), NUMERIC, "-7"),
            (Value::Real(0.5), TEXT, "0.5"),
            (Value::Bytes(vec![0, 255, 16]), BYTEA, "\\\\x00ff10"),
            (Value::Bytes(b"a\tb".to_vec()), TEXT, "a\\tb"),
        ] {
            let mut out = Vec::new();
            put_copied_text(&value, kind, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), field);
        }
    }

    #[test]
    fn what_does_not_fit_goes_as_text() {
        for (value, kind, binary, bytes) in [
            (Value::Int(1 << 40), INT4, false, &b"1099511627776"[..]),
            (Value::Int(40_000), INT2, false, b"40000"),
            (Value::Int(-2), INT2, true, &[255, 254]),
            (Value::Text("12".to_string()), INT8, false, b"12"),
            (Value::Int(3), NUMERIC, false, b"3"),
            (Value::Int(3), TEXT, false, b"3"),
            (Value::Int(3), FLOAT4, false, b"3"),
            (Value::Bytes(vec![0, 1]), BYTEA, true, &[0, 1]),
        ] {
            let mut out = Vec::new();
            put(&value, kind, &mut out);
            assert_eq!((is_binary(&value, kind), out.as_slice()), (binary, bytes), "{value:?} {kind}");
        }
    }

    proptest! {
        #[test]
        fn any_row_is_read_or_refused(body: Vec<u8>, columns: Vec<u32>) {
            read_row(&body, &columns, &mut Vec::new()).ok();
        }

        #[test]
        fn any_text_is_a_time_and_a_decimal_or_neither(text in "[-0-9.: ]{0,24}") {
            microseconds(&text);
            put_numeric(text.as_bytes(), &mut Vec::new());
        }

        #[test]
        fn what_is_put_is_read_back(n: i64, x in -1e300f64..1e300, s in "[a-z ]{0,20}", y: f32, bytes: Vec<u8>) {
            let single = Value::Real(y.to_string().parse().unwrap());
            let values = [Value::Int(n), Value::Real(x), Value::Text(s), Value::Null, Value::Bytes(bytes), single];
            let kinds = [INT8, FLOAT8, TEXT, INT4, BYTEA, FLOAT4];
            let mut body = vec![0, 6];
            for (value, kind) in values.iter().zip(kinds) {
                let mut bytes = Vec::new();
                put(value, kind, &mut bytes);
                let length = if *value == Value::Null { -1 } else { bytes.len() as i32 };
                body.extend(length.to_be_bytes());
                body.extend(bytes);
            }
            // Whatever an earlier row has left there.
            let mut row = vec![Value::Text("before".to_string()); 3];
            read_row(&body, &kinds, &mut row).unwrap();
            prop_assert_eq!(row, values);
        }
    }
}
