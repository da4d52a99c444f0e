//! The disk: cache, timing, faults and power as functions of its state, the request and the clock. No threads, no FUSE.
//!
//! A request is begun when it comes and finished when the drive would have done it. What it does to the content is done
//! at its beginning; what it promises, at its end: a cut in between may take it back.

use super::cache::{Cache, Snapshot};
use super::fault::{Active, Fault};
use super::medium::Medium;
use super::rule::{Act, Op};
use super::timing::Timing;
use measure::Latencies;
use protocol::{CutKeeps, DiskBattery, DiskCount, DiskCut, DiskPower, DiskStats, FaultCount, GhostFlushes};
use rand::{RngExt as _, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::io;

const SECTOR: u64 = 512;
/// So many faults at once, so that a new one takes no memory while requests wait.
pub const FAULTS_MAX: usize = 64;

pub struct Disk<M> {
    cache: Cache<M>,
    /// Blocks that the write cache holds at most; 0: it is off.
    capacity: usize,
    /// Of the controller that has the cache.
    battery: DiskBattery,
    timing: Timing,
    faults: Vec<Active>,
    lot: ChaCha8Rng,
    seed: u64,
    power: DiskPower,
    /// From then on a disk that has stopped fails all that waits for it and all that comes, or goes on.
    fails_at: u64,
    goes_on: bool,
    mended_at: u64,
    ghost_flushes: GhostFlushes,
    /// How often it was cut or loaded: what was begun before promises nothing after.
    lives: u64,
    /// Flushes begun and not finished, and the last write that they cover.
    flushing: u32,
    settling: u64,
    reads: Count,
    writes: Count,
    flushes: Count,
    lied_flushes: u64,
    ignored_write_throughs: u64,
    failed: u64,
    dirty_bytes_max: u64,
}

struct Count {
    count: u64,
    bytes: u64,
    took: Latencies,
}

#[derive(Debug, Clone, Copy)]
pub struct Ticket {
    op: Op,
    at: u64,
    length: u64,
    begun_at: u64,
    pub done_at: u64,
    lives: u64,
    /// It was made to wait by a fault, and is answered when the disk is mended.
    held_up: bool,
    end: End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Done,
    /// What was written up to this write is settled then.
    Settles(u64),
    /// With this errno.
    Failed(i32),
    Ghostly,
}

/// The outcome of a finished request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finished {
    Done,
    /// Done, and what was written before it is on the medium.
    Settled,
    /// With this errno.
    Failed(i32),
}

impl Ticket {
    /// Whether a write was taken and belongs to the life of a disk that has power.
    pub fn taken(&self) -> bool {
        matches!(self.end, End::Done | End::Settles(_))
    }
}

impl<M: Medium> Disk<M> {
    pub fn new(cache: Cache<M>, capacity: usize, battery: DiskBattery, timing: Timing, seed: u64) -> Self {
        let count = || Count { count: 0, bytes: 0, took: Latencies::new() };
        Disk {
            cache,
            capacity,
            battery,
            timing,
            faults: Vec::with_capacity(FAULTS_MAX),
            lot: ChaCha8Rng::seed_from_u64(seed),
            seed,
            power: DiskPower::On,
            fails_at: 0,
            goes_on: false,
            mended_at: 0,
            ghost_flushes: GhostFlushes::Succeed,
            lives: 0,
            flushing: 0,
            settling: 0,
            reads: count(),
            writes: count(),
            flushes: count(),
            lied_flushes: 0,
            ignored_write_throughs: 0,
            failed: 0,
            dirty_bytes_max: 0,
        }
    }

    /// `None`: the disk has stopped and takes nothing until [`Self::fails_at`]; so do the other two.
    pub fn begin_read(&mut self, at: u64, into: &mut [u8], now: u64) -> Option<Ticket> {
        let length = into.len() as u64;
        let ghost = self.power == DiskPower::Ghost;
        let struck = if ghost { Struck::default() } else { self.strike(Op::Read, at, length, now)? };
        if let Some(keep) = struck.cut {
            self.fail_power(keep, now);
            return self.begin_read(at, into, now);
        }
        let read = match struck.fails() {
            true => Ok(()),
            false => self.rot(struck.rot, at, length).and_then(|()| self.cache.read(at, into)),
        };
        let done_at = match ghost {
            true => now,
            false if self.cache.holds(at, length) => self.timing.cached(now, length),
            false => self.timing.read(now, at, length),
        };
        let end = match (read, ghost) {
            (Err(_), _) => End::Failed(libc::EIO),
            (Ok(()), true) => End::Ghostly,
            (Ok(()), false) if struck.fails() => End::Failed(struck.errno),
            (Ok(()), false) => End::Done,
        };
        Some(struck.hold_up(self.ticket(Op::Read, at, length, now, done_at, end)))
    }

    pub fn begin_write(&mut self, at: u64, from: &[u8], now: u64) -> Option<Ticket> {
        let length = from.len() as u64;
        if self.power == DiskPower::Ghost {
            let fits = self.cache.needed(at, length) <= self.cache.room();
            let taken = fits && self.cache.write(at, from, now, 0, false).is_ok();
            let end = if taken { End::Ghostly } else { End::Failed(libc::EIO) };
            return Some(self.ticket(Op::Write, at, length, now, now, end));
        }
        let struck = self.strike(Op::Write, at, length, now)?;
        self.tend(now);
        if let Some(keep) = struck.cut {
            self.make_room(at, length, now);
            let settling = if self.capacity == 0 { u64::MAX } else { self.settling };
            let under_way = self.cache.write(at, from, now, settling, false);
            self.fail_power(keep, now);
            let end = if under_way.is_ok() { End::Ghostly } else { End::Failed(libc::EIO) };
            return Some(self.ticket(Op::Write, at, length, now, now, end));
        }
        if struck.fails() {
            let done_at = self.timing.cached(now, length);
            return Some(struck.hold_up(self.ticket(Op::Write, at, length, now, done_at, End::Failed(struck.errno))));
        }
        if struck.lose {
            let done_at =
                if self.capacity == 0 { self.timing.write(now, at, length) } else { self.timing.cached(now, length) };
            return Some(struck.hold_up(self.ticket(Op::Write, at, length, now, done_at, End::Done)));
        }
        let at = self.landing(at, length, struck.misdirect);
        let room_at = self.make_room(at, length, now);
        // With the cache off every write that is replaced was promised, or is about to be.
        let settling = if self.capacity == 0 { u64::MAX } else { self.settling };
        let written = self.cache.write(at, from, now, settling, struck.tear);
        let taken = written.and_then(|number| self.rot(struck.rot, at, length).map(|()| number));
        self.dirty_bytes_max = self.dirty_bytes_max.max(self.cache.bytes());
        let (done_at, end) = match taken {
            Err(_) => (now, End::Failed(libc::EIO)),
            Ok(number) if self.capacity == 0 => (self.timing.write(now, at, length), End::Settles(number)),
            Ok(_) => (self.timing.cached(room_at, length), End::Done),
        };
        Some(struck.hold_up(self.ticket(Op::Write, at, length, now, done_at, end)))
    }

    /// Of what the cache holds. `write_through`: it is only the end of writes with FUA, see [`super::through`].
    pub fn begin_flush(&mut self, write_through: bool, now: u64) -> Option<Ticket> {
        if self.power == DiskPower::Ghost {
            let end = if self.ghost_flushes == GhostFlushes::Fail { End::Failed(libc::EIO) } else { End::Ghostly };
            return Some(self.ticket(Op::Flush, 0, 0, now, now, end));
        }
        // While a flush is under way the drive empties its cache anyway, and that includes what was written through.
        let op = if write_through && self.flushing == 0 { Op::WriteThrough } else { Op::Flush };
        let struck = self.strike(op, 0, 0, now)?;
        if let Some(keep) = struck.cut {
            self.fail_power(keep, now);
            return self.begin_flush(write_through, now);
        }
        self.tend(now);
        // A controller with a battery takes its cache for durable, whatever has become of the battery.
        let backed = self.capacity > 0 && self.battery != DiskBattery::None;
        if struck.fails() || struck.drop || struck.lie || struck.ignore || backed {
            let mut end = End::Failed(if struck.fails() { struck.errno } else { libc::EIO });
            if struck.drop {
                let _ = self.cache.undo(); // it fails either way
            } else if !struck.fails() {
                self.lied_flushes += u64::from(struck.lie || (backed && self.battery == DiskBattery::Dead));
                self.ignored_write_throughs += u64::from(struck.ignore);
                end = End::Done;
            }
            let done_at = self.timing.cached(now, 0);
            return Some(struck.hold_up(self.ticket(Op::Flush, 0, 0, now, done_at, end)));
        }
        let mut destaged_at = now;
        if self.capacity > 0 && !self.timing.is_none() {
            for block in self.cache.by_place() {
                destaged_at = destaged_at.max(self.timing.destage(now, *block));
            }
        }
        let done_at = match self.capacity {
            0 => self.timing.cached(now, 0), // nothing to do
            _ => self.timing.flushed(now, destaged_at),
        };
        self.settling = self.cache.last();
        self.flushing += 1;
        Some(struck.hold_up(self.ticket(Op::Flush, 0, 0, now, done_at, End::Settles(self.settling))))
    }

    /// Whether power has not been cut since the request was begun: then there is its time to be waited for.
    pub fn is_alive(&self, ticket: &Ticket) -> bool {
        ticket.lives == self.lives
    }

    /// To be called once for each ticket, not before its time, unless the power was cut.
    pub fn finish(&mut self, ticket: &Ticket, now: u64) -> Finished {
        let cut = !self.is_alive(ticket);
        let end = match ticket.end {
            End::Settles(_) if cut && ticket.op == Op::Flush && self.ghost_flushes == GhostFlushes::Fail => {
                End::Failed(libc::EIO)
            }
            End::Settles(_) | End::Done if cut => End::Ghostly,
            end => end,
        };
        if let End::Settles(number) = end {
            if ticket.op == Op::Flush {
                self.cache.settle_until(number);
                self.flushing = self.flushing.saturating_sub(1);
                if self.flushing == 0 {
                    self.settling = 0;
                }
            } else {
                self.cache.settle_write(ticket.at, ticket.length, number);
            }
        }
        if matches!(end, End::Failed(_)) {
            self.failed += 1;
        } else if end != End::Ghostly {
            let count = match ticket.op {
                Op::Read => &mut self.reads,
                Op::Write => &mut self.writes,
                Op::Flush | Op::WriteThrough => &mut self.flushes,
            };
            count.count += 1;
            count.bytes += ticket.length;
            count.took.record(now.saturating_sub(ticket.begun_at));
        }
        match end {
            End::Failed(errno) => Finished::Failed(errno),
            End::Settles(_) if ticket.op == Op::Flush => Finished::Settled,
            _ => Finished::Done,
        }
    }

    pub fn cut(&mut self, keep: CutKeeps, seed: u64, flushes: GhostFlushes, now: u64) -> Result<DiskCut, &'static str> {
        if self.power == DiskPower::Ghost {
            return Err("the disk is cut already: revive it first");
        }
        self.tend(now);
        let keep = if self.battery == DiskBattery::Good { CutKeeps::All } else { keep };
        let left = self.cache.cut(keep, &mut ChaCha8Rng::seed_from_u64(seed));
        self.power = DiskPower::Ghost;
        self.ghost_flushes = flushes;
        self.end_life();
        Ok(DiskCut {
            kept_bytes: left.kept_sectors * SECTOR,
            lost_bytes: left.lost_sectors * SECTOR,
            torn_writes: left.torn_writes,
        })
    }

    /// A cut by a fault: what is drawn at random is drawn by the disk's own seed.
    fn fail_power(&mut self, keep: CutKeeps, now: u64) {
        let _ = self.cut(keep, self.seed, GhostFlushes::Succeed, now); // it has power: a fault has struck
    }

    pub fn has_no_power(&self) -> bool {
        self.power == DiskPower::Ghost
    }

    /// What survived the cut is the disk.
    pub fn revive(&mut self) -> Result<(), String> {
        if self.power != DiskPower::Ghost {
            return Err("the disk has power: nothing to revive".into());
        }
        self.cache.undo().map_err(|error| error.to_string())?;
        self.end_life();
        self.faults.clear();
        self.power = DiskPower::On;
        Ok(())
    }

    /// No fault any more.
    pub fn mend(&mut self, now: u64) {
        self.faults.clear();
        self.mended_at = now;
        if matches!(self.power, DiskPower::Stopped | DiskPower::GivenUp | DiskPower::Vanished) {
            self.power = DiskPower::On;
        }
    }

    pub fn waits_until(&self, ticket: &Ticket) -> u64 {
        if ticket.held_up && self.mended_at >= ticket.begun_at {
            return self.mended_at;
        }
        ticket.done_at
    }

    /// When it gives up what waits for it, if it has stopped.
    pub fn fails_at(&self) -> u64 {
        self.fails_at
    }

    pub fn add_fault(&mut self, fault: Fault) -> Result<(), String> {
        if self.faults.len() >= FAULTS_MAX {
            return Err(format!("the disk has {FAULTS_MAX} faults already: mend it first"));
        }
        if let Fault::Rule(rule) = &fault {
            if matches!(rule.act, Act::Slow(_)) && self.timing.is_none() {
                return Err(
                    "a disk without a timing takes no time that could be made longer: write (delay 10ms …), or \
                            give it a timing"
                        .into(),
                );
            }
        }
        self.faults.push(Active::new(fault, self.seed));
        Ok(())
    }

    /// Keeps the disk as it is now. `room` is for the first time.
    pub fn keep(&mut self, room: Option<Snapshot>) -> Result<(), String> {
        if self.power == DiskPower::Ghost {
            return Err("the disk is cut: revive it first".into());
        }
        self.cache.keep(room).map_err(|error| error.to_string())
    }

    /// The disk as it was kept.
    pub fn restore(&mut self) -> Result<(), String> {
        if self.power == DiskPower::Ghost {
            return Err("the disk is cut: revive it first".into());
        }
        match self.cache.restore() {
            Ok(true) => {
                self.end_life();
                Ok(())
            }
            Ok(false) => Err("no snapshot was taken".into()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// See [`Cache::each_block`].
    pub fn each_block(&self, whole: bool, take: &mut dyn FnMut(u64, &[u8]) -> io::Result<()>) -> io::Result<()> {
        if self.power == DiskPower::Ghost {
            return Err(io::Error::other("the disk is cut: revive it first"));
        }
        self.cache.each_block(whole, take)
    }

    /// Puts bytes onto the medium, as the past of the disk.
    pub fn put(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.cache.write(at, bytes, 0, 0, false)?;
        self.cache.settle_until(u64::MAX);
        Ok(())
    }

    pub fn stats(&mut self, now: u64, log_records: u64) -> DiskStats {
        if self.power != DiskPower::Ghost {
            self.tend(now);
        }
        if self.power == DiskPower::Stopped && now >= self.fails_at {
            self.power = self.after_stop();
        }
        let shown =
            |count: &Count| DiskCount { count: count.count, bytes: count.bytes, took: count.took.to_protocol() };
        DiskStats {
            reads: shown(&self.reads),
            writes: shown(&self.writes),
            flushes: shown(&self.flushes),
            lied_flushes: self.lied_flushes,
            ignored_write_throughs: self.ignored_write_throughs,
            failed: self.failed,
            dirty_bytes: self.cache.bytes(),
            dirty_bytes_max: self.dirty_bytes_max,
            power: self.power,
            faults: self
                .faults
                .iter()
                .map(|active| FaultCount { fault: active.fault.to_string(), struck: active.struck })
                .collect(),
            log_records,
        }
    }

    fn ticket(&self, op: Op, at: u64, length: u64, begun_at: u64, done_at: u64, end: End) -> Ticket {
        Ticket { op, at, length, begun_at, done_at, lives: self.lives, held_up: false, end }
    }

    /// What was begun before promises nothing any more.
    fn end_life(&mut self) {
        self.lives += 1;
        self.flushing = 0;
        self.settling = 0;
    }

    /// What the faults do to a request; `None` where the disk has stopped.
    #[inline]
    fn strike(&mut self, op: Op, at: u64, length: u64, now: u64) -> Option<Struck> {
        if self.faults.is_empty() && self.power == DiskPower::On {
            return Some(Struck::default());
        }
        self.struck(op, at, length, now)
    }

    #[cold]
    fn struck(&mut self, op: Op, at: u64, length: u64, now: u64) -> Option<Struck> {
        if self.power == DiskPower::On {
            for active in &mut self.faults {
                let Fault::Stop(stop) = active.fault else { continue };
                if active.strikes(op, at, length) {
                    self.power = DiskPower::Stopped;
                    self.fails_at = now.saturating_add(stop.fail_after_ns());
                    self.goes_on = false;
                    break;
                }
            }
        }
        if self.power == DiskPower::Stopped {
            if now < self.fails_at {
                return None;
            }
            self.power = self.after_stop();
        }
        match self.power {
            DiskPower::GivenUp => return Some(Struck { errno: libc::EIO, ..Struck::default() }),
            DiskPower::Vanished => return Some(Struck { errno: libc::ENODEV, ..Struck::default() }),
            _ => {}
        }
        let mut struck = Struck::default();
        let (mut stops_ns, mut vanishes) = (0, false);
        for active in &mut self.faults {
            if matches!(active.fault, Fault::Stop(_) | Fault::Reorder) || !active.strikes(op, at, length) {
                continue;
            }
            match &active.fault {
                Fault::Stop(_) | Fault::Reorder => {}
                Fault::LieAboutFlush(_) => struck.lie = true,
                Fault::IgnoreWriteThrough => struck.ignore = true,
                Fault::Tear(_) => struck.tear = true,
                Fault::Eio(..) => struck.errno = libc::EIO,
                Fault::DropOnFlush(_) => struck.drop = true,
                Fault::Rule(rule) => match rule.act {
                    Act::Fail(_) if struck.fails() => {}
                    Act::Fail(errno) => struck.errno = errno,
                    Act::Drop => struck.drop = true,
                    Act::Lie => struck.lie = true,
                    Act::Tear => struck.tear = true,
                    Act::Lose => struck.lose = true,
                    Act::Misdirect(bytes) => struck.misdirect = bytes,
                    Act::Rot(bits) => struck.rot = struck.rot.saturating_add(bits),
                    Act::Slow(factor) => struck.longer *= factor,
                    Act::Delay(ns) => struck.delay_ns += ns,
                    Act::Stop(ns) => stops_ns = stops_ns.max(ns),
                    Act::Vanish => vanishes = true,
                    Act::Cut(keep) => struck.cut = struck.cut.or(Some(keep)),
                },
            }
        }
        if struck.cut.is_some() {
            return Some(struck);
        }
        if vanishes {
            self.power = DiskPower::Vanished;
            return Some(Struck { errno: libc::ENODEV, ..Struck::default() });
        }
        if stops_ns > 0 {
            self.power = DiskPower::Stopped;
            self.fails_at = now.saturating_add(stops_ns);
            self.goes_on = true;
            struck.delay_ns += stops_ns;
        }
        Some(struck)
    }

    fn after_stop(&self) -> DiskPower {
        if self.goes_on {
            DiskPower::On
        } else {
            DiskPower::GivenUp
        }
    }

    /// Where a write lands that is to go so many bytes further.
    fn landing(&self, at: u64, length: u64, further: u64) -> u64 {
        if further == 0 {
            return at;
        }
        let size = self.cache.size_bytes();
        let landing = at.saturating_add(further % size) % size;
        if landing + length > size {
            0
        } else {
            landing
        }
    }

    /// Turns so many bits of a range, drawn at random.
    fn rot(&mut self, bits: u32, at: u64, length: u64) -> io::Result<()> {
        if length == 0 {
            return Ok(());
        }
        for _ in 0..bits {
            let bit = self.lot.random_range(0..length * 8);
            self.cache.turn(at + bit / 8, 1 << (bit % 8))?;
        }
        Ok(())
    }

    /// What the idle drive has written back by now, of what has waited long enough.
    fn tend(&mut self, now: u64) {
        if self.capacity == 0 || self.flushing > 0 {
            return;
        }
        while let Some((oldest, since)) = self.cache.oldest() {
            let due = since.saturating_add(self.timing.destage_after_ns);
            if due > now {
                return;
            }
            let block = self.destaged_next(oldest);
            if self.timing.would_destage(due, block) > now {
                return;
            }
            self.timing.destage(due, block);
            self.cache.settle(block);
        }
    }

    /// Empties the cache as far as a write needs it; when that is done.
    fn make_room(&mut self, at: u64, length: u64, now: u64) -> u64 {
        let mut room_at = now;
        let needed = self.cache.needed(at, length);
        let capacity = if self.capacity == 0 { usize::MAX } else { self.capacity };
        while self.cache.blocks() + needed > capacity || self.cache.room() < needed {
            let Some((oldest, _)) = self.cache.oldest() else { break };
            let block = self.destaged_next(oldest);
            room_at = room_at.max(self.timing.destage(now, block));
            self.cache.settle(block);
        }
        room_at
    }

    fn destaged_next(&mut self, oldest: u32) -> u32 {
        let reorders = self.faults.iter_mut().find(|active| active.fault == Fault::Reorder);
        match reorders {
            Some(active) => {
                active.struck += 1;
                self.cache.any(&mut self.lot).unwrap_or(oldest)
            }
            None => oldest,
        }
    }
}

struct Struck {
    lie: bool,
    ignore: bool,
    tear: bool,
    drop: bool,
    lose: bool,
    /// 0: it does not fail.
    errno: i32,
    misdirect: u64,
    rot: u32,
    longer: f64,
    delay_ns: u64,
    cut: Option<CutKeeps>,
}

impl Default for Struck {
    fn default() -> Self {
        Struck {
            lie: false,
            ignore: false,
            tear: false,
            drop: false,
            lose: false,
            errno: 0,
            misdirect: 0,
            rot: 0,
            longer: 1.0,
            delay_ns: 0,
            cut: None,
        }
    }
}

impl Struck {
    fn fails(&self) -> bool {
        self.errno != 0
    }

    fn hold_up(&self, mut ticket: Ticket) -> Ticket {
        if self.longer > 1.0 || self.delay_ns > 0 {
            let took = ticket.done_at.saturating_sub(ticket.begun_at);
            let longer = (took as f64 * self.longer) as u64;
            ticket.done_at = ticket.begun_at.saturating_add(longer).saturating_add(self.delay_ns);
            ticket.held_up = true;
        }
        ticket
    }
}
