//! One sample of every type of the protocol, every field filled: what the lab's twin of the protocol is tested against.

use crate::*;
use serde_json::{json, Map, Value};

/// Type name to its samples. Those of the targets and workloads come from the modules that read them.
pub fn all(targets: &[Target], workloads: &[Workload]) -> Value {
    let mut types = Map::new();
    types.insert("Target".into(), json!(targets));
    types.insert("Workload".into(), json!(workloads));
    types.insert("Pacing".into(), json!(pacings()));
    types.insert("Extent".into(), json!(extents()));
    types.insert("Phase".into(), json!(phases()));
    types.insert("Job".into(), json!(jobs(targets, workloads)));
    types.insert("ProbeJob".into(), json!(probe_jobs()));
    types.insert("Event".into(), json!(events()));
    types.insert("DiskSpec".into(), json!(disk_specs()));
    types.insert("DiskCommand".into(), json!(disk_commands()));
    types.insert("DiskAnswer".into(), json!(disk_answers()));
    types.insert("RunResult".into(), json!([result(None), result(Some(arrivals()))]));
    Value::Object(types)
}

fn pacings() -> Vec<Pacing> {
    vec![
        Pacing::Closed { think_ms: 1.5 },
        Pacing::Open { rate_per_s: 200.5, arrivals: Arrivals::Fixed },
        Pacing::Open { rate_per_s: 200.5, arrivals: Arrivals::Poisson },
    ]
}

fn extents() -> Vec<Extent> {
    vec![Extent::Duration { seconds: 2.5 }, Extent::Count { transactions: 500 }]
}

fn phases() -> Vec<Phase> {
    let mut phases = vec![
        Phase::Load { sessions: 2, one_by_one: true, from_units: 2 },
        Phase::Check { at_least: None },
        Phase::Check { at_least: Some(vec![4, 0]) },
        Phase::Survey {},
        Phase::Ask { questions: vec!["check table x".into()] },
    ];
    for pacing in pacings() {
        for extent in extents() {
            let pacing = pacing.clone();
            phases.push(Phase::Run(RunPlan {
                terminals: 4,
                threads: Some(2),
                pacing,
                warmup_s: 0.5,
                extent,
                retries: 10,
                acknowledge_to: Some("/tmp/acknowledgements".into()),
            }));
        }
    }
    phases
}

/// Each workload and each target is in one of them.
fn jobs(targets: &[Target], workloads: &[Workload]) -> Vec<Job> {
    let inspect = vec![Inspection { name: "journal_mode".into(), sql: "pragma journal_mode".into() }];
    let many = targets.len().max(workloads.len());
    let (targets, workloads) = (targets.iter().cloned().cycle(), workloads.iter().cloned().cycle());
    workloads
        .zip(targets)
        .take(many)
        .map(|(workload, target)| (target, workload))
        .map(|(target, workload)| Job {
            protocol: PROTOCOL,
            seed: 42,
            target,
            workload,
            inspect: inspect.clone(),
            phases: phases(),
            observe: None,
        })
        .zip(observes().into_iter().cycle())
        .map(|(job, observe)| Job { observe, ..job })
        .collect()
}

fn observes() -> Vec<Option<Observe>> {
    let observe = |means, processes| Some(Observe { means, processes, directory: "/data/cell".into() });
    vec![
        None,
        observe(Means::Kernel { instance: "acidtest-1".into() }, vec![7, 8]),
        observe(Means::Strace { program: "/usr/bin/strace".into() }, vec![]),
    ]
}

fn observed() -> Observed {
    let spread = Spread { min: 1, median: 2, max: 4, mean: 2.5 };
    let line = ObservedLine {
        at_us: 1.5,
        lasted_us: Some(0.5),
        layer: ObservedLayer::Call,
        who: "mariadbd:7".into(),
        own: true,
        what: "pwrite64".into(),
        how: "O_DSYNC".into(),
        path: Some("data/x.db".into()),
        offset: Some(8192),
        bytes: Some(4096),
        error: Some("No space left on device".into()),
    };
    Observed {
        means: "kernel".into(),
        tied_by: Tie::SharedTime,
        seconds: 1.5,
        calls: 10,
        dropped: 1,
        commits: 3,
        files: vec![ObservedFile {
            path: "data/x.db".into(),
            flags: vec!["O_RDWR|O_DSYNC".into()],
            calls: vec![CallCount {
                call: "pwrite64".into(),
                how: "O_DSYNC".into(),
                count: 3,
                errors: 1,
                bytes: 8192,
                total_us: 10.5,
                max_us: 5.5,
            }],
        }],
        storage: [ObservedLayer::FileSystem, ObservedLayer::Block]
            .map(|layer| StorageCount { layer, what: "jbd2 commit".into(), count: 2, bytes: 4096, total_us: 10.5 })
            .to_vec(),
        per_commit: Some(PerCommit {
            commits: 3,
            alike: 2,
            writes: spread.clone(),
            bytes: spread.clone(),
            flushes: spread.clone(),
            flush_us: spread.clone(),
            whole_us: spread,
        }),
        typical: Some(TypicalCommit {
            begin_ns: 1_000,
            lasted_us: 10.5,
            commit_at_us: Some(5.5),
            terminal: 0,
            alike: 2,
            lines: vec![
                line.clone(),
                ObservedLine {
                    lasted_us: None,
                    layer: ObservedLayer::Device,
                    path: None,
                    offset: None,
                    bytes: None,
                    error: None,
                    ..line
                },
            ],
            left_out: 1,
        }),
    }
}

fn arrivals() -> ArrivalCounts {
    ArrivalCounts { scheduled: 100, late: 3, unfinished: 1, unfinished_wait_ms_max: 12.5 }
}

fn probe_jobs() -> Vec<ProbeJob> {
    use FlushMethod::*;
    let methods = [Plain, SyncFileRange, Direct, Fsync, Fdatasync, Dsync, DirectDsync];
    let step =
        |method, pattern, extent| ProbeStep { method, pattern, block_bytes: 4096, writers: 2, one_file: true, extent };
    let job = |target, steps| ProbeJob {
        protocol: PROTOCOL,
        seed: 42,
        target,
        overwrite_bytes: 1 << 20,
        append_bytes: 1 << 22,
        steps,
    };
    let every: Vec<_> = methods
        .into_iter()
        .flat_map(|method| [WritePattern::Overwrite, WritePattern::Append].map(|pattern| (method, pattern)))
        .zip(extents().into_iter().cycle())
        .map(|((method, pattern), extent)| step(method, pattern, extent))
        .collect();
    let overwrite = step(DirectDsync, WritePattern::Overwrite, Extent::Count { transactions: 10 });
    vec![
        job(ProbeTarget::Directory { path: "/data/probe".into() }, every),
        job(ProbeTarget::Device { path: "/dev/sdx".into() }, vec![overwrite]),
    ]
}

fn histogram() -> Histogram {
    Histogram {
        count: 3,
        min_ns: 1_000,
        max_ns: 2_049_000_000,
        mean_ns: 683_001_000.5,
        buckets: vec![(1_000, 2), (2_049_000_000, 1)],
    }
}

fn result(arrivals: Option<ArrivalCounts>) -> RunResult {
    let histogram = histogram();
    RunResult {
        terminals: 4,
        threads: 2,
        warmup_s: 0.5,
        measured_s: 2.5,
        counts: Counts {
            committed: 3,
            rolled_back: 1,
            conflicts: 2,
            retries: 1,
            given_up: 1,
            errors: 1,
            classes: vec![ClassCount { class: "deadlock".into(), count: 2 }],
        },
        arrivals,
        throughput_per_s: 2.5,
        goodput_per_s: 1.5,
        latency: histogram.clone(),
        service: histogram.clone(),
        kinds: vec![Kind {
            name: "new_order".into(),
            committed: 3,
            rolled_back: 1,
            conflicts: 2,
            given_up: 1,
            errors: 1,
            latency: histogram,
            limit_ms: Some(5_000.0),
        }],
        series: vec![Second {
            at_s: -0.5,
            length_s: 0.5,
            committed: 1,
            conflicts: 0,
            errors: 0,
            latency_ns_p50: 1_000,
            latency_ns_p99: 1_000,
            latency_ns_max: 1_000,
        }],
        cpu: Cpu {
            process_user_s: 0.5,
            process_system_s: 0.25,
            sampled_transactions: 1,
            generator_us_per_transaction: 0.75,
            session_us_per_transaction: 60.5,
            clock_read_ns: 200.5,
        },
        error_samples: vec![ErrorSample { class: "deadlock".into(), message: "deadlock".into() }],
    }
}

fn events() -> Vec<Event> {
    let setting = |value| Setting { name: "journal_mode".to_string(), value };
    let progress = |phase, fraction| Event::Progress { phase, fraction, elapsed_s: 1.5, done: 10, rate_per_s: 9.5 };
    vec![
        Event::Hello { protocol: PROTOCOL, rig_version: "0.1.0".into(), pid: 7, engine_version: "3.50.0".into() },
        Event::Settings { terminal: None, values: vec![setting(Some("wal".into())), setting(None)] },
        Event::Settings { terminal: Some(1), values: vec![] },
        progress(PhaseName::Load, Some(0.5)),
        progress(PhaseName::Check, None),
        progress(PhaseName::Warmup, Some(0.5)),
        progress(PhaseName::Run, Some(0.5)),
        Event::Loaded(Loaded {
            rows: 5,
            bytes: 500,
            seconds: 0.5,
            sessions: 2,
            series: vec![LoadSecond { at_s: 0.0, length_s: 0.5, rows: 5, bytes: 500 }],
        }),
        Event::Checked(Checked {
            conditions: vec![Condition { name: "rows".into(), holds: true, detail: "5 rows".into() }],
            seconds: 0.5,
        }),
        Event::Result(Box::new(result(None))),
        Event::Result(Box::new(result(Some(arrivals())))),
        Event::Probed(Box::new(Probed {
            step: 1,
            writes: 3,
            measured_s: 0.5,
            writes_per_s: 6.5,
            latency: histogram(),
            flush: histogram(),
        })),
        Event::Refused { step: 2, message: "Invalid argument (os error 22)".into() },
        Event::Surveyed(Survey {
            terminals: vec![SurveyedTerminal {
                terminal: 0,
                counter: Some(9),
                whole: vec![(0, 7)],
                torn: vec![Torn { number: 9, right: 4, wrong: 1, expected: 6 }],
            }],
            strays: 1,
        }),
        Event::Answered { question: "check table x".into(), rows: vec![vec![Some("x".into()), None]] },
        Event::Observed(Box::new(observed())),
        Event::Observed(Box::new(Observed { tied_by: Tie::Thread, per_commit: None, typical: None, ..observed() })),
        Event::Observed(Box::new(Observed { tied_by: Tie::Time, ..observed() })),
        Event::Failed { doing: "loading".into(), message: "disk full".into() },
        Event::Done {},
    ]
}

fn disk_specs() -> Vec<DiskSpec> {
    let spec = |name, medium, log: Option<&str>| DiskSpec {
        protocol: PROTOCOL,
        mount_point: "/data/disk".into(),
        medium,
        size_bytes: 512 << 20,
        sector_bytes: 4_096,
        cache_bytes: 32 << 20,
        timing: DiskTiming { name, parameters: [("rpm".to_string(), 5_400.0)].into() },
        seed: 7,
        faults: vec!["lie-about-flush".into()],
        log: log.map(Into::into),
    };
    vec![
        spec(DiskTimingName::None, None, Some("/data/log")),
        spec(DiskTimingName::Rotating, Some("/data/medium".into()), None),
        spec(DiskTimingName::SataSsd, None, None),
        spec(DiskTimingName::Nvme, None, None),
    ]
}

fn disk_commands() -> Vec<DiskCommand> {
    let cut = |keep, flushes| DiskCommand::Cut { keep, seed: 7, flushes };
    let torn = vec![TornWrite { record: 9, sectors: vec![0, 2] }];
    let state = DiskState { log: "/data/log".into(), from: 0, to: 10, without: vec![3, 4], torn };
    vec![
        DiskCommand::Stats {},
        DiskCommand::Fault { fault: "eio on flush 5".into() },
        DiskCommand::Mend {},
        cut(CutKeeps::None, GhostFlushes::Succeed),
        cut(CutKeeps::Torn, GhostFlushes::Fail),
        cut(CutKeeps::Reordered, GhostFlushes::Succeed),
        cut(CutKeeps::All, GhostFlushes::Succeed),
        DiskCommand::Revive {},
        DiskCommand::Snapshot {},
        DiskCommand::Load { state: None },
        DiskCommand::Load { state: Some(state) },
        DiskCommand::Save { file: "/data/survivors".into(), whole: true },
        DiskCommand::End {},
    ]
}

fn disk_answers() -> Vec<DiskAnswer> {
    let took = Histogram { count: 1, min_ns: 10, max_ns: 10, mean_ns: 10.5, buckets: vec![(10, 1)] };
    let count = || DiskCount { count: 1, bytes: 4_096, took: took.clone() };
    let stats = |power| DiskStats {
        reads: count(),
        writes: count(),
        flushes: count(),
        lied_flushes: 1,
        failed: 1,
        dirty_bytes: 4_096,
        dirty_bytes_max: 8_192,
        power,
        faults: vec![FaultCount { fault: "lie-about-flush".into(), struck: 1 }],
        log_records: 2,
    };
    let ready = |unlocked: Option<&str>| DiskAnswer::Ready {
        protocol: PROTOCOL,
        pid: 7,
        file: "/data/disk/image".into(),
        connection: 41,
        unlocked: unlocked.map(Into::into),
    };
    vec![
        ready(None),
        ready(Some("RLIMIT_MEMLOCK is 8 MiB")),
        DiskAnswer::Stats(Box::new(stats(DiskPower::On))),
        DiskAnswer::Stats(Box::new(stats(DiskPower::Stopped))),
        DiskAnswer::Stats(Box::new(stats(DiskPower::GivenUp))),
        DiskAnswer::Stats(Box::new(stats(DiskPower::Ghost))),
        DiskAnswer::Cut(DiskCut { kept_bytes: 4_096, lost_bytes: 8_192, torn_writes: 1 }),
        DiskAnswer::Done {},
        DiskAnswer::Failed { message: "what is no fault".into() },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some_jobs() -> Vec<Job> {
        let fields: Fields =
            Fields::from_iter([("path".to_string(), json!("/data/x")), ("setup".to_string(), json!(["a", "b"]))]);
        let target = Target { engine: "one".into(), fields: fields.clone() };
        jobs(
            &[target],
            &[Workload { name: "any".into(), fields }, Workload { name: "bare".into(), fields: Fields::new() }],
        )
    }

    #[test]
    fn every_sample_survives_the_round_trip() {
        for job in some_jobs() {
            let text = serde_json::to_string(&job).unwrap();
            assert_eq!(serde_json::from_str::<Job>(&text).unwrap(), job);
        }
        for job in probe_jobs() {
            assert_eq!(job.flaw(), None);
            let text = serde_json::to_string(&job).unwrap();
            assert_eq!(serde_json::from_str::<ProbeJob>(&text).unwrap(), job);
        }
        for event in events() {
            let text = serde_json::to_string(&event).unwrap();
            assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event);
        }
        for spec in disk_specs() {
            let text = serde_json::to_string(&spec).unwrap();
            assert_eq!(serde_json::from_str::<DiskSpec>(&text).unwrap(), spec);
        }
    }

    #[test]
    fn unknown_fields_are_refused() {
        for (known, with) in [(r#""seed":42"#, r#""seed":42,"sede":1"#), (r#""terminals":4"#, r#""terminals":4,"x":1"#)]
        {
            let text = serde_json::to_string(&some_jobs()[0]).unwrap().replacen(known, with, 1);
            assert!(serde_json::from_str::<Job>(&text).is_err(), "{with}");
        }
    }
}
