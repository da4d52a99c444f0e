//! Asks the engine where it stands, about once a second of the measurement, on a session beside the terminals'.

use crate::shared::Shared;
use protocol::{Sample, Sampled, Sampling};
use std::collections::HashMap;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::Ordering;
use std::time::Duration;
use transaction::{sleep_unless, Client, Outcome, Session, Statement, Value};

const EVERY_NS: u64 = 1_000_000_000;

/// How often it is looked whether the terminals have ended.
const LOOK: Duration = Duration::from_millis(50);

/// A session that is asked during a run, and what it has answered. Where one thread drives all terminals it is one more
/// of them, so that no thread is added to a process of one; elsewhere it has its own thread.
pub struct Sampler {
    /// Until the run begins.
    session: Option<Box<dyn Session>>,
    statements: Vec<Statement>,
    names: Vec<String>,
    sampled: Sampled,
}

impl Sampler {
    /// Prepares the questions. Where that cannot be done nothing is sampled, and the result says why.
    pub fn new(asked: &Sampling, opened: Outcome<Box<dyn Session>>) -> Sampler {
        let prepared = opened.and_then(|mut session| {
            let statements = asked.questions.iter().map(|question| session.prepare_parts(&[question]));
            Ok((statements.collect::<Outcome<Vec<_>>>()?, session))
        });
        let (prepared, not_sampled) = match prepared {
            Ok(prepared) => (Some(prepared), None),
            Err(error) => (None, Some(error.message)),
        };
        let (statements, session) = prepared.unzip();
        Sampler {
            session,
            statements: statements.unwrap_or_default(),
            names: asked.names.clone(),
            sampled: Sampled { not_sampled, samples: Vec::new() },
        }
    }

    pub fn finish(self) -> Sampled {
        self.sampled
    }

    /// What its session may wait for.
    pub(crate) fn socket(&self) -> Option<RawFd> {
        self.session.as_ref()?.descriptor().map(|socket| socket.as_raw_fd())
    }

    /// Asks when the measurement begins, each second after it, at its planned end, and when the last terminal has ended. A
    /// question that is refused is the last one; the run goes on without.
    pub(crate) async fn attend(&mut self, shared: &Shared<'_>) {
        let Some(session) = self.session.take() else { return };
        let mut client = Client::new(session, shared.began, 0.0, false);
        let mut due_ns = shared.warmup_ns();
        let ended = || shared.at_work.load(Ordering::Relaxed) == 0 || shared.stop.load(Ordering::Relaxed);
        // The measurement may be brought forward while it is waited for.
        while shared.now_ns() < shared.warmup_ns() && !ended() {
            let planned_ns = shared.warmup_ns();
            sleep_unless(shared.at(planned_ns), LOOK, || ended() || shared.warmup_ns() != planned_ns).await;
            due_ns = shared.warmup_ns();
        }
        loop {
            sleep_unless(shared.at(due_ns), LOOK, ended).await;
            let last = ended();
            let asked_ns = shared.now_ns();
            if shared.stop.load(Ordering::Relaxed) || asked_ns < shared.warmup_ns() {
                return; // the run ended in its warm-up
            }
            match self.ask(&mut client).await {
                Err(error) => {
                    self.sampled.not_sampled = Some(error.message);
                    return;
                }
                Ok(values) => self.sampled.samples.push(Sample {
                    at_s: (asked_ns - shared.warmup_ns()) as f64 / 1e9,
                    took_s: (shared.now_ns() - asked_ns) as f64 / 1e9,
                    values,
                }),
            }
            if last {
                return;
            }
            due_ns = next_due_ns(due_ns, shared.now_ns(), shared.end_ns());
        }
    }

    async fn ask(&self, client: &mut Client) -> Outcome<Vec<Option<i64>>> {
        let mut figures: HashMap<String, i64> = client.figures()?.into_iter().collect();
        for &statement in &self.statements {
            let row = |row: &[Value]| {
                if let [name, figure, ..] = row {
                    figures.extend(name.clone().into_text().zip(figure.as_i64()));
                }
            };
            client.alone(statement, &[], row).await?;
        }
        Ok(self.names.iter().map(|name| figures.get(name).copied()).collect())
    }
}

/// The whole second after `now_ns`, counted from `due_ns`, but not past the planned end; after that, in its seconds.
fn next_due_ns(due_ns: u64, now_ns: u64, end_ns: u64) -> u64 {
    let late = now_ns.saturating_sub(due_ns) / EVERY_NS;
    let next_ns = due_ns + (late + 1) * EVERY_NS;
    if now_ns < end_ns {
        next_ns.min(end_ns)
    } else {
        next_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_that_an_answer_took_is_passed_over_and_the_end_is_met() {
        let s = EVERY_NS;
        for (due, now, end, next) in [
            (5 * s, 5 * s + 1, u64::MAX, 6 * s),
            (5 * s, 7 * s + 9, u64::MAX, 8 * s),
            (5 * s, 5 * s, 5 * s + 7, 5 * s + 7),
            (9 * s, 9 * s + 1, 9 * s, 10 * s),
        ] {
            assert_eq!(next_due_ns(due, now, end), next);
        }
    }
}
