//! Sessions of a run that are not one a terminal: those that are idle beside the terminals, and those of single transactions.

use crate::instruments::Instrument;
use protocol::events::{EventWriter, Halted, Step};
use protocol::{Connections, Event, IdleSessions as Asked, IdleSessionsSeen, Inspection, Job, RunResult, Setting};
use session::Database;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use transaction::{failed, Class, Lasts, Opened, Outcome, PerTransaction, Session, Value};

/// Puts what was being done beside an engine's error.
pub fn doing<T>(what: &str, outcome: Outcome<T>) -> Step<T> {
    outcome.map_err(|error| Halted::Failed { doing: what.to_string(), message: error.message })
}

pub fn inspect(session: &mut dyn Session, questions: &[Inspection]) -> Step<Vec<Setting>> {
    let mut settings = Vec::new();
    for question in questions {
        let rows = doing(&format!("reading a setting ({})", question.sql), session.rows(&question.sql))?;
        if question.name.is_empty() {
            settings.extend(rows.into_iter().filter_map(|row| {
                let mut cells = row.into_iter().map(Value::into_text);
                Some(Setting { name: cells.next()??, value: cells.next()? })
            }));
        } else {
            let value = rows.into_iter().next().and_then(|row| row.into_iter().next()).and_then(Value::into_text);
            settings.push(Setting { name: question.name.clone(), value });
        }
    }
    Ok(settings)
}

pub struct IdleSessions {
    asked: Asked,
    sessions: Vec<Box<dyn Session>>,
}

impl IdleSessions {
    pub fn open(database: &dyn Database, asked: Asked) -> Step<IdleSessions> {
        let mut sessions = Vec::new();
        for number in 0..asked.sessions {
            let what = format!("opening sleeping session {number}");
            let mut session = doing(&what, database.open())?;
            doing(&what, if asked.in_transaction { session.hold() } else { session.look() })?;
            sessions.push(session);
        }
        Ok(IdleSessions { asked, sessions })
    }
}

impl Instrument for IdleSessions {
    /// Looks which of them still answer.
    fn complete(&mut self, result: &mut RunResult, _: &mut EventWriter) -> Step<()> {
        let answers: Vec<_> = self.sessions.iter_mut().map(|session| session.look()).collect();
        result.sleepers = Some(IdleSessionsSeen {
            sessions: self.asked.sessions,
            in_transaction: self.asked.in_transaction,
            awake_at_end: answers.iter().filter(|answer| answer.is_ok()).count() as u32,
            lost: answers.into_iter().find_map(Result::err).map(|error| error.message),
        });
        Ok(())
    }
}

/// Of each terminal whose session answered otherwise than the job's own, the first such answers.
type Differing = Arc<Mutex<Vec<(u32, Vec<Setting>)>>>;

/// Opens a session for each transaction, or for as long as a script says.
pub struct OneSessionEach<'a> {
    lasts: Lasts,
    job: &'a Job,
    database: &'a Arc<dyn Database>,
    settings: &'a [Setting],
    opened: Arc<Opened>,
    differing: Differing,
}

impl<'a> OneSessionEach<'a> {
    /// `settings` are what the job's own session answered.
    pub fn new(
        lasts: Lasts,
        job: &'a Job,
        database: &'a Arc<dyn Database>,
        settings: &'a [Setting],
    ) -> OneSessionEach<'a> {
        OneSessionEach { lasts, job, database, settings, opened: Arc::default(), differing: Arc::default() }
    }

    fn session_of(&self, terminal: u32) -> Box<dyn Session> {
        let (database, differing) = (Arc::clone(self.database), Arc::clone(&self.differing));
        let (questions, wanted) = (self.job.inspect.clone(), self.settings.to_vec());
        let asked = move |session: &mut dyn Session| {
            let answers = match inspect(session, &questions) {
                Ok(answers) => answers,
                Err(Halted::Failed { doing, message }) => {
                    return Err(failed(Class::Other, format!("{doing}: {message}")))
                }
                Err(Halted::Unheard(_)) => unreachable!("an inspection tells nobody"),
            };
            let mut differing = differing.lock().expect("no panic under this lock");
            if answers != wanted && differing.iter().all(|(other, _)| *other != terminal) {
                differing.push((terminal, answers));
            }
            Ok(())
        };
        let open = Arc::new(move || database.open());
        let (dialect, opened) = (self.database.dialect(), Arc::clone(&self.opened));
        Box::new(PerTransaction::new(dialect, self.lasts, open, Box::new(asked), opened))
    }
}

impl Instrument for OneSessionEach<'_> {
    fn open(&self, terminal: u32) -> Option<Box<dyn Session>> {
        Some(self.session_of(terminal))
    }

    /// What was opened so far was for the run's preparation.
    fn begin(&mut self, _: &mut EventWriter) -> Step<()> {
        self.opened.sessions.store(0, Ordering::Relaxed);
        self.opened.inspected.store(0, Ordering::Relaxed);
        Ok(())
    }

    fn complete(&mut self, result: &mut RunResult, events: &mut EventWriter) -> Step<()> {
        for (terminal, values) in self.differing.lock().expect("no panic under this lock").drain(..) {
            events.write(&Event::Settings { terminal: Some(terminal), values })?;
        }
        result.connections = Some(Connections {
            opened: self.opened.sessions.load(Ordering::Relaxed),
            inspected: self.opened.inspected.load(Ordering::Relaxed),
        });
        Ok(())
    }
}
