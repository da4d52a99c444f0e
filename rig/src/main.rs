//! acidtest-rig: the measured half of acidtest. Reads one job, streams events, exits.
//!
//! A process of its own, so that an embedded engine, a memory limit, a trace and a kill all have one clear target.

mod job;
mod protocol;
mod samples;
mod session;
mod terminal;
mod workload;

use anyhow::{bail, Context};
use std::io::{Read, Write};
use std::process::ExitCode;

const HELP: &str = "\
acidtest-rig: the measured half of acidtest; the acidtest command starts it

  acidtest-rig job                   read a job (JSON) from standard input, write events (JSON Lines)
  acidtest-rig protocol              print a sample of every type of the protocol
  acidtest-rig protocol --read TYPE  read a Job or an Event from standard input and write it back
  acidtest-rig --version

Exit codes: 0 done, 1 the job could not go on (the last event says why), 2 bad input.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ended = match arguments.as_slice() {
        ["job"] => job(),
        ["protocol"] => samples().map(|()| ExitCode::SUCCESS),
        ["protocol", "--read", kind] => echo(kind).map(|()| ExitCode::SUCCESS),
        ["--version"] => {
            println!("acidtest-rig {} (SQLite {})", env!("CARGO_PKG_VERSION"), rusqlite::version());
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

fn job() -> anyhow::Result<ExitCode> {
    die_with_parent();
    let job: protocol::Job = read("Job")?;
    if job.protocol != protocol::PROTOCOL {
        bail!("the job speaks protocol {}, this rig {}; install acidtest again", job.protocol, protocol::PROTOCOL);
    }
    if let Some(flaw) = job.flaw() {
        bail!("standard input is no Job: {flaw}");
    }
    // An error means that nobody reads our events: there is nobody left to tell.
    Ok(match job::perform(&job, &mut std::io::stdout().lock()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) | Err(_) => ExitCode::from(1),
    })
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
    let text = serde_json::to_string_pretty(&samples::all())?;
    writeln!(std::io::stdout(), "{text}").context("writing standard output")
}

fn echo(kind: &str) -> anyhow::Result<()> {
    let text = match kind {
        "Job" => serde_json::to_string(&read::<protocol::Job>(kind)?)?,
        "Event" => serde_json::to_string(&read::<protocol::Event>(kind)?)?,
        _ => bail!("{kind} is neither Job nor Event"),
    };
    writeln!(std::io::stdout(), "{text}").context("writing standard output")
}
