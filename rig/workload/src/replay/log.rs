//! The file that the lab makes of a log: one statement a line, in the order of the log, and a last line about the whole.
//!
//! Lines are arrays of JSON: `[session, at_us, kind, text, parameters, rows, failed, took_us, file, line]`. Statements are
//! read when they are drawn, so that a long log takes eight bytes of memory a statement.

use serde::de::IgnoredAny;
use serde::Deserialize;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::path::Path;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum What {
    /// Begins a transaction: by the text, or as this engine's clients do where there is none.
    #[serde(rename = "b")]
    Begin,
    /// A transaction begins with the next statement, and nothing is asked.
    #[serde(rename = "i")]
    Implied,
    /// As `Begin`, for the end.
    #[serde(rename = "c")]
    Commit,
    #[serde(rename = "r")]
    Rollback,
    /// A statement as it stands; outside a transaction it is one of its own.
    #[serde(rename = "s")]
    Text,
    /// A statement that is prepared and has parameters.
    #[serde(rename = "p")]
    Prepared,
}

#[derive(Deserialize)]
struct Line(IgnoredAny, u64, What, String, Option<Vec<Option<String>>>, Option<u64>, bool, Option<u64>, u32, u64);

/// A line with names.
#[derive(Debug, Clone)]
pub struct Logged {
    /// From the beginning of the log.
    pub at_us: u64,
    pub what: What,
    pub text: String,
    pub parameters: Option<Vec<Option<String>>>,
    /// That it answered in the log; where that tells.
    pub rows: Option<u64>,
    /// In the log.
    pub failed: bool,
    pub took_us: Option<u64>,
    pub place: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Whole {
    /// When the log begins, in microseconds since 1970, as are all its times.
    base_us: u64,
    /// When each session begins and ends, in microseconds.
    sessions: Vec<(u64, u64)>,
    /// The sessions of each terminal, one after another.
    lanes: Vec<Vec<u32>>,
    /// The names of the log's files.
    files: Vec<String>,
}

pub struct Log {
    file: File,
    whole: Whole,
    /// Where each statement of each session begins.
    places: Vec<Vec<u64>>,
}

fn wrong(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

impl Log {
    pub fn read(path: &Path) -> io::Result<Log> {
        let file = File::open(path)?;
        let mut lines = BufReader::with_capacity(1 << 20, file.try_clone()?);
        let mut places: Vec<Vec<u64>> = Vec::new();
        let (mut line, mut at, mut whole) = (Vec::new(), 0, None);
        while whole.is_none() {
            line.clear();
            let length = lines.read_until(b'\n', &mut line)? as u64;
            match line.first() {
                None => return Err(wrong("its last line is missing".to_string())),
                Some(b'{') => whole = Some(serde_json::from_slice::<Whole>(&line)?),
                Some(_) => {
                    let session = session_of(&line).ok_or_else(|| wrong(format!("at byte {at}: no statement")))?;
                    if places.len() <= session {
                        places.resize_with(session + 1, Vec::new);
                    }
                    places[session].push(at);
                }
            }
            at += length;
        }
        let whole = whole.ok_or_else(|| wrong("it says nothing of its sessions".to_string()))?;
        if places.len() > whole.sessions.len()
            || whole.lanes.iter().flatten().any(|session| *session as usize >= whole.sessions.len())
        {
            return Err(wrong("its sessions are not those of its statements".to_string()));
        }
        places.resize_with(whole.sessions.len(), Vec::new);
        Ok(Log { file, whole, places })
    }

    pub fn lanes(&self) -> usize {
        self.whole.lanes.len()
    }

    pub fn sessions(&self, lane: usize) -> &[u32] {
        &self.whole.lanes[lane]
    }

    /// When a session begins and ends, in microseconds.
    pub fn lasts(&self, session: u32) -> (u64, u64) {
        let (begins_us, ends_us) = self.whole.sessions[session as usize];
        (self.after(begins_us), self.after(ends_us))
    }

    fn after(&self, at_us: u64) -> u64 {
        at_us.saturating_sub(self.whole.base_us)
    }

    /// The statement of this number of a session; none behind the last.
    pub fn statement(&self, session: u32, number: usize) -> io::Result<Option<Logged>> {
        let Some(&at) = self.places[session as usize].get(number) else { return Ok(None) };
        let mut line = vec![0; 512];
        let mut read = 0;
        let end = loop {
            let more = self.file.read_at(&mut line[read..], at + read as u64)?;
            if let Some(end) = line[read..read + more].iter().position(|byte| *byte == b'\n') {
                break read + end;
            }
            if more == 0 {
                return Err(wrong(format!("at byte {at}: cut short")));
            }
            read += more;
            line.resize(line.len() * 2, 0);
        };
        let Line(_, since_us, what, text, parameters, rows, failed, took_us, file, number) =
            serde_json::from_slice(&line[..end])?;
        let name = self.whole.files.get(file as usize).map_or("", String::as_str);
        let at_us = self.after(since_us);
        Ok(Some(Logged { at_us, what, text, parameters, rows, failed, took_us, place: format!("{name}:{number}") }))
    }
}

/// The number that a line begins with: `[7,`.
fn session_of(line: &[u8]) -> Option<usize> {
    let digits = line.strip_prefix(b"[")?;
    let end = digits.iter().position(|byte| *byte == b',')?;
    std::str::from_utf8(&digits[..end]).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn read(name: &str, text: &str) -> io::Result<Log> {
        let path = std::env::temp_dir().join(format!("acidtest-log-{}-{name}", std::process::id()));
        File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
        let log = Log::read(&path);
        std::fs::remove_file(&path).unwrap();
        log
    }

    const WHOLE: &str = "{\"base_us\":1,\"sessions\":[[1,9],[2,5]],\"lanes\":[[0],[1]],\"files\":[\"a.csv\"]}\n";

    #[test]
    fn statements_are_found_by_their_sessions() {
        let long = "x".repeat(3000);
        let text = format!(
            "[1,2,\"s\",\"select 1\",null,1,false,30,0,7]\n[0,3,\"p\",\"{long}\",[\"a\",null],null,true,null,0,9]\n\
             [1,4,\"c\",\"\",null,null,false,null,0,10]\n{WHOLE}"
        );
        let log = read("found", &text).unwrap();
        assert_eq!((log.lanes(), log.sessions(1), log.lasts(1)), (2, &[1][..], (1, 4)));
        let first = log.statement(1, 0).unwrap().unwrap();
        assert_eq!((first.at_us, first.what, first.rows, first.took_us), (1, What::Text, Some(1), Some(30)));
        assert_eq!((first.text.as_str(), first.place.as_str()), ("select 1", "a.csv:7"));
        assert_eq!(log.statement(1, 1).unwrap().unwrap().what, What::Commit);
        assert!(log.statement(1, 2).unwrap().is_none());
        let other = log.statement(0, 0).unwrap().unwrap();
        assert_eq!((other.text, other.failed), (long, true));
        assert_eq!(other.parameters, Some(vec![Some("a".to_string()), None]));
    }

    #[test]
    fn what_is_cut_short_or_of_other_sessions_is_refused() {
        let statement = "[0,3,\"s\",\"x\",null,null,false,null,0,9]\n";
        for (name, text, why) in [
            ("short", statement.to_string(), "its last line is missing"),
            ("other", format!("[2,3,\"s\",\"x\"]\n{WHOLE}"), "its sessions are not those of its statements"),
            ("none", format!("x\n{WHOLE}"), "at byte 0: no statement"),
        ] {
            assert_eq!(read(name, &text).err().unwrap().to_string(), why);
        }
    }
}
