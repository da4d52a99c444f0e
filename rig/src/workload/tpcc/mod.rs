//! `tpcc`: TPC-C-like, after TPC Benchmark C revision 5.11, whose clauses are named beside what follows them. Results
//! are not comparable with published TPC results; docs/WORKLOADS.md says where the workload departs from the benchmark.

mod conditions;
mod inputs;
mod load;
mod procedures;
mod queue;
mod random;
mod schema;
mod script;

use super::{Acknowledged, KindSpec, Script, Seat, Site, Workload};
use crate::protocol::Condition;
use crate::session::{Outcome, Session};
use inputs::Desk;
use load::Rows;
use queue::Queue;
use random::{Constants, Texts};
use script::{Deliverer, Means, Terminal};
use std::sync::Arc;

/// Districts of a warehouse.
const DISTRICTS: i64 = 10;
/// Orders of a district after the load.
const ORDERS: i64 = 3_000;
/// Of an amount's unit.
const CENTS: i64 = 100;

// Places in KINDS.
const NEW_ORDER: usize = 0;
const PAYMENT: usize = 1;
const ORDER_STATUS: usize = 2;
const DELIVERY: usize = 3;
const STOCK_LEVEL: usize = 4;

/// With the limits of clause 5.2.5.7; that of deliveries counts from their being queued (clause 2.7.2.2).
const KINDS: [KindSpec; 5] = [
    KindSpec { name: "new_order", limit_ms: Some(5_000.0) },
    KindSpec { name: "payment", limit_ms: Some(5_000.0) },
    KindSpec { name: "order_status", limit_ms: Some(5_000.0) },
    KindSpec { name: "delivery", limit_ms: Some(80_000.0) },
    KindSpec { name: "stock_level", limit_ms: Some(20_000.0) },
];

/// Terminals that one worker delivers for.
const TERMINALS_PER_WORKER: u32 = 10;

pub struct Tpcc {
    warehouses: i64,
    procedures: bool,
    keying: bool,
    constants: Constants,
    queue: Arc<Queue>,
}

impl Tpcc {
    pub fn new(warehouses: u32, procedures: bool, keying: bool, seed: u64) -> Tpcc {
        Tpcc {
            warehouses: warehouses.into(),
            procedures,
            keying,
            constants: Constants::of_run(seed),
            queue: Arc::default(),
        }
    }
}

impl Workload for Tpcc {
    fn load(&self, site: &Site) -> Outcome<()> {
        let dialect = site.dialect();
        let procedures = if self.procedures { procedures::create(dialect)? } else { Vec::new() };
        site.statements(schema::tables(dialect))?;
        site.expect(load::rows(self.warehouses) as u64);
        let texts = Texts::new(site.seed());
        site.each(load::chunks(self.warehouses), |session, chunk| {
            let mut rows = Rows::new(chunk, site.seed(), &texts);
            site.fill(session, chunk.table.name(), &chunk.table.names(), |values| rows.next(values)).map(|_| ())
        })?;
        site.each(schema::after(dialect), |session, statements| {
            statements.iter().try_for_each(|sql| session.batch(sql))
        })?;
        site.statements(procedures)
    }

    fn check(&self, session: &mut dyn Session, acknowledged: &Acknowledged) -> Outcome<Vec<Condition>> {
        let mut found = conditions::check(session, self.warehouses, acknowledged)?;
        found.push(self.queue.condition());
        Ok(found)
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
        let means = Means::prepare(session, self.procedures)?;
        if seat.worker {
            return Ok(Box::new(Deliverer::new(means, queue)));
        }
        let desk = Desk::new(seat, self.warehouses, self.constants, self.keying);
        Ok(Box::new(Terminal::new(means, desk, queue)))
    }
}
