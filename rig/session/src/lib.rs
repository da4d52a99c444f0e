//! One client session of an engine, behind the trait that every engine answers to.

mod firebird;
#[cfg(test)]
mod hostile;
mod mysql;
mod postgres;
mod registry;
mod socket;
mod sqlite;
mod tls;

pub use registry::{database, dialects, samples, Database};
pub use sqlite::Library as SqliteLibrary;

use registry::{known, Known};

/// The registry: one line an engine.
const ENGINES: &[Known] =
    &[known::<sqlite::Sqlite>(), known::<firebird::Firebird>(), known::<postgres::Postgres>(), known::<mysql::Mysql>()];
