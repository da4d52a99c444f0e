//! Scripts for Firebird's isql, taken apart and run. Of isql's own commands those that OLTP-EMUL's scripts use are known:
//! SET TERM, SET TRANSACTION, SET AUTODDL, COMMIT, ROLLBACK, CONNECT and EXIT act; those that shape what isql prints do not,
//! as SHOW does not; others are refused. Every error ends a script, whatever SET BAIL says, for the kit itself goes no further
//! when a script has left a message. Source: Firebird's `doc/README.isql_enhancements.txt` and the manual "isql".

use transaction::{failed, wait, Class, Open, Outcome, Request, Scripted, Session, SessionError};

const TERMINATOR: &str = ";";

/// A piece of a script up to its terminator, without leading comments, and the line that it begins in.
#[derive(Debug, PartialEq, Eq)]
struct Piece<'a> {
    text: &'a str,
    line: usize,
}

/// Takes a script apart. The terminator changes under way, so that the reader of the pieces says what it is.
struct Pieces<'a> {
    rest: &'a str,
    line: usize,
    terminator: String,
}

impl<'a> Pieces<'a> {
    fn of(script: &'a str) -> Pieces<'a> {
        Pieces { rest: script, line: 1, terminator: TERMINATOR.to_string() }
    }

    fn pass(&mut self, bytes: usize) -> &'a str {
        let (passed, rest) = self.rest.split_at(bytes);
        self.line += passed.bytes().filter(|byte| *byte == b'\n').count();
        self.rest = rest;
        passed
    }

    fn next(&mut self) -> Option<Piece<'a>> {
        loop {
            let blank = before_words(self.rest);
            self.pass(blank);
            if self.rest.is_empty() {
                return None;
            }
            let (line, mut at) = (self.line, 0);
            let length = loop {
                let rest = &self.rest[at..];
                if rest.is_empty() || rest.starts_with(self.terminator.as_str()) {
                    break at;
                }
                at += token(rest);
            };
            let text = self.pass(length).trim_end();
            let ends = self.terminator.len().min(self.rest.len());
            self.pass(ends);
            if !text.is_empty() {
                return Some(Piece { text, line });
            }
        }
    }
}

/// The bytes of white space and comments that a text begins with.
fn before_words(text: &str) -> usize {
    let mut at = 0;
    loop {
        let rest = &text[at..];
        let blank = rest.len() - rest.trim_start().len();
        at += match blank {
            0 if rest.starts_with("--") || rest.starts_with("/*") => token(rest),
            0 => return at,
            blank => blank,
        };
    }
}

/// The bytes of what a text begins with: a comment, something quoted, or one character.
fn token(text: &str) -> usize {
    let until = |end: &str, from: usize| text[from..].find(end).map_or(text.len(), |at| from + at + end.len());
    let mut characters = text.chars();
    match characters.next() {
        Some('-') if text.starts_with("--") => until("\n", 2),
        Some('/') if text.starts_with("/*") => until("*/", 2),
        Some(quote @ ('\'' | '"')) => until(quote.encode_utf8(&mut [0; 4]), 1),
        // q'{...}', where a parenthesis of any kind is closed by its counterpart.
        Some('q' | 'Q') if text[1..].starts_with('\'') => match text[2..].chars().next() {
            Some(opens) => {
                let closes = match opens {
                    '{' => '}',
                    '[' => ']',
                    '(' => ')',
                    '<' => '>',
                    other => other,
                };
                until(&format!("{closes}'"), 2 + opens.len_utf8())
            }
            None => text.len(),
        },
        // A word is passed as a whole, for its last letter may look like the q of a text.
        Some(letter) if is_of_word(letter) => text.find(|other| !is_of_word(other)).unwrap_or(text.len()),
        Some(other) => other.len_utf8(),
        None => 0,
    }
}

fn is_of_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_' || character == '$'
}

/// What isql does with a piece.
#[derive(Debug, PartialEq, Eq)]
enum Command<'a> {
    Terminator(&'a str),
    AutoDdl(bool),
    Begin,
    Commit,
    Rollback,
    Reconnect,
    Exit,
    Nothing,
    Ddl,
    Statement,
    Unknown,
}

/// Options of isql that only shape what it prints, or how it goes on after an error.
const OPTIONS: [&str; 16] = [
    "bail",
    "blobdisplay",
    "blob",
    "count",
    "echo",
    "exec_path_display",
    "explain",
    "heading",
    "keep_tran_params",
    "list",
    "names",
    "plan",
    "planonly",
    "stat",
    "stats",
    "width",
];
const DDL: [&str; 9] = ["alter", "comment", "create", "declare", "drop", "grant", "recreate", "revoke", "external"];

fn command(text: &str) -> Command<'_> {
    let mut words = text.split_whitespace();
    let mut next = || words.next().unwrap_or("").to_ascii_lowercase();
    let first = next();
    match first.as_str() {
        "set" => match next().as_str() {
            // Without another one it is that which isql begins with: also what "set term ^;" is to a script whose own is "^".
            "term" => Command::Terminator(text.split_whitespace().nth(2).unwrap_or(TERMINATOR)),
            "transaction" => Command::Begin,
            "autoddl" | "auto" => match next().as_str() {
                "on" => Command::AutoDdl(true),
                "off" => Command::AutoDdl(false),
                _ => Command::Unknown,
            },
            "statistics" | "generator" => Command::Ddl,
            option if OPTIONS.contains(&option) => Command::Nothing,
            _ => Command::Unknown,
        },
        "commit" => Command::Commit,
        "rollback" => Command::Rollback,
        "connect" => Command::Reconnect,
        "exit" | "quit" => Command::Exit,
        "show" => Command::Nothing,
        "in" | "input" | "out" | "output" | "shell" | "edit" | "add" | "copy" | "blobdump" | "blobview" => {
            Command::Unknown
        }
        word if DDL.contains(&word) => Command::Ddl,
        _ => Command::Statement,
    }
}

/// The statements of the first transaction that a script begins, without what begins and commits it.
pub fn first_transaction(path: &str, script: &str) -> Outcome<Vec<String>> {
    let mut pieces = Pieces::of(script);
    let (mut statements, mut within) = (Vec::new(), false);
    while let Some(Piece { text, line }) = pieces.next() {
        match command(text) {
            Command::Terminator(terminator) => pieces.terminator = terminator.to_string(),
            Command::Begin if !within => within = true,
            Command::Commit if within && !statements.is_empty() => return Ok(statements),
            Command::Statement if within => statements.push(text.to_string()),
            Command::Nothing => {}
            _ if !within => {}
            _ => {
                let first: String = text.lines().next().unwrap_or("").chars().take(80).collect();
                let message = format!("{path}:{line}: acidtest does not know this within an operation: {first}");
                return Err(failed(Class::Other, message));
            }
        }
    }
    Err(failed(Class::Other, format!("{path}: it has no transaction that it begins, works in and commits")))
}

/// Runs scripts on sessions of its own, as isql does.
pub struct Isql<'a> {
    open: Open<'a>,
    session: Option<Box<dyn Session>>,
    within: bool,
    auto_ddl: bool,
}

impl<'a> Isql<'a> {
    pub fn new(open: Open<'a>) -> Isql<'a> {
        Isql { open, session: None, within: false, auto_ddl: true }
    }

    /// Runs a script to its end on its own session. Answers what it printed: the values of each row, a value a line.
    pub fn run(&mut self, path: &str, script: &str) -> Outcome<String> {
        let mut printed = String::new();
        self.auto_ddl = true;
        let ran = self.follow(path, script, &mut printed).and_then(|()| self.end(Request::Commit));
        // What follows finds the database as it then is, triggers of a connection included.
        (self.session, self.within) = (None, false);
        ran.map(|()| printed)
    }

    pub fn run_generated(&mut self, path: &str, script: &str) -> Outcome<()> {
        let made = self.run(path, script)?;
        self.run(&format!("the script that {path} made"), &made).map(|_| ())
    }

    fn follow(&mut self, path: &str, script: &str, printed: &mut String) -> Outcome<()> {
        let mut pieces = Pieces::of(script);
        while let Some(Piece { text, line }) = pieces.next() {
            let followed = match command(text) {
                Command::Terminator(terminator) => {
                    pieces.terminator = terminator.to_string();
                    Ok(())
                }
                Command::Exit => return Ok(()),
                command => self.act(command, text, printed),
            };
            followed.map_err(|error| SessionError { message: format!("{path}:{line}: {}", error.message), ..error })?;
        }
        Ok(())
    }

    fn act(&mut self, command: Command, text: &str, printed: &mut String) -> Outcome<()> {
        match command {
            Command::AutoDdl(on) => {
                self.auto_ddl = on;
                Ok(())
            }
            Command::Begin => {
                self.end(Request::Commit)?;
                self.begin(text)
            }
            Command::Commit => self.end(Request::Commit),
            Command::Rollback => self.end(Request::Rollback),
            Command::Reconnect => {
                self.end(Request::Commit)?;
                self.session = None;
                Ok(())
            }
            // isql has its own transaction for these. Ours is the one that a session has: what was written before is
            // committed with it, which no script of the kit would undo.
            Command::Ddl if self.auto_ddl => {
                self.end(Request::Commit)?;
                self.begin(BY_DEFAULT)?;
                self.once(text, printed)?;
                self.end(Request::Commit)
            }
            Command::Ddl | Command::Statement => {
                if !self.within {
                    self.begin(BY_DEFAULT)?;
                }
                self.once(text, printed)
            }
            Command::Unknown => {
                let first: String = text.lines().next().unwrap_or("").chars().take(80).collect();
                Err(failed(Class::Other, format!("acidtest does not know this command of isql: {first}")))
            }
            Command::Terminator(_) | Command::Exit | Command::Nothing => Ok(()),
        }
    }

    fn session(&mut self) -> Outcome<&mut dyn Session> {
        if self.session.is_none() {
            let mut session = (self.open)()?;
            scripted(session.as_mut())?.unconverted()?;
            self.session = Some(session);
        }
        Ok(self.session.as_mut().expect("opened above").as_mut())
    }

    fn begin(&mut self, statement: &str) -> Outcome<()> {
        let session = self.session()?;
        scripted(session)?.begins_by(Some(statement));
        wait(session, Request::Begin, &mut |_| {})?;
        self.within = true;
        Ok(())
    }

    /// Ends the open transaction, if there is one.
    fn end(&mut self, how: Request) -> Outcome<()> {
        match (std::mem::take(&mut self.within), &mut self.session) {
            (true, Some(session)) => wait(session.as_mut(), how, &mut |_| {}).map(|_| ()),
            _ => Ok(()),
        }
    }

    fn once(&mut self, text: &str, printed: &mut String) -> Outcome<()> {
        scripted(self.session()?)?.once(text, &mut |_, row| {
            for value in row {
                *printed += value.clone().into_text().as_deref().unwrap_or("");
                printed.push('\n');
            }
        })
    }
}

/// How isql begins a transaction that the script does not.
const BY_DEFAULT: &str = "set transaction";

/// What runs scripts on a session. An error on one of an engine that has none of them.
pub fn scripted(session: &mut dyn Session) -> Outcome<&mut dyn Scripted> {
    let engine = session.dialect().engine;
    session.scripted().ok_or_else(|| failed(Class::Other, format!("{engine} runs no scripts for isql")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(script: &str) -> Vec<(usize, String)> {
        let mut pieces = Pieces::of(script);
        let mut found = Vec::new();
        while let Some(piece) = pieces.next() {
            match command(piece.text) {
                Command::Terminator(terminator) => pieces.terminator = terminator.to_string(),
                _ => found.push((piece.line, piece.text.to_string())),
            }
        }
        found
    }

    #[test]
    fn a_script_is_taken_apart_at_its_terminators() {
        let script = "-- first; not a piece\nselect 1 from t; commit; -------- [1];\n\nset term ^;\ncreate procedure p as\n\
                      begin\n  x = 'a^b'; /* ^ */ -- ^\nend^ -- p\nset term ;^\ncommit;\ninsert into t values('it''s;');;\nlast";
        assert_eq!(
            pieces(script),
            [
                (2, "select 1 from t".to_string()),
                (2, "commit".to_string()),
                (5, "create procedure p as\nbegin\n  x = 'a^b'; /* ^ */ -- ^\nend".to_string()),
                (10, "commit".to_string()),
                (11, "insert into t values('it''s;')".to_string()),
                (12, "last".to_string()),
            ]
        );
    }

    #[test]
    fn texts_in_brackets_of_their_own_hide_terminators() {
        assert_eq!(
            pieces("a q'{ ; ' }' b; iq'c;d'; Q'!;!'"),
            [(1, "a q'{ ; ' }' b".to_string()), (1, "iq'c;d'".to_string()), (1, "Q'!;!'".to_string()),]
        );
        for open in ["'", "\"", "q'", "q'{", "/*", "--", "q"] {
            assert_eq!(pieces(&format!("x {open}; y")).len(), if open == "q" { 2 } else { 1 }, "{open}");
        }
    }

    #[test]
    fn an_operation_is_what_lies_between_its_beginning_and_its_commit() {
        let script = "set bail on;\ncommit;\nset transaction no wait;\nset heading off;\nset term ^;\nexecute block as begin x; \
                      end^\nset term ;^\ndelete from t;\ncommit;\nset list off;\nselect 2 from t;";
        assert_eq!(first_transaction("s", script).unwrap(), ["execute block as begin x; end", "delete from t"]);
        for (script, wanted) in [
            ("select 1 from t; commit;", "it has no transaction that it begins"),
            ("set transaction; select 1 from t;", "it has no transaction that it begins"),
            (
                "set transaction;\nselect 1 from t;\nrollback;",
                "s:3: acidtest does not know this within an operation: rollback",
            ),
            ("set transaction;\nshell sleep 1;", "s:2: acidtest does not know this within an operation: shell sleep 1"),
        ] {
            let message = first_transaction("s", script).unwrap_err().message;
            assert!(message.contains(wanted), "{message}");
        }
    }

    #[test]
    fn what_isql_keeps_for_itself_is_no_statement() {
        for (text, wanted) in [
            ("SET TERM ^", Command::Terminator("^")),
            ("set term", Command::Terminator(";")),
            ("set autoddl off", Command::AutoDdl(false)),
            ("set transaction no wait", Command::Begin),
            ("set heading off", Command::Nothing),
            ("show version", Command::Nothing),
            ("connect 'x' user 'y'", Command::Reconnect),
            ("commit work", Command::Commit),
            ("create or alter view v as select 1 x from t", Command::Ddl),
            ("set statistics index i", Command::Ddl),
            ("execute block as begin end", Command::Statement),
            ("shell rm", Command::Unknown),
            ("in \"other.sql\"", Command::Unknown),
            ("set sqlda_display on", Command::Unknown),
        ] {
            assert_eq!(command(text), wanted, "{text}");
        }
    }
}
