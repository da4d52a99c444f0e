//! The leaves of one index, and what gstat counts on them. Nodes are those of `src/jrd/btn.h`.

use crate::file::{u16_at, u32_at, u8_at, Flaw, Source, Watch, INDEX, ROOT};
use crate::tables::{Index, Table};
use protocol::PagesOfIndex;

const NODES: usize = 39;
const ROOTS: usize = 20;
const ROOT_ENTRY: usize = 12;
const IN_PROGRESS: u8 = 4;
const LEVELS_MAX: u8 = 32;

const END_LEVEL: u8 = 1;
const END_BUCKET: u8 = 2;
const NOTHING: u8 = 3;
const NO_DATA: u8 = 4;
const ONE_BYTE: u8 = 5;

/// Goes through the index; where it is damaged it ends, and that is reported.
pub fn read(source: &mut Source, table: &Table, index: &Index, watch: Watch) -> (PagesOfIndex, Option<Flaw>) {
    let mut counts =
        PagesOfIndex { id: index.id, name: index.name.clone(), is_unique: index.is_unique, ..PagesOfIndex::default() };
    let flaw = through(source, table, &mut counts, watch).err();
    (counts, flaw)
}

fn through(source: &mut Source, table: &Table, counts: &mut PagesOfIndex, watch: Watch) -> Result<(), Flaw> {
    if table.roots == 0 {
        return Ok(());
    }
    let roots = source.page_of(table.roots, ROOT)?;
    let entry = ROOTS + ROOT_ENTRY * usize::from(counts.id);
    if counts.id >= u16_at(&roots, 18) || u8_at(&roots, entry + 11) & IN_PROGRESS != 0 || u32_at(&roots, entry) == 0 {
        return Ok(()); // it is being made
    }
    let mut number = u32_at(&roots, entry);
    let mut page = source.page_of(number, INDEX)?;
    let depth = u8_at(&page, 33);
    if depth > LEVELS_MAX {
        return Err(Flaw::Damaged(format!("page {number} of index {} says that it is on level {depth}", counts.name)));
    }
    counts.depth = u32::from(depth) + 1;
    for level in (0..depth).rev() {
        let node = Node::read(&page, first_node(&page), false);
        let child = node.map_or(0, |node| node.page);
        page = source.page_of(child, INDEX)?;
        if u8_at(&page, 33) != level {
            return Err(Flaw::Damaged(format!("page {child} of index {} is not on level {level}", counts.name)));
        }
        number = child;
    }
    // How many records a page can hold at most: by it a record's number tells its page.
    let each = (source.page_bytes as u64 - 28) / 17;
    let (mut key, mut same, mut before, mut is_first) = (Vec::new(), 0, u64::MAX, true);
    loop {
        source.claim(number, watch)?;
        counts.leaf_buckets += 1;
        let beginning = first_node(&page);
        let mut at = beginning;
        let is_last = loop {
            let Some(node) = Node::read(&page, at, true) else {
                return Err(Flaw::Damaged(format!(
                    "page {number} of index {} ends in the middle of a key",
                    counts.name
                )));
            };
            if node.ends_bucket || node.ends_level {
                break node.ends_level;
            }
            counts.nodes += 1;
            counts.node_bytes += (node.end - at) as u64;
            counts.prefix_bytes += node.prefix as u64;
            counts.data_bytes += node.data.len() as u64;
            let of_page = node.record / each;
            counts.clustering += u64::from(of_page != before);
            before = of_page;
            let length = node.prefix + node.data.len();
            let is_same = !is_first
                && length == key.len()
                && (node.data.is_empty() || at == beginning && key.get(node.prefix..) == Some(node.data));
            is_first = false;
            if is_same {
                counts.duplicates += 1;
                same += 1;
                counts.duplicates_max = counts.duplicates_max.max(same);
            } else {
                same = 0;
            }
            key.resize(node.prefix, 0);
            key.extend_from_slice(node.data);
            at = node.end;
        };
        if is_last {
            return Ok(());
        }
        let next = u32_at(&page, 16);
        page = source.page_of(next, INDEX)?;
        number = next;
    }
}

fn first_node(page: &[u8]) -> usize {
    NODES + usize::from(u16_at(page, 36))
}

struct Node<'a> {
    ends_level: bool,
    ends_bucket: bool,
    record: u64,
    page: u32,
    prefix: usize,
    data: &'a [u8],
    end: usize,
}

impl<'a> Node<'a> {
    /// The node at `at`; nothing where the page ends within it.
    fn read(page: &'a [u8], at: usize, of_leaf: bool) -> Option<Node<'a>> {
        let mut next = at;
        let mut byte = || {
            let byte = *page.get(next)?;
            next += 1;
            Some(byte)
        };
        let first = byte()?;
        let kind = first >> 5;
        if kind == END_LEVEL {
            let data = &page[..0];
            return Some(Node { ends_level: true, ends_bucket: false, record: 0, page: 0, prefix: 0, data, end: next });
        }
        let mut record = u64::from(first & 0x1F);
        for shift in [5, 12, 19, 26, 33] {
            let more = byte()?;
            record |= u64::from(more & 0x7F) << shift;
            if more < 0x80 {
                break;
            }
        }
        let mut child = 0u64;
        if !of_leaf {
            for shift in [0, 7, 14, 21, 28] {
                let more = byte()?;
                child |= u64::from(more & 0x7F) << shift;
                if more < 0x80 {
                    break;
                }
            }
        }
        let mut length_of = || -> Option<usize> {
            let low = byte()?;
            let high = if low & 0x80 != 0 { byte()? & 0x7F } else { 0 };
            Some(usize::from(low & 0x7F) | usize::from(high) << 7)
        };
        let prefix = if kind == NOTHING { 0 } else { length_of()? };
        let length = match kind {
            NOTHING | NO_DATA => 0,
            ONE_BYTE => 1,
            _ => length_of()?,
        };
        let data = page.get(next..next + length)?;
        let ends_bucket = kind == END_BUCKET;
        Some(Node { ends_level: false, ends_bucket, record, page: child as u32, prefix, data, end: next + length })
    }
}
