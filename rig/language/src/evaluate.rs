//! The value of an expression.

use crate::datum::{whole, Worked};
use crate::draw::{checked_length, fnv1a, murmur2, permute};
use crate::expression::{Binary, Unary};
use crate::function::Function;
use crate::{Datum, Expression, Names, Random};
use std::cmp::Ordering;

/// What an expression is worked out with: one client's variables, by slot, and its random values.
pub struct Frame<'a> {
    pub names: &'a Names,
    pub variables: &'a [Datum],
    pub random: &'a mut Random,
    /// Of hashes and permutations that are given none.
    pub default_seed: i64,
}

impl Frame<'_> {
    /// A variable's value; an error where it has none yet.
    pub fn variable(&self, slot: usize) -> Worked<&Datum> {
        match &self.variables[slot] {
            Datum::Unset => Err(format!("the variable :{} has no value yet", self.names.name(slot))),
            value => Ok(value),
        }
    }
}

impl Expression {
    /// An error says in plain words what cannot be worked out.
    pub fn value(&self, frame: &mut Frame) -> Worked<Datum> {
        match self {
            Expression::Constant(value) => Ok(value.clone()),
            Expression::Variable(slot) => frame.variable(*slot).cloned(),
            Expression::Unary(which, inner) => unary(*which, inner.value(frame)?),
            Expression::Binary(which, left, right) => {
                let left = left.value(frame)?;
                binary(*which, left, right.value(frame)?)
            }
            Expression::And(left, right) => match left.value(frame)?.truth()? {
                Some(false) => Ok(Datum::Bool(false)),
                left => Ok(match (left, right.value(frame)?.truth()?) {
                    (_, Some(false)) => Datum::Bool(false),
                    (Some(true), Some(true)) => Datum::Bool(true),
                    _ => Datum::Null,
                }),
            },
            Expression::Or(left, right) => match left.value(frame)?.truth()? {
                Some(true) => Ok(Datum::Bool(true)),
                left => Ok(match (left, right.value(frame)?.truth()?) {
                    (_, Some(true)) => Datum::Bool(true),
                    (Some(false), Some(false)) => Datum::Bool(false),
                    _ => Datum::Null,
                }),
            },
            Expression::Case(whens, otherwise) => {
                for (when, then) in whens {
                    if when.value(frame)?.truth()? == Some(true) {
                        return then.value(frame);
                    }
                }
                otherwise.value(frame)
            }
            Expression::Call(Function::Choose, arguments) => {
                let chosen = frame.random.even(0, arguments.len() as i64 - 1)?;
                arguments[chosen as usize].value(frame)
            }
            Expression::Call(function, arguments) => call(*function, arguments, frame),
        }
    }
}

fn unary(which: Unary, value: Datum) -> Worked<Datum> {
    let truth = match which {
        Unary::IsNull => matches!(value, Datum::Null),
        Unary::IsNotNull => !matches!(value, Datum::Null),
        Unary::IsTrue => value.truth()? == Some(true),
        Unary::IsNotTrue => value.truth()? != Some(true),
        Unary::IsFalse => value.truth()? == Some(false),
        Unary::IsNotFalse => value.truth()? != Some(false),
        Unary::Not => return Ok(value.truth()?.map_or(Datum::Null, |truth| Datum::Bool(!truth))),
        Unary::Negative => return binary(Binary::Subtract, Datum::Int(0), value),
        Unary::BitNot => return binary(Binary::BitXor, Datum::Int(-1), value),
    };
    Ok(Datum::Bool(truth))
}

fn binary(which: Binary, left: Datum, right: Datum) -> Worked<Datum> {
    if matches!(left, Datum::Null) || matches!(right, Datum::Null) {
        return Ok(Datum::Null);
    }
    let (left, right) = (left.number(), right.number());
    match which {
        Binary::Equal | Binary::Unequal | Binary::Less | Binary::LessEqual | Binary::Greater | Binary::GreaterEqual => {
            compare(which, &left, &right)
        }
        Binary::Add | Binary::Subtract | Binary::Multiply | Binary::Divide if left.is_real() || right.is_real() => {
            let (x, y) = (left.real()?, right.real()?);
            Ok(Datum::Real(match which {
                Binary::Add => x + y,
                Binary::Subtract => x - y,
                Binary::Multiply => x * y,
                _ if y == 0.0 => return Err("division by zero".to_string()),
                _ => x / y,
            }))
        }
        _ => whole_numbers(which, left.int()?, right.int()?).map(Datum::Int),
    }
}

fn whole_numbers(which: Binary, x: i64, y: i64) -> Worked<i64> {
    let (result, sign) = match which {
        Binary::Add => (x.checked_add(y), "+"),
        Binary::Subtract => (x.checked_sub(y), "-"),
        Binary::Multiply => (x.checked_mul(y), "*"),
        Binary::Divide | Binary::Modulo if y == 0 => return Err("division by zero".to_string()),
        Binary::Divide => (x.checked_div(y), "/"),
        Binary::Modulo => (Some(x.checked_rem(y).unwrap_or(0)), "%"),
        Binary::BitAnd => (Some(x & y), "&"),
        Binary::BitOr => (Some(x | y), "|"),
        Binary::BitXor => (Some(x ^ y), "#"),
        // As C's on the machines of today: the count's lowest six bits.
        Binary::ShiftLeft => (Some(x.wrapping_shl(y as u32)), "<<"),
        _ => (Some(x.wrapping_shr(y as u32)), ">>"),
    };
    result.ok_or_else(|| format!("{x} {sign} {y} is out of the range of whole numbers"))
}

fn compare(which: Binary, left: &Datum, right: &Datum) -> Worked<Datum> {
    let order = match (left, right) {
        (Datum::Text(a), Datum::Text(b)) => a.cmp(b),
        (Datum::Bool(_), _) | (_, Datum::Bool(_)) => left.truth()?.cmp(&right.truth()?),
        (Datum::Int(a), Datum::Int(b)) => a.cmp(b),
        _ => match left.real()?.partial_cmp(&right.real()?) {
            Some(order) => order,
            None => return Ok(Datum::Bool(which == Binary::Unequal)),
        },
    };
    Ok(Datum::Bool(match which {
        Binary::Equal => order == Ordering::Equal,
        Binary::Unequal => order != Ordering::Equal,
        Binary::Less => order == Ordering::Less,
        Binary::LessEqual => order != Ordering::Greater,
        Binary::Greater => order == Ordering::Greater,
        _ => order != Ordering::Less,
    }))
}

fn call(function: Function, arguments: &[Expression], frame: &mut Frame) -> Worked<Datum> {
    let at = |number: usize, frame: &mut Frame| arguments[number].value(frame);
    let int = |number: usize, frame: &mut Frame| arguments[number].value(frame)?.int();
    let real = |number: usize, frame: &mut Frame| arguments[number].value(frame)?.real();
    let seed = |number: usize, frame: &mut Frame| match arguments.get(number) {
        Some(seed) => seed.value(frame)?.int(),
        None => Ok(frame.default_seed),
    };
    Ok(match function {
        Function::Abs => match at(0, frame)?.number() {
            Datum::Real(x) => Datum::Real(x.abs()),
            other => {
                let n = other.int()?;
                Datum::Int(n.checked_abs().ok_or_else(|| format!("abs({n}) is out of the range of whole numbers"))?)
            }
        },
        Function::Debug => {
            let value = at(0, frame)?;
            eprintln!("debug: {}", value.shown());
            value
        }
        Function::Double => Datum::Real(real(0, frame)?),
        Function::Int => match at(0, frame)?.number() {
            Datum::Real(x) => Datum::Int(whole(x)?),
            other => Datum::Int(other.int()?),
        },
        Function::Exp => Datum::Real(real(0, frame)?.exp()),
        Function::Ln => {
            let x = real(0, frame)?;
            Datum::Real(if x > 0.0 { x.ln() } else { f64::NAN })
        }
        Function::Sqrt => {
            let x = real(0, frame)?;
            Datum::Real(if x >= 0.0 { x.sqrt() } else { f64::NAN })
        }
        Function::Pi => Datum::Real(std::f64::consts::PI),
        Function::Power => Datum::Real(real(0, frame)?.powf(real(1, frame)?)),
        Function::Mod => Datum::Int(whole_numbers(Binary::Modulo, int(0, frame)?, int(1, frame)?)?),
        Function::Greatest | Function::Least => extreme(function, arguments, frame)?,
        Function::HashFnv1a => Datum::Int(fnv1a(int(0, frame)?, seed(1, frame)?)),
        Function::HashMurmur2 => Datum::Int(murmur2(int(0, frame)?, seed(1, frame)?)),
        Function::Permute => Datum::Int(permute(int(0, frame)?, int(1, frame)?, seed(2, frame)?)?),
        Function::Random => {
            let (low, high) = (int(0, frame)?, int(1, frame)?);
            Datum::Int(frame.random.even(low, high)?)
        }
        Function::RandomExponential | Function::RandomGaussian | Function::RandomZipfian => {
            let (low, high, parameter) = (int(0, frame)?, int(1, frame)?, real(2, frame)?);
            Datum::Int(match function {
                Function::RandomExponential => frame.random.exponential(low, high, parameter)?,
                Function::RandomGaussian => frame.random.gaussian(low, high, parameter)?,
                _ => frame.random.zipfian(low, high, parameter)?,
            })
        }
        Function::Nurand => {
            let (a, low, high) = (int(0, frame)?, int(1, frame)?, int(2, frame)?);
            Datum::Int(frame.random.nurand(a, low, high, frame.default_seed)?)
        }
        Function::Text => {
            let least = int(0, frame)?;
            let most = if arguments.len() > 1 { int(1, frame)? } else { least };
            let length = frame.random.even(least, most)?;
            Datum::Text(frame.random.text(length)?)
        }
        Function::Digits => {
            let length = int(0, frame)?;
            Datum::Text(frame.random.digits(length)?)
        }
        Function::Concat => {
            let mut text = String::new();
            for argument in arguments {
                text.push_str(&argument.value(frame)?.to_string());
                checked_length(text.len() as i64)?;
            }
            Datum::Text(text)
        }
        Function::Day => Datum::Text(day(&at(0, frame)?.to_string(), int(1, frame)?)?),
        Function::Moment => Datum::Text(moment(&at(0, frame)?.to_string(), int(1, frame)?)?),
        Function::Choose => unreachable!("it works out one of its arguments alone"),
    })
}

/// pgbench's: a double where one argument is.
fn extreme(function: Function, arguments: &[Expression], frame: &mut Frame) -> Worked<Datum> {
    let values = arguments.iter().map(|argument| Ok(argument.value(frame)?.number())).collect::<Worked<Vec<_>>>()?;
    let is_greatest = function == Function::Greatest;
    if values.iter().any(Datum::is_real) {
        let reals = values.iter().map(Datum::real).collect::<Worked<Vec<_>>>()?;
        let pick = if is_greatest { f64::max } else { f64::min };
        return Ok(Datum::Real(reals.into_iter().reduce(pick).expect("at least one argument")));
    }
    let ints = values.iter().map(Datum::int).collect::<Worked<Vec<_>>>()?;
    let picked = if is_greatest { ints.iter().max() } else { ints.iter().min() };
    Ok(Datum::Int(*picked.expect("at least one argument")))
}

const DAY_S: i64 = 86_400;
/// So many days before and after 1970 are printed; years have four digits.
const DAYS: std::ops::RangeInclusive<i64> = -719_162..=2_932_896;

/// The day so many days after `first`, a date as 2026-01-31.
fn day(first: &str, days: i64) -> Worked<String> {
    let day = read_day(first)?.checked_add(days).filter(|day| DAYS.contains(day));
    day.map(day_shown).ok_or_else(|| format!("{days} days after {first} is no day of the years 1 to 9999"))
}

/// The moment so many seconds after `first`, as 2026-01-31 or 2026-01-31 23:59:59.
fn moment(first: &str, seconds: i64) -> Worked<String> {
    let (date, time) = first.split_once([' ', 'T']).unwrap_or((first, "00:00:00"));
    let parts: Vec<i64> = time.split(':').filter_map(|part| part.parse().ok()).collect();
    let [h @ 0..=23, m @ 0..=59, s @ 0..=59] = parts[..] else {
        return Err(format!("{first} is no moment as 2026-01-31 23:59:59"));
    };
    let begin = read_day(date)? * DAY_S + h * 3600 + m * 60 + s;
    let at = begin.checked_add(seconds).filter(|at| DAYS.contains(&at.div_euclid(DAY_S)));
    let at = at.ok_or_else(|| format!("{seconds} seconds after {first} is no moment of the years 1 to 9999"))?;
    let (day, rest) = (at.div_euclid(DAY_S), at.rem_euclid(DAY_S));
    Ok(format!("{} {:02}:{:02}:{:02}", day_shown(day), rest / 3600, rest / 60 % 60, rest % 60))
}

/// Days since 1970-01-01 in the Gregorian calendar.
fn read_day(text: &str) -> Worked<i64> {
    let flaw = || format!("{text} is no date as 2026-01-31");
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts[..] else { return Err(flaw()) };
    if (year.len(), month.len(), day.len()) != (4, 2, 2) {
        return Err(flaw());
    }
    let number = |text: &str| text.parse::<u16>().map(i64::from).map_err(|_| flaw());
    let (year, month, day) = (number(year)?, number(month)?, number(day)?);
    if year < 1 || !(1..=12).contains(&month) || day < 1 {
        return Err(flaw());
    }
    let found = days_of(year, month, day);
    match day_shown(found) == text {
        true => Ok(found),
        false => Err(flaw()),
    }
}

/// Counted in years that begin in March, so that a leap day is the last.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let (y, m) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    365 * y + y.div_euclid(4) - y.div_euclid(100) + y.div_euclid(400) + (153 * m + 2) / 5 + day - 1 - 719_468
}

fn day_shown(days: i64) -> String {
    // A guess that is some years too late; before 1970 it would be too early without the two.
    let mut year = 1972 + days.div_euclid(365);
    while days_of(year, 1, 1) > days {
        year -= 1;
    }
    let month = (1..=12).rev().find(|month| days_of(year, *month, 1) <= days).expect("January has begun");
    format!("{year:04}-{month:02}-{:02}", days - days_of(year, month, 1) + 1)
}
