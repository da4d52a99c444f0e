//! The contract between sessions, workloads and terminals: what a transaction asks of an engine, and how it ends.
//!
//! A session implements [`Session`], a workload [`Workload`] and [`Script`]; a terminal draws a script's transactions and
//! attempts them through a [`Client`]. None of the three knows another: all know this.

mod acknowledged;
mod at_work;
mod client;
mod dialect;
mod error;
mod load;
mod mix;
mod per_transaction;
mod script;
mod session;
mod value;
mod waiting;
mod workload;

pub use acknowledged::{Acknowledged, Units, KINDS_MAX};
pub use at_work::AtWork;
pub use client::{Client, Pipeline, Sampled};
pub use dialect::{Dialect, Procedures};
pub use error::{failed, garbled, Class, Outcome, Refused, SessionError};
pub use load::{LoadContext, NumberedTable, Open};
pub use mix::Mix;
pub use per_transaction::{Inspect, Lasts, OpenSession, Opened, PerTransaction};
pub use script::{Attempt, Drawn, Ended, Rng, Script};
pub use session::{
    as_many_as_parts, as_many_parameters, as_many_values, await_socket, joined, not_alone, readable, unfolded, wait,
    Bulk, Maintenance, ManyRows, Markers, NamedSink, NumberedSink, OneByOne, Operation, Performed, Request, Scripted,
    Session, Sink, Statement, TableDigest,
};
pub use value::Value;
pub use waiting::{sleep_unless, sleep_until, wait_for_nothing, wait_for_socket, waits_for, Wait};
pub use workload::{Growing, KindSpec, Seat, Workload};
