//! Calls as the kernel's own tracing shows them: trace events in instances of tracefs that are ours alone, read in binary;
//! see the kernel's Documentation/trace/ftrace.rst and events.rst.
//!
//! The instance for calls follows the engine's threads (`set_event_pid`, `event-fork`); that for storage takes what concerns the
//! database's device, of any thread, for much of it is done by threads of the kernel.

mod devices;
mod events;
mod instance;
mod joiner;

use crate::calls::{is_system_call, Kind, Seen, Source, CALLS};
use crate::paths::Paths;
use anyhow::{bail, Context, Result};
use devices::Devices;
use events::{Event, Reading};
use instance::{Instance, Tracefs, BUFFER_KB_MAX};
use joiner::Joiner;
use std::path::Path;

/// A record may appear this long after its own time.
const LATE_NS: u64 = 5_000_000;

pub struct Kernel {
    instances: Vec<Instance>,
    held: Vec<Event>,
    joiner: Joiner,
    /// `None` where this kernel runs no programs for us: paths are then asked for afterwards, which is less sure.
    paths: Option<Paths>,
    // The mount must outlive what is beneath it.
    _tracefs: Tracefs,
}

impl Kernel {
    /// Begins to watch the processes `roots` and what they start, but for this one.
    pub fn start(name: &str, roots: &[u32], directory: &Path) -> Result<Kernel> {
        let tracefs = Tracefs::mount()?;
        let layout = tracefs.layout()?;
        let mut calls = Instance::make(&tracefs, name, layout, BUFFER_KB_MAX)?;
        let mut naming = Vec::new();
        for (number, (name, kind)) in CALLS.iter().enumerate().filter(|(_, (name, _))| is_system_call(name)) {
            // Not every machine has every call: the older ones are missing where newer do the same.
            let Some(enter) = calls.format("syscalls", &format!("sys_enter_{name}"))? else { continue };
            let Some(exit) = calls.format("syscalls", &format!("sys_exit_{name}"))? else { continue };
            let (call, arguments) = (number as u8, enter.arguments());
            let result = exit.field("ret").context("sys_exit has no ret")?.clone();
            calls.watch("syscalls", &format!("sys_enter_{name}"), &enter, Reading::Enter { call, arguments });
            calls.watch("syscalls", &format!("sys_exit_{name}"), &exit, Reading::Exit { call, result });
            if let Kind::Open { path, .. } | Kind::Rename { path } = kind {
                naming.push((u64::from(enter.number), *path));
            }
        }
        calls.pass_over_locks();
        if calls.is_empty() {
            bail!("this kernel has no events for system calls (CONFIG_FTRACE_SYSCALLS)");
        }
        calls.watch_births()?;
        calls.watch_rings()?;
        calls.follow(roots)?;
        let mut instances = vec![];
        let mut storage = Instance::make(&tracefs, &format!("{name}-storage"), layout, BUFFER_KB_MAX / 8)?;
        storage.watch_storage(&Devices::of(directory, roots))?;
        storage.enable()?;
        let paths = Paths::start(&naming).ok();
        calls.enable()?;
        instances.push(calls);
        instances.push(storage);
        Ok(Kernel { instances, held: Vec::new(), joiner: Joiner::default(), paths, _tracefs: tracefs })
    }

    /// Reads what there is, and hands on what is older than `until_ns`: all of that has arrived.
    fn read(&mut self, now_ns: u64, until_ns: u64, out: &mut Vec<Seen>) -> Result<()> {
        for instance in &mut self.instances {
            instance.read(now_ns, &mut self.held)?;
        }
        self.held.sort_by_key(|event| event.at_ns);
        if let Some(paths) = &mut self.paths {
            paths.read();
        }
        let first = out.len();
        let behind = self.held.partition_point(|event| event.at_ns < until_ns);
        for event in self.held.drain(..behind) {
            self.joiner.take(event, out);
        }
        let Some(paths) = &mut self.paths else { return Ok(()) };
        for seen in &mut out[first..] {
            let Seen::Call(call) = seen else { continue };
            if let Kind::Open { path, .. } | Kind::Rename { path } = CALLS[call.call as usize].1 {
                let resolved = paths.of(call.tid, call.args[path], call.begin_ns, call.end_ns);
                call.path = resolved.map(String::into_boxed_str);
            }
        }
        Ok(())
    }
}

impl Source for Kernel {
    fn take(&mut self, out: &mut Vec<Seen>) -> Result<()> {
        let now_ns = measure::monotonic_ns();
        self.read(now_ns, now_ns.saturating_sub(LATE_NS), out)
    }

    fn finish(mut self: Box<Self>, out: &mut Vec<Seen>) -> Result<u64> {
        for instance in &self.instances {
            instance.put("tracing_on", "0")?;
        }
        self.read(u64::MAX, u64::MAX, out)?;
        let mut dropped = 0;
        for instance in &self.instances {
            dropped += instance.dropped()?;
        }
        for instance in self.instances.drain(..) {
            instance.remove()?;
        }
        Ok(dropped)
    }
}
