//! The rig's probe as a process: what is written, how often, and the message where that cannot be.

use crate::common::rig;
use protocol::{Event, Probed, PROTOCOL};
use serde_json::{json, Value};
use std::path::Path;
use std::process::Output;

const METHODS: [&str; 7] = ["plain", "sync_file_range", "direct", "fsync", "fdatasync", "dsync", "direct_dsync"];

fn job(directory: &Path, steps: &[Value]) -> Value {
    json!({
        "protocol": PROTOCOL, "seed": 7, "target": {"kind": "directory", "path": directory},
        "overwrite_bytes": 1 << 16, "append_bytes": 1 << 20, "steps": steps,
    })
}

fn step(method: &str, pattern: &str, writers: u32, one_file: bool, count: u64) -> Value {
    json!({
        "method": method, "pattern": pattern, "block_bytes": 4096, "writers": writers, "one_file": one_file,
        "extent": {"kind": "count", "transactions": count},
    })
}

fn probe(job: &Value) -> Output {
    rig(&["probe"], job.to_string().as_bytes())
}

fn events(output: &Output) -> Vec<Event> {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"))).collect()
}

fn probed(output: &Output) -> Vec<Probed> {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let events = events(output);
    assert!(matches!(events.first(), Some(Event::Hello { .. })) && matches!(events.last(), Some(Event::Done {})));
    events
        .into_iter()
        .filter_map(|event| match event {
            Event::Probed(probed) => Some(*probed),
            _ => None,
        })
        .collect()
}

#[test]
fn every_method_writes_as_often_as_asked_with_any_number_of_writers() {
    let directory = tempfile::tempdir().unwrap();
    let mut steps = Vec::new();
    for method in METHODS {
        for pattern in ["overwrite", "append"] {
            for (writers, one_file) in [(1, false), (3, false), (3, true)] {
                steps.push(step(method, pattern, writers, one_file, 10));
            }
        }
    }
    let results = probed(&probe(&job(directory.path(), &steps)));
    assert_eq!(results.len(), steps.len());
    for (position, probed) in results.iter().enumerate() {
        assert_eq!((probed.step as usize, probed.writes, probed.latency.count), (position, 10, 10));
        let calls = ["sync_file_range", "fsync", "fdatasync"].contains(&steps[position]["method"].as_str().unwrap());
        assert_eq!(probed.flush.count, if calls { 10 } else { 0 });
        assert!(probed.flush.mean_ns <= probed.latency.mean_ns);
        assert!(probed.measured_s > 0.0 && (probed.writes_per_s * probed.measured_s - 10.0).abs() < 1e-6);
    }
    let mut left: Vec<_> = std::fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), entry.metadata().unwrap().len()))
        .collect();
    left.sort();
    let expected = ["append-0", "append-1", "append-2", "overwrite-0", "overwrite-1", "overwrite-2"];
    assert_eq!(left.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), expected);
    assert!(left.iter().all(|(name, bytes)| *bytes == if name.starts_with("append") { 0 } else { 1 << 16 }));
}

#[test]
fn a_step_lasts_as_long_as_asked_and_an_append_no_longer_than_its_file() {
    let directory = tempfile::tempdir().unwrap();
    let lasting = |pattern: &str, writers: u32, seconds: f64| {
        let mut step = step("plain", pattern, writers, false, 0);
        step["extent"] = json!({"kind": "duration", "seconds": seconds});
        step
    };
    let results = probed(&probe(&job(
        directory.path(),
        &[lasting("overwrite", 1, 0.2), lasting("append", 1, 60.0), lasting("append", 4, 60.0)],
    )));
    assert!((0.2..60.0).contains(&results[0].measured_s), "{}", results[0].measured_s);
    let blocks = (1u64 << 20) / 4096;
    assert_eq!((results[1].writes, results[2].writes), (blocks, blocks));
}

#[test]
fn what_is_written_depends_on_the_seed_alone() {
    let written = |seed: u64| {
        let directory = tempfile::tempdir().unwrap();
        let mut asked = job(directory.path(), &[step("fdatasync", "overwrite", 1, false, 16)]);
        asked["seed"] = json!(seed);
        assert_eq!(probed(&probe(&asked)).len(), 1);
        std::fs::read(directory.path().join("overwrite-0")).unwrap()
    };
    let first = written(1);
    assert_eq!(first, written(1));
    assert_ne!(first, written(2));
}

#[test]
fn a_directory_that_is_not_there_ends_the_job_with_words() {
    let output = probe(&job(Path::new("/nowhere/at/all"), &[step("fsync", "overwrite", 1, false, 1)]));
    assert_eq!(output.status.code(), Some(1));
    let Some(Event::Failed { doing, message }) = events(&output).pop() else { panic!("it must fail") };
    assert_eq!(doing, "preparing /nowhere/at/all");
    assert!(message.contains("No such file"), "{message}");
}

#[test]
fn a_full_disk_ends_the_job_and_says_so() {
    let device = json!({"kind": "device", "path": "/dev/full"});
    let mut asked = job(Path::new("/"), &[step("plain", "overwrite", 1, false, 1)]);
    asked["target"] = device;
    let output = probe(&asked);
    assert_eq!(output.status.code(), Some(1));
    let Some(Event::Failed { message, .. }) = events(&output).pop() else { panic!("it must fail") };
    assert!(message.contains("No space left"), "{message}");
}

#[test]
fn what_cannot_be_followed_is_refused_in_one_line() {
    let right = job(Path::new("/tmp"), &[step("fsync", "append", 1, false, 1)]);
    let with = |path: &str, value: Value| {
        let mut wrong = right.clone();
        *wrong.pointer_mut(path).unwrap() = value;
        wrong
    };
    for (wrong, word) in [
        (with("/steps/0/block_bytes", json!(1000)), "block_bytes"),
        (with("/steps/0/writers", json!(0)), "writers"),
        (with("/steps/0/extent", json!({"kind": "duration", "seconds": 0.0})), "extent"),
        (with("/overwrite_bytes", json!(5000)), "overwrite_bytes"),
        (with("/append_bytes", json!(100)), "append_bytes"),
        (with("/target", json!({"kind": "device", "path": "/dev/null"})), "pattern"),
        (with("/steps/0/method", json!("pray")), "no ProbeJob"),
    ] {
        let output = probe(&wrong);
        assert_eq!(output.status.code(), Some(2));
        let words = String::from_utf8(output.stderr).unwrap();
        assert!(words.contains(word) && words.lines().count() == 1, "{word}: {words}");
    }
}
