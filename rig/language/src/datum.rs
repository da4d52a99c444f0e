//! A value of a variable or an expression.

use std::fmt::{Display, Formatter, Result};

/// pgbench's types, and text beside them.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Datum {
    /// Of a variable that nothing was assigned to yet. No expression has this value.
    #[default]
    Unset,
    Null,
    Bool(bool),
    Int(i64),
    Real(f64),
    Text(String),
}

/// What cannot be worked out, in plain words.
pub type Worked<T> = std::result::Result<T, String>;

impl Datum {
    /// The value of a text that a query has answered or a user has written: a number where it is one.
    pub fn read(text: &str) -> Datum {
        let digits = text.strip_prefix('-').unwrap_or(text);
        if digits.starts_with(|first: char| first.is_ascii_digit()) || digits.starts_with('.') {
            // "007" is a text: as a number it would lose its zeros.
            let plain = digits == "0" || !digits.starts_with('0') || digits.starts_with("0.");
            if let (Ok(n), true) = (text.parse(), plain) {
                return Datum::Int(n);
            }
            if let (Ok(x), true) = (text.parse(), plain) {
                return Datum::Real(x);
            }
        }
        Datum::Text(text.to_string())
    }

    /// As arithmetic sees it: a text that is written as a number is one.
    pub fn number(self) -> Datum {
        match self {
            Datum::Text(text) => match Datum::read(&text) {
                Datum::Text(_) => Datum::Text(text),
                number => number,
            },
            other => other,
        }
    }

    pub fn int(&self) -> Worked<i64> {
        match self {
            Datum::Int(n) => Ok(*n),
            Datum::Real(x) => whole(*x),
            Datum::Text(text) => match Datum::read(text) {
                Datum::Text(_) => Err(format!("{} is no whole number", self.shown())),
                number => number.int(),
            },
            Datum::Unset | Datum::Null | Datum::Bool(_) => Err(format!("{} is no whole number", self.shown())),
        }
    }

    pub fn real(&self) -> Worked<f64> {
        match self {
            Datum::Int(n) => Ok(*n as f64),
            Datum::Real(x) => Ok(*x),
            Datum::Text(text) => text.trim().parse().map_err(|_| format!("{} is no number", self.shown())),
            Datum::Unset | Datum::Null | Datum::Bool(_) => Err(format!("{} is no number", self.shown())),
        }
    }

    pub fn is_real(&self) -> bool {
        matches!(self, Datum::Real(_))
    }

    /// Of a condition: null is neither.
    pub fn truth(&self) -> Worked<Option<bool>> {
        match self {
            Datum::Unset | Datum::Null => Ok(None),
            Datum::Bool(truth) => Ok(Some(*truth)),
            Datum::Int(n) => Ok(Some(*n != 0)),
            Datum::Real(x) => Ok(Some(*x != 0.0)),
            Datum::Text(text) => match text.to_ascii_lowercase().as_str() {
                "t" | "true" | "yes" | "on" => Ok(Some(true)),
                "f" | "false" | "no" | "off" => Ok(Some(false)),
                _ => Err(format!("{} is neither true nor false", self.shown())),
            },
        }
    }

    pub fn shown(&self) -> String {
        match self {
            Datum::Unset | Datum::Null => "null".to_string(),
            Datum::Text(text) => format!("'{}'", text.chars().take(40).collect::<String>()),
            other => other.to_string(),
        }
    }
}

impl Display for Datum {
    fn fmt(&self, out: &mut Formatter) -> Result {
        match self {
            Datum::Unset | Datum::Null => Ok(()),
            Datum::Bool(truth) => write!(out, "{truth}"),
            Datum::Int(n) => write!(out, "{n}"),
            Datum::Real(x) => write!(out, "{x}"),
            Datum::Text(text) => out.write_str(text),
        }
    }
}

/// The whole number next to it; of two, the even one.
pub fn whole(x: f64) -> Worked<i64> {
    let rounded = x.round_ties_even();
    // The largest double below 2^63 is far below it.
    if rounded >= -(2f64.powi(63)) && rounded < 2f64.powi(63) {
        Ok(rounded as i64)
    } else {
        Err(format!("{x} is out of the range of whole numbers"))
    }
}
