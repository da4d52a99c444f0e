//! A server's socket: it never waits but for room to send, and what has come stays in place until it is read. Encrypted or
//! not is decided once for each send and receive, never for a message.

use crate::tls::{Channel, ReceiveError, Tls};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::{recv, send, RecvFlags, SendFlags};
use std::io;
use std::net::TcpStream;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::task::Poll;
use std::time::{Duration, Instant};
use transaction::{await_socket, failed, Class, Outcome, SessionError};

pub struct Socket {
    descriptor: OwnedFd,
    inbox: Vec<u8>,
    /// The part of the inbox that was received and not yet read.
    unread: Range<usize>,
    tls: Option<Box<Channel>>,
    sealed: Vec<u8>,
    /// How many bytes more the server may send.
    allowed: usize,
    /// Until when the session must be open; none once it is.
    end: Option<Instant>,
}

const INBOX: usize = 16 * 1024;
/// No message of a server is longer.
const INBOX_MAX: usize = 256 * 1024 * 1024;
/// All that a server may say until the session is open, its certificates included.
const LOGIN_BYTES: usize = 1024 * 1024;
/// As long as a server of thousands of sessions may take for one that begins.
const LOGIN: Duration = Duration::from_secs(120);

impl Socket {
    pub fn unix(path: &str) -> Outcome<Socket> {
        UnixStream::connect(path).and_then(Socket::over).map_err(|error| broken(path, &error))
    }

    pub fn tcp(host: &str, port: u16) -> Outcome<Socket> {
        let connected = TcpStream::connect((host, port)).and_then(|stream| {
            stream.set_nodelay(true)?;
            Socket::over(stream)
        });
        connected.map_err(|error| broken(&format!("{host}:{port}"), &error))
    }

    pub fn over(stream: impl Into<OwnedFd>) -> io::Result<Socket> {
        let descriptor = stream.into();
        rustix::io::ioctl_fionbio(&descriptor, true)?;
        let end = Some(Instant::now() + LOGIN);
        let (inbox, sealed) = (vec![0; INBOX], Vec::new());
        Ok(Socket { descriptor, inbox, unread: 0..0, tls: None, sealed, allowed: LOGIN_BYTES, end })
    }

    /// The session is open: the server may say as much as it likes, and take its time.
    pub fn opened(&mut self) {
        (self.allowed, self.end) = (usize::MAX, None);
    }

    /// Goes over to TLS, which the server at `host` has agreed to.
    pub fn encrypt(&mut self, tls: &Tls, host: &str) -> Outcome<()> {
        let mut channel = Channel::new(tls, host)?;
        let mut own = Vec::new();
        loop {
            if !self.unread.is_empty() {
                // A program between the two could have put it there, and it would be taken for the server's, sealed.
                return Err(failed(Class::Connection, "the server sends before TLS has begun".to_string()));
            }
            channel.put_own(&mut own);
            self.transmit(&own);
            own.clear();
            if !channel.is_handshaking() {
                break;
            }
            match channel.take_in(&self.descriptor, &mut self.allowed) {
                Ok(0) => {
                    return Err(failed(Class::Connection, "TLS: the server has closed the connection".to_string()))
                }
                Ok(_) | Err(ReceiveError::System(Errno::INTR)) => {}
                Err(ReceiveError::System(Errno::AGAIN)) => self.wait()?,
                Err(ReceiveError::System(error)) => return Err(broken("TLS", &error.into())),
                Err(ReceiveError::Session(error)) => {
                    // The server may know why.
                    channel.put_own(&mut own);
                    self.transmit(&own);
                    return Err(error);
                }
            }
        }
        self.tls = Some(Box::new(channel));
        Ok(())
    }

    /// Gives the server no time at all to let us in.
    #[cfg(test)]
    pub fn hurry(&mut self) {
        self.end = Some(Instant::now());
    }

    /// See [`Channel::end_point`].
    pub fn end_point(&self) -> Option<Vec<u8>> {
        self.tls.as_ref()?.end_point()
    }

    /// Waits until there is something to read; not for the measured path.
    pub fn wait(&self) -> Outcome<()> {
        let mut socket = [PollFd::from_borrowed_fd(self.descriptor(), PollFlags::IN)];
        let Some(end) = self.end else {
            poll(&mut socket, None).ok();
            return Ok(());
        };
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            let message = format!("the server has not let us in within {} s", LOGIN.as_secs());
            return Err(failed(Class::Connection, message));
        }
        poll(&mut socket, Timespec::try_from(left).ok().as_ref()).ok();
        Ok(())
    }

    /// The next byte that the server says, in the clear; not for the measured path.
    pub fn next_byte(&mut self) -> Outcome<u8> {
        loop {
            if let Some(&byte) = self.unread().first() {
                return Ok(byte);
            }
            match self.hear() {
                Poll::Ready(heard) => heard?,
                Poll::Pending => self.wait()?,
            }
        }
    }

    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    /// Sends `out`, as a rule at once. What does not fit into the socket's buffer is waited for, and what the server says
    /// meanwhile is taken in: both sides could otherwise wait for each other for ever. Answers whether there may be
    /// something to read that no news will come of.
    pub fn send(&mut self, out: &[u8]) -> bool {
        let Some(tls) = &mut self.tls else { return self.transmit(out) };
        let mut sealed = std::mem::take(&mut self.sealed);
        tls.seal(out, &mut sealed);
        let heard = self.transmit(&sealed);
        sealed.clear();
        self.sealed = sealed;
        heard
    }

    fn transmit(&mut self, out: &[u8]) -> bool {
        let (mut sent, mut heard) = (0, false);
        while sent < out.len() {
            match send(&self.descriptor, &out[sent..], SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(more) => sent += more,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    await_socket(self.descriptor(), PollFlags::IN | PollFlags::OUT);
                    heard = true;
                    // The next read returns what is wrong again.
                    if matches!(self.receive(), Ok(0) | Err(ReceiveError::Session(_))) {
                        break;
                    }
                }
                // The server has gone; its last message may say why.
                Err(_) => {
                    heard = true;
                    break;
                }
            }
        }
        heard
    }

    pub fn unread(&self) -> &[u8] {
        &self.inbox[self.unread.clone()]
    }

    /// Marks `length` bytes of what has come as read.
    pub fn read(&mut self, length: usize) {
        self.unread.start += length;
    }

    /// Takes in more; pending when the socket has nothing, as edge-triggered news asks for, unless it was set to wait.
    pub fn hear(&mut self) -> Poll<Outcome<()>> {
        loop {
            return match self.receive() {
                Ok(0) => {
                    Poll::Ready(Err(failed(Class::Connection, "the server has closed the connection".to_string())))
                }
                Ok(_) => Poll::Ready(Ok(())),
                Err(ReceiveError::System(Errno::INTR)) => continue,
                Err(ReceiveError::System(Errno::AGAIN)) => Poll::Pending,
                Err(ReceiveError::System(error)) => Poll::Ready(Err(broken("receiving", &error.into()))),
                Err(ReceiveError::Session(error)) => Poll::Ready(Err(error)),
            };
        }
    }

    /// Reads from the socket once. The inbox grows with what has really come, never with what a message claims to be.
    fn receive(&mut self) -> Result<usize, ReceiveError> {
        if self.unread.is_empty() {
            self.unread = 0..0;
        } else if self.unread.start > 0 {
            self.inbox.copy_within(self.unread.clone(), 0);
            self.unread = 0..self.unread.len();
        }
        if self.unread.end == self.inbox.len() {
            if self.inbox.len() >= INBOX_MAX {
                let message = format!("the server says more than {} MB in one message", INBOX_MAX >> 20);
                return Err(ReceiveError::Session(failed(Class::Connection, message)));
            }
            self.inbox.resize(2 * self.inbox.len(), 0);
        }
        let room = &mut self.inbox[self.unread.end..];
        let more = match &mut self.tls {
            None => {
                let (_, more) = recv(&self.descriptor, room, RecvFlags::empty())?;
                self.allowed = self.allowed.checked_sub(more).ok_or_else(ReceiveError::too_much)?;
                more
            }
            Some(tls) => tls.open(&self.descriptor, &mut self.allowed, room)?,
        };
        self.unread.end += more;
        Ok(more)
    }
}

fn broken(what: &str, error: &io::Error) -> SessionError {
    failed(Class::Connection, format!("{what}: {error}"))
}
