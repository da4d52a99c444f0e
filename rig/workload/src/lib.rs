//! Workloads: schema, load, transactions, consistency conditions. Each is a module with its line in `registry.rs`; SQL that
//! differs by engine lies in files beside it.

mod commits;
mod common;
mod history;
mod iud;
mod kind;
mod maintenance;
mod numbered;
mod oltp;
mod oltp_emul;
mod orders;
mod own;
mod registry;
mod replay;
mod scan;
mod sql;
mod tpcb;
mod tpcc;

pub use own::Description;
pub use registry::{again, describe, of, samples};
