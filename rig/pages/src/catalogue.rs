//! Which tables and indexes there are, and where they begin: RDB$PAGES, RDB$RELATIONS and RDB$INDICES, whose rows are laid
//! out as `src/jrd/relations.h` says, in each on-disk structure alike but for the length of names.
//!
//! Rows are read without a transaction: a row counts as its newest version says, unless that was made by a transaction that
//! did not commit and there is none before it.

use crate::file::{u16_at, u32_at, u8_at, Flaw, Source, DATA, POINTER, TRANSACTIONS};
use crate::tables::{self, Index, Part, Table, BLOB, CHAIN, DELETED, FRAGMENT, INCOMPLETE};
use protocol::Pages;
use std::collections::{BTreeMap, HashSet};

const PAGES: u16 = 0;
const INDICES: u16 = 4;
const RELATIONS: u16 = 6;
const ROOT: u16 = 6;
/// Of a row as much as is asked for here.
const ROW_BYTES: usize = 2048;
const NOT_PACKED: u16 = 2048;
const LONG_TRANSACTION: u16 = 1024;
const HEADER_BYTES: usize = 13;
const LONG_HEADER_BYTES: usize = 16;
const FRAGMENT_HEADER_BYTES: usize = 22;

#[derive(Default)]
pub struct Catalogue {
    pointers: BTreeMap<u16, u32>,
    roots: BTreeMap<u16, u32>,
    /// Transaction inventories by their sequence.
    pub inventories: BTreeMap<u32, u32>,
}

pub fn read(source: &mut Source, first: u32) -> Result<Catalogue, Flaw> {
    let mut catalogue = Catalogue::default();
    each_row(source, PAGES, first, |_, row, _| {
        let (page, relation) = (u32_at(row, 4), u16_at(row, 8));
        let (sequence, kind) = (u32_at(row, 12), u16_at(row, 16));
        match (kind, sequence) {
            (kind, _) if kind == u16::from(TRANSACTIONS) => {
                catalogue.inventories.insert(sequence, page);
            }
            (kind, 0) if kind == u16::from(POINTER) => {
                catalogue.pointers.insert(relation, page);
            }
            (ROOT, 0) => {
                catalogue.roots.insert(relation, page);
            }
            _ => {}
        }
    })?;
    Ok(catalogue)
}

impl Catalogue {
    /// The tables of users, as gstat has them: no views, and no external tables.
    pub fn tables(&self, source: &mut Source, pages: &mut Pages) -> Result<Vec<Table>, Flaw> {
        let name_bytes = if pages.ods_major >= 13 { 252 } else { 31 };
        let unfinished = Unfinished { catalogue: self, from: pages.oldest };
        let pointers = |relation: u16| {
            self.pointers.get(&relation).copied().ok_or_else(|| {
                Flaw::Damaged(format!("RDB$PAGES does not say where table number {relation} of the system begins"))
            })
        };
        let mut tables = BTreeMap::new();
        each_row(source, RELATIONS, pointers(RELATIONS)?, |source, row, part| {
            let is_null = |field: usize| row[field / 8] >> (field % 8) & 1 == 1;
            // Blobs begin at a multiple of 8: behind the flags come RDB$VIEW_BLR and two more.
            let is_view = !is_null(0) && (u32_at(row, 8) != 0 || u32_at(row, 12) != 0);
            let of_system = !is_null(4) && u16_at(row, 34) != 0;
            if is_view || of_system || !is_null(10) || is_null(3) || unfinished.made(source, part) {
                return;
            }
            let (id, name) = (u16_at(row, 32), name(row, 42, name_bytes));
            let (pointers, roots) = (&self.pointers, &self.roots);
            let begins = |of: &BTreeMap<u16, u32>| of.get(&id).copied().unwrap_or(0);
            let table =
                Table { id, name: name.clone(), pointers: begins(pointers), roots: begins(roots), indexes: vec![] };
            tables.insert(name, table);
        })?;
        let after_names = (4 + 2 * name_bytes).next_multiple_of(2);
        let inactive = (after_names + 4).next_multiple_of(8) + 8 + 2; // behind RDB$DESCRIPTION and RDB$SEGMENT_COUNT
        each_row(source, INDICES, pointers(INDICES)?, |source, row, part| {
            let is_null = |field: usize| row[field / 8] >> (field % 8) & 1 == 1;
            let Some(table) = tables.get_mut(&name(row, 4 + name_bytes, name_bytes)) else { return };
            let (id, is_off) = (u16_at(row, after_names), !is_null(6) && u16_at(row, inactive) != 0);
            if is_off || id == 0 || unfinished.made(source, part) {
                return;
            }
            let is_unique = !is_null(3) && u16_at(row, after_names + 2) != 0;
            table.indexes.push(Index { id: id - 1, name: name(row, 4, name_bytes), is_unique });
        })?;
        let mut tables: Vec<Table> = tables.into_values().collect();
        for table in &mut tables {
            table.indexes.sort_by(|a, b| a.name.cmp(&b.name));
        }
        Ok(tables)
    }
}

/// Which transactions have made rows that are nobody's yet, or will never be.
struct Unfinished<'a> {
    catalogue: &'a Catalogue,
    from: u64,
}

impl Unfinished<'_> {
    /// Whether the row is there only by a transaction that did not commit.
    fn made(&self, source: &mut Source, part: &Part) -> bool {
        if part.back.0 != 0 || part.transaction < self.from {
            return false;
        }
        let each = (source.page_bytes - 20) as u64 * 4;
        let Some(&number) = self.catalogue.inventories.get(&((part.transaction / each) as u32)) else { return false };
        let place = part.transaction % each;
        source
            .page_of(number, TRANSACTIONS)
            .is_ok_and(|page| u8_at(&page, 20 + (place / 4) as usize) >> (2 * (place % 4)) & 3 != 3)
    }
}

fn name(row: &[u8], at: usize, length: usize) -> String {
    let bytes = row.get(at..at + length).unwrap_or_default();
    String::from_utf8_lossy(bytes).trim_end_matches([' ', '\0']).to_string()
}

/// Gives each row of a table of the system, unpacked and filled up with zeroes, to `take`.
fn each_row(
    source: &mut Source,
    relation: u16,
    first: u32,
    mut take: impl FnMut(&mut Source, &[u8], &Part),
) -> Result<(), Flaw> {
    let (mut next, mut passed, mut lines) = (first, HashSet::new(), HashSet::new());
    while next != 0 {
        if !passed.insert(next) {
            return Err(Flaw::Damaged(format!("pointer pages of table number {relation} of the system form a ring")));
        }
        let pointers = source.page_of(next, POINTER)?;
        for slot in 0..tables::slots(&pointers) {
            let number = tables::slot(&pointers, slot);
            if number == 0 || !lines.insert(number) {
                continue;
            }
            let page = source.page_of(number, DATA)?;
            for line in 0..tables::lines(&page) {
                let Some(part) = tables::part(&page, line) else { continue };
                if part.flags & (DELETED | CHAIN | FRAGMENT | BLOB) == 0 {
                    let row = unpacked(source, &page, &part)?;
                    take(source, &row, &part);
                }
            }
        }
        next = u32_at(&pointers, 20);
    }
    Ok(())
}

/// The first bytes of a row, all its fragments put together.
fn unpacked(source: &mut Source, page: &[u8], part: &Part) -> Result<Vec<u8>, Flaw> {
    let mut packed = vec![];
    let (mut page, mut part) = (page.to_vec(), *part);
    loop {
        let header = match part.flags {
            flags if flags & INCOMPLETE != 0 => FRAGMENT_HEADER_BYTES,
            flags if flags & LONG_TRANSACTION != 0 => LONG_HEADER_BYTES,
            _ => HEADER_BYTES,
        };
        let is_packed = part.flags & NOT_PACKED == 0;
        let bytes = page.get(part.at + header..part.at + part.length).unwrap_or_default();
        if is_packed {
            unpack(bytes, &mut packed);
        } else {
            packed.extend_from_slice(bytes);
        }
        if part.flags & INCOMPLETE == 0 || packed.len() >= ROW_BYTES {
            break;
        }
        source.step()?;
        let (number, line) = part.goes_on;
        page = source.page_of(number, DATA)?.to_vec();
        part = match tables::part(&page, line) {
            Some(part) => part,
            None => return Err(Flaw::Damaged(format!("a part of a record should be on page {number}, line {line}"))),
        };
    }
    packed.resize(ROW_BYTES, 0);
    Ok(packed)
}

/// `src/jrd/sqz.cpp`: runs of one byte, and bytes as they are. From structure 13.1 on, lengths of -1 and -2 are those of
/// longer runs; before, runs were 3 bytes long at least.
fn unpack(mut bytes: &[u8], into: &mut Vec<u8>) {
    while let [length, rest @ ..] = bytes {
        bytes = rest;
        let length = *length as i8;
        if length >= 0 {
            let (plain, rest) = bytes.split_at((length as usize).min(bytes.len()));
            into.extend_from_slice(plain);
            bytes = rest;
        } else {
            let (run, skip) = match length {
                -1 => (usize::from(u16_at(bytes, 0)), 2),
                -2 => (u32_at(bytes, 0) as usize, 4),
                _ => (usize::from(length.unsigned_abs()), 0),
            };
            let Some((&byte, rest)) = bytes.get(skip..).and_then(|b| b.split_first()) else { return };
            into.extend(std::iter::repeat_n(byte, run.min(ROW_BYTES)));
            bytes = rest;
        }
        if into.len() >= ROW_BYTES {
            return;
        }
    }
}
