//! Calls as strace tells them, where the kernel's tracing is not to be had: each costs two stops of the engine. See strace(1).

use super::calls::{is_system_call, number_of, Call, Kind, Seen, Source, CALLS};
use super::files::{FADVICE, MADVICE, OPEN_FLAGS};
use super::processes::threads_of;
use anyhow::{bail, Context, Result};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

pub struct Strace {
    child: Child,
    lines: Receiver<Call>,
    reader: Option<std::thread::JoinHandle<()>>,
}

impl Strace {
    /// Begins to watch the processes `roots` and what they start, but for this one.
    pub fn start(program: &str, roots: &[u32]) -> Result<Strace> {
        let calls: Vec<String> =
            CALLS.iter().filter(|(name, _)| is_system_call(name)).map(|(name, _)| format!("?{name}")).collect();
        let mut command = Command::new(program);
        command.args(["-f", "-qq", "-ttt", "-T", "-y", "-s", "0", "-o", "/dev/stdout", "-e"]);
        command.arg(format!("trace={}", calls.join(",")));
        let threads = threads_of(roots, std::process::id());
        let processes: std::collections::BTreeSet<u32> = threads.iter().map(|(pid, _)| *pid).collect();
        for pid in &processes {
            command.args(["-p", &pid.to_string()]);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // SAFETY: prctl is a plain system call. A tracer that remained would keep the engine stopped.
        unsafe {
            command.pre_exec(|| match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            })
        };
        let mut child = command.spawn().with_context(|| format!("starting {program}"))?;
        let output = BufReader::new(child.stdout.take().expect("piped"));
        let (sender, lines) = mpsc::channel();
        let clock = Clock::read();
        let reader = std::thread::spawn(move || {
            let mut parser = Parser::new(clock);
            for line in output.split(b'\n').map_while(Result::ok) {
                if let Some(call) = parser.line(&String::from_utf8_lossy(&line)) {
                    if sender.send(call).is_err() {
                        return;
                    }
                }
            }
        });
        let mut strace = Strace { child, lines, reader: Some(reader) };
        strace.attached(&threads)?;
        Ok(strace)
    }

    /// Waits until every thread is traced, or gone.
    fn attached(&mut self, threads: &[(u32, u32)]) -> Result<()> {
        let end = Instant::now() + Duration::from_secs(120);
        let untraced = |tid: &u32| {
            let status = std::fs::read_to_string(format!("/proc/{tid}/status")).unwrap_or_default();
            status.lines().any(|line| line.strip_prefix("TracerPid:").is_some_and(|tracer| tracer.trim() == "0"))
        };
        while threads.iter().any(|(_, tid)| untraced(tid)) {
            if self.child.try_wait().context("waiting for strace")?.is_some() || Instant::now() > end {
                self.child.kill().ok();
                let mut error_text = String::new();
                self.child.stderr.take().map(|mut stderr| stderr.read_to_string(&mut error_text));
                bail!(
                    "strace could not watch the engine: {}",
                    error_text.trim().lines().next().unwrap_or("it gave no reason")
                );
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

impl Source for Strace {
    fn take(&mut self, out: &mut Vec<Seen>) -> Result<()> {
        out.extend(self.lines.try_iter().map(|call| Seen::Call(Box::new(call))));
        Ok(())
    }

    fn finish(mut self: Box<Self>, out: &mut Vec<Seen>) -> Result<u64> {
        // SAFETY: a signal to our own child, which has not been waited for. It lets go of the engine and ends.
        unsafe { libc::kill(self.child.id() as libc::pid_t, libc::SIGTERM) };
        self.child.wait().context("waiting for strace")?;
        if let Some(reader) = self.reader.take() {
            reader.join().ok();
        }
        self.take(out)?;
        Ok(0)
    }
}

impl Drop for Strace {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            self.child.kill().ok();
            self.child.wait().ok();
        }
    }
}

/// What CLOCK_MONOTONIC, which transactions are noted by, is behind the clock of strace's lines.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clock {
    behind_ns: i128,
}

impl Clock {
    fn read() -> Clock {
        let real = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Clock { behind_ns: real.as_nanos() as i128 - i128::from(measure::monotonic_ns()) }
    }
}

/// Reads lines, those of calls in two halves included. Whatever a line holds, it does not panic.
pub struct Parser {
    clock: Clock,
    /// What a thread's call began with.
    unfinished: HashMap<u32, (u64, String)>,
}

impl Parser {
    pub fn new(clock: Clock) -> Parser {
        Parser { clock, unfinished: HashMap::new() }
    }

    /// The call that this line ends, if it does and is one of [`CALLS`].
    pub fn line(&mut self, line: &str) -> Option<Call> {
        let (tid, rest) = line.trim().split_once(' ')?;
        let tid: u32 = tid.parse().ok()?;
        let (time, text) = rest.trim_start().split_once(' ')?;
        let begin_ns = self.time_ns(time)?;
        if let Some(begun) = text.strip_suffix("<unfinished ...>") {
            self.unfinished.insert(tid, (begin_ns, begun.to_string()));
            return None;
        }
        if let Some(resumed) = text.strip_prefix("<... ") {
            let (_, tail) = resumed.split_once(" resumed>")?;
            let (begin_ns, begun) = self.unfinished.remove(&tid)?;
            return call_of(tid, begin_ns, &format!("{begun}{tail}"));
        }
        call_of(tid, begin_ns, text)
    }

    fn time_ns(&self, text: &str) -> Option<u64> {
        let (seconds, fraction) = text.split_once('.')?;
        let micros = fraction.get(..6)?.parse::<u32>().ok()?;
        let real = i128::from(seconds.parse::<u64>().ok()?) * 1_000_000_000 + i128::from(micros) * 1_000;
        u64::try_from(real - self.clock.behind_ns).ok()
    }
}

/// `pwrite64(5</d/x.db>, ""..., 4096, 8192) = 4096 <0.000012>`
fn call_of(tid: u32, begin_ns: u64, text: &str) -> Option<Call> {
    let (name, rest) = text.split_once('(')?;
    let call = number_of(name).filter(|_| is_system_call(name))?;
    let (words, rest) = arguments(rest);
    let answer = rest.trim_start().strip_prefix('=')?.trim_start();
    let (ret, about) = answer.split_once(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or((answer, ""));
    let mut ret: i64 = match answer.strip_prefix("0x") {
        // An address.
        Some(hex) => i64::from_str_radix(hex.split(|c: char| !c.is_ascii_hexdigit()).next()?, 16).ok()?,
        None => ret.parse().ok()?,
    };
    if ret == -1 {
        // `-1 ENOENT (No such file or directory)`
        let name = about.trim_start().split(' ').next().unwrap_or("");
        ret = -error_number(name);
    }
    let lasted = answer.strip_suffix('>').and_then(|text| text.rsplit_once('<'));
    let lasted_s: f64 = lasted.and_then(|(_, seconds)| seconds.parse().ok()).unwrap_or(0.0);
    let mut args = [0; 6];
    for (arg, word) in args.iter_mut().zip(&words) {
        *arg = number(word);
    }
    let kind = CALLS[call as usize].1;
    let (path, descriptor_path) = match kind {
        // The result names the file: `3</d/x.db>`.
        Kind::Open { path, .. } => (words.get(path).and_then(|word| quoted(word)), in_angles(answer)),
        Kind::Rename { path } => {
            let directory = path.checked_sub(1).and_then(|at| words.get(at)).and_then(|word| in_angles(word));
            let name = words.get(path).and_then(|word| quoted(word));
            let whole = name.map(|name| match directory {
                Some(directory) if !name.starts_with('/') => format!("{directory}/{name}"),
                _ => name,
            });
            (whole, None)
        }
        Kind::Map => (None, words.get(4).and_then(|word| in_angles(word))),
        _ => (None, words.first().and_then(|word| in_angles(word))),
    };
    Some(Call {
        tid,
        call,
        args,
        ret,
        begin_ns,
        end_ns: begin_ns.saturating_add((lasted_s.clamp(0.0, 1e6) * 1e9) as u64),
        path: path.map(String::into_boxed_str),
        descriptor_path: descriptor_path.map(String::into_boxed_str),
    })
}

/// The arguments up to the closing bracket, and what follows it.
fn arguments(text: &str) -> (Vec<String>, &str) {
    let mut words = vec![String::new()];
    let (mut depth, mut in_quotes, mut in_name, mut escaped) = (0usize, false, false, false);
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        let mut take = true;
        if escaped {
            escaped = false;
        } else if c == '\\' && (in_quotes || in_name) {
            escaped = true;
        } else if in_quotes {
            in_quotes = c != '"';
        } else if in_name {
            in_name = c != '>';
        } else {
            match c {
                '"' => in_quotes = true,
                // `5</d/x.db>`; a shift between numbers has spaces around it.
                '<' if before.is_ascii_alphanumeric() => in_name = true,
                '(' | '[' | '{' => depth += 1,
                ')' if depth == 0 => return (words, &text[at + 1..]),
                ')' | ']' | '}' => depth = depth.saturating_sub(1),
                ',' if depth == 0 => {
                    words.push(String::new());
                    take = false;
                }
                _ => {}
            }
        }
        if take {
            words.last_mut().expect("never empty").push(c);
        }
        before = c;
    }
    (words, "")
}

/// A number, a descriptor with its path, or flags by name.
fn number(word: &str) -> u64 {
    let word = word.trim();
    let word = word.split('<').next().unwrap_or(word);
    if let Some(hex) = word.strip_prefix("0x") {
        return u64::from_str_radix(hex, 16).unwrap_or(0);
    }
    if let Ok(number) = word.parse::<i128>() {
        return number as u64;
    }
    word.split('|').map(flag).fold(0, |all, one| all | one)
}

fn flag(name: &str) -> u64 {
    const OTHERS: &[(&str, u64)] = &[
        ("O_RDONLY", libc::O_RDONLY as u64),
        ("O_WRONLY", libc::O_WRONLY as u64),
        ("O_RDWR", libc::O_RDWR as u64),
        ("O_CLOEXEC", libc::O_CLOEXEC as u64),
        ("F_DUPFD", libc::F_DUPFD as u64),
        ("F_DUPFD_CLOEXEC", libc::F_DUPFD_CLOEXEC as u64),
        ("F_SETFL", libc::F_SETFL as u64),
        // Any other command is none of these.
        ("F_GETFD", libc::F_GETFD as u64),
        ("F_SETFD", libc::F_SETFD as u64),
        ("F_GETFL", libc::F_GETFL as u64),
        ("F_GETLK", libc::F_GETLK as u64),
        ("F_SETLK", libc::F_SETLK as u64),
        ("F_SETLKW", libc::F_SETLKW as u64),
        ("F_OFD_SETLK", libc::F_OFD_SETLK as u64),
        ("F_OFD_GETLK", libc::F_OFD_GETLK as u64),
        ("MS_SYNC", libc::MS_SYNC as u64),
        ("MS_ASYNC", libc::MS_ASYNC as u64),
        ("PROT_READ", libc::PROT_READ as u64),
        ("PROT_WRITE", libc::PROT_WRITE as u64),
        ("PROT_EXEC", libc::PROT_EXEC as u64),
        ("MAP_SHARED", libc::MAP_SHARED as u64),
        ("MAP_SHARED_VALIDATE", libc::MAP_SHARED_VALIDATE as u64),
        ("MAP_PRIVATE", libc::MAP_PRIVATE as u64),
        ("MAP_ANONYMOUS", libc::MAP_ANONYMOUS as u64),
        ("RWF_DSYNC", 2),
        ("RWF_SYNC", 4),
        ("SEEK_CUR", libc::SEEK_CUR as u64),
        ("SEEK_END", libc::SEEK_END as u64),
    ];
    let open = OPEN_FLAGS.iter().find(|(_, word)| *word == name).map(|(value, _)| *value as u64);
    let advice = || FADVICE.iter().chain(MADVICE).find(|(_, word)| *word == name).map(|(value, _)| *value);
    let other = || OTHERS.iter().find(|(word, _)| *word == name).map(|(_, value)| *value).or_else(advice);
    // A number among names: `O_RDWR|0x8000`.
    let number = || u64::from_str_radix(name.strip_prefix("0x")?, 16).ok();
    // An unknown command of fcntl must not be taken for F_DUPFD, which is 0.
    // And an unknown advice not for the normal one.
    let unknown = if ["F_", "MADV_", "POSIX_FADV_"].iter().any(|start| name.starts_with(start)) {
        u64::from(u32::MAX)
    } else {
        0
    };
    open.or_else(other).or_else(number).unwrap_or(unknown)
}

fn quoted(word: &str) -> Option<String> {
    let inside = word.trim().strip_prefix('"')?;
    let end = inside.rfind('"')?;
    Some(unescaped(&inside[..end]))
}

/// The path of `5</d/x.db>`.
fn in_angles(word: &str) -> Option<String> {
    let (number, rest) = word.trim().split_once('<')?;
    if number != "AT_FDCWD" && number.parse::<i64>().is_err() {
        return None;
    }
    let end = rest.find('>')?;
    let path = unescaped(&rest[..end]);
    path.starts_with('/').then_some(path)
}

fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'\\' {
            bytes.push(*first);
            continue;
        }
        let digits = rest.iter().take(3).take_while(|digit| (b'0'..=b'7').contains(digit)).count();
        if digits > 0 {
            let value = rest[..digits].iter().fold(0u32, |value, digit| value * 8 + u32::from(digit - b'0'));
            bytes.push(value as u8);
            rest = &rest[digits..];
        } else if let [next, tail @ ..] = rest {
            bytes.push(match next {
                b'n' => b'\n',
                b't' => b'\t',
                b'r' => b'\r',
                b'v' => 11,
                b'f' => 12,
                other => *other,
            });
            rest = tail;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn error_number(name: &str) -> i64 {
    let known = [
        ("EPERM", libc::EPERM),
        ("ENOENT", libc::ENOENT),
        ("EINTR", libc::EINTR),
        ("EIO", libc::EIO),
        ("EBADF", libc::EBADF),
        ("EAGAIN", libc::EAGAIN),
        ("EACCES", libc::EACCES),
        ("EEXIST", libc::EEXIST),
        ("ENOTDIR", libc::ENOTDIR),
        ("EISDIR", libc::EISDIR),
        ("EINVAL", libc::EINVAL),
        ("EFBIG", libc::EFBIG),
        ("ENOSPC", libc::ENOSPC),
        ("EROFS", libc::EROFS),
        ("EPIPE", libc::EPIPE),
        ("EDQUOT", libc::EDQUOT),
        ("EOPNOTSUPP", libc::EOPNOTSUPP),
        ("ENOSYS", libc::ENOSYS),
    ];
    // Any other error is one all the same.
    known.iter().find(|(word, _)| *word == name).map_or(1, |(_, number)| i64::from(*number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parser() -> Parser {
        Parser::new(Clock { behind_ns: 1_000_000_000_000_000_000 })
    }

    fn one(line: &str) -> Call {
        parser().line(line).unwrap()
    }

    #[test]
    fn a_whole_call() {
        let call = one("77 1000000001.000002 pwrite64(5</d/x (1), y.db>, \"\"..., 4096, 8192) = 4096 <0.000012>");
        assert_eq!((call.tid, CALLS[call.call as usize].0, call.ret), (77, "pwrite64", 4096));
        assert_eq!((call.args[0], call.args[2], call.args[3]), (5, 4096, 8192));
        assert_eq!((call.begin_ns, call.end_ns), (1_000_002_000, 1_000_014_000));
        assert_eq!(call.descriptor_path.as_deref(), Some("/d/x (1), y.db"));
    }

    #[test]
    fn one_in_two_halves() {
        let mut parser = parser();
        assert_eq!(parser.line("7 1000000001.000000 fdatasync(3</d/a>  <unfinished ...>"), None);
        assert_eq!(parser.line("8 1000000001.000001 fsync(4</d/b>) = 0 <0.000001>").unwrap().tid, 8);
        let call = parser.line("7 1000000001.500000 <... fdatasync resumed>) = 0 <0.500000>").unwrap();
        assert_eq!((call.tid, call.begin_ns, call.end_ns), (7, 1_000_000_000, 1_500_000_000));
        assert_eq!(call.descriptor_path.as_deref(), Some("/d/a"));
    }

    #[test]
    fn opened_with_flags_by_name() {
        let call = one(
            "7   1000000001.000000 openat(AT_FDCWD</home>, \"x.db\\\"\", O_RDWR|O_CREAT|O_DSYNC|O_CLOEXEC, 0644) = 9</home/x.db\\42> <0.000009>",
        );
        assert_eq!(call.ret, 9);
        assert_eq!(call.args[2], (libc::O_RDWR | libc::O_CREAT | libc::O_DSYNC | libc::O_CLOEXEC) as u64);
        assert_eq!(call.descriptor_path.as_deref(), Some("/home/x.db\""));
        let failed =
            one("7 1000000001.000000 openat(AT_FDCWD</>, \"no\", O_RDONLY) = -1 ENOENT (No such file) <0.000009>");
        assert_eq!(failed.ret, -i64::from(libc::ENOENT));
    }

    #[test]
    fn hints_and_mappings_by_name() {
        let call = one("7 1000000001.000000 fadvise64(5</d/x.db>, 0, 8192, POSIX_FADV_WILLNEED) = 0 <0.000009>");
        assert_eq!((call.args[0], call.args[2], call.args[3]), (5, 8192, libc::POSIX_FADV_WILLNEED as u64));
        let call = one("7 1000000001.000000 madvise(0x7f0000001000, 4096, MADV_RANDOM) = 0 <0.000009>");
        assert_eq!((call.args[0], call.args[2]), (0x7f00_0000_1000, libc::MADV_RANDOM as u64));
        let call = one("7 1000000001.000000 madvise(0x7f0000001000, 4096, MADV_NEW) = 0 <0.000009>");
        assert_ne!(call.args[2], libc::MADV_NORMAL as u64);
        let call =
            one("7 1000000001.000000 mmap(NULL, 32768, PROT_READ|PROT_WRITE, MAP_SHARED, 6</d/x.db-shm>, 0) = 0x7f5e3a000000 <0.1>");
        assert_eq!((call.ret, call.args[4]), (0x7f5e_3a00_0000, 6));
        assert_eq!(call.args[3], libc::MAP_SHARED as u64);
        assert_eq!(call.descriptor_path.as_deref(), Some("/d/x.db-shm"));
    }

    #[test]
    fn names_are_made_whole() {
        let call = one("7 1000000001.000000 unlinkat(3</d>, \"x-journal\", 0) = 0 <0.000009>");
        assert_eq!(call.path.as_deref(), Some("/d/x-journal"));
        let call = one("7 1000000001.000000 unlink(\"/d/x-journal\") = 0 <0.000009>");
        assert_eq!(call.path.as_deref(), Some("/d/x-journal"));
    }

    #[test]
    fn what_is_no_call_is_passed_over() {
        for line in [
            "",
            "7",
            "7 x y",
            "strace: Process 7 attached",
            "7 1000000001.000000 +++ exited with 0 +++",
            "7 1000000001.000000 --- SIGTERM {si_signo=SIGTERM} ---",
            "7 1000000001.000000 <... fsync resumed>) = 0 <0.1>",
            "7 1000000001.000000 futex(0x7f, FUTEX_WAIT, 2, NULL) = 0 <0.1>",
            "7 1000000001.000000 fsync(3</d/a>) = ? <unavailable>",
        ] {
            assert_eq!(parser().line(line), None, "{line}");
        }
    }

    #[test]
    fn an_unknown_command_of_fcntl_is_no_duplicate() {
        let call = one("7 1000000001.000000 fcntl(3</d/a>, F_ADD_SEALS, 0) = 5 <0.1>");
        assert_ne!(call.args[1], libc::F_DUPFD as u64);
    }

    proptest! {
        #[test]
        fn no_line_makes_it_panic(lines in proptest::collection::vec("\\PC{0,80}", 0..20)) {
            let mut parser = parser();
            for line in &lines {
                let _ = parser.line(line);
                let _ = parser.line(&format!("7 1000000001.000000 {line}"));
                let _ = parser.line(&format!("7 1000000001.000000 openat({line}"));
                let _ = parser.line(&format!("7 1000000001.000000 <... openat resumed>{line}"));
            }
        }

        #[test]
        fn what_a_line_says_is_read(
            tid in 1u32..99_999, descriptor in 0i32..1000, bytes in 0u64..1 << 30, offset in 0u64..1 << 40,
            path in "/[ -~&&[^\\\\<>\"]]{0,30}", micros in 0u32..999_999, cut in any::<bool>()
        ) {
            let (begun, tail) =
                (format!("pwrite64({descriptor}<{path}>, \"\"..., {bytes}, {offset}"), format!(") = {bytes} <0.000100>"));
            let mut parser = parser();
            let call = if cut {
                let first = parser.line(&format!("{tid} 1000000001.{micros:06} {begun} <unfinished ...>"));
                prop_assert!(first.is_none());
                parser.line(&format!("{tid} 1000000002.000000 <... pwrite64 resumed>{tail}")).unwrap()
            } else {
                parser.line(&format!("{tid} 1000000001.{micros:06} {begun}{tail}")).unwrap()
            };
            prop_assert_eq!((call.tid, call.args[0], call.args[3]), (tid, descriptor as u64, offset));
            prop_assert_eq!(call.ret, bytes as i64);
            prop_assert_eq!(call.begin_ns, 1_000_000_000 + u64::from(micros) * 1_000);
            prop_assert_eq!(call.end_ns - call.begin_ns, 100_000);
            prop_assert_eq!(call.descriptor_path.as_deref(), Some(path.as_str()));
        }
    }
}
