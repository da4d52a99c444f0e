//! Little-endian numbers out of a page; beyond its end there is zero, as if the page went on empty.

pub fn u16_at(page: &[u8], at: usize) -> u16 {
    page.get(at..at + 2).map_or(0, |bytes| u16::from_le_bytes([bytes[0], bytes[1]]))
}

pub fn u32_at(page: &[u8], at: usize) -> u32 {
    page.get(at..at + 4).map_or(0, |bytes| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
}

pub fn u8_at(page: &[u8], at: usize) -> u8 {
    page.get(at).copied().unwrap_or(0)
}
