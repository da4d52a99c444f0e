//! A fault as an expression of what is done wrong and when. It prints and parses back:
//!
//!     rule      = (fail ERRNO [WHEN]) | (drop [WHEN]) | (lie [WHEN]) | (tear [WHEN]) | (lose [WHEN])
//!               | (misdirect BYTES [WHEN]) | (rot BITS [WHEN]) | (slow FACTOR [WHEN]) | (delay TIME [WHEN])
//!               | (stop TIME [WHEN]) | (vanish [WHEN]) | (cut KEEPS [WHEN])
//!     WHEN      = always | reads | writes | flushes | once | (range FROM TO) | (nth N) | (every N) | (after N)
//!               | (randomly P [SEED]) | (not WHEN) | (and WHEN …) | (or WHEN …)
//!
//! `and` asks its parts from the left and stops at the first that does not hold, `or` at the first that does; `once`,
//! `nth`, `every`, `after` and `randomly` count only the requests about which they are asked. docs/DISK.md has the words.

use protocol::CutKeeps;
use rand::{RngExt as _, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::fmt;
use std::iter::Peekable;
use std::str::CharIndices;

/// Bytes of a rule, and how deeply one condition may stand in another.
const TEXT_MAX: usize = 4_096;
const DEPTH_MAX: usize = 16;
/// Bits that one request lets rot.
const BITS_MAX: u64 = 4_096;
const FACTOR_MAX: f64 = 10_000.0;
/// Whatever calls sync(2) on this machine waits as long as the disk does.
const TIME_MAX_NS: u64 = 60_000_000_000;
const SECTOR: u64 = 512;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    Read,
    Write,
    Flush,
    /// What a write with FUA ends with on a device that has none: it makes that write durable.
    WriteThrough,
}

impl Op {
    /// Whether a fault on requests of kind `mine` strikes this one. As far as a loop device tells, the end of a write with
    /// FUA is a flush like any other.
    pub fn is(self, mine: Op) -> bool {
        self == mine || (self == Op::WriteThrough && mine == Op::Flush)
    }
}

/// What Linux's block layer tells apart (blk_errors of block/blk-core.c). A loop device makes EIO of any that a flush has.
const ERRORS: [(&str, i32); 8] = [
    ("EIO", libc::EIO),
    ("ENOSPC", libc::ENOSPC),
    ("ENODEV", libc::ENODEV),
    ("ENODATA", libc::ENODATA),
    ("EILSEQ", libc::EILSEQ),
    ("ETIMEDOUT", libc::ETIMEDOUT),
    ("ENOLINK", libc::ENOLINK),
    ("EREMOTEIO", libc::EREMOTEIO),
];
const KEEPS: [(&str, CutKeeps); 4] =
    [("none", CutKeeps::None), ("torn", CutKeeps::Torn), ("reordered", CutKeeps::Reordered), ("all", CutKeeps::All)];
const ACTS: &str = "fail, drop, lie, tear, lose, misdirect, rot, slow, delay, stop, vanish or cut";
const CONDITIONS: &str =
    "always, reads, writes, flushes, once, or one of (range …), (nth …), (every …), (after …), (randomly …), (not …), (and …), (or …)";

#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    pub act: Act,
    when: When,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Act {
    /// The request fails with this errno; a write changes nothing, the cache keeps what it holds.
    Fail(i32),
    /// A flush fails with EIO, and what the cache held is gone.
    Drop,
    /// A flush is answered at once and nothing leaves the cache.
    Lie,
    /// A write that a cut finds in the cache survives in part.
    Tear,
    /// A write is answered, and nothing is written.
    Lose,
    /// A write lands so many bytes further on, or at the disk's beginning where it would not fit.
    Misdirect(u64),
    /// So many bits of what is read, or of what was written, turn and stay so.
    Rot(u32),
    /// The drive takes so many times as long.
    Slow(f64),
    /// The drive takes so many nanoseconds longer.
    Delay(u64),
    /// The drive answers nothing for so many nanoseconds, then goes on.
    Stop(u64),
    /// From now on every request fails with ENODEV.
    Vanish,
    /// Power fails while the request is under way: of the write cache, this write among it, so much is left.
    Cut(CutKeeps),
}

#[derive(Debug, Clone, PartialEq)]
enum When {
    Always,
    Of(Op),
    /// Touches a byte from the first on, up to and not including the second.
    Range(u64, u64),
    Once,
    Nth(u64),
    Every(u64),
    After(u64),
    Randomly(f64, Option<u64>),
    Not(Box<When>),
    And(Vec<When>),
    Or(Vec<When>),
}

impl Act {
    /// Whether it can be done to a request of this kind at all: others are not asked about.
    fn concerns(self, op: Op) -> bool {
        match self {
            Act::Drop | Act::Lie => matches!(op, Op::Flush | Op::WriteThrough),
            Act::Tear | Act::Lose | Act::Misdirect(_) => op == Op::Write,
            Act::Rot(_) => matches!(op, Op::Read | Op::Write),
            Act::Fail(_) | Act::Slow(_) | Act::Delay(_) | Act::Stop(_) | Act::Vanish | Act::Cut(_) => true,
        }
    }

    /// Whether what the medium holds is not what a log of the writes says.
    pub fn deceives_a_log(self) -> bool {
        matches!(self, Act::Lose | Act::Misdirect(_) | Act::Rot(_))
    }
}

/// A rule at work: what it has counted and drawn so far. To ask it takes no memory.
#[derive(Debug, Clone)]
pub struct Watcher {
    act: Act,
    when: Asked,
}

#[derive(Debug, Clone)]
enum Asked {
    Always,
    Of(Op),
    Range(u64, u64),
    Nth(u64, u64),
    Every(u64, u64),
    After(u64, u64),
    Randomly(f64, Box<ChaCha8Rng>),
    Not(Box<Asked>),
    And(Vec<Asked>),
    Or(Vec<Asked>),
}

impl Watcher {
    /// `seed` is for what has none of its own.
    pub fn new(rule: &Rule, seed: u64) -> Self {
        Watcher { act: rule.act, when: asked(&rule.when, seed) }
    }

    pub fn strikes(&mut self, op: Op, at: u64, length: u64) -> bool {
        self.act.concerns(op) && holds(&mut self.when, op, at, length)
    }
}

fn asked(when: &When, seed: u64) -> Asked {
    let all = |parts: &[When]| parts.iter().map(|part| asked(part, seed)).collect();
    match when {
        When::Always => Asked::Always,
        When::Of(op) => Asked::Of(*op),
        When::Range(from, to) => Asked::Range(*from, *to),
        When::Once => Asked::Nth(1, 0),
        When::Nth(n) => Asked::Nth(*n, 0),
        When::Every(n) => Asked::Every(*n, 0),
        When::After(n) => Asked::After(*n, 0),
        When::Randomly(p, own) => Asked::Randomly(*p, Box::new(ChaCha8Rng::seed_from_u64(own.unwrap_or(seed)))),
        When::Not(part) => Asked::Not(Box::new(asked(part, seed))),
        When::And(parts) => Asked::And(all(parts)),
        When::Or(parts) => Asked::Or(all(parts)),
    }
}

fn holds(when: &mut Asked, op: Op, at: u64, length: u64) -> bool {
    let counted = |seen: &mut u64| {
        *seen = seen.saturating_add(1);
        *seen
    };
    match when {
        Asked::Always => true,
        Asked::Of(kind) => op.is(*kind),
        Asked::Range(from, to) => length > 0 && at < *to && at.saturating_add(length) > *from,
        Asked::Nth(n, seen) => counted(seen) == *n,
        Asked::Every(n, seen) => counted(seen).is_multiple_of(*n),
        Asked::After(n, seen) => counted(seen) > *n,
        Asked::Randomly(p, lot) => lot.random::<f64>() < *p,
        Asked::Not(part) => !holds(part, op, at, length),
        Asked::And(parts) => parts.iter_mut().all(|part| holds(part, op, at, length)),
        Asked::Or(parts) => parts.iter_mut().any(|part| holds(part, op, at, length)),
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.act {
            Act::Fail(errno) => {
                let name = ERRORS.iter().find(|(_, number)| *number == errno).map_or("EIO", |(name, _)| name);
                write!(f, "(fail {name}")?;
            }
            Act::Drop => f.write_str("(drop")?,
            Act::Lie => f.write_str("(lie")?,
            Act::Tear => f.write_str("(tear")?,
            Act::Lose => f.write_str("(lose")?,
            Act::Misdirect(bytes) => write!(f, "(misdirect {}", Bytes(bytes))?,
            Act::Rot(bits) => write!(f, "(rot {bits}")?,
            Act::Slow(factor) => write!(f, "(slow {factor}")?,
            Act::Delay(time) => write!(f, "(delay {}", Time(time))?,
            Act::Stop(time) => write!(f, "(stop {}", Time(time))?,
            Act::Vanish => f.write_str("(vanish")?,
            Act::Cut(keeps) => {
                let name = KEEPS.iter().find(|(_, one)| *one == keeps).map_or("none", |(name, _)| name);
                write!(f, "(cut {name}")?;
            }
        }
        match &self.when {
            When::Always => f.write_str(")"),
            when => write!(f, " {when})"),
        }
    }
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let several = |f: &mut fmt::Formatter<'_>, word: &str, parts: &[When]| {
            write!(f, "({word}")?;
            parts.iter().try_for_each(|part| write!(f, " {part}"))?;
            f.write_str(")")
        };
        match self {
            When::Always => f.write_str("always"),
            When::Of(Op::Read) => f.write_str("reads"),
            When::Of(Op::Write) => f.write_str("writes"),
            When::Of(Op::Flush | Op::WriteThrough) => f.write_str("flushes"),
            When::Range(from, to) => write!(f, "(range {} {})", Bytes(*from), Bytes(*to)),
            When::Once => f.write_str("once"),
            When::Nth(n) => write!(f, "(nth {n})"),
            When::Every(n) => write!(f, "(every {n})"),
            When::After(n) => write!(f, "(after {n})"),
            When::Randomly(p, None) => write!(f, "(randomly {p})"),
            When::Randomly(p, Some(seed)) => write!(f, "(randomly {p} {seed})"),
            When::Not(part) => write!(f, "(not {part})"),
            When::And(parts) => several(f, "and", parts),
            When::Or(parts) => several(f, "or", parts),
        }
    }
}

const BYTE_UNITS: [(&str, u64); 4] = [("T", 1 << 40), ("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10)];
const TIME_UNITS: [(&str, u64); 3] = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)];

struct Bytes(u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match BYTE_UNITS.iter().find(|(_, unit)| self.0 > 0 && self.0.is_multiple_of(*unit)) {
            Some((name, unit)) => write!(f, "{}{name}", self.0 / unit),
            None => write!(f, "{}", self.0),
        }
    }
}

struct Time(u64);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = TIME_UNITS.iter().find(|(_, unit)| self.0.is_multiple_of(*unit));
        let (name, unit) = found.unwrap_or(&TIME_UNITS[2]);
        write!(f, "{}{name}", self.0 / unit)
    }
}

/// Why a text is no rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("at column {column}: found {found}, expected {expected}")]
pub struct NoRule {
    /// In characters, the first being 1.
    pub column: usize,
    found: String,
    expected: String,
}

#[derive(Clone, Copy, PartialEq)]
enum Token<'a> {
    Open,
    Close,
    Word(&'a str),
    End,
}

struct Parser<'a> {
    text: &'a str,
    letters: Peekable<CharIndices<'a>>,
    /// Of the token that was read last, in bytes.
    at: usize,
}

/// Reads a rule. The time is that of its length.
pub fn parse(text: &str) -> Result<Rule, NoRule> {
    let mut parser = Parser { text, letters: text.char_indices().peekable(), at: 0 };
    if text.len() > TEXT_MAX {
        return Err(NoRule {
            column: 1,
            found: format!("{} bytes", text.len()),
            expected: format!("a rule of at most {TEXT_MAX}"),
        });
    }
    parser.rule()
}

impl<'a> Parser<'a> {
    fn next(&mut self) -> Token<'a> {
        while self.letters.next_if(|(_, letter)| letter.is_whitespace()).is_some() {}
        let Some((at, letter)) = self.letters.next() else {
            self.at = self.text.len();
            return Token::End;
        };
        self.at = at;
        match letter {
            '(' => Token::Open,
            ')' => Token::Close,
            _ => {
                let in_word = |(_, letter): &(usize, char)| !letter.is_whitespace() && !matches!(letter, '(' | ')');
                let mut end = at + letter.len_utf8();
                while let Some((at, letter)) = self.letters.next_if(in_word) {
                    end = at + letter.len_utf8();
                }
                Token::Word(&self.text[at..end])
            }
        }
    }

    /// Of the token that was read last.
    fn refused(&self, found: Token, expected: impl Into<String>) -> NoRule {
        let found = match found {
            Token::Open => "\"(\"".to_string(),
            Token::Close => "\")\"".to_string(),
            Token::End => "the end".to_string(),
            Token::Word(word) => {
                let (beginning, more) = (word.chars().take(30).collect::<String>(), word.chars().nth(30).is_some());
                format!("\"{beginning}{}\"", if more { "…" } else { "" })
            }
        };
        NoRule { column: self.text[..self.at].chars().count() + 1, found, expected: expected.into() }
    }

    fn rule(&mut self) -> Result<Rule, NoRule> {
        match self.next() {
            Token::Open => {}
            other => return Err(self.refused(other, "\"(\"")),
        }
        let token = self.next();
        let Token::Word(word) = token else { return Err(self.refused(token, ACTS)) };
        let act = match word.to_ascii_lowercase().as_str() {
            "fail" => Act::Fail(self.errno()?),
            "drop" => Act::Drop,
            "lie" => Act::Lie,
            "tear" => Act::Tear,
            "lose" => Act::Lose,
            "misdirect" => {
                let wanted = "a distance as 64K, a multiple of 512 bytes";
                Act::Misdirect(
                    self.value(wanted, |word| bytes(word).filter(|bytes| *bytes > 0 && bytes.is_multiple_of(SECTOR)))?,
                )
            }
            "rot" => {
                let bits = |word: &str| number(word).filter(|bits| (1..=BITS_MAX).contains(bits));
                Act::Rot(self.value("a number of bits from 1 to 4096", bits)? as u32)
            }
            "slow" => {
                let factor = |word: &str| decimal(word).filter(|factor| (1.0..=FACTOR_MAX).contains(factor));
                Act::Slow(self.value("a factor from 1 to 10000", factor)?)
            }
            "delay" => Act::Delay(self.time()?),
            "stop" => Act::Stop(self.time()?),
            "vanish" => Act::Vanish,
            "cut" => {
                let keeps =
                    |word: &str| KEEPS.iter().find(|(name, _)| word.eq_ignore_ascii_case(name)).map(|(_, one)| *one);
                Act::Cut(self.value("what is left of the write cache: none, torn, reordered or all", keeps)?)
            }
            _ => return Err(self.refused(token, ACTS)),
        };
        let when = match self.next() {
            Token::Close => When::Always,
            token => {
                let when = self.when(token, 1, "a condition or \")\"")?;
                self.close()?;
                when
            }
        };
        match self.next() {
            Token::End => Ok(Rule { act, when }),
            other => Err(self.refused(other, "nothing after the rule's \")\"")),
        }
    }

    fn when(&mut self, token: Token, depth: usize, role: &str) -> Result<When, NoRule> {
        let wanted = || format!("{role}: {CONDITIONS}");
        if let Token::Word(word) = token {
            return Ok(match word.to_ascii_lowercase().as_str() {
                "always" => When::Always,
                "reads" => When::Of(Op::Read),
                "writes" => When::Of(Op::Write),
                "flushes" => When::Of(Op::Flush),
                "once" => When::Once,
                _ => return Err(self.refused(token, wanted())),
            });
        }
        if token != Token::Open {
            return Err(self.refused(token, wanted()));
        }
        if depth > DEPTH_MAX {
            return Err(self.refused(token, format!("conditions at most {DEPTH_MAX} deep in each other")));
        }
        let token = self.next();
        let Token::Word(word) = token else {
            return Err(self.refused(token, "range, nth, every, after, randomly, not, and or or"));
        };
        let count = |word: &str| number(word).filter(|n| *n >= 1);
        let when = match word.to_ascii_lowercase().as_str() {
            "range" => {
                let from = self.value("where the range begins, as 1M", bytes)?;
                let to = self.value("where the range ends, behind its beginning, as 2M", |word| {
                    bytes(word).filter(|to| *to > from)
                })?;
                When::Range(from, to)
            }
            "nth" => When::Nth(self.value("a number from 1 on", count)?),
            "every" => When::Every(self.value("a number from 1 on", count)?),
            "after" => When::After(self.value("a number", number)?),
            "randomly" => {
                let share = |word: &str| decimal(word).filter(|p| (0.0..=1.0).contains(p));
                let p = self.value("a probability from 0 to 1", share)?;
                return match self.next() {
                    Token::Close => Ok(When::Randomly(p, None)),
                    Token::Word(word) => {
                        let seed = number(word);
                        let seed =
                            seed.ok_or_else(|| self.refused(Token::Word(word), "a seed, which is a number, or \")\""))?;
                        self.close()?;
                        Ok(When::Randomly(p, Some(seed)))
                    }
                    other => Err(self.refused(other, "a seed or \")\"")),
                };
            }
            "not" => {
                let token = self.next();
                When::Not(Box::new(self.when(token, depth + 1, "a condition")?))
            }
            "and" => return Ok(When::And(self.several(depth)?)),
            "or" => return Ok(When::Or(self.several(depth)?)),
            _ => return Err(self.refused(token, "range, nth, every, after, randomly, not, and or or")),
        };
        self.close()?;
        Ok(when)
    }

    /// Conditions up to the closing parenthesis; at least one.
    fn several(&mut self, depth: usize) -> Result<Vec<When>, NoRule> {
        let mut parts = Vec::new();
        loop {
            match self.next() {
                Token::Close if !parts.is_empty() => return Ok(parts),
                token => {
                    let role = if parts.is_empty() { "a condition" } else { "a condition or \")\"" };
                    parts.push(self.when(token, depth + 1, role)?);
                }
            }
        }
    }

    fn close(&mut self) -> Result<(), NoRule> {
        match self.next() {
            Token::Close => Ok(()),
            other => Err(self.refused(other, "\")\"")),
        }
    }

    fn value<T>(&mut self, wanted: &str, read: impl FnOnce(&str) -> Option<T>) -> Result<T, NoRule> {
        let token = self.next();
        let Token::Word(word) = token else { return Err(self.refused(token, wanted)) };
        read(word).ok_or_else(|| self.refused(token, wanted))
    }

    fn errno(&mut self) -> Result<i32, NoRule> {
        let known = ERRORS.map(|(name, _)| name).join(", ");
        let found =
            |word: &str| ERRORS.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)).map(|(_, errno)| *errno);
        self.value(&format!("one of {known}"), found)
    }

    fn time(&mut self) -> Result<u64, NoRule> {
        let time = |word: &str| with_unit(word, &TIME_UNITS).filter(|time| (1_000..=TIME_MAX_NS).contains(time));
        self.value("a time as 20ms (us, ms or s), at most 60s", time)
    }
}

fn number(word: &str) -> Option<u64> {
    (word.len() <= 20 && word.bytes().all(|byte| byte.is_ascii_digit())).then(|| word.parse().ok())?
}

fn decimal(word: &str) -> Option<f64> {
    let plain = word.len() <= 32 && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    plain.then(|| word.parse().ok())?
}

fn bytes(word: &str) -> Option<u64> {
    number(word).or_else(|| with_unit(&word.to_ascii_uppercase(), &BYTE_UNITS))
}

fn with_unit(word: &str, units: &[(&str, u64)]) -> Option<u64> {
    let digits = word.bytes().take_while(u8::is_ascii_digit).count();
    let (_, unit) = units.iter().find(|(name, _)| *name == &word[digits..])?;
    number(&word[..digits])?.checked_mul(*unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn when() -> impl Strategy<Value = When> {
        let leaf = prop_oneof![
            Just(When::Always),
            prop::sample::select(vec![Op::Read, Op::Write, Op::Flush]).prop_map(When::Of),
            (0..u64::MAX, 1..u64::MAX).prop_map(|(from, more)| When::Range(from, from.saturating_add(more))),
            Just(When::Once),
            (1..u64::MAX).prop_map(When::Nth),
            (1..u64::MAX).prop_map(When::Every),
            any::<u64>().prop_map(When::After),
            (0.0..=1.0f64, any::<Option<u64>>()).prop_map(|(p, seed)| When::Randomly((p * 1e6).round() / 1e6, seed)),
        ];
        leaf.prop_recursive(6, 40, 4, |inner| {
            prop_oneof![
                inner.clone().prop_map(|part| When::Not(Box::new(part))),
                prop::collection::vec(inner.clone(), 1..4).prop_map(When::And),
                prop::collection::vec(inner, 1..4).prop_map(When::Or),
            ]
        })
    }

    fn act() -> impl Strategy<Value = Act> {
        prop_oneof![
            prop::sample::select(ERRORS.to_vec()).prop_map(|(_, errno)| Act::Fail(errno)),
            prop::sample::select(vec![Act::Drop, Act::Lie, Act::Tear, Act::Lose, Act::Vanish]),
            prop::sample::select(KEEPS.to_vec()).prop_map(|(_, keeps)| Act::Cut(keeps)),
            (1..1u64 << 40).prop_map(|sectors| Act::Misdirect(sectors * SECTOR)),
            (1..=BITS_MAX as u32).prop_map(Act::Rot),
            (10..100_000u32).prop_map(|tenths| Act::Slow(f64::from(tenths) / 10.0)),
            (1..=60_000_000u64).prop_map(|us| Act::Delay(us * 1_000)),
            (1..=60_000_000u64).prop_map(|us| Act::Stop(us * 1_000)),
        ]
    }

    proptest! {
        #[test]
        fn what_prints_parses_back(act in act(), when in when()) {
            let rule = Rule { act, when };
            prop_assert_eq!(parse(&rule.to_string()), Ok(rule));
        }

        #[test]
        fn what_is_cut_short_or_followed_is_refused_at_a_column_that_it_has(act in act(), when in when(), cut in 0.0..1.0f64) {
            let text = Rule { act, when }.to_string();
            let beginning = &text[..(text.len() as f64 * cut) as usize];
            for text in [beginning.to_string(), format!("{text}{beginning})")] {
                let refused = parse(&text).unwrap_err();
                prop_assert!((1..=text.chars().count() + 1).contains(&refused.column), "{}: {}", text, refused);
            }
        }

        /// `and`, `or` and `not` of conditions that count nothing are those of logic, for every request.
        #[test]
        fn conditions_compose_as_in_logic(
            parts in prop::collection::vec((0..3usize, 0..8u64, 1..8u64), 1..4),
            requests in prop::collection::vec((0..3usize, 0..12u64, 1..4u64), 1..30),
        ) {
            let ops = [Op::Read, Op::Write, Op::Flush];
            let one = |(op, from, more): &(usize, u64, u64)| {
                When::And(vec![When::Of(ops[*op]), When::Range(*from, from + more)])
            };
            let truth = |(op, from, more): &(usize, u64, u64), (of, at, length): &(usize, u64, u64)| {
                op == of && *at < from + more && at + length > *from
            };
            let conditions: Vec<When> = parts.iter().map(one).collect();
            for request in &requests {
                let holds_for = |when: When| holds(&mut asked(&when, 1), ops[request.0], request.1, request.2);
                let truths: Vec<bool> = parts.iter().map(|part| truth(part, request)).collect();
                prop_assert_eq!(holds_for(When::And(conditions.clone())), truths.iter().all(|one| *one));
                prop_assert_eq!(holds_for(When::Or(conditions.clone())), truths.iter().any(|one| *one));
                prop_assert_eq!(holds_for(When::Not(Box::new(conditions[0].clone()))), !truths[0]);
            }
        }
    }

    /// Which of twelve requests are struck: writes and reads in turn of 4 KiB each, from byte 0 on, every fourth a flush.
    fn struck(text: &str) -> Vec<u64> {
        let mut watcher = Watcher::new(&parse(text).unwrap(), 1);
        (1..=12u64)
            .filter(|n| match n % 4 {
                0 => watcher.strikes(Op::Flush, 0, 0),
                2 => watcher.strikes(Op::Read, (n - 1) * 4_096, 4_096),
                _ => watcher.strikes(Op::Write, (n - 1) * 4_096, 4_096),
            })
            .collect()
    }

    #[test]
    fn rules_strike_when_they_say() {
        assert_eq!(struck("(fail EIO)"), (1..=12).collect::<Vec<_>>());
        assert_eq!(struck("(fail EIO writes)"), [1, 3, 5, 7, 9, 11]);
        assert_eq!(struck("(fail eio (And Writes (Nth 3)))"), [5]);
        assert_eq!(struck("(fail EIO (and (nth 3) writes))"), [3]);
        assert_eq!(struck("(fail EIO (and writes (range 16K 40K) (nth 2)))"), [7]);
        assert_eq!(struck("(fail EIO (or flushes (and reads once)))"), [2, 4, 8, 12]);
        assert_eq!(struck("(fail EIO (not (or reads writes)))"), [4, 8, 12]);
        assert_eq!(struck("(fail EIO (and flushes (after 1)))"), [8, 12]);
        assert_eq!(struck("(lose (every 2))"), [3, 7, 11]);
        assert_eq!(struck("(lie once)"), [4]);
        assert_eq!(struck("(rot 1 (range 4095 4097))"), [1, 2]);
        assert_eq!(struck("(vanish (randomly 0))"), [] as [u64; 0]);
        assert_eq!(struck("(vanish (randomly 1))").len(), 12);
    }

    #[test]
    fn a_seed_draws_the_same_again_and_another_one_differently() {
        let drawn = |text: &str, seed| {
            let mut watcher = Watcher::new(&parse(text).unwrap(), seed);
            (0..200u64).map(|_| watcher.strikes(Op::Write, 0, 512)).collect::<Vec<_>>()
        };
        let plain = drawn("(lose (randomly 0.5))", 1);
        assert!((50..150).contains(&plain.iter().filter(|one| **one).count()));
        assert_eq!(plain, drawn("(lose (randomly 0.5))", 1));
        assert_ne!(plain, drawn("(lose (randomly 0.5))", 2));
        assert_eq!(drawn("(lose (randomly 0.5 9))", 1), drawn("(lose (randomly 0.5 9))", 2));
    }

    #[test]
    fn a_refusal_names_the_column_and_what_was_expected() {
        let refused = |text: &str| parse(text).unwrap_err().to_string();
        assert_eq!(refused("fail EIO"), "at column 1: found \"fail\", expected \"(\"");
        assert_eq!(refused("(fial EIO)"), format!("at column 2: found \"fial\", expected {ACTS}"));
        assert!(refused("(fail EOI)").starts_with("at column 7: found \"EOI\", expected one of EIO, ENOSPC, "));
        assert!(refused("(fail EIO (and wrties))")
            .starts_with("at column 16: found \"wrties\", expected a condition: always, "));
        assert_eq!(refused("(fail EIO (nth 0))"), "at column 16: found \"0\", expected a number from 1 on");
        assert_eq!(
            refused("(fail EIO (and writes"),
            format!("at column 22: found the end, expected a condition or \")\": {CONDITIONS}")
        );
        assert_eq!(refused("(fail EIO writes reads)"), "at column 18: found \"reads\", expected \")\"");
        assert_eq!(refused("(lose) x"), "at column 8: found \"x\", expected nothing after the rule's \")\"");
        assert!(refused("(lose (and))").starts_with("at column 11: found \")\", expected a condition: "));
        assert!(
            refused("(rot 1 (range 2M 1M))").starts_with("at column 18: found \"1M\", expected where the range ends")
        );
        assert!(refused("(stop 61s)").starts_with("at column 7: found \"61s\", expected a time"));
        assert!(refused("(misdirect 100)").starts_with("at column 12: found \"100\""));
        assert!(refused("(lose (ä").starts_with("at column 8: found \"ä\""));
        let deep = format!("(lose {}writes", "(not ".repeat(17));
        assert!(refused(&deep).contains("at most 16 deep"), "{}", refused(&deep));
    }
}
