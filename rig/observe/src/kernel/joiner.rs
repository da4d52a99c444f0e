//! Beginnings and ends put together: of calls, of requests to the device, of commits of the file system. Pure.

use super::events::{Event, Part, What};
use crate::calls::{number_of, Call, Halves, Kind, Seen, StorageEvent, CALLS};
use std::collections::HashMap;

/// Puts beginnings and ends together.
#[derive(Default)]
pub struct Joiner {
    halves: Halves,
    /// Request to its thread, operation and time.
    rings: HashMap<u64, (u32, u8, u64)>,
    /// Device, sector and flags of a request to its thread, bytes and time.
    requests: HashMap<(u64, u64, String), (u32, u64, u64)>,
    file_systems: HashMap<(&'static str, u64), (u32, u64)>,
}

impl Joiner {
    pub fn take(&mut self, event: Event, out: &mut Vec<Seen>) {
        let Event { at_ns, tid, what } = event;
        match what {
            What::Enter { call, args } => {
                self.halves.enter(tid, call, args, at_ns);
                // Its result, 0, is not shown.
                if CALLS[call as usize].1 == Kind::Control && args[1] == libc::F_SETFL as u64 {
                    out.extend(self.halves.exit(tid, call, 0, at_ns).map(|call| Seen::Call(Box::new(call))));
                }
            }
            What::Exit { call, ret } => {
                out.extend(self.halves.exit(tid, call, ret, at_ns).map(|call| Seen::Call(Box::new(call))));
            }
            What::Born { child, thread, name } => out.push(Seen::Born { tid: child, parent: tid, thread, name }),
            What::RingSubmit { request, operation } => {
                self.rings.insert(request, (tid, operation, at_ns));
            }
            What::RingComplete { request, result } => {
                if let Some((tid, operation, begin_ns)) = self.rings.remove(&request) {
                    out.push(Seen::Call(Box::new(Call {
                        tid,
                        call: number_of(ring_operation(operation)).expect("in the table"),
                        args: [0; 6],
                        ret: result,
                        begin_ns,
                        end_ns: at_ns,
                        path: None,
                        descriptor_path: None,
                    })));
                }
            }
            What::Issue { device, sector, bytes, flags } => {
                let sector = place_of(sector);
                self.requests.insert((device, sector, flags), (tid, bytes, at_ns));
            }
            What::Complete { device, sector, flags } => {
                let sector = place_of(sector);
                let key = (device, sector, flags);
                if let Some((tid, bytes, begin_ns)) = self.requests.remove(&key) {
                    let what = request_words(&key.2);
                    let offset = (bytes > 0).then(|| sector.saturating_mul(512));
                    let lasted_ns = at_ns.saturating_sub(begin_ns);
                    out.push(Seen::Storage(StorageEvent {
                        block: true,
                        what,
                        tid,
                        begin_ns,
                        lasted_ns,
                        offset,
                        bytes,
                    }));
                }
            }
            What::FileSystem { what, key, part } => {
                let storage_event = |tid, begin_ns, lasted_ns| {
                    let what = what.to_string();
                    Seen::Storage(StorageEvent { block: false, what, tid, begin_ns, lasted_ns, offset: None, bytes: 0 })
                };
                match part {
                    Part::Begin => {
                        self.file_systems.insert((what, key), (tid, at_ns));
                    }
                    Part::End => {
                        let begun = self.file_systems.remove(&(what, key));
                        out.extend(
                            begun.map(|(tid, begin_ns)| storage_event(tid, begin_ns, at_ns.saturating_sub(begin_ns))),
                        );
                    }
                    Part::Moment => out.push(storage_event(tid, at_ns, 0)),
                }
            }
        }
    }
}

/// enum io_uring_op of linux/io_uring.h
fn ring_operation(operation: u8) -> &'static str {
    match operation {
        1 | 4 | 22 => "io_uring read",
        2 | 5 | 23 => "io_uring write",
        3 => "io_uring fsync",
        _ => "io_uring other",
    }
}

/// A flush has no place: the kernel writes 0 when it is issued, and the highest number there is when it is done.
fn place_of(sector: u64) -> u64 {
    if sector == u64::MAX {
        0
    } else {
        sector
    }
}

/// What the block layer's letters mean: an F before the operation is a flush before it, one behind it is FUA; see
/// blk_fill_rwbs of the kernel.
fn request_words(flags: &str) -> String {
    let (before, rest) = match flags.strip_prefix('F') {
        Some("") => return "flush".to_string(),
        Some(rest) => (true, rest),
        None => (false, flags),
    };
    let mut letters = rest.chars();
    let operation = match letters.next() {
        Some('W') => "write",
        Some('R') => "read",
        Some('D') => "discard",
        Some('F') => return "flush".to_string(),
        _ => "other",
    };
    let unit = if letters.next() == Some('F') { ", FUA" } else { "" };
    format!("{}{operation}{unit}", if before { "flush and " } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_letters_of_requests() {
        for (letters, words) in [
            ("W", "write"),
            ("WS", "write"),
            ("WFS", "write, FUA"),
            ("FWFSM", "flush and write, FUA"),
            ("FF", "flush"),
            ("F", "flush"),
            ("RA", "read"),
            ("DS", "discard"),
            ("", "other"),
        ] {
            assert_eq!(request_words(letters), words, "{letters}");
        }
    }

    #[test]
    fn requests_and_commits_have_a_beginning_and_an_end() {
        let mut joiner = Joiner::default();
        let mut out = vec![];
        let flags = || "FF".to_string();
        let steps = [
            (10, What::Issue { device: 1, sector: 0, bytes: 0, flags: flags() }),
            (20, What::FileSystem { what: "jbd2 commit", key: 5, part: Part::Begin }),
            (30, What::Complete { device: 1, sector: u64::MAX, flags: flags() }),
            (35, What::Complete { device: 1, sector: u64::MAX, flags: flags() }),
            (40, What::FileSystem { what: "jbd2 commit", key: 6, part: Part::End }),
            (50, What::FileSystem { what: "jbd2 commit", key: 5, part: Part::End }),
        ];
        for (at_ns, what) in steps {
            joiner.take(Event { at_ns, tid: 1, what }, &mut out);
        }
        let storage_events: Vec<_> = out
            .iter()
            .map(|seen| match seen {
                Seen::Storage(event) => (event.what.as_str(), event.begin_ns, event.lasted_ns, event.offset),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(storage_events, [("flush", 10, 20, None), ("jbd2 commit", 20, 30, None)]);
    }
}
