//! The start of a connection: what answers each way of asking for a password.

use crate::cold::{parse, put};
use fallible_iterator::FallibleIterator as _;
use postgres_protocol::authentication::{md5_hash, sasl};
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend;
use transaction::{failed, garbled, Class, Outcome, SessionError};

const SCRAM: &str = "SCRAM-SHA-256";

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

    /// The message that answers a challenge, which is the body of an Authentication; none where the server wants none.
    pub fn answer(&mut self, body: &[u8]) -> Outcome<Option<Vec<u8>>> {
        let mut out = Vec::new();
        match parse(b'R', body).map_err(|error| refused(&error.message))? {
            Message::AuthenticationOk => return Ok(None),
            Message::AuthenticationCleartextPassword => self.put_password(&mut out, self.password)?,
            Message::AuthenticationMd5Password(asked) => {
                let hash = md5_hash(self.user.as_bytes(), self.password.as_bytes(), asked.salt());
                self.put_password(&mut out, &hash)?;
            }
            Message::AuthenticationSasl(asked) => {
                if !asked.mechanisms().any(|name| Ok(name == SCRAM)).map_err(|_| garbled())? {
                    return Err(refused("the server offers no way to log in that is known here"));
                }
                let scram = sasl::ScramSha256::new(self.password.as_bytes(), sasl::ChannelBinding::unsupported());
                put(&mut out, SCRAM, |buffer| frontend::sasl_initial_response(SCRAM, scram.message(), buffer))?;
                self.scram = Some(scram);
            }
            Message::AuthenticationSaslContinue(asked) => {
                let scram = self.scram.as_mut().ok_or_else(garbled)?;
                scram.update(asked.data()).map_err(|error| refused(&error.to_string()))?;
                put(&mut out, SCRAM, |buffer| frontend::sasl_response(scram.message(), buffer))?;
            }
            Message::AuthenticationSaslFinal(asked) => {
                let scram = self.scram.as_mut().ok_or_else(garbled)?;
                scram.finish(asked.data()).map_err(|error| refused(&error.to_string()))?;
                return Ok(None);
            }
            _ => return Err(refused("the server asks to log in by a way that is not known here")),
        }
        Ok(Some(out))
    }

    fn put_password(&self, out: &mut Vec<u8>, password: &str) -> Outcome<()> {
        put(out, "the password", |buffer| frontend::password_message(password.as_bytes(), buffer))
    }
}

fn refused(why: &str) -> SessionError {
    failed(Class::Connection, format!("logging in: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn passwords_are_told_as_they_are_asked_for() {
        let mut secrets = Secrets::new("me", Some("secret"));
        assert_eq!(secrets.answer(&[0, 0, 0, 0]).unwrap(), None);
        assert_eq!(secrets.answer(&[0, 0, 0, 3]).unwrap().unwrap(), b"p\0\0\0\x0bsecret\0");
        let hashed = secrets.answer(&[0, 0, 0, 5, 1, 2, 3, 4]).unwrap().unwrap();
        assert_eq!((&hashed[..8], hashed.len()), (&b"p\0\0\0\x28md5"[..], 41));
        let first = secrets.answer(b"\0\0\0\x0aSCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0").unwrap().unwrap();
        assert!(first[5..].starts_with(b"SCRAM-SHA-256\0\0\0\0"), "{first:?}");
    }

    #[test]
    fn ways_that_are_not_known_are_refused() {
        for way in [&b"\0\0\0\x07"[..], b"\0\0\0\x63", b"\0\0\0\x0aGSS\0\0"] {
            let error = Secrets::new("me", None).answer(way).unwrap_err();
            assert!(error.message.starts_with("logging in: "), "{}", error.message);
        }
    }

    proptest! {
        #[test]
        fn any_challenge_is_answered_or_refused(bodies: Vec<Vec<u8>>, way in 0u8..14) {
            let mut secrets = Secrets::new("me", Some("secret"));
            for body in bodies {
                secrets.answer(&body).ok();
                secrets.answer(&[&[0, 0, 0, way][..], &body].concat()).ok();
            }
        }
    }
}
