//! One terminal of a replay: sessions of the log one after another, each opened, run and closed at its time.

use super::log::{Log, Logged, What};
use super::totals::{Times, Totals, Tried};
use protocol::Difference;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use transaction::{
    failed, sleep_until, Attempt, Class, Client, Drawn, Ended, Outcome, Refused, Rng, Script, Statement, Value,
};

/// Of a statement or a message that is shown, its first letters.
const SHOWN_MAX: usize = 160;

pub struct Player {
    log: Arc<Log>,
    /// Those that are left of this lane's sessions, the next one last.
    left: Vec<u32>,
    at: At,
    transaction: Vec<Logged>,
    /// Read beyond it.
    ahead: Option<Logged>,
    /// How much faster than it was; without times where there is none.
    speed: Option<f64>,
    prepared: HashMap<String, Statement>,
    /// Of the last attempt at the transaction drawn, and of what was before it.
    tried: Tried,
    before: Totals,
    totals: Arc<Mutex<Totals>>,
    unread: Option<String>,
}

#[derive(Clone, Copy)]
enum At {
    Between,
    Opening(u32),
    /// A session, and how many of its statements are behind.
    Within(u32, usize),
    Closing,
}

impl Player {
    pub fn new(log: Arc<Log>, lane: usize, speed: Option<f64>, totals: Arc<Mutex<Totals>>) -> Player {
        let left = log.sessions(lane).iter().rev().copied().collect();
        Player {
            log,
            left,
            at: At::Between,
            transaction: Vec::new(),
            ahead: None,
            speed,
            prepared: HashMap::new(),
            tried: Tried::default(),
            before: Totals::default(),
            totals,
            unread: None,
        }
    }

    fn due(&self, at_us: u64) -> Option<Duration> {
        self.speed.map(|speed| Duration::from_secs_f64(at_us as f64 / 1e6 / speed))
    }

    fn next(&mut self, session: u32, number: &mut usize) -> Option<Logged> {
        if let Some(ahead) = self.ahead.take() {
            return Some(ahead);
        }
        let read = self.log.statement(session, *number).unwrap_or_else(|error| {
            self.unread = Some(format!("what was made of the log cannot be read: {error}"));
            None
        });
        *number += usize::from(read.is_some());
        read
    }

    /// Reads the next transaction of a session into its place; answers whether there was one.
    fn read_transaction(&mut self, session: u32, number: &mut usize) -> bool {
        self.transaction.clear();
        let Some(first) = self.next(session, number) else { return false };
        let mut open = matches!(first.what, What::Begin | What::Implied);
        self.transaction.push(first);
        while open {
            let Some(more) = self.next(session, number) else { break };
            if matches!(more.what, What::Begin | What::Implied) {
                self.ahead = Some(more);
                break;
            }
            open = !matches!(more.what, What::Commit | What::Rollback);
            self.transaction.push(more);
        }
        true
    }

    async fn play(&mut self, client: &mut Client) -> Result<Ended, Refused> {
        if let Some(message) = self.unread.take() {
            return Err(failed(Class::Connection, message).into());
        }
        self.tried.clear();
        let transaction = std::mem::take(&mut self.transaction);
        let played = self.play_all(&transaction, client).await;
        self.transaction = transaction;
        played
    }

    async fn play_all(&mut self, transaction: &[Logged], client: &mut Client) -> Result<Ended, Refused> {
        let mut refused_alike = false;
        let mut ended = Ended::Committed;
        for (number, logged) in transaction.iter().enumerate() {
            let due = self.due(logged.at_us).map(|after| client.at(after));
            if let Some(due) = due.filter(|due| *due > Instant::now()) {
                sleep_until(due).await;
            }
            let sent = Instant::now();
            let outcome = self.ask(client, logged).await;
            let done = Instant::now();
            self.time(logged, due.unwrap_or(sent), sent, done);
            if logged.what == What::Rollback {
                ended = Ended::RolledBack;
            }
            match outcome {
                Ok(rows) if logged.failed => {
                    self.tried.counts.errors_missing += 1;
                    self.differs(logged, "an error".to_string(), format!("no error, {}", rows_of(rows)));
                }
                Ok(rows) => self.compare(logged, rows),
                Err(error) if error.class.is_final() => return Err(error.into()),
                Err(_) if logged.failed => {
                    self.tried.counts.errors_alike += 1;
                    refused_alike = true;
                }
                // The commit of a transaction in which something failed is a rollback.
                Err(_) if refused_alike && logged.what == What::Commit => ended = Ended::RolledBack,
                Err(error) => {
                    self.tried.counts.errors_new += 1;
                    self.tried.counts.left_out += (transaction.len() - number - 1) as u64;
                    self.differs(logged, "no error".to_string(), cut(&error.message));
                    return Err(Refused { error, at_commit: logged.what == What::Commit });
                }
            }
        }
        let is_whole = transaction.first().is_some_and(|first| !matches!(first.what, What::Begin | What::Implied))
            || transaction.last().is_some_and(|last| matches!(last.what, What::Commit | What::Rollback));
        if client.in_transaction() {
            if is_whole && ended == Ended::Committed {
                client.commit().await.map_err(|error| Refused { error, at_commit: true })?;
            } else {
                client.rollback().await?;
            }
        }
        if !is_whole || transaction.len() == 1 && refused_alike {
            ended = Ended::RolledBack;
        }
        Ok(ended)
    }

    /// Answers how many rows came.
    async fn ask(&mut self, client: &mut Client, logged: &Logged) -> Outcome<u64> {
        let text = logged.text.as_str();
        let mut rows = 0;
        match logged.what {
            What::Implied => {}
            What::Begin if text.is_empty() => client.begin().await?,
            // What the log ends has ended already where the engine ends transactions of itself.
            What::Commit if text.is_empty() && !client.in_transaction() => {}
            What::Commit if text.is_empty() => client.commit().await?,
            What::Rollback if text.is_empty() => client.rollback().await?,
            What::Prepared => {
                let statement = match self.prepared.get(text) {
                    Some(statement) => *statement,
                    None => {
                        let statement = client.prepare_logged(text)?;
                        self.prepared.insert(text.to_string(), statement);
                        statement
                    }
                };
                let value = |one: &Option<String>| one.as_ref().map_or(Value::Null, |text| Value::Text(text.clone()));
                let parameters: Vec<Value> = logged.parameters.iter().flatten().map(value).collect();
                client.run(statement, &parameters, |_| rows += 1).await?;
            }
            What::Begin | What::Commit | What::Rollback | What::Text => {
                client.text(text, || rows += 1).await?;
            }
        }
        Ok(rows)
    }

    fn time(&mut self, logged: &Logged, due: Instant, sent: Instant, done: Instant) {
        if logged.what == What::Implied {
            return;
        }
        let ns = |from: Instant| (done - from).as_nanos() as u64;
        let logged = logged.took_us.map(|took_us| took_us.saturating_mul(1000));
        self.tried.counts.statements += 1;
        self.tried.times.push(Times { latency: ns(due), service: ns(sent), logged });
    }

    fn compare(&mut self, logged: &Logged, rows: u64) {
        let Some(wanted) = logged.rows else { return };
        self.tried.counts.rows_compared += 1;
        if wanted != rows {
            self.tried.counts.rows_differ += 1;
            self.differs(logged, rows_of(wanted), rows_of(rows));
        }
    }

    fn differs(&mut self, Logged { place, text, .. }: &Logged, logged: String, replayed: String) {
        let difference = Difference { place: place.clone(), statement: cut(text), logged, replayed };
        self.tried.counts.differences.push(difference);
    }

    fn hand_in(&mut self) {
        self.before.take(&mut self.tried);
        let mut totals = self.totals.lock().unwrap_or_else(PoisonError::into_inner);
        totals.add(std::mem::take(&mut self.before));
    }
}

impl Script for Player {
    fn draw(&mut self, _: &mut Rng) -> Option<Drawn> {
        self.before.take(&mut self.tried);
        loop {
            match self.at {
                At::Between => {
                    let session = self.left.pop()?;
                    self.at = At::Opening(session);
                    return Some(Drawn { at: self.due(self.log.lasts(session).0), aside: true, ..Drawn::default() });
                }
                At::Opening(session) => self.at = At::Within(session, 0),
                At::Within(session, mut number) => {
                    if self.read_transaction(session, &mut number) || self.unread.is_some() {
                        self.at = At::Within(session, number);
                        let at = self.transaction.first().and_then(|first| self.due(first.at_us));
                        return Some(Drawn { at, ..Drawn::default() });
                    }
                    self.at = At::Closing;
                    return Some(Drawn { at: self.due(self.log.lasts(session).1), aside: true, ..Drawn::default() });
                }
                At::Closing => self.at = At::Between,
            }
        }
    }

    fn attempt<'a>(&'a mut self, client: &'a mut Client) -> Attempt<'a> {
        Box::pin(async move {
            match self.at {
                At::Within(..) => self.play(client).await,
                At::Opening(_) => {
                    match client.renew() {
                        Ok(()) => self.before.counts.sessions += 1,
                        // What it was to do asks for a connection again.
                        Err(_) => self.before.counts.sessions_refused += 1,
                    }
                    Ok(Ended::Queued)
                }
                At::Closing | At::Between => client.leave().map(|()| Ended::Queued).map_err(Refused::from),
            }
        })
    }
}

impl Drop for Player {
    /// A run that is stopped leaves what it has come to.
    fn drop(&mut self) {
        self.hand_in();
    }
}

fn rows_of(rows: u64) -> String {
    if rows == 1 {
        "1 row".to_string()
    } else {
        format!("{rows} rows")
    }
}

fn cut(text: &str) -> String {
    let plain = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match plain.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{} …", &plain[..end]),
        None => plain,
    }
}
