//! What several workloads use: a commit, a number that a query answers, conditions, and text to fill rows with.

use rand::Rng as _;
use transaction::{Client, Ended, KindSpec, Outcome, Refused, Rng, Session, Value};

pub async fn commit(client: &mut Client) -> Result<Ended, Refused> {
    client.commit().await.map(|()| Ended::Committed).map_err(|error| Refused { error, at_commit: true })
}

/// The first value of a query that answers one number; NULL (a sum over no rows) counts as 0.
pub fn number(session: &mut dyn Session, sql: &str) -> Outcome<i64> {
    let rows = session.rows(sql)?;
    Ok(rows.first().and_then(|row| row.first()).and_then(|value| value.as_i64()).unwrap_or(0))
}

pub fn ints<const N: usize>(numbers: [i64; N]) -> [Value; N] {
    numbers.map(Value::Int)
}

/// A whole number of an answer; anything else counts as 0.
pub fn int(row: &[Value], at: usize) -> i64 {
    row[at].as_i64().unwrap_or_default()
}

/// The flaw of parameters that must be at least 1, the smallest of which is `size`.
pub fn flaw_if_zero(what: &str, size: u32) -> Option<String> {
    (size == 0).then(|| format!("{what} must be at least 1"))
}

pub fn condition(name: &str, holds: bool, detail: String) -> protocol::Condition {
    protocol::Condition { name: name.to_string(), holds, detail }
}

/// A condition that no row breaks: `sql` counts those that do.
pub fn none_differs(session: &mut dyn Session, name: &str, sql: &str) -> Outcome<protocol::Condition> {
    let wrong = number(session, sql)?;
    Ok(condition(name, wrong == 0, format!("{wrong} differ")))
}

pub fn cardinality(session: &mut dyn Session, table: &str, wanted: i64) -> Outcome<protocol::Condition> {
    let rows = number(session, &format!("select count(*) from {table}"))?;
    Ok(condition(&format!("{table}_cardinality"), rows == wanted, format!("{rows} rows, {wanted} wanted")))
}

/// Kinds of transactions by the names that a message gives them. A process reads one workload: the names live as long as it.
pub fn kinds_named<'a>(names: impl Iterator<Item = &'a String>) -> &'static [KindSpec] {
    let kind = |name: &String| KindSpec { name: Box::leak(name.clone().into_boxed_str()), limit_ms: None };
    Box::leak(names.map(kind).collect::<Vec<_>>().into_boxed_slice())
}

/// Text without repetitions to fill rows with, so that an engine that compresses stores as much as one that does not.
pub const FILLER: &str =
    "q7ZkV3xTnB0cJ5wYhR8dMfLsP2aGu9eKXoI4tQvbC1rWmD6yHjEzNpSgUAFliOxBk3Rj7TqVw5nYc0ZhM8dLsPfGu2aKe9XtI";

/// Six random bits make one.
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Makes a text of so many letters without repetition: an engine that compresses stores as much as one that does not. The
/// text keeps its memory.
pub fn random_letters(value: &mut Value, count: usize, rng: &mut Rng) {
    let text = value.empty_text();
    for begins in (0..count).step_by(10) {
        let mut bits = rng.next_u64();
        for _ in begins..count.min(begins + 10) {
            text.push(char::from(LETTERS[(bits & 63) as usize]));
            bits >>= 6;
        }
    }
}

/// A number in which `number` cannot be recognised (the multiplications of splitmix64's finalizer).
pub fn mixed(number: u64) -> u64 {
    let bits = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB)
}

/// So many letters, which another seed does not have (splitmix64, six bits a letter). They are the same in every version:
/// databases that were kept are held against them.
pub fn letters(seed: u64, count: usize) -> String {
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
