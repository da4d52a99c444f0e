//! Columns as they are asked for, and their values as they come. A whole number is asked for as one of 64 bits, a decimal
//! as the whole number that it is without its point, and what has no binary form of ours as the engine's own text.

use super::blob::Place;
use super::descriptor::{Descriptor, Slot};
use rsfbclient_core::date_time::{decode_date, decode_time};
use rsfbclient_core::ibase::{self, ISC_QUAD, XSQLVAR};
use std::fmt::Write as _;
use transaction::{failed, unfolded, Class, Outcome, Value};

/// The character set of bytes that are no letters.
const OCTETS: i16 = 1;
/// What the engine needs at most to write any value but a text.
const WRITTEN: i16 = 128;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Whole,
    /// With so many digits behind the point.
    Decimal(usize),
    /// Written by the engine, which knows numbers that we have no room for.
    Number,
    Single,
    Double,
    Boolean,
    Date,
    Time,
    Timestamp,
    Text,
    Octets,
    BlobText,
    BlobBytes,
}

pub struct Column {
    kind: Kind,
    slot: Slot,
    pub name: String,
}

/// Says of each column how it is to come, and makes room for it.
pub fn ask_for(columns: &mut Descriptor) -> Outcome<Vec<Column>> {
    let many = columns.found();
    let (mut kinds, mut sizes) = (Vec::new(), Vec::new());
    for number in 0..many {
        let variable = columns.variable(number);
        let name = name(variable);
        let (kind, size) = coerce(variable, &name)?;
        kinds.push((kind, name));
        sizes.push(size);
    }
    let slots = columns.make_room(&sizes);
    Ok(kinds.into_iter().zip(slots).map(|((kind, name), slot)| Column { kind, slot, name }).collect())
}

fn name(variable: &XSQLVAR) -> String {
    let length = usize::try_from(variable.aliasname_length).unwrap_or(0).min(variable.aliasname.len());
    let bytes: Vec<u8> = variable.aliasname[..length].iter().map(|&byte| byte as u8).collect();
    unfolded(&String::from_utf8_lossy(&bytes))
}

/// Sets the type in which the library is to answer; answers what that is here, and its bytes.
fn coerce(variable: &mut XSQLVAR, name: &str) -> Outcome<(Kind, usize)> {
    let declared = variable_type(variable.sqltype);
    let (subtype, scale) = (variable.sqlsubtype, variable.sqlscale);
    let octets = subtype & 0xff == OCTETS;
    let coerced = match declared {
        ibase::SQL_SHORT | ibase::SQL_LONG | ibase::SQL_INT64 => {
            set(variable, ibase::SQL_INT64, 8);
            (if scale < 0 { Kind::Decimal(scale.unsigned_abs().into()) } else { Kind::Whole }, 8)
        }
        ibase::SQL_TEXT | ibase::SQL_VARYING => {
            let length = variable.sqllen;
            variable.sqltype = ibase::SQL_VARYING as i16 | 1;
            (if octets { Kind::Octets } else { Kind::Text }, usize::from(length as u16) + 2)
        }
        ibase::SQL_FLOAT => {
            set(variable, declared, 4);
            (Kind::Single, 4)
        }
        ibase::SQL_DOUBLE | ibase::SQL_D_FLOAT => {
            set(variable, ibase::SQL_DOUBLE, 8);
            variable.sqlscale = 0;
            (Kind::Double, 8)
        }
        ibase::SQL_BOOLEAN => {
            set(variable, declared, 1);
            (Kind::Boolean, 1)
        }
        ibase::SQL_TYPE_DATE => {
            set(variable, declared, 4);
            (Kind::Date, 4)
        }
        ibase::SQL_TYPE_TIME => {
            set(variable, declared, 4);
            (Kind::Time, 4)
        }
        ibase::SQL_TIMESTAMP => {
            set(variable, declared, 8);
            (Kind::Timestamp, 8)
        }
        ibase::SQL_BLOB => {
            set(variable, declared, 8);
            (if subtype == 1 { Kind::BlobText } else { Kind::BlobBytes }, 8)
        }
        ibase::SQL_ARRAY | ibase::SQL_QUAD => {
            let message = format!("the column {name} is an array, which no client reads by SQL: ask for its elements");
            return Err(failed(Class::Other, message));
        }
        // INT128, DECFLOAT, times with zones, and whatever comes after them.
        _ => {
            set(variable, ibase::SQL_VARYING, WRITTEN);
            (variable.sqlscale, variable.sqlsubtype) = (0, 0);
            (if declared == ibase::SQL_INT128 { Kind::Number } else { Kind::Text }, WRITTEN as usize + 2)
        }
    };
    Ok(coerced)
}

fn set(variable: &mut XSQLVAR, kind: u32, length: i16) {
    (variable.sqltype, variable.sqllen) = (kind as i16 | 1, length);
}

/// Without the mark of what may be NULL.
pub fn variable_type(sqltype: i16) -> u32 {
    u32::from(sqltype as u16 & !1)
}

impl Column {
    /// The value of the row that was fetched last. Texts and bytes keep their memory.
    pub fn read(&self, row: &Descriptor, place: &mut Place, value: &mut Value) -> Outcome<()> {
        if row.is_null(self.slot) {
            *value = Value::Null;
            return Ok(());
        }
        let data = row.data(self.slot);
        match self.kind {
            Kind::Whole => *value = Value::Int(i64::from_ne_bytes(first(data))),
            Kind::Decimal(digits) => put_decimal(value.empty_text(), i64::from_ne_bytes(first(data)), digits),
            Kind::Single => *value = Value::single(f32::from_ne_bytes(first(data))),
            Kind::Double => *value = Value::Real(f64::from_ne_bytes(first(data))),
            Kind::Boolean => value.empty_text().push_str(if data[0] == 0 { "false" } else { "true" }),
            Kind::Date => put(value, decode_date(i32::from_ne_bytes(first(data)))),
            Kind::Time => put(value, decode_time(u32::from_ne_bytes(first(data)))),
            Kind::Timestamp => {
                let time = decode_time(u32::from_ne_bytes(first(&data[4..])));
                put(value, decode_date(i32::from_ne_bytes(first(data))).and_time(time));
            }
            Kind::Text => value.empty_text().push_str(&String::from_utf8_lossy(varying(data))),
            Kind::Number => {
                let written = String::from_utf8_lossy(varying(data));
                match written.parse() {
                    Ok(whole) => *value = Value::Int(whole),
                    Err(_) => value.empty_text().push_str(&written),
                }
            }
            Kind::Octets => value.no_bytes().extend_from_slice(varying(data)),
            Kind::BlobBytes => place.read(quad(data), value.no_bytes())?,
            Kind::BlobText => {
                let mut read = std::mem::take(value.empty_text()).into_bytes();
                place.read(quad(data), &mut read)?;
                *value.empty_text() = String::from_utf8(read)
                    .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
            }
        }
        Ok(())
    }
}

fn first<const N: usize>(data: &[u8]) -> [u8; N] {
    *data.first_chunk().expect("a slot is as long as its kind")
}

/// The letters behind their number.
fn varying(data: &[u8]) -> &[u8] {
    let (length, letters) = data.split_first_chunk().expect("a slot is as long as its kind");
    &letters[..letters.len().min(u16::from_ne_bytes(*length).into())]
}

fn quad(data: &[u8]) -> ISC_QUAD {
    ISC_QUAD {
        gds_quad_high: i32::from_ne_bytes(first(data)) as _,
        gds_quad_low: u32::from_ne_bytes(first(&data[4..])) as _,
    }
}

fn put(value: &mut Value, moment: impl std::fmt::Display) {
    write!(value.empty_text(), "{moment}").expect("a String takes everything");
}

/// A number without its point, written with `digits` behind it.
fn put_decimal(text: &mut String, number: i64, digits: usize) {
    let sign = if number < 0 { "-" } else { "" };
    let all = format!("{:0width$}", number.unsigned_abs(), width = digits + 1);
    let (whole, part) = all.split_at(all.len() - digits);
    write!(text, "{sign}{whole}.{part}").expect("a String takes everything");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_have_all_their_digits() {
        for (number, digits, written) in [
            (1250, 2, "12.50"),
            (-5, 2, "-0.05"),
            (0, 4, "0.0000"),
            (i64::MIN, 18, "-9.223372036854775808"),
            (i64::MAX, 1, "922337203685477580.7"),
        ] {
            let mut text = String::new();
            put_decimal(&mut text, number, digits);
            assert_eq!(text, written);
        }
    }
}
