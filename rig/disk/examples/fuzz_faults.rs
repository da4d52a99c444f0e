//! Fuzzes the language of faults: `fuzz MINUTES [SEED]`. A text that is misread goes into the corpus, which the tests
//! replay.

#[path = "../tests/fuzzing/mod.rs"]
mod fuzzing;

use fuzzing::{corpus, examine, seeds, too_slow, Mutations, WORDS};
use std::time::{Duration, Instant, SystemTime};

/// Bytes of a text that repeats one thing, or two in turn.
const REPEATED: usize = 4_000;

fn main() {
    let mut asked = std::env::args().skip(1);
    let minutes: f64 = asked.next().map_or(10.0, |text| text.parse().expect("minutes are a number"));
    let of_clock = || {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("a clock after 1970");
        u64::from(now.subsec_nanos()) % 1_000_000
    };
    let seed: u64 = asked.next().map_or_else(of_clock, |text| text.parse().expect("a seed is a number"));
    println!("seed {seed}, {minutes} minutes");
    let (began, length) = (Instant::now(), Duration::from_secs_f64(minutes * 60.0));
    let mut mutations = Mutations::new(seed);
    let (mut tried, mut bytes, mut misread) = (0u64, 0u64, 0);
    let pairs = WORDS.iter().flat_map(|one| WORDS.iter().map(move |other| format!("{one}{other}")));
    let mut first = pairs.map(|pair| format!("(lose {}", pair.repeat(REPEATED / pair.len()))).chain(seeds());
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
            misread += 1;
            let path = corpus().join(format!("{seed}-{tried}.txt"));
            println!("{fault}: {}", path.display());
            std::fs::create_dir_all(corpus())
                .and_then(|()| std::fs::write(&path, &text))
                .expect("the corpus can be written");
            if misread == 20 {
                break;
            }
        }
    }
    println!("{tried} texts of {bytes} bytes, {misread} faults (seed {seed})");
    std::process::exit(i32::from(misread > 0));
}
