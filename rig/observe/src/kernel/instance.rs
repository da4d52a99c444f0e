//! tracefs and the instances in it that are ours alone: what each watches, and its buffers as they are read.

use super::devices::Devices;
use super::events::{Event, Part, Reading};
use crate::format::{Field, Format};
use crate::page::{Layout, Page};
use crate::processes::threads_of;
use anyhow::{bail, Context, Result};
use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What the buffers of all processors may take together, at most, and each at least.
const BUFFERS_KB_MAX: u64 = 256 << 10;
const BUFFER_KB_MIN: u64 = 1 << 10;
pub const BUFFER_KB_MAX: u64 = 64 << 10;

/// Events of file systems: group, event, what it is called here, the field that tells one from another, and its place.
const FILE_SYSTEMS: &[(&str, &str, &str, &str, Part)] = &[
    ("jbd2", "jbd2_start_commit", "jbd2 commit", "transaction", Part::Begin),
    ("jbd2", "jbd2_end_commit", "jbd2 commit", "transaction", Part::End),
    ("ext4", "ext4_fc_commit_start", "ext4 fast commit", "", Part::Begin),
    ("ext4", "ext4_fc_commit_stop", "ext4 fast commit", "", Part::End),
    ("xfs", "xfs_log_force", "xfs log force", "", Part::Moment),
    ("btrfs", "btrfs_transaction_commit", "btrfs transaction commit", "", Part::Moment),
];

/// tracefs, mounted where nobody else sees it and gone with this process; its instances are everybody's.
pub struct Tracefs {
    path: PathBuf,
    _mount: OwnedFd,
}

impl Tracefs {
    pub fn mount() -> Result<Tracefs> {
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

    /// How the pages of buffers are laid out.
    pub fn layout(&self) -> Result<Layout> {
        let text = read_at_once(&self.path.join("events/header_page")).context("reading events/header_page")?;
        Layout::parse(&text).context("events/header_page is not understood")
    }
}

/// One instance: what is watched in it, and the buffers that it fills.
pub struct Instance {
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
    pub fn make(tracefs: &Tracefs, name: &str, layout: Layout, buffer_kb_max: u64) -> Result<Instance> {
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

    pub fn put(&self, file: &str, value: &str) -> Result<()> {
        fs::write(self.path.join(file), value)
            .with_context(|| format!("setting {file} of the trace instance to {value}"))
    }

    pub fn is_empty(&self) -> bool {
        self.readings.is_empty()
    }

    fn processors(&self) -> Result<Vec<PathBuf>> {
        let entries = fs::read_dir(self.path.join("per_cpu")).context("reading per_cpu of the trace instance")?;
        Ok(entries.flatten().map(|entry| entry.path()).collect())
    }

    /// `None` where this kernel has no such event.
    pub fn format(&self, group: &str, event: &str) -> Result<Option<Format>> {
        match fs::read_to_string(self.path.join("events").join(group).join(event).join("format")) {
            Ok(text) => Ok(Format::parse(&text)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| format!("reading the format of {group}:{event}")),
        }
    }

    pub fn watch(&mut self, group: &str, event: &str, format: &Format, reading: Reading) {
        self.thread = self.thread.take().or_else(|| format.field("common_pid").cloned());
        let number = usize::from(format.number);
        self.readings.resize_with(self.readings.len().max(number + 1), || None);
        self.readings[number] = Some(reading);
        self.enabled.push(format!("{group}:{event}\n"));
    }

    /// An engine locks its file by fcntl, some of them six times a commit: of that call only the commands that concern
    /// descriptors are taken, and only results that are descriptors. A kernel that takes no filter shows them all.
    pub fn pass_over_locks(&self) {
        let (duplicate, flags, both) = (libc::F_DUPFD, libc::F_SETFL, libc::F_DUPFD_CLOEXEC);
        let commands = format!("cmd == {duplicate} || cmd == {flags} || cmd == {both}");
        self.put("events/syscalls/sys_enter_fcntl/filter", &commands).ok();
        self.put("events/syscalls/sys_exit_fcntl/filter", "ret > 2").ok();
    }

    /// Threads and processes to come: one may have ended before /proc could be asked whose it was.
    pub fn watch_births(&mut self) -> Result<()> {
        let Some(format) = self.format("task", "task_newtask")? else { return Ok(()) };
        let (child, flags, name) = (format.field("pid"), format.field("clone_flags"), format.field("comm"));
        if let (Some(child), Some(flags), Some(name)) = (child, flags, name) {
            let reading = Reading::Born { child: child.clone(), flags: flags.clone(), name: name.clone() };
            self.watch("task", "task_newtask", &format, reading);
        }
        Ok(())
    }

    /// Requests that go through io_uring: no call shows them.
    pub fn watch_rings(&mut self) -> Result<()> {
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

    pub fn watch_storage(&mut self, devices: &Devices) -> Result<()> {
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
    pub fn follow(&self, roots: &[u32]) -> Result<()> {
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

    pub fn enable(&mut self) -> Result<()> {
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
    pub fn read(&mut self, now_ns: u64, out: &mut Vec<Event>) -> Result<()> {
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
                    if let Some(what) = reading.read(record.data) {
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
    pub fn dropped(&self) -> Result<u64> {
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

    pub fn remove(mut self) -> Result<()> {
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
