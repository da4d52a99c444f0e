//! Requests over io_uring: the call that answers one waits for the next, and the kernel copies its bytes into memory that
//! it was given once. See the kernel's Documentation/filesystems/fuse/fuse-io-uring.rst, and include/uapi/linux/fuse.h from
//! 7.42 on for the structs.
//!
//! The kernel has a queue for each processor, and puts a request into that of the processor that it comes from. Each is
//! served by its own thread on that processor: a request is not carried to another one, whose sleep would have to be
//! ended first.

use super::device::Device;
use super::medium::Region;
use super::processors;
use super::wire::{self, Answer, Channel, Head};
use io_uring::{cqueue, opcode, squeue, types, IoUring};
use std::io::{self, Error};
use std::os::fd::{AsRawFd, OwnedFd};

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

/// The queue of one processor, and room for one request of it.
pub struct Ring {
    uring: IoUring<squeue::Entry128, cqueue::Entry>,
    device: OwnedFd,
    queue: u16,
    header: Region,
    payload: Region,
    /// The first request, if it came with the end of the registration.
    came: bool,
    /// Whether there is an answer that the kernel has not been given yet.
    answered: bool,
}

/// For requests of up to so many bytes. None where there are so many processors that it would take too much memory.
pub fn for_each_processor(device: &Device, data_bytes: usize) -> io::Result<Vec<Ring>> {
    let processors = processors::listed_in("possible").map_err(Error::other)?.len();
    if processors * data_bytes > ROOM_MAX {
        return Ok(Vec::new());
    }
    (0..processors).map(|queue| Ring::new(device, data_bytes, queue as u16)).collect()
}

impl Ring {
    fn new(device: &Device, data_bytes: usize, queue: u16) -> io::Result<Ring> {
        let uring = IoUring::builder().setup_r_disabled().setup_single_issuer().setup_defer_taskrun().build(1)?;
        let (header, payload) = (Region::new(HEADER_BYTES)?, Region::new(data_bytes)?);
        let device = device.clone()?.into();
        Ok(Ring { uring, device, queue, header, payload, came: false, answered: false })
    }

    /// Gives the kernel the room for a request, and settles on the queue's processor. The calling thread is the one that
    /// serves the ring from then on.
    pub fn register(&mut self) -> io::Result<()> {
        run_on(usize::from(self.queue));
        self.uring.submitter().register_enable_rings()?;
        self.uring.submitter().register_files(&[self.device.as_raw_fd()])?;
        let room = [&self.header, &self.payload]
            .map(|region| libc::iovec { iov_base: region.as_ptr().cast_mut().cast(), iov_len: region.len() });
        self.command(REGISTER, 0, &room)?;
        self.enter(1, 0)?;
        // Only a failure is reported at once; the other news is a request.
        match self.uring.completion().next().map(|completion| completion.result()) {
            Some(failed @ ..0) => Err(Error::from_raw_os_error(-failed)),
            completion => {
                self.came = completion.is_some();
                Ok(())
            }
        }
    }

    /// What `room` points to is read by the kernel when the command is submitted.
    fn command(&mut self, command: u32, commit_id: u64, room: &[libc::iovec]) -> io::Result<()> {
        let mut bytes = [0; 80]; // struct fuse_uring_cmd_req
        bytes[8..16].copy_from_slice(&commit_id.to_ne_bytes());
        bytes[16..18].copy_from_slice(&self.queue.to_ne_bytes());
        let address = (!room.is_empty()).then_some(room.as_ptr() as u64);
        let command = opcode::UringCmd80::new(types::Fixed(0), command).cmd(bytes).addr(address);
        let mut entry = command.build();
        // SAFETY: a submission is the kernel's struct of 128 bytes, and this is its member len. The memory that a
        // registration names lives as long as the ring, and both live until the connection has ended.
        unsafe {
            let length = (&raw mut entry).cast::<u8>().add(SQE_LENGTH_AT).cast::<u32>();
            length.write(room.len() as u32);
            self.uring.submission().push(&entry).map_err(Error::other)
        }
    }

    /// Gives the kernel so many commands, and waits for so many requests.
    fn enter(&self, commands: u32, requests: u32) -> io::Result<usize> {
        // SAFETY: no argument beside numbers.
        unsafe { self.uring.submitter().enter::<()>(commands, requests, GETEVENTS, None) }
    }

    /// Answers the request, with so many bytes of the payload; the kernel hears of it with the next wait.
    fn commit(&mut self, head: &[u8], payload_bytes: usize) {
        self.header[..head.len()].copy_from_slice(head);
        self.header[PAYLOAD_AT..PAYLOAD_AT + 4].copy_from_slice(&(payload_bytes as u32).to_ne_bytes());
        let id = wire::u64_at(&self.header, COMMIT_ID_AT);
        self.answered = self.command(COMMIT_AND_FETCH, id, &[]).is_ok();
    }
}

impl Channel for Ring {
    fn next(&mut self) -> bool {
        if std::mem::take(&mut self.came) {
            return true;
        }
        loop {
            match self.uring.completion().next().map(|completion| -completion.result()) {
                None => {}
                Some(libc::ENOTCONN | libc::ECONNABORTED) => return false,
                // The room for requests was not taken back. Better that all fail, with a message, than that some hang.
                Some(error @ 1..) => {
                    eprintln!("the kernel refuses an answer over io_uring: {}", Error::from_raw_os_error(error));
                    std::process::abort();
                }
                Some(_) => return true,
            }
            match self.enter(u32::from(self.answered), 1) {
                Ok(submitted) => self.answered &= submitted == 0,
                Err(error) if error.raw_os_error() == Some(libc::EINTR) => {}
                Err(_) => return false,
            }
        }
    }

    fn head(&self) -> Head {
        wire::head(&self.header)
    }

    fn argument(&self) -> &[u8] {
        &self.header[ARGUMENT_AT..]
    }

    fn name(&self) -> &[u8] {
        &self.payload
    }

    fn data(&mut self, length: usize) -> &mut [u8] {
        &mut self.payload[..length]
    }

    fn answer(&mut self, answer: &mut Answer) {
        let (head, body) = answer.finished().split_at(wire::OUT_HEAD);
        self.payload[..body.len()].copy_from_slice(body);
        self.commit(head, body.len());
    }

    fn answer_data(&mut self, unique: u64, length: usize) {
        self.commit(Answer::new(unique, 0).finished_with(length), length);
    }
}

/// The calling thread runs on this processor alone, where the kernel lets it.
fn run_on(processor: usize) {
    // SAFETY: a struct of this function, of the size that is given.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if processor < libc::CPU_SETSIZE as usize {
            libc::CPU_SET(processor, &mut set);
            libc::sched_setaffinity(0, std::mem::size_of_val(&set), &raw const set);
        }
    }
}
