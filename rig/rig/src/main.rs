//! acidtest-rig: the measured half of acidtest. Reads one job, streams events, exits.
//!
//! A separate process, so that an embedded engine, a memory limit, a trace and a kill all have one clear target.

mod counting;
mod gate;
mod instruments;
mod job;
mod run;
mod sessions;

use anyhow::{bail, Context};
use std::io::{BufRead, Read, Write};
use std::process::ExitCode;

const HELP: &str = "\
acidtest-rig: the measured half of acidtest; the acidtest command starts it

  acidtest-rig job                   read a job (JSON) from standard input, write events (JSON Lines)
  acidtest-rig jobs                  the same for jobs, one a line, each when the one before has ended; what a job waits for
                                     is a line too; with --local-names users and groups are those of this machine's files
  acidtest-rig probe                 the same for a probe of a directory or a block device
  acidtest-rig pages                 the same for the pages of a Firebird database, which are read from its file
  acidtest-rig disk                  serve a simulated disk: a specification, then commands, one a line (JSON Lines);
                                     acidtest-rig disk --help has the control socket
  acidtest-rig observe               watch system calls, as a job asks for it of a rig beside it
  acidtest-rig protocol              print a sample of every type of the protocol
  acidtest-rig protocol --read TYPE  read a Job, a ProbeJob, a PagesJob, an Event or a part of the disk's protocol and write it back
  acidtest-rig describe              say what a workload of your own (a message, JSON) consists of, and what is wrong in it
  acidtest-rig sqlite [LIBRARY]      say what the linked SQLite, or that of a shared library, is (JSON)
  acidtest-rig --version

Exit codes: 0 done, 1 the job could not go on (the last event says why), 2 bad input.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ended = match arguments.as_slice() {
        ["job"] => job(),
        ["jobs"] => jobs(),
        ["jobs", "--local-names"] => {
            local_names();
            jobs()
        }
        ["probe"] => probe(),
        ["pages"] => pages(),
        ["disk", ..] => Ok(disk::command("acidtest-rig disk", &std::env::args().skip(2).collect::<Vec<_>>())),
        ["observe"] => {
            die_with_parent();
            observe::command()
        }
        ["protocol"] => samples().map(|()| ExitCode::SUCCESS),
        ["protocol", "--read", kind] => echo(kind).map(|()| ExitCode::SUCCESS),
        ["describe"] => describe(),
        ["sqlite"] => sqlite(None),
        ["sqlite", library] => sqlite(Some(library)),
        ["--version"] => {
            linked_version();
            Ok(ExitCode::SUCCESS)
        }
        [] | ["--help" | "-h"] => {
            println!("{HELP}");
            Ok(ExitCode::SUCCESS)
        }
        other => Err(anyhow::anyhow!("unknown arguments: {}; see acidtest-rig --help", other.join(" "))),
    };
    ended.unwrap_or_else(|error| {
        eprintln!("acidtest-rig: {error:#}");
        ExitCode::from(2)
    })
}

fn linked_version() {
    let sqlite = session::SqliteLibrary::linked().version();
    println!("acidtest-rig {} (SQLite {sqlite})", env!("CARGO_PKG_VERSION"));
}

fn sqlite(library: Option<&str>) -> anyhow::Result<ExitCode> {
    let sqlite = session::SqliteLibrary::of(library).map_err(anyhow::Error::msg)?;
    let (version, source_id, options) = (sqlite.version(), sqlite.source_id(), sqlite.options());
    println!("{}", serde_json::json!({ "version": version, "source_id": source_id, "options": options }));
    Ok(ExitCode::SUCCESS)
}

fn describe() -> anyhow::Result<ExitCode> {
    let message: protocol::Workload = read("workload")?;
    let described = workload::describe(&message).map_err(anyhow::Error::msg)?;
    writeln!(std::io::stdout(), "{}", serde_json::to_string(&described)?).context("writing standard output")?;
    Ok(ExitCode::SUCCESS)
}

fn job() -> anyhow::Result<ExitCode> {
    die_with_parent();
    let job = admitted(read("Job")?)?;
    Ok(ended(job::perform(&job, &mut std::iter::empty(), &mut std::io::stdout().lock())))
}

/// A process that has loaded an engine's library once looks at one database after another. Each job opens it anew, and has
/// closed it before its last event.
fn jobs() -> anyhow::Result<ExitCode> {
    die_with_parent();
    let mut performed = Ok(true);
    let mut lines = std::io::stdin().lock().lines();
    while let Some(line) = lines.next() {
        let line = line.context("reading standard input")?;
        if gate::second(&line).is_some() {
            continue; // the job before had begun to measure by itself when the lab asked for it
        }
        let job: protocol::Job = serde_json::from_str(&line).context("a line of standard input is no Job")?;
        performed = job::perform(&admitted(job)?, &mut lines, &mut std::io::stdout().lock());
        if performed.is_err() {
            break;
        }
    }
    Ok(ended(performed))
}

/// From now on users and groups are looked for in this machine's files, and no service is asked. An engine may ask for
/// somebody who is nowhere, each time that it opens a database.
fn local_names() {
    type Configure = unsafe extern "C" fn(*const libc::c_char, *const libc::c_char) -> libc::c_int;
    // SAFETY: the C library's own function where it has one of this name (nss.h of the GNU C library), given two texts.
    unsafe {
        let found = libc::dlsym(libc::RTLD_DEFAULT, c"__nss_configure_lookup".as_ptr());
        if found.is_null() {
            return; // another C library asks nobody else
        }
        let configure: Configure = std::mem::transmute(found);
        for names in [c"passwd", c"group"] {
            configure(names.as_ptr(), c"files".as_ptr());
        }
    }
}

fn probe() -> anyhow::Result<ExitCode> {
    die_with_parent();
    let job: protocol::ProbeJob = read("ProbeJob")?;
    check_protocol(job.protocol)?;
    if let Some(flaw) = job.flaw() {
        bail!("standard input is no ProbeJob: {flaw}");
    }
    Ok(ended(probe::perform(&job, &mut std::io::stdout().lock())))
}

fn pages() -> anyhow::Result<ExitCode> {
    die_with_parent();
    let job: protocol::PagesJob = read("PagesJob")?;
    check_protocol(job.protocol)?;
    Ok(ended(pages::perform(&job, &mut std::io::stdout().lock())))
}

fn admitted(job: protocol::Job) -> anyhow::Result<job::Admitted> {
    check_protocol(job.protocol)?;
    job::admit(job).map_err(not_a_job)
}

fn not_a_job(flaw: String) -> anyhow::Error {
    anyhow::anyhow!("standard input is no Job: {flaw}")
}

/// Both sides must use the same protocol.
fn check_protocol(spoken: u32) -> anyhow::Result<()> {
    if spoken != protocol::PROTOCOL {
        bail!("the job uses protocol {spoken}, this rig {}; install acidtest again", protocol::PROTOCOL);
    }
    Ok(())
}

fn ended(performed: std::io::Result<bool>) -> ExitCode {
    match performed {
        Ok(true) => ExitCode::SUCCESS,
        // An error means that nobody reads our events: there is nobody left to tell.
        Ok(false) | Err(_) => ExitCode::from(1),
    }
}

/// Asks the kernel to kill this process when the one that started it ends, so that a killed lab leaves no load behind.
fn die_with_parent() {
    // SAFETY: sets a flag of this process; see PR_SET_PDEATHSIG in prctl(2).
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        // Arrivals are slept for; the default slack of 50 microseconds would be added to each.
        libc::prctl(libc::PR_SET_TIMERSLACK, 1);
    }
}

fn read<T: serde::de::DeserializeOwned>(what: &str) -> anyhow::Result<T> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).context("reading standard input")?;
    serde_json::from_str(&text).with_context(|| format!("standard input is no {what}"))
}

fn samples() -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(&protocol::samples::all(&session::samples(), &workload::samples()))?;
    writeln!(std::io::stdout(), "{text}").context("writing standard output")
}

fn echo(kind: &str) -> anyhow::Result<()> {
    let text = match kind {
        "Job" => serde_json::to_string(&job::again(read(kind)?).map_err(not_a_job)?)?,
        "ProbeJob" => serde_json::to_string(&read::<protocol::ProbeJob>(kind)?)?,
        "PagesJob" => serde_json::to_string(&read::<protocol::PagesJob>(kind)?)?,
        "Event" => serde_json::to_string(&read::<protocol::Event>(kind)?)?,
        "DiskSpec" => serde_json::to_string(&read::<protocol::DiskSpec>(kind)?)?,
        "DiskCommand" => serde_json::to_string(&read::<protocol::DiskCommand>(kind)?)?,
        "DiskAnswer" => serde_json::to_string(&read::<protocol::DiskAnswer>(kind)?)?,
        _ => bail!("{kind} is none of Job, ProbeJob, PagesJob, Event, DiskSpec, DiskCommand and DiskAnswer"),
    };
    writeln!(std::io::stdout(), "{text}").context("writing standard output")
}
