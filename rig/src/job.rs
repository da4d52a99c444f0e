//! One job, from its first event to its last.

use crate::protocol::{Checked, Event, Inspection, Job, Loaded, Phase, PhaseName, RunPlan, Setting, PROTOCOL};
use crate::session::{self, Outcome, Session, Value};
use crate::terminal::{self, Ready};
use crate::workload::{self, Acknowledged, Seat, Workload};
use std::io::Write;
use std::time::Instant;

/// Why a job could not go on.
enum Halted {
    /// What was being done, and the engine's or the system's own words.
    Failed { doing: String, message: String },
    /// Nobody reads our events any more.
    Unheard(std::io::Error),
}

type Step<T> = Result<T, Halted>;

/// Puts what was being done beside an engine's error.
fn doing<T>(what: &str, outcome: Outcome<T>) -> Step<T> {
    outcome.map_err(|error| Halted::Failed { doing: what.to_string(), message: error.message })
}

/// Runs `job` and writes its events to `out`. Answers whether every phase ended; an error means that nobody listens.
pub fn perform(job: &Job, out: &mut dyn Write) -> std::io::Result<bool> {
    let mut voice = Voice(out);
    let (last, well) = match phases(job, &mut voice) {
        Ok(()) => (Event::Done {}, true),
        Err(Halted::Failed { doing, message }) => (Event::Failed { doing, message }, false),
        Err(Halted::Unheard(error)) => return Err(error),
    };
    match voice.say(&last) {
        Err(Halted::Unheard(error)) => Err(error),
        _ => Ok(well),
    }
}

/// Writes events, each line whole and at once.
struct Voice<'a>(&'a mut dyn Write);

impl Voice<'_> {
    fn say(&mut self, event: &Event) -> Step<()> {
        let mut line = serde_json::to_vec(event).expect("events are plain data");
        line.push(b'\n');
        self.0.write_all(&line).and_then(|()| self.0.flush()).map_err(Halted::Unheard)
    }
}

fn phases(job: &Job, voice: &mut Voice) -> Step<()> {
    let workload = workload::of(&job.workload);
    // The job's own session is closed while terminals run: an engine may grant the file to one of them alone.
    let mut own = Some(doing("opening the database", session::open(&job.target))?);
    let first = own.as_mut().expect("just opened");
    voice.say(&Event::Hello {
        protocol: PROTOCOL,
        rig_version: env!("CARGO_PKG_VERSION").to_string(),
        pid: std::process::id(),
        engine_version: doing("asking for the engine's version", first.engine_version())?,
    })?;
    let settings = inspect(first.as_mut(), &job.inspect)?;
    voice.say(&Event::Settings { terminal: None, values: settings.clone() })?;
    let mut acknowledged = Acknowledged::default();
    let mut runs = 0;
    for phase in &job.phases {
        match phase {
            Phase::Load {} => load(workload.as_ref(), opened(&mut own, job)?, voice)?,
            Phase::Check {} => check(workload.as_ref(), opened(&mut own, job)?, acknowledged, voice)?,
            Phase::Run(plan) => {
                own = None;
                let told = run(job, workload.as_ref(), plan, runs, &settings, voice)?;
                acknowledged.committed += told.committed;
                acknowledged.unknown += told.unknown;
                runs += 1;
            }
        }
    }
    Ok(())
}

fn opened<'a>(own: &'a mut Option<Box<dyn Session>>, job: &Job) -> Step<&'a mut dyn Session> {
    if own.is_none() {
        *own = Some(doing("opening the database again", session::open(&job.target))?);
    }
    Ok(own.as_mut().expect("opened above").as_mut())
}

fn inspect(session: &mut dyn Session, questions: &[Inspection]) -> Step<Vec<Setting>> {
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

fn load(workload: &dyn Workload, session: &mut dyn Session, voice: &mut Voice) -> Step<()> {
    let began = Instant::now();
    let (mut told_s, mut told_rows) = (0.0, 0);
    let mut unheard = None;
    let outcome = workload.load(session, &mut |done, total| {
        let elapsed_s = began.elapsed().as_secs_f64();
        if elapsed_s - told_s < 1.0 {
            return;
        }
        let event = Event::Progress {
            phase: PhaseName::Load,
            fraction: (total > 0).then(|| done as f64 / total as f64),
            elapsed_s,
            done,
            rate_per_s: (done - told_rows) as f64 / (elapsed_s - told_s),
        };
        unheard = unheard.take().or(voice.say(&event).err());
        (told_s, told_rows) = (elapsed_s, done);
    });
    if let Some(unheard) = unheard {
        return Err(unheard);
    }
    let rows = doing("loading the database", outcome)?;
    voice.say(&Event::Loaded(Loaded { rows, seconds: began.elapsed().as_secs_f64() }))
}

fn check(
    workload: &dyn Workload,
    session: &mut dyn Session,
    acknowledged: Acknowledged,
    voice: &mut Voice,
) -> Step<()> {
    let began = Instant::now();
    let conditions = doing("checking consistency", workload.check(session, acknowledged))?;
    voice.say(&Event::Checked(Checked { conditions, seconds: began.elapsed().as_secs_f64() }))
}

fn run(
    job: &Job,
    workload: &dyn Workload,
    plan: &RunPlan,
    run: u64,
    settings: &[Setting],
    voice: &mut Voice,
) -> Step<Acknowledged> {
    let mut terminals = Vec::new();
    for terminal in 0..plan.terminals {
        let mut session = doing(&format!("opening terminal {terminal}'s session"), session::open(&job.target))?;
        let answers = inspect(session.as_mut(), &job.inspect)?;
        if answers != settings {
            voice.say(&Event::Settings { terminal: Some(terminal), values: answers })?;
        }
        let seat = Seat { run, terminal: terminal.into(), terminals: plan.terminals.into() };
        let script = doing("preparing statements", workload.script(session.as_mut(), seat))?;
        terminals.push(Ready { session, script });
    }
    let mut unheard = None;
    // Each run of a job draws from a stream of its own.
    let seed = job.seed.wrapping_add(run.wrapping_mul(0xD1B5_4A32_D192_ED03));
    let ended = terminal::run(plan, seed, terminals, &mut |news| {
        let event = Event::Progress {
            phase: news.phase,
            fraction: news.fraction,
            elapsed_s: news.elapsed_s,
            done: news.committed,
            rate_per_s: news.rate_per_s,
        };
        if let Err(error) = voice.say(&event) {
            unheard.get_or_insert(error);
        }
    });
    if let Some(unheard) = unheard {
        return Err(unheard);
    }
    let (result, told) = ended.map_err(|stopped| Halted::Failed {
        doing: "running transactions".to_string(),
        message: stopped.to_string(),
    })?;
    voice.say(&Event::Result(Box::new(result)))?;
    Ok(told)
}
