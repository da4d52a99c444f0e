//! The commit path of a directory or a block device without an engine: blocks written and made durable in each of the
//! ways that the system has, one step after another.

mod blocks;
mod step;

use blocks::Blocks;
use protocol::events::{conclude, EventWriter, Halted, Step};
use protocol::{Event, PhaseName, ProbeJob, ProbePattern, ProbeStep, ProbeTarget, Probed, PROTOCOL};
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Instant;
use step::WriteTarget;

const CHUNK: usize = 1 << 20;

/// Runs `job` and writes its events to `out`. Answers whether every step ended; an error means that nobody listens.
pub fn perform(job: &ProbeJob, out: &mut dyn Write) -> io::Result<bool> {
    conclude(out, |events| steps(job, events))
}

fn steps(job: &ProbeJob, events: &mut EventWriter) -> Step<()> {
    events.write(&Event::Hello {
        protocol: PROTOCOL,
        rig_version: env!("CARGO_PKG_VERSION").to_string(),
        pid: std::process::id(),
        engine_version: std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_string(),
    })?;
    let writers = job.steps.iter().map(|step| step.writers).max().unwrap_or(0);
    let mut blocks: Vec<Blocks> = (0..writers).map(|writer| Blocks::new(job.seed, writer)).collect();
    prepare(job, &mut blocks).map_err(|error| failed(format!("preparing {}", target(job).display()), &error))?;
    for (number, step) in job.steps.iter().enumerate() {
        let (number, began) = (number as u32, Instant::now());
        let mut unheard = None;
        let ended = step::run(step, &write_target(job, step), &mut blocks, &mut |done| {
            let elapsed_s = began.elapsed().as_secs_f64();
            let rate_per_s = done as f64 / elapsed_s;
            let event =
                Event::Progress { phase: PhaseName::Run, fraction: None, elapsed_s, done, rate_per_s, at: None };
            unheard = unheard.take().or(events.write(&event).err());
        });
        if let Some(unheard) = unheard {
            return Err(unheard);
        }
        events.write(&match ended {
            Ok(ended) => Event::Probed(Box::new(Probed {
                step: number,
                writes: ended.writes,
                measured_s: ended.measured_s,
                writes_per_s: if ended.writes > 0 { ended.writes as f64 / ended.measured_s } else { 0.0 },
                latency: ended.latency,
                flush: ended.flush,
            })),
            Err(error) if is_refusal(&error) => Event::Refused { step: number, message: error.to_string() },
            Err(error) => return Err(failed(format!("writing to {}", target(job).display()), &error)),
        })?;
    }
    Ok(())
}

fn failed(doing: String, error: &io::Error) -> Halted {
    Halted::Failed { doing, message: error.to_string() }
}

/// What open(2), write(2) and sync_file_range(2) answer where a file system lacks the method, or the device the block size.
fn is_refusal(error: &io::Error) -> bool {
    let number = error.raw_os_error();
    [libc::EINVAL, libc::EOPNOTSUPP, libc::ENOSYS, libc::ESPIPE].map(Some).contains(&number)
}

fn target(job: &ProbeJob) -> &Path {
    match &job.target {
        ProbeTarget::Directory { path } | ProbeTarget::Device { path } => Path::new(path),
    }
}

/// Fills what will be overwritten and flushes it, so that no step allocates blocks there.
fn prepare(job: &ProbeJob, blocks: &mut [Blocks]) -> io::Result<()> {
    let overwriting = job.steps.iter().filter(|step| step.pattern != ProbePattern::Append);
    let Some(widest) = overwriting.max_by_key(|step| files(step)) else {
        return Ok(());
    };
    let write_target = write_target(job, widest);
    for (path, &from) in write_target.paths.iter().zip(&write_target.from) {
        let on_device = matches!(job.target, ProbeTarget::Device { .. });
        let file = OpenOptions::new().write(true).create_new(!on_device).open(path)?;
        let mut at = 0;
        while at < write_target.bytes {
            let bytes = (write_target.bytes - at).min(CHUNK as u64);
            file.write_all_at(blocks[0].next(bytes as usize), from + at)?;
            at += bytes;
        }
        file.sync_all()?;
    }
    Ok(())
}

fn files(step: &ProbeStep) -> u32 {
    if step.one_file {
        1
    } else {
        step.writers
    }
}

fn write_target(job: &ProbeJob, step: &ProbeStep) -> WriteTarget {
    let count = u64::from(files(step));
    let numbers = 0..count;
    match (&job.target, step.pattern) {
        (ProbeTarget::Device { path }, _) => WriteTarget {
            paths: numbers.clone().map(|_| PathBuf::from(path)).collect(),
            from: numbers.map(|number| number * job.overwrite_bytes).collect(),
            bytes: job.overwrite_bytes,
        },
        (ProbeTarget::Directory { path }, pattern) => {
            let (name, bytes) = match pattern {
                ProbePattern::Append => ("append", job.append_bytes / count),
                _ => ("overwrite", job.overwrite_bytes),
            };
            WriteTarget {
                paths: numbers.map(|number| Path::new(path).join(format!("{name}-{number}"))).collect(),
                from: vec![0; count as usize],
                bytes,
            }
        }
    }
}
