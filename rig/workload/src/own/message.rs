//! A user's workload as a job brings it.

use serde::{Deserialize, Deserializer, Serialize};

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    pub title: String,
    /// So long a statement of the load or a condition may take, and a table without a new row.
    pub statement_limit_s: f64,
    /// Name and value; a value is a number or a text in single quotes.
    pub variables: Vec<(String, String)>,
    #[serde(deserialize_with = "given")]
    pub schema: Option<SqlFile>,
    #[serde(deserialize_with = "given")]
    pub load_sql: Option<SqlFile>,
    pub tables: Vec<Table>,
    /// Run over the loaded rows.
    #[serde(deserialize_with = "given")]
    pub indexes: Option<SqlFile>,
    pub transactions: Vec<Transaction>,
    /// Each query must answer no row.
    #[serde(deserialize_with = "given")]
    pub conditions: Option<SqlFile>,
}

/// A file of SQL, with what stands in its place for some engines.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SqlFile {
    /// As messages name it.
    pub path: String,
    pub text: String,
    /// Name of a dialect, path, text.
    pub variants: Vec<(String, String, String)>,
}

/// A table that the load fills.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "source", rename_all = "snake_case", deny_unknown_fields)]
pub enum Table {
    Generated {
        table: String,
        rows: String,
        columns: Vec<(String, String)>,
        /// The file that says so.
        #[serde(rename = "where")]
        place: String,
    },
    Csv {
        table: String,
        /// The file's whole path.
        csv: String,
        sha256: String,
        /// Without the line of names.
        rows: u64,
        /// In the order of the file.
        columns: Vec<String>,
    },
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transaction {
    pub name: String,
    /// How often it is drawn, against the others.
    pub weight: f64,
    pub file: SqlFile,
}

/// A field that may be null, and must be there.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SqlFile>, D::Error> {
    Option::deserialize(deserializer)
}

impl SqlFile {
    /// What is run under a dialect: path and text.
    pub fn of(&self, dialect: &str) -> language::Source<'_> {
        match self.variants.iter().find(|(name, ..)| name == dialect) {
            Some((_, path, text)) => language::Source { path, text },
            None => language::Source { path: &self.path, text: &self.text },
        }
    }
}

impl Message {
    pub fn samples() -> Vec<Message> {
        let file = |name: &str, text: &str| SqlFile {
            path: format!("shop/{name}.sql"),
            text: text.to_string(),
            variants: vec![("firebird".into(), format!("shop/{name}.firebird.sql"), text.to_string())],
        };
        vec![Message {
            title: "shop".into(),
            statement_limit_s: 7_200.0,
            variables: vec![("scale".into(), "10".into()), ("currency".into(), "'EUR'".into())],
            schema: Some(file("schema", "create table item (id integer primary key, price integer);")),
            load_sql: Some(file("load", "insert into item values (0, 1);")),
            tables: vec![
                Table::Generated {
                    table: "item".into(),
                    rows: "100 * :scale".into(),
                    columns: vec![("id".into(), ":row".into()), ("price".into(), "random(1, 99)".into())],
                    place: "shop/workload.toml".into(),
                },
                Table::Csv {
                    table: "country".into(),
                    csv: "/data/shop/country.csv".into(),
                    sha256: "0f".repeat(32),
                    rows: 250,
                    columns: vec!["code".into(), "name".into()],
                },
            ],
            indexes: Some(file("indexes", "create index item_price on item (price);")),
            transactions: vec![
                Transaction {
                    name: "buy".into(),
                    weight: 45.0,
                    file: file("buy", "\\set id random(1, 100)\nupdate item set price = price + 1 where id = :id;"),
                },
                Transaction { name: "look".into(), weight: 55.5, file: file("look", "select price from item;") },
            ],
            conditions: Some(file("conditions", "-- No price is negative.\nselect id from item where price < 0;")),
        }]
    }
}
