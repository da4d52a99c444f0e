//! One client session of an engine, behind the trait that every engine answers to.

mod engine;
mod firebird;
#[cfg(test)]
mod hostile;
mod mysql;
mod postgres;
mod registry;
mod socket;
mod sqlite;
mod tls;

pub use engine::Database;
pub use registry::{database, dialects, samples};
pub use sqlite::Library as SqliteLibrary;
