//! Whether a database is one that warehouses can be added to.

use super::scale::Scale;
use super::schema::{Table, TABLES};
use crate::common::number;
use transaction::{Class, Outcome, Session, SessionError};

/// Refuses a database that does not hold exactly the first `from` warehouses, all of each.
///
/// The rows of `warehouse` are the last that a load adds. So whatever an unfinished one has left belongs to warehouses that
/// are not in that table, and is found by the keys, without reading the rest.
pub fn holds(session: &mut dyn Session, from: i64, scale: Scale) -> Outcome<()> {
    let refused = |message: String| Err(SessionError { class: Class::Other, message });
    let warehouses = match number(session, "select count(*) from warehouse") {
        Ok(warehouses) => warehouses,
        Err(error) => return refused(format!("the database does not hold {from} warehouses: {}", error.message)),
    };
    if warehouses != from || number(session, "select max(w_id) from warehouse")? != from {
        return refused(format!("the database holds {warehouses} warehouses, and not the first {from} to add more to"));
    }
    let items = number(session, "select count(*) from item")?;
    if items != scale.items() {
        let wanted = scale.items();
        return refused(format!("the database holds {items} items, and {wanted} belong to the percentage asked for"));
    }
    for table in TABLES.into_iter().filter(|table| !matches!(table, Table::Item | Table::Warehouse)) {
        let Some((warehouse, _)) = table.key().and_then(|key| key.split_once(',')) else { continue };
        let name = table.name();
        let left = number(session, &format!("select count(*) from {name} where {warehouse} > {from}"))?;
        if left > 0 {
            return refused(format!(
                "an unfinished load has left rows of other warehouses in {name}: the database must be loaded anew"
            ));
        }
    }
    Ok(())
}
