//! A step of a job that asks an engine, and its failure in words.

use protocol::events::{Halted, Step};
use protocol::{Inspection, Setting};
use transaction::{Outcome, Session, Value};

/// Puts what was being done beside an engine's error.
pub fn doing<T>(what: &str, outcome: Outcome<T>) -> Step<T> {
    outcome.map_err(|error| Halted::Failed { doing: what.to_string(), message: error.message })
}

pub fn inspect(session: &mut dyn Session, questions: &[Inspection]) -> Step<Vec<Setting>> {
    let mut settings = Vec::new();
    for question in questions {
        let rows = doing(&format!("reading a setting ({})", question.sql), session.rows(&question.sql))?;
        if question.name.is_empty() {
            settings.extend(rows.into_iter().filter_map(|row| {
                let mut cells = row.into_iter().map(Value::into_text);
                Some(Setting { name: cells.next()??, value: cells.next()? })
            }));
        } else {
            let value = rows.into_iter().next().and_then(|row| row.into_iter().next()).and_then(Value::into_text);
            settings.push(Setting { name: question.name.clone(), value });
        }
    }
    Ok(settings)
}
