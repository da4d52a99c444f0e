//! What every way to the kernel offers to who serves requests: the device and its rings.

use super::wire::{Answer, Head};

/// Where requests come from and their answers go, one request at a time.
pub trait Channel {
    /// Waits for a request. False: the connection has ended.
    fn next(&mut self) -> bool;
    fn head(&self) -> Head;
    /// What the operation says of itself: a struct of the kernel's that is named after it.
    fn argument(&self) -> &[u8];
    /// What is looked up, and a byte 0.
    fn name(&self) -> &[u8];
    /// Bytes of a write, or room for those of a read.
    fn data(&mut self, length: usize) -> &mut [u8];
    fn answer(&mut self, answer: &mut Answer);
    /// What `data` holds is the answer to a read.
    fn answer_data(&mut self, unique: u64, length: usize);
}
