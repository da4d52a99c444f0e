//! Scripts changed at random with a fixed seed, and those that were faults once. `make fuzz WHAT=scripts` goes on.

mod fuzzing;

use fuzzing::{corpus, examine, scripts, seeds, Mutations};

#[test]
fn a_changed_script_is_read_or_refused() {
    let mut mutations = Mutations::new(20_260_101);
    for number in 0..6_000 {
        let text = mutations.next();
        match examine(&text) {
            Ok(answer) => mutations.learn(&text, answer),
            Err(fault) => panic!("{fault} in script {number}:\n{text}"),
        }
    }
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
    let kept = scripts(&corpus());
    assert!(!kept.is_empty());
    for (name, text) in kept {
        examine(&text).unwrap_or_else(|fault| panic!("{fault}: {name}"));
    }
}
