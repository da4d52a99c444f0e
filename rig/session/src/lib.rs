//! One client session of an engine, behind the trait that every engine answers to.

mod fakelite;
mod firebird;
mod mysql;
mod postgres;
mod registry;
mod socket;
mod sqlite;

pub use registry::{database, dialects, samples, Database};

use registry::{known, Known};

/// The registry: one line an engine.
const ENGINES: &[Known] = &[
    known::<sqlite::Sqlite>(),
    known::<firebird::Firebird>(),
    known::<postgres::Postgres>(),
    known::<mysql::Mysql>(),
    known::<fakelite::Fakelite>(),
];
