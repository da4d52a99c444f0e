//! One sample of every type of the protocol, every field filled: what the lab's twin of the protocol is tested against.

use crate::protocol::*;
use serde_json::{json, Map, Value};

/// Type name to its samples.
pub fn all() -> Value {
    let mut types = Map::new();
    types.insert("Target".into(), json!(targets()));
    types.insert("Workload".into(), json!(workloads()));
    types.insert("Pacing".into(), json!(pacings()));
    types.insert("Extent".into(), json!(extents()));
    types.insert("Phase".into(), json!(phases()));
    types.insert("Job".into(), json!(jobs()));
    types.insert("Event".into(), json!(events()));
    types.insert("RunResult".into(), json!([result(None), result(Some(arrivals()))]));
    Value::Object(types)
}

fn targets() -> Vec<Target> {
    let firebird = |remote, lock_timeout_s, isolation, lock_resolution| Target::Firebird {
        library: "/opt/firebird/libfbclient.so.2".into(),
        database: "/data/x.fdb".into(),
        user: "SYSDBA".into(),
        remote,
        isolation,
        lock_resolution,
        lock_timeout_s,
    };
    let remote = FirebirdRemote { host: "localhost".into(), port: 3050, password: "masterkey".into() };
    vec![
        Target::Sqlite {
            path: "/data/x.db".into(),
            setup: vec!["pragma journal_mode = wal".into()],
            busy_timeout_ms: 60_000,
        },
        firebird(None, None, FirebirdIsolation::ReadCommitted, FirebirdLockResolution::Wait),
        firebird(Some(remote), Some(10), FirebirdIsolation::Snapshot, FirebirdLockResolution::NoWait),
        Target::Postgres {
            host: "/data/instance".into(),
            port: 5432,
            user: "acidtest".into(),
            password: Some("secret".into()),
            database: "acidtest".into(),
            setup: vec!["set synchronous_commit = off".into()],
            pipeline: true,
        },
        Target::Mysql {
            host: "127.0.0.1".into(),
            port: 3306,
            user: "acidtest".into(),
            password: None,
            database: "acidtest".into(),
            setup: vec!["set session sql_mode = ''".into()],
        },
    ]
}

fn workloads() -> Vec<Workload> {
    vec![
        Workload::Commits { row_bytes: 100 },
        Workload::Tpcb { scale: 2 },
        Workload::Tpcc { warehouses: 4, procedures: true, keying: true },
        Workload::Orders { products: 1_000, orders_per_call: 100, repeatable: true },
        Workload::Iud { rows: 5_000 },
        Workload::Scan { size_mb: 100, read: Read::Natural },
        Workload::Scan { size_mb: 100, read: Read::Sorted },
        Workload::Scan { size_mb: 100, read: Read::Indexed },
        Workload::Oltp { tables: 2, table_rows: 1_000 },
    ]
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
    let mut phases = vec![Phase::Load { sessions: 2, one_by_one: true }, Phase::Check {}];
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
            }));
        }
    }
    phases
}

fn jobs() -> Vec<Job> {
    let inspect = vec![Inspection { name: "journal_mode".into(), sql: "pragma journal_mode".into() }];
    workloads()
        .into_iter()
        .zip(targets().into_iter().cycle())
        .map(|(workload, target)| (target, workload))
        .map(|(target, workload)| Job {
            protocol: PROTOCOL,
            seed: 42,
            target,
            workload,
            inspect: inspect.clone(),
            phases: phases(),
        })
        .collect()
}

fn arrivals() -> ArrivalCounts {
    ArrivalCounts { scheduled: 100, late: 3, unfinished: 1, unfinished_wait_ms_max: 12.5 }
}

fn result(arrivals: Option<ArrivalCounts>) -> RunResult {
    let histogram = Histogram {
        count: 3,
        min_ns: 1_000,
        max_ns: 2_049_000_000,
        mean_ns: 683_001_000.5,
        buckets: vec![(1_000, 2), (2_049_000_000, 1)],
    };
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
        Event::Failed { doing: "loading".into(), message: "disk full".into() },
        Event::Done {},
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sample_survives_the_round_trip() {
        for job in jobs() {
            let text = serde_json::to_string(&job).unwrap();
            assert_eq!(serde_json::from_str::<Job>(&text).unwrap(), job);
        }
        for event in events() {
            let text = serde_json::to_string(&event).unwrap();
            assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event);
        }
    }

    #[test]
    fn unknown_fields_are_refused() {
        for (known, with) in [(r#""seed":42"#, r#""seed":42,"sede":1"#), (r#""terminals":4"#, r#""terminals":4,"x":1"#)]
        {
            let text = serde_json::to_string(&jobs()[0]).unwrap().replacen(known, with, 1);
            assert!(serde_json::from_str::<Job>(&text).is_err(), "{with}");
        }
    }
}
