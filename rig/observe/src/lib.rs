//! The call observer: which files an engine opens and with which flags, and what it asks of the operating system at each
//! commit.
//!
//! A separate process beside the one that drives load (`acidtest-rig observe`), so that what it does is neither seen nor
//! counted. It reads one line with an [`Observe`], watches, and says so; the next line brings what the terminals noted; then
//! it answers with an [`Observed`] and ends. All times are of CLOCK_MONOTONIC, which is the trace's clock too.
//!
//! `page`, `format`, `calls`, `files` and `commits` are pure; `kernel`, `strace`, `paths` and `processes` are the edge.

mod calls;
mod commits;
mod files;
mod format;
mod kernel;
mod page;
mod paths;
mod processes;
mod strace;

use anyhow::{bail, Context, Result};
use calls::{Seen, Source};
use commits::{storage, summarise, tie};
use files::{Act, Book};
use measure::{monotonic_ns, Noted};
use protocol::{Means, Observe, Observed};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};

/// How often what was seen is fetched.
const FETCH_MS: i32 = 20;
/// So many calls are kept for what single commits did; the counts of files go on beyond.
const KEPT_MAX: usize = 1 << 20;

/// What the driving process says: once that the first transaction is about to begin, then how it ended.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Order {
    Begin,
    End(Ended),
}

#[derive(Debug, Serialize, Deserialize)]
struct Ended {
    embedded: bool,
    terminals: u32,
    commits: u64,
    noted: Vec<Noted>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Reply {
    Watching,
    Begun,
    Observed(Box<Observed>),
    Failed(String),
}

pub fn command() -> Result<ExitCode> {
    let mut orders = std::io::stdin().lock();
    let mut line = String::new();
    orders.read_line(&mut line).context("reading standard input")?;
    let asked: Observe = serde_json::from_str(&line).context("standard input is no Observe")?;
    let reply = match converse(&asked, &mut orders) {
        Ok(Some(observed)) => Reply::Observed(Box::new(observed)),
        Ok(None) => return Ok(ExitCode::SUCCESS), // nobody waits for an answer
        Err(error) => Reply::Failed(format!("{error:#}")),
    };
    let well = matches!(reply, Reply::Observed(_));
    say(&reply)?;
    Ok(if well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn say(reply: &Reply) -> Result<()> {
    let mut out = std::io::stdout().lock();
    serde_json::to_writer(&mut out, reply)?;
    out.write_all(b"\n").and_then(|()| out.flush()).context("writing standard output")
}

fn converse(asked: &Observe, orders: &mut impl BufRead) -> Result<Option<Observed>> {
    // To be late costs events; see setpriority(2). Refused to ordinary users, who have the buffers alone.
    rustix::process::setpriority_process(None, -10).ok();
    let (mut source, means): (Box<dyn Source>, _) = match &asked.means {
        Means::Kernel { instance } => {
            (Box::new(kernel::Kernel::start(instance, &asked.processes, Path::new(&asked.directory))?), "kernel")
        }
        Means::Strace { program } => (Box::new(strace::Strace::start(program, &asked.processes)?), "strace"),
    };
    let mut watched = Watched::new(&asked.processes);
    say(&Reply::Watching)?;
    let mut seen = Vec::new();
    loop {
        while !waiting(FETCH_MS)? {
            source.take(&mut seen)?;
            seen.drain(..).for_each(|one| watched.take(one));
        }
        let ended_ns = monotonic_ns();
        let mut line = String::new();
        if orders.read_line(&mut line).context("reading standard input")? == 0 {
            return Ok(None);
        }
        match serde_json::from_str(&line).context("standard input is no order")? {
            Order::Begin => {
                watched.begin(ended_ns);
                say(&Reply::Begun)?;
            }
            Order::End(ended) => {
                let dropped = source.finish(&mut seen)?;
                seen.drain(..).for_each(|one| watched.take(one));
                let seconds = ended_ns.saturating_sub(watched.begun_ns) as f64 / 1e9;
                return Ok(Some(watched.observed(means, seconds, dropped, ended, &asked.directory)));
            }
        }
    }
}

/// Whether there is something to read on standard input, waiting so long for it.
fn waiting(milliseconds: i32) -> Result<bool> {
    let mut descriptor = libc::pollfd { fd: 0, events: libc::POLLIN, revents: 0 };
    // SAFETY: one descriptor, and the kernel writes into it only.
    match unsafe { libc::poll(&mut descriptor, 1, milliseconds) } {
        -1 => match std::io::Error::last_os_error() {
            error if error.kind() == std::io::ErrorKind::Interrupted => Ok(false),
            error => Err(error).context("waiting for standard input"),
        },
        ready => Ok(ready > 0),
    }
}

struct Watched {
    book: Book<processes::Proc>,
    calls: u64,
    acts: Vec<Act>,
    storage_events: Vec<calls::StorageEvent>,
    /// When the last call that was kept ended, once no more are.
    until_ns: u64,
    /// What began before belongs to the opening of sessions: of that only hints count.
    begun_ns: u64,
}

impl Watched {
    fn new(processes: &[u32]) -> Watched {
        let mut book = Book::new(processes::Proc);
        for (pid, _) in processes::threads_of(processes, std::process::id()) {
            book.meet(pid);
        }
        Watched { book, calls: 0, acts: Vec::new(), storage_events: Vec::new(), until_ns: u64::MAX, begun_ns: 0 }
    }

    /// No transaction has begun yet.
    fn begin(&mut self, now_ns: u64) {
        self.begun_ns = now_ns;
        self.book.count_from(now_ns);
        (self.calls, self.until_ns) = (0, u64::MAX);
        self.acts.clear();
        self.storage_events.clear();
    }

    fn take(&mut self, seen: Seen) {
        match seen {
            Seen::Call(call) => {
                let counts = call.begin_ns >= self.begun_ns;
                self.calls += u64::from(counts);
                let Some(act) = self.book.apply(&call) else { return };
                if !counts {
                    return;
                }
                if self.acts.len() < KEPT_MAX {
                    self.acts.push(act);
                } else {
                    self.until_ns = self.until_ns.min(call.end_ns);
                }
            }
            Seen::Storage(event) if event.begin_ns < self.begun_ns => {}
            Seen::Storage(event) if self.storage_events.len() < KEPT_MAX => self.storage_events.push(event),
            Seen::Storage(_) => {}
            Seen::Born { tid, parent, thread, name } => self.book.born(tid, parent, thread, name),
        }
    }

    fn observed(mut self, means: &str, seconds: f64, dropped: u64, ended: Ended, directory: &str) -> Observed {
        self.acts.sort_by_key(|act| act.begin_ns);
        self.storage_events.sort_by_key(|event| event.begin_ns);
        let mut noted = ended.noted;
        noted.sort_by_key(|transaction| transaction.begin_ns);
        let tied_by = tie(ended.embedded, ended.terminals);
        let book = std::cell::RefCell::new(self.book);
        let (per_commit, typical) = summarise(
            &self.acts,
            &self.storage_events,
            &noted,
            tied_by,
            self.until_ns,
            &|file| files::below(book.borrow().name(file), directory).to_string(),
            &mut |tid| book.borrow_mut().who(tid),
        );
        Observed {
            means: means.to_string(),
            tied_by,
            seconds,
            calls: self.calls,
            dropped,
            commits: ended.commits,
            files: book.into_inner().files(directory),
            storage: storage(&self.storage_events),
            per_commit,
            typical,
        }
    }
}

/// The observer as the driving process has it.
pub struct Watch {
    child: Child,
    orders: ChildStdin,
    replies: BufReader<ChildStdout>,
    embedded: bool,
}

impl Watch {
    /// Starts it and waits until it watches. With no processes named, it watches this one.
    pub fn start(asked: &Observe) -> Result<Watch> {
        let embedded = asked.processes.is_empty();
        let processes = if embedded { vec![std::process::id()] } else { asked.processes.clone() };
        let asked = Observe { processes, ..asked.clone() };
        if matches!(asked.means, Means::Strace { .. }) && embedded {
            // Some machines let a process be traced by its parents alone; see PR_SET_PTRACER in prctl(2).
            // SAFETY: sets a flag of this process.
            unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY) };
        }
        let mut child = Command::new("/proc/self/exe")
            .arg("observe")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("starting the observer")?;
        let orders = child.stdin.take().expect("piped");
        let replies = BufReader::new(child.stdout.take().expect("piped"));
        let mut watch = Watch { child, orders, replies, embedded };
        watch.tell(&asked)?;
        match watch.hear()? {
            Reply::Watching => Ok(watch),
            Reply::Failed(why) => bail!(why),
            Reply::Observed(_) | Reply::Begun => bail!("the observer answered before it was asked"),
        }
    }

    /// The first transaction is about to begin: what was seen so far was the opening of sessions.
    pub fn begin(&mut self) -> Result<()> {
        self.tell(&Order::Begin)?;
        match self.hear()? {
            Reply::Begun => Ok(()),
            Reply::Failed(why) => bail!(why),
            Reply::Watching | Reply::Observed(_) => bail!("the observer did not begin"),
        }
    }

    /// Ends it; answers what it saw.
    pub fn finish(mut self, terminals: u32, commits: u64, noted: Vec<Noted>) -> Result<Observed> {
        self.tell(&Order::End(Ended { embedded: self.embedded, terminals, commits, noted }))?;
        match self.hear()? {
            Reply::Observed(observed) => Ok(*observed),
            Reply::Failed(why) => bail!(why),
            Reply::Watching | Reply::Begun => bail!("the observer reported again that it watches"),
        }
    }

    fn tell(&mut self, order: &impl Serialize) -> Result<()> {
        let mut line = serde_json::to_vec(order)?;
        line.push(b'\n');
        self.orders.write_all(&line).and_then(|()| self.orders.flush()).context("writing to the observer")
    }

    fn hear(&mut self) -> Result<Reply> {
        let mut line = String::new();
        if self.replies.read_line(&mut line).context("listening to the observer")? == 0 {
            bail!("the observer ended without an answer");
        }
        serde_json::from_str(&line).context("the observer's answer")
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
