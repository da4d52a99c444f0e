//! The control socket: lines of commands from any number of programs, each answered by a line.

use anyhow::{bail, Context, Result};
use protocol::DiskAnswer;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

/// Of a command: a state names each write that it leaves out.
const LINE_MAX: u64 = 16 << 20;
/// Programs that are listened to at the same time.
const PROGRAMS_MAX: usize = 64;
const STACK_BYTES: usize = 512 << 10;

pub fn answer(to: &mut impl Write, reply: &DiskAnswer) -> io::Result<()> {
    let mut line = serde_json::to_vec(reply)?;
    line.push(b'\n');
    to.write_all(&line)?;
    to.flush()
}

/// Only the owner of the socket may write to it, and so command the disk.
pub fn bind(path: &Path) -> io::Result<UnixListener> {
    let listener = UnixListener::bind(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Has every line answered by `reply`, until that says that it was the last: then this process ends.
pub fn serve(
    listener: &UnixListener,
    path: &Path,
    reply: &(impl Fn(&str) -> (DiskAnswer, bool) + Sync),
) -> io::Result<()> {
    let listened = AtomicUsize::new(0);
    let (listened, (ended, ends)) = (&listened, mpsc::channel::<()>());
    thread::scope(|scope| {
        let accept = move || loop {
            let Ok((program, _)) = listener.accept() else { return };
            if listened.fetch_add(1, Ordering::SeqCst) >= PROGRAMS_MAX {
                listened.fetch_sub(1, Ordering::SeqCst);
                let message = format!("{PROGRAMS_MAX} programs are listened to already");
                let _ = answer(&mut &program, &DiskAnswer::Failed { message });
                continue;
            }
            let ended = ended.clone();
            let listen = move || {
                if matches!(talk(&program, reply), Ok(true)) {
                    let _ = ended.send(());
                }
                listened.fetch_sub(1, Ordering::SeqCst);
            };
            if thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, listen).is_err() {
                return;
            }
        };
        thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, accept)?;
        let _ = ends.recv();
        let _ = std::fs::remove_file(path);
        // Threads that still wait for a program end with the process.
        std::process::exit(0)
    })
}

/// Whether the last line was the end.
fn talk(program: &UnixStream, reply: &impl Fn(&str) -> (DiskAnswer, bool)) -> io::Result<bool> {
    let mut lines = BufReader::new(program);
    let mut line = String::new();
    loop {
        line.clear();
        if lines.by_ref().take(LINE_MAX).read_line(&mut line)? == 0 {
            return Ok(false);
        }
        let (reply_line, ends) = reply(&line);
        answer(&mut &*program, &reply_line)?;
        if ends {
            return Ok(true);
        }
    }
}

/// Sends a line, or each line of standard input, and prints the answers. Fails where one is that something failed.
pub fn tell(path: &Path, line: Option<&str>) -> Result<()> {
    let disk = UnixStream::connect(path).with_context(|| format!("no disk answers at {}", path.display()))?;
    let mut answers = BufReader::new(&disk);
    let mut failed = false;
    let mut say = |line: &str| -> Result<()> {
        let mut sent = BufWriter::new(&disk);
        writeln!(sent, "{}", line.trim_end())?;
        sent.flush()?;
        let mut reply_line = String::new();
        if answers.read_line(&mut reply_line)? == 0 {
            bail!("the disk at {} ended without an answer", path.display());
        }
        failed |= reply_line.starts_with("{\"answer\":\"failed\"");
        print!("{reply_line}");
        Ok(io::stdout().flush()?)
    };
    match line {
        Some(line) => say(line)?,
        None => io::stdin().lock().lines().try_for_each(|line| say(&line?))?,
    }
    let _ = disk.shutdown(Shutdown::Both);
    if failed {
        bail!("a command could not be followed");
    }
    Ok(())
}
