//! Blobs: what is too long for a row, or was declared so. They are read and written in segments.

use super::library::{Library, Status};
use rsfbclient_core::ibase::{isc_blob_handle, isc_db_handle, isc_segment, isc_segstr_eof, isc_tr_handle, ISC_QUAD};
use std::ptr;
use transaction::Outcome;

/// The longest that the library takes or answers at once.
const SEGMENT: usize = 65_535;

/// Where blobs lie: an attachment and its open transaction.
pub struct Place<'a> {
    pub library: &'a Library,
    pub database: &'a mut isc_db_handle,
    pub transaction: &'a mut isc_tr_handle,
}

impl Place<'_> {
    /// Reads a blob behind what `bytes` holds.
    pub fn read(&mut self, mut id: ISC_QUAD, bytes: &mut Vec<u8>) -> Outcome<()> {
        let library = self.library;
        let mut blob: isc_blob_handle = 0;
        // SAFETY: the handles are open and the id is of this database. There are no further parameters.
        library.call(|status| unsafe {
            (library.open_blob)(status, self.database, self.transaction, &mut blob, &mut id, 0, ptr::null())
        })?;
        loop {
            bytes.reserve(SEGMENT);
            let (mut status, mut length): (Status, u16) = ([0; 20], 0);
            // SAFETY: the blob is open, and there is room for a segment behind the bytes.
            let ended = unsafe {
                let room = bytes.as_mut_ptr().add(bytes.len()).cast();
                (library.get_segment)(status.as_mut_ptr(), &mut blob, &mut length, SEGMENT as u16, room)
            };
            // SAFETY: so many bytes were written there, of which there is room for as many as the length can say.
            unsafe { bytes.set_len(bytes.len() + usize::from(length)) };
            // A segment that is longer than the room comes in parts.
            if ended == isc_segstr_eof as isize {
                break;
            } else if ended != 0 && ended != isc_segment as isize {
                return Err(self.given_up(blob, &status));
            }
        }
        // SAFETY: the blob is open.
        library.call(|status| unsafe { (library.close_blob)(status, &mut blob) })
    }

    /// Makes a blob of `bytes`; the row that stores its id keeps it.
    pub fn write(&mut self, bytes: &[u8]) -> Outcome<ISC_QUAD> {
        let library = self.library;
        let mut blob: isc_blob_handle = 0;
        let mut id = ISC_QUAD { gds_quad_high: 0, gds_quad_low: 0 };
        // SAFETY: the handles are open, and the answers have their places. There are no further parameters.
        library.call(|status| unsafe {
            (library.create_blob)(status, self.database, self.transaction, &mut blob, &mut id, 0, ptr::null())
        })?;
        for segment in bytes.chunks(SEGMENT) {
            let mut status: Status = [0; 20];
            // SAFETY: the blob is open, and the segment has so many bytes.
            let put = unsafe {
                (library.put_segment)(status.as_mut_ptr(), &mut blob, segment.len() as u16, segment.as_ptr().cast())
            };
            if put != 0 {
                return Err(self.given_up(blob, &status));
            }
        }
        // SAFETY: the blob is open.
        library.call(|status| unsafe { (library.close_blob)(status, &mut blob) })?;
        Ok(id)
    }

    fn given_up(&self, mut blob: isc_blob_handle, status: &Status) -> transaction::SessionError {
        // SAFETY: the blob is open. What more the status holds matters less than what went wrong.
        self.library.call(|status| unsafe { (self.library.cancel_blob)(status, &mut blob) }).ok();
        self.library.error(status)
    }
}
