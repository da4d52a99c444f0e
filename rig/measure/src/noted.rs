//! Transactions noted one by one, while something beside the terminals watches the engine.

use serde::{Deserialize, Serialize};

/// One transaction as its terminal saw it; times of CLOCK_MONOTONIC.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Noted {
    pub tid: u32,
    pub terminal: u32,
    pub begin_ns: u64,
    /// When the commit was asked for; `None` where the transaction's own statement commits.
    pub commit_ns: Option<u64>,
    pub end_ns: u64,
}
