//! The language of users' scripts: that of pgbench's script files, with what loads and conditions need beside it.
//!
//! A script is SQL with commands between: `\set`, `\gset`, `\if` … as in the manual of pgbench (PostgreSQL 18), and ours:
//! `\repeat`, `\expect`, `\think`, texts and dates in expressions. It is read once, into a [`Program`] whose variables are
//! slots and whose branches are jumps; every error names file and line. Nothing here knows an engine, a session or a clock.

mod datum;
mod draw;
mod evaluate;
mod expression;
mod function;
mod names;
mod program;
mod scan;
#[cfg(test)]
mod tests;
mod token;

pub use datum::Datum;
pub use draw::Random;
pub use evaluate::Frame;
pub use expression::{expression, Expression};
pub use names::Names;
pub use program::{declare, program, After, Command, Parameter, Piece, Program, Statement};
pub use scan::{statements, statements_with, verb, Verb, Written};

/// A file of the user's, by the name that messages give it.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    pub path: &'a str,
    pub text: &'a str,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    pub line: usize,
    pub message: String,
}

impl Flaw {
    pub fn at(line: usize, message: impl Into<String>) -> Flaw {
        Flaw { line, message: message.into() }
    }

    pub fn located(&self, path: &str) -> String {
        format!("{path}:{}: {}", self.line, self.message)
    }
}
