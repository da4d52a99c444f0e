//! A value of a statement or a row, in the same few kinds for every engine.

/// A value that goes into a statement or comes out of a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Int(i64),
    Real(f64),
    /// Also what has no kind of its own here (decimals, moments, identifiers, documents): as the engine writes it.
    Text(String),
    Bytes(Vec<u8>),
}

impl Value {
    /// A single as the real of the fewest digits that is this one.
    pub fn single(number: f32) -> Value {
        Value::Real(number.to_string().parse().unwrap_or_else(|_| number.into()))
    }

    /// As an integer; sums arrive as whole reals from some engines.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Value::Int(n) => Some(*n),
            Value::Real(x) if x.fract() == 0.0 => Some(*x as i64),
            Value::Text(s) => s.trim().parse().ok(),
            _ => None,
        }
    }

    /// The value as an empty text, which keeps the memory of the text before.
    pub fn empty_text(&mut self) -> &mut String {
        if !matches!(self, Value::Text(_)) {
            *self = Value::Text(String::new());
        }
        let Value::Text(text) = self else { unreachable!("just made one") };
        text.clear();
        text
    }

    /// The value as no bytes, with the memory of the bytes before.
    pub fn no_bytes(&mut self) -> &mut Vec<u8> {
        if !matches!(self, Value::Bytes(_)) {
            *self = Value::Bytes(Vec::new());
        }
        let Value::Bytes(bytes) = self else { unreachable!("just made one") };
        bytes.clear();
        bytes
    }

    pub fn bytes(&self) -> u64 {
        match self {
            Value::Null => 0,
            Value::Int(_) | Value::Real(_) => 8,
            Value::Text(s) => s.len() as u64,
            Value::Bytes(bytes) => bytes.len() as u64,
        }
    }

    /// As a person reads it; `None` for NULL. Bytes that are a text are read as one, others in hexadecimal digits.
    pub fn into_text(self) -> Option<String> {
        match self {
            Value::Null => None,
            Value::Int(n) => Some(n.to_string()),
            Value::Real(x) => Some(x.to_string()),
            Value::Text(s) => Some(s.trim_end().to_string()),
            Value::Bytes(bytes) => Some(match String::from_utf8(bytes) {
                Ok(text) => text.trim_end().to_string(),
                Err(error) => error.as_bytes().iter().fold("0x".to_string(), |text, byte| format!("{text}{byte:02x}")),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_is_as_short_as_it_was_written() {
        for number in [0.1f32, -2.5e-30, 3.0, f32::MAX, f32::NAN] {
            let Value::Real(real) = Value::single(number) else { panic!("{number} is no real") };
            assert_eq!((real as f32).to_bits(), number.to_bits());
        }
        assert_eq!(Value::single(0.1), Value::Real(0.1));
    }
}
