//! Calls as the kernel's own tracing shows them: trace events in instances of tracefs that are ours alone, read in binary;
//! see the kernel's Documentation/trace/ftrace.rst and events.rst.
//!
//! The instance for calls follows the engine's threads (`set_event_pid`, `event-fork`); that for storage takes what concerns the
//! database's device, whoever does it, for much of it is done by threads of the kernel.

use super::calls::{is_system_call, number_of, Call, Deed, Halves, Kind, Seen, CALLS};
use super::format::{Field, Format};
use super::page::{Layout, Page};
use super::paths::Paths;
use super::processes::threads_of;
use super::Source;
use anyhow::{bail, Context, Result};
use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What the buffers of all processors may take together, at most, and each at least.
const BUFFERS_KB_MAX: u64 = 256 << 10;
const BUFFER_KB_MIN: u64 = 1 << 10;
const BUFFER_KB_MAX: u64 = 64 << 10;
/// A record may appear this long after the time that it bears.
const LATE_NS: u64 = 5_000_000;

/// Events of file systems: group, event, what it is called here, the field that tells one from another, and its place.
const FILE_SYSTEMS: &[(&str, &str, &str, &str, Part)] = &[
    ("jbd2", "jbd2_start_commit", "jbd2 commit", "transaction", Part::Begin),
    ("jbd2", "jbd2_end_commit", "jbd2 commit", "transaction", Part::End),
    ("ext4", "ext4_fc_commit_start", "ext4 fast commit", "", Part::Begin),
    ("ext4", "ext4_fc_commit_stop", "ext4 fast commit", "", Part::End),
    ("xfs", "xfs_log_force", "xfs log force", "", Part::Moment),
    ("btrfs", "btrfs_transaction_commit", "btrfs transaction commit", "", Part::Moment),
];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Part {
    Begin,
    End,
    Moment,
}

/// How one event's records are read.
enum Reading {
    Enter { call: u8, arguments: Vec<Field> },
    Exit { call: u8, result: Field },
    RingSubmit { request: Field, operation: Field },
    RingComplete { request: Field, result: Field },
    Issue { device: Field, sector: Field, bytes: Field, flags: Field },
    Complete { device: Field, sector: Field, flags: Field },
    FileSystem { what: &'static str, key: Option<Field>, part: Part },
    Born { child: Field, flags: Field, name: Field },
}

/// One record, as far as it is understood.
#[derive(Debug)]
enum What {
    Enter { call: u8, args: [u64; 6] },
    Exit { call: u8, ret: i64 },
    RingSubmit { request: u64, operation: u8 },
    RingComplete { request: u64, result: i64 },
    Issue { device: u64, sector: u64, bytes: u64, flags: String },
    Complete { device: u64, sector: u64, flags: String },
    FileSystem { what: &'static str, key: u64, part: Part },
    Born { child: u32, thread: bool, name: String },
}

struct Event {
    at_ns: u64,
    tid: u32,
    what: What,
}

pub struct Kernel {
    instances: Vec<Instance>,
    held: Vec<Event>,
    joiner: Joiner,
    /// `None` where this kernel runs no programs for us: paths are then asked for afterwards, which is less sure.
    paths: Option<Paths>,
    // The mount must outlive what is beneath it.
    _tracefs: Tracefs,
}

impl Kernel {
    /// Begins to watch the processes `roots` and what they start, but for this one.
    pub fn start(name: &str, roots: &[u32], directory: &Path) -> Result<Kernel> {
        let tracefs = Tracefs::mount()?;
        let layout = read_at_once(&tracefs.path.join("events/header_page")).context("reading events/header_page")?;
        let layout = Layout::parse(&layout).context("events/header_page is not understood")?;
        let mut calls = Instance::make(&tracefs, name, layout, BUFFER_KB_MAX)?;
        let mut naming = Vec::new();
        for (number, (name, kind)) in CALLS.iter().enumerate().filter(|(_, (name, _))| is_system_call(name)) {
            // Not every machine has every call: the older ones are missing where newer do the same.
            let Some(enter) = calls.format("syscalls", &format!("sys_enter_{name}"))? else { continue };
            let Some(exit) = calls.format("syscalls", &format!("sys_exit_{name}"))? else { continue };
            let (call, arguments) = (number as u8, enter.arguments());
            let result = exit.field("ret").context("sys_exit has no ret")?.clone();
            calls.watch("syscalls", &format!("sys_enter_{name}"), &enter, Reading::Enter { call, arguments });
            calls.watch("syscalls", &format!("sys_exit_{name}"), &exit, Reading::Exit { call, result });
            if let Kind::Open { path, .. } | Kind::Rename { path } = kind {
                naming.push((u64::from(enter.number), *path));
            }
        }
        calls.pass_over_locks();
        if calls.readings.is_empty() {
            bail!("this kernel has no events for system calls (CONFIG_FTRACE_SYSCALLS)");
        }
        calls.watch_births()?;
        calls.watch_rings()?;
        calls.follow(roots)?;
        let mut instances = vec![];
        let mut storage = Instance::make(&tracefs, &format!("{name}-storage"), layout, BUFFER_KB_MAX / 8)?;
        storage.watch_storage(&Devices::of(directory, roots))?;
        storage.enable()?;
        let paths = Paths::start(&naming).ok();
        calls.enable()?;
        instances.push(calls);
        instances.push(storage);
        Ok(Kernel { instances, held: Vec::new(), joiner: Joiner::default(), paths, _tracefs: tracefs })
    }

    /// Reads what there is, and hands on what is older than `until_ns`: all of that has arrived.
    fn read(&mut self, now_ns: u64, until_ns: u64, out: &mut Vec<Seen>) -> Result<()> {
        for instance in &mut self.instances {
            instance.read(now_ns, &mut self.held)?;
        }
        self.held.sort_by_key(|event| event.at_ns);
        if let Some(paths) = &mut self.paths {
            paths.read();
        }
        let first = out.len();
        let behind = self.held.partition_point(|event| event.at_ns < until_ns);
        for event in self.held.drain(..behind) {
            self.joiner.take(event, out);
        }
        let Some(paths) = &mut self.paths else { return Ok(()) };
        for seen in &mut out[first..] {
            let Seen::Call(call) = seen else { continue };
            if let Kind::Open { path, .. } | Kind::Rename { path } = CALLS[call.call as usize].1 {
                let found = paths.of(call.tid, call.args[path], call.begin_ns, call.end_ns);
                call.path = found.map(String::into_boxed_str);
            }
        }
        Ok(())
    }
}

impl Source for Kernel {
    fn take(&mut self, out: &mut Vec<Seen>) -> Result<()> {
        let now_ns = measure::monotonic_ns();
        self.read(now_ns, now_ns.saturating_sub(LATE_NS), out)
    }

    fn finish(mut self: Box<Self>, out: &mut Vec<Seen>) -> Result<u64> {
        for instance in &self.instances {
            instance.put("tracing_on", "0")?;
        }
        self.read(u64::MAX, u64::MAX, out)?;
        let mut dropped = 0;
        for instance in &self.instances {
            dropped += instance.dropped()?;
        }
        for instance in self.instances.drain(..) {
            instance.remove()?;
        }
        Ok(dropped)
    }
}

/// tracefs, mounted where nobody else sees it and gone with this process; its instances are everybody's.
struct Tracefs {
    path: PathBuf,
    _mount: OwnedFd,
}

impl Tracefs {
    fn mount() -> Result<Tracefs> {
        let call = |number, a: usize, b: usize, c: usize, d: usize, e: usize| -> std::io::Result<OwnedFd> {
            // SAFETY: pointers among the arguments are of texts that live as long as this function.
            let result = unsafe { libc::syscall(number, a, b, c, d, e) };
            if result < 0 {
                return Err(std::io::Error::last_os_error());
            }
            // SAFETY: fsopen and fsmount answer descriptors that are ours; fsconfig's 0 is made into none, below.
            Ok(unsafe { OwnedFd::from_raw_fd(result as i32) })
        };
        const CREATE: usize = 6; // FSCONFIG_CMD_CREATE, see linux/mount.h
        let name = c"tracefs";
        let context = call(libc::SYS_fsopen, name.as_ptr() as usize, 1, 0, 0, 0).context("mounting tracefs")?;
        let number = context.as_raw_fd() as usize;
        // SAFETY: no pointers.
        if unsafe { libc::syscall(libc::SYS_fsconfig, number, CREATE, 0usize, 0usize, 0usize) } != 0 {
            return Err(std::io::Error::last_os_error()).context("mounting tracefs");
        }
        let mount = call(libc::SYS_fsmount, number, 1, 0, 0, 0).context("mounting tracefs")?;
        Ok(Tracefs { path: PathBuf::from(format!("/proc/self/fd/{}", mount.as_raw_fd())), _mount: mount })
    }
}

struct Instance {
    path: PathBuf,
    layout: Layout,
    /// By the event's number.
    readings: Vec<Option<Reading>>,
    thread: Option<Field>,
    enabled: Vec<String>,
    streams: Vec<File>,
    page: Vec<u8>,
    /// Events that pages say were lost before them.
    missed: u64,
}

impl Instance {
    fn make(tracefs: &Tracefs, name: &str, layout: Layout, buffer_kb_max: u64) -> Result<Instance> {
        let path = tracefs.path.join("instances").join(name);
        fs::create_dir(&path).with_context(|| format!("making the trace instance {name}"))?;
        let page_kb = fs::read_to_string(path.join("buffer_subbuf_size_kb")).ok();
        let page_kb: usize = page_kb.and_then(|text| text.trim().parse().ok()).unwrap_or(64);
        let instance = Instance {
            path,
            layout,
            readings: Vec::new(),
            thread: None,
            enabled: Vec::new(),
            streams: Vec::new(),
            page: vec![0; (page_kb << 10).max(64 << 10)],
            missed: 0,
        };
        let processors = instance.processors()?;
        // Full buffers drop what is new, and count it; the lab's clock is the one of transactions.
        for (file, value) in [("options/overwrite", "0"), ("trace_clock", "mono")] {
            instance.put(file, value)?;
        }
        let each = (BUFFERS_KB_MAX.min(memory_kb() / 16) / processors.len().max(1) as u64).max(BUFFER_KB_MIN);
        instance.put("buffer_size_kb", &each.min(buffer_kb_max).to_string())?;
        Ok(instance)
    }

    fn put(&self, file: &str, value: &str) -> Result<()> {
        fs::write(self.path.join(file), value)
            .with_context(|| format!("setting {file} of the trace instance to {value}"))
    }

    fn processors(&self) -> Result<Vec<PathBuf>> {
        let entries = fs::read_dir(self.path.join("per_cpu")).context("reading per_cpu of the trace instance")?;
        Ok(entries.flatten().map(|entry| entry.path()).collect())
    }

    /// `None` where this kernel has no such event.
    fn format(&self, group: &str, event: &str) -> Result<Option<Format>> {
        match fs::read_to_string(self.path.join("events").join(group).join(event).join("format")) {
            Ok(text) => Ok(Format::parse(&text)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| format!("reading the format of {group}:{event}")),
        }
    }

    fn watch(&mut self, group: &str, event: &str, format: &Format, reading: Reading) {
        self.thread = self.thread.take().or_else(|| format.field("common_pid").cloned());
        let number = usize::from(format.number);
        self.readings.resize_with(self.readings.len().max(number + 1), || None);
        self.readings[number] = Some(reading);
        self.enabled.push(format!("{group}:{event}\n"));
    }

    /// An engine locks its file by fcntl, some of them six times a commit: of that call only the commands that concern
    /// descriptors are taken, and only results that are descriptors. A kernel that takes no filter shows them all.
    fn pass_over_locks(&self) {
        let (duplicate, flags, both) = (libc::F_DUPFD, libc::F_SETFL, libc::F_DUPFD_CLOEXEC);
        let commands = format!("cmd == {duplicate} || cmd == {flags} || cmd == {both}");
        self.put("events/syscalls/sys_enter_fcntl/filter", &commands).ok();
        self.put("events/syscalls/sys_exit_fcntl/filter", "ret > 2").ok();
    }

    /// Threads and processes to come: one may have ended before /proc could be asked whose it was.
    fn watch_births(&mut self) -> Result<()> {
        let Some(format) = self.format("task", "task_newtask")? else { return Ok(()) };
        let (child, flags, name) = (format.field("pid"), format.field("clone_flags"), format.field("comm"));
        if let (Some(child), Some(flags), Some(name)) = (child, flags, name) {
            let reading = Reading::Born { child: child.clone(), flags: flags.clone(), name: name.clone() };
            self.watch("task", "task_newtask", &format, reading);
        }
        Ok(())
    }

    /// Requests that go through io_uring: no call shows them.
    fn watch_rings(&mut self) -> Result<()> {
        let (submit, complete) =
            (self.format("io_uring", "io_uring_submit_req")?, self.format("io_uring", "io_uring_complete")?);
        let (Some(submit), Some(complete)) = (submit, complete) else { return Ok(()) };
        let fields = (submit.field("req"), submit.field("opcode"), complete.field("req"), complete.field("res"));
        if let (Some(request), Some(operation), Some(done), Some(result)) = fields {
            let reading = Reading::RingSubmit { request: request.clone(), operation: operation.clone() };
            self.watch("io_uring", "io_uring_submit_req", &submit, reading);
            let reading = Reading::RingComplete { request: done.clone(), result: result.clone() };
            self.watch("io_uring", "io_uring_complete", &complete, reading);
        }
        Ok(())
    }

    fn watch_storage(&mut self, devices: &Devices) -> Result<()> {
        let filter = |instance: &Instance, group: &str, event: &str, devices: &HashSet<u64>| {
            let each: Vec<String> = devices.iter().map(|device| format!("dev == {device}")).collect();
            instance.put(&format!("events/{group}/{event}/filter"), &each.join(" || "))
        };
        let (issue, complete) = (self.format("block", "block_rq_issue")?, self.format("block", "block_rq_complete")?);
        if let (Some(issue), Some(complete), false) = (issue, complete, devices.disks.is_empty()) {
            let of = |format: &Format, name: &str| format.field(name).cloned();
            if let (Some(device), Some(sector), Some(bytes), Some(flags)) =
                (of(&issue, "dev"), of(&issue, "sector"), of(&issue, "bytes"), of(&issue, "rwbs"))
            {
                filter(self, "block", "block_rq_issue", &devices.disks)?;
                self.watch("block", "block_rq_issue", &issue, Reading::Issue { device, sector, bytes, flags });
            }
            if let (Some(device), Some(sector), Some(flags)) =
                (of(&complete, "dev"), of(&complete, "sector"), of(&complete, "rwbs"))
            {
                filter(self, "block", "block_rq_complete", &devices.disks)?;
                self.watch("block", "block_rq_complete", &complete, Reading::Complete { device, sector, flags });
            }
        }
        for (group, event, what, key, part) in FILE_SYSTEMS {
            let own = *group == devices.filesystem || *group == "jbd2" && devices.filesystem.starts_with("ext");
            let Some(format) = self.format(group, event)?.filter(|_| own) else { continue };
            if format.field("dev").is_some() {
                filter(self, group, event, &devices.filesystems)?;
            }
            let key = format.field(key).cloned();
            self.watch(group, event, &format, Reading::FileSystem { what, key, part: *part });
        }
        Ok(())
    }

    /// Restricts the instance to these processes' threads, those to come included.
    fn follow(&self, roots: &[u32]) -> Result<()> {
        self.put("options/event-fork", "1")?;
        let mut followed = HashSet::new();
        loop {
            let new: Vec<u32> = threads_of(roots, std::process::id())
                .into_iter()
                .map(|(_, tid)| tid)
                .filter(|tid| followed.insert(*tid))
                .collect();
            if new.is_empty() {
                break;
            }
            let list = new.iter().map(|tid| format!("{tid} ")).collect::<String>();
            let mut file = OpenOptions::new();
            let file = file.append(true).open(self.path.join("set_event_pid"));
            std::io::Write::write_all(&mut file.context("opening set_event_pid")?, list.as_bytes())
                .context("writing set_event_pid")?;
        }
        if followed.is_empty() {
            bail!("the processes to be watched have ended");
        }
        Ok(())
    }

    fn enable(&mut self) -> Result<()> {
        for processor in self.processors()? {
            let mut options = OpenOptions::new();
            let path = processor.join("trace_pipe_raw");
            self.streams
                .push(options.read(true).custom_flags(libc::O_NONBLOCK).open(path).context("opening trace_pipe_raw")?);
        }
        if self.enabled.is_empty() {
            return Ok(());
        }
        self.put("set_event", &self.enabled.concat())
    }

    /// Reads each processor's buffer until it is empty or holds what came after `now_ns`.
    fn read(&mut self, now_ns: u64, out: &mut Vec<Event>) -> Result<()> {
        for stream in &mut self.streams {
            loop {
                let length = match stream.read(&mut self.page) {
                    Ok(0) => break,
                    Ok(length) => length,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                    Err(error) => return Err(error).context("reading trace_pipe_raw"),
                };
                let mut last_ns = 0;
                let Some(page) = Page::new(&self.page[..length], self.layout) else { continue };
                // Some were lost, and the page has no room to say how many.
                self.missed += if page.missed == u64::MAX { 1 } else { page.missed };
                for record in page {
                    last_ns = record.at_ns;
                    let number = record.data.get(..2).map(|two| u16::from_ne_bytes([two[0], two[1]]));
                    let reading = number.and_then(|number| self.readings.get(usize::from(number))?.as_ref());
                    let Some(reading) = reading else { continue };
                    let tid = self.thread.as_ref().and_then(|field| field.number(record.data)).unwrap_or(0) as u32;
                    if let Some(what) = read_record(reading, record.data) {
                        out.push(Event { at_ns: record.at_ns, tid, what });
                    }
                }
                if last_ns > now_ns {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Events that found no room; see per_cpu/cpu*/stats.
    fn dropped(&self) -> Result<u64> {
        let mut dropped = 0;
        for processor in self.processors()? {
            let stats = fs::read_to_string(processor.join("stats")).context("reading the trace instance's stats")?;
            for line in stats.lines() {
                let Some((name, value)) = line.split_once(':') else { continue };
                if matches!(name, "overrun" | "commit overrun" | "dropped events") {
                    dropped += value.trim().parse::<u64>().unwrap_or(0);
                }
            }
        }
        Ok(dropped.max(self.missed))
    }

    fn remove(mut self) -> Result<()> {
        self.streams.clear();
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            match fs::remove_dir(&self.path) {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
                Err(_) if Instant::now() < end => std::thread::sleep(Duration::from_millis(10)),
                Err(error) => return Err(error).context("removing the trace instance"),
            }
        }
    }
}

fn read_record(reading: &Reading, data: &[u8]) -> Option<What> {
    Some(match reading {
        Reading::Enter { call, arguments } => {
            let mut args = [0; 6];
            for (arg, field) in args.iter_mut().zip(arguments) {
                *arg = field.number(data)?;
            }
            What::Enter { call: *call, args }
        }
        Reading::Exit { call, result } => What::Exit { call: *call, ret: result.number(data)? as i64 },
        Reading::RingSubmit { request, operation } => {
            What::RingSubmit { request: request.number(data)?, operation: operation.number(data)? as u8 }
        }
        Reading::RingComplete { request, result } => {
            What::RingComplete { request: request.number(data)?, result: result.number(data)? as i64 }
        }
        Reading::Issue { device, sector, bytes, flags } => What::Issue {
            device: device.number(data)?,
            sector: sector.number(data)?,
            bytes: bytes.number(data)?,
            flags: flags.text(data)?,
        },
        Reading::Complete { device, sector, flags } => {
            What::Complete { device: device.number(data)?, sector: sector.number(data)?, flags: flags.text(data)? }
        }
        Reading::FileSystem { what, key, part } => {
            let key = key.as_ref().map_or(Some(0), |field| field.number(data))?;
            What::FileSystem { what, key, part: *part }
        }
        Reading::Born { child, flags, name } => What::Born {
            child: child.number(data)? as u32,
            thread: flags.number(data)? & libc::CLONE_THREAD as u64 != 0,
            name: name.text(data)?,
        },
    })
}

/// Puts beginnings and ends together.
#[derive(Default)]
struct Joiner {
    halves: Halves,
    /// Request to its thread, operation and time.
    rings: HashMap<u64, (u32, u8, u64)>,
    /// Device, sector and flags of a request to its thread, bytes and time.
    requests: HashMap<(u64, u64, String), (u32, u64, u64)>,
    file_systems: HashMap<(&'static str, u64), (u32, u64)>,
}

impl Joiner {
    fn take(&mut self, event: Event, out: &mut Vec<Seen>) {
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
                    out.push(Seen::Deed(Deed { block: true, what, tid, begin_ns, lasted_ns, offset, bytes }));
                }
            }
            What::FileSystem { what, key, part } => {
                let deed = |tid, begin_ns, lasted_ns| {
                    let what = what.to_string();
                    Seen::Deed(Deed { block: false, what, tid, begin_ns, lasted_ns, offset: None, bytes: 0 })
                };
                match part {
                    Part::Begin => {
                        self.file_systems.insert((what, key), (tid, at_ns));
                    }
                    Part::End => {
                        let begun = self.file_systems.remove(&(what, key));
                        out.extend(begun.map(|(tid, begin_ns)| deed(tid, begin_ns, at_ns.saturating_sub(begin_ns))));
                    }
                    Part::Moment => out.push(deed(tid, at_ns, 0)),
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

/// The devices of a database: as its file systems know them, and the disks that requests go to.
#[derive(Debug, Default)]
struct Devices {
    filesystem: String,
    filesystems: HashSet<u64>,
    disks: HashSet<u64>,
}

impl Devices {
    /// Those beneath `directory`, and block devices that the processes have open (a database on a raw device).
    fn of(directory: &Path, roots: &[u32]) -> Devices {
        let mut devices = Devices::default();
        if let Ok(status) = fs::metadata(directory) {
            let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
            let (filesystem, source) = mount_of(&mounts, &directory.to_string_lossy());
            devices.filesystem = filesystem;
            devices.filesystems.insert(kernel_number(status.dev()));
            // A file system of its own device number (btrfs) names the disk as its source.
            let named = fs::metadata(source).ok().filter(|found| found.file_type().is_block_device());
            let number = named.map_or(status.dev(), |found| found.rdev());
            devices.disks.extend(disk_of(number));
        }
        let processes: HashSet<u32> = threads_of(roots, std::process::id()).into_iter().map(|(pid, _)| pid).collect();
        for pid in processes {
            for (_, path, ..) in super::files::Processes::descriptors(&mut super::processes::Proc, pid) {
                let device = fs::metadata(&path).ok().filter(|found| found.file_type().is_block_device());
                devices.disks.extend(device.and_then(|found| disk_of(found.rdev())));
            }
        }
        devices
    }
}

/// The whole disk of a device, which requests name, as the kernel counts.
fn disk_of(number: u64) -> Option<u64> {
    let at = format!("/sys/dev/block/{}:{}", libc::major(number), libc::minor(number));
    let mut at = fs::canonicalize(at).ok()?;
    if at.join("partition").exists() {
        at.pop();
    }
    let text = fs::read_to_string(at.join("dev")).ok()?;
    let (major, minor) = text.trim().split_once(':')?;
    Some(kernel_number(libc::makedev(major.parse().ok()?, minor.parse().ok()?)))
}

/// A device number as the kernel keeps it, and shows it in traces.
fn kernel_number(number: u64) -> u64 {
    u64::from(libc::major(number)) << 20 | u64::from(libc::minor(number))
}

/// File system and source of the mount that `path` is in, by the text of mountinfo; see proc_pid_mountinfo(5).
fn mount_of(mountinfo: &str, path: &str) -> (String, String) {
    let mut found = (0, (String::new(), String::new()));
    for line in mountinfo.lines() {
        let Some((left, right)) = line.split_once(" - ") else { continue };
        let point = left.split(' ').nth(4).unwrap_or("").replace("\\040", " ");
        let inside =
            point == "/" || path == point || path.strip_prefix(&point).is_some_and(|rest| rest.starts_with('/'));
        // The last one mounted at a point is what is seen there.
        if inside && point.len() >= found.0 {
            let mut words = right.split(' ');
            let mut word = || words.next().unwrap_or("").to_string();
            found = (point.len(), (word(), word()));
        }
    }
    found.1
}

/// This file answers the first read only, however little of it that takes.
fn read_at_once(path: &Path) -> std::io::Result<String> {
    let mut bytes = vec![0; 64 << 10];
    let length = File::open(path)?.read(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes[..length]).into_owned())
}

fn memory_kb() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse().ok()).unwrap_or(1 << 20)
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
    fn the_innermost_and_last_mount_counts() {
        let text = "1 0 254:0 / / rw - ext4 /dev/vda rw\n2 1 7:0 / /d rw shared:1 - xfs /dev/loop0 rw\n\
            3 1 7:1 / /d rw - btrfs /dev/loop1 rw\n";
        assert_eq!(mount_of(text, "/d/x/y"), ("btrfs".into(), "/dev/loop1".into()));
        assert_eq!(mount_of(text, "/data"), ("ext4".into(), "/dev/vda".into()));
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
        let found: Vec<_> = out
            .iter()
            .map(|seen| match seen {
                Seen::Deed(deed) => (deed.what.as_str(), deed.begin_ns, deed.lasted_ns, deed.offset),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(found, [("flush", 10, 20, None), ("jbd2 commit", 20, 30, None)]);
    }
}
