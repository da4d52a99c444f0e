//! What the kernel asks of the FUSE file, and what is answered: by one thread for each request that may be under way.
//!
//! The loop driver above us is part of the kernel, and what it writes may be what the kernel writes back because memory is
//! short: nothing between a request and its answer may ask for memory, or both wait for ever. So the kernel's protocol is
//! spoken here, into buffers that are there from the start: [`super::device`] and [`super::ring`].

use super::device::{unmount, Device, Looking, Requests};
use super::log::Log;
use super::medium::Medium;
use super::model::{Disk, Finished, Ticket};
use super::ring;
use super::through::Watch;
use super::wire::{self, Answer, Channel, Head};
use measure::monotonic_ns;
use std::io::{self, Error};
use std::path::Path;
use std::sync::{mpsc, Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Below that a sleep would take longer than it should.
const SLEEP_MIN_NS: u64 = 60_000;
const WAKES_LATE_NS: u64 = 20_000;
const STACK_BYTES: usize = 128 << 10;

pub struct Served<M> {
    disk: Mutex<Disk<M>>,
    /// Signalled when power or faults have changed.
    changed: Condvar,
    /// Whose it is to answer, of those who serve the queues of one processor each.
    turn: Mutex<()>,
    /// Tells the flushes that only end writes with FUA, where somebody wants to know.
    watch: Mutex<Option<Watch>>,
    log: Option<Log>,
    size_bytes: u64,
    data_bytes: usize,
    began_ns: u64,
    /// Whether each request is slept for, even by a thread that is alone.
    patient: bool,
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
            turn: Mutex::new(()),
            watch: Mutex::new(None),
            log,
            size_bytes,
            data_bytes,
            began_ns,
            patient,
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

    /// From now on flushes that only end writes with FUA are distinguished, by the block device over the file.
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

    /// Mounts the file system and serves it: so many requests at a time. Whether they come over io_uring, as they do if
    /// `may_ring`, it is one at a time, and the kernel offers it.
    pub fn mount(self: &Arc<Self>, point: &Path, threads: usize, may_ring: bool) -> io::Result<bool> {
        if may_ring && threads == 1 {
            match self.mount_with(point, threads, true) {
                // What the kernel offered it may take back before a ring is registered: enable_uring is anybody's to set.
                // Where it was not even mounted, the next attempt fails as this one did.
                Err(_) => drop(unmount(point)),
                mounted => return mounted,
            }
        }
        self.mount_with(point, threads, false)
    }

    fn mount_with(self: &Arc<Self>, point: &Path, threads: usize, ring: bool) -> io::Result<bool> {
        let device = Device::open()?;
        device.mount(point, self.data_bytes)?;
        let rings = if ring { ring::for_each_processor(&device, self.data_bytes) } else { Ok(Vec::new()) };
        let mut rings = rings.unwrap_or_default();
        // The first request, which settles sizes and flags, is answered before any other comes.
        if !device.greet(self.data_bytes, threads, !rings.is_empty())? {
            rings.clear();
        }
        let over_rings = !rings.is_empty();
        for _ in 0..threads {
            // Beside rings: what wants no answer still comes through the device.
            let looking = (!self.patient && threads == 1 && !over_rings).then(Looking::default);
            let mut requests = Requests::new(device.clone()?, self.data_bytes, looking)?;
            self.spawn(move |served| serve(served, &mut requests, false))?;
        }
        // Until all are registered the kernel keeps requests back.
        for mut ring in rings {
            let (registering, registered) = mpsc::sync_channel(1);
            self.spawn(move |served| {
                let begun = ring.register();
                let serves = begun.is_ok();
                let _ = registering.send(begun);
                if serves {
                    serve(served, &mut ring, true);
                }
            })?;
            registered.recv().map_err(Error::other)??;
        }
        std::mem::forget(device); // a connection lives as long as one of its descriptors
        Ok(over_rings)
    }

    fn spawn(self: &Arc<Self>, work: impl FnOnce(&Self) + Send + 'static) -> io::Result<()> {
        let served = Arc::clone(self);
        std::thread::Builder::new().stack_size(STACK_BYTES).spawn(move || work(&served))?;
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
        if disk.has_no_power() {
            self.changed.notify_all(); // a fault may have cut it: what waits for it is answered
        }
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

/// Serves until the connection ends. `in_turn`: others serve beside this one, and the disk does one thing at a time.
fn serve<M: Medium + Send + 'static>(served: &Served<M>, channel: &mut impl Channel, in_turn: bool) {
    while channel.next() {
        let _turn = in_turn.then(|| served.turn.lock().unwrap_or_else(PoisonError::into_inner));
        answer(served, channel);
    }
}

/// Does what is asked, and answers it.
fn answer<M: Medium + Send + 'static>(served: &Served<M>, channel: &mut impl Channel) {
    let Head { opcode, unique, node } = channel.head();
    let size = served.size_bytes;
    let mut answer = match opcode {
        wire::READ => {
            let (at, length) = within(wire::range(channel.argument()), size);
            let data = channel.data(length);
            match served.take(|disk, now| disk.begin_read(at, data, now)) {
                Finished::Failed(errno) => Answer::new(unique, errno),
                _ => {
                    channel.answer_data(unique, length);
                    return;
                }
            }
        }
        wire::WRITE => {
            let range = wire::range(channel.argument());
            let (at, length) = within(range, size);
            if length < range.1 as usize {
                Answer::new(unique, libc::ENOSPC)
            } else {
                let data: &[u8] = channel.data(length);
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
        wire::LOOKUP if wire::name(channel.name()) == wire::IMAGE_NAME.as_bytes() => {
            Answer::new(unique, 0).entry(wire::IMAGE, size)
        }
        wire::LOOKUP => Answer::new(unique, libc::ENOENT),
        wire::GETATTR | wire::SETATTR => Answer::new(unique, 0).attr(node, size),
        wire::OPEN | wire::OPENDIR => Answer::new(unique, 0).opened(node),
        wire::READDIR if wire::range(channel.argument()).0 == 0 => Answer::new(unique, 0).directory(),
        wire::READDIR | wire::RELEASE | wire::RELEASEDIR | wire::ACCESS | wire::DESTROY => Answer::new(unique, 0),
        wire::FORGET | wire::BATCH_FORGET | wire::INTERRUPT => return, // want no answer
        // The kernel does without. Above all without STATFS: where that fails, the loop driver offers no discard, which
        // it would else take back at the first attempt, and with it reset the queue.
        _ => Answer::new(unique, libc::ENOSYS),
    };
    channel.answer(&mut answer);
}

/// The part of a range that lies on the disk.
fn within((at, length): (u64, u32), size: u64) -> (u64, usize) {
    (at, u64::from(length).min(size.saturating_sub(at)) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::Cache;
    use crate::medium::{Memory, BLOCK};
    use crate::timing::Timing;
    use protocol::{DiskBattery, DiskTiming, DiskTimingName};
    use std::alloc::{GlobalAlloc, Layout, System};
    use std::cell::Cell;
    use std::os::fd::OwnedFd;

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

    type Worker = (Arc<Served<Memory>>, Requests);

    /// A worker whose kernel is the other end of a socket that keeps messages apart, as the device does.
    fn worker(timing: &DiskTiming, capacity: usize, faults: &[&str], log: Option<Log>) -> (Worker, OwnedFd) {
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
        let requests = Requests::new(ours.into(), 1 << 16, None).unwrap();
        ((served, requests), kernel)
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

    fn asked_by((served, requests): &mut Worker, kernel: &OwnedFd, rounds: u64, answer: &mut [u8]) -> u64 {
        let asked: Vec<Vec<u8>> = (0..rounds)
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
        for request in &asked {
            rustix::io::write(kernel, request).unwrap();
            assert!(requests.next());
            super::answer(served, requests);
            assert!(rustix::io::read(kernel, &mut *answer).unwrap() >= wire::OUT_HEAD);
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
