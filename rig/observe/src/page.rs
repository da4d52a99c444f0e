//! The pages of the kernel's trace buffer as `trace_pipe_raw` hands them out; see the kernel's
//! Documentation/trace/ring-buffer-design.rst and include/linux/ring_buffer.h.
//!
//! Pure: bytes in, records out. Whatever the bytes are, nothing here panics or reads beyond them.

/// One record of the buffer: its time on the trace clock, and its bytes, which begin with the event's number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Record<'a> {
    pub at_ns: u64,
    pub data: &'a [u8],
}

/// Where the parts of a page lie: what `events/header_page` says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Layout {
    pub commit_offset: usize,
    pub commit_bytes: usize,
    pub data_offset: usize,
}

impl Layout {
    /// Reads the text of `events/header_page`.
    pub fn parse(text: &str) -> Option<Layout> {
        let (mut commit, mut data) = (None, None);
        for line in text.lines() {
            let Some(field) = super::format::Field::parse(line) else { continue };
            match field.name.as_str() {
                "commit" => commit = Some((field.offset, field.bytes)),
                "data" => data = Some(field.offset),
                _ => {}
            }
        }
        let ((commit_offset, commit_bytes), data_offset) = (commit?, data?);
        matches!(commit_bytes, 4 | 8).then_some(Layout { commit_offset, commit_bytes, data_offset })
    }
}

const MISSED: u64 = 1 << 31; // RB_MISSED_EVENTS
const MISSED_STORED: u64 = 1 << 30; // RB_MISSED_STORED: the count stands behind the data
const COMMIT: u64 = (1 << 20) - 1; // bytes of data in the page

const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;

/// Walks the records of one page. [`Page::missed`] tells how many were lost before its first.
pub struct Page<'a> {
    data: &'a [u8],
    at_ns: u64,
    /// Records lost before this page; `u64::MAX` when the kernel lost some and does not say how many.
    pub missed: u64,
}

impl<'a> Page<'a> {
    /// `None` when `bytes` is too short to be a page.
    pub fn new(bytes: &'a [u8], layout: Layout) -> Option<Page<'a>> {
        let at_ns = word(bytes, 0)?;
        let commit = match layout.commit_bytes {
            4 => half(bytes, layout.commit_offset)?.into(),
            _ => word(bytes, layout.commit_offset)?,
        };
        let data = bytes.get(layout.data_offset..)?;
        let length = (commit & COMMIT) as usize;
        let missed = match (commit & MISSED != 0, commit & MISSED_STORED != 0) {
            (false, _) => 0,
            (true, true) => word(data, length).unwrap_or(u64::MAX),
            (true, false) => u64::MAX,
        };
        Some(Page { data: data.get(..length).unwrap_or(data), at_ns, missed })
    }
}

impl<'a> Iterator for Page<'a> {
    type Item = Record<'a>;

    fn next(&mut self) -> Option<Record<'a>> {
        loop {
            let header = half(self.data, 0)?;
            let (kind, delta) = header_parts(header);
            let (record, length) = match kind {
                0 => {
                    // The length counts itself.
                    let length = half(self.data, 4)? as usize;
                    (Some(self.data.get(8..4 + length)?), 4 + length)
                }
                1..PADDING => {
                    let length = 4 * kind as usize;
                    (Some(self.data.get(4..4 + length)?), 4 + length)
                }
                PADDING if delta == 0 => return None, // up to the end of the page
                PADDING => (None, 4 + half(self.data, 4)? as usize),
                TIME_EXTEND | TIME_STAMP => {
                    let whole = u64::from(half(self.data, 4)?) << 27 | delta;
                    // An absolute time has 59 bits; those above are the page's.
                    let high = self.at_ns & !((1 << 59) - 1);
                    self.at_ns = if kind == TIME_STAMP { high | whole } else { self.at_ns.wrapping_add(whole) };
                    self.data = self.data.get(8..)?;
                    continue;
                }
                _ => return None,
            };
            self.at_ns = self.at_ns.wrapping_add(delta);
            // The last record's padding may end with the page.
            self.data = self.data.get(length..).unwrap_or(&[]);
            if let Some(data) = record {
                return Some(Record { at_ns: self.at_ns, data });
            }
        }
    }
}

/// The kind, or length in words, of a record, and the time since the one before. Bit fields follow the byte order.
fn header_parts(header: u32) -> (u32, u64) {
    if cfg!(target_endian = "big") {
        (header >> 27, u64::from(header & ((1 << 27) - 1)))
    } else {
        (header & 31, u64::from(header >> 5))
    }
}

fn half(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LAYOUT: Layout = Layout { commit_offset: 8, commit_bytes: 8, data_offset: 16 };

    fn page(at_ns: u64, flags: u64, data: &[u8]) -> Vec<u8> {
        let mut bytes = at_ns.to_ne_bytes().to_vec();
        bytes.extend((data.len() as u64 | flags).to_ne_bytes());
        bytes.extend(data);
        bytes
    }

    fn record(delta: u32, data: &[u8]) -> Vec<u8> {
        assert_eq!(data.len() % 4, 0);
        if data.len() <= 4 * 28 {
            [&(delta << 5 | (data.len() / 4) as u32).to_ne_bytes()[..], data].concat()
        } else {
            [&(delta << 5).to_ne_bytes()[..], &(data.len() as u32 + 4).to_ne_bytes(), data].concat()
        }
    }

    #[test]
    fn the_kernels_own_description_is_read() {
        let text = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
                    \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
                    \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
                    \tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";
        assert_eq!(Layout::parse(text), Some(LAYOUT));
        assert_eq!(Layout::parse("nothing"), None);
    }

    #[test]
    fn times_add_up_over_extensions_stamps_and_padding() {
        let mut data = record(5, b"AAAA");
        data.extend((7u32 << 5 | TIME_EXTEND).to_ne_bytes());
        data.extend(1u32.to_ne_bytes());
        data.extend(record(1, b"BBBB"));
        data.extend((3u32 << 5 | PADDING).to_ne_bytes()); // a discarded record of 8 bytes behind its header
        data.extend(8u32.to_ne_bytes());
        data.extend([0; 4]);
        data.extend(record(0, &[b'C'; 200]));
        data.extend((9u32 << 5 | TIME_STAMP).to_ne_bytes());
        data.extend(2u32.to_ne_bytes());
        data.extend(record(1, b"DDDD"));
        data.extend(PADDING.to_ne_bytes());
        data.extend([0xff; 12]);
        let bytes = page(1000, 0, &data);
        let records: Vec<_> = Page::new(&bytes, LAYOUT).unwrap().map(|r| (r.at_ns, r.data[0], r.data.len())).collect();
        let extended = 1005 + (1 << 27) + 7 + 1;
        assert_eq!(
            records,
            [(1005, b'A', 4), (extended, b'B', 4), (extended + 3, b'C', 200), ((2 << 27) + 9 + 1, b'D', 4)]
        );
    }

    #[test]
    fn lost_records_are_reported() {
        let missed = |flags, tail: &[u8]| {
            let bytes = [page(0, flags, &record(0, b"AAAA")), tail.to_vec()].concat();
            Page::new(&bytes, LAYOUT).unwrap().missed
        };
        assert_eq!(missed(0, &[]), 0);
        assert_eq!(missed(MISSED, &[]), u64::MAX);
        assert_eq!(missed(MISSED | MISSED_STORED, &17u64.to_ne_bytes()), 17);
        assert_eq!(missed(MISSED | MISSED_STORED, &[]), u64::MAX);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), commit in 0u64..1 << 33) {
            let mut whole = bytes.clone();
            if whole.len() >= 16 {
                whole[8..16].copy_from_slice(&commit.to_ne_bytes());
            }
            for bytes in [&bytes, &whole] {
                let total: usize = Page::new(bytes, LAYOUT).into_iter().flatten().map(|r| r.data.len()).sum();
                prop_assert!(total <= bytes.len());
            }
        }

        #[test]
        fn what_was_written_is_read(records in proptest::collection::vec((0u32..1 << 27, 1usize..60, any::<u8>()), 0..20)) {
            let data: Vec<u8> =
                records.iter().flat_map(|(delta, words, byte)| record(*delta, &vec![*byte; 4 * words])).collect();
            let bytes = page(0, 0, &data);
            let mut at = 0u64;
            let expected: Vec<_> = records
                .iter()
                .map(|(delta, words, byte)| {
                    at += u64::from(*delta);
                    (at, vec![*byte; 4 * words])
                })
                .collect();
            let read: Vec<_> = Page::new(&bytes, LAYOUT).unwrap().map(|r| (r.at_ns, r.data.to_vec())).collect();
            prop_assert_eq!(read, expected);
        }
    }
}
