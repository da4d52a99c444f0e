//! The volatile write cache, by what it would cost to lose it.
//!
//! The medium always holds what a reader must see. For every sector that was written and not yet settled the cache holds
//! what was there before: power that fails brings that back, settling forgets it. So a flush copies nothing, a destaged
//! block is one whose past is forgotten, and what a ghost writes after a cut is undone the same way.
//!
//! Nothing here allocates after `new`.

use super::medium::{Medium, Region, BLOCK};
use protocol::CutKeeps;
use rand::{Rng, RngExt};
use std::io;

const SECTOR: usize = 512;
const NONE: u32 = u32::MAX;

/// A block of which some sectors are not settled.
#[derive(Clone, Copy)]
struct Slot {
    block: u32,
    /// Sectors whose past is held, by bit.
    unsettled: u8,
    /// A write that a cut leaves in part, whatever else it does.
    torn: bool,
    /// Of the last write to it.
    number: u64,
    /// When the first of its sectors became unsettled.
    since_ns: u64,
    older: u32,
    newer: u32,
}

const FREE: Slot = Slot { block: NONE, unsettled: 0, torn: false, number: 0, since_ns: 0, older: NONE, newer: NONE };

pub struct Cache<M> {
    medium: M,
    sector_bytes: usize,
    /// Of slots of the medium, by number.
    slots: Vec<Slot>,
    slot_of: Vec<u32>,
    free: Vec<u32>,
    oldest: u32,
    newest: u32,
    /// Of the last write taken.
    number: u64,
    unsettled_sectors: u64,
    /// For a flush: the slots by place.
    order: Vec<u32>,
    snapshot: Option<Snapshot>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Left {
    pub kept_sectors: u64,
    pub lost_sectors: u64,
    pub torn_writes: u64,
}

/// The disk as it once was, and which blocks differ from that now.
pub struct Snapshot {
    image: Region,
    changed: Vec<u64>,
    /// No block before this word of `changed` differs.
    before: usize,
}

impl Snapshot {
    /// Room for one; filled by [`Cache::keep`].
    pub fn new(size_bytes: u64) -> io::Result<Self> {
        let blocks = size_bytes as usize / BLOCK;
        Ok(Snapshot { image: Region::new(size_bytes as usize)?, changed: vec![0; blocks.div_ceil(64)], before: 0 })
    }

    /// Where a block begins that differs from what was kept.
    fn next_changed(&mut self) -> Option<usize> {
        let words = self.changed.len();
        while self.before < words && self.changed[self.before] == 0 {
            self.before += 1;
        }
        let bits = self.changed.get(self.before)?;
        Some((self.before * 64 + bits.trailing_zeros() as usize) * BLOCK)
    }

    fn differs(&self, block: usize) -> bool {
        self.changed[block / 64] >> (block % 64) & 1 == 1
    }

    fn is_alike(&mut self, at: usize) {
        let block = at / BLOCK;
        self.changed[block / 64] &= !(1 << (block % 64));
    }

    fn changes(&mut self, block: usize) {
        self.changed[block / 64] |= 1 << (block % 64);
        self.before = self.before.min(block / 64);
    }
}

impl<M: Medium> Cache<M> {
    /// Over `medium` of so many bytes, with room for the past of `slots` blocks.
    pub fn new(mut medium: M, size_bytes: u64, sector_bytes: usize, slots: usize) -> io::Result<Self> {
        let blocks = size_bytes as usize / BLOCK;
        let slots = slots.min(blocks);
        medium.make_slots(slots)?;
        Ok(Cache {
            medium,
            sector_bytes,
            slots: vec![FREE; slots],
            slot_of: vec![NONE; blocks],
            free: (0..slots as u32).rev().collect(),
            oldest: NONE,
            newest: NONE,
            number: 0,
            unsettled_sectors: 0,
            order: Vec::with_capacity(slots),
            snapshot: None,
        })
    }

    /// Blocks that are not settled.
    pub fn blocks(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    pub fn bytes(&self) -> u64 {
        self.unsettled_sectors * SECTOR as u64
    }

    pub fn size_bytes(&self) -> u64 {
        (self.slot_of.len() * BLOCK) as u64
    }

    /// The number of the last write that was taken.
    pub fn last(&self) -> u64 {
        self.number
    }

    /// The oldest unsettled block, and since when it is.
    pub fn oldest(&self) -> Option<(u32, u64)> {
        self.slots.get(self.oldest as usize).map(|slot| (slot.block, slot.since_ns))
    }

    /// An unsettled block at random.
    pub fn any(&self, lot: &mut impl Rng) -> Option<u32> {
        let nth = lot.random_range(0..self.blocks().max(1));
        self.held().nth(nth).map(|slot| self.slots[slot as usize].block)
    }

    /// Whether every block of this range is in the cache.
    pub fn holds(&self, at: u64, length: u64) -> bool {
        blocks_of(at, length).all(|block| self.slot_of[block] != NONE)
    }

    pub fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        self.medium.read(at, into)
    }

    /// Slots that a write here would take.
    pub fn needed(&self, at: u64, length: u64) -> usize {
        blocks_of(at, length).filter(|block| self.slot_of[*block] == NONE).count()
    }

    pub fn room(&self) -> usize {
        self.free.len()
    }

    /// Takes a write and returns its number. What was unsettled up to write `settling` is settled where this one
    /// replaces it: its flush is being acknowledged. The caller has seen to the room.
    pub fn write(&mut self, at: u64, from: &[u8], now_ns: u64, settling: u64, torn: bool) -> io::Result<u64> {
        self.number += 1;
        let end = at + from.len() as u64;
        for block in blocks_of(at, from.len() as u64) {
            let start = (block * BLOCK) as u64;
            let (first, last) = (start.max(at), (start + BLOCK as u64).min(end));
            let new = &from[(first - at) as usize..(last - at) as usize];
            self.write_block(block, (first - start) as usize, new, now_ns, settling, torn)?;
            if let Some(snapshot) = &mut self.snapshot {
                snapshot.changes(block);
            }
        }
        Ok(self.number)
    }

    /// Turns bits of the byte at `at` as a reader sees it. What a cut would bring back in its place stays as it is.
    pub fn turn(&mut self, at: u64, bits: u8) -> io::Result<()> {
        let mut sector = [0; SECTOR];
        let start = at / SECTOR as u64 * SECTOR as u64;
        self.medium.read(start, &mut sector)?;
        sector[(at - start) as usize] ^= bits;
        self.medium.write(start, &sector)?;
        if let Some(snapshot) = &mut self.snapshot {
            snapshot.changes(at as usize / BLOCK);
        }
        Ok(())
    }

    /// Writes what lies within one block, from this byte of it on.
    fn write_block(
        &mut self,
        block: usize,
        first: usize,
        from: &[u8],
        now_ns: u64,
        settling: u64,
        torn: bool,
    ) -> io::Result<()> {
        let last = first + from.len();
        let mask = sectors(first / self.sector_bytes * self.sector_bytes, last.next_multiple_of(self.sector_bytes));
        let mut at = self.slot_of[block];
        if at == NONE {
            at = self.free.pop().ok_or(io::ErrorKind::StorageFull)?;
            self.slots[at as usize] = Slot { block: block as u32, since_ns: now_ns, ..FREE };
            self.slot_of[block] = at;
            self.append(at);
        } else if self.slots[at as usize].number <= settling {
            self.unsettled_sectors -= u64::from(self.slots[at as usize].unsettled.count_ones());
            self.slots[at as usize].unsettled = 0;
            self.slots[at as usize].since_ns = now_ns;
            self.unlink(at);
            self.append(at);
        }
        let slot = &mut self.slots[at as usize];
        let new = mask & !slot.unsettled;
        slot.unsettled |= mask;
        slot.number = self.number;
        slot.torn = torn;
        self.unsettled_sectors += u64::from(new.count_ones());
        if new == u8::MAX && from.len() == BLOCK {
            return self.medium.replace(at as usize, block, from);
        }
        for (from, to) in runs(new) {
            self.medium.keep(at as usize, block, from..to)?;
        }
        self.medium.write((block * BLOCK + first) as u64, from)
    }

    pub fn settle(&mut self, block: u32) {
        let at = self.slot_of[block as usize];
        if at != NONE {
            self.release(at);
        }
    }

    /// Settles what was written up to write `number`.
    pub fn settle_until(&mut self, number: u64) {
        let mut at = self.oldest;
        while at != NONE {
            let slot = self.slots[at as usize];
            if slot.number <= number {
                self.release(at);
            }
            at = slot.newer;
        }
    }

    /// Settles what write `number` wrote here, unless another has written there since.
    pub fn settle_write(&mut self, at: u64, length: u64, number: u64) {
        for block in blocks_of(at, length) {
            let slot = self.slot_of[block];
            if slot != NONE && self.slots[slot as usize].number == number {
                self.release(slot);
            }
        }
    }

    /// The unsettled blocks by place.
    pub fn by_place(&mut self) -> &[u32] {
        self.order.clear();
        let mut at = self.oldest;
        while at != NONE {
            self.order.push(self.slots[at as usize].block);
            at = self.slots[at as usize].newer;
        }
        self.order.sort_unstable();
        &self.order
    }

    /// Decides what of the unsettled survives, and settles that. The rest comes back with [`Self::undo`].
    pub fn cut(&mut self, keep: CutKeeps, lot: &mut impl Rng) -> Left {
        let drawn = match self.blocks() {
            0 => 0,
            blocks => lot.random_range(0..blocks),
        };
        let up_to = self.held().nth(drawn).map_or(0, |at| self.slots[at as usize].number);
        let mut left = Left::default();
        let mut write = (0, false, false); // its number, whether some of it is kept, whether some is lost
        let mut at = self.oldest;
        while at != NONE {
            let slot = self.slots[at as usize];
            let held = slot.unsettled;
            let survives = match keep {
                _ if slot.torn => self.some_sectors(lot),
                CutKeeps::None => 0,
                CutKeeps::All => u8::MAX,
                CutKeeps::Torn if slot.number == up_to => self.some_sectors(lot),
                CutKeeps::Torn if slot.number < up_to => u8::MAX,
                CutKeeps::Torn => 0,
                CutKeeps::Reordered if lot.random() => u8::MAX,
                CutKeeps::Reordered => 0,
            } & held;
            left.kept_sectors += u64::from(survives.count_ones());
            left.lost_sectors += u64::from((held & !survives).count_ones());
            if slot.number != write.0 {
                left.torn_writes += u64::from(write.1 && write.2);
                write = (slot.number, false, false);
            }
            write = (slot.number, write.1 || survives != 0, write.2 || survives != held);
            if survives == held {
                self.release(at);
            } else {
                self.unsettled_sectors -= u64::from(survives.count_ones());
                self.slots[at as usize].unsettled = held & !survives;
            }
            at = slot.newer;
        }
        left.torn_writes += u64::from(write.1 && write.2);
        left
    }

    fn some_sectors(&self, lot: &mut impl Rng) -> u8 {
        let of_each: u8 = lot.random();
        match self.sector_bytes {
            BLOCK => 0u8.wrapping_sub(of_each & 1),
            _ => of_each,
        }
    }

    /// Brings back what was there before everything unsettled.
    pub fn undo(&mut self) -> io::Result<()> {
        while self.oldest != NONE {
            let at = self.oldest;
            let slot = self.slots[at as usize];
            for (from, to) in runs(slot.unsettled) {
                self.medium.bring_back(at as usize, slot.block as usize, from..to)?;
            }
            self.release(at);
        }
        Ok(())
    }

    /// Keeps the disk as it is now, everything settled, for [`Self::restore`]. Needs `room` the first time; after that
    /// only what has changed is copied.
    pub fn keep(&mut self, room: Option<Snapshot>) -> io::Result<()> {
        self.settle_until(self.number);
        match (&mut self.snapshot, room) {
            (Some(snapshot), _) => {
                while let Some(at) = snapshot.next_changed() {
                    self.medium.read(at as u64, &mut snapshot.image[at..at + BLOCK])?;
                    snapshot.is_alike(at);
                }
            }
            (None, Some(mut room)) => {
                self.medium.read(0, &mut room.image)?;
                self.snapshot = Some(room);
            }
            (None, None) => {}
        }
        Ok(())
    }

    /// The disk as it was kept. Whether there is such a one.
    pub fn restore(&mut self) -> io::Result<bool> {
        self.settle_until(self.number);
        let Some(snapshot) = &mut self.snapshot else { return Ok(false) };
        while let Some(at) = snapshot.next_changed() {
            self.medium.write(at as u64, &snapshot.image[at..at + BLOCK])?;
            snapshot.is_alike(at);
        }
        Ok(true)
    }

    /// Tells the blocks that differ from the disk as it was kept, or with `whole` those that are not zero.
    pub fn each_block(&self, whole: bool, take: &mut dyn FnMut(u64, &[u8]) -> io::Result<()>) -> io::Result<()> {
        let mut bytes = [0; BLOCK];
        for block in 0..self.slot_of.len() {
            if whole || self.snapshot.as_ref().is_some_and(|snapshot| snapshot.differs(block)) {
                self.medium.read((block * BLOCK) as u64, &mut bytes)?;
                if !whole || bytes.iter().any(|byte| *byte != 0) {
                    take((block * BLOCK) as u64, &bytes)?;
                }
            }
        }
        Ok(())
    }

    fn held(&self) -> impl Iterator<Item = u32> + '_ {
        let first = (self.oldest != NONE).then_some(self.oldest);
        std::iter::successors(first, |at| Some(self.slots[*at as usize].newer).filter(|newer| *newer != NONE))
    }

    fn release(&mut self, at: u32) {
        self.unlink(at);
        let slot = std::mem::replace(&mut self.slots[at as usize], FREE);
        self.unsettled_sectors -= u64::from(slot.unsettled.count_ones());
        self.slot_of[slot.block as usize] = NONE;
        self.free.push(at);
    }

    fn append(&mut self, at: u32) {
        self.slots[at as usize].older = self.newest;
        self.slots[at as usize].newer = NONE;
        match self.newest {
            NONE => self.oldest = at,
            newest => self.slots[newest as usize].newer = at,
        }
        self.newest = at;
    }

    fn unlink(&mut self, at: u32) {
        let Slot { older, newer, .. } = self.slots[at as usize];
        match older {
            NONE => self.oldest = newer,
            older => self.slots[older as usize].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => self.slots[newer as usize].older = older,
        }
    }
}

pub fn blocks_of(at: u64, length: u64) -> std::ops::Range<usize> {
    at as usize / BLOCK..((at + length) as usize).div_ceil(BLOCK)
}

/// The sectors between two places in a block, by bit.
fn sectors(from: usize, to: usize) -> u8 {
    (((1u16 << (to / SECTOR)) - 1) & !((1u16 << (from / SECTOR)) - 1)) as u8
}

/// The places in a block between which the sectors of `mask` lie side by side.
fn runs(mask: u8) -> impl Iterator<Item = (usize, usize)> {
    let mut rest = u16::from(mask);
    std::iter::from_fn(move || {
        let from = rest.trailing_zeros();
        let to = from + (rest.checked_shr(from)?).trailing_ones();
        rest &= !((1u16 << to) - 1);
        (to > from).then_some((from as usize * SECTOR, to as usize * SECTOR))
    })
}
