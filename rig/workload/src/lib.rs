//! Workloads: schema, load, transactions, consistency conditions. Each is a module with its line in the registry
//! below; SQL that differs by engine is in files beside it.

mod commits;
mod common;
mod history;
mod iud;
mod kind;
mod maintenance;
mod numbered;
mod oltp;
mod oltp_emul;
mod orders;
mod own;
mod replay;
mod scan;
mod sql;
mod tpcb;
mod tpcc;

pub use own::Description;

use kind::{known, Known, Read};

/// The registry: one line a workload, in the order in which they are listed.
const WORKLOADS: &[Known] = &[
    known::<commits::Commits>(),
    known::<tpcb::Tpcb>(),
    known::<tpcc::Parameters>(),
    known::<orders::Orders>(),
    known::<iud::Iud>(),
    known::<scan::Parameters>(),
    known::<oltp::Oltp>(),
    known::<numbered::Numbered>(),
    known::<history::Parameters>(),
    known::<maintenance::Parameters>(),
    known::<own::Own>(),
    known::<replay::Replay>(),
    known::<oltp_emul::Parameters>(),
];

/// What a message says of a workload with files of the user's own. An error says that it is no such message.
pub fn describe(message: &protocol::Workload) -> Result<own::Description, String> {
    if message.name == replay::NAME {
        let replay: replay::Replay = protocol::read_fields(replay::NAME, &message.fields)?;
        return Ok(own::describe_database(&replay.database));
    }
    own::describe(&message.fields)
}

fn find(message: &protocol::Workload) -> Result<&'static Known, String> {
    WORKLOADS.iter().find(|known| known.name == message.name).ok_or_else(|| {
        let names: Vec<_> = WORKLOADS.iter().map(|known| known.name).collect();
        format!("the workload {} is none of {}", message.name, names.join(", "))
    })
}

/// The workload that a job names; `seed` is the job's. An error says what in the message cannot be followed.
pub fn of(message: &protocol::Workload, seed: u64) -> Read {
    (find(message)?.workload)(&message.fields, seed)
}

pub fn again(message: &protocol::Workload) -> Result<protocol::Workload, String> {
    let fields = (find(message)?.again)(&message.fields)?;
    Ok(protocol::Workload { name: message.name.clone(), fields })
}

/// Messages of every workload, every field filled.
pub fn samples() -> Vec<protocol::Workload> {
    let of = |known: &Known| {
        let message = |fields| protocol::Workload { name: known.name.to_string(), fields };
        (known.samples)().into_iter().map(message).collect::<Vec<_>>()
    };
    WORKLOADS.iter().flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(json: &str) -> String {
        let message = serde_json::from_str(json).unwrap();
        let refused = of(&message, 1).err().unwrap_or_else(|| panic!("{json} is taken"));
        assert_eq!(again(&message).unwrap_err(), refused);
        refused
    }

    #[test]
    fn every_sample_is_read_and_written_as_it_was() {
        for message in samples() {
            assert_eq!(again(&message), Ok(message.clone()));
            assert!(of(&message, 1).is_ok());
        }
    }

    #[test]
    fn what_a_workload_does_not_know_or_lacks_is_refused() {
        for message in samples() {
            for name in message.fields.keys() {
                let mut less = message.clone();
                less.fields.remove(name);
                let error = again(&less).unwrap_err();
                assert!(error.starts_with(&format!("{}: missing field `{name}`", message.name)), "{error}");
                let mut wrong = message.clone();
                wrong.fields[name] = (-1).into();
                assert!(again(&wrong).is_err(), "{name} of {}", message.name);
            }
            let mut more = message.clone();
            more.fields.insert("surplus".to_string(), 1.into());
            let error = again(&more).unwrap_err();
            assert!(error.starts_with(&format!("{}: unknown field `surplus`", message.name)), "{error}");
        }
    }

    #[test]
    fn a_workload_that_is_not_known_is_refused_with_the_names_of_those_that_are() {
        let error = refused(r#"{"name":"tpcz","scale":1}"#);
        let names = error.strip_prefix("the workload tpcz is none of ").unwrap();
        assert!(names.split(", ").eq(WORKLOADS.iter().map(|known| known.name)), "{error}");
    }

    #[test]
    fn what_cannot_be_followed_is_refused_in_plain_words() {
        for (json, flaw) in [
            (r#"{"name":"tpcb","scale":0}"#, "scale must be at least 1"),
            (r#"{"name":"iud","rows":0,"commit":"all"}"#, "rows must be at least 1"),
            (r#"{"name":"scan","size_mb":0,"read":"natural"}"#, "size_mb must be at least 1"),
            (
                r#"{"name":"maintenance","data":"tpcb","scale":0,"operation":"backup","level":0,"changed_percent":0,
                    "page_bytes":0,"parallel":1,"compress":false,"garbage_collect":true,"replace":false,"flush":true}"#,
                "scale and parallel must be at least 1",
            ),
            (
                r#"{"name":"maintenance","data":"tpcb","scale":1,"operation":"backup","level":2,"changed_percent":0,
                    "page_bytes":0,"parallel":1,"compress":false,"garbage_collect":true,"replace":false,"flush":true}"#,
                "level or changed_percent is out of range",
            ),
            (r#"{"name":"oltp","tables":1,"table_rows":0}"#, "tables and table_rows must be at least 1"),
            (
                r#"{"name":"orders","products":0,"orders_per_call":1,"repeatable":true,"lines":6}"#,
                "products and orders_per_call must be at least 1",
            ),
            (r#"{"name":"numbered","terminals":0,"parts":1,"row_bytes":1}"#, "terminals and parts must be at least 1"),
            (r#"{"name":"numbered","terminals":10001,"parts":1,"row_bytes":1}"#, "terminals or parts is out of range"),
            (r#"{"name":"numbered","terminals":1,"parts":257,"row_bytes":1}"#, "terminals or parts is out of range"),
            (
                r#"{"name":"tpcc","warehouses":0,"percent":1,"procedures":false,"keying":false,"roaming":false}"#,
                "warehouses must be at least 1",
            ),
            (
                r#"{"name":"tpcc","warehouses":1,"percent":101,"procedures":false,"keying":false,"roaming":false}"#,
                "percent is out of range",
            ),
        ] {
            assert_eq!(refused(json), flaw);
        }
    }
}
