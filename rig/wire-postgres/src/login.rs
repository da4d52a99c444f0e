//! The start of a connection: what answers each way of asking for a password.

use crate::cold::{parse, put};
use fallible_iterator::FallibleIterator as _;
use postgres_protocol::authentication::{md5_hash, sasl};
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend;
use transaction::{failed, garbled, Class, Outcome, SessionError};

const SCRAM: &str = "SCRAM-SHA-256";
const SCRAM_PLUS: &str = "SCRAM-SHA-256-PLUS";

/// Asks for TLS before anything else (SSLRequest); the server answers with one byte, `S` or `N`.
pub const TLS_REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];

/// To what the proof of a password can be bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Binding {
    /// To nothing: the connection is not encrypted, or its end point is not known.
    Unknown,
    /// To the `tls-server-end-point` of RFC 5929.
    To(Vec<u8>),
}

/// What proves to a server who we are, by whatever way it asks for: trust, a password in clear text, MD5 or SCRAM.
pub struct Secrets<'a> {
    user: &'a str,
    password: &'a str,
    binding: Binding,
    scram: Option<sasl::ScramSha256>,
}

impl<'a> Secrets<'a> {
    pub fn new(user: &'a str, password: Option<&'a str>, binding: Binding) -> Secrets<'a> {
        Secrets { user, password: password.unwrap_or_default(), binding, scram: None }
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
                let offers = |wanted| asked.mechanisms().any(|name| Ok(name == wanted)).map_err(|_| garbled());
                let (way, binding) = match &self.binding {
                    Binding::To(end_point) if offers(SCRAM_PLUS)? => {
                        (SCRAM_PLUS, sasl::ChannelBinding::tls_server_end_point(end_point.clone()))
                    }
                    // Says that it could have been: a server that offered it knows then that somebody has taken it out.
                    Binding::To(_) => (SCRAM, sasl::ChannelBinding::unrequested()),
                    Binding::Unknown => (SCRAM, sasl::ChannelBinding::unsupported()),
                };
                if way == SCRAM && !offers(SCRAM)? {
                    return Err(refused("the server offers no way to log in that is known here"));
                }
                let scram = sasl::ScramSha256::new(self.password.as_bytes(), binding);
                put(&mut out, way, |buffer| frontend::sasl_initial_response(way, scram.message(), buffer))?;
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
        let mut secrets = Secrets::new("me", Some("secret"), Binding::Unknown);
        assert_eq!(secrets.answer(&[0, 0, 0, 0]).unwrap(), None);
        assert_eq!(secrets.answer(&[0, 0, 0, 3]).unwrap().unwrap(), b"p\0\0\0\x0bsecret\0");
        let hashed = secrets.answer(&[0, 0, 0, 5, 1, 2, 3, 4]).unwrap().unwrap();
        assert_eq!((&hashed[..8], hashed.len()), (&b"p\0\0\0\x28md5"[..], 41));
        let first = secrets.answer(b"\0\0\0\x0aSCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0").unwrap().unwrap();
        assert!(first[5..].starts_with(b"SCRAM-SHA-256\0\0\0\0"), "{first:?}");
    }

    #[test]
    fn a_proof_is_bound_to_the_connection_where_both_sides_can() {
        let both = b"\0\0\0\x0aSCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0";
        let plain = b"\0\0\0\x0aSCRAM-SHA-256\0\0";
        let plus = b"\0\0\0\x0aSCRAM-SHA-256-PLUS\0\0";
        for (binding, offered, begin) in [
            (Binding::To(vec![1; 32]), &both[..], Some(("SCRAM-SHA-256-PLUS", "p=tls-server-end-point,,n="))),
            (Binding::To(vec![1; 32]), plain, Some(("SCRAM-SHA-256", "y,,n="))),
            (Binding::Unknown, both, Some(("SCRAM-SHA-256", "n,,n="))),
            (Binding::Unknown, plus, None),
        ] {
            let answered = Secrets::new("me", Some("secret"), binding).answer(offered);
            match begin {
                None => assert!(answered.is_err()),
                Some((way, message)) => {
                    let answer = answered.unwrap().unwrap();
                    let rest = answer[5..].strip_prefix(way.as_bytes()).and_then(|rest| rest.strip_prefix(b"\0"));
                    assert!(rest.unwrap()[4..].starts_with(message.as_bytes()), "{answer:?}");
                }
            }
        }
    }

    #[test]
    fn ways_that_are_not_known_are_refused() {
        for way in [&b"\0\0\0\x07"[..], b"\0\0\0\x63", b"\0\0\0\x0aGSS\0\0"] {
            let error = Secrets::new("me", None, Binding::Unknown).answer(way).unwrap_err();
            assert!(error.message.starts_with("logging in: "), "{}", error.message);
        }
    }

    proptest! {
        #[test]
        fn any_challenge_is_answered_or_refused(bodies: Vec<Vec<u8>>, way in 0u8..14) {
            let mut secrets = Secrets::new("me", Some("secret"), Binding::To(vec![7; 32]));
            for body in bodies {
                secrets.answer(&body).ok();
                secrets.answer(&[&[0, 0, 0, way][..], &body].concat()).ok();
            }
        }
    }
}
