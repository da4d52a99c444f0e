//! The JSON that both halves exchange. The lab writes one [`Job`] to the rig's standard input; the rig answers with
//! one [`Event`] a line on standard output and exits.
//!
//! This file is the specification; `src/acidtest/journal/protocol.py` is its twin. `acidtest-rig protocol`
//! prints one sample of every type with every field filled, and a test of the lab reads them back field by field.
//!
//! Units stand at the end of a name. Times inside a histogram are nanoseconds; CPU times are microseconds.

pub mod events;
pub mod samples;
mod shape;
mod share;

pub use shape::{
    ClassResult, Connect, Connections, IdleSessions, IdleSessionsSeen, Leg, Stage, StageResult, Tally, TerminalClass,
};

pub use share::{AcknowledgedTotals, Go, Share, Shared, SharedSecond};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Raised when a field changes meaning; both sides refuse another number.
pub const PROTOCOL: u32 = 2;

// ---------------------------------------------------------------------------------------------- lab -> rig

/// Everything one rig process is to do, in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    pub protocol: u32,
    /// Seed of every random choice; the same job with the same seed asks for the same rows in the same order.
    pub seed: u64,
    pub target: Target,
    pub workload: Workload,
    /// Questions asked on a session before the first phase and again on every terminal's session,
    /// each answering one row; the answers are the settings in force.
    pub inspect: Vec<Inspection>,
    pub phases: Vec<Phase>,
    /// Whether the engine's system calls are watched while a run phase drives load.
    pub observe: Option<Observe>,
    /// Whether the engine is asked, at both ends of a run phase's measurement, for what it counts itself.
    pub count: Option<Counting>,
    /// Whether the engine is asked, about once a second of a run phase's measurement, for where it stands.
    pub sample: Option<Sampling>,
}

impl Job {
    /// What in the job's phases cannot be followed, though its form is right. Target and workload are judged by who reads
    /// their messages.
    pub fn flaw(&self) -> Option<String> {
        self.phases.iter().find_map(|phase| match phase {
            Phase::Run(plan) => plan.flaw(),
            Phase::Load { sessions: 0, .. } => Some("sessions is out of range".to_string()),
            Phase::Load { .. } | Phase::Check { .. } | Phase::Survey {} | Phase::Ask { .. } => None,
        })
    }
}

/// The fields of a message that one module alone understands.
pub type Fields = serde_json::Map<String, serde_json::Value>;

/// The database to open sessions to. The fields beside `engine` are those of the engine's session, whose module defines them
/// and refuses others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Target {
    pub engine: String,
    #[serde(flatten)]
    pub fields: Fields,
}

/// What is run. The fields beside `name` are the workload's parameters, which its module defines; it refuses others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    pub name: String,
    #[serde(flatten)]
    pub fields: Fields,
}

/// Reads the fields of a message whose first names `whose` they are: a workload, an engine.
pub fn read_fields<T: DeserializeOwned>(whose: &str, fields: &Fields) -> Result<T, String> {
    T::deserialize(fields).map_err(|error| format!("{whose}: {error}"))
}

/// The fields of a message, as its module writes them.
pub fn write_fields(message: &impl Serialize) -> Fields {
    match serde_json::to_value(message) {
        Ok(serde_json::Value::Object(fields)) => fields,
        _ => unreachable!("a message is a struct of plain data"),
    }
}

/// One question about a setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inspection {
    /// Name under which the answer is reported. With an empty name the statement answers rows of
    /// two columns, name and value (`select rdb$config_name, rdb$config_value from rdb$config`).
    pub name: String,
    pub sql: String,
}

/// How the engine is asked for what it counts itself, on a session beside the terminals'.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counting {
    /// Answers the number by which the engine tells the session that asks from the others.
    pub session: String,
    /// Answers rows: the number of a session, or NULL for the whole database; then the counters, in the order of `names`.
    /// A counter only rises; it is NULL where the engine does not tell it.
    pub counted: String,
    pub names: Vec<String>,
}

/// How the engine is asked for where it stands while load is measured, on a session beside the terminals'.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sampling {
    /// Asked one after the other, each time; each answers rows of a figure's name and the figure. What an engine tells its
    /// sessions without SQL is asked for beside them.
    pub questions: Vec<String>,
    /// The figures that are wanted; others that are answered are passed over.
    pub names: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case", deny_unknown_fields)]
pub enum Phase {
    /// Create the schema and fill it. The target must hold no table of the workload, but where some is added to it.
    Load {
        /// How many sessions fill it side by side, at least 1; an engine with one writer uses one. The rows are the
        /// same whatever their number.
        sessions: u32,
        /// Each row by its own prepared insert, instead of the engine's fastest way: what that gains, for comparison.
        one_by_one: bool,
        /// Of a workload that grows: a database with exactly so many of the units in which it does (warehouses) gets those
        /// after them, up to the workload's number; its schema is there. 0: all is made. The rows are the same either way.
        from_units: u32,
    },
    /// The workload's consistency conditions.
    Check {
        /// Commits of each kind that were acknowledged to another process; more may be there. `null`: what this
        /// process counted is all that there is.
        at_least: Option<Vec<u64>>,
        /// All that was acknowledged, where several rigs had a part each; it replaces what this process counted.
        #[serde(default)]
        told: Option<AcknowledgedTotals>,
    },
    Run(RunPlan),
    /// What is there of each numbered transaction.
    Survey {},
    /// Questions in the engine's own SQL, each answered whole.
    Ask {
        questions: Vec<String>,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunPlan {
    /// Concurrent terminals, each with its own session; at least 1.
    pub terminals: u32,
    /// Threads that drive the terminals of a server; `null` leaves it to the rig. An embedded engine works inside the
    /// calling thread, and each terminal has one.
    pub threads: Option<u32>,
    pub pacing: Pacing,
    /// Seconds of load before the measurement starts.
    pub warmup_s: f64,
    /// The measurement starts earlier, at the second that a [`MeasureFrom`] on standard input names. `warmup_s` is whole then.
    #[serde(default)]
    pub may_start_early: bool,
    pub extent: Extent,
    /// How often a transaction refused with a conflict is tried again before it is given up.
    pub retries: u32,
    /// A pipe or file that takes one line a commit, after the engine's answer and before the terminal goes on:
    /// `TERMINAL COUNT KIND NUMBER BEGAN_NS ACKNOWLEDGED_NS`. COUNT rises by one within a terminal; the times are
    /// CLOCK_MONOTONIC's.
    pub acknowledge_to: Option<String>,
    /// Terminals that differ; empty: all are alike.
    #[serde(default)]
    pub classes: Vec<TerminalClass>,
    /// How the load changes during the measurement; empty: it does not. The warm-up has the load that the first begins with.
    #[serde(default)]
    pub stages: Vec<Stage>,
    pub sleepers: Option<IdleSessions>,
    #[serde(default)]
    pub connect: Connect,
    /// This rig's part of the load, where several drive it together; `null`: all of it. A rig with a part says `ready` when
    /// its sessions are open, and begins at the moment that a [`Go`] on its standard input names.
    #[serde(default)]
    pub share: Option<Share>,
}

/// The longest time that a job may name, about three years.
const SECONDS_MAX: f64 = 1e8;

impl RunPlan {
    fn flaw(&self) -> Option<String> {
        let pace_flaw = self.pacing.flaw();
        let (extent, extent_right) = match self.extent {
            Extent::Duration { seconds } => ("seconds", seconds > 0.0 && seconds <= SECONDS_MAX),
            Extent::Count { transactions } => ("transactions", i64::try_from(transactions).is_ok()),
        };
        [
            ("terminals", self.terminals >= 1),
            ("threads", self.threads.is_none_or(|threads| threads >= 1)),
            ("warmup_s", (0.0..=SECONDS_MAX).contains(&self.warmup_s)),
            (pace_flaw.unwrap_or_default(), pace_flaw.is_none()),
            (extent, extent_right),
        ]
        .into_iter()
        .find_map(|(name, right)| (!right).then(|| format!("{name} is out of range")))
        .or_else(|| self.early_flaw())
        .or_else(|| self.shape_flaw())
        .or_else(|| self.share_flaw())
    }

    fn early_flaw(&self) -> Option<String> {
        let recorded = matches!(self.pacing, Pacing::Recorded {});
        let fixed = self.share.is_some() || !self.stages.is_empty() || recorded || self.warmup_s.fract() != 0.0;
        (self.may_start_early && fixed).then(|| {
            "may_start_early goes with whole seconds of warm-up, and neither with stages nor with a share nor with \
             transactions that have times of their own"
                .to_string()
        })
    }
}

/// The lab's word, one line on standard input, in a warm-up that may end early.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasureFrom {
    /// Seconds from the start of the load; where that is past, or about to be, the next second that is not.
    pub second: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Pacing {
    /// The next transaction starts when the last has ended, after `think_ms`.
    Closed { think_ms: f64 },
    /// Arrivals on a schedule for all terminals together; latency counts from the scheduled start.
    Open { rate_per_s: f64, arrivals: Arrivals },
    /// Each transaction has its own time, which the workload knows; latency counts from there.
    Recorded {},
}

impl Pacing {
    /// The name of what is out of range.
    fn flaw(&self) -> Option<&'static str> {
        let (name, right) = match *self {
            Pacing::Closed { think_ms } => ("think_ms", (0.0..=SECONDS_MAX * 1e3).contains(&think_ms)),
            Pacing::Open { rate_per_s, .. } => ("rate_per_s", rate_per_s > 0.0 && rate_per_s.is_finite()),
            Pacing::Recorded {} => ("pacing", true),
        };
        (!right).then_some(name)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    Fixed,
    Poisson,
}

/// How long the measurement lasts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Extent {
    Duration {
        seconds: f64,
    },
    /// So many transactions over all terminals together.
    Count {
        transactions: u64,
    },
}

/// The commit path of a directory or a block device without an engine: steps that each write blocks and make them
/// durable in one way. Files that a step needs are made in the directory and stay there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbeJob {
    pub protocol: u32,
    /// Of what is written.
    pub seed: u64,
    pub target: ProbeTarget,
    /// Of each preallocated file; on a device, of each writer's part of it.
    pub overwrite_bytes: u64,
    /// That a step may append, over all its files.
    pub append_bytes: u64,
    /// Followed in this order.
    pub steps: Vec<ProbeStep>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ProbeTarget {
    /// An existing, empty directory.
    Directory { path: String },
    /// A block device, which is overwritten from its beginning.
    Device { path: String },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbeStep {
    pub method: FlushMethod,
    pub pattern: ProbePattern,
    pub block_bytes: u32,
    pub writers: u32,
    /// All writers on one file instead of each on its own.
    pub one_file: bool,
    /// A transaction is one block written and made durable, or read.
    pub extent: Extent,
}

/// How a block is made durable, or what comes short of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlushMethod {
    /// write(2) into the file cache, and nothing else: not durable.
    Plain,
    /// sync_file_range(2) after each write: written back from the file cache, and the drive is sent no flush. Not durable.
    SyncFileRange,
    /// O_DIRECT: past the file cache, and the drive is sent no flush. Not durable.
    Direct,
    Fsync,
    Fdatasync,
    /// O_DSYNC: each write returns when it is durable; see open(2).
    Dsync,
    DirectDsync,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProbePattern {
    /// Block after block of a file that has all its blocks, over and over, as most engines write their logs.
    Overwrite,
    /// A file that grows with each block. A step ends early when its file is full.
    Append,
    /// Blocks of a file that has all its blocks, drawn at random.
    OverwriteRandom,
    /// Block after block of such a file is read, over and over.
    Read,
    /// Blocks drawn at random are read.
    ReadRandom,
}

impl ProbePattern {
    pub fn reads(self) -> bool {
        matches!(self, ProbePattern::Read | ProbePattern::ReadRandom)
    }

    pub fn is_random(self) -> bool {
        matches!(self, ProbePattern::OverwriteRandom | ProbePattern::ReadRandom)
    }
}

impl ProbeJob {
    /// What in the job cannot be followed, though its form is right.
    pub fn flaw(&self) -> Option<String> {
        let on_device = matches!(self.target, ProbeTarget::Device { .. });
        self.steps.iter().find_map(|step| {
            let block = u64::from(step.block_bytes);
            let extent_right = match step.extent {
                Extent::Duration { seconds } => seconds > 0.0 && seconds <= SECONDS_MAX,
                Extent::Count { transactions } => i64::try_from(transactions).is_ok(),
            };
            [
                ("block_bytes", block >= 512 && block.is_power_of_two() && block <= 1 << 20),
                ("writers", (1..=1024).contains(&step.writers)),
                ("extent", extent_right),
                ("overwrite_bytes", self.overwrite_bytes >= block && self.overwrite_bytes.is_multiple_of(block)),
                ("append_bytes", self.append_bytes >= block * u64::from(step.writers)),
                ("pattern", !(on_device && step.pattern == ProbePattern::Append)),
                // A flush after a read means nothing.
                ("method", !step.pattern.reads() || matches!(step.method, FlushMethod::Plain | FlushMethod::Direct)),
            ]
            .into_iter()
            .find_map(|(name, right)| (!right).then(|| format!("{name} is out of range")))
        })
    }
}

/// How an engine's system calls are watched.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Observe {
    pub means: Means,
    /// Processes of the server, whose threads and children are watched too; empty: an engine embedded in the rig.
    pub processes: Vec<u32>,
    /// Where the database lies: paths below it are shown without it, and its device is the one that is watched.
    pub directory: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Means {
    /// Trace events of the kernel, in instances of tracefs that the rig makes and removes: this name for system calls, and
    /// this name with `-storage` behind it for what file system and block layer do.
    Kernel { instance: String },
    Strace {
        /// Full path of the program.
        program: String,
    },
}

/// A Firebird database whose pages are read from its file, without an engine and without writing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PagesJob {
    pub protocol: u32,
    pub path: String,
}

// ---------------------------------------------------------------------------------------------- rig -> lab

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// First line of every conversation, unless the database could not be opened: then the only line is `failed`.
    Hello {
        protocol: u32,
        rig_version: String,
        pid: u32,
        /// Version the engine itself reports (`sqlite_version()`, `ENGINE_VERSION`); of a probe the kernel's release.
        engine_version: String,
    },
    /// Answers to the inspections, in the order asked; sent once for the job's own session (`terminal` null)
    /// and once for each terminal whose answers differ from those.
    Settings {
        terminal: Option<u32>,
        values: Vec<Setting>,
    },
    /// About once a second while a phase runs. Of a run also when its measurement begins, which is the first with phase
    /// `run`, and when the duration asked for is over, which is the first with fraction 1.
    Progress {
        phase: PhaseName,
        /// Part of the phase done, 0 to 1; `null` when not known.
        fraction: Option<f64>,
        elapsed_s: f64,
        /// Transactions committed (run) or rows written (load) so far.
        done: u64,
        /// In the last second.
        rate_per_s: f64,
        /// The user's statement or table at work, by file and line; `null` where nothing of the user's is.
        at: Option<String>,
    },
    Loaded(Loaded),
    Checked(Checked),
    /// The sessions of a run phase with a share are open; a [`Go`] is waited for.
    Ready {},
    Result(Box<RunResult>),
    /// Right after the result of a run phase with a share.
    Shared(Box<Shared>),
    /// Right after the result of a run phase whose calls were watched.
    Observed(Box<Observed>),
    /// Right before the terminals of a run phase begin, whose job asks for what the engine counts: for what the engine itself
    /// logs of them.
    Begins {
        /// By which the engine tells their sessions, workers included; without those that it does not tell.
        numbers: Vec<i64>,
        /// Microseconds since 1970 by the system's clock.
        began_us: u64,
    },
    /// After the result of a run phase whose job asks for what the engine counts.
    Counted(Counted),
    /// After the result of a run phase whose job asks for samples.
    Sampled(Sampled),
    /// Right after the result of a run phase whose workload is an engine's maintenance: all that the job has done so far.
    Maintained(Maintained),
    /// Right after the result of a run phase whose workload replays a log.
    Replayed(Box<Replayed>),
    Probed(Box<Probed>),
    /// A step that this directory or device does not admit, such as O_DIRECT on a file system without it.
    Refused {
        step: u32,
        /// The system's own words.
        message: String,
    },
    Surveyed(Survey),
    /// One question's rows, as text.
    Answered {
        question: String,
        rows: Vec<Vec<Option<String>>>,
    },
    Pages(Box<Pages>),
    /// The job cannot go on. Nothing follows; the exit code is 1.
    Failed {
        /// What was being done, to what.
        doing: String,
        /// The engine's or the system's own words.
        message: String,
    },
    /// Every phase has ended.
    Done {},
}

/// What a replayed log came to, beside the transactions that it consists of. Of a transaction that was tried again its last
/// attempt counts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replayed {
    /// Of the log, that were opened.
    pub sessions: u64,
    pub sessions_refused: u64,
    /// That the engine was asked, beginnings and ends of transactions included.
    pub statements: u64,
    /// Behind an error that the log does not have, in the same transaction: they were not asked.
    pub left_out: u64,
    /// Statements that failed in the log and in the replay.
    pub errors_alike: u64,
    /// That failed in the replay alone.
    pub errors_new: u64,
    /// That failed in the log alone.
    pub errors_missing: u64,
    /// Statements of which the log tells how many rows they answered, and that did not fail.
    pub rows_compared: u64,
    pub rows_differ: u64,
    /// From a statement's time in the log to its answer; from when it was sent in a closed loop.
    pub latency: Histogram,
    /// From when it was sent to its answer.
    pub service: Histogram,
    /// What the log says that the same statements took, where it says so.
    pub logged: Histogram,
    /// The first that were found.
    pub differences: Vec<Difference>,
}

/// A statement that came to something else than in the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Difference {
    /// File and line of the log.
    pub place: String,
    /// Its beginning.
    pub statement: String,
    pub logged: String,
    pub replayed: String,
}

/// Operations of an administrator, and what they have changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Maintained {
    /// In the order in which they ended.
    pub operations: Vec<OperationDone>,
    /// Before the last one and after it, where it is to remove old versions; else `null`.
    pub before: Option<Garbage>,
    pub after: Option<Garbage>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OperationDone {
    /// Whole, the flush included.
    pub seconds: f64,
    /// Until what it has written was on the drive, from the engine's answer; `null` where that was not waited for.
    pub flush_s: Option<f64>,
    /// Of the database that it read or made.
    pub database_bytes: u64,
    /// Of the backup's file that it wrote or read; `null` where there is none.
    pub backup_bytes: Option<u64>,
    /// The most workers that were seen at once; `null` where one was asked for, or nothing shows them.
    pub workers: Option<u32>,
}

/// What old transactions have left in a database.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Garbage {
    /// Old versions of rows, in all tables.
    pub versions: u64,
    /// Number of the oldest transaction that is not known to be committed.
    pub oldest: i64,
    pub oldest_active: i64,
    pub oldest_snapshot: i64,
    pub next: i64,
}

/// What the pages of a Firebird database say; the words are those of gstat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pages {
    pub page_bytes: u32,
    pub ods_major: u16,
    pub ods_minor: u16,
    /// 0: taken from the configuration.
    pub page_buffers: u32,
    pub forced_writes: bool,
    /// Whether room is kept on each data page for versions of its records.
    pub reserves_space: bool,
    pub sql_dialect: u8,
    pub read_only: bool,
    /// Wholly or in part: no tables are listed then.
    pub encrypted: bool,
    pub is_shut_down: bool,
    /// nbackup has locked the file: what was changed since is in another one.
    pub backup_locked: bool,
    /// `null`: the engine's own.
    pub sweep_interval: Option<i32>,
    /// How often the header page was written.
    pub generation: u32,
    pub oldest: u64,
    pub oldest_active: u64,
    pub oldest_snapshot: u64,
    pub next: u64,
    /// Of the oldest transaction; `null` where no page tells it.
    pub oldest_state: Option<TransactionState>,
    /// Of the transactions from the oldest to the next, of which `states_of` were looked up.
    pub in_limbo: u64,
    pub rolled_back: u64,
    pub active: u64,
    pub states_of: u64,
    /// In the file.
    pub pages: u64,
    pub free_pages: u64,
    pub tables: Vec<PagesOfTable>,
    /// The first thing that is not as it must be; what it concerns is left out.
    pub damaged: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TransactionState {
    Active,
    InLimbo,
    RolledBack,
    Committed,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PagesOfTable {
    pub id: u16,
    pub name: String,
    pub pointer_pages: u64,
    pub slots: u64,
    pub data_pages: u64,
    pub primary_pages: u64,
    pub swept_pages: u64,
    pub empty_pages: u64,
    pub full_pages: u64,
    pub big_record_pages: u64,
    /// Of the data pages: records, versions, blobs that lie there, and the pages' directories.
    pub used_bytes: u64,
    /// With those that are deleted and that nobody has collected.
    pub records: u64,
    pub deleted: u64,
    /// As stored, without headers; so are those of versions and fragments.
    pub record_bytes: u64,
    pub versions: u64,
    pub version_bytes: u64,
    /// Of one record.
    pub versions_max: u64,
    pub fragments: u64,
    pub fragment_bytes: u64,
    pub fragments_max: u64,
    pub blobs: u64,
    pub blob_bytes: u64,
    pub blob_pages: u64,
    /// What blobs, or the lists of their pages, take of the data pages.
    pub blob_room_bytes: u64,
    pub indexes: Vec<PagesOfIndex>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PagesOfIndex {
    pub id: u16,
    pub name: String,
    pub is_unique: bool,
    /// Levels, the leaves counted too; 0: it has no pages.
    pub depth: u32,
    pub leaf_buckets: u64,
    pub nodes: u64,
    /// As stored, with what stands before each.
    pub node_bytes: u64,
    /// What keys share with the one before them, and what is stored of them.
    pub prefix_bytes: u64,
    pub data_bytes: u64,
    pub duplicates: u64,
    pub duplicates_max: u64,
    /// How often the record's page changes along the index.
    pub clustering: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseName {
    Load,
    Check,
    Warmup,
    Run,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    pub name: String,
    /// As text; `null` when the engine answered NULL or no row.
    pub value: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Loaded {
    pub rows: u64,
    /// Of the rows' values as they were handed to the engine.
    pub bytes: u64,
    pub seconds: f64,
    /// Sessions that filled the tables side by side.
    pub sessions: u32,
    pub series: Vec<LoadSecond>,
}

/// One second of a load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadSecond {
    /// Start, in seconds from the start of the load.
    pub at_s: f64,
    /// Length; 1 but for the last.
    pub length_s: f64,
    pub rows: u64,
    pub bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checked {
    pub conditions: Vec<Condition>,
    pub seconds: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// Stable name, e.g. `branch_sum_equals_teller_sum`.
    pub name: String,
    pub holds: bool,
    /// The figures compared.
    pub detail: String,
}

/// What a database holds of numbered transactions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Survey {
    pub terminals: Vec<SurveyedTerminal>,
    /// Rows that belong to no transaction that there can be.
    pub strays: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SurveyedTerminal {
    pub terminal: u64,
    /// The number that the terminal's last transaction set; `null` when the row is missing.
    pub counter: Option<i64>,
    /// Numbers of which every row is there and right: first and last of each range, ascending.
    pub whole: Vec<(u64, u64)>,
    /// Numbers of which some row is there, but not every one, or not as it was written.
    pub torn: Vec<Torn>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Torn {
    pub number: u64,
    pub right: u64,
    pub wrong: u64,
    pub expected: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunResult {
    pub terminals: u32,
    /// Threads that drove them.
    pub threads: u32,
    /// Wall time of the warm-up and of the measurement. A run by count ends when the last of its transactions has.
    pub warmup_s: f64,
    pub measured_s: f64,
    /// Transactions that ended inside the measurement.
    pub counts: Counts,
    /// `null` under closed loop.
    pub arrivals: Option<ArrivalCounts>,
    /// Finished attempts (committed, rolled back, conflicts, errors) a second.
    pub throughput_per_s: f64,
    /// Committed transactions a second.
    pub goodput_per_s: f64,
    /// Of committed transactions, retries included: from the scheduled start (open loop) or the first statement
    /// (closed loop) to the acknowledged commit; of queued ones from the time they were queued.
    pub latency: Histogram,
    /// Of committed transactions, from the actual start. Equals `latency` under closed loop, but for what was queued.
    pub service: Histogram,
    /// Kinds of transactions; empty for a workload that has one.
    pub kinds: Vec<Kind>,
    pub series: Vec<Second>,
    pub cpu: Cpu,
    /// The first message of each error class seen.
    pub error_samples: Vec<ErrorSample>,
    /// In the plan's order; empty where terminals are alike. Workers belong to none.
    pub classes: Vec<ClassResult>,
    /// In their order; empty without stages.
    pub stages: Vec<StageResult>,
    pub sleepers: Option<IdleSessionsSeen>,
    /// `null` where terminals keep their sessions.
    pub connections: Option<Connections>,
}

/// One kind of transaction, e.g. TPC-C-like new-order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kind {
    /// Stable name, e.g. `new_order`.
    pub name: String,
    pub committed: u64,
    pub rolled_back: u64,
    pub conflicts: u64,
    pub given_up: u64,
    pub errors: u64,
    /// Of committed transactions, as in [`RunResult::latency`]; of queued ones from the time they were queued.
    pub latency: Histogram,
    /// Nine of ten must be answered in this time; `null` when the workload sets no limit.
    pub limit_ms: Option<f64>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counts {
    pub committed: u64,
    /// Rollbacks that the workload itself asked for.
    pub rolled_back: u64,
    /// Attempts the engine refused for another transaction's sake (busy, deadlock, update conflict).
    pub conflicts: u64,
    /// Attempts made again after a conflict.
    pub retries: u64,
    /// Transactions abandoned after the last retry.
    pub given_up: u64,
    /// Attempts that failed for any other reason.
    pub errors: u64,
    pub classes: Vec<ClassCount>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassCount {
    /// e.g. `busy`, `deadlock`, `update_conflict`, `row_missed`, `lock_timeout`, `connect`, `connection`, `other`.
    pub class: String,
    pub count: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorSample {
    pub class: String,
    pub message: String,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArrivalCounts {
    /// Arrivals whose scheduled time lay inside the measurement.
    pub scheduled: u64,
    /// Of those, started more than a millisecond after their time because every terminal was busy.
    pub late: u64,
    /// Of those, not finished when the measurement ended; each had waited at least `unfinished_wait_ms_max` or less.
    pub unfinished: u64,
    /// Longest time an unfinished arrival had waited when the measurement ended.
    pub unfinished_wait_ms_max: f64,
    /// How long after its time each began that a free terminal had waited for: the generator's own lateness.
    pub lateness: Histogram,
}

/// HDR histogram, three significant figures, no upper clamp. Values are nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Histogram {
    pub count: u64,
    pub min_ns: u64,
    pub max_ns: u64,
    pub mean_ns: f64,
    /// `[value, count]`, ascending; `value` is the highest that the bucket holds; buckets without a count are left out.
    pub buckets: Vec<(u64, u64)>,
}

/// One second of the series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Second {
    /// Start, in seconds from the start of the measurement; negative during warm-up.
    pub at_s: f64,
    /// Length; 1 but for the last.
    pub length_s: f64,
    pub committed: u64,
    pub conflicts: u64,
    pub errors: u64,
    pub latency_ns_p50: u64,
    pub latency_ns_p99: u64,
    pub latency_ns_max: u64,
}

/// Where the rig's processor time went during the measurement. An embedded engine runs inside the rig, so the
/// process's time is both; the generator's own part is sampled with the thread clock around each session call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cpu {
    /// Of the whole process, engine threads included.
    pub process_user_s: f64,
    pub process_system_s: f64,
    /// Transactions on which the thread clock was read.
    pub sampled_transactions: u64,
    /// Terminal thread, outside session calls, per transaction.
    pub generator_us_per_transaction: f64,
    /// Terminal thread, inside session calls (driver, and the engine if embedded), per transaction.
    pub session_us_per_transaction: f64,
    /// Cost of reading the clock, already taken off the two above.
    pub clock_read_ns: f64,
}

/// What the engine itself counted from shortly before a measurement to its end.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counted {
    /// Why there are no figures, in the engine's own words where it gave some; `counters` is empty then.
    pub not_counted: Option<String>,
    /// When the first reading was done, from the start of the measurement; negative: in the warm-up.
    pub from_s: f64,
    /// What each of the two readings took.
    pub first_reading_s: f64,
    pub last_reading_s: f64,
    /// Committed between the readings.
    pub committed: u64,
    /// Of those, as many may have been counted by the engine in part or not at all: they were under way at the first reading,
    /// or ended during it. 0 without a warm-up.
    pub uncertain: u64,
    pub counters: Vec<CountedBy>,
}

/// What one counter rose by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountedBy {
    pub name: String,
    /// On the sessions of the terminals, all together; `null` where the engine does not tell it.
    pub sessions: Option<u64>,
    /// In the whole database, the session that asked left out: also by the engine itself, and by others.
    pub database: Option<u64>,
}

/// Where the engine stood during a measurement, about once a second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sampled {
    /// Why there are no samples, or none after the last of them, in the engine's own words where it gave some.
    pub not_sampled: Option<String>,
    pub samples: Vec<Sample>,
}

/// One time that the engine was asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    /// When it was asked, from the start of the measurement.
    pub at_s: f64,
    /// Until all answers were there.
    pub took_s: f64,
    /// In the order of the names asked for; `null`: the engine did not tell it.
    pub values: Vec<Option<i64>>,
}

/// What one step of a probe measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Probed {
    /// Position in the job, from 0.
    pub step: u32,
    pub writes: u64,
    /// From the first writer's first write to the end of the last writer's last.
    pub measured_s: f64,
    pub writes_per_s: f64,
    /// Of one block, from the write to the return of whatever makes it durable.
    pub latency: Histogram,
    /// Of the flush alone; empty where the write itself is the flush, or there is none.
    pub flush: Histogram,
}

// ------------------------------------------------------------------------------- lab <-> the simulated disk

/// First line on the standard input of `acidtest-rig disk`; a [`DiskCommand`] a line follows. Each line, this one
/// included, is answered by one [`DiskAnswer`] a line. The end of standard input ends the disk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiskSpec {
    pub protocol: u32,
    /// An existing directory: a file system with one file is mounted on it, and the file is the disk.
    pub mount_point: String,
    /// File that holds what survives; `null`: memory.
    pub medium: Option<String>,
    /// A multiple of 4,096. A medium that is shorter is lengthened.
    pub size_bytes: u64,
    /// 512 or 4,096: what is written whole or not at all when power fails.
    pub sector_bytes: u32,
    /// Of the volatile write cache; 0: it is off, a write is answered when it is on the medium.
    pub cache_bytes: u64,
    /// Of the controller that has the write cache, where there is one.
    pub battery: DiskBattery,
    pub timing: DiskTiming,
    /// Of what the disk itself leaves to chance.
    pub seed: u64,
    /// Expressions, in force from the start; see [`DiskCommand::Fault`].
    pub faults: Vec<String>,
    /// File to be made, which gets every write and flush in the order in which the disk took them.
    pub log: Option<String>,
    /// Where nothing comes it sleeps at once, which leaves the processors to others beside it; otherwise it looks for the
    /// next request for a while, which makes it quicker.
    pub patient: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiskTiming {
    pub name: DiskTimingName,
    /// Of the model, by name, where they differ from its own (`rpm`, `seek_average_ms`, `queue_depth`).
    pub parameters: BTreeMap<String, f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiskTimingName {
    /// As fast as this machine can.
    None,
    Rotating,
    SataSsd,
    Nvme,
}

/// The write cache of a controller with a battery is taken for durable: a flush is answered at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiskBattery {
    /// There is none: the cache is the drive's own, and a flush empties it.
    None,
    /// The cache outlives a power cut.
    Good,
    /// The controller does not know, or was set to ignore it: what its cache holds is lost when power fails.
    Dead,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case", deny_unknown_fields)]
pub enum DiskCommand {
    /// Answered by `stats`.
    Stats {},
    /// A fault from now on, counted from now: `eio on flush 1` is the next flush. Answered by `done`.
    Fault { fault: String },
    /// This block device lies on the disk's file. `ignore-write-through` needs to know it, for otherwise the end of a write
    /// with FUA is taken for a flush. Answered by `done`.
    Under { major: u32, minor: u32 },
    /// No fault from now on, and a disk that had stopped goes on. Answered by `done`.
    Mend {},
    /// Power fails: what survives is settled at once, and the disk becomes a ghost: it answers, so that nothing hangs,
    /// and forgets it all at `revive`. Timing and faults are over, a disk that had stopped answers. Answered by `cut`.
    Cut { keep: CutKeeps, seed: u64, flushes: GhostFlushes },
    /// What survived the cut is the disk again; nobody may have the file open. Its faults are gone. Answered by `done`.
    Revive {},
    /// Keep the disk as it is now for `load`; what its cache holds counts as written. Costs the disk's size in memory the
    /// first time, and then only what has changed since. Answered by `done`.
    Snapshot {},
    /// The snapshot is the disk again, with writes of a log on it; nobody may have the file open. Answered by `done`.
    Load { state: Option<DiskState> },
    /// Write the disk's blocks into a new file, as a log of writes that `load` can take: those that differ from the
    /// snapshot, or with `whole` all that are not zero. Answered by `done`.
    Save { file: String, whole: bool },
    /// Let go of everything and exit. Answered by `done`.
    End {},
}

/// What of the cache's content a power cut leaves on the medium. All but `all` are legal for an honest disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CutKeeps {
    None,
    /// All writes up to one drawn at random, and some sectors of that.
    Torn,
    /// Blocks of 4 KiB drawn at random, in no order.
    Reordered,
    /// Everything: a disk that loses nothing, to see whether a test would notice.
    All,
}

/// How flushes end after a cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GhostFlushes {
    Succeed,
    /// With EIO: nobody can take a write after the cut for durable.
    Fail,
}

/// A state built from a log: on the snapshot, its records from number `from` up to but not including `to`, in order,
/// but for those left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiskState {
    pub log: String,
    pub from: u64,
    pub to: u64,
    /// Numbers of writes that never reached the medium, the first record of the log being 0.
    pub without: Vec<u64>,
    /// Writes of which only some sectors did.
    pub torn: Vec<TornWrite>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TornWrite {
    pub record: u64,
    /// Of the write's own sectors, in the disk's `sector_bytes`, the first being 0.
    pub sectors: Vec<u32>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case", deny_unknown_fields)]
pub enum DiskAnswer {
    /// To the specification: the disk is there.
    Ready {
        protocol: u32,
        pid: u32,
        /// To be opened with direct I/O, or to have a loop device over it that does direct I/O.
        file: String,
        /// In `/sys/fs/fuse/connections`.
        connection: u64,
        /// Whether the kernel's requests come over io_uring, or else through `/dev/fuse`.
        over_io_uring: bool,
        /// Why the disk's memory could not be locked: under memory pressure it may hang; `null` where it is.
        unlocked: Option<String>,
    },
    Stats(Box<DiskStats>),
    Cut(DiskCut),
    Done {},
    /// The command could not be followed, and nothing has changed. To a specification it is the last answer.
    Failed {
        message: String,
    },
}

/// Since the disk is there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiskStats {
    pub reads: DiskCount,
    pub writes: DiskCount,
    pub flushes: DiskCount,
    /// Flushes that were answered and did nothing.
    pub lied_flushes: u64,
    /// Writes with FUA that were answered from the cache and stayed there; several at once are one.
    pub ignored_write_throughs: u64,
    /// Requests that ended with EIO, by a fault or after a cut.
    pub failed: u64,
    /// In the write cache and not yet on the medium: now, and at most so far.
    pub dirty_bytes: u64,
    pub dirty_bytes_max: u64,
    pub power: DiskPower,
    pub faults: Vec<FaultCount>,
    /// In the log's file by now.
    pub log_records: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiskPower {
    On,
    /// By a fault: it answers nothing until it is repaired, cut or given up.
    Stopped,
    /// It had stopped for too long: everything fails until it is repaired or cut.
    GivenUp,
    /// By a fault: everything fails with ENODEV until it is repaired or cut.
    Vanished,
    /// Cut and not yet revived.
    Ghost,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiskCount {
    pub count: u64,
    pub bytes: u64,
    /// From its arrival to its answer, those of a ghost left out.
    pub took: Histogram,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultCount {
    /// As it prints.
    pub fault: String,
    /// Requests that it struck.
    pub struck: u64,
}

/// What a cut did with what the cache held.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiskCut {
    pub kept_bytes: u64,
    pub lost_bytes: u64,
    /// Writes of which one part survived and another did not.
    pub torn_writes: u64,
}

/// The system calls of an engine during one run phase, warm-up included.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Observed {
    /// `kernel` or `strace`
    pub means: String,
    pub tied_by: Tie,
    pub seconds: f64,
    /// Calls seen, of those that are watched.
    pub calls: u64,
    /// Events that the kernel had no room for. Above zero, every count here is a lower bound.
    pub dropped: u64,
    pub commits: u64,
    /// Files that were open or touched, the busiest first. `*` means calls whose file the kernel does not show, `?` for
    /// files open so shortly that their names could not be asked for.
    pub files: Vec<ObservedFile>,
    /// What file system and block layer did, for whomever; empty where their events are not to be had.
    pub storage: Vec<StorageCount>,
    /// `null` where calls cannot be tied to single transactions, or none was committed.
    pub per_commit: Option<PerCommit>,
    pub typical: Option<TypicalCommit>,
}

/// How a call finds its transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tie {
    /// An embedded engine: it is the thread that the terminal runs in.
    Thread,
    /// A server with one terminal: it began while the transaction was under way.
    Time,
    /// A server with several terminals: as `time`, but several transactions may have been under way.
    SharedTime,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObservedFile {
    pub path: String,
    /// Each way in which it was open: `O_RDWR|O_DSYNC`.
    pub flags: Vec<String>,
    pub calls: Vec<CallCount>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallCount {
    /// The kernel's name of it.
    pub call: String,
    /// What makes it durable or leads it past the file cache: `O_DSYNC`, `O_DIRECT`, `RWF_DSYNC`, `O_SYNC|O_DIRECT`; or empty.
    pub how: String,
    pub count: u64,
    /// Of those, refused.
    pub errors: u64,
    pub bytes: u64,
    pub total_us: f64,
    pub max_us: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StorageCount {
    pub layer: ObservedLayer,
    /// `write, FUA`, `flush`, `jbd2 commit`
    pub what: String,
    pub count: u64,
    pub bytes: u64,
    pub total_us: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ObservedLayer {
    Call,
    FileSystem,
    Block,
    /// The simulated disk itself: no event of ours, but the lab puts its log beside them.
    Device,
}

/// What one commit asks for, over those whose every call was kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PerCommit {
    pub commits: u64,
    /// Of those, with as many writes and flushes as the typical one.
    pub alike: u64,
    pub writes: Spread,
    /// Of the writes.
    pub bytes: Spread,
    /// Flush calls, and writes that are durable when they return (`O_DSYNC` and its kind).
    pub flushes: Spread,
    /// Time spent in those.
    pub flush_us: Spread,
    /// From the first statement to the acknowledgement.
    pub whole_us: Spread,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spread {
    pub min: u64,
    pub median: u64,
    pub max: u64,
    pub mean: f64,
}

/// One commit like most of them, line by line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TypicalCommit {
    /// CLOCK_MONOTONIC when it began: what else was logged on that clock can be put beside it.
    pub begin_ns: u64,
    pub lasted_us: f64,
    /// When the commit was asked for; `null` where the transaction's own statement commits.
    pub commit_at_us: Option<f64>,
    pub terminal: u32,
    /// Commits with as many writes and flushes.
    pub alike: u64,
    pub lines: Vec<ObservedLine>,
    /// Lines beyond the last.
    pub left_out: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObservedLine {
    /// From the beginning of the transaction.
    pub at_us: f64,
    /// `null` where only the moment is known.
    pub lasted_us: Option<f64>,
    pub layer: ObservedLayer,
    /// Name and number of the thread; in the layers beneath whichever happened to run.
    pub who: String,
    /// Whether that is the thread of the transaction itself.
    pub own: bool,
    pub what: String,
    pub how: String,
    pub path: Option<String>,
    /// In the file; of the block layer on the device.
    pub offset: Option<u64>,
    pub bytes: Option<u64>,
    pub error: Option<String>,
}
