//! Which flushes are only the end of a write with FUA ("force unit access": this write on the medium before its answer).
//!
//! A loop device offers no FUA, so the kernel does with a flush what it would leave to FUA on a drive that has it, and by
//! itself such a flush looks like any other. The difference is seen in the kernel, one layer higher: whatever asks for a
//! flush submits a bio with `REQ_PREFLUSH`, which the event `block_bio_queue` tells; the flush that ends a write with
//! `REQ_FUA` is made by the block layer itself (block/blk-flush.c) and has none. So a flush is the end of writes with FUA if
//! no bio has asked for one since the last. There is one substitution more: a direct write to a file with `O_DSYNC` that
//! only overwrites is submitted with FUA where the device has it, and is followed by a bio that asks for a flush where it
//! has not (fs/iomap/direct-io.c). Such a bio is recognised by its call chain, which begins in `iomap_dio_complete`.
//!
//! It errs on the side of the flush: where events were lost, one is taken to have been asked for. It stops at two places. A
//! direct write to a file with `O_SYNC`, which is flushed also where there is FUA, is taken for one with `O_DSYNC`. And a
//! processor that comes online later is not watched.
//!
//! A ring for each processor holds the events. Looking at them asks for no memory: see [`super::front`].

use super::processors;
use anyhow::{bail, Context, Result};
use std::fs;
use std::io::{Error, ErrorKind};
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

const PAGE: usize = 4096;
/// Of one processor's ring, a power of two: some 250 events, where a flush takes one or two.
const RING_BYTES: usize = 16 * PAGE;
const SUBSTITUTES: &str = "iomap_dio_complete";

// Of linux/perf_event.h.
const ATTRIBUTE_BYTES: usize = 112; // PERF_ATTR_SIZE_VER5
const TYPE_TRACEPOINT: u32 = 2;
const SAMPLE_CALLCHAIN: u64 = 1 << 5;
const DISABLED: u64 = 1;
const EXCLUDE_CALLCHAIN_USER: u64 = 1 << 22;
const FLAG_CLOEXEC: libc::c_ulong = 8;
const IOC_ENABLE: libc::Ioctl = 0x2400;
const IOC_SET_FILTER: libc::Ioctl = 0x4008_2406;
const RECORD_SAMPLE: u32 = 9;
/// Where the head and the tail are in struct perf_event_mmap_page.
const HEAD_AT: usize = 0x400;
const TAIL_AT: usize = 0x408;

/// The bios of one block device that ask for a flush.
pub struct Watch {
    device: (u32, u32),
    /// Where the code is that asks for a flush in place of FUA.
    substitutes: Range<u64>,
    rings: Vec<Ring>,
}

impl Watch {
    /// Of the device with these numbers. Needs root, tracing and perf events.
    pub fn over(device: (u32, u32)) -> Result<Watch> {
        let substitutes = code_of(SUBSTITUTES)?;
        let event = event_number()?;
        // The kernel's own form of a device number, see MKDEV in linux/kdev_t.h.
        let filter = format!("dev == {} && rwbs ~ \"F*\"\0", u64::from(device.0) << 20 | u64::from(device.1));
        let rings = processors::listed_in("online")?
            .into_iter()
            .map(|processor| Ring::open(event, processor, &filter))
            .collect::<Result<_>>()?;
        Ok(Watch { device, substitutes, rings })
    }

    pub fn is_over(&self, device: (u32, u32)) -> bool {
        self.device == device
    }

    /// Whether anybody has asked for a flush since the last call.
    pub fn flush_was_asked(&mut self) -> bool {
        let substitutes = &self.substitutes;
        self.rings.iter_mut().fold(false, |asked, ring| ring.drain(substitutes) | asked)
    }
}

struct Ring {
    pages: NonNull<u8>,
    _event: OwnedFd,
}

// SAFETY: the mapping is this ring's alone, whichever thread has the ring.
unsafe impl Send for Ring {}

impl Ring {
    fn open(event: u64, processor: i32, filter: &str) -> Result<Ring> {
        let mut attribute = [0u8; ATTRIBUTE_BYTES];
        let mut put = |at: usize, bytes: &[u8]| attribute[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &TYPE_TRACEPOINT.to_ne_bytes());
        put(4, &(ATTRIBUTE_BYTES as u32).to_ne_bytes());
        put(8, &event.to_ne_bytes());
        put(16, &1u64.to_ne_bytes()); // every one
        put(24, &SAMPLE_CALLCHAIN.to_ne_bytes());
        put(40, &(DISABLED | EXCLUDE_CALLCHAIN_USER).to_ne_bytes());
        // SAFETY: the attribute is of the size that it says, and lives until the call is over.
        let descriptor = unsafe {
            libc::syscall(
                libc::SYS_perf_event_open,
                attribute.as_ptr(),
                -1 as libc::c_int,
                processor,
                -1 as libc::c_int,
                FLAG_CLOEXEC,
            )
        };
        if descriptor < 0 {
            return Err(Error::last_os_error()).context("perf_event_open");
        }
        // SAFETY: a descriptor that was just made for us.
        let event = unsafe { OwnedFd::from_raw_fd(descriptor as i32) };
        // SAFETY: a new mapping of the event's pages, at no address of ours.
        let pages = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                PAGE + RING_BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                event.as_raw_fd(),
                0,
            )
        };
        if pages == libc::MAP_FAILED {
            return Err(Error::last_os_error()).context("mapping perf events");
        }
        let pages = NonNull::new(pages.cast()).context("mapping perf events")?;
        let ring = Ring { pages, _event: event };
        // SAFETY: the filter is a text that ends with a zero.
        if unsafe { libc::ioctl(ring._event.as_raw_fd(), IOC_SET_FILTER, filter.as_ptr()) } < 0 {
            return Err(Error::last_os_error()).context("setting the filter of perf events");
        }
        // SAFETY: no pointers.
        if unsafe { libc::ioctl(ring._event.as_raw_fd(), IOC_ENABLE, 0) } < 0 {
            return Err(Error::last_os_error()).context("enabling perf events");
        }
        Ok(ring)
    }

    /// Takes all events out; whether one of them asks for a flush that means no FUA.
    fn drain(&mut self, substitutes: &Range<u64>) -> bool {
        let (head, mut tail) = (self.at(HEAD_AT).load(Ordering::Acquire), self.at(TAIL_AT).load(Ordering::Relaxed));
        let mut asked = false;
        while tail < head {
            // struct perf_event_header: type, misc, size; of a sample, how many addresses, and these.
            let header = self.word(tail);
            let (kind, bytes) = (header as u32, header >> 48);
            if bytes < 8 {
                tail = head; // what is no record
                asked = true;
                break;
            }
            let words = bytes / 8 - 1;
            let addresses = if kind == RECORD_SAMPLE && words > 0 { self.word(tail + 8).min(words - 1) } else { 0 };
            asked |= !(0..addresses).any(|n| substitutes.contains(&self.word(tail + 16 + n * 8)));
            tail += bytes;
        }
        self.at(TAIL_AT).store(tail, Ordering::Release);
        asked
    }

    fn at(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: within the first page of the mapping, which lives as long as self; the kernel changes it as an atomic.
        unsafe { &*self.pages.as_ptr().add(offset).cast::<AtomicU64>() }
    }

    /// Eight bytes of the ring; records are of whole ones.
    fn word(&self, position: u64) -> u64 {
        let offset = PAGE + (position % RING_BYTES as u64) as usize;
        // SAFETY: within the mapping and aligned, as positions are multiples of eight; the kernel does not write between
        // the tail and the head.
        unsafe { self.pages.as_ptr().add(offset).cast::<u64>().read_unaligned() }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping that was made in `open`; nobody has it any more.
        unsafe { libc::munmap(self.pages.as_ptr().cast(), PAGE + RING_BYTES) };
    }
}

fn code_of(function: &str) -> Result<Range<u64>> {
    let symbols = fs::read_to_string("/proc/kallsyms").context("reading /proc/kallsyms")?;
    code_among(&symbols, function)
        .with_context(|| format!("/proc/kallsyms shows no address of {function}: needs root, and a kernel that has it"))
}

/// From the function's address up to the next symbol's.
fn code_among(symbols: &str, function: &str) -> Option<Range<u64>> {
    let symbol = |line: &str| -> Option<(u64, bool)> {
        let mut words = line.split_ascii_whitespace();
        let address = u64::from_str_radix(words.next()?, 16).ok()?;
        Some((address, words.nth(1)? == function))
    };
    let (start, _) = symbols.lines().filter_map(symbol).find(|(address, found)| *found && *address > 0)?;
    let end =
        symbols.lines().filter_map(symbol).map(|(address, _)| address).filter(|address| *address > start).min()?;
    Some(start..end)
}

/// The number of the trace event of bios, in a mount of tracefs that nobody else sees and that is gone afterwards.
fn event_number() -> Result<u64> {
    const CREATE: libc::c_uint = 6; // FSCONFIG_CMD_CREATE, see linux/mount.h
    let made = |answer: libc::c_long| -> Result<OwnedFd> {
        if answer < 0 {
            return Err(Error::last_os_error()).context("mounting tracefs");
        }
        // SAFETY: a descriptor that was just made for us.
        Ok(unsafe { OwnedFd::from_raw_fd(answer as i32) })
    };
    // SAFETY: constant texts, and no other pointers.
    let context = made(unsafe { libc::syscall(libc::SYS_fsopen, c"tracefs".as_ptr(), 1) })?;
    let none = std::ptr::null::<u8>();
    // SAFETY: no pointers but null ones, which this command takes.
    if unsafe { libc::syscall(libc::SYS_fsconfig, context.as_raw_fd(), CREATE, none, none, 0) } != 0 {
        return Err(Error::last_os_error()).context("mounting tracefs");
    }
    // SAFETY: no pointers.
    let mount = made(unsafe { libc::syscall(libc::SYS_fsmount, context.as_raw_fd(), 1, 0) })?;
    let path = format!("/proc/self/fd/{}/events/block/block_bio_queue/id", mount.as_raw_fd());
    match fs::read_to_string(path) {
        Ok(text) => text.trim().parse().context("the number of the event block_bio_queue"),
        Err(error) if error.kind() == ErrorKind::NotFound => bail!("this kernel has no trace event block_bio_queue"),
        Err(error) => Err(error).context("reading the number of the event block_bio_queue"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_ends_where_the_next_symbol_begins() {
        let symbols =
            "ffff0300 t b\nffff0100 T iomap_dio_complete\nffff00f0 T __pfx_iomap_dio_complete\nffff0180 t a [m]\n";
        assert_eq!(code_among(symbols, "iomap_dio_complete"), Some(0xffff_0100..0xffff_0180));
        assert_eq!(code_among("0000000000000000 T iomap_dio_complete\n0 t a\n", "iomap_dio_complete"), None);
        assert_eq!(code_among(symbols, "iomap_dio"), None);
    }
}
