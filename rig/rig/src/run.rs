//! One run phase: its sessions opened, its load driven, and what came of it.

use crate::counting::Counter;
use crate::gate::{self, LabLines};
use crate::instruments::{Instrument, Watching};
use crate::sessions::{doing, inspect, IdleSessions, OneSessionEach};
use protocol::events::{EventWriter, Halted, Step};
use protocol::{Connect, Event, Job, PhaseName, RunPlan, Setting, Shared};
use session::Database;
use std::sync::Arc;
use std::time::Instant;
use terminal::{Ended, Listeners, Load, Ready, Sampler};
use transaction::{Acknowledged, Lasts, Seat, Session, Workload};

pub struct Run<'a> {
    pub job: &'a Job,
    pub plan: &'a RunPlan,
    /// Counts the runs of the job from 0.
    pub number: u64,
    pub database: &'a Arc<dyn Database>,
    pub workload: &'a dyn Workload,
    /// What the job's own session answered to the inspections.
    pub settings: &'a [Setting],
}

type Instruments<'a> = Vec<Box<dyn Instrument + 'a>>;

impl<'a> Run<'a> {
    /// Drives the load and writes its events; answers what the engine acknowledged.
    pub fn perform(&self, lines: LabLines, events: &mut EventWriter) -> Step<Acknowledged> {
        let Run { plan, database, workload, .. } = *self;
        doing("preparing the run", workload.set_up(&|| database.open()))?;
        let mut instruments = self.instruments()?;
        let terminals = self.terminals(&mut instruments, events)?;
        for instrument in instruments.iter_mut().rev() {
            instrument.begin(events)?;
        }
        let began = match plan.share {
            None => Instant::now(),
            Some(_) => gate::pass(lines, events)?,
        };
        let began_late_ns = began.elapsed().as_nanos() as u64;
        let ended = self.drive(began, terminals, &mut instruments, lines, events)?;
        let Ended { mut result, acknowledged, sessions, seconds, stood_still_ns_max } = ended;
        instruments.iter_mut().for_each(|instrument| instrument.end(acknowledged.committed));
        drop(sessions);
        for instrument in &mut instruments {
            instrument.complete(&mut result, events)?;
        }
        events.write(&Event::Result(Box::new(result)))?;
        if plan.share.is_some() {
            let shared = Shared { began_late_ns, stood_still_ns_max, told: acknowledged.totals(), seconds };
            events.write(&Event::Shared(Box::new(shared)))?;
        }
        if let Some(replayed) = workload.replayed() {
            events.write(&Event::Replayed(Box::new(replayed)))?;
        }
        if let Some(maintained) = doing("looking at what was done", workload.maintained(&|| database.open()))? {
            events.write(&Event::Maintained(maintained))?;
        }
        for instrument in instruments {
            if let Some(event) = instrument.record()? {
                events.write(&event)?;
            }
        }
        Ok(acknowledged)
    }

    /// How long a session lasts; none where each terminal keeps its own.
    fn lasts(&self) -> Option<Lasts> {
        match self.plan.connect {
            Connect::Once => None,
            Connect::PerTransaction => Some(Lasts::Transaction),
            Connect::AsRecorded => Some(self.workload.sessions_last()),
        }
    }

    /// What the job and its plan ask for. They begin in the reverse of this order.
    fn instruments(&self) -> Step<Instruments<'a>> {
        let Run { job, plan, database, settings, .. } = *self;
        let mut instruments: Instruments = Vec::new();
        if let Some(asked) = &job.observe {
            // Before sessions open: what an engine tells the kernel about a file it mostly tells when it opens it.
            instruments.push(Box::new(Watching::start(asked, plan.terminals)?));
        }
        if let Some(asked) = plan.idle_sessions() {
            instruments.push(Box::new(IdleSessions::open(database.as_ref(), asked)?));
        }
        let lasts = self.lasts();
        if let Some(lasts) = lasts {
            instruments.push(Box::new(OneSessionEach::new(lasts, job, database, settings)));
        }
        if let Some(asked) = &job.count {
            instruments.push(Box::new(Counter::open(asked, database.as_ref(), lasts.is_none())));
        }
        if let Some(asked) = &job.sample {
            instruments.push(Box::new(Sampler::new(asked, database.open())));
        }
        Ok(instruments)
    }

    /// Opens the terminals' sessions, and the workers', and prepares their statements.
    fn terminals(&self, instruments: &mut Instruments, events: &mut EventWriter) -> Step<Vec<Ready>> {
        let Run { job, plan, database, workload, .. } = *self;
        let mut terminals = Vec::new();
        let workers = workload.workers(plan.part().count(plan.terminals));
        for number in plan.own_terminals().chain(plan.terminals..plan.terminals + workers) {
            let opening = format!("opening terminal {number}'s session");
            let mut session: Box<dyn Session> = match instruments.iter().find_map(|instrument| instrument.open(number))
            {
                None => doing(&opening, database.open())?,
                Some(session) => session,
            };
            let answers = inspect(session.as_mut(), &job.inspect)?;
            if answers != self.settings {
                events.write(&Event::Settings { terminal: Some(number), values: answers })?;
            }
            let worker = number >= plan.terminals;
            let place = if worker { number - plan.terminals } else { number };
            let (class, rank) = if worker { (0, 0) } else { plan.class_of(place) };
            let of_class = plan.classes.get(class).filter(|_| !worker);
            let (run, terminals_all) = (self.number, plan.terminals.into());
            let seat = Seat { run, terminal: place.into(), terminals: terminals_all, worker, class: of_class };
            let script = doing("preparing statements", workload.script(session.as_mut(), seat))?;
            instruments.iter_mut().for_each(|instrument| instrument.session(session.as_mut()));
            // One that lasts for several transactions is there from the beginning.
            if !matches!(self.lasts(), Some(Lasts::Transactions(_))) {
                doing(&opening, session.ended().and_then(|()| session.leave()))?;
            }
            terminals.push(Ready { number, session, script, worker, class, rank: rank as usize });
        }
        Ok(terminals)
    }

    fn drive(
        &self,
        began: Instant,
        terminals: Vec<Ready>,
        instruments: &mut Instruments,
        lines: LabLines,
        events: &mut EventWriter,
    ) -> Step<Ended> {
        let Run { job, plan, workload, .. } = *self;
        let mut listeners = Listeners::default();
        instruments.iter_mut().for_each(|instrument| instrument.listen(&mut listeners));
        // Each run of a job draws from its own stream.
        let seed = job.seed.wrapping_add(self.number.wrapping_mul(0xD1B5_4A32_D192_ED03));
        let load = Load { plan, seed, kinds: workload.kinds(), began };
        let mut unheard = None;
        let ended = terminal::run(&load, terminals, listeners, &mut |news| {
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
            (plan.may_start_early && news.phase == PhaseName::Warmup).then(|| gate::heard(lines)).flatten()
        });
        match unheard {
            Some(unheard) => Err(unheard),
            None => ended.map_err(|stopped| Halted::Failed {
                doing: "running transactions".to_string(),
                message: stopped.to_string(),
            }),
        }
    }
}
