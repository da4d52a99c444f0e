//! Where a database stands, by `isc_database_info`: no snapshot of all attachments is made for it, as one is for a MON$ table,
//! and no transaction is begun. Pages are those of the cache that the attachment uses.
//! Source: InterBase 6 API Guide, "Requesting information about an attachment"; `db_info_types` of Firebird's `ibase.h`.

use super::library::Library;
use rsfbclient_core::ibase::{self, isc_db_handle};
use std::ffi::c_char;
use transaction::{failed, Class, Outcome, SessionError};

const ITEMS: [(u8, &str); 8] = [
    (ibase::db_info_types_isc_info_reads as u8, "page_reads"),
    (ibase::db_info_types_isc_info_writes as u8, "page_writes"),
    (ibase::db_info_types_isc_info_fetches as u8, "page_fetches"),
    (ibase::db_info_types_isc_info_marks as u8, "page_marks"),
    (ibase::db_info_types_isc_info_oldest_transaction as u8, "oldest_transaction"),
    (ibase::db_info_types_isc_info_oldest_active as u8, "oldest_active"),
    (ibase::db_info_types_isc_info_oldest_snapshot as u8, "oldest_snapshot"),
    (ibase::db_info_types_isc_info_next_transaction as u8, "next_transaction"),
];

pub fn of(library: &Library, database: &mut isc_db_handle) -> Outcome<Vec<(String, i64)>> {
    let asked = ITEMS.map(|(item, _)| item as c_char);
    let mut answer = [0u8; 256];
    // SAFETY: the attachment is there; question and answer have so many bytes.
    library.call(|status| unsafe {
        let length = asked.len() as i16;
        (library.database_info)(
            status,
            database,
            length,
            asked.as_ptr(),
            answer.len() as i16,
            answer.as_mut_ptr().cast(),
        )
    })?;
    let mut figures = read(&answer)?;
    // Gaps, which are what is read of these: how many transactions lie between.
    let figure = |name: &str, figures: &[(String, i64)]| figures.iter().find(|one| one.0 == name).map(|one| one.1);
    if let Some(next) = figure("next_transaction", &figures) {
        for (gap, from) in [("oldest_gap", "oldest_transaction"), ("active_gap", "oldest_active")] {
            figures.extend(figure(from, &figures).map(|from| (gap.to_string(), next - from)));
        }
    }
    Ok(figures)
}

/// Each item with its length in two bytes and its number, from the lowest byte on. One that the engine does not know is left
/// out.
fn read(answer: &[u8]) -> Outcome<Vec<(String, i64)>> {
    let mut figures = Vec::new();
    let mut rest = answer;
    while let Some((&item, after)) = rest.split_first() {
        if item == ibase::isc_info_end as u8 {
            return Ok(figures);
        }
        let length = after.get(..2).map(|two| usize::from(u16::from_le_bytes([two[0], two[1]]))).ok_or_else(unknown)?;
        let number = after.get(2..2 + length).ok_or_else(unknown)?;
        if let Some((_, name)) = ITEMS.iter().find(|one| one.0 == item) {
            if length > 8 {
                return Err(unknown());
            }
            let unsigned = number.iter().rev().fold(0u64, |sum, &byte| sum << 8 | u64::from(byte));
            figures.push((name.to_string(), unsigned as i64));
        }
        rest = &after[2 + length..];
    }
    Err(unknown())
}

fn unknown() -> SessionError {
    failed(Class::Other, "what the client library says of a database cannot be read".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_in_the_engines_order_and_what_it_does_not_know_is_left_out() {
        let answer = [
            vec![107, 4, 0, 1, 1, 0, 0],
            vec![ibase::isc_info_error as u8, 1, 0, 9],
            vec![6, 8, 0],
            vec![5; 8],
            vec![1],
        ];
        let read = read(&answer.concat()).unwrap();
        assert_eq!(read, [("next_transaction".to_string(), 257), ("page_writes".to_string(), 0x0505_0505_0505_0505)]);
    }

    #[test]
    fn no_answer_is_read_past_its_end() {
        for answer in [vec![], vec![6, 4], vec![6, 4, 0, 1], vec![6, 9, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]] {
            assert!(read(&answer).is_err(), "{answer:?}");
        }
    }
}
