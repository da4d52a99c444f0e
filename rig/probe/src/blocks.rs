//! What is written: blocks that no drive can compress and none that is the same twice, the same ones from the same seed.

use rand::{Rng as _, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// For O_DIRECT; a multiple of every sector size in use.
const ALIGNMENT: usize = 4096;
/// Beyond the window in which drives and file systems look for repetitions.
const POOL_BYTES: usize = 1 << 20;
const SECTOR: usize = 512;

/// An endless row of blocks, made in place.
pub struct Blocks {
    memory: Vec<u8>,
    /// Where in `memory` the aligned part begins.
    start: usize,
    at: usize,
    /// Of the next sector: a number that no other writer of this seed has.
    sector: u64,
    /// How often a number was drawn, with the writer's number above it.
    drawn: u64,
    seed: u64,
}

impl Blocks {
    pub fn new(seed: u64, writer: u32) -> Blocks {
        let mut memory = vec![0; POOL_BYTES + ALIGNMENT];
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(u64::from(writer) + 1);
        let start = memory.as_ptr().align_offset(ALIGNMENT);
        rng.fill_bytes(&mut memory[start..][..POOL_BYTES]);
        Blocks {
            memory,
            start,
            at: 0,
            sector: u64::from(writer) << 44,
            drawn: u64::from(writer) << 44,
            seed: mixed(seed),
        }
    }

    /// The next block, aligned for O_DIRECT. `bytes` is a multiple of 512 up to a MiB.
    pub fn next(&mut self, bytes: usize) -> &mut [u8] {
        self.at = self.at.next_multiple_of(bytes.min(ALIGNMENT)); // blocks of several sizes may follow each other
        if self.at + bytes > POOL_BYTES {
            self.at = 0;
        }
        let from = self.start + self.at;
        self.at += bytes;
        let block = &mut self.memory[from..from + bytes];
        for sector in block.chunks_exact_mut(SECTOR) {
            sector[..8].copy_from_slice(&mixed(self.sector).to_le_bytes());
            self.sector += 1;
        }
        block
    }

    /// A number drawn at random, which no other writer of this seed draws.
    pub fn lot(&mut self) -> u64 {
        self.drawn += 1;
        mixed(mixed(self.drawn ^ self.seed))
    }
}

/// A bijection of the 64-bit numbers whose results look random: the finalizer of SplitMix64 (Steele, Lea and Flood,
/// "Fast splittable pseudorandom number generators", OOPSLA 2014).
fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    proptest! {
        #[test]
        fn no_sector_is_written_twice_and_every_block_is_aligned(
            seed: u64, sizes in prop::collection::vec(9u32..=20, 1..40)
        ) {
            let mut seen = HashSet::new();
            for writer in 0..3 {
                let mut blocks = Blocks::new(seed, writer);
                for &size in &sizes {
                    let block = blocks.next(1 << size);
                    prop_assert_eq!(block.len(), 1 << size);
                    prop_assert_eq!(block.as_ptr().align_offset(ALIGNMENT.min(block.len())), 0);
                    for sector in block.chunks(SECTOR) {
                        prop_assert!(seen.insert(<[u8; 8]>::try_from(&sector[..8]).unwrap()));
                    }
                }
            }
        }
    }

    #[test]
    fn the_same_seed_writes_the_same() {
        let (mut one, mut same, mut other) = (Blocks::new(7, 1), Blocks::new(7, 1), Blocks::new(8, 1));
        for _ in 0..300 {
            let block = one.next(8192);
            assert!(block == same.next(8192));
            assert!(block[8..] != other.next(8192)[8..]);
        }
    }

    /// Bytes that all come equally often have no shorter code (Shannon 1948).
    #[test]
    fn nothing_in_it_can_be_compressed() {
        let mut blocks = Blocks::new(1, 0);
        let mut counts = [0.0; 256];
        for _ in 0..256 {
            blocks.next(4096).iter().for_each(|&byte| counts[usize::from(byte)] += 1.0);
        }
        let expected = POOL_BYTES as f64 / 256.0;
        let chi_squared: f64 = counts.iter().map(|count| (count - expected) * (count - expected) / expected).sum();
        assert!(chi_squared < 400.0, "{chi_squared} with 255 degrees of freedom");
    }
}
