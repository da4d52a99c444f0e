//! Logging in on a server that says anything at all: it ends in an error, with no more memory than a login may take.

use crate::mysql::log_in_over as mysql;
use crate::postgres::log_in_over as postgres;
use crate::socket::Socket;
use crate::tls::Tls;
use proptest::prelude::*;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread;
use transaction::{Class, Outcome, SessionError};

const ANYBODY: Tls = Tls { ca: None, identity: None };

type LogIn = fn(Socket, Option<&Tls>) -> Outcome<()>;
const LOGINS: [LogIn; 2] = [mysql, postgres];

/// What comes of a login on a server that sends `begin`, then `more` again and again while anybody listens; and how many
/// bytes it could say.
fn ended(log_in: LogIn, tls: bool, begin: &[u8], more: &[u8]) -> (SessionError, usize) {
    let (ours, mut server) = UnixStream::pair().unwrap();
    let sent = Arc::new(AtomicUsize::new(0));
    let (begin, more, counted) = (begin.to_vec(), more.to_vec(), Arc::clone(&sent));
    let mut listener = server.try_clone().unwrap();
    // A server takes in what it is sent, or the client would wait for room.
    let listening = thread::spawn(move || std::io::copy(&mut listener, &mut std::io::sink()).ok());
    let server_thread = thread::spawn(move || {
        let mut say = |bytes: &[u8]| {
            let accepted = server.write_all(bytes).is_ok();
            counted.fetch_add(bytes.len(), Ordering::Relaxed);
            accepted
        };
        let mut listened = say(&begin);
        while listened && !more.is_empty() {
            listened = say(&more);
        }
        server.shutdown(std::net::Shutdown::Write).ok();
    });
    let outcome = log_in(Socket::over(ours).unwrap(), tls.then_some(&ANYBODY));
    server_thread.join().unwrap();
    listening.join().unwrap();
    (outcome.expect_err("nobody has let us in"), sent.load(Ordering::Relaxed))
}

/// What the kernel keeps for both ends beside the megabyte that is taken in.
const MOST: usize = 3 << 20;

#[test]
fn a_server_that_never_ends_is_left() {
    let greeting = b"\x4a\0\0\0\x0a5.7.1\0\x07\0\0\0saltsalt\0\xff\xff\x2d\x02\0\xff\xff\x15\0\0\0\0\0\0\0\0\0\0twelve bytes\0mysql_native_password\0";
    let greeting = [&((greeting.len() - 4) as u32).to_le_bytes()[..3], &greeting[3..]].concat();
    let mut switches = greeting.clone();
    for number in (2..=254u8).step_by(2) {
        switches.extend([b"\x2c\0\0", &[number][..], b"\xfemysql_native_password\0twenty bytes of salt\0"].concat());
    }
    let notice = b"N\0\0\0\x0cSNOTICE\0";
    let challenge = b"R\0\0\0\x08\0\0\0\x03";
    let record = |kind: u8| [&[kind, 3, 3, 0x40, 0][..], &[0; 0x4000]].concat();
    let (handshakes, warnings, changes) = (record(22), vec![21, 3, 3, 0, 2, 1, 90], vec![20, 3, 3, 0, 1, 1]);
    let long = vec![b'x'; 1 << 16];
    let cases: &[(LogIn, bool, &[u8], &[u8])] = &[
        (postgres, false, b"", notice),
        (postgres, false, b"", challenge),
        (postgres, false, b"R\x7f\xff\xff\xff", &long),
        (postgres, false, b"E\x7f\xff\xff\xff", &long),
        (postgres, true, b"E\x7f\xff\xff\xff", &long),
        (postgres, true, b"S", &handshakes),
        (postgres, true, b"S", &warnings),
        (postgres, true, b"S", &changes),
        (postgres, true, b"S", &long),
        (mysql, false, b"\xfe\xff\xff\0", &long),
        (mysql, false, &greeting, &long),
        (mysql, false, &switches, b""),
        (mysql, false, &greeting, b"\x2c\0\0\x02\xfemysql_native_password\0twenty bytes of salt\0"),
        (mysql, true, &greeting, &handshakes),
        (mysql, true, &greeting, &long),
    ];
    for (position, (log_in, tls, begin, more)) in cases.iter().enumerate() {
        let (error, sent) = ended(*log_in, *tls, begin, more);
        assert_eq!(error.class, Class::Connection, "{position}: {}", error.message);
        assert!(sent <= begin.len() + more.len() + MOST, "{position}: {sent} bytes were taken");
        assert!(!error.message.contains('\n') && error.message.len() < 300, "{position}: {}", error.message);
    }
}

#[test]
fn what_is_sent_before_tls_begins_is_never_taken_for_the_servers() {
    // As somebody between would put it there: the byte that agrees, and in the same breath what nobody has sealed.
    let (error, _) = ended(postgres, true, b"SR\0\0\0\x08\0\0\0\0Z\0\0\0\x05I", b"");
    assert_eq!(error.message, "the server sends before TLS has begun");
}

#[test]
fn a_server_without_tls_is_named_in_one_line() {
    let (error, _) = ended(postgres, true, b"N", b"");
    assert_eq!(error.message, "TLS: the server has none");
}

#[test]
fn a_server_that_only_keeps_us_waiting_is_left() {
    for log_in in LOGINS {
        let (ours, mut server) = UnixStream::pair().unwrap();
        let mut socket = Socket::over(ours).unwrap();
        socket.hurry();
        let error = log_in(socket, None).unwrap_err();
        assert!(error.message.starts_with("the server has not let us in within "), "{}", error.message);
        server.read_to_end(&mut Vec::new()).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_a_server_says_ends_the_login(begin: Vec<u8>, agreed: bool, tls: bool) {
        for log_in in LOGINS {
            let begin = if agreed { [b"S", &begin[..]].concat() } else { begin.clone() };
            ended(log_in, tls, &begin, b"");
        }
    }

    #[test]
    fn messages_of_any_length_end_the_login(tag: u8, length: u32, body: Vec<u8>, number in 0u8..3) {
        let packet = [&length.to_le_bytes()[..3], &[number], &body].concat();
        let message = [&[tag][..], &length.to_be_bytes(), &body].concat();
        ended(mysql, false, &packet, b"");
        ended(postgres, false, &message, b"");
    }
}
