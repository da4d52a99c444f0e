//! What every measurement of the rig shares: the clock, processor time, histograms of latencies.

mod clock;
mod latencies;

pub use clock::{clock_read_ns, monotonic_ns, process_s, thread_ns};
pub use latencies::Latencies;

use serde::{Deserialize, Serialize};

/// One transaction as its terminal saw it, noted while something beside the terminals watches the engine; times of
/// CLOCK_MONOTONIC.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Noted {
    pub tid: u32,
    pub terminal: u32,
    pub begin_ns: u64,
    /// When the commit was asked for; `None` where the transaction's own statement commits.
    pub commit_ns: Option<u64>,
    pub end_ns: u64,
}
