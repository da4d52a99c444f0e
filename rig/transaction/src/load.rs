//! What a load has to work with: sessions that fill tables side by side, and the count of what is written.

use crate::{Class, Dialect, OneByOne, Outcome, Session, SessionError, Value};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Mutex;

pub type Open<'a> = &'a (dyn Fn() -> Outcome<Box<dyn Session>> + Sync);

/// A table whose rows have the numbers from 1 on.
pub struct NumberedTable<'a> {
    pub name: String,
    pub columns: &'a [&'a str],
    pub rows: i64,
}

pub struct LoadContext<'a> {
    /// Opens sessions, for who needs one after another.
    pub open: Open<'a>,
    pub dialect: &'static Dialect,
    /// Of every random value that is loaded.
    pub seed: u64,
    pub sessions: usize,
    one_by_one: bool,
    expected: AtomicU64,
    rows: AtomicU64,
    bytes: AtomicU64,
}

impl<'a> LoadContext<'a> {
    pub fn new(
        open: Open<'a>,
        dialect: &'static Dialect,
        seed: u64,
        sessions: u32,
        one_by_one: bool,
    ) -> LoadContext<'a> {
        let sessions = if dialect.one_writer { 1 } else { sessions as usize };
        let (expected, rows, bytes) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
        LoadContext { open, dialect, seed, sessions, one_by_one, expected, rows, bytes }
    }

    pub fn session(&self) -> Outcome<Box<dyn Session>> {
        (self.open)()
    }

    /// How many rows the load will write, for those who watch it.
    pub fn expect(&self, rows: u64) {
        self.expected.store(rows, Ordering::Relaxed);
    }

    pub fn expected(&self) -> u64 {
        self.expected.load(Ordering::Relaxed)
    }

    /// Rows and bytes written so far.
    pub fn written(&self) -> (u64, u64) {
        (self.rows.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed))
    }

    pub fn wrote(&self, rows: u64, bytes: u64) {
        self.rows.fetch_add(rows, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Works off `tasks` over the context's sessions. The first error ends the work.
    pub fn each<T: Send>(
        &self,
        tasks: Vec<T>,
        work: impl Fn(&mut dyn Session, T) -> Outcome<()> + Sync,
    ) -> Outcome<()> {
        let width = self.sessions.min(tasks.len());
        let tasks = Mutex::new(VecDeque::from(tasks));
        let stop = AtomicBool::new(false);
        let next = || {
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            tasks.lock().expect("no panic under this lock").pop_front()
        };
        let one = || -> Outcome<()> {
            let mut session = self.session()?;
            while let Some(task) = next() {
                work(session.as_mut(), task)?;
            }
            Ok(())
        };
        let worker = || one().inspect_err(|_| stop.store(true, Ordering::Relaxed));
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..width).map(|_| scope.spawn(worker)).collect();
            let ended = workers.into_iter().map(|worker| worker.join().expect("a loader does not panic"));
            ended.collect::<Vec<Outcome<()>>>().into_iter().collect()
        })
    }

    /// Writes rows into a table. `next` fills in one row's values and answers whether there was one.
    pub fn fill(
        &self,
        session: &mut dyn Session,
        table: &str,
        columns: &[&str],
        mut next: impl FnMut(&mut Vec<Value>) -> bool,
    ) -> Outcome<u64> {
        let mut bulk = if self.one_by_one {
            Box::new(OneByOne::begin(session, table, columns)?)
        } else {
            session.bulk(table, columns)?
        };
        let mut values = Vec::with_capacity(columns.len());
        let (mut written, mut rows, mut bytes) = (0, 0, 0);
        while next(&mut values) {
            bytes += bulk.row(&values)?;
            rows += 1;
            if rows == 1000 {
                self.wrote(rows, bytes);
                written += rows;
                (rows, bytes) = (0, 0);
            }
        }
        self.wrote(rows, bytes);
        written += rows;
        match bulk.finish()? {
            taken if taken == written => Ok(taken),
            taken => Err(SessionError {
                class: Class::Other,
                message: format!("{table}: {written} rows were sent and {taken} taken"),
            }),
        }
    }

    /// Fills tables side by side, `chunk` rows a task. `rows_of` gets a table's place and how many rows are before the
    /// chunk; what it answers makes the values of the row of each number.
    pub fn fill_numbered<R: FnMut(i64, &mut Vec<Value>)>(
        &self,
        tables: &[NumberedTable],
        chunk: i64,
        rows_of: impl Fn(usize, i64) -> R + Sync,
    ) -> Outcome<()> {
        self.expect(tables.iter().map(|table| table.rows as u64).sum());
        let chunks = tables
            .iter()
            .enumerate()
            .flat_map(|(at, table)| (0..table.rows).step_by(chunk as usize).map(move |before| (at, before)));
        self.each(chunks.collect(), |session, (at, before)| {
            let NumberedTable { name, columns, rows } = &tables[at];
            let mut numbers = before + 1..=(*rows).min(before + chunk);
            let mut row = rows_of(at, before);
            let filled = self.fill(session, name, columns, |values| {
                let Some(number) = numbers.next() else { return false };
                row(number, values);
                true
            });
            filled.map(|_| ())
        })
    }

    /// Runs statements one after another on their own session.
    pub fn statements<S: AsRef<str>>(&self, statements: impl IntoIterator<Item = S>) -> Outcome<()> {
        let mut session = self.session()?;
        statements.into_iter().try_for_each(|sql| session.batch(sql.as_ref()))
    }
}
