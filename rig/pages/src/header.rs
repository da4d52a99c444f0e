//! What a database says of itself: its header page, which pages are free, and the outcome of transactions.

use crate::catalogue::Catalogue;
use crate::file::{u16_at, u32_at, u8_at, Flaw, Source, HEADER, INVENTORY, TRANSACTIONS};
use protocol::{Pages, TransactionState};

const ODS_FIREBIRD: u16 = 0x8000;
const KNOWN: std::ops::RangeInclusive<u16> = 12..=13;
const FORCED_WRITES: u16 = 0x2;
const NO_RESERVE: u16 = 0x8;
const DIALECT_3: u16 = 0x10;
const READ_ONLY: u16 = 0x20;
const ENCRYPTED: u16 = 0x40 | 0x4; // wholly, or on the way
const BACKUP: u16 = 0xC00;
const SHUTDOWN: u16 = 0x1080;
const VARIABLE: usize = 128;
const INVENTORY_BITS: usize = 28;
const STATES: usize = 20;
/// Transactions whose state is looked up, from the oldest on: what lies further on counts as not looked at.
const LOOKED_AT_MAX: u64 = 100_000_000;

pub struct Header {
    pub pages: Pages,
    /// The first pointer page of RDB$PAGES, which knows those of all other tables.
    pub first_of_pages: u32,
}

pub fn read(source: &mut Source) -> Result<Header, Flaw> {
    let page = source.page_of(0, HEADER)?;
    let ods = u16_at(&page, 18);
    let major = ods & !ODS_FIREBIRD;
    if ods & ODS_FIREBIRD == 0 || !KNOWN.contains(&major) {
        return Err(Flaw::Damaged(format!(
            "its on-disk structure is {major}; {} (Firebird 3) and {} (Firebird 4 and 5) can be read",
            KNOWN.start(),
            KNOWN.end()
        )));
    }
    let counter =
        |at: usize, high: usize| u64::from(u16_at(&page, 120 + 2 * high)) << 32 | u64::from(u32_at(&page, at));
    let flags = u16_at(&page, 42);
    let (mut sweep_interval, mut files) = (None, false);
    let mut at = VARIABLE;
    while at + 2 <= page.len() && page[at] != 0 {
        match page[at] {
            4 => sweep_interval = Some(u32_at(&page, at + 2) as i32),
            2 => files = true,
            _ => {}
        }
        at += 2 + usize::from(page[at + 1]);
    }
    if files {
        return Err(Flaw::Damaged("it goes on in other files, which are not followed".into()));
    }
    let pages = Pages {
        page_bytes: source.page_bytes as u32,
        ods_major: major,
        ods_minor: u16_at(&page, 64),
        page_buffers: u32_at(&page, 68),
        forced_writes: flags & FORCED_WRITES != 0,
        reserves_space: flags & NO_RESERVE == 0,
        sql_dialect: if flags & DIALECT_3 != 0 { 3 } else { 1 },
        read_only: flags & READ_ONLY != 0,
        encrypted: flags & ENCRYPTED != 0,
        is_shut_down: flags & SHUTDOWN != 0,
        backup_locked: flags & BACKUP != 0,
        sweep_interval,
        generation: u32_at(&page, 4),
        oldest: counter(28, 1),
        oldest_active: counter(32, 2),
        oldest_snapshot: counter(72, 3),
        next: counter(36, 0),
        oldest_state: None,
        in_limbo: 0,
        rolled_back: 0,
        active: 0,
        states_of: 0,
        pages: source.pages,
        free_pages: free(source)?,
        tables: vec![],
        damaged: None,
    };
    Ok(Header { pages, first_of_pages: u32_at(&page, 20) })
}

/// Pages that are in the file and in no use, by the page inventories.
fn free(source: &mut Source) -> Result<u64, Flaw> {
    let each = (source.page_bytes - INVENTORY_BITS) as u64 * 8;
    let mut free = 0;
    for number in 0..source.pages.div_ceil(each) {
        let at = if number == 0 { 1 } else { number * each - 1 };
        if at >= source.pages {
            break;
        }
        let page = source.page_of(at as u32, INVENTORY)?;
        let bits = each.min(source.pages - number * each) as usize;
        let whole = page[INVENTORY_BITS..INVENTORY_BITS + bits / 8].iter().map(|byte| byte.count_ones()).sum::<u32>();
        let rest = u8_at(&page, INVENTORY_BITS + bits / 8) & ((1u16 << (bits % 8)) - 1) as u8;
        free += u64::from(whole + rest.count_ones());
    }
    Ok(free)
}

/// Looks up the outcome of the transactions from the oldest that is of interest on. The oldest keeps garbage because it
/// did not commit: it is at work, in limbo, or was rolled back and waits for a sweep.
pub fn transactions(source: &mut Source, catalogue: &Catalogue, pages: &mut Pages) -> Option<Flaw> {
    let each = (source.page_bytes - STATES) as u64 * 4;
    let end = pages.next.min(pages.oldest.saturating_add(LOOKED_AT_MAX));
    let mut at = pages.oldest;
    while at <= end {
        let Some(&number) = catalogue.inventories.get(&((at / each) as u32)) else {
            break; // of those that are made when they are needed
        };
        let page = match source.page_of(number, TRANSACTIONS) {
            Ok(page) => page,
            Err(flaw) => return Some(flaw),
        };
        let last = end.min((at / each + 1) * each - 1);
        for transaction in at..=last {
            let place = transaction % each;
            let state = page[STATES + (place / 4) as usize] >> (2 * (place % 4)) & 3;
            // What the next number says is of no transaction yet.
            let state = match state {
                0 => TransactionState::Active,
                1 => TransactionState::InLimbo,
                2 => TransactionState::RolledBack,
                _ => TransactionState::Committed,
            };
            if transaction == pages.oldest {
                pages.oldest_state = Some(state);
            }
            match state {
                TransactionState::InLimbo => pages.in_limbo += 1,
                TransactionState::RolledBack => pages.rolled_back += 1,
                TransactionState::Active => pages.active += 1,
                TransactionState::Committed => {}
            }
            pages.states_of += 1;
        }
        at = last + 1;
    }
    None
}
