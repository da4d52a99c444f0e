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
    types.insert("PagesJob".into(), json!([PagesJob { protocol: PROTOCOL, path: "/data/x.fdb".into() }]));
    types.insert("Event".into(), json!(events()));
    types.insert("DiskSpec".into(), json!(disk_specs()));
    types.insert("DiskCommand".into(), json!(disk_commands()));
    types.insert("DiskAnswer".into(), json!(disk_answers()));
    let result_shaped = RunResult { sleepers: None, connections: None, ..result(Some(arrivals())) };
    types.insert("RunResult".into(), json!([result(None), result(Some(arrivals())), result_shaped]));
    Value::Object(types)
}

fn pacings() -> Vec<Pacing> {
    vec![
        Pacing::Closed { think_ms: 1.5 },
        Pacing::Open { rate_per_s: 200.5, arrivals: Arrivals::Fixed },
        Pacing::Open { rate_per_s: 200.5, arrivals: Arrivals::Poisson },
        Pacing::Recorded {},
    ]
}

fn extents() -> Vec<Extent> {
    vec![Extent::Duration { seconds: 2.5 }, Extent::Count { transactions: 500 }]
}

fn phases() -> Vec<Phase> {
    let mut phases = vec![
        Phase::Load { sessions: 2, one_by_one: true, from_units: 2 },
        Phase::Check { at_least: None, told: None },
        Phase::Check { at_least: Some(vec![4, 0]), told: None },
        Phase::Check { at_least: None, told: Some(totals()) },
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
                may_start_early: false,
                extent,
                retries: 10,
                acknowledge_to: Some("/tmp/acknowledgements".into()),
                classes: vec![],
                stages: vec![],
                sleepers: None,
                connect: Connect::Once,
                share: None,
            }));
        }
    }
    phases.push(Phase::Run(shaped()));
    let plain = RunPlan { classes: vec![], stages: vec![], share: None, ..shaped() };
    phases.push(Phase::Run(RunPlan { warmup_s: 30.0, may_start_early: true, ..plain }));
    phases
}

/// A run with everything that gives a load its shape.
fn shaped() -> RunPlan {
    let class = |name: &str, terminals, pacing| TerminalClass {
        name: name.into(),
        terminals,
        pacing,
        mix: [("new_order".to_string(), 9.5), ("payment".to_string(), 0.5)].into(),
        parameters: [("orders_per_call".to_string(), json!(100))].into_iter().collect(),
    };
    let open = Pacing::Open { rate_per_s: 10.5, arrivals: Arrivals::Poisson };
    let legs = |from, to| vec![Leg { from, to: from }, Leg { from, to }];
    RunPlan {
        terminals: 4,
        threads: None,
        pacing: Pacing::Closed { think_ms: 1.5 },
        warmup_s: 0.5,
        may_start_early: false,
        extent: Extent::Duration { seconds: 2.5 },
        retries: 10,
        acknowledge_to: None,
        classes: vec![class("callers", 1, Some(open)), class("singles", 3, None)],
        stages: vec![Stage { seconds: 1.5, legs: legs(1.0, 3.0) }, Stage { seconds: 1.0, legs: legs(2.0, 0.0) }],
        sleepers: Some(IdleSessions { sessions: 5, in_transaction: true }),
        connect: Connect::PerTransaction,
        share: Some(Share { number: 1, of: 3 }),
    }
}

fn totals() -> AcknowledgedTotals {
    AcknowledgedTotals { committed: 9, unknown: 1, kinds: vec![5, 4], units: Some((900, 100)) }
}

fn shared() -> Shared {
    let second = SharedSecond {
        second: -1,
        committed: 2,
        conflicts: 1,
        errors: 1,
        latencies: vec![(1_007_615, 1), (2_015_231, 1)],
        latency_ns_max: 2_000_000,
    };
    Shared { began_late_ns: 70_000, stood_still_ns_max: 90_000, told: totals(), seconds: vec![second] }
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
            count: None,
            sample: None,
        })
        .zip(observes().into_iter().cycle())
        .map(|(job, observe)| Job {
            count: observe.is_some().then(counting),
            sample: observe.is_some().then(sampling),
            observe,
            ..job
        })
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

fn counting() -> Counting {
    Counting {
        session: "select current_connection from rdb$database".into(),
        counted: "select mon$stat_id, mon$page_reads from mon$io_stats".into(),
        names: vec!["page_reads".into()],
    }
}

fn sampling() -> Sampling {
    Sampling {
        questions: vec!["show global status where variable_name in ('Innodb_log_waits')".into()],
        names: vec!["Innodb_log_waits".into()],
    }
}

fn sampled() -> Sampled {
    Sampled { not_sampled: None, samples: vec![Sample { at_s: 1.0, took_s: 0.001, values: vec![Some(7), None] }] }
}

fn counted() -> Counted {
    Counted {
        not_counted: None,
        from_s: -0.25,
        first_reading_s: 0.01,
        last_reading_s: 0.02,
        committed: 100,
        uncertain: 2,
        counters: vec![
            CountedBy { name: "page_reads".into(), sessions: Some(1), database: Some(3) },
            CountedBy { name: "page_writes".into(), sessions: None, database: None },
        ],
    }
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
    ArrivalCounts { scheduled: 100, late: 3, unfinished: 1, unfinished_wait_ms_max: 12.5, lateness: histogram() }
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
        .flat_map(|method| [ProbePattern::Overwrite, ProbePattern::Append].map(|pattern| (method, pattern)))
        .zip(extents().into_iter().cycle())
        .map(|((method, pattern), extent)| step(method, pattern, extent))
        .collect();
    let overwrite = step(DirectDsync, ProbePattern::Overwrite, Extent::Count { transactions: 10 });
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
    let counts = Counts {
        committed: 3,
        rolled_back: 1,
        conflicts: 2,
        retries: 1,
        given_up: 1,
        errors: 1,
        classes: vec![ClassCount { class: "deadlock".into(), count: 2 }],
    };
    let kinds = vec![Kind {
        name: "new_order".into(),
        committed: 3,
        rolled_back: 1,
        conflicts: 2,
        given_up: 1,
        errors: 1,
        latency: histogram.clone(),
        limit_ms: Some(5_000.0),
    }];
    let tally = Tally {
        counts: counts.clone(),
        arrivals: arrivals.clone(),
        latency: histogram.clone(),
        service: histogram.clone(),
        kinds: kinds.clone(),
    };
    RunResult {
        classes: vec![ClassResult { name: "callers".into(), terminals: 1, tally: tally.clone() }],
        stages: vec![StageResult { at_s: 0.5, length_s: 2.0, from: 1.5, to: 3.0, tally }],
        sleepers: Some(IdleSessionsSeen {
            sessions: 5,
            in_transaction: true,
            awake_at_end: 4,
            lost: Some("the server closed the connection".into()),
        }),
        connections: Some(Connections { opened: 30, inspected: 2 }),
        terminals: 4,
        threads: 2,
        warmup_s: 0.5,
        measured_s: 2.5,
        counts,
        arrivals,
        throughput_per_s: 2.5,
        goodput_per_s: 1.5,
        latency: histogram.clone(),
        service: histogram,
        kinds,
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
    let progress = |phase, fraction| Event::Progress {
        phase,
        fraction,
        elapsed_s: 1.5,
        done: 10,
        rate_per_s: 9.5,
        at: fraction.map(|_| "shop/schema.sql:3".into()),
    };
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
        Event::Ready {},
        Event::Result(Box::new(result(None))),
        Event::Shared(Box::new(shared())),
        Event::Result(Box::new(result(Some(arrivals())))),
        Event::Probed(Box::new(Probed {
            step: 1,
            writes: 3,
            measured_s: 0.5,
            writes_per_s: 6.5,
            latency: histogram(),
            flush: histogram(),
        })),
        Event::Maintained(Maintained {
            operations: vec![
                OperationDone {
                    seconds: 1.5,
                    flush_s: Some(0.25),
                    database_bytes: 8192,
                    backup_bytes: Some(4096),
                    workers: Some(2),
                },
                OperationDone { seconds: 1.25, flush_s: None, database_bytes: 8192, backup_bytes: None, workers: None },
            ],
            before: Some(Garbage { versions: 9, oldest: 3, oldest_active: 5, oldest_snapshot: 4, next: 6 }),
            after: None,
        }),
        Event::Replayed(Box::new(Replayed {
            sessions: 3,
            sessions_refused: 1,
            statements: 90,
            left_out: 2,
            errors_alike: 4,
            errors_new: 5,
            errors_missing: 6,
            rows_compared: 7,
            rows_differ: 8,
            latency: histogram(),
            service: histogram(),
            logged: histogram(),
            differences: vec![Difference {
                place: "postgresql.csv:12".into(),
                statement: "select 1".into(),
                logged: "1 row".into(),
                replayed: "no row".into(),
            }],
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
        Event::Begins { numbers: vec![7, 8], began_us: 1_700_000_000_000_000 },
        Event::Counted(counted()),
        Event::Counted(Counted { not_counted: Some("no permission".into()), counters: vec![], ..counted() }),
        Event::Sampled(sampled()),
        Event::Sampled(Sampled { not_sampled: Some("no permission".into()), samples: vec![] }),
        Event::Pages(Box::new(pages(Some(TransactionState::Active)))),
        Event::Pages(Box::new(pages(Some(TransactionState::InLimbo)))),
        Event::Pages(Box::new(pages(Some(TransactionState::RolledBack)))),
        Event::Pages(Box::new(pages(Some(TransactionState::Committed)))),
        Event::Pages(Box::new(Pages { sweep_interval: None, damaged: None, tables: vec![], ..pages(None) })),
        Event::Failed { doing: "loading".into(), message: "disk full".into() },
        Event::Done {},
    ]
}

fn disk_specs() -> Vec<DiskSpec> {
    let spec = |name, medium, log: Option<&str>, battery| DiskSpec {
        protocol: PROTOCOL,
        mount_point: "/data/disk".into(),
        medium,
        size_bytes: 512 << 20,
        sector_bytes: 4_096,
        cache_bytes: 32 << 20,
        battery,
        timing: DiskTiming { name, parameters: [("rpm".to_string(), 5_400.0)].into() },
        seed: 7,
        faults: vec!["lie-about-flush".into()],
        log: log.map(Into::into),
        patient: log.is_none(),
    };
    vec![
        spec(DiskTimingName::None, None, Some("/data/log"), DiskBattery::None),
        spec(DiskTimingName::Rotating, Some("/data/medium".into()), None, DiskBattery::Good),
        spec(DiskTimingName::SataSsd, None, None, DiskBattery::Dead),
        spec(DiskTimingName::Nvme, None, None, DiskBattery::None),
    ]
}

fn disk_commands() -> Vec<DiskCommand> {
    let cut = |keep, flushes| DiskCommand::Cut { keep, seed: 7, flushes };
    let torn = vec![TornWrite { record: 9, sectors: vec![0, 2] }];
    let state = DiskState { log: "/data/log".into(), from: 0, to: 10, without: vec![3, 4], torn };
    vec![
        DiskCommand::Stats {},
        DiskCommand::Fault { fault: "eio on flush 5".into() },
        DiskCommand::Under { major: 7, minor: 9 },
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
        ignored_write_throughs: 1,
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
        over_io_uring: unlocked.is_none(),
        unlocked: unlocked.map(Into::into),
    };
    vec![
        ready(None),
        ready(Some("RLIMIT_MEMLOCK is 8 MiB")),
        DiskAnswer::Stats(Box::new(stats(DiskPower::On))),
        DiskAnswer::Stats(Box::new(stats(DiskPower::Stopped))),
        DiskAnswer::Stats(Box::new(stats(DiskPower::GivenUp))),
        DiskAnswer::Stats(Box::new(stats(DiskPower::Vanished))),
        DiskAnswer::Stats(Box::new(stats(DiskPower::Ghost))),
        DiskAnswer::Cut(DiskCut { kept_bytes: 4_096, lost_bytes: 8_192, torn_writes: 1 }),
        DiskAnswer::Done {},
        DiskAnswer::Failed { message: "what is no fault".into() },
    ]
}

fn pages(oldest_state: Option<TransactionState>) -> Pages {
    let index = PagesOfIndex {
        id: 1,
        name: "RDB$PRIMARY1".into(),
        is_unique: true,
        depth: 2,
        leaf_buckets: 3,
        nodes: 900,
        node_bytes: 9_000,
        prefix_bytes: 400,
        data_bytes: 5_000,
        duplicates: 0,
        duplicates_max: 0,
        clustering: 30,
    };
    let table = PagesOfTable {
        id: 128,
        name: "T".into(),
        pointer_pages: 1,
        slots: 9,
        data_pages: 8,
        primary_pages: 7,
        swept_pages: 6,
        empty_pages: 1,
        full_pages: 5,
        big_record_pages: 1,
        used_bytes: 60_000,
        records: 900,
        deleted: 3,
        record_bytes: 40_000,
        versions: 20,
        version_bytes: 200,
        versions_max: 4,
        fragments: 2,
        fragment_bytes: 300,
        fragments_max: 2,
        blobs: 4,
        blob_bytes: 8_000,
        blob_pages: 1,
        blob_room_bytes: 700,
        indexes: vec![index],
    };
    Pages {
        page_bytes: 8192,
        ods_major: 13,
        ods_minor: 1,
        page_buffers: 0,
        forced_writes: true,
        reserves_space: true,
        sql_dialect: 3,
        read_only: false,
        encrypted: false,
        is_shut_down: false,
        backup_locked: false,
        sweep_interval: Some(20_000),
        generation: 99,
        oldest: 5,
        oldest_active: 6,
        oldest_snapshot: 6,
        next: 40,
        oldest_state,
        in_limbo: 1,
        rolled_back: 2,
        active: 3,
        states_of: 36,
        pages: 300,
        free_pages: 20,
        tables: vec![table],
        damaged: Some("page 12 is empty, where a data page should be".into()),
    }
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
