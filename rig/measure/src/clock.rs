//! The clock that the lab, the kernel's tracing and the rig have in common, and processor time.

/// Nanoseconds of CLOCK_MONOTONIC, which the lab's `time.monotonic_ns` reads too; see clock_gettime(2).
pub fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// User and system seconds of the whole process so far; see getrusage(2).
pub fn process_s() -> (f64, f64) {
    // SAFETY: the struct is plain numbers, and the call only writes into it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    (seconds(usage.ru_utime), seconds(usage.ru_stime))
}

/// Processor time of the calling thread in nanoseconds; see clock_gettime(2).
pub fn thread_ns() -> u64 {
    // SAFETY: the struct is plain numbers, and the call only writes into it.
    let time = unsafe {
        let mut time: libc::timespec = std::mem::zeroed();
        libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time);
        time
    };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// What one reading of the thread's clock costs that thread: the median of many.
pub fn clock_read_ns() -> f64 {
    let mut gaps: Vec<u64> = (0..2001)
        .map(|_| {
            let before = thread_ns();
            thread_ns() - before
        })
        .collect();
    gaps.sort_unstable();
    gaps[gaps.len() / 2] as f64
}
