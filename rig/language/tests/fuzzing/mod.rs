//! Scripts changed at random, and what must hold of each: it is read, or refused in a line that exists; its jumps stay in
//! it; its expressions have a value, or an error that says why; and all of it in a time that grows with its length alone.

use language::{
    declare, expression, program, statements, Command, Datum, Expression, Flaw, Frame, Names, Program, Random, Source,
};
use rand::{RngExt as _, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::{Path, PathBuf};

/// Every command, quote and comment that a script may have.
const EVERYTHING: &str = "\\set a random(1, 10 * :scale) + abs(-3) % 7 \\\n  - 1\n\\set b case when :a > 5 and not :a is null then 1.5e0 \
    else pow(2, :a) end\n\\if :a >= 2 or :b <> 1\nbegin isolation level serializable;\nselect 1 as x, ':a' as y \\gset p_\n\
    \\elif :a << 2 | 1 # 3 & 7 = 1\nstart transaction;\nselect 2 \\; select 3 \\aset\n\\else\nbegin;\nsavepoint s; rollback to s;\n\
    \\endif\nupdate t set a = a + :a where b = :b and c = 'it''s :a' and d[1:2] = '{1}'::int[];\n\\expect 1\n\\repeat 3\n\
    insert into t values (E'\\\\n', $$:a$$, \"q\", /* c /* n */ */ :p_x); -- end\n\\endrepeat\n\\sleep :a us\ncommit;\n\
    \\startpipeline\nselect 1;\n\\syncpipeline\nselect 2;\n\\endpipeline\n\\think 5 ms\nselect * from t:a;\n";
const FUNCTIONS: &str = "\\set a concat(text(1, 9), digits(3), choose(1, 'x', null))\n\\set b hash(:client_id, 3) + \
    permute(2, 10) + nurand(255, 1, 9) + random_zipfian(1, 9, 1.1)\n\\set c day('2026-02-28', 1)\n\\set d \
    moment('2026-12-31 23:59:59', 1)\n\\set e greatest(1, 2.5) + least(1, 2) + mod(7, 3) + int(2.5) + double(1) + ln(2) + \
    exp(1) + sqrt(4) + pi() + debug(1)\n\\set f random_exponential(1, 9, 2) + random_gaussian(1, 9, 2)\nselect :a, :b;\n";
const SCHEMA: &str = "-- first\ncreate table t (a int);\nset term ^ ;\ncreate procedure p as begin if (1 = 1) then exit; end^\n\
    set term ; ^\ndelimiter //\ncreate trigger g before insert on t begin case 1 when 1 then set a = 1; end case; end//\n\
    delimiter ;\ncreate function f() returns int as $b$ begin return 1; end $b$ language plpgsql;\nselect a from t where a < 0;\n";
/// What is put in at random.
pub const WORDS: [&str; 74] = [
    "\\set",
    "\\gset",
    "\\aset",
    "\\if",
    "\\elif",
    "\\else",
    "\\endif",
    "\\repeat",
    "\\endrepeat",
    "\\sleep",
    "\\think",
    "\\expect",
    "\\startpipeline",
    "\\syncpipeline",
    "\\endpipeline",
    "\\;",
    "\\",
    "\\copy",
    ";",
    ":",
    "::",
    ":a",
    ":p_x",
    "'",
    "''",
    "\"",
    "`",
    "$$",
    "$b$",
    "$",
    "(",
    ")",
    "[",
    "]",
    "--",
    "/*",
    "*/",
    "/*+",
    "/*!",
    "\n",
    "\r\n",
    "\\\n",
    " ",
    "begin",
    "end",
    "case",
    "when",
    "then",
    "else",
    "copy t from stdin",
    "to stdout",
    "select",
    "create trigger",
    "delimiter",
    "set term",
    "e'",
    "interval '",
    "not",
    "is null",
    "9223372036854775807",
    "-9223372036854775808",
    "1e308",
    "random(",
    "text(",
    "day('0001-01-01', ",
    "permute(",
    "ä",
    "\u{1F418}",
    "\u{0}",
    "%",
    "x",
    "delimiterx",
    "copy",
    "concat(:a, :a)",
];

/// Longest of the scripts that are made.
const LENGTH_MAX: usize = 256 << 10;
/// Expressions of one script whose values are worked out.
const VALUES_MAX: usize = 50;

pub fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

/// Scripts of every kind that are right, and those in the corpus.
pub fn seeds() -> Vec<String> {
    let mut found = vec![EVERYTHING.to_string(), FUNCTIONS.to_string(), SCHEMA.to_string()];
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads");
    let folders = std::fs::read_dir(shipped).expect("the shipped workloads");
    let mut folders: Vec<PathBuf> = folders.map(|folder| folder.expect("a folder").path()).collect();
    folders.sort();
    found.extend(folders.iter().chain([&corpus()]).flat_map(|folder| scripts(folder)).map(|(_, text)| text));
    found
}

/// The scripts in a folder, by their names.
pub fn scripts(folder: &Path) -> Vec<(String, String)> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let sql = paths.iter().filter(|path| path.extension().is_some_and(|extension| extension == "sql"));
    sql.map(|path| (path.display().to_string(), std::fs::read_to_string(path).expect("a script"))).collect()
}

/// Makes one script after another, the same ones from the same seed.
pub struct Mutations {
    random: ChaCha8Rng,
    pool: Vec<String>,
    /// What reading has answered so far: a script with a new answer is changed further.
    answers: HashSet<u64>,
}

impl Mutations {
    pub fn new(seed: u64) -> Mutations {
        Mutations { random: ChaCha8Rng::seed_from_u64(seed), pool: seeds(), answers: HashSet::new() }
    }

    fn below(&mut self, limit: usize) -> usize {
        self.random.random_range(0..limit.max(1))
    }

    pub fn next(&mut self) -> String {
        let at = self.below(self.pool.len());
        let mut text: Vec<char> = self.pool[at].chars().collect();
        for _ in 0..=self.below(6) {
            self.change(&mut text);
        }
        let mut text: String = text.into_iter().collect();
        while text.len() > LENGTH_MAX {
            text = text.chars().take(text.chars().count() / 2).collect();
        }
        text
    }

    fn change(&mut self, text: &mut Vec<char>) {
        let from = self.below(text.len() + 1);
        let to = (from + self.below(40)).min(text.len());
        let word: Vec<char> = WORDS[self.below(WORDS.len())].chars().collect();
        match self.below(8) {
            0 => drop(text.drain(from..to)),
            1 | 2 => drop(text.splice(from..from, word)),
            3 => drop(text.splice(from..to, word)),
            // Many of one thing: what takes longer for each byte the more there are.
            4 => {
                let times = 1 << self.below(15);
                let many: Vec<char> = word.iter().copied().cycle().take(word.len() * times).collect();
                drop(text.splice(from..from, many));
            }
            5 => {
                let part = text[from..to].to_vec();
                let times = 1 << self.below(12);
                let many: Vec<char> = part.iter().copied().cycle().take(part.len() * times).collect();
                drop(text.splice(to..to, many));
            }
            6 => {
                let other = self.below(self.pool.len());
                let other: Vec<char> = self.pool[other].chars().collect();
                let begin = self.below(other.len() + 1);
                drop(text.splice(from..to, other[begin..].iter().copied()));
            }
            _ => {
                if let Some(one) = text.get_mut(from) {
                    *one = char::from(self.random.random_range(1u8..127));
                }
            }
        }
    }

    /// Keeps a script whose reading has answered what no other's has.
    pub fn learn(&mut self, text: &str, answer: u64) {
        if text.len() < 4096 && self.pool.len() < 4000 && self.answers.insert(answer) {
            self.pool.push(text.to_string());
        }
    }
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
    let mut told = |flaw: &Flaw| -> Result<(), String> {
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
        Err(flaw) => told(&flaw)?,
    }
    if let Err(flaw) = expression(text, 1, &mut known()) {
        told(&flaw)?;
    }
    match read(source) {
        Ok((program, names)) => {
            let ends = jumps(&program)?;
            (program.commands.len().min(40), program.statements.len().min(20), ends).hash(&mut answer);
            values(&program, &names)?;
        }
        Err(flaw) => told(&flaw)?,
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
