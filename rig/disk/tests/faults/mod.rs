//! What must hold of every fault: it is read, and then it prints as what reads the same; or it is refused in words that name
//! a column which it has; and all of it in a time that grows with its length alone.

use disk::check_fault;
use fuzzing::{texts, Grant, Mutations};
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

const SEEDS: [&str; 10] = [
    "(fail EIO (and writes (range 1M 2M) (nth 3)))",
    "(misdirect 64K (or (every 7) (and once (not (range 0 4096)))))",
    "(rot 3 (and reads (randomly 0.25 99)))",
    "(slow 10.5 (after 1000))",
    "(stop 2s (and flushes (nth 2)))",
    "(delay 250us)",
    "(cut torn (and writes (nth 5)))",
    "(lose (not (not (or reads writes flushes always))))",
    "eio on write at 1048576 once",
    "stop after 1000 requests fail after 5 s",
];
const LENGTH_MAX: usize = 64 << 10;
const GRANT: Grant = Grant { text_ns: 5_000_000, byte_ns: 1_000 };

pub fn words() -> Vec<String> {
    fuzzing::words(include_str!("../words.json"))
}

pub fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

/// Faults that are right, and those in the corpus.
pub fn seeds() -> Vec<String> {
    let kept = texts(&corpus(), "txt").into_iter().map(|(_, text)| text);
    SEEDS.iter().map(ToString::to_string).chain(kept).collect()
}

pub fn mutations(seed: u64) -> Mutations {
    Mutations::new(seed, seeds(), words(), LENGTH_MAX)
}

/// The outcome of one fault: an answer that distinguishes it from others, or what is wrong with the reader.
pub fn examine(text: &str) -> Result<String, String> {
    let read = catch_unwind(|| check_fault(text)).map_err(|_| "a panic".to_string())?;
    let shape = |words: &str| words.chars().filter(|c| !c.is_ascii_digit()).take(120).collect::<String>();
    match read {
        Ok(printed) if check_fault(&printed).as_ref() == Ok(&printed) => Ok(shape(&printed)),
        Ok(printed) => Err(format!("it prints as {printed}, which does not")),
        Err(words) => {
            if let Some((_, column)) = words.rsplit_once("at column ") {
                let column = column.split(':').next().and_then(|text| text.parse().ok()).unwrap_or(0);
                if !(1..=text.chars().count() + 1).contains(&column) {
                    return Err(format!("column {column} of {}", text.chars().count()));
                }
            }
            if words.is_empty() || words.len() > 2_000 {
                return Err(format!("a refusal of {} bytes", words.len()));
            }
            Ok(shape(words.rsplit_once("expected").map_or(&words, |(_, words)| words)))
        }
    }
}

pub fn too_slow(text: &str) -> Option<String> {
    GRANT.exceeded(text, |text| drop(check_fault(text)))
}
