//! Whatever the bytes are, the reading ends, within a bound that grows with the file, and never panics.

use crate::file::{Bytes, Source};
use crate::{all_of, indexes, tables};
use proptest::prelude::*;
use std::cell::Cell;
use std::io;
use std::rc::Rc;

const PAGE: usize = 4096;

struct Memory {
    bytes: Vec<u8>,
    reads: Rc<Cell<u64>>,
}

impl Bytes for Memory {
    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<()> {
        self.reads.set(self.reads.get() + 1);
        let at = at as usize;
        let found = self.bytes.get(at..at + buffer.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        buffer.copy_from_slice(found);
        Ok(())
    }
}

/// A database of random pages whose kinds, counts and links are such that they lead somewhere.
fn database() -> impl Strategy<Value = Vec<u8>> {
    let page = (1..9u8, prop::collection::vec(any::<u8>(), 64), prop::collection::vec(0..24u32, 64), 0..40u16);
    prop::collection::vec(page, 3..24).prop_map(|pages| {
        let mut bytes = vec![0; pages.len() * PAGE];
        for (number, (kind, noise, links, count)) in pages.into_iter().enumerate() {
            let page = &mut bytes[number * PAGE..(number + 1) * PAGE];
            for (at, byte) in page.iter_mut().enumerate() {
                *byte = noise[at % noise.len()];
            }
            page[0] = kind;
            page[1] &= 0x1f;
            let put = |page: &mut [u8], at: usize, value: u32| page[at..at + 4].copy_from_slice(&value.to_le_bytes());
            match kind {
                4 => {
                    put(page, 20, links[0]);
                    page[24..26].copy_from_slice(&count.to_le_bytes());
                    (0..40).for_each(|slot| put(page, 32 + 4 * slot, links[slot + 1]));
                }
                5 => {
                    page[20..22].copy_from_slice(&((links[0] % 8) as u16).to_le_bytes());
                    page[22..24].copy_from_slice(&count.to_le_bytes());
                    for line in 0..40usize {
                        let at = 400 + 60 * line;
                        page[24 + 4 * line..26 + 4 * line].copy_from_slice(&(at as u16).to_le_bytes());
                        page[26 + 4 * line..28 + 4 * line].copy_from_slice(&60u16.to_le_bytes());
                        put(page, at + 4, links[line]);
                        page[at + 8..at + 10].copy_from_slice(&((links[line + 1] % 8) as u16).to_le_bytes());
                        put(page, at + 16, links[line + 2]);
                    }
                }
                7 => {
                    put(page, 16, links[0]);
                    page[33] %= 3;
                    page[36..38].copy_from_slice(&0u16.to_le_bytes());
                }
                _ => {}
            }
        }
        bytes[0] = 1;
        bytes[16..18].copy_from_slice(&(PAGE as u16).to_le_bytes());
        bytes[18..20].copy_from_slice(&0x800du16.to_le_bytes());
        bytes[20..24].copy_from_slice(&2u32.to_le_bytes());
        bytes[42..44].copy_from_slice(&0u16.to_le_bytes());
        bytes[128] = 0;
        bytes[PAGE] = 2;
        bytes
    })
}

fn source(bytes: Vec<u8>) -> (Source, Rc<Cell<u64>>) {
    let reads = Rc::new(Cell::new(0));
    let size = bytes.len() as u64;
    (Source::over(Box::new(Memory { bytes, reads: reads.clone() }), size).expect("it has a header"), reads)
}

proptest! {
    #[test]
    fn any_pages_are_read_to_an_end(bytes in database()) {
        let size = bytes.len() as u64;
        let (mut source, reads) = source(bytes);
        let _ = all_of(&mut source, &mut |_, _| {});
        prop_assert!(reads.get() <= size);
    }

    #[test]
    fn any_table_and_index_is_read_to_an_end(bytes in database(), first in 0..24u32, roots in 0..24u32) {
        let size = bytes.len() as u64;
        let (mut source, reads) = source(bytes);
        let index = tables::Index { id: 0, name: "I".into(), is_unique: false };
        let table = tables::Table { id: 3, name: "T".into(), pointers: first, roots, indexes: vec![] };
        tables::read(&mut source, &table, &mut |_, _| {});
        indexes::read(&mut source, &table, &index, &mut |_, _| {});
        prop_assert!(reads.get() <= size);
    }

    #[test]
    fn any_bytes_are_no_database_or_one(bytes in prop::collection::vec(any::<u8>(), 0..3000)) {
        let size = bytes.len() as u64;
        let _ = Source::over(Box::new(Memory { bytes, reads: Rc::default() }), size);
    }
}

#[test]
fn a_ring_of_pointer_pages_is_damage() {
    let mut bytes = vec![0; 4 * PAGE];
    bytes[0] = 1;
    bytes[16..18].copy_from_slice(&(PAGE as u16).to_le_bytes());
    bytes[2 * PAGE] = 4;
    bytes[2 * PAGE + 20] = 2;
    let (mut source, _) = source(bytes);
    let table = tables::Table { id: 128, name: "T".into(), pointers: 2, roots: 0, indexes: vec![] };
    let (_, damage) = tables::read(&mut source, &table, &mut |_, _| {});
    assert!(damage.is_some_and(|flaw| flaw.to_string().contains("more than one table")));
}
