//! The log of a disk: every write with its bytes and every flush, in the order in which the disk took them.
//!
//! A file of a 64-byte head (`acidlog1`, the disk's size and its sector's, and from byte 24 on the CLOCK_MONOTONIC at which
//! its time began) and records, each a head of 32 bytes and the bytes of a write. All numbers are little-endian; a record's
//! own number is its place in the file, from 0.
//!
//! | bytes | |
//! |---|---|
//! | 4 | 1: a write; 2: a flush |
//! | 4 | bytes that follow |
//! | 8 | a write: the place on the disk; a flush: so many records of the log it covers. All writes among them are on the medium |
//! | 8 | when, in nanoseconds since the disk is there |
//! | 8 | the record's number |

use super::medium::Region;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

const MAGIC: &[u8; 8] = b"acidlog1";
pub const FILE_HEAD: usize = 64;
pub const HEAD: usize = 32;
const WRITE: u32 = 1;
const FLUSH: u32 = 2;
const RING_BYTES: usize = 16 << 20;

fn begun(path: &Path, size_bytes: u64, sector_bytes: u32, began_ns: u64) -> io::Result<File> {
    let mut file = File::options().write(true).create_new(true).open(path)?;
    let mut head = [0; FILE_HEAD];
    head[..8].copy_from_slice(MAGIC);
    head[8..16].copy_from_slice(&size_bytes.to_le_bytes());
    head[16..20].copy_from_slice(&sector_bytes.to_le_bytes());
    head[24..32].copy_from_slice(&began_ns.to_le_bytes());
    file.write_all(&head)?;
    Ok(file)
}

fn head_of(kind: u32, length: usize, at: u64, now: u64, number: u64) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[..4].copy_from_slice(&kind.to_le_bytes());
    head[4..8].copy_from_slice(&(length as u32).to_le_bytes());
    head[8..16].copy_from_slice(&at.to_le_bytes());
    head[16..24].copy_from_slice(&now.to_le_bytes());
    head[24..].copy_from_slice(&number.to_le_bytes());
    head
}

/// A log of nothing but writes, of a disk as it is.
pub struct Writes {
    file: BufWriter<File>,
    records: u64,
}

impl Writes {
    /// Makes the file, which must not be there.
    pub fn create(path: &Path, size_bytes: u64, sector_bytes: u32) -> io::Result<Self> {
        Ok(Writes { file: BufWriter::new(begun(path, size_bytes, sector_bytes, 0)?), records: 0 })
    }

    pub fn put(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(&head_of(WRITE, bytes.len(), at, 0, self.records))?;
        self.records += 1;
        self.file.write_all(bytes)
    }

    pub fn end(mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Takes records without allocating; its own thread writes them to the file.
#[derive(Clone)]
pub struct Log(Arc<Shared>);

struct Shared {
    ring: Mutex<Ring>,
    changed: Condvar,
}

struct Ring {
    bytes: Region,
    /// Of all bytes ever put in and taken out.
    put: u64,
    taken: u64,
    records: u64,
    failed: Option<io::ErrorKind>,
}

impl Log {
    /// Makes the file, which must not be there.
    pub fn create(path: &Path, size_bytes: u64, sector_bytes: u32, began_ns: u64) -> io::Result<Log> {
        let file = begun(path, size_bytes, sector_bytes, began_ns)?;
        let ring = Ring { bytes: Region::new(RING_BYTES)?, put: 0, taken: 0, records: 0, failed: None };
        let log = Log(Arc::new(Shared { ring: Mutex::new(ring), changed: Condvar::new() }));
        let drained = log.clone();
        std::thread::Builder::new().stack_size(64 << 10).spawn(move || drained.drain(&file))?;
        Ok(log)
    }

    pub fn records(&self) -> u64 {
        self.ring().records
    }

    pub fn write(&self, at: u64, bytes: &[u8], now: u64) {
        self.append(WRITE, at, bytes, now);
    }

    pub fn flush(&self, covers: u64, now: u64) {
        self.append(FLUSH, covers, &[], now);
    }

    /// Waits until every record taken so far is in the file; how many that are.
    pub fn settle(&self) -> io::Result<u64> {
        let mut ring = self.ring();
        let (put, records) = (ring.put, ring.records);
        while ring.taken < put {
            ring = self.wait(ring);
        }
        ring.failed.map_or(Ok(records), |kind| Err(kind.into()))
    }

    fn append(&self, kind: u32, at: u64, bytes: &[u8], now: u64) {
        let mut ring = self.ring();
        while ring.put - ring.taken + (HEAD + bytes.len()) as u64 > RING_BYTES as u64 {
            ring = self.wait(ring);
        }
        let head = head_of(kind, bytes.len(), at, now, ring.records);
        ring.put(&head);
        ring.put(bytes);
        ring.records += 1;
        self.0.changed.notify_all();
    }

    fn drain(&self, mut file: &File) {
        loop {
            let mut ring = self.ring();
            while ring.put == ring.taken {
                ring = self.wait(ring);
            }
            let from = (ring.taken % RING_BYTES as u64) as usize;
            let length = ((ring.put - ring.taken) as usize).min(RING_BYTES - from);
            // SAFETY: what is put and not taken is never written to, and the region lives as long as self.
            let bytes = unsafe { std::slice::from_raw_parts(ring.bytes.as_ptr().add(from), length) };
            drop(ring);
            let written = file.write_all(bytes);
            let mut ring = self.ring();
            ring.taken += length as u64;
            if let Err(error) = written {
                ring.failed.get_or_insert(error.kind());
            }
            self.0.changed.notify_all();
        }
    }

    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.0.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, ring: MutexGuard<'a, Ring>) -> MutexGuard<'a, Ring> {
        self.0.changed.wait(ring).unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ring {
    fn put(&mut self, bytes: &[u8]) {
        let from = (self.put % RING_BYTES as u64) as usize;
        let whole = bytes.len().min(RING_BYTES - from);
        self.bytes[from..from + whole].copy_from_slice(&bytes[..whole]);
        self.bytes[..bytes.len() - whole].copy_from_slice(&bytes[whole..]);
        self.put += bytes.len() as u64;
    }
}

pub struct Recorded {
    file: File,
    pub size_bytes: u64,
    pub sector_bytes: u32,
    records: Vec<Record>,
    /// Where the first record that was not looked at begins.
    end: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// Of a write: the place on the disk and the bytes. `None`: a flush.
    pub write: Option<(u64, u32)>,
    /// Of a flush.
    pub covers: u64,
    pub now_ns: u64,
    file_at: u64,
}

impl Recorded {
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let mut head = [0; FILE_HEAD];
        file.read_exact_at(&mut head, 0)?;
        if &head[..8] != MAGIC {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "is no log of a disk"));
        }
        let mut recorded = Recorded {
            file,
            size_bytes: u64_at(&head, 8),
            sector_bytes: u32_at(&head, 16),
            records: Vec::new(),
            end: FILE_HEAD as u64,
        };
        recorded.look()?;
        Ok(recorded)
    }

    /// Whether this is the file at `path`: another one may have been written there since. Its number is no other file's, for
    /// this one is open.
    pub fn is_at(&self, path: &Path) -> io::Result<bool> {
        let (ours, there) = (self.file.metadata()?, std::fs::metadata(path)?);
        Ok((ours.dev(), ours.ino()) == (there.dev(), there.ino()))
    }

    /// Looks at what was added since; a record that is not whole yet is left for later.
    pub fn look(&mut self) -> io::Result<()> {
        let length = self.file.metadata()?.len();
        let mut head = [0; HEAD];
        while self.end + HEAD as u64 <= length {
            self.file.read_exact_at(&mut head, self.end)?;
            let bytes = u32_at(&head, 4);
            let next = self.end + HEAD as u64 + u64::from(bytes);
            if next > length {
                break;
            }
            let at = u64_at(&head, 8);
            let write = match u32_at(&head, 0) {
                WRITE => Some((at, bytes)),
                FLUSH => None,
                _ => return Err(io::Error::new(io::ErrorKind::InvalidData, "holds what is no record")),
            };
            let covers = if write.is_none() { at } else { 0 };
            let file_at = self.end + HEAD as u64;
            self.records.push(Record { write, covers, now_ns: u64_at(&head, 16), file_at });
            self.end = next;
        }
        Ok(())
    }

    pub fn records(&self) -> &[Record] {
        &self.records
    }

    pub fn bytes(&self, record: &Record) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; record.write.map_or(0, |(_, length)| length as usize)];
        self.file.read_exact_at(&mut bytes, record.file_at)?;
        Ok(bytes)
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}
