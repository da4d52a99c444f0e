//! Random values. The distributions are those that pgbench's manual describes; the values drawn are not pgbench's own.

use crate::datum::Worked;
use rand::{Rng as _, RngExt as _, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// One stream of random values, which its seed repeats.
#[derive(Debug, Clone)]
pub struct Random(ChaCha8Rng);

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Of a text or a number of bytes.
pub const LENGTH_MAX: i64 = 64 << 20;

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(ChaCha8Rng::seed_from_u64(seed))
    }

    fn unit(&mut self) -> f64 {
        self.0.random()
    }

    pub fn even(&mut self, low: i64, high: i64) -> Worked<i64> {
        if low > high {
            return Err(format!("the range from {low} to {high} is empty"));
        }
        Ok(self.0.random_range(low..=high))
    }

    /// `low` plus the part `share` (0 to 1, without 1) of the range.
    fn at(low: i64, high: i64, share: f64) -> Worked<i64> {
        let width = span(low, high)?;
        Ok(low + ((width as f64 * share) as i64).clamp(0, width - 1))
    }

    pub fn exponential(&mut self, low: i64, high: i64, parameter: f64) -> Worked<i64> {
        if !(parameter > 0.0 && parameter.is_finite()) {
            return Err("the parameter of random_exponential must be greater than 0".to_string());
        }
        let cut = (-parameter).exp();
        let share = -(cut + (1.0 - cut) * (1.0 - self.unit())).ln() / parameter;
        Self::at(low, high, share)
    }

    pub fn gaussian(&mut self, low: i64, high: i64, parameter: f64) -> Worked<i64> {
        if !(parameter >= 2.0 && parameter.is_finite()) {
            return Err("the parameter of random_gaussian must be at least 2".to_string());
        }
        // Box and Muller; what lies outside is drawn again, at most a twentieth.
        let deviation = loop {
            let (a, b) = (1.0 - self.unit(), self.unit());
            let z = (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos();
            if (-parameter..parameter).contains(&z) {
                break z;
            }
        };
        Self::at(low, high, (deviation + parameter) / (2.0 * parameter))
    }

    /// By rejection-inversion: W. Hörmann, G. Derflinger, "Rejection-inversion to generate variates from monotone discrete
    /// distributions", ACM TOMACS 6 (1996). The exponent may be 1 or less, as YCSB's 0.99 is.
    pub fn zipfian(&mut self, low: i64, high: i64, exponent: f64) -> Worked<i64> {
        if !(exponent > 0.0 && exponent <= 1000.0) {
            return Err("the parameter of random_zipfian must be greater than 0 and at most 1000".to_string());
        }
        let n = span(low, high)? as f64;
        let near_one = (exponent - 1.0).abs() < 1e-9;
        let area = |x: f64| if near_one { x.ln() } else { (x.powf(1.0 - exponent) - 1.0) / (1.0 - exponent) };
        let inverse = |a: f64| {
            if near_one {
                a.exp()
            } else {
                (1.0 + a * (1.0 - exponent)).max(0.0).powf(1.0 / (1.0 - exponent))
            }
        };
        let height = |x: f64| x.powf(-exponent);
        let (first, last) = (area(1.5) - 1.0, area(n + 0.5));
        let near = 2.0 - inverse(area(2.5) - height(2.0));
        loop {
            let drawn = last + self.unit() * (first - last);
            let x = inverse(drawn);
            let k = (x + 0.5).floor().clamp(1.0, n);
            if k - x <= near || drawn >= area(k + 0.5) - height(k) {
                return Ok(low + (k as i64 - 1));
            }
        }
    }

    /// TPC-C's non-uniform random number (clause 2.1.6), its constant C from `seed`.
    pub fn nurand(&mut self, a: i64, low: i64, high: i64, seed: i64) -> Worked<i64> {
        let width = span(low, high)?;
        if a < 0 {
            return Err("the first argument of nurand must not be negative".to_string());
        }
        let c = if a == i64::MAX { seed & i64::MAX } else { seed.rem_euclid(a + 1) };
        let mixed = self.even(0, a)? | self.even(low, high)?;
        Ok(low + (i128::from(mixed) + i128::from(c)).rem_euclid(i128::from(width)) as i64)
    }

    /// So many letters, digits and two signs, six random bits each: nothing that compresses.
    pub fn text(&mut self, length: i64) -> Worked<String> {
        let length = checked_length(length)?;
        let mut text = String::with_capacity(length);
        while text.len() < length {
            let mut bits = self.0.next_u64();
            for _ in 0..10.min(length - text.len()) {
                text.push(char::from(LETTERS[(bits & 63) as usize]));
                bits >>= 6;
            }
        }
        Ok(text)
    }

    pub fn digits(&mut self, length: i64) -> Worked<String> {
        let length = checked_length(length)?;
        let mut text = String::with_capacity(length);
        while text.len() < length {
            let mut number = self.0.random_range(0..1_000_000_000_000_000_000u64);
            for _ in 0..18.min(length - text.len()) {
                text.push(char::from(b'0' + (number % 10) as u8));
                number /= 10;
            }
        }
        Ok(text)
    }
}

pub fn checked_length(length: i64) -> Worked<usize> {
    match length {
        0..=LENGTH_MAX => Ok(length as usize),
        _ => Err(format!("a length of {length} is not between 0 and {LENGTH_MAX}")),
    }
}

/// How many whole numbers there are from `low` to `high`.
fn span(low: i64, high: i64) -> Worked<i64> {
    if low > high {
        return Err(format!("the range from {low} to {high} is empty"));
    }
    high.checked_sub(low)
        .and_then(|width| width.checked_add(1))
        .ok_or_else(|| format!("the range from {low} to {high} is too wide"))
}

/// FNV-1a of the value's eight bytes, the lowest first (Fowler, Noll and Vo), its basis mixed with the seed.
pub fn fnv1a(value: i64, seed: i64) -> i64 {
    let basis = 0xcbf2_9ce4_8422_2325u64 ^ seed as u64;
    value.to_le_bytes().iter().fold(basis, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)) as i64
}

/// MurmurHash64A of the value's eight bytes (A. Appleby).
pub fn murmur2(value: i64, seed: i64) -> i64 {
    const M: u64 = 0xc6a4_a793_5bd1_e995;
    let mixed = (value as u64).wrapping_mul(M);
    let mixed = (mixed ^ (mixed >> 47)).wrapping_mul(M);
    let mut hash = seed as u64 ^ 8u64.wrapping_mul(M);
    hash = (hash ^ mixed).wrapping_mul(M);
    hash = (hash ^ (hash >> 47)).wrapping_mul(M);
    (hash ^ (hash >> 47)) as i64
}

/// Another place for each number from 0 to `size` - 1: a Feistel network over the next power of four, walked until it is
/// back in range (J. Black, P. Rogaway, "Ciphers with arbitrary finite domains", 2002).
pub fn permute(value: i64, size: i64, seed: i64) -> Worked<i64> {
    if size <= 0 {
        return Err(format!("the second argument of permute is {size}, and must be greater than 0"));
    }
    if size == 1 {
        return Ok(0);
    }
    let half = (64 - (size as u64 - 1).leading_zeros()).div_ceil(2);
    let mask = (1u64 << half) - 1;
    let mut at = value.rem_euclid(size) as u64;
    loop {
        let (mut left, mut right) = (at >> half, at & mask);
        for round in 0..6 {
            let mixed = murmur2(right as i64, seed.wrapping_add(round).wrapping_mul(0x5851_F42D_4C95_7F2D));
            (left, right) = (right, left ^ (mixed as u64 & mask));
        }
        at = left << half | right;
        if at < size as u64 {
            return Ok(at as i64);
        }
    }
}
