//! One step: writers that each write a block, make it durable, and begin again.

use super::blocks::Blocks;
use measure::Latencies;
use protocol::{Extent, FlushMethod, Histogram, ProbePattern, ProbeStep};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::Barrier;
use std::time::{Duration, Instant};

const NEWS_EVERY: Duration = Duration::from_secs(1);
const CHUNK: usize = 1 << 20;

/// How a [`FlushMethod`] is asked of the system.
trait Flush {
    /// Of open(2).
    fn flags(self) -> i32;
    /// Whether its own call follows each write.
    fn calls(self) -> bool;
    fn call(self, file: &File, offset: u64, bytes: u64) -> io::Result<()>;
}

impl Flush for FlushMethod {
    fn flags(self) -> i32 {
        match self {
            FlushMethod::Direct => libc::O_DIRECT,
            FlushMethod::Dsync => libc::O_DSYNC,
            FlushMethod::DirectDsync => libc::O_DIRECT | libc::O_DSYNC,
            _ => 0,
        }
    }

    fn calls(self) -> bool {
        matches!(self, FlushMethod::SyncFileRange | FlushMethod::Fsync | FlushMethod::Fdatasync)
    }

    fn call(self, file: &File, offset: u64, bytes: u64) -> io::Result<()> {
        match self {
            FlushMethod::Fsync => file.sync_all(),      // fsync(2)
            FlushMethod::Fdatasync => file.sync_data(), // fdatasync(2)
            FlushMethod::SyncFileRange => written_back(file, offset, bytes),
            _ => Ok(()),
        }
    }
}

fn written_back(file: &File, offset: u64, bytes: u64) -> io::Result<()> {
    let wait = libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    // SAFETY: the descriptor is open, and nothing is read from or written to our memory.
    match unsafe { libc::sync_file_range(file.as_raw_fd(), offset as i64, bytes as i64, wait) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

pub struct WriteTarget {
    /// The files of writers, one each, or one that all share. On a device every path is the device.
    pub paths: Vec<PathBuf>,
    /// Where in its file each writer may write; an append goes from 0 to its end.
    pub from: Vec<u64>,
    pub bytes: u64,
}

pub struct Ended {
    pub writes: u64,
    pub measured_s: f64,
    pub latency: Histogram,
    pub flush: Histogram,
}

struct Shared<'a> {
    step: &'a ProbeStep,
    bytes: u64,
    seconds: f64,
    tickets: AtomicI64,
    stop: AtomicBool,
    /// Blocks given out of the one file that is appended to.
    appended: AtomicU64,
    done: Vec<AtomicU64>,
    barrier: Barrier,
}

struct Record {
    latency: Latencies,
    flush: Latencies,
    began: Instant,
    ended: Instant,
}

/// Runs `step`; `blocks` holds one row of them a writer. `news` hears the writes so far about once a second.
pub fn run(
    step: &ProbeStep,
    target: &WriteTarget,
    blocks: &mut [Blocks],
    news: &mut dyn FnMut(u64),
) -> io::Result<Ended> {
    let places = target.paths.iter().zip(&target.from);
    let files: Vec<File> =
        places.map(|(path, &from)| open(step, path, from, target.bytes)).collect::<io::Result<_>>()?;
    let writers = step.writers as usize;
    let (seconds, tickets) = match step.extent {
        Extent::Duration { seconds } => (seconds, i64::MAX),
        Extent::Count { transactions } => (f64::INFINITY, transactions as i64),
    };
    let shared = Shared {
        step,
        bytes: target.bytes,
        seconds,
        tickets: AtomicI64::new(tickets),
        stop: AtomicBool::new(false),
        appended: AtomicU64::new(0),
        done: (0..writers).map(|_| AtomicU64::new(0)).collect(),
        barrier: Barrier::new(writers),
    };
    let records: Vec<io::Result<Record>> = std::thread::scope(|scope| {
        let (ending, ended) = mpsc::channel::<()>();
        let at_work: Vec<_> = blocks[..writers]
            .iter_mut()
            .enumerate()
            .map(|(writer, blocks)| {
                let (shared, file, from) = (&shared, &files[writer % files.len()], target.from[writer % files.len()]);
                let ending = ending.clone();
                scope.spawn(move || {
                    let record = write(writer as u64, file, from, blocks, shared);
                    drop(ending);
                    record.inspect_err(|_| shared.stop.store(true, Ordering::Relaxed))
                })
            })
            .collect();
        drop(ending);
        while ended.recv_timeout(NEWS_EVERY) == Err(RecvTimeoutError::Timeout) {
            news(shared.done.iter().map(|done| done.load(Ordering::Relaxed)).sum());
        }
        at_work.into_iter().map(|writer| writer.join().expect("a writer does not panic")).collect()
    });
    let records: Vec<Record> = records.into_iter().collect::<io::Result<_>>()?;
    settle(step, &files)?;
    Ok(summed(&records))
}

fn open(step: &ProbeStep, path: &PathBuf, from: u64, bytes: u64) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(!step.pattern.reads()).read(step.pattern.reads()).custom_flags(step.method.flags());
    if step.pattern == ProbePattern::Append {
        let file = options.create(true).truncate(true).open(path)?;
        file.sync_all()?;
        return Ok(file);
    }
    let file = options.open(path)?;
    if step.method.flags() & libc::O_DIRECT == 0 {
        // What was written past the file cache is not in it, and blocks smaller than a page would have to be read first.
        let mut read = vec![0; (bytes as usize).min(CHUNK)];
        let cached = File::open(path)?;
        for at in (0..bytes).step_by(CHUNK) {
            let length = (bytes - at).min(CHUNK as u64) as usize;
            cached.read_exact_at(&mut read[..length], from + at)?;
        }
    }
    Ok(file)
}

fn write(writer: u64, file: &File, from: u64, blocks: &mut Blocks, shared: &Shared) -> io::Result<Record> {
    let step = shared.step;
    let bytes = u64::from(step.block_bytes);
    let room = shared.bytes / bytes;
    let stride = if step.one_file { u64::from(step.writers) } else { 1 };
    let own = if step.one_file { writer } else { 0 };
    let (mut latency, mut flush) = (Latencies::new(), Latencies::new());
    let mut done = 0;
    shared.barrier.wait();
    let began = Instant::now();
    let mut ended = began;
    while !shared.stop.load(Ordering::Relaxed)
        && (ended - began).as_secs_f64() < shared.seconds
        && shared.tickets.fetch_sub(1, Ordering::Relaxed) > 0
    {
        let number = match (step.pattern, step.one_file) {
            (ProbePattern::Append, false) => done,
            (ProbePattern::Append, true) => shared.appended.fetch_add(1, Ordering::Relaxed),
            (pattern, _) if pattern.is_random() => blocks.lot() % room,
            _ => (done * stride + own) % room,
        };
        if number >= room {
            break;
        }
        let offset = from + number * bytes;
        let block = blocks.next(step.block_bytes as usize);
        let start = Instant::now();
        if step.pattern.reads() {
            file.read_exact_at(block, offset)?;
        } else {
            file.write_all_at(block, offset)?;
        }
        if step.method.calls() {
            let written = Instant::now();
            step.method.call(file, offset, bytes)?;
            ended = Instant::now();
            flush.record((ended - written).as_nanos() as u64);
        } else {
            ended = Instant::now();
        }
        latency.record((ended - start).as_nanos() as u64);
        done += 1;
        shared.done[writer as usize].store(done, Ordering::Relaxed);
    }
    Ok(Record { latency, flush, began, ended })
}

/// Leaves nothing that would be written back during the next step.
fn settle(step: &ProbeStep, files: &[File]) -> io::Result<()> {
    for file in files {
        if step.pattern == ProbePattern::Append {
            file.set_len(0)?;
        }
        if !step.pattern.reads() {
            file.sync_all()?;
        }
    }
    Ok(())
}

fn summed(records: &[Record]) -> Ended {
    let (mut latency, mut flush) = (Latencies::new(), Latencies::new());
    for record in records {
        latency.add(&record.latency);
        flush.add(&record.flush);
    }
    let began = records.iter().map(|record| record.began).min().expect("a step has a writer");
    let ended = records.iter().map(|record| record.ended).max().expect("a step has a writer");
    let (latency, flush) = (latency.to_protocol(), flush.to_protocol());
    Ended { writes: latency.count, measured_s: (ended - began).as_secs_f64(), latency, flush }
}
