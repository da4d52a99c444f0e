//! What the engine itself counted during a measurement: the difference of two readings, taken by their own session.
//!
//! A counter of a session is gone with the session, and those of an embedded engine with the last of them, so the terminals'
//! sessions stay open until the last reading. The session that reads is left out of all figures. It is opened before
//! the run and does nothing while load is measured.

use crate::instruments::Instrument;
use protocol::events::{EventWriter, Step};
use protocol::{Counted, CountedBy, Counting, Event};
use session::Database;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use terminal::{Beside, Listeners, Underway};
use transaction::{failed, Class, Outcome, Session, Value};

/// The reading under load begins this much before the measurement: for each terminal, whose session has to answer for itself
/// when it is between two calls, and so many times as long as it took without load.
const LEAD: Duration = Duration::from_millis(100);
const LEAD_A_TERMINAL: Duration = Duration::from_millis(20);
const LEAD_TIMES: u32 = 10;

pub struct Counter<'a> {
    asked: &'a Counting,
    /// An error says why nothing is counted; the run goes on without.
    asking: Result<Asking, String>,
    /// Sessions are closed in mid-run: none is asked for its number.
    given_up: bool,
    terminals: BTreeSet<i64>,
    counted: Option<Counted>,
}

struct Asking {
    session: Box<dyn Session>,
    own: i64,
    first: Reading,
    first_s: f64,
    from_s: f64,
    /// Before the first reading, and the most that may have been by then.
    committed: u64,
    uncertain: u64,
}

/// Of each session, and under `None` of the whole database: the counters, in the order asked.
type Reading = BTreeMap<Option<i64>, Vec<Option<i64>>>;

impl<'a> Counter<'a> {
    /// `keeps_sessions`: those of the terminals stay open for the whole run.
    pub fn open(asked: &'a Counting, database: &dyn Database, keeps_sessions: bool) -> Counter<'a> {
        let asking = match keeps_sessions {
            true => begin(asked, database).map_err(|error| error.message),
            false => Err("sessions are closed in mid-run, and take their counters along".to_string()),
        };
        Counter { asked, asking, given_up: !keeps_sessions, terminals: BTreeSet::new(), counted: None }
    }

    fn read(&mut self) {
        let Ok(asking) = &mut self.asking else { return };
        let began = Instant::now();
        match read(self.asked, asking.session.as_mut()) {
            Ok(first) => (asking.first, asking.first_s) = (first, began.elapsed().as_secs_f64()),
            Err(error) => self.asking = Err(error.message),
        }
    }

    /// The last reading, and what was counted in between; `committed` are all that the run committed.
    fn risen(&mut self, committed: u64) -> Result<Counted, String> {
        let asking = self.asking.as_mut().map_err(|why| why.clone())?;
        let began = Instant::now();
        let last = read(self.asked, asking.session.as_mut()).map_err(|error| error.message)?;
        let last_reading_s = began.elapsed().as_secs_f64();
        let committed = committed - asking.committed;
        Ok(Counted {
            not_counted: None,
            from_s: asking.from_s,
            first_reading_s: asking.first_s,
            last_reading_s,
            committed,
            uncertain: asking.uncertain.min(committed),
            counters: difference(&self.asked.names, &asking.first, &last, &self.terminals, asking.own)?,
        })
    }
}

impl Instrument for Counter<'_> {
    fn session(&mut self, session: &mut dyn Session) {
        if self.given_up {
            return;
        }
        match number(self.asked, session) {
            Ok(number) => {
                self.terminals.insert(number);
            }
            Err(error) => self.asking = Err(error.message),
        }
    }

    /// The first reading, without load, is the one that counts where there is no warm-up.
    fn begin(&mut self, events: &mut EventWriter) -> Step<()> {
        self.read();
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let numbers = self.terminals.iter().copied().collect();
        events.write(&Event::Begins { numbers, began_us: since.as_micros() as u64 })
    }

    fn listen<'s>(&'s mut self, listeners: &mut Listeners<'s>) {
        listeners.beside = Some(self);
    }

    fn end(&mut self, committed: u64) {
        let nothing = |why| Counted { not_counted: Some(why), ..Counted::default() };
        self.counted = Some(self.risen(committed).unwrap_or_else(nothing));
    }

    fn record(self: Box<Self>) -> Step<Option<Event>> {
        Ok(self.counted.map(Event::Counted))
    }
}

impl Beside for Counter<'_> {
    fn lead(&self) -> Duration {
        let alone_s = self.asking.as_ref().map_or(0.0, |asking| asking.first_s);
        LEAD + LEAD_A_TERMINAL * self.terminals.len() as u32 + Duration::from_secs_f64(alone_s) * LEAD_TIMES
    }

    fn look(&mut self, run: &dyn Underway) {
        let before = run.committed();
        self.read();
        let terminals = self.terminals.len() as u64;
        if let Ok(asking) = &mut self.asking {
            (asking.committed, asking.from_s) = (before, run.measured_s());
            asking.uncertain = run.committed() - before + terminals;
        }
    }
}

fn begin(asked: &Counting, database: &dyn Database) -> Outcome<Asking> {
    let mut session = database.open()?;
    let own = number(asked, session.as_mut())?;
    Ok(Asking { session, own, first: Reading::new(), first_s: 0.0, from_s: 0.0, committed: 0, uncertain: 0 })
}

/// By which the engine tells this session from the others.
fn number(asked: &Counting, session: &mut dyn Session) -> Outcome<i64> {
    let answer = session.rows(&asked.session)?.into_iter().flatten().next();
    answer
        .and_then(|value| value.as_i64())
        .ok_or_else(|| failed(Class::Other, "the engine tells no number of a session".to_string()))
}

fn read(asked: &Counting, session: &mut dyn Session) -> Outcome<Reading> {
    let rows = session.rows(&asked.counted)?.into_iter().map(|row| {
        let mut values = row.iter().map(Value::as_i64);
        (values.next().flatten(), values.collect())
    });
    Ok(rows.collect())
}

/// What each counter rose by; an error says why there are no figures.
fn difference(
    names: &[String],
    first: &Reading,
    last: &Reading,
    terminals: &BTreeSet<i64>,
    own: i64,
) -> Result<Vec<CountedBy>, String> {
    let shown = |reading: &Reading| terminals.iter().filter(|number| reading.contains_key(&Some(**number))).count();
    let fewest = shown(first).min(shown(last));
    if fewest < terminals.len() {
        return Err(format!("the engine shows {fewest} of the {} sessions that count", terminals.len()));
    }
    let at = |reading: &Reading, of: Option<i64>, place: usize| reading.get(&of)?.get(place).copied().flatten();
    let rise = |of: Option<i64>, place: usize| Some(at(last, of, place)? - at(first, of, place)?);
    let counted = |name: &String, rise: Option<i64>| {
        rise.map(|rise| {
            u64::try_from(rise).map_err(|_| format!("{name} went down by {} meanwhile", rise.unsigned_abs()))
        })
        .transpose()
    };
    names
        .iter()
        .enumerate()
        .map(|(place, name)| {
            let sessions = terminals.iter().map(|&number| rise(Some(number), place)).sum::<Option<i64>>();
            // Below 0 it is a figure of something else than of the whole.
            let database = rise(None, place).and_then(|all| u64::try_from(all - rise(Some(own), place)?).ok());
            Ok(CountedBy { name: name.clone(), sessions: counted(name, sessions)?, database })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: i64 = 9;

    fn reading(rows: &[(Option<i64>, [Option<i64>; 2])]) -> Reading {
        rows.iter().map(|(of, counts)| (*of, counts.to_vec())).collect()
    }

    fn risen(first: &Reading, last: &Reading) -> Result<Vec<CountedBy>, String> {
        let names = ["reads".to_string(), "writes".to_string()];
        difference(&names, first, last, &BTreeSet::from([1, 2]), OWN)
    }

    fn before() -> Reading {
        reading(&[
            (None, [Some(100), Some(50)]),
            (Some(1), [Some(10), Some(5)]),
            (Some(2), [Some(20), Some(6)]),
            (Some(OWN), [Some(1), Some(0)]),
        ])
    }

    #[test]
    fn sessions_are_added_up_and_the_one_that_asks_is_left_out() {
        let last = reading(&[
            (None, [Some(160), Some(51)]),
            (Some(1), [Some(13), Some(5)]),
            (Some(2), [Some(40), Some(6)]),
            (Some(OWN), [Some(8), Some(1)]),
            (Some(77), [Some(30), Some(0)]),
        ]);
        let of = |name: &str, sessions, database| CountedBy { name: name.into(), sessions, database };
        assert_eq!(risen(&before(), &last), Ok(vec![of("reads", Some(23), Some(53)), of("writes", Some(0), Some(0))]));
    }

    #[test]
    fn what_the_engine_does_not_tell_is_not_zero() {
        let mut first = before();
        first.remove(&None);
        first.insert(Some(2), vec![Some(20), None]);
        let last = before();
        let counted = risen(&first, &last).unwrap();
        assert_eq!(
            counted.iter().map(|one| (one.sessions, one.database)).collect::<Vec<_>>(),
            [(Some(0), None), (None, None)]
        );
    }

    #[test]
    fn sessions_that_are_not_shown_and_counters_that_fall_are_no_figures() {
        let mut last = before();
        last.remove(&Some(2));
        assert_eq!(risen(&before(), &last), Err("the engine shows 1 of the 2 sessions that count".to_string()));
        let mut whole = before();
        whole.insert(None, vec![Some(90), Some(50)]);
        assert_eq!(risen(&before(), &whole).unwrap()[0].database, None);
        last.insert(Some(2), vec![Some(0), Some(0)]);
        assert_eq!(risen(&before(), &last), Err("reads went down by 20 meanwhile".to_string()));
    }
}
