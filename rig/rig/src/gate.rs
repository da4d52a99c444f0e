//! What the lab says while a job is at work: the moment at which rigs that drive one load together begin, and the second from
//! which on a load is measured whose warm-up may end early.

use protocol::events::{EventWriter, Halted, Step};
use protocol::{Event, Go, MeasureFrom};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// What the lab says while a job is at work, line by line.
pub type LabLines<'a> = &'a mut dyn Iterator<Item = std::io::Result<String>>;

/// Says that the sessions are open, and waits for the moment that the lab names. Answers that moment, which is past by as
/// much as this process was late.
pub fn pass(lines: LabLines, events: &mut EventWriter) -> Step<Instant> {
    events.write(&Event::Ready {})?;
    let failed = |message: String| Halted::Failed { doing: "waiting for the load to begin".to_string(), message };
    let line = match lines.next() {
        Some(Ok(line)) => line,
        Some(Err(error)) => return Err(failed(error.to_string())),
        None => return Err(failed("the lab named no moment".to_string())),
    };
    let go: Go = serde_json::from_str(&line).map_err(|error| failed(format!("{line:.80}: {error}")))?;
    let moment = UNIX_EPOCH + Duration::from_nanos(go.at_ns);
    match moment.duration_since(SystemTime::now()) {
        Ok(left) => {
            let moment = Instant::now() + left;
            std::thread::sleep(left);
            Ok(moment)
        }
        Err(past) => {
            Instant::now().checked_sub(past.duration()).ok_or_else(|| failed("the moment is long past".into()))
        }
    }
}

/// The second from which on the lab wants to measure, if it has written that by now. It is not waited for: the caller drives load.
pub fn heard(lines: LabLines) -> Option<u32> {
    let mut polled = libc::pollfd { fd: libc::STDIN_FILENO, events: libc::POLLIN, revents: 0 };
    // SAFETY: one entry, which is ours; it waits for nothing.
    if unsafe { libc::poll(&mut polled, 1, 0) } != 1 {
        return None;
    }
    second(&lines.next()?.ok()?)
}

/// The second from which on the lab wants to measure, where this line says so.
pub fn second(line: &str) -> Option<u32> {
    serde_json::from_str::<MeasureFrom>(line).ok().map(|asked| asked.second)
}
