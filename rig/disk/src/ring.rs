//! Requests over io_uring: the call that answers one waits for the next, and the kernel copies its bytes into memory that
//! it was given once. See the kernel's Documentation/filesystems/fuse/fuse-io-uring.rst, and include/uapi/linux/fuse.h from
//! 7.42 on for the structs.
//!
//! The kernel has a queue for each processor, and puts a request into that of the processor that it comes from. Each has
//! one entry here, and one thread serves all.

use super::device::Device;
use super::front::Channel;
use super::medium::Region;
use super::processors;
use super::wire::{self, Answer, Head};
use io_uring::{cqueue, opcode, squeue, types, IoUring};
use std::io::{self, Error};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Instant;

// enum fuse_uring_cmd.
const REGISTER: u32 = 1;
const COMMIT_AND_FETCH: u32 = 2;
// struct fuse_uring_req_header: the head of a request or an answer, the operation's struct, and struct fuse_uring_ent_in_out.
const ARGUMENT_AT: usize = 128;
const COMMIT_ID_AT: usize = 264;
const PAYLOAD_AT: usize = 272;
const HEADER_BYTES: usize = 288;
/// Of struct io_uring_sqe, which the crate does not set for a command.
const SQE_LENGTH_AT: usize = 24;
const GETEVENTS: u32 = 1;
/// All that the kernel copies into is locked in memory.
const ROOM_MAX: usize = 64 << 20;

pub struct Ring {
    uring: IoUring<squeue::Entry128, cqueue::Entry>,
    device: OwnedFd,
    entries: Vec<Entry>,
    /// Which entry has the request that is being served.
    current: usize,
    /// The first request, if it came with the end of the registration.
    came: Option<cqueue::Entry>,
    /// Commands that the kernel has not been given yet.
    unsubmitted: u32,
}

/// Room for one request of a queue.
struct Entry {
    header: Region,
    payload: Region,
}

impl Ring {
    /// For requests of up to so many bytes. Served by the thread that registers it.
    pub fn new(device: &Device, data_bytes: usize) -> io::Result<Ring> {
        let mut entries = Vec::new();
        let processors = processors::listed_in("possible").map_err(Error::other)?.len();
        if processors * data_bytes > ROOM_MAX {
            return Err(Error::other("too many processors"));
        }
        for _ in 0..processors {
            entries.push(Entry { header: Region::new(HEADER_BYTES)?, payload: Region::new(data_bytes)? });
        }
        let uring = IoUring::builder()
            .setup_r_disabled()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_taskrun_flag()
            .build(entries.len() as u32)?;
        Ok(Ring { uring, device: device.clone()?.into_descriptor(), entries, current: 0, came: None, unsubmitted: 0 })
    }

    /// Gives the kernel the room for its requests. From then on they come.
    pub fn register(&mut self) -> io::Result<()> {
        self.uring.submitter().register_enable_rings()?;
        for queue in 0..self.entries.len() {
            let entry = &self.entries[queue];
            let room = [vector(&entry.header), vector(&entry.payload)];
            self.command(REGISTER, queue, 0, &room)?;
            // The kernel has read where the room is when the call returns. Only a failure is told.
            self.enter(0)?;
            if let Some(told) = self.uring.completion().next() {
                match told.result() {
                    failed @ ..0 => return Err(Error::from_raw_os_error(-failed)),
                    _ => self.came = Some(told),
                }
            }
        }
        Ok(())
    }

    fn command(&mut self, command: u32, queue: usize, commit_id: u64, room: &[libc::iovec]) -> io::Result<()> {
        let mut bytes = [0; 80]; // struct fuse_uring_cmd_req
        bytes[8..16].copy_from_slice(&commit_id.to_ne_bytes());
        bytes[16..18].copy_from_slice(&(queue as u16).to_ne_bytes());
        let address = (!room.is_empty()).then_some(room.as_ptr() as u64);
        let command = opcode::UringCmd80::new(types::Fd(self.device.as_raw_fd()), command).cmd(bytes).addr(address);
        let mut entry = command.build().user_data(queue as u64);
        // SAFETY: a submission is the kernel's struct of 128 bytes, and this is its member len. What a registration points
        // to lives until it is submitted; the memory that it names lives as long as the ring, which goes first.
        unsafe {
            let length = (&raw mut entry).cast::<u8>().add(SQE_LENGTH_AT).cast::<u32>();
            length.write(room.len() as u32);
            self.uring.submission().push(&entry).map_err(Error::other)?;
        }
        self.unsubmitted += 1;
        Ok(())
    }

    /// Gives the kernel what it has not got, lets it bring what there is, and waits for so many requests.
    fn enter(&mut self, wanted: u32) -> io::Result<()> {
        // SAFETY: no argument beside numbers.
        let submitted =
            unsafe { self.uring.submitter().enter::<()>(self.unsubmitted, wanted, GETEVENTS, None) }?;
        self.unsubmitted -= submitted as u32;
        Ok(())
    }

    fn entry(&self) -> &Entry {
        &self.entries[self.current]
    }

    /// Answers the current request, with so many bytes of the payload, and asks for the next.
    fn commit(&mut self, head: &[u8], payload_bytes: usize) {
        let entry = &mut self.entries[self.current];
        entry.header[..head.len()].copy_from_slice(head);
        entry.header[PAYLOAD_AT..PAYLOAD_AT + 4].copy_from_slice(&(payload_bytes as u32).to_ne_bytes());
        let id = wire::u64_at(&entry.header, COMMIT_ID_AT);
        let pushed = self.command(COMMIT_AND_FETCH, self.current, id, &[]);
        debug_assert!(pushed.is_ok(), "as many fit as there are entries");
    }
}

impl Channel for Ring {
    fn next(&mut self, sleeps_at: Option<Instant>) -> bool {
        loop {
            let told = self.came.take().or_else(|| self.uring.completion().next());
            if let Some(told) = told {
                self.current = told.user_data() as usize;
                // A failure is of one answer that nobody waits for, or of all: then the others tell it too.
                if told.result() < 0 {
                    return false;
                }
                return true;
            }
            let awake = sleeps_at.is_some_and(|at| Instant::now() < at);
            if awake && self.unsubmitted == 0 && !self.uring.submission().taskrun() {
                std::thread::yield_now();
                continue;
            }
            match self.enter(u32::from(!awake)) {
                Ok(()) => {}
                Err(error) if error.raw_os_error() == Some(libc::EINTR) => {}
                Err(_) => return false,
            }
        }
    }

    fn head(&self) -> Head {
        wire::head(&self.entry().header)
    }

    fn argument(&self) -> &[u8] {
        &self.entry().header[ARGUMENT_AT..]
    }

    fn name(&self) -> &[u8] {
        &self.entry().payload
    }

    fn data(&mut self, length: usize) -> &mut [u8] {
        &mut self.entries[self.current].payload[..length]
    }

    fn answer(&mut self, answer: &mut Answer) {
        let (head, body) = answer.finished().split_at(wire::OUT_HEAD);
        self.data(body.len()).copy_from_slice(body);
        self.commit(head, body.len());
    }

    fn answer_data(&mut self, unique: u64, length: usize) {
        self.commit(Answer::new(unique, 0).finished_with(length), length);
    }
}

fn vector(region: &Region) -> libc::iovec {
    libc::iovec { iov_base: region.as_ptr().cast_mut().cast(), iov_len: region.len() }
}
