//! Which file a descriptor is, and what was done to each: calls go in, acts on files come out, tallies grow.

use super::calls::{Call, Flags, Kind, CALLS};
use protocol::{CallCount, ObservedFile};
use std::collections::{BTreeMap, HashMap};

/// What is asked of the processes themselves; a test answers from a table.
pub trait Processes {
    /// The process that a thread belongs to, and the thread's name.
    fn thread(&mut self, tid: u32) -> Option<(u32, String)>;
    /// Every open descriptor: number, path, flags, position.
    fn descriptors(&mut self, pid: u32) -> Vec<(i32, String, u64, u64)>;
    /// One of them now, which need not be what it was when the call was made.
    fn descriptor(&mut self, pid: u32, descriptor: i32) -> Option<(String, u64)>;
    fn path_at(&mut self, pid: u32, address: u64) -> Option<String>;
    /// Every mapping of a file: where it begins and ends, and the path.
    fn mappings(&mut self, pid: u32) -> Vec<(u64, u64, String)>;
    /// The process's own directory, which its relative paths begin in.
    fn directory(&mut self, pid: u32) -> Option<String>;
}

/// How a write is made durable or led past the cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct How {
    pub synced: bool,
    /// `O_SYNC` or `RWF_SYNC` rather than `O_DSYNC` or `RWF_DSYNC`.
    pub whole: bool,
    pub direct: bool,
    /// Asked for by the call instead of the descriptor.
    pub by_call: bool,
    /// Which hint it is, or how memory is mapped; "" of any other call.
    pub hint: &'static str,
}

const RWF_DSYNC: u64 = 2;
const RWF_SYNC: u64 = 4;

impl How {
    pub fn of(flags: u64) -> How {
        let has = |wanted: i32| flags & wanted as u64 == wanted as u64;
        How { synced: has(libc::O_DSYNC), whole: has(libc::O_SYNC), direct: has(libc::O_DIRECT), ..How::default() }
    }

    pub fn words(self) -> String {
        let sync = match (self.synced, self.whole, self.by_call) {
            (false, ..) => "",
            (true, false, false) => "O_DSYNC",
            (true, true, false) => "O_SYNC",
            (true, false, true) => "RWF_DSYNC",
            (true, true, true) => "RWF_SYNC",
        };
        [sync, if self.direct { "O_DIRECT" } else { "" }, self.hint]
            .into_iter()
            .filter(|s| !s.is_empty())
            .collect::<Vec<_>>()
            .join("|")
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Act {
    pub tid: u32,
    /// Place in [`Book::names`]; `None` where no file is known.
    pub file: Option<u32>,
    pub call: u8,
    pub how: How,
    pub offset: Option<u64>,
    pub bytes: u64,
    /// The error's number, 0 without one.
    pub error: i32,
    pub begin_ns: u64,
    pub lasted_ns: u64,
}

impl Act {
    pub fn kind(&self) -> Kind {
        CALLS[self.call as usize].1
    }

    pub fn is_write(&self) -> bool {
        matches!(self.kind(), Kind::Write { .. })
    }

    pub fn is_flush(&self) -> bool {
        matches!(self.kind(), Kind::Flush { .. } | Kind::FlushMapped | Kind::FlushAll)
    }

    pub fn is_hint(&self) -> bool {
        is_hint(self.call, self.how)
    }
}

/// How the kernel is to read, or that it is not asked any more: mostly said once, when a file is opened. What is mapped
/// for one process alone are programs and their tables.
fn is_hint(call: u8, how: How) -> bool {
    match CALLS[call as usize].1 {
        Kind::Advise { .. } | Kind::AdviseMapped => true,
        Kind::Map => how.hint.starts_with("MAP_SHARED"),
        _ => false,
    }
}

#[derive(Debug, Clone)]
struct Open {
    file: u32,
    flags: u64,
    position: Option<u64>,
}

#[derive(Default)]
struct File {
    path: String,
    flags: Vec<u64>,
    counts: BTreeMap<(u8, How), CallCount>,
}

/// What is known of files and descriptors so far.
pub struct Book<P> {
    processes: P,
    /// Thread to its process and its name.
    threads: HashMap<u32, (u32, String)>,
    open: HashMap<(u32, i32), Open>,
    /// By process and first address: what is mapped, up to where, and from which file.
    mapped: BTreeMap<(u32, u64), (u64, String)>,
    /// What began before is not counted, but for hints.
    counted_from_ns: u64,
    /// Processes whose descriptors were read.
    known: std::collections::HashSet<u32>,
    files: Vec<File>,
    by_path: HashMap<String, u32>,
    /// What a process had at an address when it was surely the file that it opened.
    trusted: HashMap<(u32, u64), String>,
    beside: File,
}

impl<P: Processes> Book<P> {
    pub fn new(processes: P) -> Book<P> {
        Book {
            processes,
            threads: HashMap::new(),
            open: HashMap::new(),
            mapped: BTreeMap::new(),
            counted_from_ns: 0,
            known: Default::default(),
            files: Vec::new(),
            by_path: HashMap::new(),
            trusted: HashMap::new(),
            beside: File::default(),
        }
    }

    /// Reads which descriptors a process has open.
    pub fn meet(&mut self, pid: u32) {
        if self.known.insert(pid) {
            for (number, path, flags, position) in self.processes.descriptors(pid) {
                // Standard streams are the lab's, not the engine's.
                if number <= 2 {
                    continue;
                }
                if let Some(file) = self.file(&path) {
                    self.opened(pid, number, file, flags, Some(position));
                }
            }
            for (begin, end, path) in self.processes.mappings(pid) {
                self.mapped.insert((pid, begin), (end, path));
            }
        }
    }

    /// Forgets what was counted, but for hints, and files that are not open any more; counts what begins from now on.
    pub fn count_from(&mut self, begin_ns: u64) {
        self.counted_from_ns = begin_ns;
        let open: std::collections::HashSet<u32> = self.open.values().map(|open| open.file).collect();
        for (number, file) in self.files.iter_mut().enumerate() {
            file.counts.retain(|(call, how), _| is_hint(*call, *how));
            if file.counts.is_empty() && !open.contains(&(number as u32)) {
                file.flags.clear();
            }
        }
        self.beside.counts.clear();
    }

    pub fn name(&self, file: u32) -> &str {
        &self.files[file as usize].path
    }

    /// Takes a call in; answers what it did to which file, or `None` where it concerns none.
    pub fn apply(&mut self, call: &Call) -> Option<Act> {
        let pid = self.process_of(call.tid);
        let kind = CALLS[call.call as usize].1;
        let done = usize::try_from(call.ret).ok();
        let mut act = Act {
            tid: call.tid,
            file: None,
            call: call.call,
            how: How::default(),
            offset: None,
            bytes: 0,
            error: if call.ret < 0 { (-call.ret).try_into().unwrap_or(i32::MAX) } else { 0 },
            begin_ns: call.begin_ns,
            lasted_ns: call.end_ns - call.begin_ns,
        };
        let key = (pid, call.args[0] as i32);
        match kind {
            Kind::Open { path, flags } => {
                let number = i32::try_from(done?).ok()?;
                let (name, flags_in_proc) = self.name_opened(pid, number, call, path);
                let flags = match flags {
                    Flags::Argument(at) => call.args[at],
                    Flags::Created => (libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC) as u64,
                    Flags::Unseen => flags_in_proc.unwrap_or(0),
                };
                self.open.remove(&(pid, number));
                let file = self.file(&name)?;
                self.opened(pid, number, file, flags, Some(0));
                (act.file, act.how) = (Some(file), How::of(flags));
            }
            Kind::Close => act.file = Some(self.open.remove(&key)?.file),
            Kind::CloseRange => {
                let range = call.args[0]..=call.args[1];
                self.open.retain(|(of, number), _| *of != pid || !range.contains(&(*number as u64)));
                return None;
            }
            Kind::Duplicate => {
                let twin = self.open_of(key, call)?.clone();
                self.open.insert((pid, i32::try_from(done?).ok()?), twin);
                return None;
            }
            Kind::Control => {
                let command = call.args[1] as i32;
                let twin = self.open_of(key, call)?;
                match command {
                    libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => {
                        let twin = twin.clone();
                        self.open.insert((pid, i32::try_from(done?).ok()?), twin);
                    }
                    libc::F_SETFL if call.ret == 0 => {
                        // O_SYNC and O_DSYNC stay as they were opened; see fcntl(2).
                        let may = (libc::O_APPEND | libc::O_DIRECT) as u64;
                        twin.flags = twin.flags & !may | call.args[2] & may;
                        let (file, flags) = (twin.file, twin.flags);
                        self.note_flags(file, flags);
                    }
                    _ => {}
                }
                return None;
            }
            Kind::Seek => {
                self.open_of(key, call)?.position = done.map(|at| at as u64);
                return None;
            }
            Kind::Read { offset } | Kind::Write { offset, .. } => {
                let bytes = done.unwrap_or(0) as u64;
                act.bytes = bytes;
                if super::calls::is_system_call(CALLS[call.call as usize].0) {
                    let open = self.open_of(key, call)?;
                    act.file = Some(open.file);
                    act.how = How::of(open.flags);
                    act.offset = match offset {
                        Some(at) => Some(call.args[at]),
                        None => {
                            let at = open.position;
                            open.position = at.map(|at| at + bytes);
                            // Where an appending write lands, the call does not show.
                            at.filter(|_| open.flags & libc::O_APPEND as u64 == 0)
                        }
                    };
                    if let Kind::Write { flags: Some(at), .. } = kind {
                        let asked = call.args[at];
                        if asked & (RWF_DSYNC | RWF_SYNC) != 0 {
                            act.how = How { synced: true, whole: asked & RWF_SYNC != 0, by_call: true, ..act.how };
                        }
                    }
                    if matches!(kind, Kind::Read { .. }) {
                        act.how = How { direct: act.how.direct, ..How::default() };
                    }
                }
            }
            Kind::Flush { range } => {
                if super::calls::is_system_call(CALLS[call.call as usize].0) {
                    act.file = Some(self.open_of(key, call)?.file);
                }
                if let Some((offset, bytes)) = range {
                    (act.offset, act.bytes) = (Some(call.args[offset]), call.args[bytes]);
                }
            }
            Kind::FlushMapped => {
                if call.args[2] & libc::MS_SYNC as u64 == 0 {
                    return None;
                }
                act.bytes = call.args[1];
            }
            Kind::FlushAll | Kind::Submit => {}
            Kind::Advise { offset, bytes, advice } => {
                act.file = Some(self.open_of(key, call)?.file);
                (act.offset, act.bytes) = (Some(call.args[offset]), call.args[bytes]);
                act.how.hint = advice.map_or("", |at| word(FADVICE, call.args[at]));
            }
            Kind::AdviseMapped => {
                // Of memory that is no file's, an allocator's mostly: no hint about reading.
                let path = self.mapped_at(pid, call.args[0])?;
                act.file = Some(self.file(&path)?);
                act.bytes = call.args[1];
                act.how.hint = word(MADVICE, call.args[2]);
            }
            Kind::Map => {
                let begin = done? as u64;
                let end = begin.saturating_add(call.args[1]);
                self.unmapped(pid, begin, end);
                if call.args[3] & libc::MAP_ANONYMOUS as u64 != 0 {
                    return None;
                }
                let file = self.open_of((pid, call.args[4] as i32), call)?.file;
                self.mapped.insert((pid, begin), (end, self.files[file as usize].path.clone()));
                (act.file, act.offset, act.bytes) = (Some(file), Some(call.args[5]), call.args[1]);
                let shared = call.args[3] & libc::MAP_PRIVATE as u64 == 0;
                act.how.hint = match (shared, call.args[2] & libc::PROT_WRITE as u64 != 0) {
                    (true, true) => "MAP_SHARED|PROT_WRITE",
                    (true, false) => "MAP_SHARED",
                    (false, true) => "MAP_PRIVATE|PROT_WRITE",
                    (false, false) => "MAP_PRIVATE",
                };
            }
            Kind::Unmap => {
                done?;
                self.unmapped(pid, call.args[0], call.args[0].saturating_add(call.args[1]));
                return None;
            }
            Kind::Remap => {
                let begin = done? as u64;
                let path = self.mapped_at(pid, call.args[0]);
                self.unmapped(pid, call.args[0], call.args[0].saturating_add(call.args[1]));
                let end = begin.saturating_add(call.args[2]);
                self.unmapped(pid, begin, end);
                if let Some(path) = path {
                    self.mapped.insert((pid, begin), (end, path));
                }
                return None;
            }
            Kind::Resize => {
                act.file = Some(self.open_of(key, call)?.file);
                let fallocate = CALLS[call.call as usize].0 == "fallocate";
                act.offset = Some(call.args[if fallocate { 2 } else { 1 }]);
                act.bytes = if fallocate { call.args[3] } else { 0 };
            }
            Kind::Rename { path } => {
                done?;
                let name = match &call.path {
                    Some(path) => path.to_string(),
                    None => self.processes.path_at(pid, call.args[path])?,
                };
                let name = self.absolute(call, pid, path, name)?;
                act.file = Some(self.file(&name)?);
            }
        }
        self.count(&act);
        Some(act)
    }

    fn mapped_at(&self, pid: u32, address: u64) -> Option<String> {
        let ((of, _), (end, path)) = self.mapped.range(..=(pid, address)).next_back()?;
        (*of == pid && address < *end).then(|| path.clone())
    }

    fn unmapped(&mut self, pid: u32, begin: u64, end: u64) {
        let overlaps: Vec<_> = self
            .mapped
            .range(..(pid, end))
            .rev()
            .take_while(|((of, _), (until, _))| *of == pid && *until > begin)
            .map(|(key, _)| *key)
            .collect();
        for key in overlaps {
            let (until, path) = self.mapped.remove(&key).expect("it was there");
            if key.1 < begin {
                self.mapped.insert(key, (begin, path.clone()));
            }
            if until > end {
                self.mapped.insert((pid, end), (until, path));
            }
        }
    }

    fn process_of(&mut self, tid: u32) -> u32 {
        if let Some((pid, _)) = self.threads.get(&tid) {
            return *pid;
        }
        // One that has ended already is the only process's, if there is but one, or else a separate process.
        let only = if self.known.len() == 1 { self.known.iter().next().copied() } else { None };
        let (pid, name) = self.processes.thread(tid).unwrap_or((only.unwrap_or(tid), String::new()));
        self.threads.insert(tid, (pid, name));
        self.meet(pid);
        pid
    }

    /// A thread, or a process with its parent's descriptors, begins. It may have ended by now.
    pub fn born(&mut self, tid: u32, parent: u32, thread: bool, name: String) {
        let of = self.process_of(parent);
        let name = self.processes.thread(tid).map_or(name, |(_, name)| name);
        if thread {
            self.threads.insert(tid, (of, name));
            return;
        }
        self.threads.insert(tid, (tid, name));
        if self.known.insert(tid) {
            let inherited = self.open.iter().filter(|((pid, _), _)| *pid == of);
            let inherited: Vec<_> = inherited.map(|((_, number), open)| ((tid, *number), open.clone())).collect();
            self.open.extend(inherited);
            let mapped = self.mapped.range((of, 0)..=(of, u64::MAX));
            let mapped: Vec<_> = mapped.map(|((_, begin), what)| ((tid, *begin), what.clone())).collect();
            self.mapped.extend(mapped);
        }
    }

    pub fn who(&mut self, tid: u32) -> String {
        let known = self.threads.get(&tid).map(|(_, name)| name.clone());
        match known.or_else(|| self.processes.thread(tid).map(|(_, name)| name)) {
            Some(name) if !name.is_empty() => format!("{name}:{tid}"),
            _ => tid.to_string(),
        }
    }

    fn open_of(&mut self, key: (u32, i32), call: &Call) -> Option<&mut Open> {
        if !self.open.contains_key(&key) {
            if let Some(path) = &call.descriptor_path {
                let file = self.file(path)?;
                self.opened(key.0, key.1, file, 0, None);
            }
        }
        self.open.get_mut(&key)
    }

    fn name_opened(&mut self, pid: u32, number: i32, call: &Call, path: usize) -> (String, Option<u64>) {
        let shown = call.descriptor_path.as_ref().or(call.path.as_ref()).map(|shown| shown.to_string());
        if let Some(shown) = shown.and_then(|shown| self.absolute(call, pid, path, shown)) {
            return (shown, None);
        }
        // The descriptor may be another file's by now, and the memory may hold something else. The two that agree are right,
        // and so is from then on what stands at that address, as long as it stays the same.
        let address = call.args[path];
        let (now, written) = (self.processes.descriptor(pid, number), self.processes.path_at(pid, address));
        let written = written.and_then(|written| self.absolute(call, pid, path, written));
        let flags = now.as_ref().map(|(_, flags)| *flags);
        let Some(written) = written else { return (UNSEEN.to_string(), flags) };
        if now.is_some_and(|(now, _)| now.strip_suffix(" (deleted)").unwrap_or(&now) == written) {
            self.trusted.insert((pid, address), written.clone());
        }
        let trusted = self.trusted.get(&(pid, address)) == Some(&written);
        (if trusted { written } else { UNSEEN.to_string() }, flags)
    }

    /// Whole, where it begins in the directory that the call names beside it, or in the process's own.
    fn absolute(&mut self, call: &Call, pid: u32, argument: usize, path: String) -> Option<String> {
        if path.starts_with('/') {
            return Some(path);
        }
        let beside = argument.checked_sub(1).and_then(|at| self.open.get(&(pid, call.args[at] as i32)));
        let own = match beside {
            Some(directory) => self.files[directory.file as usize].path.clone(),
            None => self.processes.directory(pid)?,
        };
        Some(if path == "." { own } else { format!("{own}/{}", path.trim_start_matches("./")) })
    }

    fn opened(&mut self, pid: u32, number: i32, file: u32, flags: u64, position: Option<u64>) {
        self.open.insert((pid, number), Open { file, flags, position });
        self.note_flags(file, flags);
    }

    fn note_flags(&mut self, file: u32, flags: u64) {
        let seen = &mut self.files[file as usize].flags;
        let flags = flags & !((libc::O_CLOEXEC | libc::O_NOFOLLOW | libc::O_NOCTTY) as u64) & !LARGE_FILE;
        if !seen.contains(&flags) {
            seen.push(flags);
        }
    }

    /// The file of this path; `None` for sockets, pipes, and what is not storage.
    fn file(&mut self, path: &str) -> Option<u32> {
        let path = path.strip_suffix(" (deleted)").unwrap_or(path);
        if !(path.starts_with('/') && !is_no_storage(path) || path == UNSEEN) {
            return None;
        }
        if let Some(file) = self.by_path.get(path) {
            return Some(*file);
        }
        let file = self.files.len() as u32;
        self.files.push(File { path: path.to_string(), ..File::default() });
        self.by_path.insert(path.to_string(), file);
        Some(file)
    }

    fn count(&mut self, act: &Act) {
        if act.begin_ns < self.counted_from_ns && !act.is_hint() {
            return;
        }
        let file = match act.file {
            Some(file) => &mut self.files[file as usize],
            None => &mut self.beside,
        };
        let count = file.counts.entry((act.call, act.how)).or_insert_with(|| CallCount {
            call: CALLS[act.call as usize].0.to_string(),
            how: act.how.words(),
            count: 0,
            errors: 0,
            bytes: 0,
            total_us: 0.0,
            max_us: 0.0,
        });
        let lasted_us = act.lasted_ns as f64 / 1e3;
        count.count += 1;
        count.errors += u64::from(act.error != 0);
        count.bytes += act.bytes;
        count.total_us += lasted_us;
        count.max_us = count.max_us.max(lasted_us);
    }

    /// Every file that was open or touched, with what was done to it; what concerns no one file comes last.
    pub fn files(self, directory: &str) -> Vec<ObservedFile> {
        let beside = File { path: BESIDE.to_string(), ..self.beside };
        let files = self.files.into_iter().filter(|file| !file.flags.is_empty() || !file.counts.is_empty());
        let files = files.chain((!beside.counts.is_empty()).then_some(beside));
        let files = files.map(|file| ObservedFile {
            path: below(&file.path, directory).to_string(),
            flags: file.flags.iter().map(|flags| flag_words(*flags)).collect(),
            calls: file.counts.into_values().collect(),
        });
        let mut files: Vec<_> = files.collect();
        files.sort_by_key(|file| std::cmp::Reverse(file.calls.iter().map(|call| call.count).sum::<u64>()));
        files
    }
}

/// The name of a file that was open for so short a time that its name could not be asked for.
pub const UNSEEN: &str = "?";
/// The name for calls whose file the kernel does not show.
const BESIDE: &str = "*";
/// O_LARGEFILE as the kernel keeps it; the C library calls it 0 where every file may be large.
const LARGE_FILE: u64 = 0o100_000;

/// `path` without `directory` before it, where it lies there.
pub fn below<'a>(path: &'a str, directory: &str) -> &'a str {
    match path.strip_prefix(directory) {
        Some("" | "/") => ".",
        Some(rest) => rest.strip_prefix('/').unwrap_or(path),
        None => path,
    }
}

fn is_no_storage(path: &str) -> bool {
    ["/proc/", "/sys/", "/dev/pts/", "/dev/input/"].iter().any(|start| path.starts_with(start))
        || matches!(path, "/dev/null" | "/dev/zero" | "/dev/random" | "/dev/urandom" | "/dev/tty" | "/dev/console")
}

/// See posix_fadvise(2); the numbers of linux/fadvise.h, which differ on s390x alone.
pub const FADVICE: &[(u64, &str)] = &[
    (libc::POSIX_FADV_NORMAL as u64, "POSIX_FADV_NORMAL"),
    (libc::POSIX_FADV_RANDOM as u64, "POSIX_FADV_RANDOM"),
    (libc::POSIX_FADV_SEQUENTIAL as u64, "POSIX_FADV_SEQUENTIAL"),
    (libc::POSIX_FADV_WILLNEED as u64, "POSIX_FADV_WILLNEED"),
    (libc::POSIX_FADV_DONTNEED as u64, "POSIX_FADV_DONTNEED"),
    (libc::POSIX_FADV_NOREUSE as u64, "POSIX_FADV_NOREUSE"),
];
/// See madvise(2).
pub const MADVICE: &[(u64, &str)] = &[
    (libc::MADV_NORMAL as u64, "MADV_NORMAL"),
    (libc::MADV_RANDOM as u64, "MADV_RANDOM"),
    (libc::MADV_SEQUENTIAL as u64, "MADV_SEQUENTIAL"),
    (libc::MADV_WILLNEED as u64, "MADV_WILLNEED"),
    (libc::MADV_DONTNEED as u64, "MADV_DONTNEED"),
    (libc::MADV_REMOVE as u64, "MADV_REMOVE"),
    (libc::MADV_DONTFORK as u64, "MADV_DONTFORK"),
    (libc::MADV_HUGEPAGE as u64, "MADV_HUGEPAGE"),
    (libc::MADV_NOHUGEPAGE as u64, "MADV_NOHUGEPAGE"),
    (libc::MADV_DONTDUMP as u64, "MADV_DONTDUMP"),
    (libc::MADV_COLD as u64, "MADV_COLD"),
    (libc::MADV_PAGEOUT as u64, "MADV_PAGEOUT"),
    (libc::MADV_POPULATE_READ as u64, "MADV_POPULATE_READ"),
    (libc::MADV_POPULATE_WRITE as u64, "MADV_POPULATE_WRITE"),
];

fn word(words: &[(u64, &'static str)], number: u64) -> &'static str {
    words.iter().find(|(value, _)| *value == number).map_or("another advice", |(_, word)| *word)
}

const ACCESS: [(u64, &str); 3] =
    [(libc::O_RDONLY as u64, "O_RDONLY"), (libc::O_WRONLY as u64, "O_WRONLY"), (libc::O_RDWR as u64, "O_RDWR")];
/// The flags of open(2) that show, O_SYNC before O_DSYNC, which is a part of it.
pub const OPEN_FLAGS: &[(i32, &str)] = &[
    (libc::O_CREAT, "O_CREAT"),
    (libc::O_EXCL, "O_EXCL"),
    (libc::O_TRUNC, "O_TRUNC"),
    (libc::O_APPEND, "O_APPEND"),
    (libc::O_SYNC, "O_SYNC"),
    (libc::O_DSYNC, "O_DSYNC"),
    (libc::O_TMPFILE, "O_TMPFILE"),
    (libc::O_DIRECTORY, "O_DIRECTORY"),
    (libc::O_DIRECT, "O_DIRECT"),
    (libc::O_NOATIME, "O_NOATIME"),
    (libc::O_NONBLOCK, "O_NONBLOCK"),
    (libc::O_PATH, "O_PATH"),
];

fn flag_words(flags: u64) -> String {
    let access = flags & libc::O_ACCMODE as u64;
    let mut words: Vec<&str> = ACCESS.iter().filter(|(value, _)| *value == access).map(|(_, word)| *word).collect();
    let mut left = flags & !(libc::O_ACCMODE as u64);
    for (flag, word) in OPEN_FLAGS {
        let flag = *flag as u64;
        if left & flag == flag {
            words.push(word);
            left &= !flag;
        }
    }
    words.join("|")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::number_of;
    use proptest::prelude::*;

    struct Table;

    impl Processes for Table {
        fn thread(&mut self, tid: u32) -> Option<(u32, String)> {
            Some((tid / 10 * 10, "t".into()))
        }
        fn descriptors(&mut self, pid: u32) -> Vec<(i32, String, u64, u64)> {
            let flags = (libc::O_RDWR | libc::O_DSYNC) as u64;
            match pid {
                10 => vec![(3, "/d/x.log".into(), flags, 100), (4, "socket:[7]".into(), 0, 0)],
                _ => vec![],
            }
        }
        fn descriptor(&mut self, _: u32, number: i32) -> Option<(String, u64)> {
            // A descriptor that has been closed meanwhile, and others that have not.
            (number != 9).then(|| ("/d/x.db".to_string(), 0))
        }
        fn path_at(&mut self, _: u32, address: u64) -> Option<String> {
            (address == 0xA).then(|| "x.db".to_string())
        }
        fn mappings(&mut self, pid: u32) -> Vec<(u64, u64, String)> {
            if pid == 10 {
                vec![(0x1000, 0x3000, "/d/x.map".into())]
            } else {
                vec![]
            }
        }
        fn directory(&mut self, _: u32) -> Option<String> {
            Some("/d".to_string())
        }
    }

    fn call(tid: u32, name: &str, args: &[u64], ret: i64) -> Call {
        let mut all = [0; 6];
        all[..args.len()].copy_from_slice(args);
        let call = number_of(name).unwrap();
        Call { tid, call, args: all, ret, begin_ns: 5, end_ns: 2005, path: None, descriptor_path: None }
    }

    #[test]
    fn a_descriptor_is_followed_from_open_to_close() {
        let mut book = Book::new(Table);
        let direct = (libc::O_RDWR | libc::O_CREAT | libc::O_DIRECT) as u64;
        book.apply(&call(11, "openat", &[0, 0xA, direct], 7)).unwrap();
        book.apply(&call(11, "dup", &[7], 8));
        let write = book.apply(&call(12, "pwrite64", &[8, 0, 4096, 8192], 4096)).unwrap();
        assert_eq!((book.name(write.file.unwrap()), write.offset, write.bytes), ("/d/x.db", Some(8192), 4096));
        assert_eq!(write.how.words(), "O_DIRECT");
        book.apply(&call(11, "close", &[8], 0)).unwrap();
        assert!(book.apply(&call(11, "fsync", &[8], 0)).is_none());
        assert!(book.apply(&call(11, "fsync", &[7], 0)).unwrap().is_flush());
        let files = book.files("/d");
        assert_eq!(files[0].path, "x.db");
        assert_eq!(files[0].flags, ["O_RDWR|O_CREAT|O_DIRECT"]);
    }

    #[test]
    fn what_was_open_before_is_asked_for_and_its_position_kept() {
        let mut book = Book::new(Table);
        let first = book.apply(&call(11, "write", &[3, 0, 10], 10)).unwrap();
        assert_eq!((first.offset, first.how.words()), (Some(100), "O_DSYNC".to_string()));
        assert_eq!(book.apply(&call(11, "write", &[3, 0, 10], 10)).unwrap().offset, Some(110));
        book.apply(&call(11, "lseek", &[3, 7, 0], 7));
        assert_eq!(book.apply(&call(11, "read", &[3, 0, 10], 10)).unwrap().offset, Some(7));
        assert!(book.apply(&call(11, "write", &[4, 0, 10], 10)).is_none(), "a socket is no file");
    }

    #[test]
    fn a_file_open_too_shortly_to_be_named_is_counted_all_the_same() {
        let mut book = Book::new(Table);
        book.apply(&call(11, "openat", &[0, 0xB, 0], 9)).unwrap();
        book.apply(&call(11, "fdatasync", &[9], -5)).unwrap();
        let files = book.files("/d");
        let unseen = files.iter().find(|file| file.path == UNSEEN).unwrap();
        let sync = unseen.calls.iter().find(|call| call.call == "fdatasync").unwrap();
        assert_eq!((sync.count, sync.errors, sync.max_us), (1, 1, 2.0));
    }

    #[test]
    fn what_begins_has_its_parents_descriptors() {
        let mut book = Book::new(Table);
        book.meet(10);
        book.born(91, 11, true, "thread".into());
        book.born(55, 11, false, "process".into());
        for tid in [91, 55] {
            assert_eq!(book.apply(&call(tid, "write", &[3, 0, 10], 10)).unwrap().how.words(), "O_DSYNC");
        }
        book.apply(&call(55, "close", &[3], 0)).unwrap();
        assert!(book.apply(&call(55, "fsync", &[3], 0)).is_none());
        assert!(book.apply(&call(91, "fsync", &[3], 0)).is_some(), "each process closes its own");
    }

    #[test]
    fn each_way_to_be_durable_is_named() {
        let mut book = Book::new(Table);
        let sync = |book: &mut Book<Table>, call: &Call| book.apply(call).unwrap().how.words();
        assert_eq!(sync(&mut book, &call(11, "pwritev2", &[3, 0, 1, 0, 0, RWF_DSYNC], 10)), "RWF_DSYNC");
        book.apply(&call(11, "openat", &[0, 0xA, libc::O_SYNC as u64 | 1], 5));
        assert_eq!(sync(&mut book, &call(11, "pwrite64", &[5, 0, 10, 0], 10)), "O_SYNC");
        assert!(book.apply(&call(11, "msync", &[0, 10, libc::MS_ASYNC as u64], 0)).is_none());
        assert!(book.apply(&call(11, "msync", &[0, 10, libc::MS_SYNC as u64], 0)).unwrap().is_flush());
    }

    #[test]
    fn hints_are_told_with_their_file() {
        let mut book = Book::new(Table);
        let hint = |book: &mut Book<Table>, name, args: &[u64], ret| {
            let act = book.apply(&call(11, name, args, ret))?;
            Some((book.name(act.file.unwrap()).to_string(), act.how.words(), act.offset, act.bytes))
        };
        let is = |path: &str, how: &str, offset, bytes| Some((path.to_string(), how.to_string(), offset, bytes));
        let random = libc::POSIX_FADV_RANDOM as u64;
        assert_eq!(
            hint(&mut book, "fadvise64", &[3, 0, 0, random], 0),
            is("/d/x.log", "POSIX_FADV_RANDOM", Some(0), 0)
        );
        assert_eq!(hint(&mut book, "fadvise64", &[3, 0, 0, 99], 0), is("/d/x.log", "another advice", Some(0), 0));
        assert_eq!(hint(&mut book, "readahead", &[3, 8, 16], 0), is("/d/x.log", "", Some(8), 16));
        assert_eq!(hint(&mut book, "fadvise64", &[4, 0, 0, random], 0), None, "a socket is no file");
        // A mapping from before, and one that is made now, by its descriptor.
        let willneed = libc::MADV_WILLNEED as u64;
        assert_eq!(
            hint(&mut book, "madvise", &[0x2000, 4096, willneed], 0),
            is("/d/x.map", "MADV_WILLNEED", None, 4096)
        );
        let (read, write) = (libc::PROT_READ as u64, (libc::PROT_READ | libc::PROT_WRITE) as u64);
        let (shared, private) = (libc::MAP_SHARED as u64, libc::MAP_PRIVATE as u64);
        let anonymous = private | libc::MAP_ANONYMOUS as u64;
        assert_eq!(
            hint(&mut book, "mmap", &[0, 0x4000, read, shared, 3, 0], 0x8000),
            is("/d/x.log", "MAP_SHARED", Some(0), 0x4000)
        );
        assert_eq!(
            hint(&mut book, "mmap", &[0, 0x1000, write, private, 3, 0], 0x20000),
            is("/d/x.log", "MAP_PRIVATE|PROT_WRITE", Some(0), 0x1000)
        );
        assert_eq!(hint(&mut book, "madvise", &[0xB000, 1, 1], 0), is("/d/x.log", "MADV_RANDOM", None, 1));
        // Given back in the middle, moved, and covered by memory of no file.
        assert_eq!(hint(&mut book, "munmap", &[0x9000, 0x1000], 0), None);
        assert_eq!(hint(&mut book, "madvise", &[0x9000, 1, 1], 0), None);
        assert!(hint(&mut book, "madvise", &[0x8000, 1, 1], 0).is_some());
        assert_eq!(hint(&mut book, "mremap", &[0xA000, 0x2000, 0x6000, 1], 0x50000), None);
        assert_eq!(hint(&mut book, "madvise", &[0xA000, 1, 1], 0), None);
        assert!(hint(&mut book, "madvise", &[0x55000, 1, 1], 0).is_some());
        assert_eq!(hint(&mut book, "mmap", &[0, 0x1000, write, anonymous, u64::MAX, 0], 0x51000), None);
        assert_eq!(hint(&mut book, "madvise", &[0x51000, 1, 4], 0), None, "an allocator's memory is no file");
        assert!(hint(&mut book, "madvise", &[0x50000, 1, 1], 0).is_some());
        assert_eq!(hint(&mut book, "mmap", &[0, 4096, read, shared, 3, 0], -12), None);
        book.born(55, 11, false, "process".into());
        assert!(book.apply(&call(55, "madvise", &[0x50000, 1, 1], 0)).is_some(), "a process has its parent's mappings");
    }

    #[test]
    fn what_was_before_the_first_transaction_is_not_counted_but_for_hints() {
        let mut book = Book::new(Table);
        book.apply(&call(11, "write", &[3, 0, 10], 10)).unwrap();
        book.apply(&call(11, "fadvise64", &[3, 0, 0, 1], 0)).unwrap();
        book.count_from(6);
        let mut late = call(11, "write", &[3, 0, 10], 10);
        book.apply(&late).unwrap();
        (late.begin_ns, late.end_ns) = (6, 9);
        book.apply(&late).unwrap();
        book.apply(&call(11, "fadvise64", &[3, 0, 0, 1], 0)).unwrap();
        let files = book.files("/d");
        let counts: Vec<_> = files[0].calls.iter().map(|call| (call.call.as_str(), call.count)).collect();
        assert_eq!(counts, [("write", 1), ("fadvise64", 2)]);
    }

    proptest! {
        /// Whatever is called, nothing panics, and every act is counted once.
        #[test]
        fn acts_and_counts_agree(
            calls in proptest::collection::vec(
                (0u32..30, 0usize..CALLS.len(), proptest::collection::vec(0u64..12, 6), -40i64..40), 0..200
            )
        ) {
            let mut book = Book::new(Table);
            let acts = calls.into_iter().filter_map(|(tid, at, args, ret)| {
                book.apply(&call(tid, CALLS[at].0, &args, ret))
            }).count();
            let counted: u64 = book.files("/d").iter().flat_map(|file| &file.calls).map(|call| call.count).sum();
            prop_assert_eq!(acts as u64, counted);
        }
    }
}
