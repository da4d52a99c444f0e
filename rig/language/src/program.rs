//! A script as it is run: commands in a row, branches and loops as jumps.

use crate::scan::{items, verb, Item, Part, Sql};
use crate::token::{is_name, tokens, Token};
use crate::{expression, Expression, Flaw, Names, Source, Verb};

#[derive(Debug, Clone, Default)]
pub struct Program {
    pub path: String,
    /// Each with its line.
    pub commands: Vec<(Command, usize)>,
    pub statements: Vec<Statement>,
    /// How many loops it has; each counts for itself.
    pub counters: usize,
    /// The pause after it: an expression, and the microseconds of its unit.
    pub think: Option<(Expression, f64)>,
    /// A statement of it changes rows.
    pub writes: bool,
    /// A statement of it makes what another may need.
    pub defines: bool,
    /// Its statements are to travel together where they may (`\startpipeline`).
    pub pipelined: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    Begin {
        /// What stands behind the words: an isolation level.
        options: String,
    },
    Commit,
    Rollback,
    Run {
        statement: usize,
        after: After,
        /// It must change, or a query answer, so many rows.
        expect: Option<Expression>,
        /// Its answer may come later.
        later: bool,
    },
    Set {
        slot: usize,
        value: Expression,
    },
    Sleep {
        length: Expression,
        unit_us: f64,
    },
    /// Goes on at `to` unless the condition is true.
    Unless {
        condition: Expression,
        to: usize,
    },
    Jump {
        to: usize,
    },
    /// Goes on at `to` where there is nothing to repeat.
    Repeat {
        counter: usize,
        times: Expression,
        to: usize,
    },
    /// Goes back to `to` as long as the loop's counter says so.
    Again {
        counter: usize,
        to: usize,
    },
    /// Begins a transaction of what is sent as one, where none is open.
    Gather,
    /// Commits it.
    Release,
}

/// What happens to the rows that a statement answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum After {
    Nothing,
    /// Its one row's columns become variables, with this before their names.
    Set(String),
    /// The same of the last of its rows, if there is one.
    SetAny(String),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    /// The text around its parameters: one more than those.
    pub parts: Vec<String>,
    pub parameters: Vec<Parameter>,
    /// A variable stands where no parameter can: the text is put together anew for its values.
    pub rendered: bool,
    pub verb: Verb,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Parameter {
    Slot(usize),
    Text(Vec<Piece>),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    Plain(String),
    Slot(usize),
}

/// Words before a string that make one literal with it.
const TYPED: [&str; 9] = ["interval", "date", "time", "timestamp", "timestamptz", "x", "b", "n", "uuid"];
/// Words before the name of a table.
const BEFORE_NAMES: [&str; 7] = ["from", "into", "update", "join", "table", "index", "sequence"];

/// Gives a slot to each variable that the script assigns to.
pub fn declare(source: Source, names: &mut Names) -> Result<(), Flaw> {
    for item in items(source.text)? {
        if let Item::Command { name, rest, .. } = item {
            match name.as_str() {
                "set" => {
                    let rest = rest.trim_start();
                    names.slot(&rest[..rest.find(|c| !is_name(c)).unwrap_or(rest.len())]);
                }
                "gset" | "aset" => names.from_queries = true,
                _ => {}
            }
        }
    }
    Ok(())
}

/// Reads a script. The variables of every script must have been declared.
pub fn program(source: Source, names: &mut Names) -> Result<Program, Flaw> {
    declare(source, names)?;
    let mut reader = Reader {
        program: Program { path: source.path.to_string(), ..Program::default() },
        names,
        open: Vec::new(),
        last_run: None,
        joint: false,
        piped: false,
    };
    let items = items(source.text)?;
    for (number, item) in items.iter().enumerate() {
        match item {
            Item::Sql(sql) => reader.sql(sql, items.get(number + 1))?,
            Item::Command { name, rest, line } => reader.command(name, rest, *line)?,
            Item::Joint { .. } => {}
        }
    }
    reader.finish()
}

/// What is open, with the line where it began.
enum Block {
    If {
        line: usize,
        /// The jump over the branch under way.
        unless: Option<usize>,
        /// Those from the branches' ends to behind the whole.
        ends: Vec<usize>,
        /// The last branch has begun.
        is_else: bool,
    },
    Repeat {
        line: usize,
        start: usize,
        counter: usize,
    },
}

struct Reader<'a> {
    program: Program,
    names: &'a mut Names,
    open: Vec<Block>,
    /// The command that `\gset` or `\expect` right behind it is about.
    last_run: Option<usize>,
    /// Statements joined by `\;` are under way.
    joint: bool,
    piped: bool,
}

impl Reader<'_> {
    fn push(&mut self, command: Command, line: usize) -> usize {
        self.program.commands.push((command, line));
        self.program.commands.len() - 1
    }

    fn here(&self) -> usize {
        self.program.commands.len()
    }

    fn sql(&mut self, sql: &Sql, next: Option<&Item>) -> Result<(), Flaw> {
        let is_joined = matches!(next, Some(Item::Joint { .. }));
        if is_joined && !self.joint && !self.piped {
            self.push(Command::Gather, sql.line);
        }
        let ends_joint = self.joint && !is_joined;
        self.joint = is_joined;
        self.last_run = None;
        let verb = verb(&sql.text());
        match verb {
            Verb::Begin => {
                let options = options(&sql.text());
                self.push(Command::Begin { options }, sql.line);
            }
            Verb::Commit => {
                let text = sql.text().to_ascii_lowercase();
                if text.contains("chain") && !text.contains("no chain") || text.contains("prepared") {
                    return Err(Flaw::at(sql.line, format!("{text}: acidtest knows commit alone; begin anew instead")));
                }
                self.push(Command::Commit, sql.line);
            }
            Verb::Rollback => {
                self.push(Command::Rollback, sql.line);
            }
            Verb::Reads | Verb::Writes | Verb::Defines => {
                let statement = self.statement(sql)?;
                self.program.statements.push(statement);
                self.program.writes |= verb != Verb::Reads;
                self.program.defines |= verb == Verb::Defines;
                let run = Command::Run {
                    statement: self.program.statements.len() - 1,
                    after: After::Nothing,
                    expect: None,
                    later: self.piped,
                };
                self.last_run = Some(self.push(run, sql.line));
            }
        }
        if ends_joint && !self.piped {
            // What is set from its rows comes first: a command may follow.
            let last = self.last_run;
            self.push(Command::Release, sql.line);
            self.last_run = last;
        }
        Ok(())
    }

    fn statement(&mut self, sql: &Sql) -> Result<Statement, Flaw> {
        let (mut parts, mut parameters, mut rendered) = (vec![String::new()], Vec::new(), false);
        for part in &sql.parts {
            let before = parts.last_mut().expect("there is always one");
            match part {
                Part::Plain(text) => before.push_str(text),
                Part::Variable { name, glued } => {
                    let slot = self.names.used(name).map_err(|message| Flaw::at(sql.line, message))?;
                    rendered |= *glued || BEFORE_NAMES.contains(&last_word(before).as_str());
                    parameters.push(Parameter::Slot(slot));
                    parts.push(String::new());
                }
                Part::Quoted(text) => match self.pieces(text) {
                    Some(pieces) => {
                        rendered |= TYPED.contains(&last_word(before).as_str());
                        parameters.push(Parameter::Text(pieces));
                        parts.push(String::new());
                    }
                    None => before.push_str(text),
                },
            }
        }
        // Blanks at the end are nobody's.
        let last = parts.last_mut().expect("there is always one");
        last.truncate(last.trim_end().len());
        let blank = parts[0].len() - parts[0].trim_start().len();
        parts[0].drain(..blank);
        Ok(Statement { parts, parameters, rendered, verb: verb(&sql.text()) })
    }

    /// What a string in quotes consists of, where there are variables in it.
    fn pieces(&self, quoted: &str) -> Option<Vec<Piece>> {
        let content = quoted[1..quoted.len() - 1].replace("''", "'");
        let (mut pieces, mut plain, mut rest) = (Vec::new(), String::new(), content.as_str());
        while let Some(at) = rest.find(':') {
            let after = &rest[at + 1..];
            let name = &after[..after.find(|c| !is_name(c)).unwrap_or(after.len())];
            plain.push_str(&rest[..at]);
            rest = after;
            match self.names.find(name) {
                Some(slot) => {
                    pieces.push(Piece::Plain(std::mem::take(&mut plain)));
                    pieces.push(Piece::Slot(slot));
                    rest = &rest[name.len()..];
                }
                None => plain.push(':'),
            }
        }
        plain.push_str(rest);
        (!pieces.is_empty()).then(|| {
            pieces.push(Piece::Plain(plain));
            pieces
        })
    }

    fn expression(&mut self, text: &str, line: usize) -> Result<Expression, Flaw> {
        expression(text, line, self.names)
    }

    fn command(&mut self, name: &str, rest: &str, line: usize) -> Result<(), Flaw> {
        let last_run = if matches!(name, "gset" | "aset" | "expect") { self.last_run } else { self.last_run.take() };
        let without = |what: &str| match rest.trim().is_empty() {
            true => Ok(()),
            false => Err(Flaw::at(line, format!("\\{what} takes nothing behind it, here stands {}", rest.trim()))),
        };
        match name {
            "set" => {
                let rest = rest.trim_start();
                let (name, value) = rest.split_at(rest.find(|c| !is_name(c)).unwrap_or(rest.len()));
                if name.is_empty() || value.trim().is_empty() {
                    return Err(Flaw::at(line, "\\set takes a name and an expression: \\set id random(1, 100)"));
                }
                let (slot, value) = (self.names.slot(name), self.expression(value, line)?);
                self.push(Command::Set { slot, value }, line);
            }
            "gset" | "aset" => self.set_from_rows(name, rest.trim(), last_run, line)?,
            "expect" => {
                let expected = self.expression(rest, line)?;
                match last_run.map(|at| &mut self.program.commands[at].0) {
                    Some(Command::Run { expect, later, .. }) => {
                        (*expect, *later) = (Some(expected), false);
                    }
                    _ => return Err(Flaw::at(line, "\\expect stands right behind a statement")),
                }
            }
            "if" => {
                let condition = self.expression(rest, line)?;
                let unless = self.push(Command::Unless { condition, to: 0 }, line);
                self.open.push(Block::If { line, unless: Some(unless), ends: Vec::new(), is_else: false });
            }
            "elif" => {
                self.next_branch(name, false, line)?;
                let condition = self.expression(rest, line)?;
                let at = self.push(Command::Unless { condition, to: 0 }, line);
                if let Some(Block::If { unless, .. }) = self.open.last_mut() {
                    *unless = Some(at);
                }
            }
            "else" => {
                without("else")?;
                self.next_branch(name, true, line)?;
            }
            "endif" => {
                without("endif")?;
                let here = self.here();
                match self.open.pop() {
                    Some(Block::If { unless, ends, .. }) => {
                        unless.into_iter().chain(ends).for_each(|at| self.lands(at, here));
                    }
                    _ => return Err(Flaw::at(line, "\\endif without an \\if")),
                }
            }
            "repeat" => {
                let times = self.expression(rest, line)?;
                let counter = self.program.counters;
                self.program.counters += 1;
                let start = self.push(Command::Repeat { counter, times, to: 0 }, line);
                self.open.push(Block::Repeat { line, start, counter });
            }
            "endrepeat" => {
                without("endrepeat")?;
                match self.open.pop() {
                    Some(Block::Repeat { start, counter, .. }) => {
                        self.push(Command::Again { counter, to: start + 1 }, line);
                        let here = self.here();
                        self.lands(start, here);
                    }
                    _ => return Err(Flaw::at(line, "\\endrepeat without a \\repeat")),
                }
            }
            "sleep" => {
                let (length, unit_us) = self.length(rest, "s", line)?;
                self.push(Command::Sleep { length, unit_us }, line);
            }
            "think" if !self.open.is_empty() => {
                return Err(Flaw::at(line, "\\think is of the whole script and stands in no branch and no loop"))
            }
            "think" => self.program.think = Some(self.length(rest, "ms", line)?),
            "startpipeline" | "endpipeline" | "syncpipeline" => {
                without(name)?;
                if self.piped == (name == "startpipeline") {
                    let message = match self.piped {
                        true => "\\startpipeline within a pipeline".to_string(),
                        false => format!("\\{name} without a \\startpipeline"),
                    };
                    return Err(Flaw::at(line, message));
                }
                if name != "startpipeline" {
                    self.push(Command::Release, line);
                }
                if name != "endpipeline" {
                    self.push(Command::Gather, line);
                }
                self.piped = name != "endpipeline";
                self.program.pipelined = true;
            }
            "setshell" | "shell" => {
                return Err(Flaw::at(
                    line,
                    format!("\\{name} runs a program of this machine, which acidtest does not do"),
                ))
            }
            _ => {
                return Err(Flaw::at(
                    line,
                    format!(
                    "\\{name} is no command; there are set, gset, aset, if, elif, else, endif, sleep, startpipeline, \
                         syncpipeline, endpipeline, repeat, endrepeat, expect and think"
                ),
                ))
            }
        }
        Ok(())
    }

    fn set_from_rows(&mut self, name: &str, prefix: &str, run: Option<usize>, line: usize) -> Result<(), Flaw> {
        let after_ = |prefix: String| if name == "gset" { After::Set(prefix) } else { After::SetAny(prefix) };
        if !prefix.chars().all(is_name) {
            return Err(Flaw::at(line, format!("\\{name} takes the beginning of names, not {prefix}")));
        }
        match run.map(|at| &mut self.program.commands[at].0) {
            Some(Command::Run { after, later, .. }) => {
                (*after, *later) = (after_(prefix.to_string()), false);
                Ok(())
            }
            _ => Err(Flaw::at(line, format!("\\{name} stands right behind a query"))),
        }
    }

    fn length(&mut self, text: &str, default: &str, line: usize) -> Result<(Expression, f64), Flaw> {
        let text = text.trim();
        let is_unit = |unit: &str| matches!(unit, "us" | "ms" | "s");
        let begin = text.trim_end_matches(|c: char| c.is_ascii_alphabetic()).len();
        // ":pause_us" is a name and no unit.
        let in_name = text[..begin].ends_with(|c| is_name(c) && !char::is_ascii_digit(&c) || c == ':')
            || matches!(tokens(text, line)?.last(), Some((Token::Variable(_), _)));
        let (value, unit) = match &text[begin..] {
            unit if is_unit(unit) && !in_name => (&text[..begin], unit),
            _ => (text, default),
        };
        let unit_us = match unit {
            "us" => 1.0,
            "ms" => 1e3,
            _ => 1e6,
        };
        Ok((self.expression(value, line)?, unit_us))
    }

    /// Ends the branch under way.
    fn next_branch(&mut self, name: &str, last: bool, line: usize) -> Result<(), Flaw> {
        let Some(Block::If { is_else: false, .. }) = self.open.last() else {
            let message = match self.open.last() {
                Some(Block::If { .. }) => format!("\\{name} behind \\else"),
                _ => format!("\\{name} without an \\if"),
            };
            return Err(Flaw::at(line, message));
        };
        let end = self.push(Command::Jump { to: 0 }, line);
        let here = self.here();
        let Some(Block::If { unless, ends, is_else, .. }) = self.open.last_mut() else {
            unreachable!("looked at above")
        };
        ends.push(end);
        *is_else = last;
        if let Some(at) = unless.take() {
            self.lands(at, here);
        }
        Ok(())
    }

    /// Makes the jump at `at` one to `here`.
    fn lands(&mut self, at: usize, here: usize) {
        match &mut self.program.commands[at].0 {
            Command::Unless { to, .. } | Command::Jump { to } | Command::Repeat { to, .. } => *to = here,
            _ => unreachable!("only jumps are noted"),
        }
    }

    fn finish(mut self) -> Result<Program, Flaw> {
        match self.open.pop() {
            Some(Block::If { line, .. }) => return Err(Flaw::at(line, "\\if has no \\endif")),
            Some(Block::Repeat { line, .. }) => return Err(Flaw::at(line, "\\repeat has no \\endrepeat")),
            None => {}
        }
        if self.piped {
            let line = self.program.commands.last().map_or(1, |(_, line)| *line);
            return Err(Flaw::at(line, "\\startpipeline has no \\endpipeline"));
        }
        if self.program.commands.is_empty() {
            return Err(Flaw::at(1, "there is nothing in it to run"));
        }
        Ok(self.program)
    }
}

/// What stands behind `begin`, `begin transaction` or `start transaction`.
fn options(text: &str) -> String {
    let mut words: Vec<&str> = text.split_whitespace().collect();
    words.remove(0);
    if words.first().is_some_and(|word| ["transaction", "work"].contains(&word.to_ascii_lowercase().as_str())) {
        words.remove(0);
    }
    words.join(" ")
}

/// The word at a text's end, in lower case; what stands behind it are blanks alone.
fn last_word(text: &str) -> String {
    let text = text.trim_end();
    text[text.rfind(|c| !is_name(c)).map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8))..]
        .to_ascii_lowercase()
}
