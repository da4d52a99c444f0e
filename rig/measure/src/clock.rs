//! The clock that the lab, the kernel's tracing and the rig have in common.

/// Nanoseconds of CLOCK_MONOTONIC, which the lab's `time.monotonic_ns` reads too; see clock_gettime(2).
pub fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
