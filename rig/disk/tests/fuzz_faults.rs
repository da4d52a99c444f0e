//! Faults changed at random with a fixed seed, and those that were misread once. `make fuzz WHAT=disk-faults` goes on.

mod faults;

use faults::{examine, mutations, seeds, too_slow, words};

#[test]
fn a_changed_fault_is_read_or_refused() {
    mutations(20_260_101).examine(20_000, examine);
}

#[test]
fn every_beginning_of_a_fault_is_read_or_refused() {
    for text in seeds() {
        for (end, _) in text.char_indices() {
            examine(&text[..end]).unwrap_or_else(|fault| panic!("{fault}:\n{}", &text[..end]));
        }
    }
}

#[test]
fn what_repeats_one_thing_takes_time_by_its_length() {
    for word in words() {
        for text in [word.repeat(16_384 / word.len()), format!("(lose {}", word.repeat(3_000 / word.len()))] {
            examine(&text).unwrap_or_else(|fault| panic!("{fault}: {word} repeated"));
            assert_eq!(too_slow(&text), None, "{word} repeated");
        }
    }
}
