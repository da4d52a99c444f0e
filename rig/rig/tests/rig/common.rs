//! Starts the real rig, gives it a job as the lab does, and keeps what it answered. Jobs are plain JSON, so that a name
//! changed in the protocol shows; events are read with the protocol's own types, which refuse a field they do not know.

use protocol::{Checked, Event, Kind, PhaseName, RunResult, Setting, PROTOCOL};
use rusqlite::Connection;
use serde_json::{json, Value};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, Output, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;
use tempfile::TempDir;

pub const RIG: &str = env!("CARGO_BIN_EXE_acidtest-rig");

// ------------------------------------------------------------------------------------------------------ places

/// A directory with a database that goes away with it.
pub struct Place {
    directory: TempDir,
}

impl Place {
    pub fn new() -> Place {
        Place { directory: tempfile::tempdir().expect("a temporary directory") }
    }

    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub fn database(&self) -> PathBuf {
        self.directory().join("x.db")
    }

    pub fn open(&self) -> Connection {
        Connection::open(self.database()).expect("the database opens")
    }

    pub fn change(&self, sql: &str) {
        self.open().execute_batch(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    pub fn number(&self, sql: &str) -> i64 {
        self.open().query_row(sql, [], |row| row.get(0)).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    pub fn rows(&self, table: &str) -> u64 {
        self.number(&format!("select count(*) from {table}")) as u64
    }

    pub fn copy(&self) -> Place {
        let other = Place::new();
        std::fs::copy(self.database(), other.database()).expect("the database is copied");
        other
    }

    /// A job on this place's database. Its commits wait for no disk, and its sessions wait long for each other.
    pub fn job(&self, workload: Value, phases: Vec<Value>) -> Value {
        json!({
            "protocol": PROTOCOL,
            "seed": 42,
            "target": {
                "engine": "sqlite",
                "path": self.database(),
                "setup": ["pragma synchronous = off"],
                "busy_timeout_ms": 60_000,
            },
            "workload": workload,
            "inspect": [],
            "phases": phases,
        })
    }
}

pub fn commits() -> Value {
    json!({"name": "commits", "row_bytes": 100})
}

pub fn tpcb(scale: u32) -> Value {
    json!({"name": "tpcb", "scale": scale})
}

pub fn orders(products: u32, orders_per_call: u32) -> Value {
    json!({"name": "orders", "products": products, "orders_per_call": orders_per_call, "repeatable": true,
           "lines": 6})
}

pub fn oltp(tables: u32, table_rows: u32) -> Value {
    json!({"name": "oltp", "tables": tables, "table_rows": table_rows})
}

pub fn iud(rows: u32) -> Value {
    json!({"name": "iud", "rows": rows, "commit": "all"})
}

pub fn scan(size_mb: u32, read: &str) -> Value {
    json!({"name": "scan", "size_mb": size_mb, "read": read})
}

pub fn load() -> Value {
    json!({"phase": "load", "sessions": 1, "one_by_one": false, "from_units": 0})
}

pub fn check() -> Value {
    json!({"phase": "check"})
}

/// A run in a closed loop without think time and warm-up; other plans change some of it.
pub fn run(terminals: u32, extent: Value) -> Value {
    json!({
        "phase": "run",
        "terminals": terminals,
        "pacing": {"kind": "closed", "think_ms": 0.0},
        "warmup_s": 0.0,
        "extent": extent,
        "retries": 3,
    })
}

pub fn count(transactions: u64) -> Value {
    json!({"kind": "count", "transactions": transactions})
}

pub fn lasting(seconds: f64) -> Value {
    json!({"kind": "duration", "seconds": seconds})
}

pub fn open_loop(rate_per_s: f64) -> Value {
    json!({"kind": "open", "rate_per_s": rate_per_s, "arrivals": "fixed"})
}

/// `plan` with some of its fields changed.
pub fn with<const N: usize>(mut plan: Value, fields: [(&str, Value); N]) -> Value {
    for (name, value) in fields {
        assert!(plan.get(name).is_some(), "a plan has no field {name}");
        plan[name] = value;
    }
    plan
}

// ------------------------------------------------------------------------------------------------------ the rig

pub fn rig(arguments: &[&str], input: &[u8]) -> Output {
    let (mut child, _watch) = start(arguments);
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(input).expect("the rig reads its input");
    drop(stdin);
    let output = child.wait_with_output().expect("the rig ends");
    assert_calm(&String::from_utf8_lossy(&output.stderr));
    output
}

/// Runs the rig over `job` to its end.
pub fn perform(job: &Value) -> Ended {
    Conversation::start(job).end()
}

/// As [`perform`], of a job that must go well.
pub fn succeed(job: &Value) -> Ended {
    let ended = perform(job);
    assert_eq!(ended.code, Some(0), "{:?}\n{}", ended.events.last(), ended.stderr);
    ended
}

/// The rig refuses `job` before it does anything, with these words among others.
pub fn assert_refused(job: &Value, words: &str) {
    let refused = rig(&["job"], job.to_string().as_bytes());
    assert_eq!(refused.status.code(), Some(2));
    let message = String::from_utf8_lossy(&refused.stderr);
    assert!(message.contains(words), "{message}");
}

/// A check in a process of its own finds each tampering with a copy of `place`: it names these conditions, in any order, and
/// `also`, which compares with commits that this process counted.
pub fn assert_each_is_found(place: &Place, workload: &Value, also: &str, tampered: &[(&str, &str)]) {
    for (tampering, broken) in tampered {
        let other = place.copy();
        other.change(tampering);
        let ended = succeed(&other.job(workload.clone(), vec![check()]));
        let mut expected: Vec<&str> = broken.split_whitespace().chain(also.split_whitespace()).collect();
        expected.sort_unstable();
        assert_eq!(ended.broken(), expected, "after: {tampering}");
    }
}

/// Starts a rig; one that is still there after five minutes is killed, so that a hang is a failure.
pub fn start(arguments: &[&str]) -> (Child, Watch) {
    let mut command = Command::new(RIG);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("the rig starts");
    let pid = child.id() as libc::pid_t;
    let (ended, waiting) = mpsc::channel::<()>();
    std::thread::spawn(move || {
        if waiting.recv_timeout(Duration::from_secs(300)) == Err(RecvTimeoutError::Timeout) {
            // SAFETY: a plain call. The watch ends right after the child was waited for: the number is still the child's.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
    });
    (child, Watch { _ended: ended })
}

/// To be kept until the rig has ended.
pub struct Watch {
    _ended: Sender<()>,
}

pub fn assert_calm(stderr: &str) {
    assert!(!stderr.contains("panicked"), "{stderr}");
}

pub struct Conversation {
    child: Child,
    _watch: Watch,
    stdout: BufReader<ChildStdout>,
    stderr: ChildStderr,
    events: Vec<Event>,
}

impl Conversation {
    pub fn start(job: &Value) -> Conversation {
        let (mut child, _watch) = start(&["job"]);
        let mut stdin = child.stdin.take().expect("piped");
        stdin.write_all(job.to_string().as_bytes()).expect("the rig reads its job");
        drop(stdin);
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        let stderr = child.stderr.take().expect("piped");
        Conversation { child, _watch, stdout, stderr, events: Vec::new() }
    }

    /// Waits for the next event; false when there is none any more.
    fn hear(&mut self) -> bool {
        let mut line = String::new();
        if self.stdout.read_line(&mut line).expect("events are text") == 0 {
            return false;
        }
        assert!(line.ends_with('\n'), "a line is whole: {line}");
        self.events.push(serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line} is no event: {error}")));
        true
    }

    /// Waits until an event of this kind has come.
    pub fn await_event(&mut self, wanted: impl Fn(&Event) -> bool) {
        while self.hear() {
            if wanted(self.events.last().expect("just heard")) {
                return;
            }
        }
        panic!("the rig ended before: {:?}", self.events.last());
    }

    /// Waits for the end, and holds the conversation as a whole against the protocol.
    pub fn end(mut self) -> Ended {
        while self.hear() {}
        let code = self.child.wait().expect("the rig ends").code();
        let mut stderr = String::new();
        self.stderr.read_to_string(&mut stderr).expect("words");
        assert_calm(&stderr);
        let Conversation { events, .. } = self;
        let last = events.last();
        match code {
            Some(0) => assert!(matches!(last, Some(Event::Done {})), "{last:?}"),
            Some(1) => assert!(matches!(last, Some(Event::Failed { .. })), "{last:?}"),
            Some(2) => assert!(last.is_none(), "{last:?}"),
            _ => panic!("the rig ended with {code:?}: {stderr}"),
        }
        let closing = events.iter().filter(|event| matches!(event, Event::Done {} | Event::Failed { .. })).count();
        assert_eq!(closing, last.iter().count(), "nothing follows the end: {events:?}");
        let hellos = events.iter().filter(|event| matches!(event, Event::Hello { .. })).count();
        if code == Some(0) {
            assert!(matches!(events[0], Event::Hello { protocol: PROTOCOL, .. }), "{:?}", events[0]);
            assert!(matches!(events[1], Event::Settings { terminal: None, .. }), "{:?}", events[1]);
            assert_eq!(hellos, 1);
        }
        let ended = Ended { code, events, stderr };
        ended.results().into_iter().for_each(assert_consistent);
        ended
    }
}

/// What a rig left behind.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub events: Vec<Event>,
    pub stderr: String,
}

impl Ended {
    pub fn results(&self) -> Vec<&RunResult> {
        let results = self.events.iter().filter_map(|event| match event {
            Event::Result(result) => Some(result.as_ref()),
            _ => None,
        });
        results.collect()
    }

    /// Of the only run.
    pub fn result(&self) -> &RunResult {
        let results = self.results();
        assert_eq!(results.len(), 1, "{:?}", self.events);
        results[0]
    }

    pub fn checks(&self) -> Vec<&Checked> {
        let checks = self.events.iter().filter_map(|event| match event {
            Event::Checked(checked) => Some(checked),
            _ => None,
        });
        checks.collect()
    }

    /// The conditions that the last check found not to hold, sorted.
    pub fn broken(&self) -> Vec<&str> {
        let checks = self.checks();
        let conditions = &checks.last().expect("a check was asked for").conditions;
        assert!(!conditions.is_empty());
        let mut broken: Vec<_> = conditions.iter().filter(|c| !c.holds).map(|c| c.name.as_str()).collect();
        broken.sort_unstable();
        broken
    }

    /// Every condition of every check holds.
    pub fn assert_holds(&self) {
        for checked in self.checks() {
            assert!(checked.conditions.iter().all(|condition| condition.holds), "{checked:?}");
        }
    }

    pub fn detail(&self, condition: &str) -> &str {
        let checks = self.checks();
        let mut conditions = checks.last().expect("a check was asked for").conditions.iter();
        &conditions.find(|c| c.name == condition).unwrap_or_else(|| panic!("no condition {condition}")).detail
    }

    pub fn settings(&self) -> Vec<(Option<u32>, &[Setting])> {
        let settings = self.events.iter().filter_map(|event| match event {
            Event::Settings { terminal, values } => Some((*terminal, values.as_slice())),
            _ => None,
        });
        settings.collect()
    }

    /// What was being done when the job could not go on, and the words for why.
    pub fn failure(&self) -> (&str, &str) {
        match self.events.last() {
            Some(Event::Failed { doing, message }) => (doing, message),
            other => panic!("the job did not fail: {other:?}"),
        }
    }
}

// ------------------------------------------------------------------------------------------------------ results

/// Committed transactions of the series' seconds before (negative) or within the measurement.
pub fn committed_in_series(result: &RunResult, warmup: bool) -> u64 {
    result.series.iter().filter(|second| (second.at_s < 0.0) == warmup).map(|second| second.committed).sum()
}

pub fn class_count(result: &RunResult, class: &str) -> u64 {
    result.counts.classes.iter().find(|c| c.class == class).map_or(0, |c| c.count)
}

pub fn is_progress(event: &Event, wanted: PhaseName) -> bool {
    matches!(event, Event::Progress { phase, .. } if *phase == wanted)
}

fn close(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-6 * one.abs().max(other.abs()).max(1.0)
}

/// What holds of any run's figures among themselves.
fn assert_consistent(result: &RunResult) {
    let counts = &result.counts;
    for histogram in [&result.latency, &result.service] {
        assert_eq!(histogram.count, counts.committed, "a latency for every commit");
        assert_eq!(histogram.buckets.iter().map(|bucket| bucket.1).sum::<u64>(), histogram.count);
        assert!(histogram.buckets.windows(2).all(|pair| pair[0].0 < pair[1].0), "buckets ascend");
        assert!(histogram.buckets.iter().all(|bucket| bucket.1 > 0), "buckets without a count are left out");
        match (histogram.buckets.first(), histogram.buckets.last()) {
            (Some(first), Some(last)) => {
                assert!(histogram.min_ns > 0 && histogram.min_ns <= first.0);
                assert!(histogram.max_ns <= last.0 && histogram.min_ns <= histogram.max_ns);
                assert!(histogram.mean_ns >= histogram.min_ns as f64 * 0.999);
                assert!(histogram.mean_ns <= histogram.max_ns as f64 * 1.001);
            }
            _ => assert_eq!((histogram.min_ns, histogram.max_ns), (0, 0)),
        }
    }
    assert_eq!(counts.conflicts, counts.retries + counts.given_up, "a conflict is retried or given up: {counts:?}");
    let classes: u64 = counts.classes.iter().map(|class| class.count).sum();
    assert_eq!(classes, counts.conflicts + counts.errors, "every refusal has a class: {counts:?}");
    for class in &counts.classes {
        assert!(result.error_samples.iter().any(|sample| sample.class == class.class), "no sample of {class:?}");
    }
    if !result.kinds.is_empty() {
        let sum = |of: fn(&Kind) -> u64| result.kinds.iter().map(of).sum::<u64>();
        assert_eq!(sum(|kind| kind.committed), counts.committed, "a commit is of one kind: {:?}", result.kinds);
        assert_eq!(sum(|kind| kind.rolled_back), counts.rolled_back);
        assert_eq!(sum(|kind| kind.conflicts), counts.conflicts);
        assert_eq!(sum(|kind| kind.given_up), counts.given_up);
        assert_eq!(sum(|kind| kind.errors), counts.errors);
        assert!(result.kinds.iter().all(|kind| kind.latency.count == kind.committed));
    }
    assert!(result.measured_s > 0.0);
    let finished = counts.committed + counts.rolled_back + counts.conflicts + counts.errors;
    assert!(close(result.throughput_per_s * result.measured_s, finished as f64), "{result:?}");
    assert!(close(result.goodput_per_s * result.measured_s, counts.committed as f64), "{result:?}");

    let (first, last) = (result.series.first().expect("a second"), result.series.last().expect("a second"));
    assert!(close(first.at_s, -result.warmup_s), "the series begins with the warm-up: {first:?}");
    assert!(close(last.at_s + last.length_s, result.measured_s), "and ends with the measurement: {last:?}");
    for pair in result.series.windows(2) {
        assert!(close(pair[0].at_s + pair[0].length_s, pair[1].at_s), "no second is missing: {pair:?}");
    }
    for second in &result.series {
        assert!(second.latency_ns_p50 <= second.latency_ns_p99, "{second:?}");
        assert_eq!(second.latency_ns_max > 0, second.committed > 0, "{second:?}");
    }
    if let Some(arrivals) = &result.arrivals {
        // A transaction given up is finished; one that is tried again is not.
        let finished = counts.committed + counts.rolled_back + counts.given_up + counts.errors;
        assert!(arrivals.late <= arrivals.scheduled, "{arrivals:?}");
        assert_eq!(arrivals.unfinished > 0, arrivals.unfinished_wait_ms_max > 0.0, "{arrivals:?}");
        assert!(arrivals.unfinished + finished >= arrivals.scheduled, "an arrival is lost: {result:?}");
    } else if result.kinds.iter().all(|kind| kind.name != "delivery") {
        assert_eq!(result.latency, result.service, "in a closed loop nothing waits before it starts, unless queued");
    }
}
