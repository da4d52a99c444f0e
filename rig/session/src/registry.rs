//! What an engine brings to have a session of its own, and how the one that a target names is found.

use crate::ENGINES;
use protocol::{read_fields, write_fields, Fields, Target};
use serde::de::DeserializeOwned;
use serde::Serialize;
use transaction::{Dialect, Outcome, Session};

/// An engine's session, as its module defines it.
pub trait Engine: Session + Sized + 'static {
    /// By which a target names the engine.
    const NAME: &'static str;
    const DIALECT: &'static Dialect;

    /// The fields of a target: where the database is, and how a session works with it.
    type Target: Serialize + DeserializeOwned + Send + Sync;

    fn open(target: &Self::Target) -> Outcome<Self>;

    /// Targets with every field filled.
    fn samples() -> Vec<Self::Target>;
}

/// A database to open sessions to.
pub trait Database: Send + Sync {
    fn open(&self) -> Outcome<Box<dyn Session>>;
    /// The SQL of its engine, known before a session is open.
    fn dialect(&self) -> &'static Dialect;
    /// The target that names it, as its engine's module writes it.
    fn target(&self) -> Target;
}

struct Of<E: Engine>(E::Target);

impl<E: Engine> Database for Of<E> {
    fn open(&self) -> Outcome<Box<dyn Session>> {
        Ok(Box::new(E::open(&self.0)?))
    }

    fn dialect(&self) -> &'static Dialect {
        E::DIALECT
    }

    fn target(&self) -> Target {
        Target { engine: E::NAME.to_string(), fields: write_fields(&self.0) }
    }
}

pub struct Known {
    name: &'static str,
    dialect: &'static Dialect,
    read: fn(&Fields) -> Result<Box<dyn Database>, String>,
    samples: fn() -> Vec<Target>,
}

pub const fn known<E: Engine>() -> Known {
    Known {
        name: E::NAME,
        dialect: E::DIALECT,
        read: |fields| Ok(Box::new(Of::<E>(read_fields(E::NAME, fields)?))),
        samples: || E::samples().into_iter().map(|target| Of::<E>(target).target()).collect(),
    }
}

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
