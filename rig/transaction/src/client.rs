//! What a script sends to: one session, its calls awaited, and on a sample of transactions clocked.

use crate::{
    failed, wait_for_socket, Class, Maintenance, NamedSink, Outcome, Refused, Request, Session, SessionError, Sink,
    Statement, Value,
};
use measure::{monotonic_ns, thread_ns};
use std::future::poll_fn;
use std::task::Poll;
use std::time::{Duration, Instant};

pub struct Client {
    session: Box<dyn Session>,
    /// When the run began.
    began: Instant,
    clock_read_ns: f64,
    meter: Option<Meter>,
    pub sampled: Sampled,
    /// Whether it is noted when a commit is asked for.
    noting: bool,
    /// When that was, of the last one.
    pub commit_ns: Option<u64>,
}

/// The thread's processor time over one transaction. The thread may drive others in between: what passes while an answer
/// is pending is left out.
struct Meter {
    /// When this transaction last got the thread.
    since_ns: u64,
    whole_ns: u64,
    inside_ns: u64,
    calls: u64,
}

impl Client {
    pub fn new(session: Box<dyn Session>, began: Instant, clock_read_ns: f64, noting: bool) -> Client {
        Client { session, began, clock_read_ns, meter: None, sampled: Sampled::default(), noting, commit_ns: None }
    }

    pub fn into_session(self) -> Box<dyn Session> {
        self.session
    }

    /// The moment so long after the run began.
    pub fn at(&self, after: Duration) -> Instant {
        self.began + after
    }

    pub async fn begin(&mut self) -> Outcome<()> {
        self.ask(Request::Begin, &mut |_| {}).await.map(|_| ())
    }

    /// As [`Client::begin`], for a transaction that writes nothing.
    pub async fn begin_reading(&mut self) -> Outcome<()> {
        self.ask(Request::BeginReading, &mut |_| {}).await.map(|_| ())
    }

    pub async fn commit(&mut self) -> Outcome<()> {
        self.ask(Request::Commit, &mut |_| {}).await.map(|_| ())
    }

    /// Safe to call when no transaction is open.
    pub async fn rollback(&mut self) -> Outcome<()> {
        self.ask(Request::Rollback, &mut |_| {}).await.map(|_| ())
    }

    /// The transaction has been booked; see [`Session::ended`].
    pub fn ended(&mut self) -> Outcome<()> {
        self.session.ended()
    }

    /// Runs a statement that answers no rows; answers how many it changed.
    pub async fn execute(&mut self, statement: Statement, parameters: &[Value]) -> Outcome<u64> {
        self.ask(Request::Run(statement, parameters), &mut |_| {}).await
    }

    /// Runs a statement that must change exactly one row. An engine may, at weak isolation, pass over a row that another
    /// transaction is changing: that is a refusal, not a success.
    pub async fn change_one(&mut self, statement: Statement, parameters: &[Value]) -> Outcome<()> {
        match self.ask(Request::One(statement, parameters), &mut |_| {}).await? {
            1 => Ok(()),
            changed => Err(SessionError::not_one(changed)),
        }
    }

    /// Runs a statement that is its own transaction, where none is open: it counts as committed when this answers how
    /// many rows it changed. Rows that it answers go to `row`.
    pub async fn alone(
        &mut self,
        statement: Statement,
        parameters: &[Value],
        mut row: impl FnMut(&[Value]),
    ) -> Outcome<u64> {
        self.ask(Request::Alone(statement, parameters), &mut row).await
    }

    /// As [`Session::prepare_parts`]. It may wait, and the thread's other terminals with it: for what can only be prepared
    /// once an earlier statement ran.
    pub fn prepare_parts(&mut self, parts: &[&str]) -> Outcome<Statement> {
        self.session.prepare_parts(parts)
    }

    /// As [`Session::prepare_logged`], and waits as [`Client::prepare_parts`] does.
    pub fn prepare_logged(&mut self, sql: &str) -> Outcome<Statement> {
        self.session.prepare_logged(sql)
    }

    /// As [`Session::in_transaction`].
    pub fn in_transaction(&self) -> bool {
        self.session.in_transaction()
    }

    /// As [`Session::figures`].
    pub fn figures(&mut self) -> Outcome<Vec<(String, i64)>> {
        self.session.figures()
    }

    /// As [`Session::renew`]; keeps the thread waiting.
    pub fn renew(&mut self) -> Outcome<()> {
        self.session.renew()
    }

    /// As [`Session::leave`].
    pub fn leave(&mut self) -> Outcome<()> {
        self.session.leave()
    }

    /// Runs anybody's SQL as it stands: `row` hears of each row, and the answer is how many were changed.
    pub async fn text(&mut self, sql: &str, mut row: impl FnMut()) -> Outcome<u64> {
        self.ask(Request::Text(sql), &mut |_| row()).await
    }

    /// As [`Session::columns`].
    pub fn columns(&mut self, statement: Statement) -> Vec<String> {
        self.session.columns(statement)
    }

    /// Runs any statement: hands each row to `row` and answers how many rows it changed.
    pub async fn run(
        &mut self,
        statement: Statement,
        parameters: &[Value],
        mut row: impl FnMut(&[Value]),
    ) -> Outcome<u64> {
        self.ask(Request::Run(statement, parameters), &mut row).await
    }

    /// Runs a statement of which nothing is to be known but that it did not fail, perhaps together with the next.
    pub async fn later(&mut self, statement: Statement, parameters: &[Value]) -> Outcome<()> {
        self.ask(Request::Later(statement, parameters), &mut |_| {}).await.map(|_| ())
    }

    /// Runs a query that must answer exactly one row, whose values `row` takes.
    pub async fn query_one(
        &mut self,
        statement: Statement,
        parameters: &[Value],
        mut row: impl FnMut(&[Value]),
    ) -> Outcome<()> {
        let mut rows = 0;
        self.run(statement, parameters, |values| {
            rows += 1;
            row(values);
        })
        .await?;
        match rows {
            1 => Ok(()),
            0 => Err(SessionError { class: Class::RowMissed, message: "a row to be read was not found".to_string() }),
            _ => Err(SessionError { class: Class::Other, message: format!("a query for one row found {rows}") }),
        }
    }

    /// Begins statements none of which depends on another's answer; see [`Pipeline`].
    pub fn pipeline<R: FnMut(usize, &[Value])>(&mut self, row: R) -> Pipeline<'_, R> {
        Pipeline::new(self, row)
    }

    /// Has the engine do something for its administrator; waits for its end. Only for sessions that nobody shares a thread
    /// with, as those of every engine that offers maintenance.
    pub fn maintain<T>(&mut self, work: impl FnOnce(&mut dyn Maintenance) -> Outcome<T>) -> Outcome<T> {
        self.note_commit();
        self.clocked(|session| {
            let engine = session.dialect().engine;
            match session.maintenance() {
                Some(maintenance) => work(maintenance),
                None => Err(failed(Class::Connection, format!("{engine} offers a session no maintenance"))),
            }
        })
    }

    /// As [`Scripted::once`]; waits for its end. Only for sessions that nobody shares a thread with, as those of every engine
    /// whose scripts are run.
    pub fn once(&mut self, sql: &str, row: NamedSink) -> Outcome<()> {
        self.clocked(|session| {
            let engine = session.dialect().engine;
            match session.scripted() {
                Some(scripted) => scripted.once(sql, row),
                None => Err(failed(Class::Connection, format!("{engine} runs no scripts"))),
            }
        })
    }

    /// Calls the session, clocked where the transaction is sampled.
    fn clocked<T>(&mut self, call: impl FnOnce(&mut dyn Session) -> T) -> T {
        let began_ns = self.meter.as_ref().map(|_| thread_ns());
        let answer = call(self.session.as_mut());
        if let (Some(meter), Some(began_ns)) = (&mut self.meter, began_ns) {
            meter.inside_ns += thread_ns() - began_ns;
            meter.calls += 1;
        }
        answer
    }

    async fn ask(&mut self, request: Request<'_>, row: Sink<'_>) -> Outcome<u64> {
        if matches!(request, Request::Commit | Request::Alone(..)) {
            self.note_commit();
        }
        let mut request = Some(request);
        self.awaited(|session| match request.take() {
            Some(request) => session.call(request, row),
            None => session.resume(row),
        })
        .await
    }

    /// As [`Session::join`].
    pub(crate) fn join(
        &mut self,
        statement: Statement,
        parameters: &[Value],
        number: usize,
        one: bool,
    ) -> Outcome<bool> {
        self.clocked(|session| session.join(statement, parameters, number, one))
    }

    /// A commit is about to be asked for.
    pub(crate) fn note_commit(&mut self) {
        if self.noting {
            self.commit_ns = Some(monotonic_ns());
        }
    }

    /// Calls the session until it is no longer pending; calls are clocked where the transaction is sampled.
    pub(crate) async fn awaited<T>(
        &mut self,
        mut call: impl FnMut(&mut dyn Session) -> Poll<Outcome<T>>,
    ) -> Outcome<T> {
        let mut is_first = true;
        poll_fn(|_| {
            let began_ns = self.meter.as_ref().map(|_| thread_ns());
            if let (Some(meter), false, Some(now_ns)) = (&mut self.meter, is_first, began_ns) {
                meter.since_ns = now_ns;
            }
            is_first = false;
            let answer = call(self.session.as_mut());
            if let (Some(meter), Some(began_ns)) = (&mut self.meter, began_ns) {
                let now_ns = thread_ns();
                meter.inside_ns += now_ns - began_ns;
                meter.calls += 1;
                if answer.is_pending() {
                    meter.whole_ns += now_ns - meter.since_ns;
                }
            }
            if answer.is_pending() {
                wait_for_socket();
            }
            answer
        })
        .await
    }

    /// From here to [`Client::end_sample`] calls are clocked.
    pub fn begin_sample(&mut self) {
        self.meter = Some(Meter { since_ns: thread_ns(), whole_ns: 0, inside_ns: 0, calls: 0 });
    }

    /// Adds the transaction to the sample. Between any two readings lies one reading's cost: with `n` calls there are
    /// `n` gaps inside calls and at most `n + 1` outside.
    pub fn end_sample(&mut self) {
        let Some(meter) = self.meter.take() else { return };
        let whole = (meter.whole_ns + thread_ns() - meter.since_ns) as f64;
        let calls = meter.calls as f64;
        let outside = whole - meter.inside_ns as f64 - (calls + 1.0) * self.clock_read_ns;
        self.sampled.transactions += 1;
        self.sampled.session_ns += (meter.inside_ns as f64 - calls * self.clock_read_ns).max(0.0);
        self.sampled.generator_ns += outside.max(0.0);
    }
}

/// Sums over the sampled transactions of one terminal.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sampled {
    pub transactions: u64,
    pub generator_ns: f64,
    pub session_ns: f64,
}

impl Sampled {
    pub fn add(&mut self, other: Sampled) {
        self.transactions += other.transactions;
        self.generator_ns += other.generator_ns;
        self.session_ns += other.session_ns;
    }
}

/// Must be ended by [`Pipeline::end`] or [`Pipeline::commit`]: rows come by then, and not before.
#[must_use = "what was joined is sent by its end"]
pub struct Pipeline<'a, R> {
    client: &'a mut Client,
    /// Takes each row, with the number of its query.
    row: R,
    joined: bool,
}

impl<'a, R: FnMut(usize, &[Value])> Pipeline<'a, R> {
    pub(crate) fn new(client: &'a mut Client, row: R) -> Self {
        Pipeline { client, row, joined: false }
    }

    /// As [`Client::change_one`].
    pub async fn change_one(&mut self, statement: Statement, parameters: &[Value]) -> Outcome<()> {
        self.client.change_one(statement, parameters).await
    }

    /// As [`Client::run`].
    pub async fn query(&mut self, number: usize, statement: Statement, parameters: &[Value]) -> Outcome<()> {
        if self.client.join(statement, parameters, number, false)? {
            self.joined = true;
            return Ok(());
        }
        let Pipeline { client, row, .. } = self;
        client.run(statement, parameters, |values| row(number, values)).await.map(|_| ())
    }

    /// As [`Client::query_one`].
    pub async fn query_one(&mut self, number: usize, statement: Statement, parameters: &[Value]) -> Outcome<()> {
        if self.client.join(statement, parameters, number, true)? {
            self.joined = true;
            return Ok(());
        }
        let Pipeline { client, row, .. } = self;
        client.query_one(statement, parameters, |values| row(number, values)).await
    }

    /// Waits for the answers. What changes rows and waits for nothing may yet travel with what follows.
    pub async fn end(self) -> Outcome<()> {
        let Pipeline { client, mut row, joined } = self;
        match joined {
            true => client.awaited(|session| session.gather(false, &mut row)).await,
            false => Ok(()),
        }
    }

    /// Commits, and waits for the answers.
    pub async fn commit(self) -> Result<(), Refused> {
        let Pipeline { client, mut row, joined } = self;
        let committed = match joined {
            true => {
                client.note_commit();
                client.awaited(|session| session.gather(true, &mut row)).await
            }
            false => client.commit().await,
        };
        committed.map_err(|error| Refused { error, at_commit: true })
    }
}
