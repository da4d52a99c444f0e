//! FUSE's requests and answers, as in the kernel's include/uapi/linux/fuse.h (7.31 and later).

pub const LOOKUP: u32 = 1;
pub const FORGET: u32 = 2;
pub const GETATTR: u32 = 3;
pub const SETATTR: u32 = 4;
pub const OPEN: u32 = 14;
pub const READ: u32 = 15;
pub const WRITE: u32 = 16;
pub const RELEASE: u32 = 18;
pub const FSYNC: u32 = 20;
pub const INIT: u32 = 26;
pub const OPENDIR: u32 = 27;
pub const READDIR: u32 = 28;
pub const RELEASEDIR: u32 = 29;
pub const ACCESS: u32 = 34;
pub const INTERRUPT: u32 = 36;
pub const DESTROY: u32 = 38;
pub const BATCH_FORGET: u32 = 42;

/// struct fuse_in_header, and the whole head of a write: with struct fuse_write_in.
pub const IN_HEAD: usize = 40;
pub const WRITE_HEAD: usize = 80;
/// struct fuse_out_header.
pub const OUT_HEAD: usize = 16;
/// Of the longest answer that is no data: struct fuse_entry_out.
pub const ANSWER_MAX: usize = OUT_HEAD + 128;

pub const IMAGE: u64 = 2;
pub const IMAGE_NAME: &str = "image";

const MINOR: u32 = 31;
// Reads and writes of one file at the same time and as large as the buffers; no security attributes to look up.
const ASYNC_READ: u64 = 1;
const BIG_WRITES: u64 = 1 << 5;
const ASYNC_DIO: u64 = 1 << 15;
const MAX_PAGES: u64 = 1 << 22;
const INIT_EXT: u64 = 1 << 30;
const OVER_IO_URING: u64 = 1 << 41;
const FOPEN_DIRECT_IO: u32 = 1;
const FOPEN_PARALLEL_DIRECT_WRITES: u32 = 1 << 6;
const FOREVER_S: u64 = 1 << 30;

/// What every request begins with.
#[derive(Debug, Clone, Copy)]
pub struct Head {
    pub opcode: u32,
    pub unique: u64,
    pub node: u64,
}

pub fn head(request: &[u8]) -> Head {
    Head { opcode: u32_at(request, 4), unique: u64_at(request, 8), node: u64_at(request, 16) }
}

/// Offset and size of a read or a write: struct fuse_read_in and struct fuse_write_in begin alike.
pub fn range(argument: &[u8]) -> (u64, u32) {
    (u64_at(argument, 8), u32_at(argument, 16))
}

/// A name up to its end, which is a byte 0.
pub fn name(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len())]
}

/// What the kernel offers at first: struct fuse_init_in.
pub struct Greeting {
    read_ahead: u32,
    flags: u64,
}

impl Greeting {
    pub fn of(argument: &[u8]) -> Greeting {
        let low = u64::from(u32_at(argument, 12));
        let high = if low & INIT_EXT == 0 { 0 } else { u64::from(u32_at(argument, 16)) };
        Greeting { read_ahead: u32_at(argument, 8), flags: low | high << 32 }
    }

    pub fn offers_ring(&self) -> bool {
        self.flags & OVER_IO_URING != 0
    }
}

/// An answer under construction, in a buffer on the stack.
pub struct Answer {
    bytes: [u8; ANSWER_MAX],
    length: usize,
}

impl Answer {
    /// `error` is 0 or an errno.
    pub fn new(unique: u64, error: i32) -> Self {
        let mut answer = Answer { bytes: [0; ANSWER_MAX], length: OUT_HEAD };
        answer.bytes[4..8].copy_from_slice(&(-error).to_ne_bytes());
        answer.bytes[8..16].copy_from_slice(&unique.to_ne_bytes());
        answer
    }

    pub fn u16(mut self, value: u16) -> Self {
        self.put(&value.to_ne_bytes());
        self
    }

    pub fn u32(mut self, value: u32) -> Self {
        self.put(&value.to_ne_bytes());
        self
    }

    pub fn u64(mut self, value: u64) -> Self {
        self.put(&value.to_ne_bytes());
        self
    }

    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        self.put(bytes);
        self
    }

    /// struct fuse_attr: our file, or the directory that it is in.
    fn attributes(self, node: u64, size_bytes: u64) -> Self {
        let (size, mode) = if node == IMAGE { (size_bytes, libc::S_IFREG | 0o600) } else { (0, libc::S_IFDIR | 0o700) };
        let times = self.u64(node).u64(size).u64(size / 512).u64(0).u64(0).u64(0).u32(0).u32(0).u32(0);
        times.u32(mode).u32(1).u32(0).u32(0).u32(0).u32(4096).u32(0)
    }

    /// struct fuse_entry_out.
    pub fn entry(self, node: u64, size_bytes: u64) -> Self {
        self.u64(node).u64(0).u64(FOREVER_S).u64(FOREVER_S).u32(0).u32(0).attributes(node, size_bytes)
    }

    /// struct fuse_attr_out.
    pub fn attr(self, node: u64, size_bytes: u64) -> Self {
        self.u64(FOREVER_S).u32(0).u32(0).attributes(node, size_bytes)
    }

    /// struct fuse_open_out.
    pub fn opened(self, node: u64) -> Self {
        let flags = if node == IMAGE { FOPEN_DIRECT_IO | FOPEN_PARALLEL_DIRECT_WRITES } else { 0 };
        self.u64(0).u32(flags).u32(0)
    }

    /// struct fuse_init_out, for requests of up to `data_bytes` of which so many may be under way.
    pub fn initialised(self, greeting: &Greeting, data_bytes: usize, queue_depth: u16, ring: bool) -> Self {
        let taken = ASYNC_READ | BIG_WRITES | ASYNC_DIO | MAX_PAGES | if ring { INIT_EXT | OVER_IO_URING } else { 0 };
        let flags = greeting.flags & taken;
        let begun = self.u32(7).u32(MINOR).u32(greeting.read_ahead).u32(flags as u32);
        let limits = begun.u16(queue_depth).u16(queue_depth).u32(data_bytes as u32).u32(1);
        limits.u16((data_bytes / 4096) as u16).u16(0).u32((flags >> 32) as u32).bytes(&[0; 28])
    }

    /// struct fuse_dirent, of the one file.
    pub fn directory(self) -> Self {
        let name = IMAGE_NAME.as_bytes();
        let padding = [0; 8];
        let head = self.u64(IMAGE).u64(1).u32(name.len() as u32).u32(8); // DT_REG
        head.bytes(name).bytes(&padding[..name.len().next_multiple_of(8) - name.len()])
    }

    pub fn finished(&mut self) -> &[u8] {
        self.finished_with(0)
    }

    /// What so many bytes of data follow.
    pub fn finished_with(&mut self, data_bytes: usize) -> &[u8] {
        let length = (self.length + data_bytes) as u32;
        self.bytes[..4].copy_from_slice(&length.to_ne_bytes());
        &self.bytes[..self.length]
    }

    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.length..self.length + bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

pub fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

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
