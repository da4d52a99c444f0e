//! One client session of an engine, behind the trait that every engine answers to.

mod engine;
mod firebird;
#[cfg(test)]
mod hostile;
mod mysql;
mod postgres;
mod socket;
mod sqlite;
mod tls;

pub use engine::Database;
pub use sqlite::Library as SqliteLibrary;

use engine::{known, Known};
use protocol::Target;
use transaction::Dialect;

/// The registry: one line an engine.
const ENGINES: &[Known] =
    &[known::<sqlite::Sqlite>(), known::<firebird::Firebird>(), known::<postgres::Postgres>(), known::<mysql::Mysql>()];

/// The database that a target names; an error says what in the target is not understood.
pub fn database(target: &Target) -> Result<Box<dyn Database>, String> {
    let Some(engine) = ENGINES.iter().find(|engine| engine.name == target.engine) else {
        let names: Vec<_> = ENGINES.iter().map(|engine| engine.name).collect();
        return Err(format!("the engine {} is none of {}", target.engine, names.join(", ")));
    };
    (engine.read)(&target.fields)
}

/// Targets of every engine, every field filled.
pub fn samples() -> Vec<Target> {
    ENGINES.iter().flat_map(|engine| (engine.samples)()).collect()
}

pub fn dialects() -> impl Iterator<Item = &'static Dialect> {
    ENGINES.iter().map(|engine| engine.dialect)
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::Fields;

    #[test]
    fn every_sample_is_read_and_written_as_it_was() {
        for target in samples() {
            assert_eq!(database(&target).map(|database| database.target()), Ok(target.clone()));
        }
    }

    #[test]
    fn what_an_engine_does_not_know_or_lacks_is_refused() {
        let refused = |target: &Target| database(target).err().unwrap_or_else(|| panic!("{target:?} is taken"));
        for target in samples() {
            let mut more = target.clone();
            more.fields.insert("surplus".to_string(), 1.into());
            let error = refused(&more);
            assert!(error.starts_with(&format!("{}: unknown field `surplus`", target.engine)), "{error}");
            let mut none = target.clone();
            none.fields.clear();
            let error = refused(&none);
            assert!(error.starts_with(&format!("{}: missing field", target.engine)), "{error}");
        }
        let oracle = Target { engine: "oracle".to_string(), fields: Fields::new() };
        let error = refused(&oracle);
        let names = error.strip_prefix("the engine oracle is none of ").unwrap();
        assert!(names.split(", ").eq(ENGINES.iter().map(|engine| engine.name)), "{error}");
    }

    #[test]
    fn each_dialect_has_a_name_of_its_own() {
        let mut names: Vec<_> = dialects().map(|dialect| dialect.name).collect();
        let many = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), many);
    }
}
