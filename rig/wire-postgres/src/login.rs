//! The start of a connection: the first message, and what answers each way of asking for a password.

use crate::message::{put_length, put_message, put_text};
use postgres_protocol::authentication::{md5_hash, sasl};
use transaction::{failed, garbled, Class, Outcome, SessionError};

/// Version 3.0 of the protocol.
const PROTOCOL: i32 = 3 << 16;
const SCRAM: &str = "SCRAM-SHA-256";

/// Writes the message that a connection begins with.
pub fn put_startup(out: &mut Vec<u8>, database: &str, user: &str) -> Outcome<()> {
    put_length(out, true, |out| {
        out.extend(PROTOCOL.to_be_bytes());
        for word in ["user", user, "database", database, "client_encoding", "UTF8"] {
            put_text(out, word)?;
        }
        out.push(0);
        Ok(())
    })
}

/// What proves to a server who we are, by whatever way it asks for: trust, a password in clear text, MD5 or SCRAM.
pub struct Secrets<'a> {
    user: &'a str,
    password: &'a str,
    scram: Option<sasl::ScramSha256>,
}

impl<'a> Secrets<'a> {
    pub fn new(user: &'a str, password: Option<&'a str>) -> Secrets<'a> {
        Secrets { user, password: password.unwrap_or_default(), scram: None }
    }

    /// The message that answers a challenge; none where the server wants none.
    pub fn answer(&mut self, body: &[u8]) -> Outcome<Option<Vec<u8>>> {
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
