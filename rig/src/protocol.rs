//! The JSON both halves speak. The lab writes one [`Job`] to the rig's standard input; the rig answers with
//! one [`Event`] a line on standard output and exits.
//!
//! This file is the specification; `src/acidtest/journal/protocol.py` is its twin. `acidtest-rig protocol`
//! prints one sample of every type with every field filled, and a test of the lab reads them back field by field.
//!
//! Units stand at the end of a name. Times inside a histogram are nanoseconds; CPU times are microseconds.

use serde::{Deserialize, Serialize};

/// Raised when a field changes meaning; both sides refuse another number.
pub const PROTOCOL: u32 = 1;

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
}

impl Job {
    /// What in the job cannot be followed, though its form is right.
    pub fn flaw(&self) -> Option<String> {
        let (what, size) = match self.workload {
            Workload::Commits { .. } => ("row_bytes", 1),
            Workload::Tpcb { scale } => ("scale", scale),
            Workload::Tpcc { warehouses, .. } => ("warehouses", warehouses),
            Workload::Orders { products, orders_per_call, .. } => {
                ("products and orders_per_call", products.min(orders_per_call))
            }
            Workload::Iud { rows } => ("rows", rows),
            Workload::Scan { size_mb, .. } => ("size_mb", size_mb),
            Workload::Oltp { tables, table_rows } => ("tables and table_rows", tables.min(table_rows)),
        };
        if size == 0 {
            return Some(format!("{what} must be at least 1"));
        }
        self.phases.iter().find_map(|phase| match phase {
            Phase::Run(plan) => plan.flaw(),
            Phase::Load { sessions: 0, .. } => Some("sessions is out of range".to_string()),
            Phase::Load { .. } | Phase::Check {} => None,
        })
    }
}

/// The database to open a session to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "engine", rename_all = "snake_case", deny_unknown_fields)]
pub enum Target {
    Sqlite {
        /// Database file; created by the load phase when absent.
        path: String,
        /// Statements run on every new session, before anything else (`PRAGMA ...`).
        setup: Vec<String>,
        /// How long a session waits for another's lock before the attempt counts as a conflict.
        busy_timeout_ms: u32,
    },
    Firebird {
        /// Full path of the client library to load (`libfbclient.so.2`); the embedded engine comes with it.
        library: String,
        /// Path (embedded) or path on the server (remote) of an existing database.
        database: String,
        user: String,
        /// `null` for an embedded engine.
        remote: Option<FirebirdRemote>,
        isolation: FirebirdIsolation,
        lock_resolution: FirebirdLockResolution,
        /// Seconds a `wait` transaction waits; `null` waits until the engine breaks a deadlock.
        lock_timeout_s: Option<u32>,
    },
    Postgres {
        /// A name or an address, or the directory that holds the server's Unix socket.
        host: String,
        port: u16,
        user: String,
        password: Option<String>,
        /// An existing database.
        database: String,
        /// Statements run on every new session, before anything else (`SET ...`).
        setup: Vec<String>,
        /// Statements that need not wait for each other's answers are sent together. Never for a comparison of engines.
        pipeline: bool,
    },
    /// MySQL and MariaDB.
    Mysql {
        /// A name or an address, or the path of the server's Unix socket; `port` is not used then.
        host: String,
        port: u16,
        user: String,
        password: Option<String>,
        /// An existing database.
        database: String,
        /// Statements run on every new session, before anything else (`SET ...`).
        setup: Vec<String>,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FirebirdRemote {
    pub host: String,
    pub port: u16,
    pub password: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FirebirdIsolation {
    /// Read committed, record version. Firebird 4 and later turn it into read consistency
    /// when `ReadConsistency = 1` is in force.
    ReadCommitted,
    /// Firebird's `SNAPSHOT` (concurrency).
    Snapshot,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FirebirdLockResolution {
    Wait,
    NoWait,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "snake_case", deny_unknown_fields)]
pub enum Workload {
    /// One table, one insert and one commit a transaction (the study of InnoDB's commit cost).
    Commits {
        /// Bytes of text in each inserted row.
        row_bytes: u32,
    },
    /// TPC-B-like: `scale` branches, 10 tellers and 100,000 accounts a branch.
    Tpcb { scale: u32 },
    /// TPC-C-like, after revision 5.11.
    Tpcc {
        warehouses: u32,
        /// Each transaction is one call of a stored procedure instead of its statements one by one.
        procedures: bool,
        /// Keying and think times of clauses 5.2.5.2 and 5.2.5.4.
        keying: bool,
    },
    /// A procedure that writes orders of 1 to 6 lines with random products, and a trigger that updates the inventory.
    Orders {
        products: u32,
        /// Orders written by one call, which is one transaction.
        orders_per_call: u32,
        /// The products of each call follow from its number, so that every engine is asked for the same ones.
        repeatable: bool,
    },
    /// Insert `rows` rows, select all, update all, delete all: four transactions, over and over.
    Iud { rows: u32 },
    /// A table read whole, over and over.
    Scan {
        /// The table's values, in 10^6 bytes.
        size_mb: u32,
        read: Read,
    },
    /// The statements of sysbench's `oltp_read_write`.
    Oltp { tables: u32, table_rows: u32 },
}

/// In which way a table is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Read {
    /// As it lies there.
    Natural,
    /// By a column without an index: the engine sorts all rows.
    Sorted,
    /// In the order of a secondary index, which has no relation to that of the table.
    Indexed,
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

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case", deny_unknown_fields)]
pub enum Phase {
    /// Create the schema and fill it. The target must hold no table of the workload.
    Load {
        /// How many sessions fill it side by side, at least 1; an engine with one writer uses one. The rows are the
        /// same whatever their number.
        sessions: u32,
        /// Each row by a prepared insert of its own, instead of the engine's fastest way: what that gains, for comparison.
        one_by_one: bool,
    },
    /// The workload's consistency conditions.
    Check {},
    /// Drive load.
    Run(RunPlan),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunPlan {
    /// Concurrent terminals, each with a session of its own; at least 1.
    pub terminals: u32,
    /// Threads that drive the terminals of a server; `null` leaves it to the rig. An embedded engine works inside the
    /// calling thread, and each terminal has one.
    pub threads: Option<u32>,
    pub pacing: Pacing,
    /// Seconds of load before the measurement starts.
    pub warmup_s: f64,
    pub extent: Extent,
    /// How often a transaction refused with a conflict is tried again before it is given up.
    pub retries: u32,
}

/// The longest time that a job may name, about three years.
const SECONDS_MAX: f64 = 1e8;

impl RunPlan {
    fn flaw(&self) -> Option<String> {
        let (pace, pace_right) = match self.pacing {
            Pacing::Closed { think_ms } => ("think_ms", (0.0..=SECONDS_MAX * 1e3).contains(&think_ms)),
            Pacing::Open { rate_per_s, .. } => ("rate_per_s", rate_per_s > 0.0 && rate_per_s.is_finite()),
        };
        let (extent, extent_right) = match self.extent {
            Extent::Duration { seconds } => ("seconds", seconds > 0.0 && seconds <= SECONDS_MAX),
            Extent::Count { transactions } => ("transactions", i64::try_from(transactions).is_ok()),
        };
        [
            ("terminals", self.terminals >= 1),
            ("threads", self.threads.is_none_or(|threads| threads >= 1)),
            ("warmup_s", (0.0..=SECONDS_MAX).contains(&self.warmup_s)),
            (pace, pace_right),
            (extent, extent_right),
        ]
        .into_iter()
        .find_map(|(name, right)| (!right).then(|| format!("{name} is out of range")))
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Pacing {
    /// The next transaction starts when the last has ended, after `think_ms`.
    Closed { think_ms: f64 },
    /// Arrivals on a schedule for all terminals together; latency counts from the scheduled start.
    Open { rate_per_s: f64, arrivals: Arrivals },
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

// ---------------------------------------------------------------------------------------------- rig -> lab

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// First line of every conversation, unless the database could not be opened: then the only line is `failed`.
    Hello {
        protocol: u32,
        rig_version: String,
        pid: u32,
        /// Version the engine itself reports (`sqlite_version()`, `ENGINE_VERSION`).
        engine_version: String,
    },
    /// Answers to the inspections, in the order asked; sent once for the job's own session (`terminal` null)
    /// and once for each terminal whose answers differ from those.
    Settings {
        terminal: Option<u32>,
        values: Vec<Setting>,
    },
    /// About once a second while a phase runs.
    Progress {
        phase: PhaseName,
        /// Part of the phase done, 0 to 1; `null` when not known.
        fraction: Option<f64>,
        elapsed_s: f64,
        /// Transactions committed (run) or rows written (load) so far.
        done: u64,
        /// In the last second.
        rate_per_s: f64,
    },
    Loaded(Loaded),
    Checked(Checked),
    Result(Box<RunResult>),
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
    /// Conflicts and errors by class.
    pub classes: Vec<ClassCount>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassCount {
    /// e.g. `busy`, `deadlock`, `update_conflict`, `row_missed`, `lock_timeout`, `connection`, `other`.
    pub class: String,
    pub count: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorSample {
    pub class: String,
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
}

/// HDR histogram, three significant figures, no upper clamp. Values are nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
