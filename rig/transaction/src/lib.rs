//! The contract between sessions, workloads and terminals: what a transaction asks of an engine, and how it ends.
//!
//! A session implements [`Session`], a workload [`Workload`] and [`Script`]; a terminal draws a script's transactions and
//! attempts them through a [`Client`]. None of the three knows another: all know this.

mod acknowledged;
mod bulk;
mod client;
mod dialect;
mod error;
mod load;
mod script;
mod session;
mod value;
mod waiting;
mod workload;

pub use acknowledged::{Acknowledged, KINDS_MAX};
pub use bulk::{Bulk, OneByOne};
pub use client::{Client, Sampled};
pub use dialect::{Dialect, Procedures};
pub use error::{failed, garbled, Class, Outcome, SessionError};
pub use load::{LoadContext, Open};
pub use script::{Attempt, Drawn, Ended, Refused, Rng, Script};
pub use session::{await_socket, readable, wait, Request, Session, Sink, Statement};
pub use value::Value;
pub use waiting::{sleep_until, wait_for_nothing, wait_for_socket, waits_for, Wait};
pub use workload::{Growing, KindSpec, Seat, Workload};
