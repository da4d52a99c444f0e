//! `tpcb`: TPC-B-like, after TPC Benchmark B revision 2.0. Results are not comparable with published TPC results.
//!
//! A bank of `scale` branches, each with 10 tellers and 100,000 accounts (clause 4.2.2). A transaction changes one
//! account, its teller and its branch by the same amount and writes history (clause 1.2). The teller is drawn uniformly;
//! the account belongs to the teller's branch in 85 of 100 transactions, to another otherwise (clause 5.3.5).

use crate::common::{cardinality, commit, condition, flaw_if_zero, none_differs, number, FILLER};
use crate::kind::Kind;
use crate::sql::{filled, Values};
use protocol::Condition;
use rand::RngExt as _;
use serde::{Deserialize, Serialize};
use transaction::{
    Acknowledged, Attempt, Client, Drawn, LoadContext, NumberedTable, Outcome, Rng, Script, Seat, Session, Statement,
    Value, Workload,
};

pub const TELLERS: i64 = 10;
pub const ACCOUNTS: i64 = 100_000;
const DELTA_MAX: i64 = 999_999;
const CHUNK: i64 = 25_000;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tpcb {
    scale: u32,
}

impl Kind for Tpcb {
    const NAME: &'static str = "tpcb";

    fn flaw(&self) -> Option<String> {
        flaw_if_zero("scale", self.scale)
    }

    fn samples() -> Vec<Tpcb> {
        vec![Tpcb { scale: 2 }]
    }

    fn workload(self, _: u64) -> Box<dyn Workload> {
        Box::new(self)
    }
}

impl Tpcb {
    fn scale(&self) -> i64 {
        self.scale.into()
    }
}

/// Names of a table, its number of rows a branch, its row's columns after the key.
struct Table {
    name: &'static str,
    key: &'static str,
    per_branch: i64,
    columns: &'static str,
    names: &'static [&'static str],
    /// Rows that belong to one of their parent's, 0 where there is no parent.
    per_parent: i64,
    /// The length of the text that brings the row to 100 bytes (clause 3.2).
    filler: usize,
}

const TABLES: [Table; 3] = [
    Table {
        name: "branches",
        key: "bid",
        per_branch: 1,
        columns: "bbalance bigint not null, filler char(88)",
        names: &["bid", "bbalance", "filler"],
        per_parent: 0,
        filler: 88,
    },
    Table {
        name: "tellers",
        key: "tid",
        per_branch: TELLERS,
        columns: "bid integer not null, tbalance bigint not null, filler char(84)",
        names: &["tid", "bid", "tbalance", "filler"],
        per_parent: TELLERS,
        filler: 84,
    },
    Table {
        name: "accounts",
        key: "aid",
        per_branch: ACCOUNTS,
        columns: "bid integer not null, abalance bigint not null, filler char(84)",
        names: &["aid", "bid", "abalance", "filler"],
        per_parent: ACCOUNTS,
        filler: 84,
    },
];

const HISTORY: &str = "create table history (tid integer not null, bid integer not null, aid bigint not null, \
                       delta bigint not null, mtime timestamp, filler char(22))";

impl Workload for Tpcb {
    fn load(&self, context: &LoadContext) -> Outcome<()> {
        let dialect = context.dialect;
        let create = TABLES.iter().map(|Table { name, key, columns, .. }| {
            let values: Values = &[("name", name), ("column", key), ("columns", columns)];
            filled("create table {name} ({column} {later_key}, {columns})", dialect, values)
        });
        let create: Vec<_> = std::iter::once(Ok(HISTORY.to_string())).chain(create).collect::<Outcome<_>>()?;
        context.statements(create)?;
        let tables = TABLES.each_ref().map(|table| NumberedTable {
            name: table.name.to_string(),
            columns: table.names,
            rows: self.scale() * table.per_branch,
        });
        context.fill_numbered(&tables, CHUNK, |table, _| {
            let Table { per_parent, filler, .. } = TABLES[table];
            let filler = Value::Text(FILLER[..filler].to_string());
            move |number, row| {
                row.clear();
                row.push(Value::Int(number));
                if per_parent > 0 {
                    row.push(Value::Int((number - 1) / per_parent + 1));
                }
                row.push(Value::Int(0));
                row.push(filler.clone());
            }
        })?;
        let keys = TABLES.iter().filter(|_| dialect.keys_after_load).map(|table| {
            let Table { name, key, .. } = table;
            format!("alter table {name} add constraint pk_{name} primary key ({key})")
        });
        context.statements(keys)
    }

    fn check(&self, session: &mut dyn Session, acknowledged: &Acknowledged) -> Outcome<Vec<Condition>> {
        let mut conditions = Vec::new();
        for table in &TABLES {
            conditions.push(cardinality(session, table.name, self.scale() * table.per_branch)?);
        }
        let history = number(session, "select count(*) from history")?;
        conditions.push(condition(
            "history_matches_acknowledged",
            acknowledged.agrees(history),
            format!("{history} rows, {}", acknowledged.shown(acknowledged.committed)),
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
            conditions.push(none_differs(session, name, sql)?);
        }
        // The sums also cover what has no history.
        let deltas = number(session, "select sum(delta) from history")?;
        for (name, sql) in [
            ("branches_sum_equals_history", "select sum(bbalance) from branches"),
            ("tellers_sum_equals_history", "select sum(tbalance) from tellers"),
            ("accounts_sum_equals_history", "select sum(abalance) from accounts"),
        ] {
            let sum = number(session, sql)?;
            conditions.push(condition(name, sum == deltas, format!("{sum} and {deltas}")));
        }
        Ok(conditions)
    }

    fn script(&self, session: &mut dyn Session, _: Seat) -> Outcome<Box<dyn Script>> {
        Ok(Box::new(Transfer {
            scale: self.scale(),
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
    fn draw(&mut self, rng: &mut Rng) -> Option<Drawn> {
        self.inputs = Inputs::draw(self.scale, rng);
        Some(Drawn::default())
    }

    fn attempt<'a>(&'a mut self, client: &'a mut Client) -> Attempt<'a> {
        Box::pin(async {
            let Inputs { account, teller, branch, delta } = self.inputs;
            let [account, teller, branch, delta] = [account, teller, branch, delta].map(Value::Int);
            client.begin().await?;
            client.change_one(self.update_account, &[delta.clone(), account.clone()]).await?;
            // The client receives the balance (clause 1.2); an account that is not there would go unnoticed without this.
            let mut read = None;
            client.query_one(self.read_account, std::slice::from_ref(&account), |row| read = row[0].as_i64()).await?;
            client.change_one(self.update_teller, &[delta.clone(), teller.clone()]).await?;
            client.change_one(self.update_branch, &[delta.clone(), branch.clone()]).await?;
            client.change_one(self.write_history, &[teller, branch, account, delta]).await?;
            self.balance = read.unwrap_or_default();
            commit(client).await
        })
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
