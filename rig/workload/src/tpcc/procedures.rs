//! The five transactions as stored procedures, each one call between begin and commit.
//!
//! Each engine has them in its own file, with the statements of [`super::script`]: every engine is asked for the same
//! work.

use super::inputs::{Customer, Inputs, Line, NewOrder, Payment, TerminalState};
use super::queue::Delivery;
use crate::common::{commit, int, ints};
use crate::sql::{files, filled, File, Files};
use std::hint::black_box;
use transaction::{failed, Class, Client, Dialect, Ended, Outcome, Refused, Session, SessionError, Statement, Value};

const PROCEDURES: Files = files!("procedures.");

/// What a procedure answers first.
const WELL: i64 = 0;
/// An item is not there: the caller rolls back.
const UNUSED: i64 = 1;
/// A row to be changed was not found: another transaction has changed it.
const MISSED: i64 = 2;

fn of_engine(dialect: &Dialect) -> Outcome<File> {
    let engine = dialect.engine;
    let refused = |message| Err(failed(Class::Other, message));
    match (&dialect.procedures, PROCEDURES.of(dialect)) {
        (None, _) => refused(format!("{engine} has no stored procedures")),
        (Some(_), None) => refused(format!("the workload tpcc has no stored procedures for {engine}")),
        (Some(_), Some(file)) => Ok(file),
    }
}

pub fn create(dialect: &Dialect) -> Outcome<Vec<String>> {
    of_engine(dialect)?.unnamed(dialect, &[])
}

pub struct Calls {
    new_order: Statement,
    payment: Statement,
    order_status: Statement,
    delivery: Statement,
    stock_level: Statement,
}

impl Calls {
    pub fn prepare(session: &mut dyn Session) -> Outcome<Calls> {
        of_engine(session.dialect())?;
        let mut call = |procedure: &str| {
            let sql = filled("{call_for_row} {procedure}", session.dialect(), &[("procedure", &procedure)])?;
            session.prepare(&sql)
        };
        Ok(Calls {
            new_order: call("tpcc_new_order(?, ?, ?, ?, ?, ?)")?,
            payment: call("tpcc_payment(?, ?, ?, ?, ?, ?, ?)")?,
            order_status: call("tpcc_order_status(?, ?, ?, ?)")?,
            delivery: call("tpcc_delivery(?, ?)")?,
            stock_level: call("tpcc_stock_level(?, ?, ?)")?,
        })
    }

    pub async fn attempt(
        &self,
        client: &mut Client,
        terminal_state: &TerminalState,
        inputs: &Inputs,
    ) -> Result<Ended, Refused> {
        let home = terminal_state.warehouse;
        client.begin().await?;
        let state = match inputs {
            Inputs::NewOrder(NewOrder { district, customer, lines }) => {
                let local = lines.iter().all(|line| line.supply == home);
                let [home, district, customer, many, local] =
                    ints([home, *district, *customer, lines.len() as i64, i64::from(local)]);
                let values = [home, district, customer, many, local, Value::Text(packed(lines))];
                called(client, self.new_order, &values).await?.0
            }
            Inputs::Payment(Payment { district, customer_warehouse, customer_district, customer, amount }) => {
                let (number, name) = either(customer);
                let [home, district, warehouse_of, district_of, amount] =
                    ints([home, *district, *customer_warehouse, *customer_district, *amount]);
                let values = [home, district, warehouse_of, district_of, number, name, amount];
                called(client, self.payment, &values).await?.0
            }
            Inputs::OrderStatus { district, customer } => {
                let (number, name) = either(customer);
                let values = [Value::Int(home), Value::Int(*district), number, name];
                called(client, self.order_status, &values).await?.0
            }
            Inputs::StockLevel { threshold } => {
                called(client, self.stock_level, &ints([home, terminal_state.district, *threshold])).await?.0
            }
            Inputs::Delivery { .. } => unreachable!("deliveries are queued"),
        };
        if state == UNUSED {
            client.rollback().await?;
            return Ok(Ended::RolledBack);
        }
        commit(client).await
    }

    pub async fn delivery(&self, client: &mut Client, delivery: Delivery) -> Result<(Ended, i64), Refused> {
        client.begin().await?;
        let delivered = called(client, self.delivery, &ints([delivery.warehouse, delivery.carrier])).await?.1;
        Ok((commit(client).await?, delivered))
    }
}

/// Calls; answers the state and the value after it.
async fn called(client: &mut Client, call: Statement, values: &[Value]) -> Result<(i64, i64), SessionError> {
    let mut answer = (WELL, 0);
    client
        .query_one(call, values, |row| {
            answer = (int(row, 0), int(row, 1));
            black_box(row);
        })
        .await?;
    match answer.0 {
        MISSED => Err(SessionError::not_one(0)),
        _ => Ok(answer),
    }
}

/// A customer's number, 0 where there is a name.
fn either(customer: &Customer) -> (Value, Value) {
    match customer {
        Customer::Number(number) => (Value::Int(*number), Value::Text(String::new())),
        Customer::Name(name) => (Value::Int(0), Value::Text(name.clone())),
    }
}

/// Item, supplying warehouse and quantity of each line in 14 digits.
fn packed(lines: &[Line]) -> String {
    lines.iter().map(|line| format!("{:06}{:06}{:02}", line.item, line.supply, line.quantity)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::tests::PLAIN;
    use transaction::Procedures;

    #[test]
    fn lines_are_packed_so_that_a_procedure_finds_them() {
        let line = |item, supply, quantity| Line { item, supply, quantity };
        assert_eq!(packed(&[line(100_001, 12, 10), line(7, 1, 3)]), "1000010000121000000700000103");
    }

    #[test]
    fn an_engine_without_procedures_or_without_ours_is_refused() {
        assert_eq!(create(&PLAIN).unwrap_err().message, "Plain has no stored procedures");
        let other = Dialect { procedures: Some(Procedures { call: "do", call_for_row: "do" }), ..PLAIN };
        assert_eq!(create(&other).unwrap_err().message, "the workload tpcc has no stored procedures for Plain");
    }

    /// The statements on tables in an engine's procedures, without what engines write in their own way.
    fn statements(file: File) -> Vec<String> {
        let text = file.unnamed(&PLAIN, &[]).unwrap().join(";");
        let text = text.replace(':', "").split_whitespace().collect::<Vec<_>>().join(" ");
        let text = text.replace("rows xmany + 1 to xmany + 1", "limit 1 offset xmany").replace("rows 1", "limit 1");
        let begins = ["select ", "insert into ", "update ", "delete from "];
        let begin = |part: &str| begins.iter().filter_map(|begin| part.find(begin)).min();
        let parts = text.split(';').filter_map(|part| begin(part).map(|at| part[at..].to_string()));
        // How MySQL answers its caller.
        parts.filter(|sql| !sql.starts_with("select xstate")).collect()
    }

    #[test]
    fn the_procedures_of_all_engines_have_the_same_statements() {
        let all = PROCEDURES.0.iter().map(|(name, file)| (name, statements(*file)));
        let all: Vec<_> = all.filter(|(_, statements)| !statements.is_empty()).collect();
        for (name, statements) in &all {
            assert_eq!(*statements, all[0].1, "{name} and {}", all[0].0);
            assert_eq!(statements.len(), 35, "{name}: {statements:#?}");
        }
    }
}
