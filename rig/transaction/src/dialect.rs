//! The words in which engines' SQL differs, as far as workloads use them.

/// One engine's SQL. Its session brings it; workloads ask it for words and never for the engine.
#[derive(Debug)]
pub struct Dialect {
    /// What files of SQL that are this engine's alone carry in their names: `schema.NAME.sql`.
    pub name: &'static str,
    /// The engine as people call it.
    pub engine: &'static str,
    /// It admits one session that writes.
    pub one_writer: bool,
    /// A table's primary key is best made over its loaded rows, by `alter table`. Otherwise the table is kept in the order
    /// of its key from the beginning.
    pub keys_after_load: bool,
    /// A column of large whole numbers that is the primary key.
    pub key: &'static str,
    /// The same of whole numbers that may be smaller.
    pub small_key: &'static str,
    /// As `key`, where the engine itself numbers the rows, if it does that without a sequence.
    pub own_key: &'static str,
    /// What keeps a table in the order of a key of several columns, where SQL has that behind its columns; or nothing.
    pub by_key: &'static str,
    /// The type of a moment, which may be null and stays as it was set.
    pub datetime: &'static str,
    /// What makes a text column one of bytes: a letter is one, and they are compared as such; or nothing.
    pub bytes: &'static str,
    /// The type of a column of bytes, of any length.
    pub blob: &'static str,
    /// The function that counts a text's letters.
    pub char_length: &'static str,
    /// The operator that divides whole numbers and leaves out the rest.
    pub div: &'static str,
    /// What ends a query for its first row.
    pub first_row: &'static str,
    /// None of an engine without stored procedures.
    pub procedures: Option<Procedures>,
    /// What is best done with a `{table}` whose rows have been loaded, or the engine does it in the middle of a
    /// measurement; if anything.
    pub settle: Option<&'static str>,
    /// What counts an `{index}` anew after rows were added, where the engine does not do so; if anything.
    pub recount: Option<&'static str>,
}

/// What stands before a procedure's name and its parameters in parentheses.
#[derive(Debug)]
pub struct Procedures {
    /// Of one that answers nothing.
    pub call: &'static str,
    /// Of one that answers a row.
    pub call_for_row: &'static str,
}

impl Dialect {
    /// The words that a file of SQL may name in braces.
    pub fn words(&self) -> [(&'static str, &'static str); 14] {
        let (later_key, later_small_key) =
            if self.keys_after_load { ("bigint not null", "integer not null") } else { (self.key, self.small_key) };
        let (call, call_for_row) = match &self.procedures {
            Some(Procedures { call, call_for_row }) => (*call, *call_for_row),
            None => ("", ""),
        };
        [
            ("key", self.key),
            ("small_key", self.small_key),
            ("own_key", self.own_key),
            // A key that is made later, where the engine would have it later.
            ("later_key", later_key),
            ("later_small_key", later_small_key),
            ("by_key", self.by_key),
            ("datetime", self.datetime),
            ("bytes", self.bytes),
            ("blob", self.blob),
            ("char_length", self.char_length),
            ("div", self.div),
            ("first_row", self.first_row),
            ("call", call),
            ("call_for_row", call_for_row),
        ]
    }

    /// The statement that settles a table.
    pub fn settled(&self, table: &str) -> Option<String> {
        self.settle.map(|sql| sql.replace("{table}", table))
    }

    /// The statement that counts an index anew.
    pub fn recounted(&self, index: &str) -> Option<String> {
        self.recount.map(|sql| sql.replace("{index}", index))
    }
}
