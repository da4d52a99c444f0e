//! The data pages of one table, and what gstat counts on them.

use crate::file::{u16_at, u32_at, u8_at, Flaw, Page, Source, Watch, DATA, POINTER};
use protocol::PagesOfTable;

pub struct Table {
    pub id: u16,
    pub name: String,
    /// The first pointer page, and the page of index roots; 0: there is none, as of a temporary table.
    pub pointers: u32,
    pub roots: u32,
    pub indexes: Vec<Index>,
}

pub struct Index {
    pub id: u16,
    pub name: String,
    pub is_unique: bool,
}

pub const DELETED: u16 = 1;
pub const CHAIN: u16 = 2;
pub const FRAGMENT: u16 = 4;
pub const INCOMPLETE: u16 = 8;
pub const BLOB: u16 = 16;

const PAGE_HEADER: usize = 24;
/// Room that a page has for records and its directory, as gstat counts: DPG_SIZE is as long as the header.
const RECORD_HEADER: u64 = 13;
const FRAGMENT_HEADER: u64 = 22;
const BLOB_HEADER: usize = 28;
const BLOB_PAGE_KIND: u8 = 8;

/// `pag_flags` of a data page.
const ORPHAN: u8 = 1;
const FULL: u8 = 2;
const SWEPT: u8 = 8;
const SECONDARY: u8 = 16;

/// A record, a version of one, a part, or a blob, on its page.
#[derive(Clone, Copy)]
pub struct Part {
    pub at: usize,
    pub length: usize,
    pub flags: u16,
    pub transaction: u64,
    /// Page and line of the version before this one; page 0: there is none.
    pub back: (u32, u16),
    /// Where the next part is, of one that is incomplete.
    pub goes_on: (u32, u16),
}

pub fn slots(pointers: &[u8]) -> usize {
    usize::from(u16_at(pointers, 24)).min((pointers.len() - 32) / 4)
}

pub fn slot(pointers: &[u8], number: usize) -> u32 {
    u32_at(pointers, 32 + 4 * number)
}

pub fn lines(page: &[u8]) -> u16 {
    u16_at(page, 22).min(((page.len() - PAGE_HEADER) / 4) as u16)
}

/// What stands in a line of the page's directory; nothing in one that is free.
pub fn part(page: &[u8], line: u16) -> Option<Part> {
    if line >= lines(page) {
        return None;
    }
    let entry = PAGE_HEADER + 4 * usize::from(line);
    let (at, length) = (usize::from(u16_at(page, entry)), usize::from(u16_at(page, entry + 2)));
    if at == 0 || length == 0 {
        return None;
    }
    let flags = u16_at(page, at + 10);
    let high = if flags & 1024 != 0 || flags & INCOMPLETE != 0 { u64::from(u16_at(page, at + 14)) << 32 } else { 0 };
    Some(Part {
        at,
        length,
        flags,
        transaction: u64::from(u32_at(page, at)) | if flags & 1024 != 0 { high } else { 0 },
        back: (u32_at(page, at + 4), u16_at(page, at + 8)),
        goes_on: (u32_at(page, at + 16), u16_at(page, at + 20)),
    })
}

/// Goes through the table; what is damaged is left out, and the first of that is reported.
pub fn read(source: &mut Source, table: &Table, watch: Watch) -> (PagesOfTable, Option<Flaw>) {
    let mut counts = PagesOfTable { id: table.id, name: table.name.clone(), ..PagesOfTable::default() };
    let (mut next, mut damage) = (table.pointers, None);
    while next != 0 {
        let pointers = match source.claim(next, watch).and_then(|()| source.page_of(next, POINTER)) {
            Ok(pointers) => pointers,
            Err(flaw) => return (counts, damage.or(Some(flaw))),
        };
        counts.pointer_pages += 1;
        for slot_number in 0..slots(&pointers) {
            counts.slots += 1;
            let number = slot(&pointers, slot_number);
            if number == 0 {
                continue;
            }
            counts.data_pages += 1;
            if let Err(flaw) = source.claim(number, watch) {
                return (counts, damage.or(Some(flaw)));
            }
            let seen = source.page_of(number, DATA).and_then(|page| see(source, &mut counts, &page));
            damage = damage.or(seen.err());
        }
        next = u32_at(&pointers, 20);
    }
    (counts, damage)
}

fn see(source: &mut Source, counts: &mut PagesOfTable, page: &Page) -> Result<(), Flaw> {
    let count = lines(page);
    let flags = u8_at(page, 1);
    counts.empty_pages += u64::from(count == 0);
    counts.full_pages += u64::from(flags & FULL != 0);
    counts.primary_pages += u64::from(flags & SECONDARY == 0);
    counts.swept_pages += u64::from(flags & SWEPT != 0);
    counts.used_bytes += u64::from(count) * 4;
    for line in 0..count {
        let Some(part) = part(page, line) else { continue };
        if part.at + part.length > page.len() {
            let number = u32_at(page, 12);
            return Err(Flaw::Damaged(format!("line {line} of data page {number} reaches beyond the page")));
        }
        counts.used_bytes += part.length as u64;
        if part.flags & (BLOB | CHAIN | FRAGMENT) == 0 {
            counts.records += 1;
            counts.deleted += u64::from(part.flags & DELETED != 0);
            counts.record_bytes += (part.length as u64).saturating_sub(header_of(&part));
            if part.flags & INCOMPLETE != 0 {
                counts.record_bytes += fragments(source, counts, &part)?;
            }
            if part.back.0 != 0 {
                versions(source, counts, &part)?;
            }
        }
        if part.flags & BLOB != 0 {
            blob(source, counts, page, &part)?;
        }
    }
    Ok(())
}

fn header_of(part: &Part) -> u64 {
    if part.flags & INCOMPLETE != 0 {
        FRAGMENT_HEADER
    } else {
        RECORD_HEADER
    }
}

/// A part that the page and line name, if it is the table's.
fn follow(
    source: &mut Source,
    counts: &PagesOfTable,
    (number, line): (u32, u16),
) -> Result<Option<(Page, Part)>, Flaw> {
    source.step()?;
    let page = source.page(number)?;
    if u8_at(&page, 0) != DATA || u16_at(&page, 20) != counts.id {
        return Ok(None); // as gstat has it: a version may be collected while it is looked for
    }
    let counts = part(&page, line);
    Ok(counts.map(|part| (page, part)))
}

/// Bytes of the parts behind the first, without the headers of fragments.
fn fragments(source: &mut Source, counts: &mut PagesOfTable, first: &Part) -> Result<u64, Flaw> {
    let (mut part, mut bytes, mut count) = (*first, 0, 0);
    while part.flags & INCOMPLETE != 0 {
        let Some((page, next)) = follow(source, counts, part.goes_on)? else { break };
        if u8_at(&page, 1) & (ORPHAN | FULL) != 0 && lines(&page) == 1 {
            counts.big_record_pages += 1;
        }
        bytes += (next.length as u64).saturating_sub(FRAGMENT_HEADER);
        count += 1;
        part = next;
    }
    counts.fragments += count;
    counts.fragment_bytes += bytes;
    counts.fragments_max = counts.fragments_max.max(count);
    Ok(bytes)
}

fn versions(source: &mut Source, counts: &mut PagesOfTable, newest: &Part) -> Result<(), Flaw> {
    let (mut back, mut count) = (newest.back, 0);
    while back.0 != 0 {
        let Some((_, part)) = follow(source, counts, back)? else { break };
        count += 1;
        counts.version_bytes += (part.length as u64).saturating_sub(header_of(&part));
        if part.flags & INCOMPLETE != 0 {
            counts.version_bytes += fragments(source, counts, &part)?;
        }
        back = part.back;
    }
    counts.versions += count;
    counts.versions_max = counts.versions_max.max(count);
    Ok(())
}

fn blob(source: &mut Source, counts: &mut PagesOfTable, page: &[u8], part: &Part) -> Result<(), Flaw> {
    counts.blobs += 1;
    counts.blob_room_bytes += part.length as u64 + 4;
    counts.blob_bytes += u64::from(u32_at(page, part.at + 20));
    let level = u8_at(page, part.at + 12);
    let listed = part.length.saturating_sub(BLOB_HEADER) / 4;
    if level != 0 {
        counts.blob_pages += listed as u64;
    }
    if level == 2 {
        for number in 0..listed {
            source.step()?;
            let of_pointers = source.page_of(u32_at(page, part.at + BLOB_HEADER + 4 * number), BLOB_PAGE_KIND)?;
            counts.blob_pages += u64::from(u16_at(&of_pointers, 24)) / 4;
        }
    }
    Ok(())
}
