//! One job, from its first event to its last.

use crate::counting::Counter;
use crate::gate::{self, Said};
use crate::sessions::{OneSessionEach, Sleeping};
use crate::step::{doing, inspect};
use measure::Noted;
use observe::Watch;
use protocol::events::{conclude, EventWriter, Halted, Step};
use protocol::{
    Checked, Connect, Event, Job, LoadSecond, Loaded, Phase, PhaseName, RunPlan, Setting, Shared, Sleepers, PROTOCOL,
};
use session::Database;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use terminal::{Beside, Ended, Load, Ready, Sampler};
use transaction::{Acknowledged, AtWork, Lasts, LoadContext, Seat, Session, Value, Workload};

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

/// Runs a job and writes its events to `out`. `said` is what the lab says meanwhile, line by line. Answers whether every
/// phase ended; an error means that nobody listens.
pub fn perform(admitted: &Admitted, said: Said, out: &mut dyn Write) -> std::io::Result<bool> {
    conclude(out, |events| phases(admitted, said, events))
}

fn phases(admitted: &Admitted, said: Said, events: &mut EventWriter) -> Step<()> {
    let Admitted { job, database, workload } = admitted;
    let (database, workload) = (database.as_ref(), workload.as_ref());
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
                let expected = told.as_ref().map_or(heard, Acknowledged::together);
                check(workload, opened(&mut own, database)?, &expected, events)?;
            }
            Phase::Survey {} => {
                let survey = doing("surveying transactions", workload.survey(opened(&mut own, database)?))?;
                events.write(&Event::Surveyed(survey))?;
            }
            Phase::Ask { questions } => ask(questions, opened(&mut own, database)?, events)?,
            Phase::Run(plan) => {
                own = None;
                let acknowledged_in_run = run(admitted, plan, runs, &settings, said, events)?;
                acknowledged.add(&acknowledged_in_run);
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
    let sessions = context.sessions() as u32;
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

fn run(
    Admitted { job, database, workload }: &Admitted,
    plan: &RunPlan,
    run: u64,
    settings: &[Setting],
    said: Said,
    events: &mut EventWriter,
) -> Step<Acknowledged> {
    doing("preparing the run", workload.set_up(&|| database.open()))?;
    // Before sessions open: what an engine tells the kernel about a file it mostly tells when it opens it.
    let mut watch = job.observe.as_ref().map(|asked| Watch::start(asked).map_err(not_watched)).transpose()?;
    let own_sleepers = |asked: Sleepers| Sleepers { sessions: plan.part().count(asked.sessions), ..asked };
    let mut sleepers =
        plan.sleepers.map(|asked| Sleeping::begin(database.as_ref(), own_sleepers(asked))).transpose()?;
    let lasts = match plan.connect {
        Connect::Once => None,
        Connect::PerTransaction => Some(Lasts::Transaction),
        Connect::AsRecorded => Some(workload.sessions_last()),
    };
    let per_transaction = lasts.map(|lasts| OneSessionEach::new(lasts, job, database, settings));
    let mut terminals = Vec::new();
    let mut counter = job.count.as_ref().map(|asked| Counter::open(asked, database.as_ref()));
    let mut sampler = job.sample.as_ref().map(|asked| Sampler::new(asked, database.open()));
    let workers = workload.workers(plan.part().count(plan.terminals));
    for number in plan.own_terminals().chain(plan.terminals..plan.terminals + workers) {
        let opening = format!("opening terminal {number}'s session");
        let mut session: Box<dyn Session> = match &per_transaction {
            None => doing(&opening, database.open())?,
            Some(each) => each.session(number),
        };
        let answers = inspect(session.as_mut(), &job.inspect)?;
        if answers != settings {
            events.write(&Event::Settings { terminal: Some(number), values: answers })?;
        }
        let worker = number >= plan.terminals;
        let place = if worker { number - plan.terminals } else { number };
        let (class, rank) = if worker { (0, 0) } else { plan.class_of(place) };
        let of_class = plan.classes.get(class).filter(|_| !worker);
        let terminals_all = plan.terminals.into();
        let seat = Seat { run, terminal: place.into(), terminals: terminals_all, worker, class: of_class };
        let script = doing("preparing statements", workload.script(session.as_mut(), seat))?;
        match (&mut counter, &per_transaction) {
            (Some(counter), None) => counter.add(session.as_mut()),
            (Some(counter), Some(_)) => {
                counter.give_up("sessions are closed in mid-run, and take their counters along");
            }
            (None, _) => {}
        }
        // One that lasts for several transactions is there from the beginning.
        if !matches!(lasts, Some(Lasts::Transactions(_))) {
            doing(&opening, session.ended().and_then(|()| session.leave()))?;
        }
        terminals.push(Ready { number, session, script, worker, class, rank: rank as usize });
    }
    if let Some(each) = &per_transaction {
        each.begin();
    }
    if let Some(counter) = &mut counter {
        events.write(&counter.begin())?;
    }
    if let Some(watch) = &mut watch {
        watch.begin().map_err(not_watched)?;
    }
    let noted = watch.as_ref().map(|_| Mutex::new(Vec::<Noted>::new()));
    let mut unheard = None;
    // Each run of a job draws from its own stream.
    let seed = job.seed.wrapping_add(run.wrapping_mul(0xD1B5_4A32_D192_ED03));
    let began = match plan.share {
        None => Instant::now(),
        Some(_) => gate::pass(said, events)?,
    };
    let began_late_ns = began.elapsed().as_nanos() as u64;
    let beside = counter.as_mut().map(|counter| counter as &mut dyn Beside);
    let whole = Load { plan, seed, kinds: workload.kinds(), began };
    let ended = terminal::run(&whole, terminals, noted.as_ref(), beside, sampler.as_mut(), &mut |news| {
        let event = Event::Progress {
            phase: news.phase,
            fraction: news.fraction,
            elapsed_s: news.elapsed_s,
            done: news.committed,
            rate_per_s: news.rate_per_s,
            at: None,
        };
        if let Err(error) = events.write(&event) {
            unheard.get_or_insert(error);
        }
        if plan.may_start_early && news.phase == PhaseName::Warmup {
            gate::heard(said)
        } else {
            None
        }
    });
    if let Some(unheard) = unheard {
        return Err(unheard);
    }
    let Ended { mut result, acknowledged, sessions, seconds, stood_still_ns_max } = ended.map_err(|stopped| {
        Halted::Failed { doing: "running transactions".to_string(), message: stopped.to_string() }
    })?;
    let counted = counter.map(|counter| counter.finish(acknowledged.committed));
    drop(sessions);
    if let Some(each) = per_transaction {
        result.connections = Some(each.finish(events)?);
    }
    result.sleepers = sleepers.as_mut().map(Sleeping::finish);
    events.write(&Event::Result(Box::new(result)))?;
    if plan.share.is_some() {
        let shared = Shared { began_late_ns, stood_still_ns_max, told: acknowledged.told(), seconds };
        events.write(&Event::Shared(Box::new(shared)))?;
    }
    if let Some(replayed) = workload.replayed() {
        events.write(&Event::Replayed(Box::new(replayed)))?;
    }
    let maintained = doing("looking at what was done", workload.maintained(&|| database.open()))?;
    if let Some(maintained) = maintained {
        events.write(&Event::Maintained(maintained))?;
    }
    if let (Some(watch), Some(noted)) = (watch, noted) {
        let noted = noted.into_inner().expect("no panic under this lock");
        let observed = watch.finish(plan.terminals, acknowledged.committed, noted).map_err(not_watched)?;
        events.write(&Event::Observed(Box::new(observed)))?;
    }
    if let Some(counted) = counted {
        events.write(&Event::Counted(counted))?;
    }
    if let Some(sampler) = sampler {
        events.write(&Event::Sampled(sampler.finish()))?;
    }
    Ok(acknowledged)
}

fn not_watched(error: anyhow::Error) -> Halted {
    Halted::Failed { doing: "watching the engine's system calls".to_string(), message: format!("{error:#}") }
}
