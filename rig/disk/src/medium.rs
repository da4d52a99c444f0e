//! Where the disk's content lies: memory that is there before it is needed, or a file.

use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io;
use std::ops::{Deref, DerefMut, Range};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// What is kept and lost as a whole.
pub const BLOCK: usize = 4096;

/// What reads give, and beside it the past of some blocks, in each slot one block. Which of it would survive is for the cache to
/// know. Slots are empty at first; places within a block are bytes from its start.
pub trait Medium {
    /// Room for the past of so many blocks.
    fn make_slots(&mut self, slots: usize) -> io::Result<()>;
    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()>;
    fn write(&mut self, at: u64, from: &[u8]) -> io::Result<()>;
    /// Keeps this part of a block in the slot.
    fn keep(&mut self, slot: usize, block: usize, part: Range<usize>) -> io::Result<()>;
    /// Keeps a block in the slot, and writes a whole new block in its place.
    fn replace(&mut self, slot: usize, block: usize, from: &[u8]) -> io::Result<()>;
    /// Writes back this part of a block as the slot has it, whose own content is of no use after that.
    fn bring_back(&mut self, slot: usize, block: usize, part: Range<usize>) -> io::Result<()>;
}

/// Zeroed memory outside of the heap, every page of it there from the start.
pub struct Region {
    start: *mut u8,
    length: usize,
}

// SAFETY: the region is owned, and nothing else points into it.
unsafe impl Send for Region {}

impl Region {
    pub fn new(length: usize) -> io::Result<Self> {
        let length = length.max(1);
        // SAFETY: a new mapping, wherever the kernel puts it.
        let start = unsafe {
            let start = libc::mmap(
                std::ptr::null_mut(),
                length,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            if start == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            libc::madvise(start, length, libc::MADV_HUGEPAGE); // fewer faults now, quicker copies later
            start
        };
        let region = Region { start: start.cast(), length };
        // SAFETY: the mapping above. A kernel before 5.14 has no MADV_POPULATE_WRITE: mlockall does it then.
        if unsafe { libc::madvise(start, length, libc::MADV_POPULATE_WRITE) } != 0 {
            let error = io::Error::last_os_error();
            if error.raw_os_error() != Some(libc::EINVAL) {
                return Err(error);
            }
        }
        Ok(region)
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: mapped by new with this length.
        unsafe { libc::munmap(self.start.cast(), self.length) };
    }
}

impl Deref for Region {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: mapped by new with this length, for as long as self lives.
        unsafe { std::slice::from_raw_parts(self.start, self.length) }
    }
}

impl DerefMut for Region {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and self is borrowed for writing.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.length) }
    }
}

/// Writes a whole block past the processor's caches: nobody reads it soon, and a cache would first read what is replaced.
#[cfg(target_arch = "x86_64")]
fn fill(block: &mut [u8; BLOCK], from: &[u8; BLOCK]) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};
    const WORD: usize = size_of::<__m128i>();
    let (to, from) = (block.as_mut_ptr().cast::<__m128i>(), from.as_ptr().cast::<__m128i>());
    debug_assert!(to.is_aligned());
    // SAFETY: both are blocks, which such words make up; frames begin on a page. Every x86-64 has SSE2.
    unsafe {
        for word in 0..BLOCK / WORD {
            _mm_stream_si128(to.add(word), _mm_loadu_si128(from.add(word)));
        }
        _mm_sfence(); // other processors see the block before they see that this one is done
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn fill(block: &mut [u8; BLOCK], from: &[u8; BLOCK]) {
    block.copy_from_slice(from);
}

/// A medium of memory. A block is a frame, which a slot can exchange for its own: so to keep the past copies nothing.
pub struct Memory {
    frames: Region,
    frame_of: Vec<u32>,
    slot_frames: Region,
    frame_of_slot: Vec<u32>,
}

impl Memory {
    pub fn new(size_bytes: u64) -> io::Result<Self> {
        let frames = Region::new(size_bytes as usize)?;
        let frame_of = (0..(size_bytes as usize / BLOCK) as u32).collect();
        Ok(Memory { frames, frame_of, slot_frames: Region::new(0)?, frame_of_slot: Vec::new() })
    }

    fn frame(&self, number: u32) -> &[u8] {
        let number = number as usize;
        match number.checked_sub(self.frame_of.len()) {
            None => &self.frames[number * BLOCK..][..BLOCK],
            Some(number) => &self.slot_frames[number * BLOCK..][..BLOCK],
        }
    }

    fn frame_mut(&mut self, number: u32) -> &mut [u8] {
        let number = number as usize;
        match number.checked_sub(self.frame_of.len()) {
            None => &mut self.frames[number * BLOCK..][..BLOCK],
            Some(number) => &mut self.slot_frames[number * BLOCK..][..BLOCK],
        }
    }

    fn put(&mut self, number: u32, part: Range<usize>, from: &[u8]) {
        let frame = self.frame_mut(number);
        match (<&mut [u8; BLOCK]>::try_from(&mut *frame), <&[u8; BLOCK]>::try_from(from)) {
            (Ok(block), Ok(from)) => fill(block, from),
            _ => frame[part].copy_from_slice(from),
        }
    }
}

/// The blocks of a range: of each its number, the part of it, and where in the range that is.
fn parts(at: u64, length: usize) -> impl Iterator<Item = (usize, Range<usize>, Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let place = at as usize + done;
        let from = place % BLOCK;
        let to = BLOCK.min(from + length - done);
        let within = done..done + to - from;
        done = within.end;
        (to > from).then_some((place / BLOCK, from..to, within))
    })
}

impl Medium for Memory {
    fn make_slots(&mut self, slots: usize) -> io::Result<()> {
        self.slot_frames = Region::new(slots * BLOCK)?;
        let blocks = self.frame_of.len() as u32;
        self.frame_of_slot = (blocks..blocks + slots as u32).collect();
        Ok(())
    }

    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        for (block, part, within) in parts(at, into.len()) {
            into[within].copy_from_slice(&self.frame(self.frame_of[block])[part]);
        }
        Ok(())
    }

    fn write(&mut self, at: u64, from: &[u8]) -> io::Result<()> {
        for (block, part, within) in parts(at, from.len()) {
            self.put(self.frame_of[block], part, &from[within]);
        }
        Ok(())
    }

    fn keep(&mut self, slot: usize, block: usize, part: Range<usize>) -> io::Result<()> {
        let mut kept = [0; BLOCK];
        kept[part.clone()].copy_from_slice(&self.frame(self.frame_of[block])[part.clone()]);
        self.frame_mut(self.frame_of_slot[slot])[part.clone()].copy_from_slice(&kept[part]);
        Ok(())
    }

    fn replace(&mut self, slot: usize, block: usize, from: &[u8]) -> io::Result<()> {
        self.put(self.frame_of_slot[slot], 0..BLOCK, from);
        std::mem::swap(&mut self.frame_of[block], &mut self.frame_of_slot[slot]);
        Ok(())
    }

    fn bring_back(&mut self, slot: usize, block: usize, part: Range<usize>) -> io::Result<()> {
        if part.len() == BLOCK {
            std::mem::swap(&mut self.frame_of[block], &mut self.frame_of_slot[slot]);
            return Ok(());
        }
        let mut kept = [0; BLOCK];
        kept[part.clone()].copy_from_slice(&self.frame(self.frame_of_slot[slot])[part.clone()]);
        self.frame_mut(self.frame_of[block])[part.clone()].copy_from_slice(&kept[part]);
        Ok(())
    }
}

/// A file, past the page cache where that can be: our write must not wait for pages that wait for us.
pub struct FileMedium {
    file: Twice,
    slots: Region,
}

/// One file, opened twice.
struct Twice {
    direct: Option<File>,
    /// For what is not aligned as the file's own disk wants it.
    cached: File,
}

impl FileMedium {
    pub fn open(path: &Path, size_bytes: u64) -> io::Result<Self> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC;
        let cached = File::from(rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?);
        if cached.metadata()?.len() < size_bytes {
            cached.set_len(size_bytes)?;
        }
        let direct = rustix::fs::open(path, flags | OFlags::DIRECT, Mode::empty()).ok().map(File::from);
        Ok(FileMedium { file: Twice { direct, cached }, slots: Region::new(0)? })
    }
}

impl Twice {
    fn either<T>(&self, mut act: impl FnMut(&File) -> io::Result<T>) -> io::Result<T> {
        match self.direct.as_ref().map(&mut act) {
            Some(Err(error)) if error.raw_os_error() == Some(libc::EINVAL) => act(&self.cached),
            Some(done) => done,
            None => act(&self.cached),
        }
    }
}

impl Medium for FileMedium {
    fn make_slots(&mut self, slots: usize) -> io::Result<()> {
        self.slots = Region::new(slots * BLOCK)?;
        Ok(())
    }

    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        self.file.either(|file| file.read_exact_at(into, at))
    }

    fn write(&mut self, at: u64, from: &[u8]) -> io::Result<()> {
        self.file.either(|file| file.write_all_at(from, at))
    }

    fn keep(&mut self, slot: usize, block: usize, part: Range<usize>) -> io::Result<()> {
        let FileMedium { file, slots } = self;
        let at = (block * BLOCK + part.start) as u64;
        let past = &mut slots[slot * BLOCK..][part];
        file.either(|file| file.read_exact_at(past, at))
    }

    fn replace(&mut self, slot: usize, block: usize, from: &[u8]) -> io::Result<()> {
        self.keep(slot, block, 0..BLOCK)?;
        self.write((block * BLOCK) as u64, from)
    }

    fn bring_back(&mut self, slot: usize, block: usize, part: Range<usize>) -> io::Result<()> {
        let past = &self.slots[slot * BLOCK..][part.clone()];
        self.file.either(|file| file.write_all_at(past, (block * BLOCK + part.start) as u64))
    }
}
