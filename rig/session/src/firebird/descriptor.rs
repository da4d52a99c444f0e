//! An XSQLDA: what the client library takes of a statement's parameters, or returns of its columns, and where their values
//! lie. Source: InterBase 6 API Guide, chapter 6.

use rsfbclient_core::ibase::{ISC_SCHAR, SQLDA_VERSION1, XSQLDA, XSQLVAR};
use std::mem::size_of;
use std::ptr::addr_of_mut;

/// Words that stay where they are: the library keeps addresses of them from call to call.
struct Fixed {
    words: *mut u64,
    length: usize,
}

impl Fixed {
    fn zeros(bytes: usize) -> Fixed {
        let words = vec![0u64; bytes.div_ceil(size_of::<u64>())].into_boxed_slice();
        let length = words.len();
        Fixed { words: Box::into_raw(words).cast(), length }
    }
}

impl Drop for Fixed {
    fn drop(&mut self) {
        // SAFETY: it came from a box of so many words, which nobody else has taken back.
        drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(self.words, self.length)) });
    }
}

/// A descriptor of a fixed number of variables, and room for their values.
pub struct Descriptor {
    area: Fixed,
    variables: usize,
    room: Fixed,
}

// SAFETY: it owns what it points to, and is used by one thread at a time.
unsafe impl Send for Descriptor {}

impl Descriptor {
    /// For so many variables, without room for values yet.
    pub fn of(variables: u16) -> Descriptor {
        let count = usize::from(variables);
        // One variable is part of the head.
        let area = Fixed::zeros(size_of::<XSQLDA>() + count.saturating_sub(1) * size_of::<XSQLVAR>());
        let head: *mut XSQLDA = area.words.cast();
        // SAFETY: the area is large enough for it and aligned, and zeros are an XSQLDA.
        unsafe {
            (*head).version = SQLDA_VERSION1 as i16;
            (*head).sqln = variables as i16;
        }
        Descriptor { area, variables: count.max(1), room: Fixed::zeros(0) }
    }

    pub fn pointer(&self) -> *mut XSQLDA {
        self.area.words.cast()
    }

    /// How many variables the library has found.
    pub fn found(&self) -> usize {
        // SAFETY: it was written when the descriptor was made.
        usize::try_from(unsafe { (*self.pointer()).sqld }).unwrap_or(0)
    }

    pub fn variable(&mut self, number: usize) -> &mut XSQLVAR {
        assert!(number < self.variables, "there is no such variable");
        // SAFETY: the area has so many variables, of which zeros are one too; nobody else has a reference to one.
        unsafe { &mut *addr_of_mut!((*self.pointer()).sqlvar).cast::<XSQLVAR>().add(number) }
    }

    /// Makes room for values: so many bytes for each variable. Before them lies whether it is NULL.
    pub fn make_room(&mut self, bytes: &[usize]) -> Vec<Slot> {
        let mut end = 0;
        let starts: Vec<_> = bytes
            .iter()
            .map(|bytes| {
                let start = end;
                end += size_of::<u64>() + bytes.next_multiple_of(size_of::<u64>());
                start
            })
            .collect();
        self.room = Fixed::zeros(end);
        let base: *mut u8 = self.room.words.cast();
        let slots = starts.into_iter().zip(bytes).enumerate().map(|(number, (start, &bytes))| {
            // SAFETY: the room has these bytes.
            let (null, data) = unsafe { (base.add(start), base.add(start + size_of::<u64>())) };
            let variable = self.variable(number);
            variable.sqlind = null.cast();
            variable.sqldata = data.cast();
            Slot { start, bytes }
        });
        slots.collect()
    }

    pub fn is_null(&self, slot: Slot) -> bool {
        // SAFETY: the room has this slot, and its first word is aligned.
        unsafe { *self.room.words.cast::<u8>().add(slot.start).cast::<i16>() != 0 }
    }

    pub fn set_null(&mut self, slot: Slot, null: bool) {
        // SAFETY: as above.
        unsafe { *self.room.words.cast::<u8>().add(slot.start).cast::<i16>() = if null { -1 } else { 0 } }
    }

    /// The bytes of a value.
    pub fn data(&self, slot: Slot) -> &[u8] {
        // SAFETY: the room has this slot, all of it was zeros at least, and the library writes to it only while it runs.
        unsafe {
            let data = self.room.words.cast::<u8>().add(slot.start + size_of::<u64>());
            std::slice::from_raw_parts(data, slot.bytes)
        }
    }

    /// Writes a value of no more bytes than the slot has; answers its address.
    pub fn put(&mut self, slot: Slot, value: &[u8]) -> *mut ISC_SCHAR {
        assert!(value.len() <= slot.bytes, "a value is longer than its room");
        // SAFETY: the room has this slot, which has room for the value.
        unsafe {
            let data = self.room.words.cast::<u8>().add(slot.start + size_of::<u64>());
            std::ptr::copy_nonoverlapping(value.as_ptr(), data, value.len());
            data.cast()
        }
    }
}

/// Where a variable's value lies.
#[derive(Clone, Copy)]
pub struct Slot {
    start: usize,
    bytes: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_lie_apart_and_stay_where_they_are() {
        let mut descriptor = Descriptor::of(3);
        let slots = descriptor.make_room(&[8, 3, 0]);
        let at: Vec<_> = (0..3).map(|number| descriptor.variable(number).sqldata).collect();
        let mut moved = Box::new(descriptor);
        for (number, value) in [&b"12345678"[..], b"abc", b""].into_iter().enumerate() {
            assert_eq!(moved.put(slots[number], value), at[number].cast());
            moved.set_null(slots[number], number == 1);
        }
        for (number, value) in [&b"12345678"[..], b"abc", b""].into_iter().enumerate() {
            assert_eq!((moved.data(slots[number]), moved.is_null(slots[number])), (value, number == 1));
        }
        assert_eq!(Descriptor::of(0).found(), 0);
    }

    #[test]
    fn a_descriptor_of_none_has_one_variable_for_the_library_to_write() {
        let mut descriptor = Descriptor::of(0);
        assert_eq!(descriptor.variable(0).sqltype, 0);
    }
}
