//! SQL in files beside a workload, so that it can be read, and added to for an engine, without its code.
//!
//! A file holds statements with an empty line between any two; inside a statement there is none. A line that begins with
//! `--` is a comment and is not sent. One of the form `-- WORD: TEXT` right above a statement says something of it: by
//! `-- name: TEXT` a workload asks for it. A word in braces is replaced by what the engine's [`Dialect`] has for it, or for a
//! value that the workload gives: `create table t (id {key}, payload varchar({width}))`.
//!
//! What all engines are asked in such words is in one file; what is an engine's own is in a file with the
//! dialect's name in it, and [`Files`] finds that.

use std::fmt::{Display, Write as _};
use transaction::{failed, Class, Dialect, Outcome};

/// Values by the word that they replace.
pub type Values<'a> = &'a [(&'a str, &'a dyn Display)];

/// A file's text.
#[derive(Clone, Copy)]
pub struct File(pub &'static str);

/// Files for the same purpose by their dialect's name.
pub struct Files(pub &'static [(&'static str, File)]);

/// The files of one purpose beside the module that asks: `files!("procedures.")` are `procedures.NAME.sql`. The dialects
/// that have files are listed here alone; each has one for every purpose, and what lacks is an error of the compiler.
macro_rules! files {
    ($before:literal) => {
        $crate::sql::files!($before: "firebird", "mysql", "postgres", "sqlite")
    };
    ($before:literal: $($name:literal),*) => {
        $crate::sql::Files(&[$(($name, $crate::sql::File(include_str!(concat!($before, $name, ".sql"))))),*])
    };
}
pub(crate) use files;

impl Files {
    pub fn of(&self, dialect: &Dialect) -> Option<File> {
        self.0.iter().find(|(name, _)| *name == dialect.name).map(|(_, file)| *file)
    }
}

impl File {
    /// The statements without a name, in their order.
    pub fn unnamed(self, dialect: &Dialect, values: Values) -> Outcome<Vec<String>> {
        self.parts().filter(|part| part.remark("name").is_none()).map(|part| part.filled(dialect, values)).collect()
    }

    /// The statements of one name, in their order; perhaps none.
    pub fn named(self, name: &str, dialect: &Dialect, values: Values) -> Outcome<Vec<String>> {
        self.parts().filter(|part| part.is(name)).map(|part| part.filled(dialect, values)).collect()
    }

    /// The one statement of a name.
    pub fn one(self, name: &str, dialect: &Dialect, values: Values) -> Outcome<String> {
        let mut statements = self.named(name, dialect, values)?;
        match (statements.pop(), statements.is_empty()) {
            (Some(sql), true) => Ok(sql),
            _ => Err(failed(Class::Other, format!("a file of SQL has not one statement {name}"))),
        }
    }

    /// The first statement of a name as the file has it, with its comments.
    pub fn text(self, name: &str) -> Option<&'static str> {
        self.parts().find(|part| part.is(name)).map(|part| part.text)
    }

    /// What `-- WORD: TEXT` says of the statement of a name.
    pub fn remark(self, name: &str, word: &str) -> Option<&'static str> {
        self.parts().find(|part| part.is(name))?.remark(word)
    }

    fn parts(self) -> impl Iterator<Item = Part> {
        self.0.split("\n\n").map(|text| Part { text }).filter(|part| !part.sql().is_empty())
    }
}

/// A statement and the comments above it.
struct Part {
    text: &'static str,
}

impl Part {
    fn sql(&self) -> String {
        let lines: Vec<_> = self.text.lines().filter(|line| !line.starts_with("--")).collect();
        lines.join("\n").trim().to_string()
    }

    fn remark(&self, word: &str) -> Option<&'static str> {
        let comments = self.text.lines().filter_map(|line| line.strip_prefix("-- "));
        comments.filter_map(|comment| comment.split_once(": ")).find(|(label, _)| *label == word).map(|(_, text)| text)
    }

    fn is(&self, name: &str) -> bool {
        self.remark("name") == Some(name)
    }

    fn filled(&self, dialect: &Dialect, values: Values) -> Outcome<String> {
        filled(&self.sql(), dialect, values)
    }
}

/// A statement with the dialect's words and the given values for those in braces. What is put in is not looked at again.
pub fn filled(sql: &str, dialect: &Dialect, values: Values) -> Outcome<String> {
    let words = dialect.words();
    let (mut text, mut rest) = (String::with_capacity(sql.len()), sql);
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let (name, after) = after.split_once('}').unwrap_or((after, ""));
        rest = after;
        if let Some((_, value)) = values.iter().find(|(word, _)| *word == name) {
            write!(text, "{value}").expect("memory suffices");
        } else if let Some((_, word)) = words.iter().find(|(word, _)| *word == name) {
            text.push_str(word);
        } else {
            let message = format!("nothing stands for {{{name}}} in SQL for {}: {sql}", dialect.engine);
            return Err(failed(Class::Other, message));
        }
    }
    text.push_str(rest);
    Ok(text)
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub const PLAIN: Dialect = Dialect {
        name: "plain",
        engine: "Plain",
        one_writer: false,
        keys_after_load: true,
        key: "bigint primary key",
        small_key: "integer primary key",
        own_key: "serial",
        by_key: "",
        datetime: "timestamp",
        bytes: "",
        blob: "blob",
        char_length: "length",
        div: "/",
        first_row: "limit 1",
        procedures: None,
        settle: None,
        recount: None,
    };

    const FILE: File = File(
        "-- Of the whole file: not of a statement.\n\n-- The first.\ncreate table t (\n  id {key},\n  w char({width}))\n\n\
         -- name: read\n-- says: [\"a\"]\nselect w from t {first_row}\n\n-- name: set\nset a\n\n-- name: set\nset b\n",
    );

    #[test]
    fn a_file_is_read_statement_by_statement() {
        let values: Values = &[("width", &7)];
        assert_eq!(FILE.unnamed(&PLAIN, values).unwrap(), ["create table t (\n  id bigint primary key,\n  w char(7))"]);
        assert_eq!(FILE.one("read", &PLAIN, &[]).unwrap(), "select w from t limit 1");
        assert_eq!(FILE.remark("read", "says"), Some("[\"a\"]"));
        assert_eq!(FILE.remark("read", "never"), None);
        assert_eq!(FILE.named("set", &PLAIN, &[]).unwrap(), ["set a", "set b"]);
        assert!(FILE.named("gone", &PLAIN, &[]).unwrap().is_empty());
        assert!(FILE.one("set", &PLAIN, &[]).is_err() && FILE.one("gone", &PLAIN, &[]).is_err());
    }

    #[test]
    fn a_word_that_stands_for_nothing_is_an_error_and_no_sql() {
        let error = FILE.unnamed(&PLAIN, &[]).unwrap_err();
        assert!(error.message.starts_with("nothing stands for {width} in SQL for Plain: create table"), "{error}");
        assert!(filled("select {", &PLAIN, &[]).is_err());
    }

    #[test]
    fn what_is_put_in_is_not_looked_at_again() {
        assert_eq!(filled("{a}{a}}", &PLAIN, &[("a", &"{key}")]).unwrap(), "{key}{key}}");
    }

    #[test]
    fn an_engine_finds_the_file_of_its_name_or_none() {
        let files = Files(&[("other", File("")), ("plain", FILE)]);
        assert_eq!(files.of(&PLAIN).map(|file| file.0), Some(FILE.0));
        assert!(Files(&[("other", FILE)]).of(&PLAIN).is_none());
    }
}
