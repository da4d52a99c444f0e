//! One job, from its first event to its last.

use crate::gate::LabLines;
use crate::run::Run;
use crate::sessions::{doing, inspect};
use protocol::events::{conclude, EventWriter, Step};
use protocol::{Checked, Event, Job, LoadSecond, Loaded, Phase, PhaseName, PROTOCOL};
use session::Database;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};
use transaction::{Acknowledged, AtWork, LoadContext, Session, Value, Workload};

/// A job whose target and workload have been read by their modules.
pub struct Admitted {
    job: Job,
    database: Arc<dyn Database>,
    workload: Box<dyn Workload>,
}

/// Admits a job that can be followed; an error says what in it cannot.
pub fn admit(job: Job) -> Result<Admitted, String> {
    let database = session::database(&job.target)?;
    let workload = workload::of(&job.workload, job.seed)?;
    let adds = |phase: &Phase| match phase {
        Phase::Load { from_units, .. } => *from_units,
        _ => 0,
    };
    let from = job.phases.iter().map(adds).max().unwrap_or(0);
    let flaw = match workload.growing() {
        _ if from == 0 => None,
        None => Some(format!("from_units: the database of the workload {} does not grow", job.workload.name)),
        Some(growing) if growing.units() <= from => {
            Some("the workload must have more units than from_units".to_string())
        }
        Some(_) => None,
    };
    let of_classes = job.phases.iter().filter_map(|phase| match phase {
        Phase::Run(plan) => plan.classes.iter().find_map(|class| workload.class_flaw(class)),
        _ => None,
    });
    let class_flaw = of_classes.into_iter().next();
    match job.flaw().or(flaw).or(class_flaw) {
        Some(flaw) => Err(flaw),
        None => Ok(Admitted { job, database: database.into(), workload }),
    }
}

/// The job as it was read by all who read a part of it.
pub fn again(job: Job) -> Result<Job, String> {
    let (target, workload) = (session::database(&job.target)?.target(), workload::again(&job.workload)?);
    Ok(Job { target, workload, ..job })
}

/// Runs a job and writes its events to `out`. `lines` is what the lab writes meanwhile. Answers whether every
/// phase ended; an error means that nobody listens.
pub fn perform(admitted: &Admitted, lines: LabLines, out: &mut dyn Write) -> std::io::Result<bool> {
    conclude(out, |events| phases(admitted, lines, events))
}

fn phases(admitted: &Admitted, lines: LabLines, events: &mut EventWriter) -> Step<()> {
    let Admitted { job, database, workload } = admitted;
    let (shared, database, workload) = (database, database.as_ref(), workload.as_ref());
    // The job's own session is closed while terminals run: an engine may grant the file to one of them alone.
    let mut own = Some(doing("opening the database", database.open())?);
    let first = own.as_mut().expect("just opened");
    events.write(&Event::Hello {
        protocol: PROTOCOL,
        rig_version: env!("CARGO_PKG_VERSION").to_string(),
        pid: std::process::id(),
        engine_version: doing("opening the database", first.engine_version())?,
    })?;
    let settings = inspect(first.as_mut(), &job.inspect)?;
    events.write(&Event::Settings { terminal: None, values: settings.clone() })?;
    let mut acknowledged = Acknowledged::default();
    let mut runs = 0;
    for phase in &job.phases {
        match phase {
            Phase::Load { sessions, one_by_one, from_units } => {
                own = None;
                let open = || database.open();
                let context = LoadContext::new(&open, database.dialect(), job.seed, *sessions, *one_by_one);
                load(&context, workload, *from_units, events)?;
            }
            Phase::Check { at_least, told } => {
                let heard = at_least.as_deref().map_or(acknowledged, Acknowledged::at_least);
                let expected = told.as_ref().map_or(heard, Acknowledged::merged);
                check(workload, opened(&mut own, database)?, &expected, events)?;
            }
            Phase::Survey {} => {
                let survey = doing("surveying transactions", workload.survey(opened(&mut own, database)?))?;
                events.write(&Event::Surveyed(survey))?;
            }
            Phase::Ask { questions } => ask(questions, opened(&mut own, database)?, events)?,
            Phase::Run(plan) => {
                own = None;
                let run = Run { job, plan, number: runs, database: shared, workload, settings: &settings };
                acknowledged.add(&run.perform(lines, events)?);
                runs += 1;
            }
        }
    }
    Ok(())
}

fn opened<'a>(own: &'a mut Option<Box<dyn Session>>, database: &dyn Database) -> Step<&'a mut dyn Session> {
    if own.is_none() {
        *own = Some(doing("opening the database again", database.open())?);
    }
    Ok(own.as_mut().expect("opened above").as_mut())
}

fn ask(questions: &[String], session: &mut dyn Session, events: &mut EventWriter) -> Step<()> {
    for question in questions {
        let rows = doing(question, session.rows(question))?;
        let rows = rows.into_iter().map(|row| row.into_iter().map(Value::into_text).collect()).collect();
        events.write(&Event::Answered { question: question.clone(), rows })?;
    }
    Ok(())
}

/// How often the count of loaded rows is looked at.
const LOOK: Duration = Duration::from_millis(20);

const LOADING: &str = "loading the database";
const CHECKING: &str = "checking consistency";

/// Ends this process where a statement of the user's takes longer than it may, and says so: nothing else takes back a call
/// into an engine.
fn give_up_if_overdue(workload: &dyn Workload, rows: u64, doing: &str, events: &mut EventWriter) {
    let Some(message) = workload.at_work().and_then(|at_work| at_work.overdue(rows)) else { return };
    events.write(&Event::Failed { doing: doing.to_string(), message }).ok();
    // SAFETY: ends the process at once. What exit(3) would run first may wait for the very call that does not end.
    unsafe { libc::_exit(1) }
}

fn load(context: &LoadContext, workload: &dyn Workload, from_units: u32, events: &mut EventWriter) -> Step<()> {
    let began = Instant::now();
    let mut series = Vec::new();
    let mut unheard = None;
    let outcome = std::thread::scope(|scope| {
        let loading = scope.spawn(|| match workload.growing() {
            Some(growing) if from_units > 0 => growing.add(context, from_units),
            _ => workload.load(context),
        });
        let (mut reported_s, mut reported) = (0.0, (0, 0));
        loop {
            let ended = loading.is_finished();
            let elapsed_s = began.elapsed().as_secs_f64();
            if ended || elapsed_s - reported_s >= 1.0 {
                let (rows, bytes) = context.written();
                let length_s = elapsed_s - reported_s;
                series.push(LoadSecond {
                    at_s: reported_s,
                    length_s,
                    rows: rows - reported.0,
                    bytes: bytes - reported.1,
                });
                let event = Event::Progress {
                    phase: PhaseName::Load,
                    fraction: (context.expected() > 0).then(|| rows as f64 / context.expected() as f64),
                    elapsed_s,
                    done: rows,
                    rate_per_s: (rows - reported.0) as f64 / length_s.max(1e-9),
                    at: workload.at_work().and_then(AtWork::place),
                };
                unheard = unheard.take().or(events.write(&event).err());
                (reported_s, reported) = (elapsed_s, (rows, bytes));
            }
            if ended {
                break loading.join().expect("a load does not panic");
            }
            give_up_if_overdue(workload, context.written().0, LOADING, events);
            std::thread::sleep(LOOK);
        }
    });
    if let Some(unheard) = unheard {
        return Err(unheard);
    }
    doing(LOADING, outcome)?;
    let (rows, bytes) = context.written();
    let sessions = context.sessions as u32;
    events.write(&Event::Loaded(Loaded { rows, bytes, seconds: began.elapsed().as_secs_f64(), sessions, series }))
}

fn check(
    workload: &dyn Workload,
    session: &mut dyn Session,
    acknowledged: &Acknowledged,
    events: &mut EventWriter,
) -> Step<()> {
    let began = Instant::now();
    let mut unheard = None;
    let (waiting, has_ended) = (std::thread::current(), AtomicBool::new(false));
    let outcome = std::thread::scope(|scope| {
        let checking = scope.spawn(|| {
            let outcome = workload.check(session, acknowledged);
            has_ended.store(true, Ordering::Release);
            waiting.unpark();
            outcome
        });
        let mut reported_s = 0.0;
        while !has_ended.load(Ordering::Acquire) && !checking.is_finished() {
            give_up_if_overdue(workload, 0, CHECKING, events);
            let elapsed_s = began.elapsed().as_secs_f64();
            let at = workload.at_work().and_then(AtWork::place);
            if at.is_some() && elapsed_s - reported_s >= 1.0 {
                let phase = PhaseName::Check;
                let event = Event::Progress { phase, fraction: None, elapsed_s, done: 0, rate_per_s: 0.0, at };
                unheard = unheard.take().or(events.write(&event).err());
                reported_s = elapsed_s;
            }
            std::thread::park_timeout(LOOK);
        }
        checking.join().expect("a check does not panic")
    });
    if let Some(unheard) = unheard {
        return Err(unheard);
    }
    let conditions = doing(CHECKING, outcome)?;
    events.write(&Event::Checked(Checked { conditions, seconds: began.elapsed().as_secs_f64() }))
}
