//! Fuzzes the language of scripts: `fuzz MINUTES [SEED]`. A script that is a fault goes into the corpus, which the tests
//! replay.

#[path = "../tests/fuzzing/mod.rs"]
mod fuzzing;

use fuzzing::{corpus, examine, known, read, seeds, Mutations, WORDS};
use language::{expression, statements, Source};
use rustix::time::{clock_gettime, ClockId};
use std::collections::HashSet;
use std::time::{Duration, Instant, SystemTime};

/// Bytes of a script that repeats one thing.
const REPEATED: usize = 16 << 10;
/// Processor time that any script may take, and for each byte.
const TIME_NS: u64 = 20_000_000;
const BYTE_NS: u64 = 2_000;

fn main() {
    let mut asked = std::env::args().skip(1);
    let minutes: f64 = asked.next().map_or(10.0, |text| text.parse().expect("minutes are a number"));
    let of_clock = || {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("a clock after 1970");
        u64::from(now.subsec_nanos()) % 1_000_000
    };
    let seed: u64 = asked.next().map_or_else(of_clock, |text| text.parse().expect("a seed is a number"));
    println!("seed {seed}, {minutes} minutes");
    // What panics says so once, by its place.
    std::panic::set_hook(Box::new(|panic| eprintln!("{panic}")));
    let (began, length) = (Instant::now(), Duration::from_secs_f64(minutes * 60.0));
    let mut mutations = Mutations::new(seed);
    let (mut tried, mut bytes, mut faults) = (0u64, 0u64, HashSet::new());
    let mut first = repeated().chain(seeds());
    while began.elapsed() < length {
        let text = first.next().unwrap_or_else(|| mutations.next());
        (tried, bytes) = (tried + 1, bytes + text.len() as u64);
        let found = match examine(&text) {
            Ok(answer) => {
                mutations.learn(&text, answer);
                too_slow(&text)
            }
            Err(fault) => Some(fault),
        };
        if let Some(fault) = found {
            let kind: String = fault.chars().filter(|c| c.is_alphabetic()).collect();
            let path = corpus().join(format!("{seed}-{tried}.sql"));
            println!("{fault}: {}", path.display());
            // A few of each kind: many scripts are the same fault.
            if faults.iter().filter(|(known, _)| *known == kind).count() < 5 {
                std::fs::write(&path, &text).expect("the corpus can be written");
            }
            faults.insert((kind, tried));
        }
    }
    println!("{tried} scripts of {bytes} bytes, {} faults (seed {seed})", faults.len());
    std::process::exit(i32::from(!faults.is_empty()));
}

/// Scripts that repeat one thing, and two in turn: what takes longer for each byte the more there are.
fn repeated() -> impl Iterator<Item = String> {
    let many = |unit: &str| unit.repeat(REPEATED / unit.len());
    let pair = move |(one, other): (&str, &str)| [many(&format!("{one}{other}")), many(&format!("{one} {other}\n"))];
    let pairs = WORDS.iter().flat_map(|one| WORDS.iter().map(|other| (*one, *other)));
    let (one, other) = (many("x"), many("y"));
    let names = [format!("\\set {one} 1\nselect :{other};"), format!("\\set {one} :{other}"), format!("\\{one}")];
    names.into_iter().chain(pairs.flat_map(pair))
}

/// The processor time that reading it takes, beyond what is granted for its length; None within that.
fn too_slow(text: &str) -> Option<String> {
    // The least of three: something else may have taken this thread's caches.
    let taken = (0..3).map(|_| read_ns(text)).min().unwrap_or_default();
    let granted = TIME_NS + BYTE_NS * text.len() as u64;
    (taken > granted).then(|| format!("{} ms for {} bytes", taken / 1_000_000, text.len()))
}

fn read_ns(text: &str) -> u64 {
    let now = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    };
    let before = now();
    let source = Source { path: "fuzz.sql", text };
    let _ = (statements(source).is_ok(), read(source).is_ok(), expression(text, 1, &mut known()).is_ok());
    now() - before
}
