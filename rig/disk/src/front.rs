//! The FUSE file: one thread for each request that may be under way, each with a buffer of its own.
//!
//! The loop driver above us is part of the kernel, and what it writes may be what the kernel writes back because memory is
//! short: nothing between a request and its answer may ask for memory, or both wait for ever. So the kernel's protocol is
//! spoken here, into buffers that are there from the start.

use super::log::Log;
use super::medium::{Medium, Region};
use super::model::{Disk, Finished, Ticket};
use super::through::Watch;
use super::wire::{self, Answer, Head};
use measure::monotonic_ns;
use rustix::event::{poll, PollFd, PollFlags};
use rustix::fs::{fcntl_getfl, fcntl_setfl, OFlags};
use std::ffi::CString;
use std::io::{self, Error};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Shown as the source of the mount.
pub const SOURCE: &str = "acidtest-disk";
const FUSE_DEV_IOC_CLONE: libc::Ioctl = 0x8004_e500u32 as libc::Ioctl;
const PAGE: usize = 4096;
/// Below that a sleep would take longer than it should.
const SLEEP_MIN_NS: u64 = 60_000;
const WAKES_LATE_NS: u64 = 20_000;
/// Of a disk that is not patient; and after a request of which size it is awake.
const AWAKE: Duration = Duration::from_micros(50);
const SMALL: usize = 64 << 10;
const STACK_BYTES: usize = 128 << 10;

/// A disk and what waits for it.
pub struct Served<M> {
    disk: Mutex<Disk<M>>,
    /// Signalled when power or faults have changed.
    changed: Condvar,
    /// Tells the flushes that only end writes with FUA, where somebody wants to know.
    watch: Mutex<Option<Watch>>,
    log: Option<Log>,
    size_bytes: u64,
    data_bytes: usize,
    began_ns: u64,
    /// How long a worker that is alone looks for the next request before it sleeps, after a small one.
    awake: Duration,
}

impl<M: Medium + Send + 'static> Served<M> {
    /// The disk's time began at `began_ns` of CLOCK_MONOTONIC, which the log's file says: acknowledgements are held
    /// against the log by that clock, to the nanosecond.
    pub fn new(
        disk: Disk<M>,
        log: Option<Log>,
        size_bytes: u64,
        data_bytes: usize,
        began_ns: u64,
        patient: bool,
    ) -> Arc<Self> {
        let changed = Condvar::new();
        Arc::new(Served {
            disk: Mutex::new(disk),
            changed,
            watch: Mutex::new(None),
            log,
            size_bytes,
            data_bytes,
            began_ns,
            awake: if patient { Duration::ZERO } else { AWAKE },
        })
    }

    pub fn now(&self) -> u64 {
        monotonic_ns() - self.began_ns
    }

    /// The disk, to be commanded. What waits for it is woken when the guard is dropped by [`Self::wake`].
    pub fn disk(&self) -> MutexGuard<'_, Disk<M>> {
        self.disk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn wake(&self) {
        self.changed.notify_all();
    }

    pub fn log(&self) -> Option<&Log> {
        self.log.as_ref()
    }

    /// From now on flushes that only end writes with FUA are told apart, by the block device over the file.
    pub fn watch(&self, device: (u32, u32)) -> anyhow::Result<()> {
        let mut watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        if !watch.as_ref().is_some_and(|watch| watch.is_over(device)) {
            *watch = Some(Watch::over(device)?);
        }
        Ok(())
    }

    /// Whether the flush that has just come only ends writes with FUA.
    fn only_writes_through(&self) -> bool {
        let mut watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        watch.as_mut().is_some_and(|watch| !watch.flush_was_asked())
    }

    /// Mounts the file system and serves it with so many threads.
    pub fn mount(self: &Arc<Self>, point: &Path, threads: usize) -> io::Result<()> {
        let first = open_device()?;
        mount(&first, point, self.data_bytes)?;
        let mut workers = Vec::new();
        for _ in 0..threads {
            workers.push(Worker::new(self, clone(&first)?)?);
        }
        // The first request, which settles sizes and flags, is answered before any other comes.
        let mut greeter = Worker::new(self, first)?;
        greeter.greet(threads)?;
        if let [alone] = &workers[..] {
            let flags = fcntl_getfl(&alone.device)?;
            fcntl_setfl(&alone.device, flags | OFlags::NONBLOCK)?;
        }
        for mut worker in workers {
            std::thread::Builder::new().stack_size(STACK_BYTES).spawn(move || worker.serve())?;
        }
        std::mem::forget(greeter); // a connection lives as long as one of its descriptors
        Ok(())
    }

    /// Begins a request, waits as long as the drive would take, and finishes it.
    fn take(&self, begin: impl FnMut(&mut Disk<M>, u64) -> Option<Ticket>) -> Finished {
        self.take_logged(begin, |_, _, _| {}, |_, _, _| {})
    }

    fn take_logged(
        &self,
        mut begin: impl FnMut(&mut Disk<M>, u64) -> Option<Ticket>,
        begun: impl FnOnce(&Log, &Ticket, u64),
        settled: impl FnOnce(&Log, u64, u64),
    ) -> Finished {
        let mut disk = self.disk();
        let ticket = loop {
            let now = self.now();
            match begin(&mut disk, now) {
                Some(ticket) => break ticket,
                None => {
                    let left = Duration::from_nanos(disk.fails_at().saturating_sub(now));
                    disk = self.changed.wait_timeout(disk, left).unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        };
        let covers = self.log.as_ref().map(|log| {
            let covers = log.records();
            begun(log, &ticket, self.now());
            covers
        });
        while disk.is_alive(&ticket) {
            let left = disk.waits_until(&ticket).saturating_sub(self.now());
            if left == 0 {
                break;
            } else if left > SLEEP_MIN_NS {
                let sleep = Duration::from_nanos(left - WAKES_LATE_NS);
                disk = self.changed.wait_timeout(disk, sleep).unwrap_or_else(PoisonError::into_inner).0;
            } else {
                drop(disk);
                while self.now() < ticket.done_at {
                    std::thread::yield_now();
                }
                disk = self.disk();
            }
        }
        let now = self.now();
        let finished = disk.finish(&ticket, now);
        if let (Some(log), Some(covers), Finished::Settled) = (&self.log, covers, finished) {
            settled(log, covers, now);
        }
        finished
    }
}

/// A request as it comes from the kernel, placed so that the bytes of a write begin on a page; and an answer with data,
/// its bytes in the same place.
struct Buffer(Region);

impl Buffer {
    fn new(data_bytes: usize) -> io::Result<Self> {
        Ok(Buffer(Region::new(PAGE + data_bytes + PAGE)?))
    }

    fn request(&mut self) -> &mut [u8] {
        &mut self.0[PAGE - wire::WRITE_HEAD..]
    }

    fn data(&mut self, length: usize) -> &mut [u8] {
        &mut self.0[PAGE..PAGE + length]
    }

    fn answer(&mut self, head: &[u8], length: usize) -> &[u8] {
        let start = PAGE - head.len();
        self.0[start..PAGE].copy_from_slice(head);
        self.0[start..start + 4].copy_from_slice(&((head.len() + length) as u32).to_ne_bytes());
        &self.0[start..PAGE + length]
    }
}

struct Worker<M> {
    served: Arc<Served<M>>,
    device: OwnedFd,
    buffer: Buffer,
}

impl<M: Medium + Send + 'static> Worker<M> {
    fn new(served: &Arc<Served<M>>, device: OwnedFd) -> io::Result<Self> {
        let buffer = Buffer::new(served.data_bytes)?;
        Ok(Worker { served: Arc::clone(served), device, buffer })
    }

    fn greet(&mut self, threads: usize) -> io::Result<()> {
        let length = read(&self.device, self.buffer.request())?;
        let request = &self.buffer.request()[..length];
        let head = wire::head(request);
        if head.opcode != wire::INIT {
            return Err(Error::other(format!("the kernel began with {} instead of a greeting", head.opcode)));
        }
        let mut answer =
            Answer::new(head.unique, 0).initialised(request, self.served.data_bytes, threads.max(12) as u16);
        write(&self.device, answer.finished())
    }

    /// Serves until the connection ends.
    ///
    /// A worker that is alone does not block at once after a small request: a flush follows its write within microseconds,
    /// and to be woken takes longer. Whoever else wants the processor has it meanwhile.
    fn serve(&mut self) {
        let mut sleeps_at = Instant::now();
        loop {
            match read(&self.device, self.buffer.request()) {
                Ok(length) => {
                    self.answer(length);
                    sleeps_at = Instant::now() + if length <= SMALL { self.served.awake } else { Duration::ZERO };
                }
                Err(error) => match error.raw_os_error() {
                    Some(libc::EAGAIN) if Instant::now() < sleeps_at => std::thread::yield_now(),
                    Some(libc::EAGAIN) => wait_for(&self.device),
                    Some(libc::EINTR | libc::ENOENT) => {}
                    _ => return,
                },
            }
        }
    }

    fn answer(&mut self, length: usize) {
        let served = Arc::clone(&self.served);
        let request = &self.buffer.request()[..length];
        let head = wire::head(request);
        let Head { unique, node, .. } = head;
        let size = served.size_bytes;
        let mut answer = match head.opcode {
            wire::READ => {
                let (at, length) = within(wire::range(request), size);
                let data = self.buffer.data(length);
                let finished = served.take(|disk, now| disk.begin_read(at, data, now));
                match finished {
                    Finished::Failed(errno) => Answer::new(unique, errno),
                    _ => {
                        let mut head = Answer::new(unique, 0);
                        let answer = self.buffer.answer(head.finished(), length);
                        send(&self.device, answer);
                        return;
                    }
                }
            }
            wire::WRITE => {
                let range = wire::range(request);
                let (at, length) = within(range, size);
                if length < range.1 as usize {
                    Answer::new(unique, libc::ENOSPC)
                } else {
                    let data: &[u8] = self.buffer.data(length);
                    let finished = served.take_logged(
                        |disk, now| disk.begin_write(at, data, now),
                        |log, ticket, now| {
                            if ticket.taken() {
                                log.write(at, data, now);
                            }
                        },
                        |_, _, _| {},
                    );
                    match finished {
                        Finished::Failed(errno) => Answer::new(unique, errno),
                        _ => Answer::new(unique, 0).u32(length as u32).u32(0),
                    }
                }
            }
            wire::FSYNC => {
                let write_through = served.only_writes_through();
                let settled = |log: &Log, covers, now| log.flush(covers, now);
                match served.take_logged(|disk, now| disk.begin_flush(write_through, now), |_, _, _| {}, settled) {
                    Finished::Failed(errno) => Answer::new(unique, errno),
                    _ => Answer::new(unique, 0),
                }
            }
            wire::LOOKUP if wire::name(request) == wire::IMAGE_NAME.as_bytes() => {
                Answer::new(unique, 0).entry(wire::IMAGE, size)
            }
            wire::LOOKUP => Answer::new(unique, libc::ENOENT),
            wire::GETATTR | wire::SETATTR => Answer::new(unique, 0).attr(node, size),
            wire::OPEN | wire::OPENDIR => Answer::new(unique, 0).opened(node),
            wire::READDIR if wire::range(request).0 == 0 => Answer::new(unique, 0).directory(),
            wire::READDIR | wire::RELEASE | wire::RELEASEDIR | wire::ACCESS | wire::DESTROY => Answer::new(unique, 0),
            wire::FORGET | wire::BATCH_FORGET | wire::INTERRUPT => return, // want no answer
            // The kernel does without. Above all without STATFS: where that fails, the loop driver offers no discard, which
            // it would else take back at the first attempt, and with it reset the queue.
            _ => Answer::new(unique, libc::ENOSYS),
        };
        send(&self.device, answer.finished());
    }
}

/// What can go wrong is that nobody waits for it any more.
fn send(to: &OwnedFd, answer: &[u8]) {
    let _ = write(to, answer);
}

/// The part of a range that lies on the disk.
fn within((at, length): (u64, u32), size: u64) -> (u64, usize) {
    (at, u64::from(length).min(size.saturating_sub(at)) as usize)
}

fn open_device() -> io::Result<OwnedFd> {
    // SAFETY: a constant path, and the descriptor is ours.
    unsafe {
        let descriptor = libc::open(c"/dev/fuse".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
        if descriptor < 0 {
            return Err(Error::last_os_error());
        }
        Ok(OwnedFd::from_raw_fd(descriptor))
    }
}

/// A further descriptor of the same connection: an answer goes back through the one that the request came through.
fn clone(first: &OwnedFd) -> io::Result<OwnedFd> {
    let descriptor = open_device()?;
    let of: u32 = first.as_raw_fd() as u32;
    // SAFETY: the ioctl reads one number.
    if unsafe { libc::ioctl(descriptor.as_raw_fd(), FUSE_DEV_IOC_CLONE, &raw const of) } < 0 {
        return Err(Error::last_os_error());
    }
    Ok(descriptor)
}

fn mount(device: &OwnedFd, point: &Path, data_bytes: usize) -> io::Result<()> {
    let source = CString::new(SOURCE)?;
    let point = CString::new(std::os::unix::ffi::OsStrExt::as_bytes(point.as_os_str()))?;
    let options = CString::new(format!(
        "fd={},rootmode=40000,user_id=0,group_id=0,allow_other,max_read={data_bytes}",
        device.as_raw_fd()
    ))?;
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOATIME;
    let kind = c"fuse.acidtest".as_ptr();
    // SAFETY: every pointer is to a text that lives until the call is over.
    if unsafe { libc::mount(source.as_ptr(), point.as_ptr(), kind, flags, options.as_ptr().cast()) } != 0 {
        return Err(Error::last_os_error());
    }
    Ok(())
}

/// Waits until there is a request, or the connection ends.
fn wait_for(device: &OwnedFd) {
    let _ = poll(&mut [PollFd::new(device, PollFlags::IN)], None);
}

fn read(from: &OwnedFd, into: &mut [u8]) -> io::Result<usize> {
    Ok(rustix::io::read(from, into)?)
}

fn write(to: &OwnedFd, bytes: &[u8]) -> io::Result<()> {
    rustix::io::write(to, bytes)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::{Cache, BLOCK};
    use crate::medium::Memory;
    use crate::timing::Timing;
    use protocol::{DiskBattery, DiskTiming, DiskTimingName};
    use std::alloc::{GlobalAlloc, Layout, System};
    use std::cell::Cell;

    /// Counts what a thread asks of it.
    struct Counting;

    thread_local! {
        static ASKED: Cell<u64> = const { Cell::new(0) };
    }

    // SAFETY: the system's, which keeps what is promised; a counter that needs no memory and no destructor beside it.
    unsafe impl GlobalAlloc for Counting {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            ASKED.set(ASKED.get() + 1);
            System.alloc(layout)
        }

        unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
            System.dealloc(at, layout);
        }

        unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
            ASKED.set(ASKED.get() + 1);
            System.realloc(at, layout, size)
        }
    }

    #[global_allocator]
    static COUNTING: Counting = Counting;

    const SIZE: u64 = 1 << 22;

    /// A worker whose kernel is the other end of a socket that keeps messages apart, as the device does.
    fn worker(timing: &DiskTiming, capacity: usize, faults: &[&str], log: Option<Log>) -> (Worker<Memory>, OwnedFd) {
        let cache = Cache::new(Memory::new(SIZE).unwrap(), SIZE, BLOCK, SIZE as usize / BLOCK).unwrap();
        let timing = Timing::new(timing).unwrap();
        let mut disk = Disk::new(cache, capacity, DiskBattery::None, timing, 1);
        for fault in faults {
            disk.add_fault(fault.parse().unwrap()).unwrap();
        }
        let served = Served::new(disk, log, SIZE, 1 << 16, monotonic_ns(), false);
        use rustix::net::{socketpair, AddressFamily, SocketFlags, SocketType};
        let (ours, kernel) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::empty(), None).unwrap();
        (Worker::new(&served, ours).unwrap(), kernel)
    }

    /// struct fuse_in_header and what follows, as far as anybody looks at it.
    fn request(opcode: u32, at: u64, length: usize) -> Vec<u8> {
        let data = if opcode == wire::WRITE { length } else { 0 };
        let mut bytes = vec![7; wire::WRITE_HEAD + data];
        bytes[4..8].copy_from_slice(&opcode.to_ne_bytes());
        bytes[wire::IN_HEAD + 8..wire::IN_HEAD + 16].copy_from_slice(&at.to_ne_bytes());
        bytes[wire::IN_HEAD + 16..wire::IN_HEAD + 20].copy_from_slice(&(length as u32).to_ne_bytes());
        bytes
    }

    fn asked_by(worker: &mut Worker<Memory>, kernel: &OwnedFd, rounds: u64, answer: &mut [u8]) -> u64 {
        let requests: Vec<Vec<u8>> = (0..rounds)
            .flat_map(|n| {
                let at = n * 5 % 500 * BLOCK as u64;
                [
                    request(wire::WRITE, at, BLOCK),
                    request(wire::WRITE, at + 512, 7 * BLOCK),
                    request(wire::READ, at, 4 * BLOCK),
                    request(wire::FSYNC, 0, 0),
                ]
            })
            .collect();
        let before = ASKED.get();
        assert!(before > 0, "the requests have taken some");
        for request in &requests {
            write(kernel, request).unwrap();
            let length = read(&worker.device, worker.buffer.request()).unwrap();
            worker.answer(length);
            assert!(read(kernel, answer).unwrap() >= wire::OUT_HEAD);
        }
        ASKED.get() - before
    }

    const RULES: [&str; 4] = [
        "(rot 3 (and (or reads writes) (randomly 0.5)))",
        "(misdirect 8K (every 3))",
        "(fail ENOSPC (and writes (not (range 0 1M)) (after 5)))",
        "(delay 1us (or flushes (nth 7)))",
    ];

    #[test]
    fn between_a_request_and_its_answer_nothing_asks_for_memory() {
        let directory = tempfile::tempdir().unwrap();
        let quick = [("rpm".into(), 6e6), ("seek_track_ms".into(), 1e-3), ("seek_average_ms".into(), 1e-3)];
        let timings = [
            DiskTiming { name: DiskTimingName::None, parameters: [("destage_ms".into(), 1e-3)].into() },
            DiskTiming { name: DiskTimingName::Nvme, parameters: [("program_us".into(), 1.0)].into() },
            DiskTiming { name: DiskTimingName::Rotating, parameters: quick.into() },
        ];
        let faults = [&[][..], &["tear every 2nd", "reorder", "eio on flush every 3rd"], &["lie-about-flush"], &RULES];
        let mut answer = vec![0; 1 << 17];
        for (number, timing) in timings.iter().enumerate() {
            for (other, faults) in faults.iter().enumerate() {
                for capacity in [0, 16] {
                    let path = directory.path().join(format!("{number}-{other}"));
                    let logged = capacity > 0 && **faults != RULES[..];
                    let log = logged.then(|| Log::create(&path, SIZE, BLOCK as u32, 0).unwrap());
                    let (mut worker, kernel) = worker(timing, capacity, faults, log);
                    asked_by(&mut worker, &kernel, 20, &mut answer); // a thread's first wait may make its own things
                    let asked = asked_by(&mut worker, &kernel, 200, &mut answer);
                    assert_eq!(asked, 0, "{timing:?} {faults:?}, a cache of {capacity} blocks");
                }
            }
        }
    }
}
