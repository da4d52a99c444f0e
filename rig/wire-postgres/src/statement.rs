//! Bind and Execute of a prepared statement, of which all that is constant is written once.

use crate::message::{put_length, put_message, put_text, HEAD};
use crate::value::{comes_binary, is_binary, put, INT4, INT8};
use transaction::{Outcome, Value};

pub struct Prepared {
    /// What is constant of Bind up to the parameters' formats, from the results' formats on, and Execute, one after the
    /// other.
    parts: Vec<u8>,
    results: usize,
    execute: usize,
    /// Bind and Execute with zeros for parameters, where all are integers; nothing where some are not.
    integers: Vec<u8>,
    pub parameters: Vec<u32>,
    pub columns: Vec<u32>,
}

impl Prepared {
    pub fn new(name: &str, parameters: Vec<u32>, columns: Vec<u32>) -> Outcome<Prepared> {
        let mut parts = Vec::new();
        put_text(&mut parts, "")?; // the portal
        put_text(&mut parts, name)?;
        parts.extend((parameters.len() as i16).to_be_bytes());
        let results = parts.len();
        parts.extend((columns.len() as i16).to_be_bytes());
        columns.iter().for_each(|&kind| parts.extend(i16::from(comes_binary(kind)).to_be_bytes()));
        let execute = parts.len();
        put_message(&mut parts, b'E', |out| {
            put_text(out, "")?;
            out.extend(0i32.to_be_bytes()); // all rows
            Ok(())
        })?;
        let mut prepared = Prepared { parts, results, execute, integers: Vec::new(), parameters, columns };
        if prepared.parameters.iter().all(|&kind| kind == INT8 || kind == INT4) {
            let zeros = vec![Value::Int(0); prepared.parameters.len()];
            let mut integers = Vec::new();
            prepared.put(&zeros, &mut integers)?;
            prepared.integers = integers;
        }
        Ok(prepared)
    }

    pub fn put(&self, parameters: &[Value], out: &mut Vec<u8>) -> Outcome<()> {
        let typed = || parameters.iter().zip(&self.parameters);
        put_message(out, b'B', |out| {
            out.extend(&self.parts[..self.results]);
            typed().for_each(|(value, &kind)| out.extend(i16::from(is_binary(value, kind)).to_be_bytes()));
            out.extend((parameters.len() as i16).to_be_bytes());
            for (value, &kind) in typed() {
                match value {
                    Value::Null => out.extend((-1i32).to_be_bytes()),
                    value => put_length(out, false, |out| {
                        put(value, kind, out);
                        Ok(())
                    })?,
                }
            }
            out.extend(&self.parts[self.results..self.execute]);
            Ok(())
        })?;
        out.extend(&self.parts[self.execute..]);
        Ok(())
    }

    /// As [`Prepared::put`] where all parameters are integers that fit, at a third of its cost: answers whether they are.
    pub fn put_integers(&self, parameters: &[Value], out: &mut Vec<u8>) -> bool {
        if self.integers.is_empty() {
            return false;
        }
        let start = out.len();
        out.extend_from_slice(&self.integers);
        // After Bind's head, its constant part, the formats and the number of parameters, two bytes each.
        let mut rest = &mut out[start + HEAD + self.results + 2 * parameters.len() + 2..];
        for (value, &kind) in parameters.iter().zip(&self.parameters) {
            let put = match (value, kind) {
                (Value::Int(n), INT8) => put_in_place(rest, &n.to_be_bytes()),
                (Value::Int(n), INT4) => i32::try_from(*n).ok().and_then(|n| put_in_place(rest, &n.to_be_bytes())),
                _ => None,
            };
            match put {
                Some(after) => rest = after,
                None => {
                    out.truncate(start);
                    return false;
                }
            }
        }
        true
    }
}

/// Puts a value behind its length, and answers what follows it.
fn put_in_place<'a>(field: &'a mut [u8], value: &[u8]) -> Option<&'a mut [u8]> {
    let (place, after) = field.get_mut(4..)?.split_at_mut_checked(value.len())?;
    place.copy_from_slice(value);
    Some(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_put_as_any_parameters_are() {
        let prepared = Prepared::new("s7", vec![INT8, INT4, INT4, INT8], vec![INT8, 25]).unwrap();
        for (values, whole) in [
            ([1, -2, 3, i64::MIN], true),
            ([0, i64::from(i32::MIN), i64::from(i32::MAX), i64::MAX], true),
            ([1, 1 << 40, 1, 1], false),
        ] {
            let values = values.map(Value::Int);
            let (mut quickly, mut slowly) = (b"before".to_vec(), b"before".to_vec());
            assert_eq!(prepared.put_integers(&values, &mut quickly), whole);
            prepared.put(&values, &mut slowly).unwrap();
            // A number that does not fit goes as text, and all formats are sent anew.
            assert_eq!(quickly == slowly, whole);
            assert_eq!(quickly.len() > 6, whole);
        }
        let text = Prepared::new("s8", vec![25], vec![]).unwrap();
        assert!(!text.put_integers(&[Value::Int(1)], &mut Vec::new()));
        assert!(!prepared.put_integers(&[Value::Int(1), Value::Null, Value::Int(1), Value::Int(1)], &mut Vec::new()));
    }
}
