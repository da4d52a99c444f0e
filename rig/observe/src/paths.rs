//! The paths that calls name, as they stand in the caller's memory at that moment: trace events show only where.
//!
//! A program of a dozen instructions for the kernel's own machine (bpf(2)), run at the entry of each call that takes a path,
//! copies it into a ring that we read. Asked for later, the memory may hold something else and the file be closed again:
//! a journal that lives for 30 microseconds has no other way to be named.

use anyhow::{Context, Result};
use std::collections::{HashMap, VecDeque};
use std::io::Error;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a path that are kept; a longer path is named by its descriptor.
const TEXT_BYTES: usize = 512;
const HEAD_BYTES: usize = 32;
const RING_BYTES: usize = 8 << 20;

/// One path, as a thread had it at an address when it asked for a file.
#[derive(Debug, PartialEq)]
struct Named {
    at_ns: u64,
    address: u64,
    path: Option<String>,
}

pub struct Paths {
    ring: Ring,
    /// By thread, oldest first.
    named: HashMap<u32, VecDeque<Named>>,
    // Each runs as long as it is open.
    _programs: Vec<OwnedFd>,
}

impl Paths {
    /// `entries`: the number of each `sys_enter` event, and which argument is the path.
    pub fn start(entries: &[(u64, usize)]) -> Result<Paths> {
        let map = ring_map().context("making a ring for paths")?;
        let ring = Ring::map(&map).context("mapping the ring for paths")?;
        let mut programs = Vec::new();
        for (event, argument) in entries {
            let program = load(&instructions(map.as_raw_fd(), *argument)).context("loading the program for paths")?;
            let attached = attach(*event, &program).context("attaching the program for paths")?;
            programs.extend([program, attached]);
        }
        programs.push(map);
        Ok(Paths { ring, named: HashMap::new(), _programs: programs })
    }

    /// Takes in what the ring holds, and forgets what no call asked for in a long time: other processes name paths too.
    pub fn read(&mut self) {
        let now_ns = measure::monotonic_ns();
        self.named.retain(|_, queue| queue.back().is_some_and(|last| last.at_ns + KEPT_NS > now_ns));
        let named = &mut self.named;
        self.ring.read(|record| {
            if let Some((tid, one)) = record_of(record) {
                named.entry(tid).or_default().push_back(one);
            }
        });
    }

    /// The path that a thread named at this address in a call between these times. To be asked in the order of its calls:
    /// what an earlier one named is forgotten.
    pub fn of(&mut self, tid: u32, address: u64, begin_ns: u64, end_ns: u64) -> Option<String> {
        own_of(self.named.get_mut(&tid)?, address, begin_ns, end_ns)
    }
}

fn own_of(queue: &mut VecDeque<Named>, address: u64, begin_ns: u64, end_ns: u64) -> Option<String> {
    let own = queue.iter().take_while(|one| one.at_ns <= end_ns).count();
    let last = queue.drain(..own).next_back()?;
    // The program may run a moment before the event is written.
    (last.address == address && last.at_ns + SLACK_NS >= begin_ns).then_some(last.path).flatten()
}

/// Between the program and the event of the same call nothing else of that thread runs, but the thread may be put aside.
const SLACK_NS: u64 = 1_000_000_000;
/// A thread that names no path in so long is forgotten.
const KEPT_NS: u64 = 10_000_000_000;

fn record_of(record: &[u8]) -> Option<(u32, Named)> {
    let word = |at: usize| Some(u64::from_ne_bytes(record.get(at..at + 8)?.try_into().ok()?));
    let (at_ns, thread, address, length) = (word(0)?, word(8)?, word(16)?, word(24)? as i64);
    // The length counts the zero; a path that fills all may go on beyond, and below zero it could not be read.
    let text = usize::try_from(length).ok().filter(|length| (2..TEXT_BYTES).contains(length));
    let path = text.and_then(|length| record.get(HEAD_BYTES..HEAD_BYTES + length - 1));
    let path = path.and_then(|bytes| std::str::from_utf8(bytes).ok()).map(str::to_string);
    Some((thread as u32, Named { at_ns, address, path }))
}

// ------------------------------------------------------------------------------------------- the program

/// struct bpf_insn of linux/bpf.h
#[repr(C)]
#[derive(Clone, Copy)]
struct Instruction {
    code: u8,
    registers: u8,
    offset: i16,
    value: i32,
}

fn instructions(map: RawFd, argument: usize) -> Vec<Instruction> {
    let one = |code: u8, to: u8, from: u8, offset: usize, value: i32| Instruction {
        code,
        registers: if cfg!(target_endian = "big") { to << 4 | from } else { from << 4 | to },
        offset: offset as i16,
        value,
    };
    const LOAD: u8 = 0x79; // BPF_LDX | BPF_MEM | BPF_DW
    const STORE: u8 = 0x7b; // BPF_STX | BPF_MEM | BPF_DW
    const MOVE: u8 = 0xbf; // BPF_ALU64 | BPF_MOV | BPF_X
    const SET: u8 = 0xb7; // BPF_ALU64 | BPF_MOV | BPF_K
    const ADD: u8 = 0x07; // BPF_ALU64 | BPF_ADD | BPF_K
    const CALL: u8 = 0x85;
    const IF_ZERO: u8 = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
    const EXIT: u8 = 0x95;
    const MAP: u8 = 0x18; // BPF_LD | BPF_IMM | BPF_DW, in two instructions; from 1: the value is a map's descriptor
    const RESERVE: i32 = 131; // bpf_ringbuf_reserve
    const SUBMIT: i32 = 132; // bpf_ringbuf_submit
    const NOW: i32 = 5; // bpf_ktime_get_ns: CLOCK_MONOTONIC
    const WHO: i32 = 14; // bpf_get_current_pid_tgid: the thread is the lower half
    const COPY: i32 = 114; // bpf_probe_read_user_str
    vec![
        // The record of sys_enter: common fields, the call's number, the arguments from byte 16.
        one(LOAD, 7, 1, 16 + 8 * argument, 0),
        one(MAP, 1, 1, 0, map),
        one(0, 0, 0, 0, 0),
        one(SET, 2, 0, 0, (HEAD_BYTES + TEXT_BYTES) as i32),
        one(SET, 3, 0, 0, 0),
        one(CALL, 0, 0, 0, RESERVE),
        one(IF_ZERO, 0, 0, 15, 0), // the ring is full: to the end
        one(MOVE, 8, 0, 0, 0),
        one(CALL, 0, 0, 0, NOW),
        one(STORE, 8, 0, 0, 0),
        one(CALL, 0, 0, 0, WHO),
        one(STORE, 8, 0, 8, 0),
        one(STORE, 8, 7, 16, 0),
        one(MOVE, 1, 8, 0, 0),
        one(ADD, 1, 0, 0, HEAD_BYTES as i32),
        one(SET, 2, 0, 0, TEXT_BYTES as i32),
        one(MOVE, 3, 7, 0, 0),
        one(CALL, 0, 0, 0, COPY),
        one(STORE, 8, 0, 24, 0),
        one(MOVE, 1, 8, 0, 0),
        one(SET, 2, 0, 0, 0),
        one(CALL, 0, 0, 0, SUBMIT),
        one(SET, 0, 0, 0, 0),
        one(EXIT, 0, 0, 0, 0),
    ]
}

// --------------------------------------------------------------------------------------- bpf(2) and perf

const MAP_CREATE: usize = 0;
const PROG_LOAD: usize = 5;
const RINGBUF: u32 = 27; // BPF_MAP_TYPE_RINGBUF
const TRACEPOINT: u32 = 5; // BPF_PROG_TYPE_TRACEPOINT

fn bpf(command: usize, attributes: &mut [u8; 128]) -> Result<OwnedFd> {
    // SAFETY: union bpf_attr of this size; what it points to outlives the call.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, attributes.as_mut_ptr(), attributes.len()) };
    descriptor(result)
}

fn descriptor(result: libc::c_long) -> Result<OwnedFd> {
    if result < 0 {
        return Err(Error::last_os_error().into());
    }
    // SAFETY: the kernel has just made it for us.
    Ok(unsafe { OwnedFd::from_raw_fd(result as RawFd) })
}

fn ring_map() -> Result<OwnedFd> {
    let mut attributes = [0u8; 128];
    attributes[..4].copy_from_slice(&RINGBUF.to_ne_bytes());
    attributes[12..16].copy_from_slice(&(RING_BYTES as u32).to_ne_bytes());
    bpf(MAP_CREATE, &mut attributes)
}

fn load(program: &[Instruction]) -> Result<OwnedFd> {
    let mut attributes = [0u8; 128];
    // The helpers that read memory are for programs under the kernel's own licence.
    let licence = c"GPL";
    attributes[..4].copy_from_slice(&TRACEPOINT.to_ne_bytes());
    attributes[4..8].copy_from_slice(&(program.len() as u32).to_ne_bytes());
    attributes[8..16].copy_from_slice(&(program.as_ptr() as u64).to_ne_bytes());
    attributes[16..24].copy_from_slice(&(licence.as_ptr() as u64).to_ne_bytes());
    bpf(PROG_LOAD, &mut attributes)
}

/// Attaches to a trace event by perf_event_open(2): on whichever processor it comes, the program runs.
fn attach(event: u64, program: &OwnedFd) -> Result<OwnedFd> {
    let mut attributes = [0u8; 64]; // PERF_ATTR_SIZE_VER0
    attributes[..4].copy_from_slice(&2u32.to_ne_bytes()); // PERF_TYPE_TRACEPOINT
    attributes[4..8].copy_from_slice(&64u32.to_ne_bytes());
    attributes[8..16].copy_from_slice(&event.to_ne_bytes());
    const CLOSE_ON_EXEC: usize = 8; // PERF_FLAG_FD_CLOEXEC
    const SET_BPF: libc::c_ulong = 0x4004_2408; // PERF_EVENT_IOC_SET_BPF
    const ENABLE: libc::c_ulong = 0x2400; // PERF_EVENT_IOC_ENABLE
                                          // SAFETY: the attributes are as long as they say.
    let result = unsafe {
        libc::syscall(libc::SYS_perf_event_open, attributes.as_ptr(), -1isize, 0usize, -1isize, CLOSE_ON_EXEC)
    };
    let opened = descriptor(result)?;
    // SAFETY: both take a number.
    let attached = unsafe {
        libc::ioctl(opened.as_raw_fd(), SET_BPF, program.as_raw_fd()) == 0
            && libc::ioctl(opened.as_raw_fd(), ENABLE, 0) == 0
    };
    if !attached {
        return Err(Error::last_os_error().into());
    }
    Ok(opened)
}

// ------------------------------------------------------------------------------------------------ the ring

/// The reader's side of a BPF ring buffer; see the kernel's Documentation/bpf/ringbuf.rst.
struct Ring {
    page: usize,
    consumer: *mut u8,
    producer: *mut u8,
}

impl Ring {
    fn map(map: &OwnedFd) -> Result<Ring> {
        let page = rustix::param::page_size();
        let mapped = |length: usize, protection, offset: usize| -> Result<*mut u8> {
            let (flags, number) = (libc::MAP_SHARED, map.as_raw_fd());
            // SAFETY: a new mapping at an address of the kernel's choice.
            let at =
                unsafe { libc::mmap(std::ptr::null_mut(), length, protection, flags, number, offset as libc::off_t) };
            if at == libc::MAP_FAILED {
                return Err(Error::last_os_error().into());
            }
            Ok(at.cast())
        };
        let consumer = mapped(page, libc::PROT_READ | libc::PROT_WRITE, 0)?;
        // The data are mapped twice in a row, so that a record across the end lies there whole.
        match mapped(page + 2 * RING_BYTES, libc::PROT_READ, page) {
            Ok(producer) => Ok(Ring { page, consumer, producer }),
            Err(error) => {
                // SAFETY: mapped above, and nobody has it yet.
                unsafe { libc::munmap(consumer.cast(), page) };
                Err(error)
            }
        }
    }

    /// Hands on each record that is complete, in order.
    fn read(&mut self, mut record: impl FnMut(&[u8])) {
        const BUSY: u32 = 1 << 31;
        const DISCARDED: u32 = 1 << 30;
        // SAFETY: both positions are 64-bit words at the start of their pages, which stay mapped as long as `self`.
        let (done, written) = unsafe { (&*self.consumer.cast::<AtomicU64>(), &*self.producer.cast::<AtomicU64>()) };
        let end = written.load(Ordering::Acquire);
        let mut at = done.load(Ordering::Relaxed);
        while at < end {
            let offset = self.page + (at as usize & (RING_BYTES - 1));
            // SAFETY: within the mapping, for the position is below the ring's size; records are aligned to 8.
            let header = unsafe { &*self.producer.add(offset).cast::<std::sync::atomic::AtomicU32>() };
            let length = header.load(Ordering::Acquire);
            if length & BUSY != 0 {
                break;
            }
            let bytes = (length & !DISCARDED) as usize;
            if length & DISCARDED == 0 && bytes <= RING_BYTES {
                // SAFETY: the record is complete, and lies whole in the doubled mapping.
                record(unsafe { std::slice::from_raw_parts(self.producer.add(offset + 8), bytes) });
            }
            at += (bytes as u64 + 8).next_multiple_of(8);
            done.store(at, Ordering::Release);
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: mapped by `map` with these lengths.
        unsafe {
            libc::munmap(self.consumer.cast(), self.page);
            libc::munmap(self.producer.cast(), self.page + 2 * RING_BYTES);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record(at_ns: u64, tid: u32, address: u64, length: i64, text: &[u8]) -> Vec<u8> {
        let mut bytes: Vec<u8> =
            [at_ns, u64::from(tid) | 7 << 32, address, length as u64].map(u64::to_ne_bytes).concat();
        bytes.extend(text);
        bytes.resize(HEAD_BYTES + TEXT_BYTES, 0xAA);
        bytes
    }

    #[test]
    fn a_record_is_a_path_or_says_that_there_is_none() {
        let (tid, named) = record_of(&record(5, 9, 0xA, 5, b"/d/x\0")).unwrap();
        assert_eq!((tid, named), (9, Named { at_ns: 5, address: 0xA, path: Some("/d/x".into()) }));
        assert_eq!(record_of(&record(5, 9, 0xA, -14, b"")).unwrap().1.path, None);
        assert_eq!(record_of(&record(5, 9, 0xA, TEXT_BYTES as i64, b"/d/x")).unwrap().1.path, None);
        assert_eq!(record_of(&[0; 20]), None);
    }

    #[test]
    fn each_call_has_the_path_that_it_named() {
        let of = |at_ns, address, path: &str| Named { at_ns, address, path: Some(path.to_string()) };
        let mut queue = VecDeque::from([of(5, 1, "a"), of(15, 1, "b"), of(25, 2, "c"), of(35, 1, "d")]);
        // As `Paths::of` does, without a kernel.
        let mut ask = |address, begin_ns, end_ns| own_of(&mut queue, address, begin_ns, end_ns);
        assert_eq!(ask(1, 6, 10).as_deref(), Some("a"), "the program ran before the event was written");
        assert_eq!(ask(1, 14, 20).as_deref(), Some("b"));
        assert_eq!(ask(1, 24, 30), None, "another address");
        assert_eq!(ask(1, 31, 32), None, "what comes later is not taken");
        assert_eq!(ask(1, 33, 40).as_deref(), Some("d"));
    }

    proptest! {
        #[test]
        fn arbitrary_records_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            let _ = record_of(&bytes);
        }
    }
}
