//! What a load or a check is at, for those who wait for it: so that one which does not end is reported with its place.

use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// The statement or table at work, by file and line, and since when there has been nothing new.
pub struct AtWork {
    limit: Duration,
    now: Mutex<Option<Now>>,
}

struct Now {
    place: String,
    /// Rows written when something last happened.
    rows: u64,
    since: Instant,
}

impl AtWork {
    pub fn new(limit: Duration) -> AtWork {
        AtWork { limit, now: Mutex::new(None) }
    }

    fn now(&self) -> MutexGuard<'_, Option<Now>> {
        self.now.lock().expect("no panic under this lock")
    }

    pub fn begins(&self, place: &str) {
        *self.now() = Some(Now { place: place.to_string(), rows: 0, since: Instant::now() });
    }

    pub fn ends(&self) {
        *self.now() = None;
    }

    /// Where it is, if it is anywhere.
    pub fn place(&self) -> Option<String> {
        self.now().as_ref().map(|now| now.place.clone())
    }

    /// Why nobody should wait any longer, with `rows` written so far; None where there is still hope.
    pub fn overdue(&self, rows: u64) -> Option<String> {
        let mut now = self.now();
        let Now { place, rows: before, since } = now.as_mut()?;
        if rows != *before {
            (*before, *since) = (rows, Instant::now());
        }
        let limit_s = self.limit.as_secs_f64();
        (since.elapsed() >= self.limit).then(|| {
            format!(
                "{place}: it has not ended within {limit_s} s: correct it, or give it more time by statement_limit_s"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_nothing_new_within_the_limit_is_overdue() {
        let at_once = AtWork::new(Duration::ZERO);
        assert_eq!((at_once.overdue(0), at_once.place()), (None, None));
        at_once.begins("shop/schema.sql:3");
        assert_eq!(at_once.place().as_deref(), Some("shop/schema.sql:3"));
        assert_eq!(
            at_once.overdue(7).as_deref(),
            Some(
                "shop/schema.sql:3: it has not ended within 0 s: correct it, or give it more time by statement_limit_s"
            )
        );
        at_once.ends();
        assert_eq!(at_once.overdue(7), None);
        let patient = AtWork::new(Duration::from_secs(1_000_000));
        patient.begins("shop/schema.sql:3");
        assert_eq!(patient.overdue(0), None);
    }
}
