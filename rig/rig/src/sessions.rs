//! Sessions of a run that are not one a terminal: those that sleep beside the terminals, and those of single transactions.

use crate::step::{doing, inspect};
use protocol::events::{EventWriter, Halted, Step};
use protocol::{Connections, Event, Job, Setting, Sleepers, SleepersSeen};
use session::Database;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use transaction::{failed, Class, Lasts, Opened, PerTransaction, Session};

/// Sessions that are open and idle.
pub struct Sleeping {
    asked: Sleepers,
    sessions: Vec<Box<dyn Session>>,
}

impl Sleeping {
    pub fn begin(database: &dyn Database, asked: Sleepers) -> Step<Sleeping> {
        let mut sessions = Vec::new();
        for number in 0..asked.sessions {
            let what = format!("opening sleeping session {number}");
            let mut session = doing(&what, database.open())?;
            doing(&what, if asked.in_transaction { session.hold() } else { session.look() })?;
            sessions.push(session);
        }
        Ok(Sleeping { asked, sessions })
    }

    pub fn finish(&mut self) -> SleepersSeen {
        let answers: Vec<_> = self.sessions.iter_mut().map(|session| session.look()).collect();
        SleepersSeen {
            sessions: self.asked.sessions,
            in_transaction: self.asked.in_transaction,
            awake_at_end: answers.iter().filter(|answer| answer.is_ok()).count() as u32,
            lost: answers.into_iter().find_map(Result::err).map(|error| error.message),
        }
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

    pub fn session(&self, terminal: u32) -> Box<dyn Session> {
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

    /// The run begins: what was opened so far was for its preparation.
    pub fn begin(&self) {
        self.opened.sessions.store(0, Ordering::Relaxed);
        self.opened.inspected.store(0, Ordering::Relaxed);
    }

    /// Tells what sessions answered otherwise.
    pub fn finish(self, events: &mut EventWriter) -> Step<Connections> {
        for (terminal, values) in self.differing.lock().expect("no panic under this lock").drain(..) {
            events.write(&Event::Settings { terminal: Some(terminal), values })?;
        }
        Ok(Connections {
            opened: self.opened.sessions.load(Ordering::Relaxed),
            inspected: self.opened.inspected.load(Ordering::Relaxed),
        })
    }
}
