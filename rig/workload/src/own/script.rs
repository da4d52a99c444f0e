//! One terminal's run through a user's scripts.
//!
//! As in pgbench, a transaction of the results is one run of a script, and variables live as long as the terminal. What is
//! refused for another transaction's sake is tried again from the last commit within the script, with the variables and
//! random values that it had there.

use super::compiled::{Compiled, CLIENT_ID, RUN};
use super::load::{datum, placed, value};
use language::{After, Command, Datum, Expression, Frame, Parameter, Piece, Program, Random, Verb};
use rand::Rng as _;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use transaction::{
    failed, sleep_until, Attempt, Class, Client as Session_, Dialect, Drawn, Ended, Mix, Outcome, Refused, Rng, Script,
    Seat, Session, SessionError, Statement, Value,
};

const REPEATS_MAX: i64 = 1_000_000;
/// Texts of one statement that were put together for its variables and prepared.
const RENDERED_MAX: usize = 1_000;
const PAUSE_MAX_US: f64 = 3.6e9;

pub struct Client {
    read: Arc<Compiled>,
    dialect: &'static Dialect,
    mix: Mix,
    kind: usize,
    /// The drawn transaction's random values begin with it.
    seed: u64,
    variables: Vec<Datum>,
    /// As they were when it was drawn.
    drawn: Vec<Datum>,
    /// Where it goes on after its own commit.
    resume: Option<Resume>,
    counters: Vec<i64>,
    /// Of each program, its statements.
    prepared: Vec<Vec<Prepared>>,
    /// Statements that set an isolation level, by their options.
    levels: HashMap<String, Statement>,
    /// Memory for a statement's parameters.
    parameters: Vec<Value>,
}

#[derive(Clone)]
struct Resume {
    at: usize,
    random: Random,
    variables: Vec<Datum>,
    counters: Vec<i64>,
}

#[derive(Default)]
enum Prepared {
    #[default]
    NotYet,
    Once(Ready),
    /// By the text for its variables' values.
    Rendered(HashMap<String, Ready>),
}

#[derive(Clone)]
struct Ready {
    statement: Statement,
    /// The variable that each column becomes, where rows are to be kept and a script asks for it.
    slots: Arc<[Option<usize>]>,
}

impl Client {
    pub fn new(read: Arc<Compiled>, mix: Mix, session: &mut dyn Session, seat: Seat) -> Outcome<Client> {
        let mut variables = read.initial.clone();
        variables[CLIENT_ID] = Datum::Int(seat.terminal as i64);
        variables[RUN] = Datum::Int(seat.run as i64);
        let counters = read.programs.iter().map(|program| program.counters).max().unwrap_or(0);
        let mut client = Client {
            dialect: session.dialect(),
            mix,
            kind: 0,
            seed: 0,
            drawn: variables.clone(),
            variables,
            resume: None,
            counters: vec![0; counters],
            prepared: read
                .programs
                .iter()
                .map(|one| one.statements.iter().map(|_| Prepared::NotYet).collect())
                .collect(),
            levels: HashMap::new(),
            parameters: Vec::new(),
            read,
        };
        client.prepare_all(session)?;
        Ok(client)
    }

    /// Prepares what can be prepared before the run, so that what is wrong is reported before it.
    fn prepare_all(&mut self, session: &mut dyn Session) -> Outcome<()> {
        for (number, program) in self.read.programs.iter().enumerate() {
            for (command, line) in &program.commands {
                let Command::Run { statement, after, .. } = command else { continue };
                let written = &program.statements[*statement];
                if written.rendered {
                    continue;
                }
                let parts: Vec<&str> = written.parts.iter().map(String::as_str).collect();
                match session.prepare_parts(&parts) {
                    Ok(ready) => {
                        let slots = slots(&self.read, after, || session.columns(ready));
                        self.prepared[number][*statement] = Prepared::Once(Ready { statement: ready, slots });
                    }
                    // What it names may be made by a statement before it.
                    Err(error) if program.defines && !error.class.is_final() => {}
                    Err(error) => return Err(placed(&format!("{}:{line}", program.path), error)),
                }
            }
        }
        Ok(())
    }

    async fn once(&mut self, session: &mut Session_) -> Result<Ended, Refused> {
        let read = Arc::clone(&self.read);
        let program = &read.programs[self.kind];
        let mut run = Run {
            at: 0,
            random: Random::new(self.seed),
            open: false,
            gathered: false,
            committed: false,
            rolled_back: false,
        };
        match &self.resume {
            Some(resume) => {
                (run.at, run.random, run.committed) = (resume.at, resume.random.clone(), true);
                self.variables.clone_from(&resume.variables);
                self.counters.clone_from(&resume.counters);
            }
            None => self.variables.clone_from(&self.drawn),
        }
        while let Some((command, line)) = program.commands.get(run.at) {
            run.at += 1;
            let step = self.step(session, program, command, &mut run).await;
            step.map_err(|Refused { error, at_commit }| Refused {
                error: placed(&format!("{}:{line}", program.path), error),
                at_commit,
            })?;
        }
        if run.open {
            let message = format!("{}: it ends with a transaction open: add commit; or end;", program.path);
            return Err(failed(Class::Other, message).into());
        }
        Ok(if run.rolled_back && !run.committed { Ended::RolledBack } else { Ended::Committed })
    }

    async fn step(
        &mut self,
        session: &mut Session_,
        program: &Program,
        command: &Command,
        run: &mut Run,
    ) -> Result<(), Refused> {
        match command {
            Command::Begin { options } => self.begin(session, options, run).await?,
            Command::Gather if !run.open => {
                session.begin().await?;
                (run.open, run.gathered) = (true, true);
            }
            Command::Release if !run.gathered => {}
            Command::Gather => {}
            Command::Commit | Command::Release => {
                if run.open {
                    session.commit().await.map_err(|error| Refused { error, at_commit: true })?;
                }
                self.ended(program, run);
            }
            Command::Rollback => {
                session.rollback().await?;
                (run.open, run.gathered, run.rolled_back) = (false, false, true);
            }
            Command::Run { statement, after, expect, later } => {
                let asked = Asked { number: *statement, after, expect: expect.as_ref(), later: *later };
                self.run(session, program, asked, run).await?;
            }
            Command::Set { slot, value } => {
                let value = self.value(value, run)?;
                self.variables[*slot] = value;
            }
            Command::Sleep { length, unit_us } => {
                let length = pause(&self.value(length, run)?, *unit_us).map_err(wrong)?;
                sleep_until(Instant::now() + length).await;
            }
            Command::Unless { condition, to } => {
                if self.value(condition, run)?.truth().map_err(wrong)? != Some(true) {
                    run.at = *to;
                }
            }
            Command::Jump { to } => run.at = *to,
            Command::Repeat { counter, times, to } => {
                let times = self.value(times, run)?.int().map_err(wrong)?;
                if times > REPEATS_MAX {
                    return Err(wrong(format!("\\repeat {times} is more than {REPEATS_MAX}")).into());
                }
                self.counters[*counter] = times;
                if times <= 0 {
                    run.at = *to;
                }
            }
            Command::Again { counter, to } => {
                self.counters[*counter] -= 1;
                if self.counters[*counter] > 0 {
                    run.at = *to;
                }
            }
        }
        Ok(())
    }

    async fn begin(&mut self, session: &mut Session_, options: &str, run: &mut Run) -> Outcome<()> {
        if run.gathered {
            // The transaction of what travels together becomes the script's own.
            run.gathered = false;
        } else if run.open {
            return Err(wrong("begin within a transaction".to_string()));
        } else {
            session.begin().await?;
        }
        run.open = true;
        if !options.is_empty() {
            let statement = match self.levels.get(options) {
                Some(statement) => *statement,
                None => {
                    let statement = session.prepare_parts(&[&format!("set transaction {options}")])?;
                    self.levels.insert(options.to_string(), statement);
                    statement
                }
            };
            session.execute(statement, &[]).await?;
        }
        Ok(())
    }

    /// Books a commit. What comes after it goes on from here when it has to be tried again.
    fn ended(&mut self, program: &Program, run: &mut Run) {
        (run.open, run.gathered, run.committed) = (false, false, true);
        if run.at < program.commands.len() {
            self.resume = Some(Resume {
                at: run.at,
                random: run.random.clone(),
                variables: self.variables.clone(),
                counters: self.counters.clone(),
            });
        }
    }

    async fn run(
        &mut self,
        session: &mut Session_,
        program: &Program,
        Asked { number, after, expect, later }: Asked<'_>,
        run: &mut Run,
    ) -> Result<(), Refused> {
        let expected = match expect {
            Some(expect) => Some(self.value(expect, run)?.int().map_err(wrong)?),
            None => None,
        };
        let ready = self.ready(session, program, number, after)?;
        let statement = ready.statement;
        let mut parameters = std::mem::take(&mut self.parameters);
        parameters.clear();
        let written = &program.statements[number];
        if !written.rendered {
            for parameter in &written.parameters {
                parameters.push(self.parameter(parameter).map_err(wrong)?);
            }
        }
        let keeps = !matches!(after, After::Nothing);
        let (mut rows, mut last) = (0u64, Vec::new());
        let each = |values: &[Value]| {
            rows += 1;
            if keeps {
                last.clear();
                last.extend_from_slice(values);
            }
        };
        let is_one = run.open && expected == Some(1) && written.verb == Verb::Writes && !keeps;
        let changed = if !run.open {
            let alone = session.alone(statement, &parameters, each).await;
            // An answer that never came leaves open whether it took place.
            let unsure = |error: SessionError| Refused { at_commit: error.class.is_final(), error };
            let changed = alone.map_err(unsure)?;
            self.ended(program, run);
            changed
        } else if is_one {
            session.change_one(statement, &parameters).await?;
            1
        } else if later {
            session.later(statement, &parameters).await?;
            0
        } else {
            session.run(statement, &parameters, each).await?
        };
        self.parameters = parameters;
        if let Some(expected) = expected.filter(|_| !is_one) {
            let found = if rows > 0 || written.verb == Verb::Reads { rows } else { changed };
            if found as i64 != expected {
                // Fewer may be for another transaction's sake, more never.
                let class = if (found as i64) < expected { Class::RowMissed } else { Class::Other };
                return Err(failed(class, format!("{} expected, {found} found", rows_of(expected))).into());
            }
        }
        Ok(self.keep(after, &ready, written.rendered, rows, &last)?)
    }

    /// Puts what a query has answered into variables.
    fn keep(&mut self, after: &After, ready: &Ready, rendered: bool, rows: u64, last: &[Value]) -> Outcome<()> {
        match after {
            After::Nothing => return Ok(()),
            After::Set(_) if rows != 1 => {
                return Err(wrong(format!("\\gset takes one row, and the query has answered {rows}")))
            }
            After::SetAny(_) if rows == 0 => return Ok(()),
            After::Set(_) | After::SetAny(_) => {}
        }
        if rendered {
            return Err(wrong("a variable stands for a name in this query: its answer cannot be kept".to_string()));
        }
        for (slot, value) in ready.slots.iter().zip(last) {
            if let Some(slot) = slot {
                self.variables[*slot] = datum(value);
            }
        }
        Ok(())
    }

    fn ready(&mut self, session: &mut Session_, program: &Program, number: usize, after: &After) -> Outcome<Ready> {
        let written = &program.statements[number];
        if written.rendered {
            return self.rendered(session, program, number);
        }
        if let Prepared::Once(ready) = &self.prepared[self.kind][number] {
            return Ok(ready.clone());
        }
        let parts: Vec<&str> = written.parts.iter().map(String::as_str).collect();
        let statement = session.prepare_parts(&parts)?;
        let slots = slots(&self.read, after, || session.columns(statement));
        let ready = Ready { statement, slots };
        self.prepared[self.kind][number] = Prepared::Once(ready.clone());
        Ok(ready)
    }

    /// The statement for the values that its variables have now.
    fn rendered(&mut self, session: &mut Session_, program: &Program, number: usize) -> Outcome<Ready> {
        let written = &program.statements[number];
        let mut text = written.parts[0].clone();
        for (parameter, part) in written.parameters.iter().zip(&written.parts[1..]) {
            match parameter {
                Parameter::Slot(slot) => text.push_str(&self.set(*slot).map_err(wrong)?.to_string()),
                Parameter::Text(pieces) => {
                    let content = self.pieces(pieces).map_err(wrong)?;
                    text.push_str(&format!("'{}'", content.replace('\'', "''")));
                }
            }
            text.push_str(part);
        }
        let place = &mut self.prepared[self.kind][number];
        if !matches!(place, Prepared::Rendered(_)) {
            *place = Prepared::Rendered(HashMap::new());
        }
        let Prepared::Rendered(known) = place else { unreachable!("made above") };
        if let Some(ready) = known.get(&text) {
            return Ok(ready.clone());
        }
        if known.len() >= RENDERED_MAX {
            return Err(wrong(format!(
                "a variable stands where no parameter can, and has had {RENDERED_MAX} values: each is prepared as a \
                 statement of its own"
            )));
        }
        let ready = Ready { statement: session.prepare_parts(&[&text])?, slots: Arc::default() };
        known.insert(text, ready.clone());
        Ok(ready)
    }

    fn set(&self, slot: usize) -> Result<&Datum, String> {
        match &self.variables[slot] {
            Datum::Unset => Err(format!("the variable :{} has no value yet", self.read.names.name(slot))),
            set => Ok(set),
        }
    }

    fn pieces(&self, pieces: &[Piece]) -> Result<String, String> {
        let mut text = String::new();
        for piece in pieces {
            match piece {
                Piece::Plain(plain) => text.push_str(plain),
                Piece::Slot(slot) => text.push_str(&self.set(*slot)?.to_string()),
            }
        }
        Ok(text)
    }

    fn parameter(&self, parameter: &Parameter) -> Result<Value, String> {
        match parameter {
            Parameter::Slot(slot) => Ok(value(self.set(*slot)?, self.dialect)),
            Parameter::Text(pieces) => self.pieces(pieces).map(Value::Text),
        }
    }

    fn value(&self, expression: &Expression, run: &mut Run) -> Outcome<Datum> {
        evaluated(&self.read, &self.variables, expression, &mut run.random)
    }
}

struct Asked<'a> {
    number: usize,
    after: &'a After,
    expect: Option<&'a Expression>,
    later: bool,
}

struct Run {
    at: usize,
    random: Random,
    open: bool,
    /// It was not begun by the script's own word, but by `\;` or a pipeline.
    gathered: bool,
    committed: bool,
    rolled_back: bool,
}

impl Script for Client {
    fn draw(&mut self, rng: &mut Rng) -> Option<Drawn> {
        self.kind = self.mix.draw(rng);
        self.seed = rng.next_u64();
        self.resume = None;
        self.drawn.clone_from(&self.variables);
        let think = self.read.programs[self.kind].think.as_ref().and_then(|(length, unit_us)| {
            // Its own stream: the script's values do not depend on whether it pauses.
            let mut random = Random::new(!self.seed);
            pause(&evaluated(&self.read, &self.variables, length, &mut random).ok()?, *unit_us).ok()
        });
        Some(Drawn { kind: self.kind, think: think.unwrap_or_default(), ..Drawn::default() })
    }

    fn attempt<'a>(&'a mut self, client: &'a mut Session_) -> Attempt<'a> {
        Box::pin(self.once(client))
    }
}

fn evaluated(read: &Compiled, variables: &[Datum], expression: &Expression, random: &mut Random) -> Outcome<Datum> {
    let default_seed = match &read.initial[super::compiled::DEFAULT_SEED] {
        Datum::Int(seed) => *seed,
        _ => 0,
    };
    let mut frame = Frame { names: &read.names, variables, random, default_seed };
    expression.value(&mut frame).map_err(wrong)
}

fn pause(length: &Datum, unit_us: f64) -> Result<Duration, String> {
    let us = length.real()? * unit_us;
    match us {
        us if (0.0..=PAUSE_MAX_US).contains(&us) => Ok(Duration::from_nanos((us * 1e3) as u64)),
        _ => Err(format!("a pause of {} is not between nothing and an hour", length.shown())),
    }
}

/// The variables that a query's columns become.
fn slots(read: &Compiled, after: &After, columns: impl FnOnce() -> Vec<String>) -> Arc<[Option<usize>]> {
    match after {
        After::Nothing => Arc::default(),
        After::Set(prefix) | After::SetAny(prefix) => {
            columns().iter().map(|column| read.names.find(&format!("{prefix}{column}"))).collect()
        }
    }
}

fn rows_of(number: i64) -> String {
    if number == 1 {
        "1 row".to_string()
    } else {
        format!("{number} rows")
    }
}

fn wrong(message: String) -> SessionError {
    failed(Class::Other, message)
}
