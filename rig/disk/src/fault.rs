//! What a drive does wrong, as an expression that prints and parses back:
//!
//!     lie-about-flush               a flush is answered at once and nothing leaves the cache
//!     ignore-write-through          a write with FUA is answered from the cache and stays there; flushes are honoured
//!     tear                          a write that a power cut finds in the cache survives in part
//!     reorder                       the cache is emptied in no order
//!     eio on read|write|flush       it fails with EIO; a failed write is not taken, what the cache held stays there
//!     drop on flush                 it fails with EIO, and what the cache held is gone
//!     stop after 1000 writes        nothing is answered from then on (reads, writes, flushes or requests) for 30 s, after
//!                                   which all that waits and all that comes fails with EIO: nobody waits for ever
//!     stop after 9 reads fail after 5 s    the same, sooner
//!     (fail EIO (and writes (nth 3)))      whatever the rule says, see [`super::rule`]
//!
//! All but `ignore-write-through`, `reorder` and `stop` may say when, counting requests of their kind from the moment the fault is there:
//! `5` (the fifth), `every 3rd`, `after 10`, `at 1048576` (whatever touches that byte), `at 1048576 once`.

use super::rule::{self, NoRule, Op, Rule, Watcher};
use std::fmt;
use std::str::FromStr;

#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    LieAboutFlush(When),
    IgnoreWriteThrough,
    Tear(When),
    Reorder,
    Eio(Op, When),
    DropOnFlush(When),
    Stop(Stop),
    Rule(Box<Rule>),
}

/// Nothing is answered after so many requests, of one kind or (`None`) of any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stop {
    after: u64,
    of: Option<Op>,
    /// What waits is given up after so long, where a time is given.
    fail_after_s: Option<u64>,
}

/// As long as Linux waits for a SCSI disk before it gives a request up (`/sys/block/*/device/timeout`).
const FAIL_AFTER_S: u64 = 30;
/// Whatever calls sync(2) on this machine waits as long as the disk does.
const FAIL_AFTER_S_MAX: u64 = 60;

impl Stop {
    pub fn fail_after_ns(self) -> u64 {
        self.fail_after_s.unwrap_or(FAIL_AFTER_S) * 1_000_000_000
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    Always,
    /// The first is 1.
    Nth(u64),
    Every(u64),
    After(u64),
    At {
        byte: u64,
        once: bool,
    },
}

impl Fault {
    /// The kind of request that it counts and strikes; `None`: any.
    fn op(&self) -> Option<Op> {
        match self {
            Fault::LieAboutFlush(_) | Fault::DropOnFlush(_) => Some(Op::Flush),
            Fault::IgnoreWriteThrough => Some(Op::WriteThrough),
            Fault::Tear(_) => Some(Op::Write),
            Fault::Eio(op, _) => Some(*op),
            Fault::Reorder | Fault::Rule(_) => None,
            Fault::Stop(stop) => stop.of,
        }
    }
}

#[derive(Debug, Clone)]
pub struct Active {
    pub fault: Fault,
    seen: u64,
    pub struck: u64,
    /// Of a rule.
    watcher: Option<Watcher>,
}

impl Active {
    /// `seed` is for what a rule draws at random without its own seed.
    pub fn new(fault: Fault, seed: u64) -> Self {
        let watcher = match &fault {
            Fault::Rule(rule) => Some(Watcher::new(rule, seed)),
            _ => None,
        };
        Active { fault, seen: 0, struck: 0, watcher }
    }

    /// Counts a request; whether the fault strikes it.
    pub fn strikes(&mut self, op: Op, at: u64, length: u64) -> bool {
        if self.fault.op().is_some_and(|mine| !op.is(mine)) {
            return false;
        }
        self.seen += 1;
        let strikes = match self.fault {
            Fault::Rule(_) => self.watcher.as_mut().is_some_and(|watcher| watcher.strikes(op, at, length)),
            Fault::Reorder => false,
            Fault::IgnoreWriteThrough => true,
            Fault::Stop(stop) => self.seen > stop.after,
            Fault::LieAboutFlush(when) | Fault::Tear(when) | Fault::Eio(_, when) | Fault::DropOnFlush(when) => {
                match when {
                    When::Always => true,
                    When::Nth(n) => self.seen == n,
                    When::Every(n) => self.seen.is_multiple_of(n),
                    When::After(n) => self.seen > n,
                    When::At { byte, once } => (at..at + length).contains(&byte) && !(once && self.struck > 0),
                }
            }
        };
        self.struck += u64::from(strikes);
        strikes
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Op::Read => "read",
            Op::Write => "write",
            Op::Flush => "flush",
            Op::WriteThrough => "write-through",
        })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::LieAboutFlush(when) => write!(f, "lie-about-flush{when}"),
            Fault::IgnoreWriteThrough => f.write_str("ignore-write-through"),
            Fault::Tear(when) => write!(f, "tear{when}"),
            Fault::Reorder => f.write_str("reorder"),
            Fault::Eio(op, when) => write!(f, "eio on {op}{when}"),
            Fault::DropOnFlush(when) => write!(f, "drop on flush{when}"),
            Fault::Rule(rule) => rule.fmt(f),
            Fault::Stop(Stop { after, of, fail_after_s }) => {
                write!(f, "stop after {after} {}", plural(*of))?;
                fail_after_s.map_or(Ok(()), |seconds| write!(f, " fail after {seconds} s"))
            }
        }
    }
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            When::Always => Ok(()),
            When::Nth(n) => write!(f, " {n}"),
            When::Every(n) => write!(f, " every {n}{}", ending(*n)),
            When::After(n) => write!(f, " after {n}"),
            When::At { byte, once } => write!(f, " at {byte}{}", if *once { " once" } else { "" }),
        }
    }
}

fn ending(n: u64) -> &'static str {
    match (n % 10, n % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    }
}

fn plural(op: Option<Op>) -> &'static str {
    match op {
        Some(Op::Read) => "reads",
        Some(Op::Write) => "writes",
        Some(Op::Flush | Op::WriteThrough) => "flushes",
        None => "requests",
    }
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoFault {
    #[error(
        "\"{0}\" is no fault; write a rule as (fail EIO (and writes (nth 3))), see acidtest help docs/DISK.md; or lie-about-flush, tear, \
         eio on read|write|flush or drop on flush, each alone or followed by 5, every 3rd, after 10 or at BYTE [once]; or \
         ignore-write-through or reorder; or stop after 1000 reads|writes|flushes|requests, alone or followed by fail \
         after 5 s (1 to 60)"
    )]
    Phrase(String),
    #[error("the fault \"{text}\" is no rule: {why}")]
    Rule { text: String, why: NoRule },
}

impl FromStr for Fault {
    type Err = NoFault;

    fn from_str(text: &str) -> Result<Self, NoFault> {
        let shown = || match text.char_indices().nth(80) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text.to_string(),
        };
        if text.contains(['(', ')']) {
            let read = rule::parse(text).map_err(|why| NoFault::Rule { text: shown(), why })?;
            return Ok(Fault::Rule(Box::new(read)));
        }
        let words: Vec<&str> = text.split_ascii_whitespace().take(WORDS_MAX + 1).collect();
        parse(&words).ok_or_else(|| NoFault::Phrase(shown()))
    }
}

/// Of the longest phrase.
const WORDS_MAX: usize = 8;

fn parse(words: &[&str]) -> Option<Fault> {
    Some(match words {
        ["lie-about-flush", when @ ..] => Fault::LieAboutFlush(parse_when(when, Op::Flush)?),
        ["ignore-write-through"] => Fault::IgnoreWriteThrough,
        ["tear", when @ ..] => Fault::Tear(parse_when(when, Op::Write)?),
        ["reorder"] => Fault::Reorder,
        ["eio", "on", op, when @ ..] => {
            let op = [Op::Read, Op::Write, Op::Flush].into_iter().find(|one| one.to_string() == *op)?;
            Fault::Eio(op, parse_when(when, op)?)
        }
        ["drop", "on", "flush", when @ ..] => Fault::DropOnFlush(parse_when(when, Op::Flush)?),
        ["stop", "after", n, ops, limit @ ..] => {
            let known = [Some(Op::Read), Some(Op::Write), Some(Op::Flush), None];
            let of = known.into_iter().find(|one| plural(*one) == *ops)?;
            let fail_after_s = match limit {
                [] => None,
                ["fail", "after", s, "s"] => Some(number(s).filter(|s| (1..=FAIL_AFTER_S_MAX).contains(s))?),
                _ => return None,
            };
            Fault::Stop(Stop { after: number(n)?, of, fail_after_s })
        }
        _ => return None,
    })
}

fn parse_when(words: &[&str], op: Op) -> Option<When> {
    // A flush is of the whole disk: none is at a byte.
    Some(match words {
        [] => When::Always,
        ["every", ordinal] => {
            let n = number(ordinal.trim_end_matches(|c: char| c.is_ascii_alphabetic()))?;
            When::Every((n >= 1).then_some(n)?)
        }
        ["after", n] => When::After(number(n)?),
        ["at", byte] if op != Op::Flush => When::At { byte: number(byte)?, once: false },
        ["at", byte, "once"] if op != Op::Flush => When::At { byte: number(byte)?, once: true },
        [n] => When::Nth(number(n).filter(|n| *n >= 1)?),
        _ => return None,
    })
}

fn number(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn op() -> impl Strategy<Value = Op> {
        prop_oneof![Just(Op::Read), Just(Op::Write), Just(Op::Flush)]
    }

    fn when(of: Op) -> impl Strategy<Value = When> {
        let at = (any::<u64>(), any::<bool>()).prop_map(|(byte, once)| When::At { byte, once });
        prop_oneof![
            Just(When::Always),
            (1..u64::MAX).prop_map(When::Nth),
            (1..u64::MAX).prop_map(When::Every),
            any::<u64>().prop_map(When::After),
            at.prop_map(move |at| if of == Op::Flush { When::Always } else { at }),
        ]
    }

    fn fault() -> impl Strategy<Value = Fault> {
        prop_oneof![
            when(Op::Flush).prop_map(Fault::LieAboutFlush),
            when(Op::Write).prop_map(Fault::Tear),
            Just(Fault::Reorder),
            Just(Fault::IgnoreWriteThrough),
            op().prop_flat_map(|op| when(op).prop_map(move |when| Fault::Eio(op, when))),
            when(Op::Flush).prop_map(Fault::DropOnFlush),
            (any::<u64>(), proptest::option::of(op()), proptest::option::of(1..=FAIL_AFTER_S_MAX))
                .prop_map(|(after, of, fail_after_s)| Fault::Stop(Stop { after, of, fail_after_s })),
        ]
    }

    proptest! {
        #[test]
        fn what_prints_parses_back(fault in fault()) {
            prop_assert_eq!(fault.to_string().parse(), Ok(fault));
        }

        #[test]
        fn any_text_is_a_fault_or_told_apart(text in ".*") {
            if let Ok(fault) = text.parse::<Fault>() {
                prop_assert_eq!(fault.to_string().parse(), Ok(fault));
            }
        }

        #[test]
        fn any_words_of_the_grammar_are_a_fault_or_told_apart(
            words in proptest::collection::vec(
                prop::sample::select(vec![
                    "lie-about-flush", "ignore-write-through", "tear", "reorder", "eio", "drop", "stop", "on", "read", "write", "flush", "every",
                    "3rd", "0", "5", "after", "at", "once", "writes", "requests", "99999999999999999999", "-1", "+1",
                    "fail", "s",
                ]),
                0..9,
            )
        ) {
            if let Ok(fault) = words.join(" ").parse::<Fault>() {
                prop_assert_eq!(fault.to_string().parse(), Ok(fault));
            }
        }
    }

    /// Which of ten requests of its kind, 4,096 bytes each, one after the other, a fault strikes.
    fn struck(text: &str) -> Vec<u64> {
        let fault: Fault = text.parse().unwrap();
        let mut active = Active::new(fault.clone(), 1);
        (1..=10)
            .filter(|n| {
                assert!(fault.op() == Some(Op::Read) || !active.strikes(Op::Read, 0, 4_096));
                active.strikes(fault.op().unwrap(), (n - 1) * 4_096, 4_096)
            })
            .collect()
    }

    #[test]
    fn faults_strike_when_they_say() {
        assert_eq!(struck("eio on write 5"), [5]);
        assert_eq!(struck("lie-about-flush every 3rd"), [3, 6, 9]);
        assert_eq!(struck("tear after 8"), [9, 10]);
        assert_eq!(struck("eio on read at 4096"), [2]);
        assert_eq!(struck("eio on write at 4095 once"), [1]);
        assert_eq!(struck("stop after 7 writes"), [8, 9, 10]);
        assert_eq!(struck("eio on flush"), (1..=10).collect::<Vec<_>>());
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_what_there_is() {
        for text in [
            "",
            "lie",
            "eio",
            "eio on",
            "eio on seek",
            "tear every 0th",
            "eio on flush at 5",
            "reorder 3",
            "ignore-write-through 3",
            "stop",
            "stop after 5 writes fail after 0 s",
            "stop after 5 writes fail after 61 s",
        ] {
            let error = text.parse::<Fault>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("\"{text}\" is no fault; write a rule as ")), "{error}");
        }
    }
}
