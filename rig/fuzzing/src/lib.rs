//! Texts changed at random, each held against what a reader promises: tests read many from a fixed seed, `make fuzz` goes on
//! for minutes and keeps what was misread for the tests.

use rand::{RngExt as _, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rustix::time::{clock_gettime, ClockId};
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// How many misread texts of a kind are kept: many are the same fault.
const KEPT_OF_A_KIND: usize = 5;

/// A dictionary's words, a list in JSON.
pub fn words(json: &str) -> Vec<String> {
    serde_json::from_str(json).expect("a list of words")
}

/// The texts of a folder's files with this extension, by their names; none of a folder that is not there.
pub fn texts(folder: &Path, extension: &str) -> Vec<(String, String)> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let wanted = paths.iter().filter(|path| path.extension().is_some_and(|found| found == extension));
    wanted.map(|path| (path.display().to_string(), std::fs::read_to_string(path).expect("a text"))).collect()
}

/// Makes one text after another, the same ones from the same seed.
pub struct Mutations {
    random: ChaCha8Rng,
    pool: Vec<String>,
    words: Vec<String>,
    length_max: usize,
    /// What reading has answered so far: a text with a new answer is changed further.
    answers: HashSet<u64>,
}

impl Mutations {
    /// Changes `pool` by `words`; no text is longer than `length_max` bytes.
    pub fn new(seed: u64, pool: Vec<String>, words: Vec<String>, length_max: usize) -> Mutations {
        Mutations { random: ChaCha8Rng::seed_from_u64(seed), pool, words, length_max, answers: HashSet::new() }
    }

    fn below(&mut self, limit: usize) -> usize {
        self.random.random_range(0..limit.max(1))
    }

    pub fn changed(&mut self) -> String {
        let at = self.below(self.pool.len());
        let mut text: Vec<char> = self.pool[at].chars().collect();
        for _ in 0..=self.below(6) {
            self.change(&mut text);
        }
        let mut text: String = text.into_iter().collect();
        while text.len() > self.length_max {
            text = text.chars().take(text.chars().count() / 2).collect();
        }
        text
    }

    fn change(&mut self, text: &mut Vec<char>) {
        let from = self.below(text.len() + 1);
        let to = (from + self.below(40)).min(text.len());
        let word = self.below(self.words.len());
        let word: Vec<char> = self.words[word].chars().collect();
        match self.below(8) {
            0 => drop(text.drain(from..to)),
            1 | 2 => drop(text.splice(from..from, word)),
            3 => drop(text.splice(from..to, word)),
            // Many of one thing: what takes longer for each byte the more there are.
            4 => {
                let times = 1 << self.below(15);
                drop(text.splice(from..from, word.repeat(times)));
            }
            5 => {
                let times = 1 << self.below(12);
                let part = text[from..to].repeat(times);
                drop(text.splice(to..to, part));
            }
            6 => {
                let other = self.below(self.pool.len());
                let other: Vec<char> = self.pool[other].chars().collect();
                let begin = self.below(other.len() + 1);
                drop(text.splice(from..to, other[begin..].iter().copied()));
            }
            _ => {
                if let Some(character) = text.get_mut(from) {
                    *character = char::from(self.random.random_range(1u8..127));
                }
            }
        }
    }

    /// Keeps a text whose reading has answered what no other's has.
    pub fn learn(&mut self, text: &str, answer: impl Hash) {
        let mut hasher = DefaultHasher::new();
        answer.hash(&mut hasher);
        if text.len() < 4_096 && self.pool.len() < 4_000 && self.answers.insert(hasher.finish()) {
            self.pool.push(text.to_string());
        }
    }

    /// Examines the next `count` texts. Panics with the first that is misread.
    pub fn examine<A: Hash>(&mut self, count: usize, examine: impl Fn(&str) -> Result<A, String>) {
        for number in 0..count {
            let text = self.changed();
            match examine(&text) {
                Ok(answer) => self.learn(&text, answer),
                Err(fault) => panic!("{fault} in text {number}:\n{text}"),
            }
        }
    }
}

/// Processor time that any text may take, and for each byte.
#[derive(Clone, Copy)]
pub struct Grant {
    pub text_ns: u64,
    pub byte_ns: u64,
}

impl Grant {
    /// The processor time that `read` takes, beyond what is granted for the text's length; None within that.
    pub fn exceeded(self, text: &str, read: impl Fn(&str)) -> Option<String> {
        let now = || {
            let time = clock_gettime(ClockId::ThreadCPUTime);
            time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
        };
        let read_ns = || {
            let before = now();
            read(text);
            now() - before
        };
        // The least of three: something else may have taken this thread's caches.
        let taken = (0..3).map(|_| read_ns()).min().unwrap_or_default();
        (taken > self.text_ns + self.byte_ns * text.len() as u64)
            .then(|| format!("{} us for {} bytes", taken / 1_000, text.len()))
    }
}

/// The command `fuzz MINUTES [SEED]`: examines `first` and then mutations, made from a seed, and keeps what is misread in
/// `corpus`, with this extension. Exits with 1 where anything was.
pub fn command<A: Hash>(
    corpus: (&Path, &str),
    mutations: impl FnOnce(u64) -> Mutations,
    mut first: impl Iterator<Item = String>,
    examine: impl Fn(&str) -> Result<A, String>,
    too_slow: impl Fn(&str) -> Option<String>,
) -> ! {
    let mut arguments = std::env::args().skip(1);
    let minutes: f64 = arguments.next().map_or(10.0, |text| text.parse().expect("minutes are a number"));
    let of_clock = || {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("a clock after 1970");
        u64::from(now.subsec_nanos()) % 1_000_000
    };
    let seed: u64 = arguments.next().map_or_else(of_clock, |text| text.parse().expect("a seed is a number"));
    println!("seed {seed}, {minutes} minutes");
    // A panic is printed once, by its place.
    std::panic::set_hook(Box::new(|panic| eprintln!("{panic}")));
    let (began, length) = (Instant::now(), Duration::from_secs_f64(minutes * 60.0));
    let mut mutations = mutations(seed);
    let (mut tried, mut bytes, mut misread) = (0u64, 0u64, HashMap::<String, usize>::new());
    while began.elapsed() < length {
        let text = first.next().unwrap_or_else(|| mutations.changed());
        (tried, bytes) = (tried + 1, bytes + text.len() as u64);
        let fault = match examine(&text) {
            Ok(answer) => {
                mutations.learn(&text, answer);
                too_slow(&text)
            }
            Err(fault) => Some(fault),
        };
        let Some(fault) = fault else { continue };
        let (folder, extension) = corpus;
        let path = folder.join(format!("{seed}-{tried}.{extension}"));
        println!("{fault}: {}", path.display());
        let kind = misread.entry(fault.chars().filter(|c| c.is_alphabetic()).collect()).or_default();
        *kind += 1;
        if *kind <= KEPT_OF_A_KIND {
            let kept = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, &text));
            kept.expect("the corpus can be written");
        }
    }
    println!("{tried} texts of {bytes} bytes, {} faults (seed {seed})", misread.values().sum::<usize>());
    std::process::exit(i32::from(!misread.is_empty()));
}
