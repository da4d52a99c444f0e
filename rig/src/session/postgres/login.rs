//! The start of a connection, up to the server's first readiness.

use super::wire::{failed, garbled, put_length, put_message, put_text, Wire};
use crate::session::{Class, Outcome, SessionError};
use postgres_protocol::authentication::{md5_hash, sasl};

/// Version 3.0 of the protocol.
const PROTOCOL: i32 = 3 << 16;
const SCRAM: &str = "SCRAM-SHA-256";

/// Logs in by whatever way the server asks for: trust, a password in clear text, MD5 or SCRAM.
pub fn log_in(wire: &mut Wire, database: &str, user: &str, password: Option<&str>) -> Outcome<()> {
    put_length(&mut wire.out, true, |out| {
        out.extend(PROTOCOL.to_be_bytes());
        for word in ["user", user, "database", database, "client_encoding", "UTF8"] {
            put_text(out, word)?;
        }
        out.push(0);
        Ok(())
    })?;
    let mut secrets = Secrets { user, password: password.unwrap_or_default(), scram: None };
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
                std::task::Poll::Ready(outcome) => break Some(outcome?),
                std::task::Poll::Pending if challenged => break None,
                std::task::Poll::Pending => crate::session::readable(wire.descriptor()),
            }
        };
        match (ended, answer) {
            (None, Some(answer)) => wire.out.extend(answer),
            _ => return Ok(()),
        }
    }
}

struct Secrets<'a> {
    user: &'a str,
    password: &'a str,
    scram: Option<sasl::ScramSha256>,
}

impl Secrets<'_> {
    /// The message that answers a challenge; none where the server wants none.
    fn answer(&mut self, body: &[u8]) -> Outcome<Option<Vec<u8>>> {
        let (kind, rest) = body.split_first_chunk().ok_or_else(garbled)?;
        let mut out = Vec::new();
        let text = |out: &mut Vec<u8>, text: &str| put_message(out, b'p', |out| put_text(out, text));
        match i32::from_be_bytes(*kind) {
            0 => return Ok(None),
            3 => text(&mut out, self.password)?,
            5 => {
                let salt = rest.try_into().map_err(|_| garbled())?;
                text(&mut out, &md5_hash(self.user.as_bytes(), self.password.as_bytes(), salt))?;
            }
            10 => {
                if !rest.split(|&byte| byte == 0).any(|name| name == SCRAM.as_bytes()) {
                    return Err(refused("the server offers no way to log in that is known here"));
                }
                let scram = sasl::ScramSha256::new(self.password.as_bytes(), sasl::ChannelBinding::unsupported());
                put_message(&mut out, b'p', |out| {
                    put_text(out, SCRAM)?;
                    put_length(out, false, |out| {
                        out.extend(scram.message());
                        Ok(())
                    })
                })?;
                self.scram = Some(scram);
            }
            11 => {
                let scram = self.scram.as_mut().ok_or_else(garbled)?;
                scram.update(rest).map_err(|error| refused(&error.to_string()))?;
                put_message(&mut out, b'p', |out| {
                    out.extend(scram.message());
                    Ok(())
                })?;
            }
            12 => {
                let scram = self.scram.as_mut().ok_or_else(garbled)?;
                scram.finish(rest).map_err(|error| refused(&error.to_string()))?;
                return Ok(None);
            }
            other => return Err(refused(&format!("the server asks to log in by way {other}, not known here"))),
        }
        Ok(Some(out))
    }
}

fn refused(why: &str) -> SessionError {
    failed(Class::Connection, format!("logging in: {why}"))
}
