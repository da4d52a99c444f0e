//! The nine tables, their keys, and what is done with them after the load.

use super::scale::Scale;
use crate::common::number;
use crate::sql::File;
use transaction::{failed, Class, Dialect, Outcome, Session};

const SCHEMA: File = File(include_str!("schema.sql"));

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    Warehouse,
    District,
    Customer,
    History,
    NewOrder,
    Orders,
    OrderLine,
    Item,
    Stock,
}

pub const TABLES: [Table; 9] = [
    Table::Item,
    Table::Warehouse,
    Table::Stock,
    Table::District,
    Table::Customer,
    Table::History,
    Table::Orders,
    Table::OrderLine,
    Table::NewOrder,
];

impl Table {
    pub fn name(self) -> &'static str {
        match self {
            Table::Warehouse => "warehouse",
            Table::District => "district",
            Table::Customer => "customer",
            Table::History => "history",
            Table::NewOrder => "new_order",
            Table::Orders => "orders",
            Table::OrderLine => "order_line",
            Table::Item => "item",
            Table::Stock => "stock",
        }
    }

    /// The primary key; the history has none.
    pub fn key(self) -> Option<&'static str> {
        Some(match self {
            Table::Warehouse => "w_id",
            Table::District => "d_w_id, d_id",
            Table::Customer => "c_w_id, c_d_id, c_id",
            Table::History => return None,
            Table::NewOrder => "no_w_id, no_d_id, no_o_id",
            Table::Orders => "o_w_id, o_d_id, o_id",
            Table::OrderLine => "ol_w_id, ol_d_id, ol_o_id, ol_number",
            Table::Item => "i_id",
            Table::Stock => "s_w_id, s_i_id",
        })
    }

    /// The names of its columns, as its statement has them: each is the first word of its line.
    pub fn names(self) -> Vec<&'static str> {
        let text = SCHEMA.text(self.name()).unwrap_or_default();
        text.lines().filter(|line| line.starts_with("  ")).filter_map(|line| line.split_whitespace().next()).collect()
    }

    fn create(self, dialect: &Dialect) -> Outcome<String> {
        let key = self.key().filter(|_| !dialect.keys_after_load);
        let key = key.map(|key| format!(",\n  primary key ({key})")).unwrap_or_default();
        SCHEMA.one(self.name(), dialect, &[("primary_key", &key)])
    }
}

pub fn tables(dialect: &Dialect) -> Outcome<Vec<String>> {
    TABLES.iter().map(|table| table.create(dialect)).collect()
}

/// Statements after the load, those of one inner list one after another.
pub fn after(dialect: &Dialect) -> Vec<Vec<String>> {
    let of_table = |table: Table| {
        let name = table.name();
        let key = table.key().filter(|_| dialect.keys_after_load);
        key.map(|key| format!("alter table {name} add constraint pk_{name} primary key ({key})"))
            .into_iter()
            .chain(secondary(table).map(|(name, columns)| format!("create index {name} on {columns}")))
            .chain(dialect.settled(name))
            .collect::<Vec<_>>()
    };
    TABLES.into_iter().map(of_table).filter(|statements| !statements.is_empty()).collect()
}

fn secondary(table: Table) -> Option<(&'static str, &'static str)> {
    match table {
        Table::Customer => Some(("customer_name", "customer (c_w_id, c_d_id, c_last, c_first)")),
        Table::Orders => Some(("orders_customer", "orders (o_w_id, o_d_id, o_c_id, o_id)")),
        _ => None,
    }
}

/// As [`after`], where rows were added: what the engine knows of them for its plans is what it would know after a load of
/// all at once.
pub fn after_more(dialect: &Dialect) -> Vec<Vec<String>> {
    let of_table = |table: Table| -> Vec<String> {
        let key = table.key().map(|_| format!("pk_{}", table.name()));
        let indexes = key.into_iter().chain(secondary(table).map(|(name, _)| name.to_string()));
        dialect.settled(table.name()).into_iter().chain(indexes.filter_map(|index| dialect.recounted(&index))).collect()
    };
    TABLES.into_iter().map(of_table).filter(|statements| !statements.is_empty()).collect()
}

/// Refuses a database that does not hold exactly the first `from` warehouses, all of each.
///
/// The rows of `warehouse` are the last that a load adds. So whatever an unfinished one has left belongs to warehouses that
/// are not in that table, and is found by the keys, without reading the rest.
pub fn holds(session: &mut dyn Session, from: i64, scale: Scale) -> Outcome<()> {
    let refused = |message: String| Err(failed(Class::Other, message));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::tests::PLAIN;

    #[test]
    fn every_table_has_its_statement_and_its_keys_columns() {
        assert_eq!(tables(&PLAIN).unwrap().len(), TABLES.len());
        for table in TABLES {
            let names = table.names();
            assert!(names.len() >= 3, "{table:?}: {names:?}");
            let key: Vec<_> = table.key().map(|key| key.split(", ").collect()).unwrap_or_default();
            assert_eq!(names[..key.len()], key, "a key's columns come first");
        }
        assert_eq!(Table::Orders.names().len(), 8);
        assert!(!Table::Stock.create(&PLAIN).unwrap().contains("primary key"));
        let early = Dialect { keys_after_load: false, ..PLAIN };
        assert!(Table::Stock.create(&early).unwrap().contains("\n  primary key (s_w_id, s_i_id))"));
    }
}
