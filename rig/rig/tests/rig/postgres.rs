//! The session of PostgreSQL's protocol, held against a server that answers in pieces, says more than it was
//! asked, breaks off or talks nonsense. What it does with a real one is shown by the lab's contract suites.

use crate::common::*;
use protocol::PROTOCOL;
use serde_json::{json, Value};
use std::collections::HashMap;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;
use std::time::Duration;

/// How a server behaves, from when its sessions are prepared.
#[derive(Clone, Copy, Default)]
struct Manner {
    /// Connection `n` is answered in pieces of `n % pieces` bytes and one; 0: each answer whole.
    pieces: usize,
    /// Messages that nobody asked for, between the answers and after the last.
    talkative: bool,
    /// What takes the place of an answer's bytes from here on; then the connection is closed.
    breaks: Option<(usize, &'static [u8])>,
    /// The command tag, or the SQLSTATE of the refusal, of every insert.
    insert: Option<&'static str>,
}

/// What the server's sessions have done, all together.
#[derive(Default)]
struct Seen {
    connections: AtomicU64,
    rows: AtomicU64,
    syncs: AtomicU64,
}

struct Fake {
    directory: tempfile::TempDir,
    seen: Arc<Seen>,
}

impl Fake {
    fn start(manner: Manner) -> Fake {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let listener = UnixListener::bind(directory.path().join(".s.PGSQL.5432")).expect("a socket");
        let seen = Arc::new(Seen::default());
        let heard = seen.clone();
        // Ends with the test's process.
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let number = heard.connections.fetch_add(1, Relaxed) as usize;
                let pieces = if manner.pieces == 0 { usize::MAX } else { number % manner.pieces + 1 };
                let server = Backend {
                    stream: stream.expect("a connection"),
                    manner,
                    pieces,
                    seen: heard.clone(),
                    names: HashMap::new(),
                    bound: String::new(),
                    out: Vec::new(),
                    begun: false,
                    failed: false,
                    pending: 0,
                };
                std::thread::spawn(move || server.serve());
            }
        });
        Fake { directory, seen }
    }

    fn job(&self, pipeline: bool, phases: Vec<Value>) -> Value {
        json!({
            "protocol": PROTOCOL,
            "seed": 42,
            "target": {
                "engine": "postgres",
                "host": self.directory.path(),
                "port": 5432,
                "user": "someone",
                "password": "secret",
                "database": "somewhere",
                "setup": ["set session_characteristics"],
                "pipeline": pipeline,
            },
            "workload": commits(),
            "inspect": [],
            "phases": phases,
        })
    }
}

struct Backend {
    stream: UnixStream,
    manner: Manner,
    pieces: usize,
    seen: Arc<Seen>,
    names: HashMap<String, String>,
    bound: String,
    out: Vec<u8>,
    begun: bool,
    failed: bool,
    pending: u64,
}

const HURRIED: &[u8] = b"SFATAL\0C57P01\0Mterminating connection due to administrator command\0\0";

impl Backend {
    /// Until the client has gone.
    fn serve(mut self) {
        let mut ended = self.log_in();
        while ended.is_ok() {
            ended = self.answer();
        }
        let kind = ended.unwrap_err().kind();
        let gone = [ErrorKind::UnexpectedEof, ErrorKind::BrokenPipe, ErrorKind::ConnectionReset];
        assert!(gone.contains(&kind), "{kind}");
    }

    fn log_in(&mut self) -> io::Result<()> {
        let startup = self.body()?;
        assert!(startup.starts_with(b"\0\x03\0\0user\0someone\0database\0somewhere\0"), "{startup:?}");
        self.say(b'R', &[0, 0, 0, 3]);
        self.send()?;
        let mut tag = [0];
        self.stream.read_exact(&mut tag)?;
        assert_eq!((tag[0], self.body()?.as_slice()), (b'p', &b"secret\0"[..]));
        self.say(b'R', &[0; 4]);
        self.say(b'S', b"server_version\x0015.0\0");
        self.ready()
    }

    fn answer(&mut self) -> io::Result<()> {
        let mut tag = [0];
        self.stream.read_exact(&mut tag)?;
        let body = self.body()?;
        let words: Vec<String> = body.split(|b| *b == 0).map(|s| String::from_utf8_lossy(s).into_owned()).collect();
        match tag[0] {
            b'Q' => {
                let rows = self.seen.rows.load(Relaxed).to_string();
                match words[0].as_str() {
                    "show server_version" => self.row("15.0"),
                    "select count(*) from commits" => self.row(&rows),
                    _ => self.row("0"),
                }
                self.say(b'C', b"SELECT 1\0");
                self.ready()?;
            }
            _ if self.failed && tag[0] != b'S' => {}
            b'P' => {
                self.names.insert(words[0].clone(), words[1].clone());
                self.say(b'1', b"");
            }
            b'D' => {
                let insert = self.names[words[0].strip_prefix('S').expect("a statement")].starts_with("insert");
                // int8, int4, varchar
                let types: &[u8] = if insert { &[0, 3, 0, 0, 0, 20, 0, 0, 0, 23, 0, 0, 4, 19] } else { &[0, 0] };
                self.say(b't', types);
                self.say(b'n', b"");
            }
            b'B' => {
                self.bound = self.names[&words[1]].clone();
                self.say(b'2', b"");
            }
            b'E' => self.execute(),
            b'S' => {
                self.seen.syncs.fetch_add(1, Relaxed);
                self.failed = false;
                self.ready()?;
            }
            b'X' => return Err(ErrorKind::UnexpectedEof.into()),
            other => panic!("message {other}"),
        }
        Ok(())
    }

    fn execute(&mut self) {
        if self.manner.talkative {
            self.say(b'N', b"SNOTICE\0C00000\0Mit is late\0\0");
        }
        let statement = self.bound.split(' ').next().expect("a word").to_string();
        match (statement.as_str(), self.manner.insert) {
            ("begin", _) => self.begun = true,
            ("commit", _) => {
                self.seen.rows.fetch_add(std::mem::take(&mut self.pending), Relaxed);
                self.begun = false;
            }
            ("rollback", _) => {
                self.pending = 0;
                self.begun = false;
            }
            ("insert", Some(state)) if state.len() == 5 => {
                self.failed = true;
                return self.say(b'E', format!("SERROR\0C{state}\0Mno\0\0").as_bytes());
            }
            ("insert", tag) => {
                self.pending += 1;
                return self.say(b'C', format!("{}\0", tag.unwrap_or("INSERT 0 1")).as_bytes());
            }
            (other, _) => panic!("{other}"),
        }
        self.say(b'C', format!("{}\0", statement.to_uppercase()).as_bytes());
    }

    fn row(&mut self, text: &str) {
        let mut described = b"\0\x01name\0".to_vec();
        described.extend([0, 0, 0, 0, 0, 0, 0, 0, 0, 25, 0, 0, 0, 0, 0, 0, 0, 0]);
        self.say(b'T', &described);
        let mut row = vec![0, 1];
        row.extend((text.len() as u32).to_be_bytes());
        row.extend(text.as_bytes());
        self.say(b'D', &row);
    }

    fn say(&mut self, tag: u8, body: &[u8]) {
        self.out.push(tag);
        self.out.extend((body.len() as u32 + 4).to_be_bytes());
        self.out.extend(body);
    }

    fn ready(&mut self) -> io::Result<()> {
        self.say(b'Z', if self.begun { b"T" } else { b"I" });
        if self.manner.talkative {
            self.say(b'S', b"TimeZone\0UTC\0");
        }
        self.send()
    }

    fn send(&mut self) -> io::Result<()> {
        let out = std::mem::take(&mut self.out);
        if let (Some((at, instead)), true) = (self.manner.breaks, self.begun) {
            self.stream.write_all(&out[..at.min(out.len())])?;
            self.stream.write_all(instead)?;
            return Err(ErrorKind::UnexpectedEof.into());
        }
        for piece in out.chunks(self.pieces) {
            self.stream.write_all(piece)?;
            if piece.len() < out.len() {
                // Long enough for the client to find the piece alone.
                std::thread::sleep(Duration::from_micros(20));
            }
        }
        Ok(())
    }

    fn body(&mut self) -> io::Result<Vec<u8>> {
        let mut length = [0; 4];
        self.stream.read_exact(&mut length)?;
        let mut body = vec![0; u32::from_be_bytes(length) as usize - 4];
        self.stream.read_exact(&mut body)?;
        Ok(body)
    }
}

#[test]
fn answers_are_read_in_pieces_of_every_size() {
    for talkative in [false, true] {
        let fake = Fake::start(Manner { pieces: 48, talkative, ..Manner::default() });
        let plan = with(run(48, count(480)), [("retries", json!(0))]);
        let ended = succeed(&fake.job(false, vec![check(), plan, check()]));
        assert_eq!((ended.result().counts.committed, fake.seen.rows.load(Relaxed)), (480, 480));
        assert!(ended.broken().is_empty(), "{ended:?}");
        assert!(fake.seen.connections.load(Relaxed) >= 48);
    }
}

#[test]
fn a_server_that_goes_in_the_middle_of_an_answer_ends_the_run() {
    // An answer to begin: BindComplete (5 bytes), CommandComplete (11), ReadyForQuery (6).
    for at in 0..22 {
        let fake = Fake::start(Manner { breaks: Some((at, b"")), ..Manner::default() });
        let ended = perform(&fake.job(false, vec![run(3, lasting(20.0))]));
        assert_eq!(ended.failure(), ("running transactions", "the server has closed the connection"), "at {at}");
    }
}

#[test]
fn a_server_that_says_why_it_goes_is_quoted() {
    let mut last: Vec<u8> = vec![b'E'];
    last.extend((HURRIED.len() as u32 + 4).to_be_bytes());
    last.extend(HURRIED);
    let fake = Fake::start(Manner { breaks: Some((0, last.leak())), ..Manner::default() });
    let ended = perform(&fake.job(false, vec![run(1, lasting(20.0))]));
    let (_, message) = ended.failure();
    assert_eq!(message, "terminating connection due to administrator command (SQLSTATE 57P01)");
}

#[test]
fn an_answer_that_makes_no_sense_ends_the_run() {
    let nonsense: [&[u8]; 4] = [
        b"C\0\0\0\x03",                          // shorter than its own length
        b"Z\0\0\0\x04",                          // without the state of the transaction
        b"C\0\0\0\x0aBEGIN\0C\0\0\0\x0aBEGIN\0", // more answers than questions
        b"G\0\0\0\x07\0\0\0",                    // wants the data of a COPY
    ];
    for instead in nonsense {
        let fake = Fake::start(Manner { breaks: Some((0, instead)), ..Manner::default() });
        let ended = perform(&fake.job(false, vec![run(1, lasting(20.0))]));
        assert_eq!(ended.failure(), ("running transactions", "the server's answer cannot be read"));
    }
}

#[test]
fn statements_sent_together_cost_one_round_trip() {
    for (pipeline, trips) in [(false, 3), (true, 1)] {
        let fake = Fake::start(Manner::default());
        let before = |fake: &Fake| fake.seen.syncs.load(Relaxed);
        succeed(&fake.job(pipeline, vec![run(1, count(1))]));
        let first = before(&fake);
        succeed(&fake.job(pipeline, vec![run(1, count(11))]));
        assert_eq!(before(&fake) - 2 * first, 10 * trips);
        assert_eq!(fake.seen.rows.load(Relaxed), 12);
    }
}

#[test]
fn a_refusal_among_statements_sent_together_leaves_nothing_behind() {
    let fake = Fake::start(Manner { insert: Some("40001"), ..Manner::default() });
    let plan = with(run(2, lasting(0.2)), [("retries", json!(1))]);
    let ended = succeed(&fake.job(true, vec![plan, check()]));
    let result = ended.result();
    assert_eq!((result.counts.committed, fake.seen.rows.load(Relaxed)), (0, 0));
    assert!(class_count(result, "update_conflict") == result.counts.conflicts && result.counts.conflicts > 0);
    assert!(ended.broken().is_empty(), "{ended:?}");
}

#[test]
fn a_row_that_was_not_changed_is_no_success() {
    // Alone it is a refusal that can be tried again; sent together with its commit it is a mistake that stays.
    for (pipeline, class) in [(false, "row_missed"), (true, "other")] {
        let fake = Fake::start(Manner { insert: Some("INSERT 0 0"), ..Manner::default() });
        let plan = with(run(1, lasting(0.2)), [("retries", json!(0))]);
        let ended = perform(&fake.job(pipeline, vec![plan]));
        if pipeline {
            let (_, message) = ended.failure();
            assert_eq!(message, "a statement for one row changed 0, and was committed with its transaction");
        } else {
            assert!(class_count(ended.result(), class) > 0, "{ended:?}");
            assert_eq!(ended.result().counts.committed, 0);
        }
    }
}
