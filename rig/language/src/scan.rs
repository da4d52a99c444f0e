//! A file of SQL taken apart: statements, the variables in them, and the commands that begin with a backslash.
//!
//! Strings, quoted names, dollar quotes and comments are passed over as engines do; what stands in the body of a trigger
//! or procedure does not end it. `set term ^ ;` and `delimiter //` say what ends statements from there on.

use crate::token::is_name;
use crate::{Flaw, Source};

#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    Plain(String),
    /// `:name`. Glued: what stands before it belongs to the same word.
    Variable {
        name: String,
        glued: bool,
    },
    Quoted(String),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Sql {
    pub parts: Vec<Part>,
    pub line: usize,
    /// The comment right above it, without its dashes.
    pub comment: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    Sql(Sql),
    Command {
        name: String,
        rest: String,
        line: usize,
    },
    /// `\;`: the statements before and after it are sent as one.
    Joint {
        line: usize,
    },
}

/// What a statement does to the transaction that it stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    Begin,
    Commit,
    Rollback,
    /// It changes nothing.
    Reads,
    Writes,
    /// It makes, changes or removes a table or the like: what is prepared before may be of another.
    Defines,
}

/// A statement as it was written, whole.
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    pub sql: String,
    pub line: usize,
    pub comment: Option<String>,
}

/// The statements of a file without variables and commands, as a schema is one.
pub fn statements(source: Source) -> Result<Vec<Written>, Flaw> {
    statements_with(source, |name| Ok(format!(":{name}")))
}

/// The same, and for each `:name` what `value` answers, as conditions have it; its error is one of the file.
pub fn statements_with(source: Source, value: impl Fn(&str) -> Result<String, String>) -> Result<Vec<Written>, Flaw> {
    let written = |item| match item {
        Item::Sql(sql) => {
            let text = sql.text_with(&value).map_err(|message| Flaw::at(sql.line, message))?;
            Ok(Written { sql: text, line: sql.line, comment: sql.comment })
        }
        Item::Command { name, line, .. } => {
            Err(Flaw::at(line, format!("\\{name} is a command of scripts; here stand statements of SQL alone")))
        }
        Item::Joint { line } => Err(Flaw::at(line, "\\; is of scripts; end the statement with ;")),
    };
    items(source.text)?.into_iter().map(written).collect()
}

impl Sql {
    pub fn text(&self) -> String {
        self.text_with(|name| Ok(format!(":{name}"))).unwrap_or_default()
    }

    fn text_with(&self, value: impl Fn(&str) -> Result<String, String>) -> Result<String, String> {
        let text = |part: &Part| match part {
            Part::Plain(text) | Part::Quoted(text) => Ok(text.clone()),
            Part::Variable { name, .. } => value(name),
        };
        Ok(self.parts.iter().map(text).collect::<Result<String, String>>()?.trim().to_string())
    }
}

pub fn verb(sql: &str) -> Verb {
    let text = sql.to_ascii_lowercase();
    let mut words = text.split(|c: char| !is_name(c)).filter(|word| !word.is_empty());
    let (first, second) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    match (first, second) {
        ("begin", _) | ("start", "transaction") => Verb::Begin,
        ("commit" | "end", _) => Verb::Commit,
        // Back to a savepoint is not the end.
        ("rollback", "to") => Verb::Reads,
        ("rollback", _) if words.next() == Some("to") => Verb::Reads,
        ("rollback" | "abort", _) => Verb::Rollback,
        ("create" | "alter" | "drop" | "recreate" | "declare", _) => Verb::Defines,
        ("select", _) if text.contains("into outfile") => Verb::Writes,
        ("select" | "values" | "show" | "table" | "explain" | "set" | "savepoint" | "release" | "pragma", _) => {
            Verb::Reads
        }
        ("with", _) if !words.any(|word| matches!(word, "insert" | "update" | "delete" | "merge")) => Verb::Reads,
        _ => Verb::Writes,
    }
}

/// Everything in a file, in its order.
pub fn items(text: &str) -> Result<Vec<Item>, Flaw> {
    let mut scanner = Scanner { text, at: 0, line: 1, terminator: ";".to_string(), comment: None };
    let mut items = Vec::new();
    while let Some(found) = scanner.next()? {
        items.extend(found);
    }
    Ok(items)
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    line: usize,
    terminator: String,
    /// The comment read last, and the line after it.
    comment: Option<(String, usize)>,
}

/// What is known of a statement under way.
#[derive(Default)]
struct Open {
    parts: Vec<Part>,
    plain: String,
    parentheses: usize,
    /// Of `begin`, `case` and the like in a body.
    blocks: usize,
    /// Its first words, and the last.
    head: Vec<String>,
    word: String,
    /// Rows are to come from the client, or to go to it, by PostgreSQL's COPY.
    copies: Option<&'static str>,
}

impl Open {
    fn flush(&mut self) {
        if !self.plain.is_empty() {
            self.parts.push(Part::Plain(std::mem::take(&mut self.plain)));
        }
    }

    fn has_body(&self) -> bool {
        let makes = matches!(self.head.first().map(String::as_str), Some("create" | "alter" | "recreate"));
        let bodied = |word: &String| {
            matches!(word.as_str(), "trigger" | "procedure" | "function" | "event" | "package" | "block")
        };
        let block = self.head.first().map(String::as_str) == Some("execute")
            && self.head.get(1).map(String::as_str) == Some("block");
        block || (makes && self.head.iter().any(bodied))
    }

    fn take_word(&mut self, word: &str) {
        let word = word.to_ascii_lowercase();
        if self.head.len() < 8 {
            self.head.push(word.clone());
        }
        if self.has_body() {
            match word.as_str() {
                "begin" => self.blocks += 1,
                // "end case" ends one too, but begins none.
                "case" if self.word != "end" => self.blocks += 1,
                "end" => self.blocks = self.blocks.saturating_sub(1),
                // "end if" and the like end what was not counted.
                "if" | "loop" | "while" | "repeat" | "for" if self.word == "end" => self.blocks += 1,
                _ => {}
            }
        }
        if self.head.first().map(String::as_str) == Some("copy") {
            match (self.word.as_str(), word.as_str()) {
                ("from", "stdin") => self.copies = Some(ROWS_IN),
                ("to", "stdout") => self.copies = Some(ROWS_OUT),
                _ => {}
            }
        }
        self.word = word;
    }
}

const ROWS_IN: &str =
    "copy from stdin takes rows that the client sends, and a file of SQL has none to send: put them into a \
                       CSV file, which workload.toml may name, or let the server read them (copy from 'FILE')";
const ROWS_OUT: &str = "copy to stdout sends rows to the client, and nobody would read them: ask for them with a query";
const PSQL_COPY: &str =
    "\\copy is a command of psql's: put rows that are to be loaded into a CSV file, which workload.toml \
                         may name, or let the server read them (copy from 'FILE')";

impl<'a> Scanner<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip(&mut self, bytes: usize) -> &'a str {
        let passed = &self.text[self.at..self.at + bytes];
        self.line += passed.matches('\n').count();
        self.at += bytes;
        passed
    }

    /// The next items; none at the file's end.
    fn next(&mut self) -> Result<Option<Vec<Item>>, Flaw> {
        loop {
            self.pass_blank()?;
            let rest = self.rest();
            if rest.is_empty() {
                return Ok(None);
            }
            if let Some(after) = rest.strip_prefix('\\') {
                if after.starts_with(';') {
                    let line = self.line;
                    self.skip(2);
                    return Ok(Some(vec![Item::Joint { line }]));
                }
                return self.command().map(|command| Some(vec![command]));
            }
            if self.new_terminator()? {
                continue;
            }
            if rest.starts_with(&self.terminator) {
                self.skip(self.terminator.len());
                continue;
            }
            return self.statement().map(Some);
        }
    }

    /// Blanks and comments between statements.
    fn pass_blank(&mut self) -> Result<(), Flaw> {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start().len();
            if blank > 0 {
                self.skip(blank);
            } else if rest.starts_with("--") {
                let text = self.skip(rest.find('\n').unwrap_or(rest.len()));
                self.comment = Some((text.trim_start_matches('-').trim().to_string(), self.line + 1));
            } else if is_comment(rest) {
                self.skip(comment_length(rest).ok_or_else(|| Flaw::at(self.line, "a comment has no end (*/)"))?);
            } else {
                return Ok(());
            }
        }
    }

    /// `set term ^ ;` of Firebird's isql, `delimiter //` of MySQL's client.
    fn new_terminator(&mut self) -> Result<bool, Flaw> {
        let rest = self.rest();
        let head: String = rest.chars().take(12).flat_map(char::to_lowercase).collect();
        let is_delimiter = head.strip_prefix("delimiter").is_some_and(|after| after.starts_with(char::is_whitespace));
        if !is_delimiter && head.split_whitespace().take(2).ne(["set", "term"]) {
            return Ok(false);
        }
        let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
        let mut words = line.split_whitespace();
        let (first, second) = (words.next().unwrap_or("").to_ascii_lowercase(), words.next().unwrap_or(""));
        let new = match first.as_str() {
            "delimiter" if !second.is_empty() => second.to_string(),
            "set" if second.eq_ignore_ascii_case("term") => {
                let written = line.trim_end();
                let written = written.strip_suffix(&self.terminator).unwrap_or(written);
                let new = written.split_whitespace().nth(2).unwrap_or("").to_string();
                if new.is_empty() {
                    return Err(Flaw::at(self.line, "set term names what ends a statement from here on"));
                }
                new
            }
            _ => return Ok(false),
        };
        self.terminator = new;
        self.skip(line.len());
        Ok(true)
    }

    /// To the end of its line; a backslash there joins the next one to it.
    fn command(&mut self) -> Result<Item, Flaw> {
        let line = self.line;
        let mut rest = String::new();
        self.skip(1);
        loop {
            let text = self.rest();
            let taken = self.skip(text.find('\n').unwrap_or(text.len())).trim_end_matches('\r');
            match taken.strip_suffix('\\') {
                Some(before) if !self.rest().is_empty() => {
                    rest.push_str(before);
                    rest.push('\n');
                    self.skip(1);
                }
                _ => {
                    rest.push_str(taken);
                    break;
                }
            }
        }
        let end = rest.find(|c: char| !is_name(c)).unwrap_or(rest.len());
        let (name, rest) = rest.split_at(end);
        if name.is_empty() {
            return Err(Flaw::at(line, "a command is expected behind the backslash"));
        }
        if name.eq_ignore_ascii_case("copy") {
            // Rows may follow, which are no SQL.
            return Err(Flaw::at(line, PSQL_COPY));
        }
        Ok(Item::Command { name: name.to_ascii_lowercase(), rest: rest.to_string(), line })
    }

    /// To what ends it, which is passed too, or to a command, which is not.
    fn statement(&mut self) -> Result<Vec<Item>, Flaw> {
        let begin = self.line;
        let comment = self.comment.take().filter(|(_, below)| *below == begin).map(|(text, _)| text);
        let mut open = Open::default();
        loop {
            let rest = self.rest();
            let Some(first) = rest.chars().next() else { break };
            if rest.starts_with(&self.terminator)
                && open.parentheses == 0
                && (open.blocks == 0 || self.terminator != ";")
            {
                self.skip(self.terminator.len());
                break;
            }
            match first {
                '\\' => break,
                '\'' | '"' | '`' => self.quoted(&mut open, first)?,
                '$' => self.dollar(&mut open)?,
                '-' if rest.starts_with("--") => {
                    self.skip(rest.find('\n').unwrap_or(rest.len()));
                }
                '/' if is_comment(rest) => {
                    let length =
                        comment_length(rest).ok_or_else(|| Flaw::at(self.line, "a comment has no end (*/)"))?;
                    self.skip(length);
                    open.plain.push(' ');
                }
                ':' => self.colon(&mut open),
                '(' | ')' => {
                    open.parentheses = match first {
                        '(' => open.parentheses + 1,
                        _ => open.parentheses.saturating_sub(1),
                    };
                    open.plain.push_str(self.skip(1));
                }
                c if is_name(c) => {
                    let word = self.skip(rest.find(|c| !is_name(c)).unwrap_or(rest.len()));
                    open.take_word(word);
                    if let Some(message) = open.copies {
                        return Err(Flaw::at(begin, message));
                    }
                    open.plain.push_str(word);
                }
                _ => open.plain.push_str(self.skip(first.len_utf8())),
            }
        }
        open.flush();
        let is_empty = open.parts.iter().all(|part| matches!(part, Part::Plain(text) if text.trim().is_empty()));
        if is_empty {
            return Ok(Vec::new());
        }
        Ok(vec![Item::Sql(Sql { parts: open.parts, line: begin, comment })])
    }

    fn quoted(&mut self, open: &mut Open, quote: char) -> Result<(), Flaw> {
        let rest = self.rest();
        // E'it\'s': PostgreSQL's strings with backslashes.
        let has_escapes = quote == '\'' && open.plain.ends_with(['e', 'E']) && open.word == "e";
        let (mut at, mut escaped) = (1, false);
        let length = loop {
            let Some(c) = rest[at..].chars().next() else {
                return Err(Flaw::at(self.line, format!("{quote} opens what nothing closes")));
            };
            at += c.len_utf8();
            if escaped {
                escaped = false;
            } else if c == '\\' && has_escapes {
                escaped = true;
            } else if c == quote {
                if !rest[at..].starts_with(quote) {
                    break at;
                }
                at += quote.len_utf8();
            }
        };
        let text = self.skip(length);
        if quote == '\'' && !has_escapes {
            open.flush();
            open.parts.push(Part::Quoted(text.to_string()));
        } else {
            open.plain.push_str(text);
        }
        Ok(())
    }

    /// `$tag$ … $tag$`, which no variable reaches into.
    fn dollar(&mut self, open: &mut Open) -> Result<(), Flaw> {
        let rest = self.rest();
        let tag = rest[1..].find('$').map(|end| &rest[..end + 2]);
        let is_tag = |tag: &&str| {
            let name = &tag[1..tag.len() - 1];
            name.chars().all(is_name) && !name.starts_with(|c: char| c.is_ascii_digit())
        };
        let is_in_word = open.plain.ends_with(is_name);
        let length = match tag.filter(is_tag).filter(|_| !is_in_word) {
            Some(tag) => match rest[tag.len()..].find(tag) {
                Some(end) => end + 2 * tag.len(),
                None => return Err(Flaw::at(self.line, format!("{tag} opens what nothing closes"))),
            },
            None => 1,
        };
        open.plain.push_str(self.skip(length));
        Ok(())
    }

    fn colon(&mut self, open: &mut Open) {
        let rest = self.rest();
        let name = &rest[1..1 + rest[1..].find(|c| !is_name(c)).unwrap_or(rest.len() - 1)];
        // A cast (::), an assignment (:=), a part of an array ([1:2]) or of a time.
        if rest.starts_with("::") {
            open.plain.push_str(self.skip(2));
        } else if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            open.plain.push_str(self.skip(1));
        } else {
            let glued = open.plain.ends_with(is_name);
            open.flush();
            open.parts.push(Part::Variable { name: name.to_string(), glued });
            open.word = String::new();
            self.skip(1 + name.len());
        }
    }
}

/// Hints (`/*+`) and MySQL's conditional parts (`/*!`) are no comments.
fn is_comment(text: &str) -> bool {
    text.starts_with("/*") && !text.starts_with("/*+") && !text.starts_with("/*!")
}

/// The length of the comment that `text` begins with; comments may be nested.
fn comment_length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut depth, mut at) = (0, 0);
    while at + 1 < bytes.len() {
        match &bytes[at..at + 2] {
            b"/*" => (depth, at) = (depth + 1, at + 2),
            b"*/" if depth == 1 => return Some(at + 2),
            b"*/" => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    None
}
