//! Scripts changed at random with a fixed seed, and those that were faults once. `make fuzz WHAT=scripts` goes on.

mod scripts;

use fuzzing::texts;
use scripts::{corpus, examine, mutations, seeds};

#[test]
fn a_changed_script_is_read_or_refused() {
    mutations(20_260_101).examine(6_000, examine);
}

#[test]
fn every_beginning_of_a_script_is_read_or_refused() {
    for text in seeds().iter().filter(|text| text.len() < 4_096) {
        for (end, _) in text.char_indices() {
            examine(&text[..end]).unwrap_or_else(|fault| panic!("{fault}:\n{}", &text[..end]));
        }
    }
}

#[test]
fn what_was_a_fault_is_none_any_more() {
    let kept = texts(&corpus(), "sql");
    assert!(!kept.is_empty());
    for (name, text) in kept {
        examine(&text).unwrap_or_else(|fault| panic!("{fault}: {name}"));
    }
}
