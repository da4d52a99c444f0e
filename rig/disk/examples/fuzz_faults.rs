//! Fuzzes the language of faults; see [`fuzzing::command`].

#[path = "../tests/faults/mod.rs"]
mod faults;

use faults::{corpus, examine, mutations, seeds, too_slow, words};

/// Bytes of a text that repeats two words in turn.
const REPEATED: usize = 4_000;

fn main() {
    let words = words();
    let pairs = words.iter().flat_map(|one| words.iter().map(move |other| format!("{one}{other}")));
    let repeated = pairs.map(|pair| format!("(lose {}", pair.repeat(REPEATED / pair.len())));
    fuzzing::command((&corpus(), "txt"), mutations, repeated.chain(seeds()), examine, too_slow)
}
