//! Requests through /dev/fuse: a read brings one, a write answers it.

use super::medium::Region;
use super::wire::{self, Answer, Channel, Head};
use rustix::fs::{fcntl_getfl, fcntl_setfl, OFlags};
use rustix::io::Errno;
use std::ffi::CString;
use std::io::{self, Error};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

const SOURCE: &str = "acidtest-disk";
const FUSE_DEV_IOC_CLONE: libc::Ioctl = 0x8004_e500u32 as libc::Ioctl;
const PAGE: usize = 4096;

/// How long it is looked for the next request: a flush follows its write within microseconds, and to be woken takes longer.
const AWAKE: Duration = Duration::from_micros(50);
/// After a longer request there is no looking: what comes next takes its time.
const SMALL: usize = 64 << 10;
/// A processor that was given away for longer is wanted by others, and there is no looking for a while.
const WANTED: Duration = Duration::from_micros(50);
const PAUSE: Duration = Duration::from_millis(100);

pub struct Device(OwnedFd);

impl Device {
    pub fn open() -> io::Result<Device> {
        // SAFETY: a constant path, and the descriptor is ours.
        unsafe {
            let descriptor = libc::open(c"/dev/fuse".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
            if descriptor < 0 {
                return Err(Error::last_os_error());
            }
            Ok(Device(OwnedFd::from_raw_fd(descriptor)))
        }
    }

    /// A further descriptor of the same connection: an answer goes back through the one that the request came through.
    pub fn clone(&self) -> io::Result<Device> {
        let further = Device::open()?;
        let of: u32 = self.0.as_raw_fd() as u32;
        // SAFETY: the ioctl reads one number.
        if unsafe { libc::ioctl(further.0.as_raw_fd(), FUSE_DEV_IOC_CLONE, &raw const of) } < 0 {
            return Err(Error::last_os_error());
        }
        Ok(further)
    }

    pub fn mount(&self, point: &Path, data_bytes: usize) -> io::Result<()> {
        let source = CString::new(SOURCE)?;
        let point = CString::new(std::os::unix::ffi::OsStrExt::as_bytes(point.as_os_str()))?;
        let options = CString::new(format!(
            "fd={},rootmode=40000,user_id=0,group_id=0,allow_other,max_read={data_bytes}",
            self.0.as_raw_fd()
        ))?;
        let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOATIME;
        let kind = c"fuse.acidtest".as_ptr();
        // SAFETY: every pointer is to a text that lives until the call is over.
        if unsafe { libc::mount(source.as_ptr(), point.as_ptr(), kind, flags, options.as_ptr().cast()) } != 0 {
            return Err(Error::last_os_error());
        }
        Ok(())
    }

    /// Answers the kernel's greeting. Whether what follows comes over io_uring, as is wanted with `ring` and kernels offer
    /// from 6.14 on where the parameter enable_uring of the module fuse is set. An error where that may have been taken
    /// back before the kernel had the answer: such a connection takes rings, and later refuses their answers.
    pub fn greet(&self, data_bytes: usize, queue_depth: usize, ring: bool) -> io::Result<bool> {
        let mut buffer = [0; 2 * PAGE];
        let length = rustix::io::read(&self.0, &mut buffer)?;
        let request = &buffer[..length];
        let head = wire::head(request);
        if head.opcode != wire::INIT {
            return Err(Error::other(format!("the kernel began with {} instead of a greeting", head.opcode)));
        }
        let greeting = wire::Greeting::of(&request[wire::IN_HEAD..]);
        let ring = ring && greeting.offers_ring() && rings_are_enabled();
        let mut answer =
            Answer::new(head.unique, 0).initialised(&greeting, data_bytes, queue_depth.max(12) as u16, ring);
        rustix::io::write(&self.0, answer.finished())?;
        if ring && !rings_are_enabled() {
            return Err(Errno::OPNOTSUPP.into());
        }
        Ok(ring)
    }
}

fn rings_are_enabled() -> bool {
    std::fs::read("/sys/module/fuse/parameters/enable_uring").is_ok_and(|read| read.starts_with(b"Y"))
}

impl From<OwnedFd> for Device {
    fn from(descriptor: OwnedFd) -> Self {
        Device(descriptor)
    }
}

impl From<Device> for OwnedFd {
    fn from(device: Device) -> Self {
        device.0
    }
}

pub fn unmount(point: &Path) -> io::Result<()> {
    let point = std::ffi::CString::new(std::os::unix::ffi::OsStrExt::as_bytes(point.as_os_str()))?;
    // SAFETY: a text that lives until the call is over.
    match unsafe { libc::umount2(point.as_ptr(), 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Looking for the next request instead of sleeping until it comes, as long as nobody else wants the processor.
#[derive(Default)]
pub struct Looking {
    pauses_until: Option<Instant>,
}

impl Looking {
    fn until<T>(&mut self, mut found: impl FnMut() -> Option<T>) -> Option<T> {
        let began = Instant::now();
        if self.pauses_until.is_some_and(|until| began < until) {
            return None;
        }
        let mut now = began;
        while now - began < AWAKE {
            if let Some(found) = found() {
                return Some(found);
            }
            let given_away = Instant::now();
            std::thread::yield_now();
            now = Instant::now();
            if now - given_away > WANTED {
                self.pauses_until = Some(now + PAUSE);
                break;
            }
        }
        None
    }
}

/// Requests of one thread, and the buffer that they are read into: placed so that the bytes of a write begin on a page, and
/// those of an answer in the same place.
pub struct Requests {
    device: OwnedFd,
    /// With it a descriptor of the same connection that does not wait.
    looking: Option<(Looking, OwnedFd)>,
    /// The last request came through that one, and its answer goes back there.
    was_looked_for: bool,
    buffer: Region,
    length: usize,
}

impl Requests {
    /// For requests of up to so many bytes.
    pub fn new(device: Device, data_bytes: usize, looking: Option<Looking>) -> io::Result<Self> {
        let looking = looking.map(|looking| Ok::<_, Error>((looking, device.clone()?.0))).transpose()?;
        if let Some((_, device)) = &looking {
            fcntl_setfl(device, fcntl_getfl(device)? | OFlags::NONBLOCK)?;
        }
        let buffer = Region::new(PAGE + data_bytes + PAGE)?;
        Ok(Requests { device: device.0, looking, was_looked_for: false, buffer, length: 0 })
    }

    fn request(&self) -> &[u8] {
        &self.buffer[PAGE - wire::WRITE_HEAD..][..self.length]
    }

    /// What can go wrong is that nobody waits for it any more.
    fn send(&self, answer: &[u8]) {
        let looked = self.looking.as_ref().filter(|_| self.was_looked_for);
        let device = looked.map_or(&self.device, |(_, device)| device);
        let _ = rustix::io::write(device, answer);
    }
}

impl Channel for Requests {
    fn next(&mut self) -> bool {
        let room = &mut self.buffer[PAGE - wire::WRITE_HEAD..];
        let found = self.looking.as_mut().filter(|_| self.length <= SMALL).and_then(|(looking, device)| {
            looking.until(|| match rustix::io::read(&*device, &mut *room) {
                Err(Errno::AGAIN) => None,
                read => Some(read),
            })
        });
        self.was_looked_for = found.is_some();
        let mut read = found.unwrap_or(Err(Errno::AGAIN));
        loop {
            match read {
                Ok(length) => {
                    self.length = length;
                    return true;
                }
                Err(Errno::AGAIN | Errno::INTR | Errno::NOENT) => {}
                Err(_) => return false,
            }
            self.was_looked_for = false;
            read = rustix::io::read(&self.device, &mut *room);
        }
    }

    fn head(&self) -> Head {
        wire::head(self.request())
    }

    fn argument(&self) -> &[u8] {
        &self.request()[wire::IN_HEAD..]
    }

    fn name(&self) -> &[u8] {
        self.argument()
    }

    fn data(&mut self, length: usize) -> &mut [u8] {
        &mut self.buffer[PAGE..PAGE + length]
    }

    fn answer(&mut self, answer: &mut Answer) {
        self.send(answer.finished());
    }

    fn answer_data(&mut self, unique: u64, length: usize) {
        let mut head = Answer::new(unique, 0);
        let head = head.finished_with(length);
        let start = PAGE - head.len();
        self.buffer[start..PAGE].copy_from_slice(head);
        self.send(&self.buffer[start..PAGE + length]);
    }
}
