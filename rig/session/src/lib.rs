//! One client session of an engine, behind the trait that every engine answers to.

mod firebird;
mod mysql;
mod postgres;
mod socket;
mod sqlite;

use protocol::Target;
use transaction::{Dialect, Outcome, Session};

/// Opens a session.
pub fn open(target: &Target) -> Outcome<Box<dyn Session>> {
    match target {
        Target::Sqlite { path, setup, busy_timeout_ms } => {
            Ok(Box::new(sqlite::Sqlite::open(path, setup, *busy_timeout_ms)?))
        }
        Target::Firebird { .. } => Ok(Box::new(firebird::Firebird::open(target)?)),
        Target::Postgres { .. } => Ok(Box::new(postgres::Postgres::open(target)?)),
        Target::Mysql { .. } => Ok(Box::new(mysql::Mysql::open(target)?)),
    }
}

/// The SQL that a target's engine speaks, known before a session is open.
pub fn dialect(target: &Target) -> Dialect {
    match target {
        Target::Sqlite { .. } => Dialect::Sqlite,
        Target::Firebird { .. } => Dialect::Firebird,
        Target::Postgres { .. } => Dialect::Postgres,
        Target::Mysql { .. } => Dialect::Mysql,
    }
}
