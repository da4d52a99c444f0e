//! Between the script language's values and those of sessions.

use language::Datum;
use transaction::{Dialect, Value};

/// What a session is given for a value.
pub fn value(datum: &Datum, dialect: &Dialect) -> Value {
    match datum {
        Datum::Unset | Datum::Null => Value::Null,
        Datum::Bool(truth) if matches!(dialect.name, "mysql" | "sqlite") => Value::Int((*truth).into()),
        Datum::Bool(truth) => Value::Text(truth.to_string()),
        Datum::Int(n) => Value::Int(*n),
        Datum::Real(x) => Value::Real(*x),
        Datum::Text(text) => Value::Text(text.clone()),
    }
}

/// What a variable becomes of a value that a query has answered.
pub fn datum(value: &Value) -> Datum {
    match value {
        Value::Null => Datum::Null,
        Value::Int(n) => Datum::Int(*n),
        Value::Real(x) => Datum::Real(*x),
        Value::Text(text) => Datum::Text(text.clone()),
        Value::Bytes(bytes) => Datum::Text(String::from_utf8_lossy(bytes).into_owned()),
    }
}
