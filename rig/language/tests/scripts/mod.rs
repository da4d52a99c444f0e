//! What must hold of every script: it is read, or refused in a line that exists; its jumps stay in it; its expressions have a
//! value, or an error that says why; and all of it in a time that grows with its length alone.

use fuzzing::{texts, Mutations};
use language::{
    declare, expression, program, statements, Command, Datum, Expression, Flaw, Frame, Names, Program, Random, Source,
};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::{Path, PathBuf};

const LENGTH_MAX: usize = 256 << 10;
/// Expressions of one script whose values are worked out.
const VALUES_MAX: usize = 50;

pub fn words() -> Vec<String> {
    fuzzing::words(include_str!("../words.json"))
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

pub fn corpus() -> PathBuf {
    folder("tests/corpus")
}

/// Scripts of every kind that are right, those of the shipped workloads, and those in the corpus.
pub fn seeds() -> Vec<String> {
    let shipped = std::fs::read_dir(folder("../../workloads")).expect("the shipped workloads");
    let mut shipped: Vec<PathBuf> = shipped.map(|workload| workload.expect("a folder").path()).collect();
    shipped.sort();
    let folders = [folder("tests/seeds")].into_iter().chain(shipped).chain([corpus()]);
    folders.flat_map(|folder| texts(&folder, "sql")).map(|(_, text)| text).collect()
}

pub fn mutations(seed: u64) -> Mutations {
    Mutations::new(seed, seeds(), words(), LENGTH_MAX)
}

/// The outcome of one script: an answer that distinguishes it from others, or what is wrong with the reader.
pub fn examine(text: &str) -> Result<u64, String> {
    match catch_unwind(AssertUnwindSafe(|| examined(text))) {
        Ok(answer) => answer,
        Err(_) => Err("a panic".to_string()),
    }
}

/// Names that a script may use without setting them.
pub fn known() -> Names {
    let mut names = Names::default();
    for name in ["client_id", "scale", "a"] {
        names.slot(name);
    }
    names.set_rows("t", 100);
    names
}

/// Reads a script as a workload's files are read.
pub fn read(source: Source) -> Result<(Program, Names), Flaw> {
    let mut names = known();
    declare(source, &mut names)?;
    program(source, &mut names).map(|program| (program, names))
}

fn examined(text: &str) -> Result<u64, String> {
    let source = Source { path: "fuzz.sql", text };
    let lines = text.matches('\n').count() + 1;
    let mut answer = DefaultHasher::new();
    let mut report = |flaw: &Flaw| -> Result<(), String> {
        // Words that the script brings are none of the answer's.
        flaw.message.chars().take(24).collect::<String>().hash(&mut answer);
        match flaw {
            Flaw { line, .. } if !(1..=lines).contains(line) => Err(format!("line {line} of {lines}")),
            Flaw { message, .. } if message.is_empty() => Err("a flaw without a word".to_string()),
            _ => Ok(()),
        }
    };
    match statements(source) {
        Ok(found) if found.iter().any(|one| !(1..=lines).contains(&one.line)) => {
            return Err(format!("a statement begins in none of {lines} lines"))
        }
        Ok(_) => {}
        Err(flaw) => report(&flaw)?,
    }
    if let Err(flaw) = expression(text, 1, &mut known()) {
        report(&flaw)?;
    }
    match read(source) {
        Ok((program, names)) => {
            let ends = jumps(&program)?;
            (program.commands.len().min(40), program.statements.len().min(20), ends).hash(&mut answer);
            values(&program, &names)?;
        }
        Err(flaw) => report(&flaw)?,
    }
    Ok(answer.finish())
}

/// How many jumps there are; each lands in the script or right behind it, and each statement has a text.
fn jumps(program: &Program) -> Result<usize, String> {
    let (mut found, commands) = (0, program.commands.len());
    for (command, _) in &program.commands {
        match command {
            Command::Unless { to, .. }
            | Command::Jump { to }
            | Command::Repeat { to, .. }
            | Command::Again { to, .. }
                if *to > commands =>
            {
                return Err(format!("a jump to {to} in {commands} commands"))
            }
            Command::Unless { .. } | Command::Jump { .. } | Command::Repeat { .. } | Command::Again { .. } => {
                found += 1
            }
            Command::Run { statement, .. } => {
                let statement = program.statements.get(*statement).ok_or("a statement that is none")?;
                if statement.parts.len() != statement.parameters.len() + 1 {
                    return Err("a statement has another number of parts than of parameters".to_string());
                }
            }
            _ => {}
        }
    }
    Ok(found)
}

/// Works out expressions in the order of the script, as its run does where no branch is left out.
fn values(program: &Program, names: &Names) -> Result<(), String> {
    let mut variables = vec![Datum::Unset; names.len()];
    variables[..3].fill(Datum::Int(1));
    let mut random = Random::new(7);
    let mut value = |expression: &Expression, variables: &[Datum]| {
        let mut frame = Frame { names, variables, random: &mut random, default_seed: 7 };
        match expression.value(&mut frame) {
            Err(message) if message.is_empty() => Err("an error without a word".to_string()),
            value => Ok(value.ok()),
        }
    };
    for (command, _) in program.commands.iter().take(VALUES_MAX) {
        match command {
            Command::Set { slot, value: expression } => {
                if let Some(set) = value(expression, &variables)? {
                    variables[*slot] = set;
                }
            }
            Command::Unless { condition: expression, .. }
            | Command::Sleep { length: expression, .. }
            | Command::Repeat { times: expression, .. }
            | Command::Run { expect: Some(expression), .. } => drop(value(expression, &variables)?),
            _ => {}
        }
    }
    Ok(())
}
