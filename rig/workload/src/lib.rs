//! Workloads: schema, load, transactions, consistency conditions. SQL that differs by engine is data beside each.

mod commits;
mod iud;
mod numbered;
mod oltp;
mod orders;
mod scan;
mod tpcb;
mod tpcc;

use transaction::{Client, Ended, Outcome, Refused, Session, Workload};

/// Commits, and marks a failure as one of the commit.
async fn commit(client: &mut Client) -> Result<Ended, Refused> {
    client.commit().await.map(|()| Ended::Committed).map_err(|error| Refused { error, at_commit: true })
}

/// The workload that a job names; `seed` is the job's.
pub fn of(workload: &protocol::Workload, seed: u64) -> Box<dyn Workload> {
    match workload {
        protocol::Workload::Commits { row_bytes } => Box::new(commits::Commits { row_bytes: *row_bytes }),
        protocol::Workload::Numbered { terminals, parts, row_bytes } => Box::new(numbered::Numbered {
            terminals: u64::from(*terminals),
            parts: u64::from(*parts),
            row_bytes: *row_bytes as usize,
        }),
        protocol::Workload::Tpcb { scale } => Box::new(tpcb::Tpcb { scale: i64::from(*scale) }),
        protocol::Workload::Orders { products, orders_per_call, repeatable } => Box::new(orders::Orders {
            products: i64::from(*products),
            orders_per_call: i64::from(*orders_per_call),
            repeatable: *repeatable,
        }),
        protocol::Workload::Iud { rows } => Box::new(iud::Iud { rows: *rows }),
        protocol::Workload::Scan { size_mb, read } => Box::new(scan::Scan::new(*size_mb, *read)),
        protocol::Workload::Oltp { tables, table_rows } => {
            Box::new(oltp::Oltp { tables: i64::from(*tables), table_rows: i64::from(*table_rows) })
        }
        protocol::Workload::Tpcc { warehouses, percent, procedures, keying, roaming } => {
            Box::new(tpcc::Tpcc::new(*warehouses, *percent, *procedures, *keying, *roaming, seed))
        }
    }
}

/// The first value of a query that answers one number; NULL (a sum over no rows) counts as 0.
fn number(session: &mut dyn Session, sql: &str) -> Outcome<i64> {
    let rows = session.rows(sql)?;
    Ok(rows.first().and_then(|row| row.first()).and_then(|value| value.as_i64()).unwrap_or(0))
}

fn condition(name: &str, holds: bool, detail: String) -> protocol::Condition {
    protocol::Condition { name: name.to_string(), holds, detail }
}

/// Text without repetitions to fill rows with, so that an engine that compresses stores as much as one that does not.
const FILLER: &str =
    "q7ZkV3xTnB0cJ5wYhR8dMfLsP2aGu9eKXoI4tQvbC1rWmD6yHjEzNpSgUAFliOxBk3Rj7TqVw5nYc0ZhM8dLsPfGu2aKe9XtI";

/// Six random bits make one.
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
