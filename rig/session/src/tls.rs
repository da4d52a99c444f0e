//! TLS of a session, by rustls: what a target asks for, the handshake, and what goes through afterwards. Keys and
//! certificates are read from files that the target names; none of them is ever printed.

use rustix::io::Errno;
use rustix::net::{recv, RecvFlags};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::WebPkiServerVerifier;
use rustls::crypto::{
    ring, verify_tls12_signature, verify_tls13_signature, verify_tls13_signature_with_raw_key, CryptoProvider,
    WebPkiSupportedAlgorithms,
};
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::{
    AlertDescription, CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, Error, RootCertStore,
    SignatureScheme,
};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha224, Sha256, Sha384, Sha512};
use std::io::{self, Read, Write as _};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use transaction::{failed, Class, Outcome, SessionError};

/// That a session is encrypted, and whom it trusts.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// A PEM file of certificates. The server's must be signed by one of them and be made out to the host's name.
    /// Without it any answer is taken for the server.
    pub ca: Option<String>,
    /// By which the server may know us.
    pub identity: Option<Identity>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// A PEM file: the certificate, and those that it is signed by.
    pub certificate: String,
    /// A PEM file, without a passphrase.
    pub key: String,
}

impl Tls {
    pub fn sample() -> Tls {
        let file = |name: &str| format!("/etc/acidtest/{name}.pem");
        Tls { ca: Some(file("ca")), identity: Some(Identity { certificate: file("client"), key: file("client-key") }) }
    }

    fn config(&self) -> Outcome<ClientConfig> {
        let provider = Arc::new(ring::default_provider());
        let algorithms = provider.signature_verification_algorithms;
        let versions = ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions();
        let verifier: Arc<dyn ServerCertVerifier> = match &self.ca {
            Some(file) => trusted(file, provider)?,
            None => Arc::new(Anybody(algorithms)),
        };
        // "dangerous" is only the second of the two: the first verifies what rustls does by itself.
        let builder = versions.map_err(|error| unusable(&error.to_string()))?.dangerous();
        let builder = builder.with_custom_certificate_verifier(verifier);
        match &self.identity {
            None => Ok(builder.with_no_client_auth()),
            Some(Identity { certificate, key }) => {
                let chain = certificates(certificate)?;
                let secret = PrivateKeyDer::from_pem_file(key)
                    .map_err(|error| unreadable(key, &error, "private key without a passphrase"))?;
                builder
                    .with_client_auth_cert(chain, secret)
                    .map_err(|error| unusable(&format!("{key} is no key that fits {certificate}: {error}")))
            }
        }
    }

    /// Why there is no TLS with the server at `host`, in one line.
    fn explained(&self, error: &Error, host: &str) -> String {
        let certificate = |what: &str| format!("the server's certificate {what}");
        match error {
            Error::InvalidCertificate(wrong) => match wrong {
                CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                    let file = self.ca.as_deref().unwrap_or_default();
                    certificate(&format!("is not signed by a CA of {file}"))
                }
                CertificateError::ExpiredContext { time, not_after } => {
                    certificate(&format!("has expired ({} ago)", span(time, not_after)))
                }
                CertificateError::NotValidYetContext { time, not_before } => {
                    certificate(&format!("is not valid yet ({} to go)", span(not_before, time)))
                }
                CertificateError::NotValidForNameContext { presented, .. } if presented.is_empty() => {
                    certificate(&format!("is not made out to {host}: it has no subjectAltName"))
                }
                CertificateError::NotValidForNameContext { presented, .. } => {
                    let names: Vec<_> = presented.iter().map(|name| bare(name)).collect();
                    certificate(&format!("is made out to {}, not to {host}", names.join(", ")))
                }
                wrong => certificate(&format!("cannot be verified: {}", Error::from(wrong.clone()))),
            },
            Error::AlertReceived(alert) => match (alert, &self.identity) {
                (AlertDescription::CertificateRequired, None) => "the server demands a client certificate".to_string(),
                (AlertDescription::HandshakeFailure | AlertDescription::ProtocolVersion, _) => {
                    format!("the server has no TLS 1.2 or 1.3 with a key exchange and a cipher that are known here ({alert:?})")
                }
                (_, Some(Identity { certificate, .. })) if of_certificates(*alert) => {
                    format!("the server does not take the client certificate of {certificate} ({alert:?})")
                }
                _ => format!("the server has refused TLS ({alert:?})"),
            },
            Error::InvalidMessage(_) => "what the server answers is not TLS 1.2 or 1.3".to_string(),
            error => error.to_string(),
        }
    }
}

fn of_certificates(alert: AlertDescription) -> bool {
    use AlertDescription::*;
    matches!(
        alert,
        BadCertificate
            | UnsupportedCertificate
            | CertificateRevoked
            | CertificateExpired
            | CertificateUnknown
            | UnknownCA
            | DecryptError
            | AccessDenied
    )
}

/// How long it is from the earlier of two moments to the later.
fn span(later: &UnixTime, earlier: &UnixTime) -> String {
    let seconds = later.as_secs().saturating_sub(earlier.as_secs());
    match seconds / 3600 {
        0 => format!("{} min", seconds / 60),
        hours @ 1..=47 => format!("{hours} h"),
        hours => format!("{} days", hours / 24),
    }
}

/// `name` of `DnsName("name")`.
fn bare(name: &str) -> &str {
    let inner = name.split_once('(').and_then(|(_, inner)| inner.strip_suffix(')')).unwrap_or(name);
    inner.trim_matches('"')
}

fn trusted(file: &str, provider: Arc<CryptoProvider>) -> Outcome<Arc<WebPkiServerVerifier>> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(file)? {
        roots.add(certificate).map_err(|error| unusable(&format!("{file} has a damaged certificate: {error}")))?;
    }
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
        .build()
        .map_err(|error| unusable(&format!("{file}: {error}")))
}

fn certificates(file: &str) -> Outcome<Vec<CertificateDer<'static>>> {
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match read {
        Ok(all) if all.is_empty() => Err(unreadable(file, &pem::Error::NoItemsFound, "certificate")),
        Ok(all) => Ok(all),
        Err(error) => Err(unreadable(file, &error, "certificate")),
    }
}

fn unreadable(file: &str, error: &pem::Error, what: &str) -> SessionError {
    match error {
        pem::Error::NoItemsFound => unusable(&format!("{file} holds no {what} (PEM)")),
        pem::Error::Io(error) => unusable(&format!("{file}: {error}")),
        _ => unusable(&format!("{file} is damaged: no {what} (PEM) can be read from it")),
    }
}

fn unusable(why: &str) -> SessionError {
    failed(Class::Connection, format!("TLS: {why}"))
}

/// Takes any server that answers, as long as it holds the key of the certificate that it shows.
#[derive(Debug)]
struct Anybody(WebPkiSupportedAlgorithms);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.0)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let whole = verify_tls13_signature(message, certificate, signed, &self.0);
        // A certificate of X.509 version 1, as openssl's program makes it without further options, is not read whole.
        whole.or_else(|error| match public_key(certificate) {
            Some(key) => {
                verify_tls13_signature_with_raw_key(message, &SubjectPublicKeyInfoDer::from(key), signed, &self.0)
            }
            None => Err(error),
        })
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}

/// Sixteen kilobytes is the most that a record holds.
const RECORD: usize = 16 * 1024;

/// An encrypted connection over a socket that does not wait.
pub struct Channel {
    connection: ClientConnection,
    asked: Tls,
    host: String,
}

/// Why nothing was received.
pub enum ReceiveError {
    System(Errno),
    Session(SessionError),
}

impl ReceiveError {
    pub fn too_much() -> ReceiveError {
        ReceiveError::Session(failed(Class::Connection, "the server says more than a login takes".to_string()))
    }
}

impl From<Errno> for ReceiveError {
    fn from(error: Errno) -> ReceiveError {
        ReceiveError::System(error)
    }
}

impl Channel {
    /// To the server at `host`, before the first word.
    pub fn new(asked: &Tls, host: &str) -> Outcome<Channel> {
        let name = ServerName::try_from(host.to_string());
        let name = name.map_err(|_| unusable(&format!("{host:?} is no name that a certificate can be made out to")))?;
        let connection = ClientConnection::new(Arc::new(asked.config()?), name);
        let mut connection = connection.map_err(|error| unusable(&error.to_string()))?;
        // What is written is sealed and taken out at once.
        connection.set_buffer_limit(None);
        Ok(Channel { connection, asked: asked.clone(), host: host.to_string() })
    }

    pub fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    pub fn put_own(&mut self, out: &mut Vec<u8>) {
        while self.connection.wants_write() {
            self.connection.write_tls(out).expect("a Vec takes everything");
        }
    }

    /// Puts `plain` out, sealed.
    pub fn seal(&mut self, plain: &[u8], out: &mut Vec<u8>) {
        for record in plain.chunks(RECORD) {
            // A connection that has failed says so when it is read.
            if self.connection.writer().write_all(record).is_err() {
                break;
            }
            self.put_own(out);
        }
    }

    /// Takes in once what the socket has, at most `allowed` bytes; answers how many there were.
    pub fn take_in(&mut self, socket: &OwnedFd, allowed: &mut usize) -> Result<usize, ReceiveError> {
        let taken = match self.connection.read_tls(&mut Incoming { socket, allowed }) {
            Ok(taken) => taken,
            Err(error) => {
                return Err(Errno::from_io_error(&error).map_or_else(ReceiveError::too_much, ReceiveError::System))
            }
        };
        match self.connection.process_new_packets() {
            Ok(_) => Ok(taken),
            Err(error) => Err(ReceiveError::Session(unusable(&self.asked.explained(&error, &self.host)))),
        }
    }

    /// Opens what has come; answers 0 when the server has ended the connection.
    pub fn open(&mut self, socket: &OwnedFd, allowed: &mut usize, plain: &mut [u8]) -> Result<usize, ReceiveError> {
        loop {
            match self.connection.reader().read(plain) {
                Ok(opened) => return Ok(opened),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // It is gone without the word that ends TLS.
                Err(_) => return Ok(0),
            }
            self.take_in(socket, allowed)?;
        }
    }

    /// The `tls-server-end-point` of RFC 5929, by which a password's proof is bound to this connection; none where it is
    /// not defined for the server's certificate.
    pub fn end_point(&self) -> Option<Vec<u8>> {
        end_point(self.connection.peer_certificates()?.first()?)
    }
}

struct Incoming<'a> {
    socket: &'a OwnedFd,
    allowed: &'a mut usize,
}

impl Read for Incoming<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let (_, more) = recv(self.socket, buffer, RecvFlags::empty())?;
        *self.allowed = self.allowed.checked_sub(more).ok_or_else(|| io::Error::other("too much"))?;
        Ok(more)
    }
}

/// The hash of a certificate by the hash of its signature, SHA-256 in place of weaker ones.
fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    // Certificate ::= SEQUENCE { tbsCertificate, signatureAlgorithm SEQUENCE { OBJECT IDENTIFIER, ... }, ... }
    let (_, body, _) = field(certificate)?;
    let (_, _, rest) = field(body)?;
    let (_, algorithm, _) = field(rest)?;
    let (tag, name, _) = field(algorithm)?;
    const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1];
    const ECDSA_SHA2: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3];
    const ECDSA_SHA1: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 1];
    let (&last, family) = name.split_last()?;
    match (tag, family, last) {
        (6, RSA, 4 | 5 | 11) | (6, ECDSA_SHA2, 2) => Some(Sha256::digest(certificate).to_vec()),
        (6, RSA, 12) | (6, ECDSA_SHA2, 3) => Some(Sha384::digest(certificate).to_vec()),
        (6, RSA, 13) | (6, ECDSA_SHA2, 4) => Some(Sha512::digest(certificate).to_vec()),
        (6, RSA, 14) | (6, ECDSA_SHA2, 1) => Some(Sha224::digest(certificate).to_vec()),
        _ if (tag, name) == (6, ECDSA_SHA1) => Some(Sha256::digest(certificate).to_vec()),
        _ => None,
    }
}

/// The SubjectPublicKeyInfo of a certificate, of any version.
fn public_key(certificate: &[u8]) -> Option<&[u8]> {
    let (_, body, _) = field(certificate)?;
    let (_, mut rest, _) = field(body)?;
    // TBSCertificate ::= SEQUENCE { [0] version, none in version 1, serialNumber, signature, issuer, validity, subject,
    // subjectPublicKeyInfo, ... }
    if *rest.first()? == 0xa0 {
        (_, _, rest) = field(rest)?;
    }
    for _ in 0..5 {
        (_, _, rest) = field(rest)?;
    }
    let (_, _, after) = field(rest)?;
    Some(&rest[..rest.len() - after.len()])
}

/// The first field of DER: its tag, its content, and what follows it.
fn field(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&[tag, short], rest) = bytes.split_first_chunk()?;
    let (length, rest) = match short {
        0..=0x7f => (usize::from(short), rest),
        0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(short & 0x7f))?;
            (digits.iter().fold(0, |length, &digit| length << 8 | usize::from(digit)), rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn der(tag: u8, content: &[u8]) -> Vec<u8> {
        let length = content.len() as u16;
        [&[tag, 0x82][..], &length.to_be_bytes(), content].concat()
    }

    #[test]
    fn the_end_point_is_hashed_as_the_certificate_is_signed() {
        const RSA: [u8; 8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1];
        for (last, length) in [(4, 32), (5, 32), (11, 32), (12, 48), (13, 64), (14, 28)] {
            let algorithm = der(0x30, &der(6, &[&RSA[..], &[last]].concat()));
            let certificate = der(0x30, &[der(0x30, &[7; 300]), algorithm, der(3, &[1; 256])].concat());
            assert_eq!(end_point(&certificate).unwrap().len(), length);
        }
        // Ed25519 has no hash of its own.
        let algorithm = der(0x30, &der(6, &[0x2b, 0x65, 0x70]));
        assert_eq!(end_point(&der(0x30, &[der(0x30, &[7; 300]), algorithm].concat())), None);
    }

    #[test]
    fn the_key_is_found_in_certificates_of_each_version() {
        let key = der(0x30, b"the key");
        let five: Vec<u8> = (0..5).flat_map(|_| der(0x30, b"x")).collect();
        for version in [&[][..], &[0xa0, 3, 2, 1, 2]] {
            let body = der(0x30, &[version, &five, &key, &der(0xa3, b"more")].concat());
            assert_eq!(public_key(&der(0x30, &body)).unwrap(), key);
        }
    }

    #[test]
    fn names_and_times_are_shown_in_plain_words() {
        let at = |seconds| UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds));
        for (seconds, shown) in [(59, "0 min"), (3_599, "59 min"), (7_200, "2 h"), (200_000, "2 days")] {
            assert_eq!(span(&at(seconds + 5), &at(5)), shown);
        }
        for (name, shown) in
            [(r#"DnsName("db.example")"#, "db.example"), ("IpAddress(127.0.0.1)", "127.0.0.1"), ("x", "x")]
        {
            assert_eq!(bare(name), shown);
        }
    }

    #[test]
    fn a_file_that_is_not_what_it_should_be_is_named() {
        let missing = Tls { ca: Some("/nonexistent/ca.pem".to_string()), identity: None };
        let error = missing.config().unwrap_err().message;
        assert_eq!(error, "TLS: /nonexistent/ca.pem: No such file or directory (os error 2)");
        let empty = Tls { ca: Some("/dev/null".to_string()), identity: None };
        assert_eq!(empty.config().unwrap_err().message, "TLS: /dev/null holds no certificate (PEM)");
    }

    proptest! {
        #[test]
        fn any_certificate_has_an_end_point_or_none(certificate: Vec<u8>) {
            end_point(&certificate);
            public_key(&certificate);
            public_key(&der(0x30, &der(0x30, &certificate)));
            end_point(&der(0x30, &[der(0x30, b""), certificate].concat()));
        }
    }
}
