//! The session against a server that says what a test wants, cut where a test wants it. Nothing runs side by side: the
//! server's end of the socket is written and read between the session's calls.

use super::*;
use crate::socket::Socket;
use proptest::prelude::*;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::thread;
use transaction::wait;
use transaction::Value::*;
use wire_mysql::put_text;

// Types of columns.
const TINY: u8 = 1;
const DOUBLE: u8 = 5;
const LONGLONG: u8 = 8;
const DATETIME: u8 = 12;
const NEWDECIMAL: u8 = 246;
const STRING: u8 = 254;

// The server's status.
const AUTOCOMMIT: u16 = 2;
const MORE_RESULTS: u16 = 8;
const DEPRECATE_EOF: u64 = 1 << 24;
const CACHE_METADATA: u64 = 1 << 36;

fn packet(number: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = (content.len() as u32).to_le_bytes()[..3].to_vec();
    bytes.push(number);
    bytes.extend(content);
    bytes
}

/// Packets of one conversation, numbered from `first`.
fn packets<C: AsRef<[u8]>>(first: u8, contents: &[C]) -> Vec<u8> {
    let numbered = contents.iter().enumerate();
    numbered.flat_map(|(position, content)| packet(first.wrapping_add(position as u8), content.as_ref())).collect()
}

fn ok(changed: u8, status: u16, warnings: u8) -> Vec<u8> {
    vec![0, changed, 0, status as u8, (status >> 8) as u8, warnings, 0]
}

/// The packet after columns, or rows.
fn end(deprecate_eof: bool, status: u16) -> Vec<u8> {
    if deprecate_eof {
        vec![0xfe, 0, 0, status as u8, 0, 0, 0]
    } else {
        vec![0xfe, 0, 0, status as u8, 0]
    }
}

fn err(code: u16, message: &str) -> Vec<u8> {
    let mut content = vec![0xff];
    content.extend(code.to_le_bytes());
    content.extend(b"#HY000");
    content.extend(message.as_bytes());
    content
}

fn column(kind: u8) -> Vec<u8> {
    let mut content = Vec::new();
    ["def", "", "t", "t", "c", "c"].iter().for_each(|text| put_text(&mut content, text.as_bytes()));
    content.extend([12, 45, 0, 0, 1, 0, 0, kind, 0, 0, 0, 0, 0]);
    content
}

fn prepared(handle: u32, parameters: u16, columns: u16) -> Vec<u8> {
    let mut content = vec![0];
    content.extend(handle.to_le_bytes());
    content.extend(columns.to_le_bytes());
    content.extend(parameters.to_le_bytes());
    content.extend([0, 0, 0]);
    content
}

fn greeting(capabilities: u64, plugin: &str) -> Vec<u8> {
    let capabilities = capabilities | 0x000e_a28e;
    let mut content = b"\x0a5.5.5-10.11.6-MariaDB\0\x07\0\0\0saltsalt\0".to_vec();
    content.extend((capabilities as u16).to_le_bytes());
    content.extend([45, 2, 0]);
    content.extend(((capabilities >> 16) as u16).to_le_bytes());
    content.push(21);
    content.extend([0; 6]);
    content.extend(((capabilities >> 32) as u32).to_le_bytes());
    content.extend(b"twelve bytes\0");
    content.extend(plugin.as_bytes());
    content.push(0);
    content
}

/// All that is exchanged until a session is open.
fn opening(capabilities: u64) -> Vec<u8> {
    let mut bytes = packet(0, &greeting(capabilities, "mysql_native_password"));
    bytes.extend(packet(2, &ok(0, AUTOCOMMIT, 0)));
    bytes.extend(packet(1, &ok(0, AUTOCOMMIT, 0)));
    bytes.extend(packet(1, &err(1295, "This command is not supported in the prepared statement protocol yet")));
    bytes.extend(packet(1, &prepared(1, 0, 0)));
    bytes.extend(packet(1, &prepared(2, 0, 0)));
    bytes
}

/// A session, and the server's end of its socket, from which all that was asked so far has been read.
fn session(capabilities: u64) -> (Mysql, UnixStream) {
    let (ours, mut server) = UnixStream::pair().unwrap();
    server.write_all(&opening(capabilities)).unwrap();
    let mut wire = Wire::over(Socket::over(ours).unwrap(), true);
    let manner = connection::log_in(&mut wire, "bench", "me", Some("secret"), None).unwrap().unwrap();
    let session = Mysql::over(wire, manner, &[]).unwrap();
    asked(&mut server);
    (session, server)
}

/// What the session has sent since.
fn asked(server: &mut UnixStream) -> Vec<u8> {
    server.set_nonblocking(true).unwrap();
    let mut bytes = Vec::new();
    server.read_to_end(&mut bytes).ok();
    server.set_nonblocking(false).unwrap();
    bytes
}

/// A statement of two parameters and the columns of [`answer`].
fn prepare(session: &mut Mysql, server: &mut UnixStream) -> Statement {
    let eof = !session.manner.deprecate_eof;
    let mut contents = vec![prepared(7, 2, 5)];
    let mut list = |kinds: &[u8]| {
        contents.extend(kinds.iter().map(|&kind| column(kind)));
        contents.extend(eof.then(|| end(false, AUTOCOMMIT)));
    };
    list(&[LONGLONG, LONGLONG]);
    list(&KINDS);
    server.write_all(&packets(1, &contents)).unwrap();
    let statement = session.prepare("select five from t where a = ? and b = ?").unwrap();
    asked(server);
    statement
}

const KINDS: [u8; 5] = [LONGLONG, STRING, DOUBLE, NEWDECIMAL, DATETIME];

/// Two rows and what they are, in whichever way the session has agreed on.
fn answer(manner: Manner) -> (Vec<u8>, Vec<Vec<Value>>) {
    let mut contents = Vec::new();
    if manner.cache_metadata {
        contents.push(vec![5, 0]);
    } else {
        contents.push(vec![5]);
        contents.extend(KINDS.map(column));
    }
    contents.extend((!manner.deprecate_eof).then(|| end(false, AUTOCOMMIT)));
    let mut one = vec![0, 0];
    one.extend((-7i64).to_le_bytes());
    one.extend(b"\x05gr\xc3\xbcn");
    one.extend(0.5f64.to_le_bytes());
    one.extend(b"\x0512.50");
    one.extend([7, 0xe8, 0x07, 2, 29, 23, 59, 58]);
    // NULL are the second and the fourth, and the first two bits mean nothing.
    let mut two = vec![0, 0b0010_1000];
    two.extend(1i64.to_le_bytes());
    two.extend(1e300f64.to_le_bytes());
    two.extend([4, 0xe8, 0x07, 2, 29]);
    contents.extend([one, two, end(manner.deprecate_eof, AUTOCOMMIT)]);
    let text = |text: &str| Text(text.to_string());
    let rows = vec![
        vec![Int(-7), text("grün"), Real(0.5), text("12.50"), text("2024-02-29 23:59:58")],
        vec![Int(1), Null, Real(1e300), Null, text("2024-02-29 00:00:00")],
    ];
    (packets(1, &contents), rows)
}

const MANNERS: [u64; 4] = [0, DEPRECATE_EOF, CACHE_METADATA, DEPRECATE_EOF | CACHE_METADATA];

#[test]
fn an_answer_may_come_in_pieces_cut_anywhere() {
    for capabilities in MANNERS {
        let (mut session, mut server) = session(capabilities);
        let statement = prepare(&mut session, &mut server);
        let (bytes, wanted) = answer(session.manner);
        for cut in 0..bytes.len() {
            let mut rows = Vec::new();
            let mut sink = |row: &[Value]| rows.push(row.to_vec());
            let request = Request::Run(statement, &[Int(1), Int(2)]);
            assert!(session.call(request, &mut sink).is_pending());
            server.write_all(&bytes[..cut]).unwrap();
            assert!(session.resume(&mut sink).is_pending(), "{cut}");
            server.write_all(&bytes[cut..]).unwrap();
            assert!(matches!(session.resume(&mut sink), Poll::Ready(Ok(0))), "{cut}");
            assert_eq!(rows, wanted);
        }
    }
}

#[test]
fn a_server_that_goes_away_in_the_middle_of_an_answer_is_a_lost_connection() {
    let length = {
        let (session, _server) = session(DEPRECATE_EOF);
        answer(session.manner).0.len()
    };
    for cut in 0..length {
        let (mut session, mut server) = session(DEPRECATE_EOF);
        let statement = prepare(&mut session, &mut server);
        let (bytes, _) = answer(session.manner);
        assert!(session.call(Request::Run(statement, &[Int(1), Int(2)]), &mut |_| {}).is_pending());
        asked(&mut server);
        server.write_all(&bytes[..cut]).unwrap();
        drop(server);
        let Poll::Ready(Err(error)) = session.resume(&mut |_| {}) else { panic!("{cut}") };
        assert_eq!((error.class, &*error.message), (Class::Connection, "the server has closed the connection"));
        // It stays lost, and says so.
        let Poll::Ready(Err(again)) = session.call(Request::Begin, &mut |_| {}) else { panic!("{cut}") };
        assert_eq!((again.class, again.message), (error.class, error.message));
    }
}

#[test]
fn a_server_that_has_gone_is_found_without_news_of_it() {
    let (mut session, server) = session(0);
    drop(server);
    let Poll::Ready(Err(error)) = session.call(Request::Begin, &mut |_| {}) else { panic!("pending") };
    assert_eq!(error.class, Class::Connection);
}

#[test]
fn packets_out_of_turn_are_refused_and_last_words_are_heard() {
    for (bytes, wanted) in [
        (packet(2, &ok(1, AUTOCOMMIT, 0)), "the server's answer cannot be read"),
        (packet(0, &err(1927, "Connection was killed")), "Connection was killed (error 1927)"),
        (packet(1, &[0xfb, b'/', b'e', b't', b'c']), "the server's answer cannot be read"),
        (packet(1, &[]), "the server's answer cannot be read"),
        (vec![0xff, 0xff, 0xff, 1], "the server's answer has a row of 16 MB or more"),
    ] {
        let (mut session, mut server) = session(0);
        assert!(session.call(Request::Begin, &mut |_| {}).is_pending());
        server.write_all(&bytes).unwrap();
        let Poll::Ready(Err(error)) = session.resume(&mut |_| {}) else { panic!("{wanted}") };
        assert_eq!((error.class, &*error.message), (Class::Connection, wanted));
    }
}

/// Asks, and answers with the one packet `content`.
fn exchange(session: &mut Mysql, server: &mut UnixStream, request: Request, content: &[u8]) -> Outcome<u64> {
    server.write_all(&packet(1, content)).unwrap();
    wait(session, request, &mut |_| {})
}

#[test]
fn transactions_are_as_open_as_the_server_says() {
    let (mut session, mut server) = session(0);
    assert_eq!(wait(&mut session, Request::Rollback, &mut |_| {}).unwrap(), 0);
    assert!(wait(&mut session, Request::Commit, &mut |_| {}).is_err());
    assert!(asked(&mut server).is_empty());

    // What the server does not prepare goes as text.
    exchange(&mut session, &mut server, Request::Begin, &ok(0, AUTOCOMMIT | IN_TRANSACTION, 0)).unwrap();
    assert_eq!(asked(&mut server), packet(0, b"\x03begin"));
    exchange(&mut session, &mut server, Request::Commit, &ok(0, AUTOCOMMIT, 0)).unwrap();
    assert_eq!(asked(&mut server), packet(0, &[23, 1, 0, 0, 0, 0, 1, 0, 0, 0]));

    // After a deadlock the server has rolled back already; a second time does no harm.
    exchange(&mut session, &mut server, Request::Begin, &ok(0, AUTOCOMMIT | IN_TRANSACTION, 0)).unwrap();
    let deadlock = err(1213, "Deadlock found when trying to get lock; try restarting transaction");
    let error = exchange(&mut session, &mut server, Request::Commit, &deadlock).unwrap_err();
    assert_eq!(error.class, Class::Deadlock);
    asked(&mut server);
    exchange(&mut session, &mut server, Request::Rollback, &ok(0, AUTOCOMMIT, 0)).unwrap();
    assert_eq!(asked(&mut server), packet(0, &[23, 2, 0, 0, 0, 0, 1, 0, 0, 0]));
}

#[test]
fn types_of_parameters_are_sent_when_they_change() {
    let (mut session, mut server) = session(0);
    let statement = prepare(&mut session, &mut server);
    let mut sent = |values: &[Value]| {
        exchange(&mut session, &mut server, Request::Run(statement, values), &ok(0, AUTOCOMMIT, 0)).unwrap();
        asked(&mut server)[4 + 10..].to_vec()
    };
    let with = |before: &[u8], numbers: &[i64]| {
        numbers.iter().fold(before.to_vec(), |bytes, n| [bytes, n.to_le_bytes().to_vec()].concat())
    };
    assert_eq!(sent(&[Int(1), Int(-2)]), with(&[0, 1, 8, 0, 8, 0], &[1, -2]));
    assert_eq!(sent(&[Int(3), Int(4)]), with(&[0, 0], &[3, 4]));
    assert_eq!(sent(&[Null, Int(4)]), with(&[1, 0], &[4]));
    assert_eq!(sent(&[Text("ab".to_string()), Null]), [2, 1, 253, 0, 8, 0, 2, b'a', b'b']);
    assert_eq!(sent(&[Real(0.0), Null]), with(&[2, 1, 5, 0, 8, 0], &[0]));
    let error = wait(&mut session, Request::Run(statement, &[Int(1)]), &mut |_| {}).unwrap_err();
    assert_eq!(error.message, "1 parameters for 2: select five from t where a = ? and b = ?");
}

#[test]
fn results_of_a_procedure_are_taken_to_the_last() {
    let (mut session, mut server) = session(DEPRECATE_EOF);
    let statement = prepare(&mut session, &mut server);
    let mut row = vec![0, 0];
    row.push(9);
    let contents = [vec![1], column(TINY), row, end(true, AUTOCOMMIT | MORE_RESULTS), ok(3, AUTOCOMMIT, 0)];
    server.write_all(&packets(1, &contents)).unwrap();
    let mut rows = Vec::new();
    let changed = wait(&mut session, Request::Run(statement, &[Null, Null]), &mut |row| rows.push(row.to_vec()));
    assert_eq!((changed.unwrap(), rows), (3, vec![vec![Int(9)]]));
}

#[test]
fn rows_of_text_are_numbers_where_their_columns_are() {
    let (mut session, mut server) = session(0);
    let contents = [
        vec![4],
        column(LONGLONG),
        column(NEWDECIMAL),
        column(DOUBLE),
        column(STRING),
        end(false, AUTOCOMMIT),
        b"\x02-5\x047.50\x040.25\xfb".to_vec(),
        end(false, AUTOCOMMIT),
    ];
    server.write_all(&packets(1, &contents)).unwrap();
    let rows = session.rows("select a, b, c, d from t").unwrap();
    assert_eq!(rows, [[Int(-5), Text("7.50".to_string()), Real(0.25), Null]]);
}

#[test]
fn error_numbers_become_classes() {
    for (code, message, class) in [
        (1213, "Deadlock found when trying to get lock; try restarting transaction", Class::Deadlock),
        (1205, "Lock wait timeout exceeded; try restarting transaction", Class::LockTimeout),
        (1020, "Record has changed since last read in table 't'", Class::UpdateConflict),
        (3572, "Statement aborted because lock(s) could not be acquired immediately", Class::LockConflict),
        (1062, "Duplicate entry '1' for key 'PRIMARY'", Class::Constraint),
        (1114, "The table 't' is full", Class::DiskFull),
        (1030, "Got error 28 from storage engine", Class::DiskFull),
        (1030, "Got error 28 \"No space left on device\" from storage engine InnoDB", Class::DiskFull),
        (1026, "Error writing file './t.MYD' (errno: 28)", Class::DiskFull),
        (1030, "Got error 175 from storage engine", Class::Other),
        (1045, "Access denied for user 'me'@'localhost' (using password: YES)", Class::Connection),
        (1053, "Server shutdown in progress", Class::Connection),
        (2013, "Lost connection to MySQL server during query", Class::Connection),
        (1146, "Table 'bench.t' doesn't exist", Class::Other),
    ] {
        let error = refusal(&err(code, message));
        assert_eq!((error.class, error.message), (class, format!("{message} (error {code})")));
    }
}

#[test]
fn what_does_not_fit_into_the_socket_is_sent_all_the_same() {
    let (mut session, mut server) = session(0);
    let statement = prepare(&mut session, &mut server);
    session.packet_max = Some(16 << 20);
    let long = "x".repeat(8 << 20);
    let reader = thread::spawn(move || {
        let mut head = [0; 4];
        server.read_exact(&mut head).unwrap();
        let mut content = vec![0; u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize];
        server.read_exact(&mut content).unwrap();
        server.write_all(&packet(1, &ok(1, AUTOCOMMIT, 0))).unwrap();
        (content, server)
    });
    let values = [Text(long.clone()), Int(1)];
    assert_eq!(wait(&mut session, Request::Run(statement, &values), &mut |_| {}).unwrap(), 1);
    let (content, _server) = reader.join().unwrap();
    assert!(content[content.len() - 8 - long.len()..].starts_with(long.as_bytes()));

    let longer = [Text("x".repeat(17 << 20)), Int(1)];
    let error = wait(&mut session, Request::Run(statement, &longer), &mut |_| {}).unwrap_err();
    assert_eq!(error.class, Class::Other);
    assert!(error.message.contains("max_allowed_packet"), "{}", error.message);
}

#[test]
fn what_the_server_finds_too_long_is_not_sent() {
    let (mut session, mut server) = session(0);
    let statement = prepare(&mut session, &mut server);
    let contents = [vec![1], column(LONGLONG), end(false, AUTOCOMMIT), b"\x072000000".to_vec(), end(false, AUTOCOMMIT)];
    server.write_all(&packets(1, &contents)).unwrap();
    let error = wait(&mut session, Request::Run(statement, &[Bytes(vec![7; 3_000_000]), Int(1)]), &mut |_| {});
    let message = error.unwrap_err().message;
    assert!(message.contains(" and the server takes at most 2000000 at once (max_allowed_packet"), "{message}");
    assert_eq!(asked(&mut server), packet(0, b"\x03select @@max_allowed_packet"));

    // The next is sent whole, its types with it, and nothing is asked again.
    let next = [Bytes(vec![7, 0]), Int(1)];
    exchange(&mut session, &mut server, Request::Run(statement, &next), &ok(1, AUTOCOMMIT, 0)).unwrap();
    assert_eq!(asked(&mut server)[4 + 10..], [0, 1, 252, 0, 8, 0, 2, 7, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn a_statement_alone_is_one_round_trip_and_committed() {
    let (mut session, mut server) = session(0);
    let statement = prepare(&mut session, &mut server);
    let values = [Int(1), Int(2)];
    let alone = Request::Alone(statement, &values);
    assert_eq!(exchange(&mut session, &mut server, alone, &ok(1, AUTOCOMMIT, 0)).unwrap(), 1);
    let together = asked(&mut server);
    exchange(&mut session, &mut server, Request::Run(statement, &values), &ok(1, AUTOCOMMIT, 0)).unwrap();
    // The types are not sent again.
    assert_eq!(asked(&mut server)[15..].len() + 4, together[15..].len());

    exchange(&mut session, &mut server, Request::Begin, &ok(0, AUTOCOMMIT | IN_TRANSACTION, 0)).unwrap();
    let error = wait(&mut session, alone, &mut |_| {}).unwrap_err();
    assert_eq!(error.message, "a transaction is open, and the statement was to be one of its own");
    exchange(&mut session, &mut server, Request::Commit, &ok(0, 0, 0)).unwrap();
    let error = wait(&mut session, alone, &mut |_| {}).unwrap_err();
    assert!(error.message.starts_with("autocommit is off"), "{}", error.message);
}

#[test]
fn what_looks_like_a_parameter_is_counted_by_the_server() {
    let (mut session, mut server) = session(DEPRECATE_EOF);
    server.write_all(&packets(1, &[prepared(7, 1, 1), column(LONGLONG), column(LONGLONG)])).unwrap();
    let statement = session.prepare_parts(&["select '?' from t where a = ", ""]).unwrap();
    assert_eq!(asked(&mut server), packet(0, b"\x16select '?' from t where a = ?"));
    assert_eq!(session.columns(statement), ["c"]);
    assert!(session.columns(COMMIT).is_empty());
    server.write_all(&packets(1, &[prepared(8, 2, 0), column(LONGLONG), column(LONGLONG)])).unwrap();
    let message = session.prepare_parts(&["do ? + ", ""]).unwrap_err().message;
    assert!(message.starts_with("the engine finds 2 parameters in a statement that has 1"), "{message}");
}

// ------------------------------------------------------------------------------------------------------ logging in

/// Logs in on a server that sends `contents` after its greeting; answers what the session sent and how it ended.
fn log_in(private: bool, plugin: &str, contents: &[Vec<u8>]) -> (Vec<u8>, Outcome<Option<Manner>>) {
    let (ours, mut server) = UnixStream::pair().unwrap();
    server.write_all(&packet(0, &greeting(DEPRECATE_EOF, plugin))).unwrap();
    // Each of its packets follows one of ours.
    let numbered = contents.iter().enumerate();
    numbered.for_each(|(position, content)| server.write_all(&packet(2 * position as u8 + 2, content)).unwrap());
    let mut wire = Wire::over(Socket::over(ours).unwrap(), private);
    let ended = connection::log_in(&mut wire, "bench", "me", Some("secret"), None);
    (asked(&mut server), ended)
}

#[test]
fn the_server_may_ask_for_another_proof_of_the_password() {
    let mut switch = b"\xfemysql_native_password\0".to_vec();
    switch.extend(b"another salt of twenty\0");
    let (asked, ended) = log_in(false, "client_ed25519", &[switch, ok(0, AUTOCOMMIT, 0)]);
    assert_eq!(ended.unwrap(), Some(Manner { deprecate_eof: true, cache_metadata: false }));
    // A packet of twenty bytes, the third of the conversation.
    assert_eq!(asked[asked.len() - 24..][..4], [20, 0, 0, 3]);

    for (content, wanted) in [
        (b"\xfedialog\0".to_vec(), "logging in: the server asks for dialog, which is not known here"),
        (vec![0xfe], "logging in: the server asks for a password in the way of MySQL 3.23"),
        (err(1045, "Access denied"), "Access denied (error 1045)"),
        (vec![7], "the server's answer cannot be read"),
    ] {
        let error = log_in(false, "mysql_native_password", &[content]).1.unwrap_err();
        assert_eq!(error.class, Class::Connection);
        assert!(error.message.starts_with(wanted), "{}", error.message);
    }
}

#[test]
fn a_password_goes_in_clear_only_where_nobody_can_listen() {
    let plugin = "caching_sha2_password";
    let (asked, ended) = log_in(true, plugin, &[vec![1, 4], ok(0, AUTOCOMMIT, 0)]);
    ended.unwrap();
    assert!(asked.ends_with(&packet(3, b"secret\0")));

    let (asked, ended) = log_in(false, plugin, &[vec![1, 4], ok(0, AUTOCOMMIT, 0)]);
    assert_eq!(ended.unwrap(), None);
    assert!(!asked.windows(6).any(|bytes| bytes == b"secret"));

    // The server has seen the password before; its OK follows without our word.
    let (ours, mut server) = UnixStream::pair().unwrap();
    server.write_all(&packet(0, &greeting(0, plugin))).unwrap();
    server.write_all(&packets(2, &[vec![1, 3], ok(0, AUTOCOMMIT, 0)])).unwrap();
    connection::log_in(&mut Wire::over(Socket::over(ours).unwrap(), false), "bench", "me", Some("secret"), None)
        .unwrap();
}

// ------------------------------------------------------------------------------------------------------ bulk loads

const FILE_ASKED_FOR: &[u8] = b"\xfbrows";

/// What the server answers to the question for the table's columns.
fn columns_sent(columns: &[Vec<u8>]) -> Vec<u8> {
    let eof = end(false, AUTOCOMMIT);
    let contents = [&[vec![columns.len() as u8]][..], columns, &[eof.clone(), eof]].concat();
    packets(1, &contents)
}

#[test]
fn a_file_is_made_as_the_server_reads_it() {
    let (mut session, mut server) = session(0);
    server.write_all(&columns_sent(&[column(LONGLONG), column(STRING)])).unwrap();
    server.write_all(&packet(1, FILE_ASKED_FOR)).unwrap();
    let mut bulk = session.bulk("t", &["a", "b"]).unwrap();
    assert!(asked(&mut server).ends_with(b"load data local infile 'rows' into table t character set utf8mb4 (a, b)"));
    assert_eq!(bulk.row(&[Int(1), Text("a\tb".to_string())]).unwrap(), 8 + 3);
    assert_eq!(bulk.row(&[Int(2), Null]).unwrap(), 8);
    assert_eq!(bulk.row(&[Int(3)]).unwrap_err().message, "1 values for 2 columns");
    server.write_all(&packet(4, &ok(2, AUTOCOMMIT, 0))).unwrap();
    assert_eq!(bulk.finish().unwrap(), 2);
    assert_eq!(asked(&mut server), packets(2, &[&b"1\ta\\\tb\n2\t\\N\n"[..], b""]));
    exchange(&mut session, &mut server, Request::Begin, &ok(0, IN_TRANSACTION, 0)).unwrap();
}

#[test]
fn bytes_and_bits_go_into_a_file_so_that_they_are_none_of_its_characters() {
    let (mut session, mut server) = session(0);
    let mut bytes = column(252);
    let length = bytes.len();
    bytes[length - 12] = 63; // the character set binary
    server.write_all(&columns_sent(&[column(LONGLONG), bytes, column(16)])).unwrap();
    server.write_all(&packet(1, FILE_ASKED_FOR)).unwrap();
    let mut bulk = session.bulk("t", &["a", "b", "c"]).unwrap();
    let sql = "character set utf8mb4 (a, @x1, @x2) set b = unhex(@x1), c = cast(@x2 as unsigned)";
    assert!(asked(&mut server).ends_with(sql.as_bytes()));
    let rows = format!("1\t00ff\t5\n2\t{}\t\\N\n3\t\\N\t6\n", "07".repeat(300_000));
    let (long, last) = rows.as_bytes().split_at(rows.len() - "3\t\\N\t6\n".len());
    // A row that is longer than a packet goes in several.
    let mut contents: Vec<_> = long.chunks(128 * 1024).collect();
    contents.extend([last, b""]);
    let wanted = packets(2, &contents);
    let (mut sent, last) = (vec![0; wanted.len()], packet(contents.len() as u8 + 2, &ok(3, AUTOCOMMIT, 0)));
    let reader = thread::spawn(move || {
        server.read_exact(&mut sent).unwrap();
        server.write_all(&last).unwrap();
        (sent, server)
    });
    bulk.row(&[Int(1), Bytes(vec![0, 255]), Int(5)]).unwrap();
    bulk.row(&[Int(2), Bytes(vec![7; 300_000]), Null]).unwrap();
    bulk.row(&[Int(3), Null, Int(6)]).unwrap();
    assert_eq!(bulk.finish().unwrap(), 3);
    assert!(reader.join().unwrap().0 == wanted);
}

#[test]
fn rows_that_were_cut_to_fit_are_an_error() {
    let (mut session, mut server) = session(0);
    server.write_all(&columns_sent(&[column(LONGLONG)])).unwrap();
    server.write_all(&packet(1, FILE_ASKED_FOR)).unwrap();
    let bulk = session.bulk("t", &["a"]).unwrap();
    server.write_all(&packet(3, &ok(2, AUTOCOMMIT, 1))).unwrap();
    let warning = b"\x07Warning\x041265\x09Data trun".to_vec();
    let columns = [column(STRING), column(LONGLONG), column(STRING)];
    let eof = end(false, AUTOCOMMIT);
    let contents = [&[vec![3]][..], &columns, &[eof.clone(), warning, eof]].concat();
    server.write_all(&packets(1, &contents)).unwrap();
    let error = bulk.finish().unwrap_err();
    assert_eq!(error.message, "1 rows were not taken as they are: Warning 1265 Data trun");
}

#[test]
fn a_load_that_is_dropped_leaves_a_session_that_works() {
    let (mut session, mut server) = session(0);
    server.write_all(&columns_sent(&[column(LONGLONG)])).unwrap();
    server.write_all(&packet(1, FILE_ASKED_FOR)).unwrap();
    let mut bulk = session.bulk("t", &["a"]).unwrap();
    bulk.row(&[Int(1)]).unwrap();
    server.write_all(&packet(4, &ok(1, AUTOCOMMIT, 0))).unwrap();
    drop(bulk);
    exchange(&mut session, &mut server, Request::Begin, &ok(0, IN_TRANSACTION, 0)).unwrap();
}

#[test]
fn rows_are_inserted_where_no_local_file_is_admitted() {
    let (mut session, mut server) = session(DEPRECATE_EOF);
    let parameters = |many: u16| {
        let columns = (0..many).map(|_| column(LONGLONG));
        packets(1, &[prepared(8, many, 0)].into_iter().chain(columns).collect::<Vec<_>>())
    };
    let inside = AUTOCOMMIT | IN_TRANSACTION;
    let answers = [
        packets(1, &[vec![1], column(LONGLONG), end(true, AUTOCOMMIT)]),
        packet(1, &err(1148, "The used command is not allowed with this MySQL version")),
        parameters(1),
        parameters(100),
        packet(1, &ok(0, inside, 0)),
        packet(1, &ok(100, inside, 0)),
        packet(1, &ok(1, inside, 0)),
        packet(1, &ok(1, inside, 0)),
        packet(1, &ok(0, AUTOCOMMIT, 0)),
    ];
    let answering = thread::spawn(move || {
        for answer in answers {
            let mut head = [0; 4];
            server.read_exact(&mut head).unwrap();
            server.read_exact(&mut vec![0; u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize]).unwrap();
            server.write_all(&answer).unwrap();
        }
        server
    });
    let mut bulk = session.bulk("t", &["a"]).unwrap();
    for n in 0..102 {
        bulk.row(&[Int(n)]).unwrap();
    }
    assert_eq!(bulk.finish().unwrap(), 102);
    assert!(!session.open);
    answering.join().unwrap();
}

// ------------------------------------------------------------------------------------------------------ any bytes

/// Says `bytes` to a statement with rows and goes away: the statement ends, in whatever way.
fn ends(bytes: &[u8]) {
    for capabilities in [0, DEPRECATE_EOF | CACHE_METADATA] {
        let (mut session, mut server) = session(capabilities);
        let statement = prepare(&mut session, &mut server);
        assert!(session.call(Request::Run(statement, &[Int(1), Int(2)]), &mut |_| {}).is_pending());
        server.write_all(bytes).unwrap();
        drop(server);
        assert!(session.resume(&mut |_| {}).is_ready());
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
        ends(&bytes);
    }

    #[test]
    fn any_packets_are_read_or_refused(contents: Vec<Vec<u8>>) {
        ends(&packets(1, &contents));
    }

    #[test]
    fn an_answer_with_some_bytes_changed_is_read_or_refused(changes: Vec<(prop::sample::Index, u8)>) {
        for manner in [true, false] {
            let (mut bytes, _) = answer(Manner { deprecate_eof: manner, cache_metadata: manner });
            for (place, byte) in &changes {
                let place = place.index(bytes.len());
                bytes[place] = *byte;
            }
            ends(&bytes);
        }
    }
}
