//! The nine tables (clause 1.3), their keys, and what of them differs by engine.
//!
//! Amounts are whole cents, taxes and discounts hundredths of a percent: exact and equal on every engine, also on SQLite,
//! which has no decimal type. Foreign keys are not made.

use transaction::Dialect;

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

    /// Columns with their types; what may be null says so.
    fn columns(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Table::Warehouse => &[
                ("w_id", "integer"),
                ("w_name", "varchar(10)"),
                ("w_street_1", "varchar(20)"),
                ("w_street_2", "varchar(20)"),
                ("w_city", "varchar(20)"),
                ("w_state", "char(2)"),
                ("w_zip", "char(9)"),
                ("w_tax", "integer"),
                ("w_ytd", "bigint"),
            ],
            Table::District => &[
                ("d_w_id", "integer"),
                ("d_id", "integer"),
                ("d_name", "varchar(10)"),
                ("d_street_1", "varchar(20)"),
                ("d_street_2", "varchar(20)"),
                ("d_city", "varchar(20)"),
                ("d_state", "char(2)"),
                ("d_zip", "char(9)"),
                ("d_tax", "integer"),
                ("d_ytd", "bigint"),
                ("d_next_o_id", "integer"),
            ],
            Table::Customer => &[
                ("c_w_id", "integer"),
                ("c_d_id", "integer"),
                ("c_id", "integer"),
                ("c_first", "varchar(16)"),
                ("c_middle", "char(2)"),
                ("c_last", "varchar(16)"),
                ("c_street_1", "varchar(20)"),
                ("c_street_2", "varchar(20)"),
                ("c_city", "varchar(20)"),
                ("c_state", "char(2)"),
                ("c_zip", "char(9)"),
                ("c_phone", "char(16)"),
                ("c_since", "timestamp"),
                ("c_credit", "char(2)"),
                ("c_credit_lim", "bigint"),
                ("c_discount", "integer"),
                ("c_balance", "bigint"),
                ("c_ytd_payment", "bigint"),
                ("c_payment_cnt", "integer"),
                ("c_delivery_cnt", "integer"),
                ("c_data", "varchar(500)"),
            ],
            Table::History => &[
                ("h_c_id", "integer"),
                ("h_c_d_id", "integer"),
                ("h_c_w_id", "integer"),
                ("h_d_id", "integer"),
                ("h_w_id", "integer"),
                ("h_date", "timestamp"),
                ("h_amount", "bigint"),
                ("h_data", "varchar(24)"),
            ],
            Table::NewOrder => &[("no_w_id", "integer"), ("no_d_id", "integer"), ("no_o_id", "integer")],
            Table::Orders => &[
                ("o_w_id", "integer"),
                ("o_d_id", "integer"),
                ("o_id", "integer"),
                ("o_c_id", "integer"),
                ("o_entry_d", "timestamp"),
                ("o_carrier_id", "integer null"),
                ("o_ol_cnt", "integer"),
                ("o_all_local", "integer"),
            ],
            Table::OrderLine => &[
                ("ol_w_id", "integer"),
                ("ol_d_id", "integer"),
                ("ol_o_id", "integer"),
                ("ol_number", "integer"),
                ("ol_i_id", "integer"),
                ("ol_supply_w_id", "integer"),
                ("ol_delivery_d", "timestamp null"),
                ("ol_quantity", "integer"),
                ("ol_amount", "bigint"),
                ("ol_dist_info", "char(24)"),
            ],
            Table::Item => &[
                ("i_id", "integer"),
                ("i_im_id", "integer"),
                ("i_name", "varchar(24)"),
                ("i_price", "bigint"),
                ("i_data", "varchar(50)"),
            ],
            Table::Stock => &[
                ("s_w_id", "integer"),
                ("s_i_id", "integer"),
                ("s_quantity", "integer"),
                ("s_dist_01", "char(24)"),
                ("s_dist_02", "char(24)"),
                ("s_dist_03", "char(24)"),
                ("s_dist_04", "char(24)"),
                ("s_dist_05", "char(24)"),
                ("s_dist_06", "char(24)"),
                ("s_dist_07", "char(24)"),
                ("s_dist_08", "char(24)"),
                ("s_dist_09", "char(24)"),
                ("s_dist_10", "char(24)"),
                ("s_ytd", "integer"),
                ("s_order_cnt", "integer"),
                ("s_remote_cnt", "integer"),
                ("s_data", "varchar(50)"),
            ],
        }
    }

    pub fn names(self) -> Vec<&'static str> {
        self.columns().iter().map(|(name, _)| *name).collect()
    }

    fn create(self, dialect: Dialect) -> String {
        let mut parts = Vec::new();
        for (name, kind) in self.columns() {
            let (kind, null) = kind.strip_suffix(" null").map_or((*kind, " not null"), |kind| (kind, ""));
            // MySQL's timestamp sets itself and is never null.
            let kind = if kind == "timestamp" && dialect == Dialect::Mysql { "datetime" } else { kind };
            parts.push(format!("{name} {kind}{null}"));
        }
        if let (Some(key), false) = (self.key(), key_after(dialect)) {
            parts.push(format!("primary key ({key})"));
        }
        format!("create table {} ({}){}", self.name(), parts.join(", "), self.storage(dialect))
    }

    /// How the table is kept, where the engine leaves it to the schema.
    fn storage(self, dialect: Dialect) -> &'static str {
        match (dialect, self) {
            // A single integer is SQLite's rowid anyway.
            (Dialect::Sqlite, Table::Warehouse | Table::Item | Table::History) => "",
            (Dialect::Sqlite, _) => " without rowid",
            _ => "",
        }
    }
}

/// Whether the primary keys are made over the loaded rows. InnoDB and SQLite keep a table in the order of its key.
fn key_after(dialect: Dialect) -> bool {
    matches!(dialect, Dialect::Firebird | Dialect::Postgres)
}

pub fn tables(dialect: Dialect) -> Vec<String> {
    TABLES.iter().map(|table| table.create(dialect)).collect()
}

/// Statements after the load, those of one inner list one after another.
pub fn after(dialect: Dialect) -> Vec<Vec<String>> {
    let of_table = |table: Table| {
        let name = table.name();
        let key = table.key().filter(|_| key_after(dialect));
        let mut statements: Vec<String> = key
            .map(|key| format!("alter table {name} add constraint pk_{name} primary key ({key})"))
            .into_iter()
            .chain(secondary(table).map(|(name, columns)| format!("create index {name} on {columns}")))
            .collect();
        if dialect == Dialect::Postgres {
            // Otherwise the first to read or the autovacuum does it in the middle of a measurement.
            statements.push(format!("vacuum analyze {name}"));
        }
        statements
    };
    TABLES.into_iter().map(of_table).filter(|statements| !statements.is_empty()).collect()
}

/// Name of a table's other index, and what it is on.
fn secondary(table: Table) -> Option<(&'static str, &'static str)> {
    match table {
        Table::Customer => Some(("customer_name", "customer (c_w_id, c_d_id, c_last, c_first)")),
        Table::Orders => Some(("orders_customer", "orders (o_w_id, o_d_id, o_c_id, o_id)")),
        _ => None,
    }
}

/// As [`after`], where rows were added: what the engine knows of them for its plans is what it would know after a load of
/// all at once.
pub fn after_more(dialect: Dialect) -> Vec<Vec<String>> {
    let of_table = |table: Table| match dialect {
        Dialect::Postgres => vec![format!("vacuum analyze {}", table.name())],
        Dialect::Firebird => {
            let key = table.key().map(|_| format!("pk_{}", table.name()));
            let indexes = key.into_iter().chain(secondary(table).map(|(name, _)| name.to_string()));
            indexes.map(|index| format!("set statistics index {index}")).collect()
        }
        Dialect::Sqlite | Dialect::Mysql => Vec::new(),
    };
    TABLES.into_iter().map(of_table).filter(|statements| !statements.is_empty()).collect()
}

/// What ends a query that wants its first row alone.
pub fn first_row(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Firebird => "rows 1",
        Dialect::Sqlite | Dialect::Postgres | Dialect::Mysql => "limit 1",
    }
}
