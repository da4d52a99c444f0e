//! Workloads: schema, load, transactions, consistency conditions. Each is a module with its line in the registry
//! below; SQL that differs by engine lies in files beside it.

mod commits;
mod history;
mod iud;
mod maintenance;
mod numbered;
mod oltp;
mod oltp_emul;
mod orders;
mod own;
mod registry;
mod replay;
mod scan;
mod sql;
mod tpcb;
mod tpcc;

pub use own::Description;
pub use registry::{again, of, samples};

use registry::{known, Known};
use transaction::{Client, Ended, Outcome, Refused, Session};

/// The registry: one line a workload, in the order in which they are told.
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
pub fn describe(message: &protocol::Workload) -> Result<Description, String> {
    if message.name == replay::NAME {
        let replay: replay::Replay = protocol::read_fields(replay::NAME, &message.fields)?;
        return Ok(own::describe_database(&replay.database));
    }
    own::describe(&message.fields)
}

/// Commits, and marks a failure as one of the commit.
async fn commit(client: &mut Client) -> Result<Ended, Refused> {
    client.commit().await.map(|()| Ended::Committed).map_err(|error| Refused { error, at_commit: true })
}

/// The first value of a query that answers one number; NULL (a sum over no rows) counts as 0.
fn number(session: &mut dyn Session, sql: &str) -> Outcome<i64> {
    let rows = session.rows(sql)?;
    Ok(rows.first().and_then(|row| row.first()).and_then(|value| value.as_i64()).unwrap_or(0))
}

/// The flaw of parameters that must be at least 1, the smallest of which is `size`.
fn flaw_if_zero(what: &str, size: u32) -> Option<String> {
    (size == 0).then(|| format!("{what} must be at least 1"))
}

fn condition(name: &str, holds: bool, detail: String) -> protocol::Condition {
    protocol::Condition { name: name.to_string(), holds, detail }
}

/// Text without repetitions to fill rows with, so that an engine that compresses stores as much as one that does not.
const FILLER: &str =
    "q7ZkV3xTnB0cJ5wYhR8dMfLsP2aGu9eKXoI4tQvbC1rWmD6yHjEzNpSgUAFliOxBk3Rj7TqVw5nYc0ZhM8dLsPfGu2aKe9XtI";

/// Six random bits make one.
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// A number in which `number` cannot be recognised (the multiplications of splitmix64's finalizer).
fn mixed(number: u64) -> u64 {
    let bits = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB)
}

/// So many letters, which another seed does not have (splitmix64, six bits a letter). They are the same in every version:
/// databases that were kept are held against them.
fn letters(seed: u64, count: usize) -> String {
    let mut state = seed;
    let mut text = String::with_capacity(count + 10);
    while text.len() < count {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = mixed(state);
        for _ in 0..10 {
            text.push(char::from(LETTERS[(bits & 63) as usize]));
            bits >>= 6;
        }
    }
    text.truncate(count);
    text
}
