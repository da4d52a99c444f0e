//! The start of a connection: the server's greeting, what answers it, and the proofs of a password.
//! Source: MySQL internals manual, "Connection Phase"; MariaDB knowledge base, "Connecting".

use crate::answer::Manner;
use crate::packet::{put_text, refusal, Reader};
use curve25519_dalek::edwards::EdwardsPoint;
use curve25519_dalek::scalar::{clamp_integer, Scalar};
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};
use transaction::{failed, garbled, Class, Outcome, SessionError};

/// What both sides can do; see `CLIENT_...` in `mysql_com.h`.
mod can {
    /// In MySQL "long passwords"; a MariaDB server that does not set it tells more of itself in reserved bytes.
    pub const MYSQL: u64 = 1;
    /// A row that is changed into what it was counts as changed.
    pub const FOUND_ROWS: u64 = 1 << 1;
    pub const LONG_FLAG: u64 = 1 << 2;
    pub const CONNECT_WITH_DB: u64 = 1 << 3;
    pub const LOCAL_FILES: u64 = 1 << 7;
    pub const PROTOCOL_41: u64 = 1 << 9;
    pub const TLS: u64 = 1 << 11;
    pub const TRANSACTIONS: u64 = 1 << 13;
    pub const SECURE_CONNECTION: u64 = 1 << 15;
    pub const MULTI_RESULTS: u64 = 1 << 17;
    pub const PS_MULTI_RESULTS: u64 = 1 << 18;
    pub const PLUGIN_AUTH: u64 = 1 << 19;
    pub const DEPRECATE_EOF: u64 = 1 << 24;
    /// MariaDB: a prepared statement's columns are described again only when they have changed.
    pub const CACHE_METADATA: u64 = 1 << 36;
}

const NEEDED: u64 = can::PROTOCOL_41 | can::SECURE_CONNECTION | can::TRANSACTIONS;
const WANTED: u64 = NEEDED
    | can::MYSQL
    | can::FOUND_ROWS
    | can::LONG_FLAG
    | can::CONNECT_WITH_DB
    | can::LOCAL_FILES
    | can::MULTI_RESULTS
    | can::PS_MULTI_RESULTS
    | can::PLUGIN_AUTH
    | can::DEPRECATE_EOF
    | can::CACHE_METADATA;

/// The longest packet that is taken, which the server may know.
const PACKET_MAX: u32 = 1 << 24;
const UTF8MB4_GENERAL_CI: u8 = 45;

const NATIVE: &[u8] = b"mysql_native_password";
const CACHING_SHA2: &[u8] = b"caching_sha2_password";
const ED25519: &[u8] = b"client_ed25519";

/// ER_ACCESS_DENIED_ERROR.
const DENIED: u16 = 1045;

/// Over what we reach the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    Socket,
    /// TCP, which anybody may read who is between.
    Open,
    /// TCP within TLS; the server may have asked for our certificate, which we have when we are `known`.
    Tls {
        known: bool,
    },
}

struct Greeting<'a> {
    capabilities: u64,
    salt: Vec<u8>,
    plugin: &'a [u8],
}

/// One login with a password, in the ways of MySQL 4.1 (`mysql_native_password`), MySQL 8 (`caching_sha2_password`) and
/// MariaDB (`client_ed25519`), or without one, by the socket's owner among others.
pub struct Login<'a> {
    database: &'a str,
    user: &'a str,
    password: &'a [u8],
    reach: Reach,
    capabilities: u64,
    plugin: Vec<u8>,
}

/// What a packet of the server asks for.
#[derive(Debug, PartialEq, Eq)]
pub enum Asked {
    Proof(Vec<u8>),
    /// Nothing: it will say more.
    Nothing,
    /// The password itself, which goes only where nobody can listen in. The server keeps what it has seen there, and then
    /// takes a proof here too.
    Private,
    /// Nothing more: the session is open.
    In(Manner),
}

impl<'a> Login<'a> {
    pub fn new(database: &'a str, user: &'a str, password: Option<&'a str>, reach: Reach) -> Outcome<Login<'a>> {
        if let Some(word) = [database, user].into_iter().find(|word| word.contains('\0')) {
            return Err(refused(&format!("{word:?} contains a zero byte")));
        }
        let password = password.unwrap_or_default().as_bytes();
        Ok(Login { database, user, password, reach, capabilities: 0, plugin: Vec::new() })
    }

    /// The packet between the server's greeting and TLS, which begins behind it.
    pub fn ask_for_tls(&mut self, content: &[u8]) -> Outcome<Vec<u8>> {
        let greeting = greeting(content)?;
        self.agree(&greeting)?;
        if greeting.capabilities & can::TLS == 0 {
            return Err(failed(Class::Connection, "TLS: the server has none".to_string()));
        }
        Ok(self.head())
    }

    pub fn answer_greeting(&mut self, content: &[u8]) -> Outcome<Vec<u8>> {
        let greeting = greeting(content)?;
        self.agree(&greeting)?;
        // A plugin that is not known here is answered as the oldest: the server then asks for the account's own.
        let plugin = if greeting.plugin == CACHING_SHA2 { CACHING_SHA2 } else { NATIVE };
        self.plugin = plugin.to_vec();
        let mut out = self.head();
        out.extend(self.user.as_bytes());
        out.push(0);
        put_text(&mut out, &proof(plugin, self.password, &greeting.salt));
        for text in [self.database.as_bytes(), plugin] {
            out.extend(text);
            out.push(0);
        }
        Ok(out)
    }

    /// Takes what both sides can do.
    fn agree(&mut self, greeting: &Greeting) -> Outcome<()> {
        if greeting.capabilities & NEEDED != NEEDED {
            return Err(refused("the server is older than MySQL 4.1, or not a MySQL"));
        }
        self.capabilities = greeting.capabilities & WANTED;
        if matches!(self.reach, Reach::Tls { .. }) {
            self.capabilities |= can::TLS;
        }
        Ok(())
    }

    /// What both of our first packets begin with.
    fn head(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend((self.capabilities as u32).to_le_bytes());
        out.extend(PACKET_MAX.to_le_bytes());
        out.push(UTF8MB4_GENERAL_CI);
        out.extend([0; 19]);
        out.extend(((self.capabilities >> 32) as u32).to_le_bytes());
        out
    }

    /// Answers each packet that follows.
    pub fn answer(&mut self, content: &[u8]) -> Outcome<Asked> {
        match content.split_first() {
            Some((0, _)) => Ok(Asked::In(Manner {
                deprecate_eof: self.capabilities & can::DEPRECATE_EOF != 0,
                cache_metadata: self.capabilities & can::CACHE_METADATA != 0,
            })),
            Some((0xff, _)) => Err(self.denied(content)),
            Some((0xfe, [])) => Err(refused("the server asks for a password in the way of MySQL 3.23")),
            Some((0xfe, switch)) => {
                let mut reader = Reader(switch);
                self.plugin = reader.until_zero().to_vec();
                if self.plugin == ED25519 {
                    return Ok(Asked::Proof(signature(self.password, reader.0)?.to_vec()));
                }
                if self.plugin != NATIVE && self.plugin != CACHING_SHA2 {
                    return Err(unknown(&self.plugin));
                }
                let salt = reader.0.strip_suffix(b"\0").unwrap_or(reader.0);
                Ok(Asked::Proof(proof(&self.plugin, self.password, salt)))
            }
            // The server knows the password already.
            Some((1, [3])) if self.plugin == CACHING_SHA2 => Ok(Asked::Nothing),
            Some((1, [4])) if self.plugin == CACHING_SHA2 && self.reach != Reach::Open => {
                Ok(Asked::Proof([self.password, b"\0"].concat()))
            }
            Some((1, [4])) if self.plugin == CACHING_SHA2 => Ok(Asked::Private),
            _ => Err(garbled()),
        }
    }

    /// A refusal. Of an account that demands more than a password the server only says that access is denied.
    fn denied(&self, content: &[u8]) -> SessionError {
        let mut error = refusal(content);
        if matches!(Reader(&content[1..]).u16(), Ok(DENIED)) {
            error.message += match self.reach {
                Reach::Socket | Reach::Tls { known: true } => "",
                Reach::Open => "; the password is wrong, or the account demands TLS",
                Reach::Tls { known: false } => "; the password is wrong, or the account demands a client certificate",
            };
        }
        error
    }
}

/// What MariaDB's `ed25519` asks for: the signature of its salt of 32 bytes, by Ed25519 (RFC 8032) but for the key: that
/// is the password, however long it is, where Ed25519 has 32 bytes.
fn signature(password: &[u8], salt: &[u8]) -> Outcome<[u8; 64]> {
    let salt: &[u8; 32] = salt.first_chunk().ok_or_else(garbled)?;
    let hashed: [u8; 64] = Sha512::digest(password).into();
    let (secret, prefix) = hashed.split_at(32);
    let secret = Scalar::from_bytes_mod_order(clamp_integer(secret.try_into().expect("it is a half of 64")));
    let number = |parts: &[&[u8]]| {
        let hash = parts.iter().fold(Sha512::new(), |hash, part| hash.chain_update(part));
        Scalar::from_bytes_mod_order_wide(&hash.finalize().into())
    };
    let public = EdwardsPoint::mul_base(&secret).compress();
    let nonce = number(&[prefix, salt]);
    let point = EdwardsPoint::mul_base(&nonce).compress();
    let proof = nonce + number(&[point.as_bytes(), public.as_bytes(), salt]) * secret;
    let mut signature = [0; 64];
    signature[..32].copy_from_slice(point.as_bytes());
    signature[32..].copy_from_slice(proof.as_bytes());
    Ok(signature)
}

fn greeting(content: &[u8]) -> Outcome<Greeting<'_>> {
    let mut reader = Reader(content);
    match reader.u8()? {
        10 => {}
        0xff => return Err(refusal(content)),
        other => return Err(refused(&format!("the server uses protocol {other}, and 10 is known here"))),
    }
    reader.until_zero(); // version
    reader.u32()?; // number of the connection
    let mut salt = reader.bytes(8)?.to_vec();
    reader.u8()?;
    let low = reader.u16()?;
    reader.bytes(3)?; // character set, status
    let high = reader.u16()?;
    let salt_length = usize::from(reader.u8()?);
    reader.bytes(6)?;
    let more = reader.u32()?;
    let mut capabilities = u64::from(low) | u64::from(high) << 16;
    if capabilities & can::MYSQL == 0 {
        capabilities |= u64::from(more) << 32;
    }
    let rest = reader.bytes(salt_length.saturating_sub(8).max(13))?;
    salt.extend(rest.strip_suffix(b"\0").unwrap_or(rest));
    Ok(Greeting { capabilities, salt, plugin: reader.until_zero() })
}

/// What proves that we know the password, without telling it: `H(password) xor H(salt, H(H(password)))`, the salt
/// standing last for SHA-256.
fn proof(plugin: &[u8], password: &[u8], salt: &[u8]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let (mut once, mask) = if plugin == CACHING_SHA2 {
        let once = Sha256::digest(password);
        let mask = Sha256::new().chain_update(Sha256::digest(once)).chain_update(salt).finalize();
        (once.to_vec(), mask.to_vec())
    } else {
        let once = Sha1::digest(password);
        let mask = Sha1::new().chain_update(salt).chain_update(Sha1::digest(once)).finalize();
        (once.to_vec(), mask.to_vec())
    };
    once.iter_mut().zip(mask).for_each(|(byte, mask)| *byte ^= mask);
    once
}

/// Where the server asks for what is `Private` and we cannot reach it in private.
pub fn only_private() -> SessionError {
    refused("the server takes this account's password (caching_sha2_password) only with TLS or over its Unix socket")
}

fn unknown(plugin: &[u8]) -> SessionError {
    let plugin = String::from_utf8_lossy(plugin);
    refused(&format!(
        "the server asks for {plugin}, which is not known here; mysql_native_password and caching_sha2_password are. MySQL \
         asks for any of its ways where it has no account of that name"
    ))
}

fn refused(why: &str) -> SessionError {
    failed(Class::Connection, format!("logging in: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hex(text: &str) -> Vec<u8> {
        text.as_bytes()
            .chunks(2)
            .map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap())
            .collect()
    }

    /// A server keeps H(H(password)) and finds H(password) by it: with the SHA-1 of "secret" as `select password('secret')`
    /// answers it.
    #[test]
    fn a_server_that_knows_the_passwords_double_hash_is_convinced() {
        let (salt, kept) = (b"0123456789abcdefghij", hex("14E65567ABDB5135D0CFD9A70B3032C179A49EE7"));
        let mask = Sha1::new().chain_update(salt).chain_update(&kept).finalize();
        let once: Vec<u8> = proof(NATIVE, b"secret", salt).iter().zip(mask).map(|(a, b)| a ^ b).collect();
        assert_eq!(Sha1::digest(once).to_vec(), kept);
        assert_eq!(proof(NATIVE, b"", salt), b"");
    }

    #[test]
    fn the_salt_stands_last_for_sha_256() {
        let kept = Sha256::digest(Sha256::digest(b"secret"));
        let mask = Sha256::new().chain_update(kept).chain_update(b"salt").finalize();
        let once: Vec<u8> = proof(CACHING_SHA2, b"secret", b"salt").iter().zip(mask).map(|(a, b)| a ^ b).collect();
        assert_eq!(Sha256::digest(once), kept);
    }

    /// RFC 8032, 7.1, whose keys are 32 bytes: a password that is those signs as Ed25519 does. The messages there are not
    /// of 32 bytes, so that this one is from OpenSSL, over the key of test 1.
    #[test]
    fn mariadbs_signature_is_that_of_ed25519() {
        let key = hex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");
        let salt = *b"a salt that has thirty-two bytes";
        assert_eq!(
            signature(&key, &salt).unwrap().to_vec(),
            hex("59503516da56a949be1813d36ac9ea95d5791352abab2d019c197dcc59f897e0\
             af98d5b2c1d14c73366fd10d770d97af8c676a932656627eced5f92384eaec0a")
        );
        assert!(signature(b"secret", b"too short").is_err());
        let mut login = Login::new("bench", "me", Some("secret"), Reach::Open).unwrap();
        let asked = [&b"\xfeclient_ed25519\0"[..], &salt].concat();
        assert!(matches!(login.answer(&asked), Ok(Asked::Proof(proof)) if proof.len() == 64));
    }

    #[test]
    fn tls_is_asked_for_where_the_server_has_it() {
        let greeting = |capabilities: u16| {
            let low = capabilities.to_le_bytes();
            [&b"\x0a8.0\0\x07\0\0\0saltsalt\0"[..], &low, b"\x2d\x02\0\x0a\0\x15\0\0\0\0\0\0\0\0\0\0twelve bytes\0x\0"]
                .concat()
        };
        let mut login = Login::new("bench", "me", Some("secret"), Reach::Tls { known: false }).unwrap();
        assert_eq!(login.ask_for_tls(&greeting(0xa200)).unwrap_err().message, "TLS: the server has none");
        let request = login.ask_for_tls(&greeting(0xaa00)).unwrap();
        let hello = login.answer_greeting(&greeting(0xaa00)).unwrap();
        // It is how the whole answer begins, and tells nothing of who we are.
        assert_eq!((request.len(), request[1] & 8), (32, 8));
        assert_eq!(hello[..32], request);
    }

    #[test]
    fn what_an_account_may_demand_beside_a_password_is_named() {
        let denied = b"\xff\x15\x04#28000Access denied";
        for (reach, message) in [
            (Reach::Socket, "Access denied (error 1045)"),
            (Reach::Open, "Access denied (error 1045); the password is wrong, or the account demands TLS"),
            (
                Reach::Tls { known: false },
                "Access denied (error 1045); the password is wrong, or the account demands a client certificate",
            ),
            (Reach::Tls { known: true }, "Access denied (error 1045)"),
        ] {
            let mut login = Login::new("bench", "me", Some("secret"), reach).unwrap();
            assert_eq!(login.answer(denied).unwrap_err().message, message);
        }
    }

    proptest! {
        #[test]
        fn any_greeting_is_read_or_refused(content: Vec<u8>) {
            greeting(&content).ok();
        }
    }
}
