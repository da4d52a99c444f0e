//! Where processor time goes: the process as a whole, and, on a sample of transactions, the terminal's thread inside and
//! outside session calls.

use crate::session::{Dialect, Outcome, Session, Statement, Value};

/// User and system seconds of the whole process so far; see getrusage(2).
pub fn process_s() -> (f64, f64) {
    // SAFETY: the struct is plain numbers, and the call only writes into it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    (seconds(usage.ru_utime), seconds(usage.ru_stime))
}

/// Processor time of the calling thread in nanoseconds; see clock_gettime(2).
pub fn thread_ns() -> u64 {
    // SAFETY: the struct is plain numbers, and the call only writes into it.
    let time = unsafe {
        let mut time: libc::timespec = std::mem::zeroed();
        libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time);
        time
    };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// What one reading of the thread's clock costs that thread: the median of many.
pub fn clock_read_ns() -> f64 {
    let mut gaps: Vec<u64> = (0..2001)
        .map(|_| {
            let before = thread_ns();
            thread_ns() - before
        })
        .collect();
    gaps.sort_unstable();
    gaps[gaps.len() / 2] as f64
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

/// A session that can clock the calls made through it.
pub struct Metered {
    inner: Box<dyn Session>,
    clock_read_ns: f64,
    began_ns: Option<u64>,
    inside_ns: u64,
    calls: u64,
    pub sampled: Sampled,
}

impl Metered {
    pub fn new(inner: Box<dyn Session>, clock_read_ns: f64) -> Metered {
        Metered { inner, clock_read_ns, began_ns: None, inside_ns: 0, calls: 0, sampled: Sampled::default() }
    }

    /// From here to [`Metered::end`] calls are clocked.
    pub fn start(&mut self) {
        (self.inside_ns, self.calls) = (0, 0);
        self.began_ns = Some(thread_ns());
    }

    /// Adds the transaction to the sample. Between any two readings lies one reading's cost: with `n` calls there are
    /// `n` gaps inside calls and `n + 1` outside.
    pub fn end(&mut self) {
        let Some(began_ns) = self.began_ns.take() else { return };
        let whole = (thread_ns() - began_ns) as f64;
        let calls = self.calls as f64;
        let outside = whole - self.inside_ns as f64 - (calls + 1.0) * self.clock_read_ns;
        self.sampled.transactions += 1;
        self.sampled.session_ns += (self.inside_ns as f64 - calls * self.clock_read_ns).max(0.0);
        self.sampled.generator_ns += outside.max(0.0);
    }

    #[inline]
    fn clocked<T>(&mut self, call: impl FnOnce(&mut dyn Session) -> T) -> T {
        if self.began_ns.is_none() {
            return call(self.inner.as_mut());
        }
        let before = thread_ns();
        let answer = call(self.inner.as_mut());
        self.inside_ns += thread_ns() - before;
        self.calls += 1;
        answer
    }
}

impl Session for Metered {
    fn dialect(&self) -> Dialect {
        self.inner.dialect()
    }
    fn engine_version(&mut self) -> Outcome<String> {
        self.inner.engine_version()
    }
    fn prepare(&mut self, sql: &str) -> Outcome<Statement> {
        self.inner.prepare(sql)
    }
    fn begin(&mut self) -> Outcome<()> {
        self.clocked(|session| session.begin())
    }
    fn commit(&mut self) -> Outcome<()> {
        self.clocked(|session| session.commit())
    }
    fn rollback(&mut self) -> Outcome<()> {
        self.clocked(|session| session.rollback())
    }
    fn execute(&mut self, statement: Statement, parameters: &[Value]) -> Outcome<u64> {
        self.clocked(|session| session.execute(statement, parameters))
    }
    fn query(&mut self, statement: Statement, parameters: &[Value], row: &mut dyn FnMut(&[Value])) -> Outcome<()> {
        self.clocked(|session| session.query(statement, parameters, row))
    }
    fn batch(&mut self, sql: &str) -> Outcome<()> {
        self.inner.batch(sql)
    }
    fn rows(&mut self, sql: &str) -> Outcome<Vec<Vec<Value>>> {
        self.inner.rows(sql)
    }
}
