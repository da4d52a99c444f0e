//! One client session of an engine, behind the trait that every engine answers to.

mod firebird;
mod mysql;
mod postgres;
mod registry;
mod socket;
mod sqlite;

pub use registry::{database, dialects, samples, Database};
