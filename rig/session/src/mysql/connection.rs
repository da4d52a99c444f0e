//! The connection and its login: packets there and back. What the server says is read in place, as it comes: it is on the
//! measured path.

use crate::socket::Socket;
use crate::tls::Tls;
use std::path::Path;
use std::task::{ready, Poll};
use transaction::{Outcome, SessionError};
use wire_mysql::{Asked, Login, Manner, Packets, Reach};

pub struct Wire {
    pub socket: Socket,
    /// Nobody can listen in: the socket does not leave this machine, or it is encrypted.
    pub private: bool,
    pub packets: Packets,
    /// Why nothing can be asked any more.
    lost: Option<SessionError>,
}

impl Wire {
    /// Connects. A `host` that is a path is the server's Unix socket.
    pub fn connect(host: &str, port: u16) -> Outcome<Wire> {
        let private = Path::new(host).is_absolute();
        let socket = if private { Socket::unix(host)? } else { Socket::tcp(host, port)? };
        Ok(Wire::over(socket, private))
    }

    pub fn over(socket: Socket, private: bool) -> Wire {
        Wire { socket, private, packets: Packets::default(), lost: None }
    }

    /// Goes over to TLS, which the server at `host` has agreed to.
    pub fn encrypt(&mut self, tls: &Tls, host: &str) -> Outcome<()> {
        self.send()?;
        self.socket.encrypt(tls, host)?;
        self.private = true;
        Ok(())
    }

    /// Sends what is in the packets' `out`; see [`Socket::send`].
    pub fn send(&mut self) -> Outcome<bool> {
        if let Some(why) = &self.lost {
            self.packets.out.clear();
            return Err(why.clone());
        }
        let heard = self.socket.send(&self.packets.out);
        self.packets.out.clear();
        Ok(heard)
    }

    /// Hands each packet to `each` until that answers something; pending when the socket has nothing more, as
    /// edge-triggered news asks for. An error of `each` means that the conversation cannot be followed any more.
    pub fn answers<T>(&mut self, mut each: impl FnMut(&[u8]) -> Outcome<Option<T>>) -> Poll<Outcome<T>> {
        loop {
            match self.unread_packets(&mut each) {
                Ok(Some(ended)) => return Poll::Ready(Ok(ended)),
                Ok(None) => {}
                Err(error) => return Poll::Ready(Err(self.lose(error))),
            }
            if let Err(error) = ready!(self.socket.hear()) {
                return Poll::Ready(Err(self.lose(error)));
            }
        }
    }

    /// Sends what is in the packets' `out` and waits for the answers; not for the measured path.
    pub fn converse<T>(&mut self, mut each: impl FnMut(&[u8]) -> Outcome<Option<T>>) -> Outcome<T> {
        self.send()?;
        loop {
            match self.answers(&mut each) {
                Poll::Ready(outcome) => return outcome,
                Poll::Pending => self.socket.wait()?,
            }
        }
    }

    fn unread_packets<T>(&mut self, each: &mut impl FnMut(&[u8]) -> Outcome<Option<T>>) -> Outcome<Option<T>> {
        while let Some((content, length)) = self.packets.read(self.socket.unread())? {
            let ended = each(content)?;
            self.socket.read(length);
            if ended.is_some() {
                return Ok(ended);
            }
        }
        Ok(None)
    }

    fn lose(&mut self, why: SessionError) -> SessionError {
        self.lost.get_or_insert(why).clone()
    }
}

/// Logs in, by whatever way the server asks for that is known here; `tls` is what the session asks for, and the name of
/// the server's host. None: the server asks for the password itself, and somebody may listen in.
pub fn log_in(
    wire: &mut Wire,
    database: &str,
    user: &str,
    password: Option<&str>,
    tls: Option<(&Tls, &str)>,
) -> Outcome<Option<Manner>> {
    let reach = match tls {
        Some((tls, _)) => Reach::Tls { known: tls.identity.is_some() },
        None if wire.private => Reach::Socket,
        None => Reach::Open,
    };
    let mut login = Login::new(database, user, password, reach)?;
    let greeting = next(wire)?;
    if let Some((tls, host)) = tls {
        let request = login.ask_for_tls(&greeting)?;
        wire.packets.packet(|out| out.extend(request))?;
        wire.encrypt(tls, host)?;
    }
    let hello = login.answer_greeting(&greeting)?;
    wire.packets.packet(|out| out.extend(hello))?;
    loop {
        let asked = next(wire)?;
        match login.answer(&asked)? {
            Asked::Proof(proof) => wire.packets.packet(|out| out.extend(proof))?,
            Asked::Nothing => {}
            Asked::In(manner) => {
                wire.socket.opened();
                return Ok(Some(manner));
            }
            Asked::Private => return Ok(None),
        }
    }
}

/// Sends what is to be sent and waits for the next packet.
fn next(wire: &mut Wire) -> Outcome<Vec<u8>> {
    wire.converse(|content| Ok(Some(content.to_vec())))
}
