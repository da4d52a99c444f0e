//! Faults changed at random, and what must hold of each: it is read, and then it prints as what reads the same; or it is
//! refused in words that name a column which it has; and all of it in a time that grows with its length alone.

use disk::check_fault;
use rand::{RngExt as _, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rustix::time::{clock_gettime, ClockId};
use std::collections::HashSet;
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
/// What is put in at random.
pub const WORDS: [&str; 50] = [
    "(",
    ")",
    "((",
    "))",
    " ",
    "\n",
    "\t",
    "fail",
    "drop",
    "lie",
    "tear",
    "lose",
    "misdirect",
    "rot",
    "slow",
    "delay",
    "stop",
    "vanish",
    "cut",
    "torn",
    "always",
    "reads",
    "writes",
    "flushes",
    "once",
    "(range ",
    "(nth ",
    "(every ",
    "(after ",
    "(randomly ",
    "(not ",
    "(and ",
    "(or ",
    "EIO",
    "enospc",
    "0",
    "1",
    "18446744073709551615",
    "18446744073709551616",
    "16777216T",
    "1M",
    "60s",
    "1us",
    "0.5",
    "1e9",
    "-1",
    "ä",
    "\u{1F418}",
    "\u{0}",
    ".",
];
/// Longest of the faults that are made.
const LENGTH_MAX: usize = 64 << 10;
/// Processor time that any fault may take, and for each byte.
const TIME_NS: u64 = 5_000_000;
const BYTE_NS: u64 = 1_000;

pub fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

/// Faults that are right, and those in the corpus.
pub fn seeds() -> Vec<String> {
    let kept = std::fs::read_dir(corpus()).into_iter().flatten();
    let mut paths: Vec<PathBuf> = kept.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let kept = paths.iter().map(|path| std::fs::read_to_string(path).expect("a fault"));
    SEEDS.iter().map(ToString::to_string).chain(kept).collect()
}

/// Makes one fault after another, the same ones from the same seed.
pub struct Mutations {
    random: ChaCha8Rng,
    pool: Vec<String>,
    /// What reading has answered so far: a fault with a new answer is changed further.
    answers: HashSet<String>,
}

impl Mutations {
    pub fn new(seed: u64) -> Mutations {
        Mutations { random: ChaCha8Rng::seed_from_u64(seed), pool: seeds(), answers: HashSet::new() }
    }

    fn below(&mut self, limit: usize) -> usize {
        self.random.random_range(0..limit.max(1))
    }

    pub fn next(&mut self) -> String {
        let at = self.below(self.pool.len());
        let mut text: Vec<char> = self.pool[at].chars().collect();
        for _ in 0..=self.below(5) {
            self.change(&mut text);
        }
        text.into_iter().take(LENGTH_MAX).collect()
    }

    fn change(&mut self, text: &mut Vec<char>) {
        let from = self.below(text.len() + 1);
        let to = (from + self.below(20)).min(text.len());
        let word: Vec<char> = WORDS[self.below(WORDS.len())].chars().collect();
        match self.below(6) {
            0 => drop(text.drain(from..to)),
            1 | 2 => drop(text.splice(from..to, word)),
            // Many of one thing: what takes longer for each byte the more there are.
            3 => {
                let times = 1 << self.below(13);
                let many: Vec<char> = word.iter().copied().cycle().take(word.len() * times).collect();
                drop(text.splice(from..from, many));
            }
            4 => {
                let part = text[from..to].to_vec();
                drop(text.splice(to..to, part));
            }
            _ => {
                let other = self.below(self.pool.len());
                let other: Vec<char> = self.pool[other].chars().collect();
                let begin = self.below(other.len() + 1);
                drop(text.splice(from..to, other[begin..].iter().copied()));
            }
        }
    }

    /// Keeps a fault whose reading has answered what no other's has.
    pub fn learn(&mut self, text: &str, answer: String) {
        if text.len() < 2_048 && self.pool.len() < 4_000 && self.answers.insert(answer) {
            self.pool.push(text.to_string());
        }
    }
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

/// The processor time that reading it takes, beyond what is granted for its length; None within that.
pub fn too_slow(text: &str) -> Option<String> {
    let now = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    };
    // The least of three: something else may have taken this thread's caches.
    let read_ns = || {
        let before = now();
        let _ = check_fault(text);
        now() - before
    };
    let taken = (0..3).map(|_| read_ns()).min().unwrap_or_default();
    let granted = TIME_NS + BYTE_NS * text.len() as u64;
    (taken > granted).then(|| format!("{} us for {} bytes", taken / 1_000, text.len()))
}
