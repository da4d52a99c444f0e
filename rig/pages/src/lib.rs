//! What gstat counts in a Firebird database, read from its file without an engine, which would write to it: an attachment
//! takes transaction numbers from the header page. Nothing is opened for writing, and no lock is taken.
//!
//! Offsets are those of Firebird's `src/jrd/ods.h`, for on-disk structures 12 (Firebird 3) and 13 (4 and 5); what is
//! counted, and how, is what `src/utilities/gstat/dba.epp` counts. [`file`] hands out pages, [`header`] reads what a
//! database says of itself, [`catalogue`] which tables and indexes there are, [`tables`] and [`indexes`] go through them.

mod catalogue;
mod file;
mod header;
mod indexes;
mod tables;
#[cfg(test)]
mod tests;

use file::{Flaw, Source, Watch};
use protocol::events::{conclude, EventWriter, Halted, Step};
use protocol::{Event, Pages, PagesJob, PhaseName, PROTOCOL};
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

const PROGRESS_EVERY: Duration = Duration::from_secs(1);

/// Reads the database that `job` names and writes its events to `out`. Answers whether it ended well; an error means that
/// nobody listens.
pub fn perform(job: &PagesJob, out: &mut dyn Write) -> io::Result<bool> {
    conclude(out, |events| read(job, events))
}

fn read(job: &PagesJob, events: &mut EventWriter) -> Step<()> {
    events.write(&Event::Hello {
        protocol: PROTOCOL,
        rig_version: env!("CARGO_PKG_VERSION").to_string(),
        pid: std::process::id(),
        engine_version: String::new(),
    })?;
    let (began, mut reported) = (Instant::now(), Instant::now());
    let mut unheard = None;
    let found = pages_of(Path::new(&job.path), &mut |done, all| {
        if reported.elapsed() < PROGRESS_EVERY {
            return;
        }
        reported = Instant::now();
        let elapsed_s = began.elapsed().as_secs_f64();
        let fraction = Some((done as f64 / all.max(1) as f64).min(1.0));
        let rate_per_s = done as f64 / elapsed_s;
        let event = Event::Progress { phase: PhaseName::Check, fraction, elapsed_s, done, rate_per_s, at: None };
        unheard = unheard.take().or(events.write(&event).err());
    });
    if let Some(unheard) = unheard {
        return Err(unheard);
    }
    let pages =
        found.map_err(|flaw| Halted::Failed { doing: "reading its pages".into(), message: flaw.to_string() })?;
    events.write(&Event::Pages(Box::new(pages)))
}

fn pages_of(path: &Path, watch: Watch) -> Result<Pages, Flaw> {
    all_of(&mut Source::open(path)?, watch)
}

fn all_of(source: &mut Source, watch: Watch) -> Result<Pages, Flaw> {
    let header = header::read(source)?;
    let mut pages = header.pages;
    if pages.encrypted {
        return Ok(pages); // data and index pages are: nothing of them can be reported
    }
    let catalogue = catalogue::read(source, header.first_of_pages)?;
    let mut damage = header::transactions(source, &catalogue, &mut pages);
    source.used = pages.pages - pages.free_pages;
    for table in catalogue.tables(source, &mut pages)? {
        let (mut counts, flaw) = tables::read(source, &table, watch);
        damage = damage.or(flaw);
        for index in &table.indexes {
            let (index, flaw) = indexes::read(source, &table, index, watch);
            damage = damage.or(flaw);
            counts.indexes.push(index);
        }
        pages.tables.push(counts);
    }
    pages.damaged = damage.map(|flaw| flaw.to_string());
    Ok(pages)
}
