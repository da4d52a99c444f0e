//! Fuzzes the language of scripts; see [`fuzzing::command`].

#[path = "../tests/scripts/mod.rs"]
mod scripts;

use fuzzing::Grant;
use language::{expression, statements, Source};
use scripts::{corpus, examine, known, mutations, read, seeds, words};

/// Bytes of a script that repeats one thing.
const REPEATED: usize = 16 << 10;
const GRANT: Grant = Grant { text_ns: 20_000_000, byte_ns: 2_000 };

fn main() {
    let words = words();
    // Scripts that repeat one thing, and two in turn: what takes longer for each byte the more there are.
    let many = |unit: &str| unit.repeat(REPEATED / unit.len());
    let pairs = words.iter().flat_map(|one| words.iter().map(move |other| (one, other)));
    let pairs = pairs.flat_map(|(one, other)| [many(&format!("{one}{other}")), many(&format!("{one} {other}\n"))]);
    let (one, other) = (many("x"), many("y"));
    let names = [format!("\\set {one} 1\nselect :{other};"), format!("\\set {one} :{other}"), format!("\\{one}")];
    let too_slow = |text: &str| {
        GRANT.exceeded(text, |text| {
            let source = Source { path: "fuzz.sql", text };
            let _ = (statements(source).is_ok(), read(source).is_ok(), expression(text, 1, &mut known()).is_ok());
        })
    };
    let first = names.into_iter().chain(pairs).chain(seeds());
    fuzzing::command((&corpus(), "sql"), mutations, first, examine, too_slow)
}
