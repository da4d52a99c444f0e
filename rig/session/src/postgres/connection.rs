//! The connection and its login: messages there and back. What the server says is read in place, as it comes: it is on the
//! measured path.

use crate::socket::Socket;
use crate::tls::Tls;
use std::path::Path;
use std::task::{ready, Poll};
use transaction::{failed, garbled, Class, Outcome, SessionError};
use wire_postgres::{message, put_startup, refusal, Binding, Secrets, HEAD, TLS_REQUEST};

pub struct Wire {
    pub socket: Socket,
    pub out: Vec<u8>,
    refused: Option<SessionError>,
    /// Why nothing can be asked any more.
    lost: Option<SessionError>,
    /// A transaction is open, as the server last reported.
    pub open: bool,
}

/// Why the server has nothing more to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It waits for the next request.
    Ready,
    /// It waits for the data of a COPY.
    CopyIn,
}

impl Wire {
    /// Connects. A `host` that is a path is the directory of the server's Unix socket.
    pub fn connect(host: &str, port: u16) -> Outcome<Wire> {
        let socket = if Path::new(host).is_absolute() {
            Socket::unix(&format!("{host}/.s.PGSQL.{port}"))?
        } else {
            Socket::tcp(host, port)?
        };
        Ok(Wire::over(socket))
    }

    pub fn over(socket: Socket) -> Wire {
        Wire { socket, out: Vec::with_capacity(4096), refused: None, lost: None, open: false }
    }

    /// Asks the server at `host` for TLS, before anything else is sent, and goes over to it.
    pub fn encrypt(&mut self, tls: &Tls, host: &str) -> Outcome<()> {
        self.socket.send(&TLS_REQUEST);
        match self.socket.next_byte()? {
            b'S' => {
                self.socket.read(1);
                self.socket.encrypt(tls, host)
            }
            b'N' => Err(failed(Class::Connection, "TLS: the server has none".to_string())),
            b'E' => self.converse(|_, _| Ok(())).and(Err(garbled())),
            _ => Err(garbled()),
        }
    }

    /// Fails when an earlier request has lost the server.
    pub fn alive(&self) -> Outcome<()> {
        self.lost.clone().map_or(Ok(()), Err)
    }

    /// Sends what is in `out`; see [`Socket::send`].
    pub fn send(&mut self) -> Outcome<bool> {
        self.alive()?;
        let heard = self.socket.send(&self.out);
        self.out.clear();
        Ok(heard)
    }

    /// Hands each message to `each` until the server waits for us; pending when the socket has nothing more, as
    /// edge-triggered news asks for. A refusal is returned once the server is ready again.
    pub fn answers(&mut self, mut each: impl FnMut(u8, &[u8]) -> Outcome<()>) -> Poll<Outcome<Ended>> {
        loop {
            match self.unread_messages(&mut each) {
                Ok(Some(ended)) => return Poll::Ready(self.refused.take().map_or(Ok(ended), Err)),
                Ok(None) => {}
                Err(error) => return Poll::Ready(Err(self.lose(error))),
            }
            if let Err(error) = ready!(self.socket.hear()) {
                return Poll::Ready(Err(self.lose(error)));
            }
        }
    }

    /// Sends what is in `out` and waits for the answers; not for the measured path.
    pub fn converse(&mut self, mut each: impl FnMut(u8, &[u8]) -> Outcome<()>) -> Outcome<Ended> {
        self.send()?;
        loop {
            match self.answers(&mut each) {
                Poll::Ready(outcome) => return outcome,
                Poll::Pending => self.socket.wait()?,
            }
        }
    }

    fn unread_messages(&mut self, each: &mut impl FnMut(u8, &[u8]) -> Outcome<()>) -> Outcome<Option<Ended>> {
        let unread = self.socket.unread();
        let (mut rest, whole) = (unread, unread.len());
        let mut ended = None;
        while ended.is_none() {
            let Some((tag, body)) = message(rest)? else { break };
            rest = &rest[HEAD + body.len()..];
            match tag {
                b'Z' => {
                    self.open = *body.first().ok_or_else(garbled)? != b'I';
                    ended = Some(Ended::Ready);
                }
                b'E' => {
                    self.refused.get_or_insert_with(|| refusal(body));
                }
                b'G' => ended = Some(Ended::CopyIn),
                tag => each(tag, body)?,
            }
        }
        let read = whole - rest.len();
        self.socket.read(read);
        Ok(ended)
    }

    /// Nothing can be asked any more; the server's last message shows better why.
    fn lose(&mut self, why: SessionError) -> SessionError {
        let mut why = self.refused.take().unwrap_or(why);
        if !why.class.is_final() {
            why.class = Class::Connection;
        }
        self.lost.get_or_insert(why).clone()
    }
}

/// Logs in by whatever way the server asks for: trust, a password in clear text, MD5 or SCRAM, bound to the connection
/// where that is encrypted.
pub fn log_in(wire: &mut Wire, database: &str, user: &str, password: Option<&str>) -> Outcome<()> {
    put_startup(&mut wire.out, database, user)?;
    let binding = match wire.socket.end_point() {
        Some(end_point) => Binding::To(end_point),
        None => Binding::Unknown,
    };
    let mut secrets = Secrets::new(user, password, binding);
    loop {
        // The server falls silent after each challenge: that is the only way out before it is ready.
        let mut answer = None;
        let mut challenged = false;
        wire.send()?;
        let ended = loop {
            let heard = wire.answers(|tag, body| {
                if tag == b'R' {
                    answer = secrets.answer(body)?;
                    challenged = answer.is_some();
                }
                Ok(())
            });
            match heard {
                Poll::Ready(outcome) => break Some(outcome?),
                Poll::Pending if challenged => break None,
                Poll::Pending => wire.socket.wait()?,
            }
        };
        match (ended, answer) {
            (None, Some(answer)) => wire.out.extend(answer),
            _ => {
                wire.socket.opened();
                return Ok(());
            }
        }
    }
}
