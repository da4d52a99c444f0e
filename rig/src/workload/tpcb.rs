//! `tpcb`: TPC-B-like, after TPC Benchmark B revision 2.0. Results are not comparable with published TPC results.
//!
//! A bank of `scale` branches, each with 10 tellers and 100,000 accounts (clause 4.2.2). A transaction changes one
//! account, its teller and its branch by the same amount and writes history (clause 1.2). The teller is drawn uniformly;
//! the account belongs to the teller's branch in 85 of 100 transactions, to another otherwise (clause 5.3.5).

use super::{commit, condition, number, Acknowledged, Ended, Refused, Rng, Script, Seat, Workload, FILLER};
use crate::protocol::Condition;
use crate::session::{Dialect, Outcome, Session, Statement, Value};
use rand::RngExt as _;

pub const TELLERS: i64 = 10;
pub const ACCOUNTS: i64 = 100_000;
const DELTA_MAX: i64 = 999_999;
const CHUNK: i64 = 25_000;

pub struct Tpcb {
    pub scale: i64,
}

/// Names of a table, its number of rows a branch, its row's columns after the key.
struct Table {
    name: &'static str,
    key: &'static str,
    per_branch: i64,
    columns: &'static str,
    /// The values, `{i}` the key, `{filler}` the text that brings the row to 100 bytes (clause 3.2).
    values: &'static str,
    filler: usize,
}

const TABLES: [Table; 3] = [
    Table {
        name: "branches",
        key: "bid",
        per_branch: 1,
        columns: "bbalance bigint not null, filler char(88)",
        values: "0, '{filler}'",
        filler: 88,
    },
    Table {
        name: "tellers",
        key: "tid",
        per_branch: TELLERS,
        columns: "bid integer not null, tbalance bigint not null, filler char(84)",
        values: "({i} - 1) / 10 + 1, 0, '{filler}'",
        filler: 84,
    },
    Table {
        name: "accounts",
        key: "aid",
        per_branch: ACCOUNTS,
        columns: "bid integer not null, abalance bigint not null, filler char(84)",
        values: "({i} - 1) / 100000 + 1, 0, '{filler}'",
        filler: 84,
    },
];

const HISTORY: &str = "create table history (tid integer not null, bid integer not null, aid bigint not null, \
                       delta bigint not null, mtime timestamp, filler char(22))";

impl Workload for Tpcb {
    fn load(&self, session: &mut dyn Session, progress: &mut dyn FnMut(u64, u64)) -> Outcome<u64> {
        let dialect = session.dialect();
        let total = self.scale * TABLES.iter().map(|table| table.per_branch).sum::<i64>();
        let mut written = 0;
        session.batch(HISTORY)?;
        for table in &TABLES {
            let (name, key, columns) = (table.name, table.key, table.columns);
            // SQLite's rowid is the key itself; elsewhere the index is built once over all rows.
            let kind = if dialect == Dialect::Sqlite { "integer primary key" } else { "bigint not null" };
            session.batch(&format!("create table {name} ({key} {kind}, {columns})"))?;
            let rows = self.scale * table.per_branch;
            let mut first = 1;
            while first <= rows {
                let last = rows.min(first + CHUNK - 1);
                session.batch(&fill(dialect, table, first, last))?;
                written += last - first + 1;
                progress(written as u64, total as u64);
                first = last + 1;
            }
            if dialect == Dialect::Firebird {
                session.batch(&format!("alter table {name} add constraint pk_{name} primary key ({key})"))?;
            }
        }
        Ok(written as u64)
    }

    fn check(&self, session: &mut dyn Session, acknowledged: Acknowledged) -> Outcome<Vec<Condition>> {
        let mut found = Vec::new();
        for table in &TABLES {
            let rows = number(session, &format!("select count(*) from {}", table.name))?;
            let right = self.scale * table.per_branch;
            found.push(condition(
                &format!("{}_cardinality", table.name),
                rows == right,
                format!("{rows} rows, {right} wanted"),
            ));
        }
        let history = number(session, "select count(*) from history")?;
        found.push(condition(
            "history_matches_acknowledged",
            acknowledged.agrees(history),
            format!(
                "{history} rows, {} commits acknowledged, {} unknown",
                acknowledged.committed, acknowledged.unknown
            ),
        ));
        // Clause 2.3.2: a branch's balance is the sum of its tellers', and of the history written for it.
        for (name, sql) in [
            (
                "each_branch_equals_its_tellers",
                "select count(*) from branches b join (select bid, sum(tbalance) s from tellers group by bid) t \
                 on t.bid = b.bid where b.bbalance <> t.s",
            ),
            (
                "each_branch_equals_its_history",
                "select count(*) from branches b join (select bid, sum(delta) s from history group by bid) h \
                 on h.bid = b.bid where b.bbalance <> h.s",
            ),
            (
                "each_account_equals_its_history",
                "select count(*) from (select aid, sum(delta) s from history group by aid) h join accounts a \
                 on a.aid = h.aid where a.abalance <> h.s",
            ),
        ] {
            let wrong = number(session, sql)?;
            found.push(condition(name, wrong == 0, format!("{wrong} differ")));
        }
        // The sums also cover what has no history.
        let deltas = number(session, "select sum(delta) from history")?;
        for (name, sql) in [
            ("branches_sum_equals_history", "select sum(bbalance) from branches"),
            ("tellers_sum_equals_history", "select sum(tbalance) from tellers"),
            ("accounts_sum_equals_history", "select sum(abalance) from accounts"),
        ] {
            let sum = number(session, sql)?;
            found.push(condition(name, sum == deltas, format!("{sum} and {deltas}")));
        }
        Ok(found)
    }

    fn script(&self, session: &mut dyn Session, _: Seat) -> Outcome<Box<dyn Script>> {
        Ok(Box::new(Transfer {
            scale: self.scale,
            update_account: session.prepare("update accounts set abalance = abalance + ? where aid = ?")?,
            read_account: session.prepare("select abalance from accounts where aid = ?")?,
            update_teller: session.prepare("update tellers set tbalance = tbalance + ? where tid = ?")?,
            update_branch: session.prepare("update branches set bbalance = bbalance + ? where bid = ?")?,
            write_history: session.prepare(&format!(
                "insert into history (tid, bid, aid, delta, mtime, filler) values (?, ?, ?, ?, current_timestamp, '{}')",
                &FILLER[..22]
            ))?,
            inputs: Inputs::default(),
            balance: 0,
        }))
    }
}

fn fill(dialect: Dialect, table: &Table, first: i64, last: i64) -> String {
    let values = table.values.replace("{filler}", &FILLER[..table.filler]);
    match dialect {
        Dialect::Sqlite => format!(
            "with recursive n(i) as (select {first} union all select i + 1 from n where i < {last}) \
             insert into {} select i, {} from n",
            table.name,
            values.replace("{i}", "i")
        ),
        Dialect::Firebird => format!(
            "execute block as declare i bigint = {first}; begin while (i <= {last}) do begin \
             insert into {} values (:i, {}); i = i + 1; end end",
            table.name,
            values.replace("{i}", ":i")
        ),
    }
}

/// What one transaction is asked to do.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Inputs {
    pub account: i64,
    pub teller: i64,
    pub branch: i64,
    pub delta: i64,
}

impl Inputs {
    pub fn draw(scale: i64, rng: &mut Rng) -> Inputs {
        let teller = rng.random_range(1..=scale * TELLERS);
        let branch = (teller - 1) / TELLERS + 1;
        let home = if scale > 1 && rng.random_range(0..100) < 15 {
            // Uniformly one of the other branches.
            let other = rng.random_range(1..scale);
            if other < branch {
                other
            } else {
                other + 1
            }
        } else {
            branch
        };
        Inputs {
            account: (home - 1) * ACCOUNTS + rng.random_range(1..=ACCOUNTS),
            teller,
            branch,
            delta: rng.random_range(-DELTA_MAX..=DELTA_MAX),
        }
    }
}

struct Transfer {
    scale: i64,
    update_account: Statement,
    read_account: Statement,
    update_teller: Statement,
    update_branch: Statement,
    write_history: Statement,
    inputs: Inputs,
    balance: i64,
}

impl Script for Transfer {
    fn draw(&mut self, rng: &mut Rng) {
        self.inputs = Inputs::draw(self.scale, rng);
    }

    fn attempt(&mut self, session: &mut dyn Session) -> Result<Ended, Refused> {
        let Inputs { account, teller, branch, delta } = self.inputs;
        let [account, teller, branch, delta] = [account, teller, branch, delta].map(Value::Int);
        session.begin()?;
        session.change_one(self.update_account, &[delta.clone(), account.clone()])?;
        let mut read = None;
        session.query(self.read_account, std::slice::from_ref(&account), &mut |row| read = row[0].as_i64())?;
        session.change_one(self.update_teller, &[delta.clone(), teller.clone()])?;
        session.change_one(self.update_branch, &[delta.clone(), branch.clone()])?;
        session.change_one(self.write_history, &[teller, branch, account, delta])?;
        // The client receives the balance (clause 1.2); an account that is not there would go unnoticed without this.
        self.balance = read.ok_or_else(|| crate::session::SessionError {
            class: crate::session::Class::RowMissed,
            message: "the account read back was not found".to_string(),
        })?;
        commit(session)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    fn drawn(scale: i64, many: usize) -> Vec<Inputs> {
        let mut rng = Rng::seed_from_u64(7);
        (0..many).map(|_| Inputs::draw(scale, &mut rng)).collect()
    }

    #[test]
    fn fifteen_in_a_hundred_accounts_are_of_another_branch() {
        let all = drawn(7, 200_000);
        let remote = all.iter().filter(|t| (t.account - 1) / ACCOUNTS + 1 != t.branch).count();
        let share = remote as f64 / all.len() as f64;
        assert!((0.145..0.155).contains(&share), "{share}");
    }

    #[test]
    fn everything_drawn_exists_and_every_branch_is_drawn() {
        for scale in [1, 2, 5] {
            let all = drawn(scale, 20_000);
            for t in &all {
                assert!((1..=scale * ACCOUNTS).contains(&t.account));
                assert!((1..=scale * TELLERS).contains(&t.teller));
                assert_eq!((t.teller - 1) / TELLERS + 1, t.branch);
                assert!(t.delta.abs() <= DELTA_MAX);
            }
            for branch in 1..=scale {
                assert!(all.iter().any(|t| (t.account - 1) / ACCOUNTS + 1 == branch));
            }
        }
    }
}
