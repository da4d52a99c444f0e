//! The system calls that matter to a database's files, by their kernel names, and one such call as it was seen.

use anyhow::Result;

/// What a call does to a file, and which of its arguments say how.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// Opens the path at the one argument with the flags of the other.
    Open {
        path: usize,
        flags: Flags,
    },
    Close,
    CloseRange,
    /// The result is a second descriptor of the first argument's file.
    Duplicate,
    Control,
    Seek,
    /// `offset`: the argument that holds it, unless the call goes by the descriptor's position.
    Read {
        offset: Option<usize>,
    },
    /// `flags`: the argument with `RWF_DSYNC` and its kind.
    Write {
        offset: Option<usize>,
        flags: Option<usize>,
    },
    /// The file's data are on the drive when it returns; `range`: the arguments of offset and length.
    Flush {
        range: Option<(usize, usize)>,
    },
    /// Of mapped memory: no descriptor says which file.
    FlushMapped,
    /// Of every file, or every file of a file system.
    FlushAll,
    Resize,
    /// Removes or renames the path at this argument.
    Rename {
        path: usize,
    },
    /// Hands requests to the kernel; what they are, the call does not show.
    Submit,
    /// Tells the kernel how a descriptor's file will be read; the arguments of offset, length and advice.
    Advise {
        offset: usize,
        bytes: usize,
        advice: Option<usize>,
    },
    AdviseMapped,
    /// Reads and writes go past the calls from then on.
    Map,
    Unmap,
    Remap,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Flags {
    Argument(usize),
    Created,
    /// Behind a pointer: asked of the descriptor instead.
    Unseen,
}

/// Every call that is observed. Names are the kernel's, which strace and trace events share.
pub const CALLS: &[(&str, Kind)] = &[
    ("open", Kind::Open { path: 0, flags: Flags::Argument(1) }),
    ("creat", Kind::Open { path: 0, flags: Flags::Created }),
    ("openat", Kind::Open { path: 1, flags: Flags::Argument(2) }),
    ("openat2", Kind::Open { path: 1, flags: Flags::Unseen }),
    ("close", Kind::Close),
    ("close_range", Kind::CloseRange),
    ("dup", Kind::Duplicate),
    ("dup2", Kind::Duplicate),
    ("dup3", Kind::Duplicate),
    ("fcntl", Kind::Control),
    ("lseek", Kind::Seek),
    ("read", Kind::Read { offset: None }),
    ("readv", Kind::Read { offset: None }),
    ("pread64", Kind::Read { offset: Some(3) }),
    ("preadv", Kind::Read { offset: Some(3) }),
    ("preadv2", Kind::Read { offset: Some(3) }),
    ("write", Kind::Write { offset: None, flags: None }),
    ("writev", Kind::Write { offset: None, flags: None }),
    ("pwrite64", Kind::Write { offset: Some(3), flags: None }),
    ("pwritev", Kind::Write { offset: Some(3), flags: None }),
    ("pwritev2", Kind::Write { offset: Some(3), flags: Some(5) }),
    ("fsync", Kind::Flush { range: None }),
    ("fdatasync", Kind::Flush { range: None }),
    ("sync_file_range", Kind::Flush { range: Some((1, 2)) }),
    ("msync", Kind::FlushMapped),
    ("sync", Kind::FlushAll),
    ("syncfs", Kind::FlushAll),
    ("ftruncate", Kind::Resize),
    ("fallocate", Kind::Resize),
    ("unlink", Kind::Rename { path: 0 }),
    ("unlinkat", Kind::Rename { path: 1 }),
    ("rename", Kind::Rename { path: 0 }),
    ("renameat", Kind::Rename { path: 1 }),
    ("renameat2", Kind::Rename { path: 1 }),
    ("io_submit", Kind::Submit),
    ("fadvise64", Kind::Advise { offset: 1, bytes: 2, advice: Some(3) }),
    ("readahead", Kind::Advise { offset: 1, bytes: 2, advice: None }),
    ("madvise", Kind::AdviseMapped),
    ("mmap", Kind::Map),
    ("munmap", Kind::Unmap),
    ("mremap", Kind::Remap),
    // What io_uring was handed, by the kernel's own trace of it: calls of no thread. Not among strace's.
    ("io_uring write", Kind::Write { offset: None, flags: None }),
    ("io_uring fsync", Kind::Flush { range: None }),
    ("io_uring read", Kind::Read { offset: None }),
    ("io_uring other", Kind::Submit),
];

/// The call's place in [`CALLS`].
pub fn number_of(name: &str) -> Option<u8> {
    CALLS.iter().position(|(known, _)| *known == name).map(|at| at as u8)
}

/// Whether it is a call of a thread, which trace events and strace name.
pub fn is_system_call(name: &str) -> bool {
    !name.contains(' ')
}

/// One call from its beginning to its end. Times are of CLOCK_MONOTONIC.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub tid: u32,
    /// Place in [`CALLS`].
    pub call: u8,
    pub args: [u64; 6],
    /// Below zero: the error's number.
    pub ret: i64,
    pub begin_ns: u64,
    pub end_ns: u64,
    /// The path that it names, where the means of observation shows it.
    pub path: Option<Box<str>>,
    /// The path behind its descriptor, where the means of observation shows it.
    pub descriptor_path: Option<Box<str>>,
}

/// What may be seen, whatever the means.
#[derive(Debug, Clone, PartialEq)]
pub enum Seen {
    Call(Box<Call>),
    Storage(StorageEvent),
    /// A thread, or a process, that another one started.
    Born {
        tid: u32,
        parent: u32,
        thread: bool,
        name: String,
    },
}

/// Something that file system or block layer did.
#[derive(Debug, Clone, PartialEq)]
pub struct StorageEvent {
    pub block: bool,
    /// `write, FUA`, `flush`, `jbd2 commit`
    pub what: String,
    /// The thread that it ran in, often one of the kernel's.
    pub tid: u32,
    pub begin_ns: u64,
    /// 0 where only its moment is known.
    pub lasted_ns: u64,
    pub offset: Option<u64>,
    pub bytes: u64,
}

/// The two halves of calls, each thread's put together.
#[derive(Default)]
pub struct Halves {
    begun: std::collections::HashMap<u32, (u8, [u64; 6], u64)>,
}

impl Halves {
    pub fn enter(&mut self, tid: u32, call: u8, args: [u64; 6], at_ns: u64) {
        self.begun.insert(tid, (call, args, at_ns));
    }

    /// `None` where the call began before anybody looked.
    pub fn exit(&mut self, tid: u32, call: u8, ret: i64, at_ns: u64) -> Option<Call> {
        let (begun, args, begin_ns) = self.begun.remove(&tid)?;
        (begun == call).then(|| Call {
            tid,
            call,
            args,
            ret,
            begin_ns,
            end_ns: at_ns.max(begin_ns),
            path: None,
            descriptor_path: None,
        })
    }
}

/// One means of observation at work.
pub trait Source {
    /// What was seen since the last time, each thread's calls in order.
    fn take(&mut self, out: &mut Vec<Seen>) -> Result<()>;
    /// Ends; answers how much was lost on the way.
    fn finish(self: Box<Self>, out: &mut Vec<Seen>) -> Result<u64>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_are_there_once() {
        for (at, (name, _)) in CALLS.iter().enumerate() {
            assert_eq!(number_of(name), Some(at as u8), "{name}");
        }
    }

    proptest! {
        /// Threads interleave as they like; each has its own calls back, in order, none doubled.
        #[test]
        fn each_threads_halves_find_each_other(steps in proptest::collection::vec((0u32..4, 0u8..3), 0..200)) {
            let (mut halves, mut open, mut expected, mut joined) = (Halves::default(), [None; 4], vec![], vec![]);
            for (at, (tid, call)) in steps.into_iter().enumerate() {
                let at_ns = at as u64;
                match open[tid as usize].take() {
                    None => {
                        halves.enter(tid, call, [at_ns; 6], at_ns);
                        open[tid as usize] = Some((call, at_ns));
                    }
                    Some((call, begin_ns)) => {
                        expected.push((tid, call, begin_ns, at_ns));
                        joined.extend(halves.exit(tid, call, 0, at_ns).map(|c| (c.tid, c.call, c.begin_ns, c.end_ns)));
                    }
                }
            }
            prop_assert_eq!(joined, expected);
        }
    }
}
