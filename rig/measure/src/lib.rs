//! What every measurement of the rig shares: the clock, processor time, histograms of latencies.

mod clock;
mod cpu;
mod latencies;
mod noted;

pub use clock::monotonic_ns;
pub use cpu::{clock_read_ns, process_s, thread_ns};
pub use latencies::Latencies;
pub use noted::Noted;
