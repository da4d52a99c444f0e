//! What an engine brings to have its own session.

use protocol::{read_fields, write_fields, Fields, Target};
use serde::de::DeserializeOwned;
use serde::Serialize;
use transaction::{Dialect, Outcome, Session};

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
    pub name: &'static str,
    pub dialect: &'static Dialect,
    pub read: fn(&Fields) -> Result<Box<dyn Database>, String>,
    pub samples: fn() -> Vec<Target>,
}

pub const fn known<E: Engine>() -> Known {
    Known {
        name: E::NAME,
        dialect: E::DIALECT,
        read: |fields| Ok(Box::new(Of::<E>(read_fields(E::NAME, fields)?))),
        samples: || E::samples().into_iter().map(|target| Of::<E>(target).target()).collect(),
    }
}
