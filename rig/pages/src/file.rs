//! Pages out of the file, each once from the kernel while it stays among those that were read last.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::rc::Rc;

/// Counts pages that have been read, and those in use.
pub type Watch<'a> = &'a mut dyn FnMut(u64, u64);

/// Pages that are kept: chains of versions mostly stay close to their record.
const KEPT: usize = 2048;
/// The smallest that stands in a page's directory: its entry and a record's header.
const SLOT_BYTES: u64 = 17;
const HEADER_BYTES: usize = 1024;

/// Kinds of pages, `pag_type`.
pub const HEADER: u8 = 1;
pub const INVENTORY: u8 = 2;
pub const TRANSACTIONS: u8 = 3;
pub const POINTER: u8 = 4;
pub const DATA: u8 = 5;
pub const ROOT: u8 = 6;
pub const INDEX: u8 = 7;

#[derive(Debug)]
pub enum Flaw {
    /// The system's own words.
    Unread(String),
    /// The bytes are not what a database of Firebird has there.
    Damaged(String),
}

impl std::fmt::Display for Flaw {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Flaw::Unread(words) | Flaw::Damaged(words) => f.write_str(words),
        }
    }
}

pub type Page = Rc<[u8]>;

pub trait Bytes {
    fn read_at(&self, buffer: &mut [u8], at: u64) -> std::io::Result<()>;
}

impl Bytes for File {
    fn read_at(&self, buffer: &mut [u8], at: u64) -> std::io::Result<()> {
        self.read_exact_at(buffer, at)
    }
}

pub struct Source {
    bytes: Box<dyn Bytes>,
    pub page_bytes: usize,
    pub pages: u64,
    kept: Vec<Option<(u32, Page)>>,
    /// Pages that tables and indexes are known to hold: no page is of two of them.
    claimed: u64,
    /// Steps along chains of versions and fragments: no part of a record is of two chains.
    steps: u64,
    pub used: u64,
}

impl Source {
    pub fn open(path: &Path) -> Result<Source, Flaw> {
        use std::io::{Seek, SeekFrom};
        let unread = |error: std::io::Error| Flaw::Unread(error.to_string());
        let mut file = File::open(path).map_err(unread)?;
        let size = file.seek(SeekFrom::End(0)).map_err(unread)?; // of a block device too
        Source::over(Box::new(file), size)
    }

    pub fn over(bytes: Box<dyn Bytes>, size: u64) -> Result<Source, Flaw> {
        let mut first = vec![0; HEADER_BYTES.min(usize::try_from(size).unwrap_or(HEADER_BYTES))];
        bytes.read_at(&mut first, 0).map_err(|error| Flaw::Unread(error.to_string()))?;
        let page_bytes = usize::from(u16_at(&first, 16));
        if u8_at(&first, 0) != HEADER || !page_bytes.is_power_of_two() || !(4096..=32768).contains(&page_bytes) {
            return Err(Flaw::Damaged("page 0 is no header page of a Firebird database".into()));
        }
        let pages = size / page_bytes as u64;
        let kept = vec![None; KEPT];
        Ok(Source { bytes, page_bytes, pages, kept, claimed: 0, steps: 0, used: 0 })
    }

    /// The page, of whatever kind it is.
    pub fn page(&mut self, number: u32) -> Result<Page, Flaw> {
        if let Some((there, page)) = &self.kept[number as usize % KEPT] {
            if *there == number {
                return Ok(page.clone());
            }
        }
        if u64::from(number) >= self.pages {
            let pages = self.pages;
            return Err(Flaw::Damaged(format!(
                "page {number} is asked for, and the file ends after page {}",
                pages - 1
            )));
        }
        let mut buffer = vec![0; self.page_bytes];
        self.bytes
            .read_at(&mut buffer, u64::from(number) * self.page_bytes as u64)
            .map_err(|error| Flaw::Unread(format!("page {number}: {error}")))?;
        let page: Page = buffer.into();
        self.kept[number as usize % KEPT] = Some((number, page.clone()));
        Ok(page)
    }

    pub fn page_of(&mut self, number: u32, kind: u8) -> Result<Page, Flaw> {
        let page = self.page(number)?;
        match u8_at(&page, 0) {
            found if found == kind => Ok(page),
            found => Err(Flaw::Damaged(format!("page {number} is {}, where {} should be", word(found), word(kind)))),
        }
    }

    /// Counts a page as that of one table or index. Damaged when there are more of them than pages: some chain is a ring.
    pub fn claim(&mut self, number: u32, watch: Watch) -> Result<(), Flaw> {
        self.claimed += 1;
        watch(self.claimed, self.used);
        if self.claimed > self.pages {
            return Err(Flaw::Damaged(format!(
                "page {number} belongs to more than one table or index, or twice to one"
            )));
        }
        Ok(())
    }

    /// Counts a step along a chain. Damaged when there are more of them than a file of this size can hold parts of records.
    pub fn step(&mut self) -> Result<(), Flaw> {
        self.steps += 1;
        if self.steps > self.pages * self.page_bytes as u64 / SLOT_BYTES {
            return Err(Flaw::Damaged("parts of records belong to more than one record, or twice to one".into()));
        }
        Ok(())
    }
}

fn word(kind: u8) -> &'static str {
    match kind {
        0 => "empty",
        HEADER => "a header page",
        INVENTORY => "a page inventory",
        TRANSACTIONS => "a transaction inventory",
        POINTER => "a pointer page",
        DATA => "a data page",
        ROOT => "an index root page",
        INDEX => "an index page",
        8 => "a blob page",
        9 => "a page of generators",
        10 => "a page of change numbers",
        _ => "of no kind",
    }
}

/// Little-endian, as are all numbers of a page; beyond its end there is zero, as if the page went on empty.
pub fn u16_at(page: &[u8], at: usize) -> u16 {
    page.get(at..at + 2).map_or(0, |bytes| u16::from_le_bytes([bytes[0], bytes[1]]))
}

pub fn u32_at(page: &[u8], at: usize) -> u32 {
    page.get(at..at + 4).map_or(0, |bytes| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
}

pub fn u8_at(page: &[u8], at: usize) -> u8 {
    page.get(at).copied().unwrap_or(0)
}
