//! `tpcc`: TPC-C-like, after TPC Benchmark C revision 5.11, whose clauses are named beside what follows them. Results
//! are not comparable with published TPC results; docs/WORKLOADS.md says where the workload departs from the benchmark.

mod conditions;
mod inputs;
mod load;
mod procedures;
mod queue;
mod random;
mod scale;
mod schema;
mod script;

use crate::common::flaw_if_zero;
use crate::kind::Kind;
use inputs::{Profile, TerminalState};
use load::{Chunk, Rows};
use protocol::{Condition, TerminalClass};
use queue::Queue;
use random::{Constants, Texts};
use scale::{Scale, KINDS};
use schema::Table;
use script::{Deliverer, Means, Terminal};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use transaction::{Acknowledged, Growing, KindSpec, LoadContext, Mix, Outcome, Script, Seat, Session, Workload};

/// Terminals that one worker delivers for.
const TERMINALS_PER_WORKER: u32 = 10;

/// TPC-C-like, after revision 5.11.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    warehouses: u32,
    /// Rows of a warehouse in percent of the specification's, 1 to 100: items, and customers, orders and new orders of
    /// each of its ten districts.
    percent: u32,
    /// Each transaction is one call of a stored procedure instead of its statements one by one.
    procedures: bool,
    /// Keying and think times of clauses 5.2.5.2 and 5.2.5.4.
    keying: bool,
    /// A terminal goes to another warehouse for each transaction, instead of staying at one: otherwise a few terminals
    /// use as few warehouses of a large database.
    roaming: bool,
}

impl Kind for Parameters {
    const NAME: &'static str = "tpcc";

    fn flaw(&self) -> Option<String> {
        if !(1..=100).contains(&self.percent) {
            return Some("percent is out of range".to_string());
        }
        flaw_if_zero("warehouses", self.warehouses)
    }

    fn samples() -> Vec<Parameters> {
        vec![Parameters { warehouses: 4, percent: 25, procedures: true, keying: true, roaming: true }]
    }

    fn workload(self, seed: u64) -> Box<dyn Workload> {
        Box::new(Tpcc::new(self, seed))
    }
}

struct Tpcc {
    warehouses: i64,
    scale: Scale,
    procedures: bool,
    profile: Profile,
    queue: Arc<Queue>,
}

impl Tpcc {
    fn new(Parameters { warehouses, percent, procedures, keying, roaming }: Parameters, seed: u64) -> Tpcc {
        let scale = Scale { percent: percent.into() };
        let warehouses = warehouses.into();
        let constants = Constants::of_run(scale, seed);
        let profile = Profile { warehouses, scale, keying, roaming, constants };
        Tpcc { warehouses, scale, procedures, profile, queue: Arc::default() }
    }

    fn fill(&self, context: &LoadContext, chunks: Vec<Chunk>) -> Outcome<()> {
        let texts = Texts::new(context.seed);
        context.each(chunks, |session, chunk| {
            let mut rows = Rows::new(chunk, self.scale, context.seed, &texts);
            context.fill(session, chunk.table.name(), &chunk.table.names(), |values| rows.next(values)).map(|_| ())
        })
    }
}

/// Lists of statements, those of one list one after another.
fn run(context: &LoadContext, lists: Vec<Vec<String>>) -> Outcome<()> {
    context.each(lists, |session, statements| statements.iter().try_for_each(|sql| session.batch(sql)))
}

impl Growing for Tpcc {
    fn units(&self) -> u32 {
        self.warehouses as u32
    }

    fn add(&self, context: &LoadContext, from: u32) -> Outcome<()> {
        let from = from.into();
        schema::holds(context.session()?.as_mut(), from, self.scale)?;
        context.expect(load::rows(from, self.warehouses, self.scale) as u64);
        // A warehouse's own row comes last: until then the database has no more than before.
        let (rest, last) =
            load::chunks(from, self.warehouses).into_iter().partition(|chunk| chunk.table != Table::Warehouse);
        self.fill(context, rest)?;
        self.fill(context, last)?;
        run(context, schema::after_more(context.dialect))
    }
}

impl Workload for Tpcc {
    fn load(&self, context: &LoadContext) -> Outcome<()> {
        let dialect = context.dialect;
        let procedures = if self.procedures { procedures::create(dialect)? } else { Vec::new() };
        context.statements(schema::tables(dialect)?)?;
        context.expect(load::rows(0, self.warehouses, self.scale) as u64);
        self.fill(context, load::chunks(0, self.warehouses))?;
        run(context, schema::after(dialect))?;
        context.statements(procedures)
    }

    fn growing(&self) -> Option<&dyn Growing> {
        Some(self)
    }

    fn check(&self, session: &mut dyn Session, acknowledged: &Acknowledged) -> Outcome<Vec<Condition>> {
        let mut conditions = conditions::check(session, self.warehouses, self.scale, acknowledged)?;
        conditions.push(self.queue.condition());
        Ok(conditions)
    }

    fn class_flaw(&self, class: &TerminalClass) -> Option<String> {
        let unknown = class.parameters.keys().next();
        let of_parameters =
            unknown.map(|name| format!("{name} of class {}: a class of tpcc has a mix alone", class.name));
        of_parameters.or_else(|| Mix::flaw(class, &KINDS))
    }

    fn kinds(&self) -> &'static [KindSpec] {
        &KINDS
    }

    fn workers(&self, terminals: u32) -> u32 {
        terminals.div_ceil(TERMINALS_PER_WORKER)
    }

    fn script(&self, session: &mut dyn Session, seat: Seat) -> Outcome<Box<dyn Script>> {
        self.queue.begin(seat.run);
        let queue = Arc::clone(&self.queue);
        let means = Means::prepare(session, self.procedures, self.scale)?;
        if seat.worker {
            return Ok(Box::new(Deliverer::new(means, queue)));
        }
        let terminal_state = TerminalState::new(seat, self.profile);
        Ok(Box::new(Terminal::new(means, terminal_state, queue)))
    }
}
