//! A server's socket: it never waits but for room to send, and what has come lies in place until it is read.

use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{recv, send, RecvFlags, SendFlags};
use std::io;
use std::net::TcpStream;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::task::Poll;
use transaction::{await_socket, failed, Class, Outcome, SessionError};

pub struct Socket {
    descriptor: OwnedFd,
    inbox: Vec<u8>,
    /// The part of the inbox that was received and not yet read.
    unread: Range<usize>,
}

const INBOX: usize = 16 * 1024;

impl Socket {
    /// Connects to a Unix socket.
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

    /// Over a connected stream socket.
    pub fn over(stream: impl Into<OwnedFd>) -> io::Result<Socket> {
        let descriptor = stream.into();
        rustix::io::ioctl_fionbio(&descriptor, true)?;
        Ok(Socket { descriptor, inbox: vec![0; INBOX], unread: 0..0 })
    }

    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    /// Sends `out`, as a rule at once. What does not fit into the socket's buffer is waited for, and what the server says
    /// meanwhile is taken in: both sides could otherwise wait for each other for ever. Answers whether there may be
    /// something to read that no news will come of.
    pub fn send(&mut self, out: &[u8]) -> bool {
        let (mut sent, mut heard) = (0, false);
        while sent < out.len() {
            match send(&self.descriptor, &out[sent..], SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(more) => sent += more,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    await_socket(self.descriptor(), PollFlags::IN | PollFlags::OUT);
                    heard = true;
                    if matches!(self.receive(), Ok(0)) {
                        break;
                    }
                }
                // The server has gone; the last it said may tell why.
                Err(_) => {
                    heard = true;
                    break;
                }
            }
        }
        heard
    }

    /// What has come and was not read.
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
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => Poll::Pending,
                Err(error) => Poll::Ready(Err(broken("receiving", &error.into()))),
            };
        }
    }

    /// Reads from the socket once. The inbox grows with what has really come, never with what a message claims to be.
    fn receive(&mut self) -> rustix::io::Result<usize> {
        if self.unread.is_empty() {
            self.unread = 0..0;
        } else if self.unread.start > 0 {
            self.inbox.copy_within(self.unread.clone(), 0);
            self.unread = 0..self.unread.len();
        }
        if self.unread.end == self.inbox.len() {
            self.inbox.resize(2 * self.inbox.len(), 0);
        }
        let (_, more) = recv(&self.descriptor, &mut self.inbox[self.unread.end..], RecvFlags::empty())?;
        self.unread.end += more;
        Ok(more)
    }
}

fn broken(what: &str, error: &io::Error) -> SessionError {
    failed(Class::Connection, format!("{what}: {error}"))
}
