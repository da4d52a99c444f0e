//! The simulated disk: one file in our own file system, for a loop device to lie on. `acidtest-disk`, or `acidtest-rig disk`,
//! serves it and follows commands; see the protocol.
//!
//! [`cache`], [`timing`], [`fault`] and [`model`] are the disk as pure functions; [`front`] is what the kernel talks to.

mod cache;
mod device;
mod fault;
mod front;
mod log;
mod medium;
mod model;
mod processors;
mod ring;
mod rule;
mod socket;
#[cfg(test)]
mod tests;
mod through;
mod timing;
mod wire;

use anyhow::{anyhow, bail, Context, Result};
use cache::{Cache, Snapshot};
use device::unmount;
use fault::Fault;
use front::Served;
use log::{Log, Recorded, Writes};
use measure::monotonic_ns;
use medium::{FileMedium, Medium, Memory, BLOCK};
use model::{Disk, FAULTS_MAX};
use protocol::{DiskAnswer, DiskBattery, DiskCommand, DiskSpec, DiskState, DiskTimingName, PROTOCOL};
use socket::answer;
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use timing::Timing;

const SIZE_MAX: u64 = 1 << 44;
/// What a ghost may write before it runs out of room; from then on it answers EIO.
const GHOST_BYTES: u64 = 64 << 20;
/// The longest request: as long as the kernel's, where few are under way.
const FEW: usize = 8;
const DATA_BYTES_FEW: usize = 1 << 20;
const DATA_BYTES_MANY: usize = 256 << 10;

const HELP: &str = "\
serves a simulated disk through FUSE, as a file that a loop device can lie on

  (no argument)      standard input brings a specification (DiskSpec), then commands (DiskCommand), one a line (JSON
                     Lines); standard output has an answer (DiskAnswer) to each. The end of standard input ends the disk
  --socket PATH      standard input brings the specification; commands come through this Unix socket, from any number
                     of programs, until one of them is end
  --tell PATH [LINE]  send LINE, or each line of standard input, to the disk behind this socket and print the answers
  --check FAULT      say whether FAULT is a fault, and print it as the disk does

docs/DISK.md tells how to use it, docs/SIMULATED-DISK.md what it does, docs/FORMAT.md names every field.

Exit codes: 0 done, 1 the disk could not be made or does not answer (the message says why), 2 bad arguments.";

/// Obeys the command line of `program`, a separate process; answers how it ends.
pub fn command(program: &str, arguments: &[String]) -> ExitCode {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments[..] {
        [] => return served(None),
        ["--socket", path] => return served(Some(Path::new(path))),
        ["--tell", path] => socket::tell(Path::new(path), None),
        ["--tell", path, line] => socket::tell(Path::new(path), Some(line)),
        ["--check", fault] => return checked(program, fault),
        ["--help" | "-h"] => {
            println!("{program}: {HELP}");
            Ok(())
        }
        _ => {
            eprintln!("{program}: unknown arguments: {}; see {program} --help", arguments.join(" "));
            return ExitCode::from(2);
        }
    };
    if let Err(error) = outcome {
        eprintln!("{program}: {error:#}");
        return ExitCode::from(1);
    }
    ExitCode::SUCCESS
}

/// A fault as the disk prints it, or in words what is wrong with it.
pub fn check_fault(fault: &str) -> Result<String, String> {
    fault.parse::<Fault>().map(|fault| fault.to_string()).map_err(|error| error.to_string())
}

fn checked(program: &str, fault: &str) -> ExitCode {
    match check_fault(fault) {
        Ok(fault) => {
            println!("{fault}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{program}: {error}");
            ExitCode::from(2)
        }
    }
}

fn served(socket: Option<&Path>) -> ExitCode {
    // SAFETY: sets flags of this thread, which those inherit that it makes. Not killed with its parent: the end of standard
    // input lets it go in order.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1);
        libc::prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0); // helps where it is allowed, and nothing depends on it
    }
    let (mut commands, mut answers) = (io::stdin().lock(), io::stdout().lock());
    match serve(socket, &mut commands, &mut answers) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) | Err(_) => ExitCode::from(1),
    }
}

/// Serves one disk until it is asked to end, or, without a socket, nobody is left to tell. Whether it came to be.
fn serve(socket: Option<&Path>, commands: &mut impl BufRead, answers: &mut impl Write) -> io::Result<bool> {
    let mut line = String::new();
    commands.read_line(&mut line)?;
    let made = serde_json::from_str::<DiskSpec>(&line).context("the first line is no DiskSpec").and_then(|spec| {
        match &spec.medium {
            None => make(&spec, memory(&spec)?, socket, commands, answers),
            Some(path) => make(&spec, file(&spec, Path::new(path))?, socket, commands, answers),
        }
    });
    match made {
        Ok(()) => Ok(true),
        Err(error) => {
            answer(answers, &DiskAnswer::Failed { message: format!("{error:#}") })?;
            Ok(false)
        }
    }
}

fn memory(spec: &DiskSpec) -> Result<Memory> {
    let free = available_bytes().unwrap_or(u64::MAX);
    let needed = spec.size_bytes.saturating_add(spec.cache_bytes);
    if needed > free {
        let (needed, free) = (needed >> 20, free >> 20);
        bail!("a disk of {needed} MiB does not fit into the {free} MiB of memory that are free: name a file for its medium");
    }
    Memory::new(spec.size_bytes).context("taking memory for the medium")
}

fn file(spec: &DiskSpec, path: &Path) -> Result<FileMedium> {
    FileMedium::open(path, spec.size_bytes).with_context(|| format!("the medium {}", path.display()))
}

fn make<M: Medium + Send + 'static>(
    spec: &DiskSpec,
    medium: M,
    socket: Option<&Path>,
    commands: &mut impl BufRead,
    answers: &mut impl Write,
) -> Result<()> {
    if spec.protocol != PROTOCOL {
        bail!("the disk is asked for in protocol {}, this rig uses {PROTOCOL}; install acidtest again", spec.protocol);
    }
    let block = BLOCK as u64;
    if spec.size_bytes == 0 || !spec.size_bytes.is_multiple_of(block) || spec.size_bytes > SIZE_MAX {
        bail!("size_bytes must be a multiple of {block} up to {SIZE_MAX}, found {}", spec.size_bytes);
    }
    if ![512, block as u32].contains(&spec.sector_bytes) {
        bail!("sector_bytes must be 512 or {block}, found {}", spec.sector_bytes);
    }
    let timing = Timing::new(&spec.timing).map_err(|error| anyhow!(error))?;
    if spec.faults.len() > FAULTS_MAX {
        bail!("a disk has at most {FAULTS_MAX} faults");
    }
    let faults = spec.faults.iter().map(|text| text.parse::<Fault>()).collect::<Result<Vec<_>, _>>()?;
    for fault in &faults {
        can_be_logged(fault, spec.log.is_some())?;
    }
    let threads = timing.queue_depth;
    let data_bytes = if threads <= FEW { DATA_BYTES_FEW } else { DATA_BYTES_MANY };
    let under_way = (threads * data_bytes) as u64;
    let slots =
        (spec.cache_bytes.saturating_add(under_way).saturating_add(GHOST_BYTES) / block).min(spec.size_bytes / block);
    let cache = Cache::new(medium, spec.size_bytes, spec.sector_bytes as usize, slots as usize)
        .context("taking memory for the cache")?;
    let capacity = (spec.cache_bytes / block) as usize;
    let began_ns = monotonic_ns();
    if capacity == 0 && spec.battery != DiskBattery::None {
        bail!("a controller's battery is for its write cache, and this disk has none");
    }
    let log = match &spec.log {
        None => None,
        Some(_) if capacity == 0 => bail!("a disk without a write cache has nothing to tell in a log"),
        Some(_) if spec.battery == DiskBattery::Good => {
            bail!("a disk whose cache outlives every cut has nothing to tell in a log")
        }
        Some(path) => Some(
            Log::create(Path::new(path), spec.size_bytes, spec.sector_bytes, began_ns)
                .with_context(|| format!("the log {path}"))?,
        ),
    };
    let mut disk = Disk::new(cache, capacity, spec.battery, timing, spec.seed);
    for fault in faults {
        disk.add_fault(fault).map_err(|error| anyhow!(error))?;
    }
    let served = Served::new(disk, log, spec.size_bytes, data_bytes, began_ns, spec.patient);
    let point = PathBuf::from(&spec.mount_point);
    // Who waits for a timed drive anyway gains nothing, and must leave the processor to others while the time passes.
    let may_ring = spec.timing.name == DiskTimingName::None;
    let over_io_uring =
        served.mount(&point, threads, may_ring).with_context(|| format!("mounting on {}", point.display()))?;
    let unlocked = lock_memory();
    let disk = Commanded {
        served,
        over_io_uring,
        size_bytes: spec.size_bytes,
        sector_bytes: spec.sector_bytes,
        point,
        kept: false,
        log: None,
    };
    match socket {
        None => disk.follow(unlocked, commands, answers),
        Some(path) => disk.listen(unlocked, path, answers),
    }
}

fn can_be_logged(fault: &Fault, logs: bool) -> Result<()> {
    match fault {
        Fault::Rule(rule) if logs && rule.act.deceives_a_log() => {
            bail!("{fault}: a disk with a log takes no fault after which the medium does not hold what was written")
        }
        _ => Ok(()),
    }
}

/// A disk that is there, as the lab commands it.
struct Commanded<M> {
    served: Arc<Served<M>>,
    over_io_uring: bool,
    size_bytes: u64,
    sector_bytes: u32,
    point: PathBuf,
    kept: bool,
    /// That states were last loaded from.
    log: Option<Recorded>,
}

impl<M: Medium + Send + 'static> Commanded<M> {
    fn follow(mut self, unlocked: Option<String>, commands: &mut impl BufRead, answers: &mut impl Write) -> Result<()> {
        let mut written = answer(answers, &self.ready(unlocked)?);
        let mut line = String::new();
        while written.is_ok() {
            line.clear();
            if !matches!(commands.read_line(&mut line), Ok(length) if length > 0) {
                break;
            }
            let (reply, ends) = self.reply(&line);
            written = answer(answers, &reply);
            if ends {
                return Ok(());
            }
        }
        // Nobody is left to command it. What still hangs on the disk gets errors, and `acidtest clean` releases it.
        let _ = unmount(&self.point);
        Ok(())
    }

    fn listen(self, unlocked: Option<String>, path: &Path, answers: &mut impl Write) -> Result<()> {
        let listener = socket::bind(path).with_context(|| format!("the socket {}", path.display()))?;
        answer(answers, &self.ready(unlocked)?)?;
        let disk = Arc::new(Mutex::new(self));
        Ok(socket::serve(&listener, path, &move |line| {
            disk.lock().unwrap_or_else(std::sync::PoisonError::into_inner).reply(line)
        })?)
    }

    fn ready(&self, unlocked: Option<String>) -> Result<DiskAnswer> {
        Ok(DiskAnswer::Ready {
            protocol: PROTOCOL,
            pid: std::process::id(),
            file: self.point.join(wire::IMAGE_NAME).display().to_string(),
            connection: connection_of(&self.point)?,
            over_io_uring: self.over_io_uring,
            unlocked,
        })
    }

    /// The answer to a line, and whether the disk has ended with it.
    fn reply(&mut self, line: &str) -> (DiskAnswer, bool) {
        let followed = serde_json::from_str::<DiskCommand>(line).context("that is no command").and_then(|command| {
            let ends = command == DiskCommand::End {};
            Ok((self.obey(command)?, ends))
        });
        followed.unwrap_or_else(|error| (DiskAnswer::Failed { message: format!("{error:#}") }, false))
    }

    fn obey(&mut self, command: DiskCommand) -> Result<DiskAnswer> {
        let served = Arc::clone(&self.served);
        match command {
            DiskCommand::Stats {} => {
                let records = served.log().map_or(Ok(0), Log::settle).context("the log")?;
                let stats = served.disk().stats(served.now(), records);
                return Ok(DiskAnswer::Stats(Box::new(stats)));
            }
            DiskCommand::Fault { fault } => {
                let fault = fault.parse()?;
                can_be_logged(&fault, served.log().is_some())?;
                served.disk().add_fault(fault).map_err(|error| anyhow!(error))?;
            }
            DiskCommand::Under { major, minor } => served
                .watch((major, minor))
                .context("flushes that only end writes with FUA cannot be distinguished here")?,
            DiskCommand::Mend {} => {
                served.disk().mend(served.now());
                served.wake();
            }
            DiskCommand::Cut { keep, seed, flushes } => {
                let cut = served.disk().cut(keep, seed, flushes, served.now()).map_err(|error| anyhow!(error))?;
                served.wake();
                return Ok(DiskAnswer::Cut(cut));
            }
            DiskCommand::Revive {} => served.disk().revive().map_err(|error| anyhow!(error))?,
            DiskCommand::Snapshot {} => {
                // Taken before the disk is held: nobody waits for memory that waits for the disk.
                let room = (!self.kept).then(|| Snapshot::new(self.size_bytes)).transpose()?;
                served.disk().keep(room).map_err(|error| anyhow!(error))?;
                self.kept = true;
            }
            DiskCommand::Load { state } => {
                served.disk().restore().map_err(|error| anyhow!(error))?;
                if let Some(state) = state {
                    self.build(&state).with_context(|| format!("the log {}", state.log))?;
                }
            }
            DiskCommand::Save { file, whole } => self.save(Path::new(&file), whole).with_context(|| file)?,
            DiskCommand::End {} => unmount(&self.point).context("somebody has the disk open")?,
        }
        Ok(DiskAnswer::Done {})
    }

    fn save(&self, file: &Path, whole: bool) -> Result<()> {
        if !whole && !self.kept {
            bail!("no snapshot was taken");
        }
        let mut writes = Writes::create(file, self.size_bytes, self.sector_bytes)?;
        self.served.disk().each_block(whole, &mut |at, bytes| writes.put(at, bytes))?;
        Ok(writes.end()?)
    }

    fn build(&mut self, state: &DiskState) -> Result<()> {
        let path = Path::new(&state.log);
        let mut log = match self.log.take() {
            Some(log) if log.is_at(path)? => log,
            _ => Recorded::open(path)?,
        };
        log.look()?;
        let records = log.records();
        let (from, to) = (state.from as usize, state.to as usize);
        if from > to || to > records.len() {
            bail!("it has {} records, asked for are those from {from} up to {to}", records.len());
        }
        if log.size_bytes > self.size_bytes {
            bail!("it is of a disk of {} bytes, this one has {}", log.size_bytes, self.size_bytes);
        }
        let sector = u64::from(log.sector_bytes);
        let mut disk = self.served.disk();
        for (number, record) in (from..).zip(&records[from..to]) {
            let Some((at, length)) = record.write else { continue };
            if state.without.contains(&(number as u64)) {
                continue;
            }
            let bytes = log.bytes(record)?;
            match state.torn.iter().find(|torn| torn.record == number as u64) {
                None => disk.put(at, &bytes)?,
                Some(torn) => {
                    // Sectors lie on the disk, not in the write: one that begins within a sector has less of its first.
                    let first = at / sector * sector;
                    for kept in &torn.sectors {
                        let start = (first + u64::from(*kept) * sector).max(at);
                        let end = (first + (u64::from(*kept) + 1) * sector).min(at + u64::from(length));
                        if start < end {
                            disk.put(start, &bytes[(start - at) as usize..(end - at) as usize])?;
                        }
                    }
                }
            }
        }
        drop(disk);
        self.log = Some(log);
        Ok(())
    }
}

const PR_SET_IO_FLUSHER: libc::c_int = 57;

/// Keeps all that the disk needs in memory, now and later. Why that could not be done.
fn lock_memory() -> Option<String> {
    // SAFETY: a flag of this process.
    unsafe {
        if libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) == 0 {
            return None;
        }
    }
    let error = io::Error::last_os_error();
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: writes into the struct.
    unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &raw mut limit) };
    Some(format!("{error}; RLIMIT_MEMLOCK is {} KiB: raise it (ulimit -l), or run as root", limit.rlim_cur / 1024))
}

/// The number of the connection in /sys/fs/fuse/connections: the minor number of the mount.
/// Without a question to the file system, which is ours: if it did not answer, this process could not even be killed.
fn connection_of(point: &Path) -> Result<u64> {
    use rustix::fs::{statx, AtFlags, StatxFlags, CWD};
    let status =
        statx(CWD, point, AtFlags::STATX_DONT_SYNC, StatxFlags::empty()).context("looking at what was mounted")?;
    Ok(u64::from(status.stx_dev_minor))
}

fn available_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
    line.split_ascii_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib << 10)
}
