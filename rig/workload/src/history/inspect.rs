//! What a database holds of histories, by every access path, beside the model. What reads is apart from what compares.

use super::generate::{Fate, History, Row, Settings, EXTRA, SHARED};
use crate::common::condition;
use crate::sql::{files, File, Files};
use protocol::Condition;
use std::collections::BTreeMap;
use transaction::{failed, Acknowledged, Class, Dialect, Outcome, Session, Value};

const SQL: Files = files!("");

/// The statements of an engine's histories.
pub fn file(dialect: &Dialect) -> Outcome<File> {
    SQL.of(dialect).ok_or_else(|| failed(Class::Other, format!("{} has no SQL for a history", dialect.engine)))
}

/// Of a condition that does not hold, so many rows are named.
const NAMED_MAX: usize = 4;
/// Keys that are looked up by one query. Firebird takes 1,500 in a list.
const LOOKED_UP: usize = 200;
/// Transactions beyond the last commit of which rows are recognised.
const AHEAD: usize = 200;
/// More commits than a terminal can have made: a counter that says so is wrong.
const COMMITS_MAX: i64 = 20_000_000;

/// The access paths that answer whole rows, by the names of their statements, each with the words for it.
const PATHS: [(&str, &str); 4] = [
    ("by_key", "in the order of the primary key"),
    ("by_group", "by the index of grp"),
    ("by_unique", "by the unique index of uniq"),
    ("by_owner", "by the index of owner and version"),
];
const NATURAL: &str = "by a natural scan";
const LOOK_UP: &str = "by a look-up of its key";
const ENTRIES: &str = "in the entries of the index of grp";

/// The columns of a row that every path answers: id, owner, version, grp, uniq.
type Short = [Option<i64>; 5];

#[derive(Debug, Clone, Default)]
pub struct Found {
    /// By terminal: commits and seed.
    pub counters: BTreeMap<u64, (i64, i64)>,
    /// What is not the same by the scan and by the key, of the small tables.
    pub differing: Vec<String>,
    /// Each row, its text, its body.
    pub natural: Vec<(Short, Value, Value)>,
    pub paths: Vec<(&'static str, Vec<Short>)>,
    /// Keys and groups as the index has them; none where an engine always reads the rows too.
    pub entries: Option<Vec<[Option<i64>; 2]>>,
    /// Keys that were looked up, and the rows that came.
    pub looked_up: (Vec<u64>, Vec<Short>),
    pub shared: BTreeMap<i64, i64>,
    /// The terminals' own tables, by terminal: rows by a scan and by the index.
    pub own: BTreeMap<u64, [Vec<[Option<i64>; 2]>; 2]>,
    /// Of the indexes that terminals have made over the rows of all, the rows by each.
    pub made: BTreeMap<u64, Vec<Short>>,
    /// Of the columns that terminals have added to the rows of all: key and value of each row.
    pub columns: BTreeMap<u64, Vec<[Option<i64>; 2]>>,
}

fn numbers<const N: usize>(row: &[Value]) -> [Option<i64>; N] {
    std::array::from_fn(|place| row.get(place).and_then(|value| value.as_i64()))
}

pub fn counters(session: &mut dyn Session) -> Outcome<BTreeMap<u64, (i64, i64)>> {
    counted(session, "select id, commits, seed from history_terminals")
}

fn counted(session: &mut dyn Session, sql: &str) -> Outcome<BTreeMap<u64, (i64, i64)>> {
    let rows = session.rows(sql)?;
    Ok(rows
        .iter()
        .filter_map(|row| match numbers(row) {
            [Some(terminal), Some(commits), Some(seed)] => Some((u64::try_from(terminal).ok()?, (commits, seed))),
            _ => None,
        })
        .collect())
}

/// The model of each terminal, at the commit that its counter names.
fn models(settings: &Settings, counters: &BTreeMap<u64, (i64, i64)>) -> Vec<History> {
    let at = |terminal| {
        let (commits, seed) = counters.get(&terminal).copied().unwrap_or_default();
        let commits = if (0..=COMMITS_MAX).contains(&commits) { commits as u64 } else { 0 };
        History::at(settings, seed as u64, terminal, commits)
    };
    (0..settings.terminals).map(at).collect()
}

pub fn read(session: &mut dyn Session, settings: &Settings) -> Outcome<Found> {
    let dialect = session.dialect();
    let file = file(dialect)?;
    let mut found = Found { counters: counters(session)?, ..Found::default() };
    for terminal in 0..settings.terminals {
        let sql = format!("select id, commits, seed from history_terminals where id = {terminal}");
        let by_key = counted(session, &sql)?;
        if by_key.get(&terminal) != found.counters.get(&terminal) {
            found.differing.push(format!(
                "the counter of terminal {terminal} is {} by its key and {} by a scan",
                shown(by_key.get(&terminal)),
                shown(found.counters.get(&terminal))
            ));
        }
        // What one path hides, the other may know.
        if let Some(counter) = by_key
            .get(&terminal)
            .filter(|(commits, _)| found.counters.get(&terminal).is_none_or(|(scanned, _)| scanned < commits))
        {
            found.counters.insert(terminal, *counter);
        }
    }
    let prepare = |session: &mut dyn Session, name| -> Outcome<()> {
        file.named(name, dialect, &[])?.iter().try_for_each(|sql| session.batch(sql))
    };
    prepare(session, "naturally")?;
    for row in session.rows(&file.one("natural", dialect, &[])?)? {
        let [.., text, body] = &row[..] else { continue };
        found.natural.push((numbers(&row), text.clone(), body.clone()));
    }
    for row in session.rows("select id, total from history_shared")? {
        if let [Some(which), Some(total)] = numbers(&row) {
            found.shared.insert(which, total);
        }
    }
    prepare(session, "by_indexes")?;
    for (name, _) in PATHS {
        let rows = session.rows(&file.one(name, dialect, &[])?)?;
        found.paths.push((name, rows.iter().map(|row| numbers(row)).collect()));
    }
    for terminal in terminals_of(session, file, "made_indexes", "history_rows_made_", &mut found.differing)? {
        let rows = session.rows(&file.one("by_made_index", dialect, &[("terminal", &terminal)])?)?;
        found.made.insert(terminal, rows.iter().map(|row| numbers(row)).collect());
    }
    if file.text("entries").is_some() {
        let rows = session.rows(&file.one("entries", dialect, &[])?)?;
        found.entries = Some(rows.iter().map(|row| numbers(row)).collect());
    }
    let used = models(settings, &found.counters).iter().flat_map(|model| model.used.clone()).collect::<Vec<_>>();
    for ids in used.chunks(LOOKED_UP) {
        let listed = ids.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        let rows = session.rows(&file.one("looked_up", dialect, &[("ids", &listed)])?)?;
        found.looked_up.1.extend(rows.iter().map(|row| numbers::<5>(row)));
    }
    found.looked_up.0 = used;
    prepare(session, "as_before")?;
    for which in 0..SHARED as i64 {
        let rows = session.rows(&format!("select total from history_shared where id = {which}"))?;
        let by_key = rows.first().and_then(|row| row.first()).and_then(|value| value.as_i64());
        if by_key != found.shared.get(&which).copied() {
            let scanned = found.shared.get(&which);
            found.differing.push(format!("shared row {which} is {by_key:?} by its key and {scanned:?} by a scan"));
        }
    }
    for terminal in terminals_of(session, file, "added_columns", "extra_", &mut found.differing)? {
        let values: crate::sql::Values = &[("terminal", &terminal), ("extra", &EXTRA)];
        let rows = session.rows(&file.one("added_column", dialect, values)?)?;
        found.columns.insert(terminal, rows.iter().map(|row| numbers(row)).collect());
    }
    for terminal in terminals_of(session, file, "own", "history_own_", &mut found.differing)? {
        let index = file.one("own_by_index", dialect, &[("terminal", &terminal)])?;
        let mut rows = |sql: &str| -> Outcome<Vec<_>> {
            let mut rows: Vec<_> = session.rows(sql)?.iter().map(|row| numbers(row)).collect();
            rows.sort();
            Ok(rows)
        };
        let of_table = [rows(&format!("select id, v from history_own_{terminal}"))?, rows(&index)?];
        found.own.insert(terminal, of_table);
    }
    Ok(found)
}

/// Whose are the things that the statement of this name answers, all of which begin alike; nobody's go to `strange`.
fn terminals_of(
    session: &mut dyn Session,
    file: File,
    statement: &str,
    before: &str,
    strange: &mut Vec<String>,
) -> Outcome<Vec<u64>> {
    if file.text(statement).is_none() {
        return Ok(Vec::new());
    }
    let rows = session.rows(&file.one(statement, session.dialect(), &[])?)?;
    let names = rows.into_iter().map(|row| row.into_iter().next().and_then(Value::into_text).unwrap_or_default());
    let (mut terminals, mut others) = (Vec::new(), Vec::new());
    for name in names {
        match name.strip_prefix(before).and_then(|number| number.parse().ok()) {
            Some(terminal) => terminals.push(terminal),
            None => others.push(format!("there is a {before} of nobody: {name}")),
        }
    }
    strange.append(&mut others);
    Ok(terminals)
}

fn shown(counter: Option<&(i64, i64)>) -> String {
    counter.map_or("not there".to_string(), |(commits, _)| commits.to_string())
}

/// What is not as it must be, of one kind: how often, and the first of it in words.
#[derive(Default)]
struct Faults {
    many: usize,
    named: Vec<String>,
}

impl Faults {
    fn add(&mut self, what: impl FnOnce() -> String) {
        self.many += 1;
        if self.named.len() < NAMED_MAX {
            self.named.push(what());
        }
    }

    fn condition(self, name: &str, right: String) -> Condition {
        let more = self.many - self.named.len();
        let mut detail = self.named.join("; ");
        if more > 0 {
            detail += &format!("; and {more} more");
        }
        condition(name, self.many == 0, if self.many == 0 { right } else { detail })
    }
}

/// Compares; see [`Workload::check`](transaction::Workload::check).
pub fn compare(settings: &Settings, found: &Found, acknowledged: &Acknowledged) -> Vec<Condition> {
    let models = models(settings, &found.counters);
    let mut comparing = Comparing {
        ahead: models.iter().map(ahead).collect(),
        models: &models,
        rows: Faults::default(),
        undone: Faults::default(),
        whole: Faults::default(),
        contents: Faults::default(),
        paths: Faults::default(),
        shared: Faults::default(),
        tables: Faults::default(),
    };
    comparing.natural(found);
    comparing.by_paths(found);
    comparing.shared(found);
    comparing.tables(found);
    let mut counters = Faults::default();
    for terminal in 0..settings.terminals {
        match found.counters.get(&terminal) {
            None => counters.add(|| format!("terminal {terminal} has no counter")),
            Some((commits, _)) if !(0..=COMMITS_MAX).contains(commits) => {
                counters.add(|| format!("the counter of terminal {terminal} is {commits}"));
            }
            Some(_) => {}
        }
    }
    let commits: u64 = models.iter().map(|model| model.commits).sum();
    let Comparing { rows, undone, whole, contents, paths, shared, tables, .. } = comparing;
    let right = format!("{} rows", found.natural.len());
    vec![
        condition(
            "commits_match_acknowledged",
            acknowledged.agrees(commits as i64),
            format!("{commits} commits, {}", acknowledged.shown(acknowledged.committed)),
        ),
        counters.condition("each_terminal_has_its_counter", format!("{} counters", found.counters.len())),
        rows.condition("rows_are_those_of_the_history", right.clone()),
        undone.condition("nothing_rolled_back_is_there", right.clone()),
        whole.condition("commits_are_whole", right.clone()),
        contents.condition("texts_and_bodies_are_whole", right),
        paths.condition("every_path_finds_the_same", format!("{} paths", found.paths.len() + 2)),
        shared.condition("shared_rows_are_the_sum_of_commits", format!("{SHARED} rows")),
        tables.condition("tables_are_those_of_the_history", format!("{} tables", found.own.len())),
    ]
}

/// The same history, some transactions later: what must not be there yet can be named.
fn ahead(model: &History) -> History {
    model.ahead(AHEAD)
}

struct Comparing<'a> {
    models: &'a [History],
    ahead: Vec<History>,
    rows: Faults,
    undone: Faults,
    whole: Faults,
    contents: Faults,
    paths: Faults,
    shared: Faults,
    tables: Faults,
}

impl<'a> Comparing<'a> {
    fn model(&self, id: i64) -> Option<(usize, &'a History)> {
        let terminal = u64::try_from(id).ok()? as usize % self.models.len();
        Some((terminal, &self.models[terminal]))
    }

    /// In words, which change left a row so.
    fn writer(&self, terminal: usize, version: i64) -> (Fate, String) {
        let fate = u64::try_from(version).map_or(Fate::Unknown, |version| self.ahead[terminal].fate(version));
        let words = match fate {
            Fate::Loaded => "the load left it".to_string(),
            Fate::Committed(commit) => format!("commit {commit} of terminal {terminal} left it"),
            Fate::TakenBack(commit) => {
                format!("a change of commit {commit} of terminal {terminal} left it, taken back to a savepoint")
            }
            Fate::RolledBack => {
                let transaction = version >> 8;
                format!("transaction {transaction} of terminal {terminal} left it, which was rolled back")
            }
            Fate::Unknown => format!("no transaction of terminal {terminal} left it (version {version})"),
        };
        (fate, words)
    }

    fn natural(&mut self, found: &Found) {
        let mut seen: BTreeMap<u64, usize> = BTreeMap::new();
        for (short, text, body) in &found.natural {
            let [Some(id), Some(owner), Some(version), ..] = *short else {
                self.rows.add(|| format!("a row has NULL where it has none: {short:?}"));
                continue;
            };
            let Some((terminal, model)) = self.model(id).filter(|(terminal, _)| *terminal as i64 == owner) else {
                self.rows.add(|| format!("row {id} says that it is of terminal {owner}"));
                continue;
            };
            let id = id as u64;
            *seen.entry(id).or_default() += 1;
            let Some(row) = model.state.rows.get(&id) else {
                self.surplus(terminal, id, version, "is there and must not be");
                continue;
            };
            if row.version as i64 != version {
                let should = self.writer(terminal, row.version as i64).1;
                self.surplus(terminal, id, version, &format!("is not as {should}"));
            } else if expected(id, terminal, row) != *short {
                self.rows.add(|| {
                    format!(
                        "row {id} has grp {:?} and uniq {:?}, must have {} and {}",
                        short[3], short[4], row.grp, row.uniq
                    )
                });
            } else if !same_text(text, &model.text(id, row)) {
                self.contents.add(|| format!("the text of row {id} is not the one that was written"));
            } else if !same_bytes(body, model.body(id, row)) {
                self.contents.add(|| format!("the body of row {id} is not the one that was written"));
            }
        }
        for (id, many) in seen.iter().filter(|(_, many)| **many > 1) {
            self.rows.add(|| format!("row {id} is there {many} times"));
        }
        for (terminal, model) in self.models.iter().enumerate() {
            for (id, row) in model.state.rows.iter().filter(|(id, _)| !seen.contains_key(id)) {
                let (fate, words) = self.writer(terminal, row.version as i64);
                let what = || format!("row {id} is not there: {words}");
                // The last commit has its counter there, and not this row.
                match fate {
                    Fate::Committed(commit) if commit == model.commits => self.whole.add(what),
                    _ => self.rows.add(what),
                }
            }
        }
    }

    /// A row that is there and is not the one that must be, by who wrote it.
    fn surplus(&mut self, terminal: usize, id: u64, version: i64, wrong: &str) {
        let (fate, words) = self.writer(terminal, version);
        let what = || format!("row {id} {wrong}: {words}");
        match fate {
            Fate::RolledBack | Fate::TakenBack(_) => self.undone.add(what),
            Fate::Committed(commit) if commit > self.models[terminal].commits => self.whole.add(what),
            _ => self.rows.add(what),
        }
    }

    /// Every other path must find what the natural scan finds.
    fn by_paths(&mut self, found: &Found) {
        for what in &found.differing {
            self.paths.add(|| what.clone());
        }
        let natural: Vec<Short> = found.natural.iter().map(|(short, ..)| *short).collect();
        for (name, rows) in &found.paths {
            let words = PATHS.iter().find(|(path, _)| path == name).map_or(*name, |(_, words)| words);
            self.differing(&natural, rows, words);
        }
        for (terminal, rows) in &found.made {
            self.differing(&natural, rows, &format!("by the index that terminal {terminal} has made"));
        }
        let keys: std::collections::BTreeSet<_> = found.looked_up.0.iter().map(|id| Some(*id as i64)).collect();
        let asked: Vec<Short> = natural.iter().filter(|short| keys.contains(&short[0])).copied().collect();
        self.differing(&asked, &found.looked_up.1, LOOK_UP);
        if let Some(entries) = &found.entries {
            let natural: Vec<_> = natural.iter().map(|short| [short[3], short[0]]).collect();
            self.differing(&natural, entries, ENTRIES);
        }
    }

    fn differing<const N: usize>(&mut self, natural: &[[Option<i64>; N]], rows: &[[Option<i64>; N]], path: &str) {
        let named = |row: &[Option<i64>; N]| {
            let id = if N == 2 { row[1] } else { row[0] };
            id.map_or("a row without a key".to_string(), |id| format!("row {id}"))
        };
        let mut many: BTreeMap<&[Option<i64>; N], i64> = BTreeMap::new();
        natural.iter().for_each(|row| *many.entry(row).or_default() += 1);
        rows.iter().for_each(|row| *many.entry(row).or_default() -= 1);
        for (row, surplus) in many.into_iter().filter(|(_, surplus)| *surplus != 0) {
            let (there, gone) = if surplus > 0 { (NATURAL, path) } else { (path, NATURAL) };
            self.paths.add(|| format!("{} is found so {there} and not {gone}", named(row)));
        }
    }

    fn shared(&mut self, found: &Found) {
        for which in 0..SHARED {
            let total: i64 = self.models.iter().map(|model| model.state.shared[which]).sum();
            let is = found.shared.get(&(which as i64)).copied();
            if is != Some(total) {
                let is = is.map_or("not there".to_string(), |is| is.to_string());
                self.shared.add(|| format!("shared row {which} is {is}, and the commits add up to {total}"));
            }
        }
    }

    fn tables(&mut self, found: &Found) {
        for (terminal, model) in self.models.iter().enumerate() {
            let there = found.own.get(&(terminal as u64));
            match (&model.state.own, there) {
                (None, None) => {}
                (None, Some(_)) => self.tables.add(|| format!("table history_own_{terminal} is there and must not be")),
                (Some(_), None) => self.tables.add(|| format!("table history_own_{terminal} is not there")),
                (Some(rows), Some([scan, index])) => {
                    let right: Vec<_> =
                        rows.iter().map(|(id, value)| [Some(*id as i64), Some(*value as i64)]).collect();
                    if *scan != right {
                        let (is, must) = (scan.len(), right.len());
                        self.tables.add(|| {
                            format!("table history_own_{terminal} has other rows: {is}, and {must} in the history")
                        });
                    }
                    if scan != index {
                        self.paths.add(|| {
                            format!("the rows of history_own_{terminal} are others by its index than by a scan")
                        });
                    }
                }
            }
        }
        self.made(found);
        let all = found.own.keys().chain(found.made.keys()).chain(found.columns.keys());
        for terminal in all.filter(|terminal| **terminal >= self.models.len() as u64) {
            self.tables.add(|| format!("something was made by terminal {terminal}, which is none"));
        }
    }

    fn made(&mut self, found: &Found) {
        for (terminal, model) in self.models.iter().enumerate() {
            let of = terminal as u64;
            match (model.state.index, found.made.contains_key(&of)) {
                (true, false) => self.tables.add(|| format!("index history_rows_made_{terminal} is not there")),
                (false, true) => {
                    self.tables.add(|| format!("index history_rows_made_{terminal} is there and must not be"));
                }
                _ => {}
            }
            match (&model.state.column, found.columns.get(&of)) {
                (None, None) => {}
                (Some(_), None) => self.tables.add(|| format!("column extra_{terminal} is not there")),
                (None, Some(_)) => self.tables.add(|| format!("column extra_{terminal} is there and must not be")),
                (Some(values), Some(rows)) => {
                    for [id, value] in rows {
                        let written = id.and_then(|id| u64::try_from(id).ok()).and_then(|id| values.get(&id));
                        let must = *written.unwrap_or(&EXTRA) as i64;
                        if *value != Some(must) {
                            let row = id.map_or("a row without a key".to_string(), |id| format!("row {id}"));
                            let is = value.map_or("NULL".to_string(), |value| value.to_string());
                            self.rows.add(|| format!("{row} has {is} in extra_{terminal}, must have {must}"));
                        }
                    }
                }
            }
        }
    }
}

fn expected(id: u64, terminal: usize, row: &Row) -> Short {
    [id, terminal as u64, row.version, row.grp, row.uniq].map(|number| Some(number as i64))
}

fn same_text(found: &Value, text: &str) -> bool {
    matches!(found, Value::Text(found) if found == text)
}

fn same_bytes(found: &Value, bytes: Option<Vec<u8>>) -> bool {
    match (found, bytes) {
        (Value::Null, None) => true,
        (Value::Bytes(found), Some(bytes)) => *found == bytes,
        // PostgreSQL's own way of writing them, of a query that was not prepared.
        (Value::Text(found), Some(bytes)) => {
            let digits = found.strip_prefix("\\x").unwrap_or_default().as_bytes();
            digits.len() == 2 * bytes.len()
                && digits.chunks(2).zip(&bytes).all(|(pair, byte)| pair == format!("{byte:02x}").as_bytes())
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::generate::tests::{plain_seeds, settings};
    use super::super::generate::{Change, Ddl};
    use super::*;
    use std::sync::LazyLock;

    const COMMITS: u64 = 120;

    /// Of a history in which tables, indexes and columns have been made, and not by every terminal.
    static SEED: LazyLock<u64> = LazyLock::new(|| {
        let settings = settings(Ddl::WithRows);
        let has_made = |seed: &u64| {
            let states: Vec<_> = (0..3).map(|of| History::at(&settings, *seed, of, COMMITS).state).collect();
            let made = [
                states.iter().filter(|state| state.own.is_some()).count(),
                states.iter().filter(|state| state.index).count(),
                states.iter().filter(|state| state.column.is_some()).count(),
            ];
            made.iter().all(|many| (1..3).contains(many))
        };
        let seed = plain_seeds(&settings).find(has_made);
        seed.unwrap()
    });

    fn model(terminal: u64, commits: u64) -> History {
        History::at(&settings(Ddl::WithRows), *SEED, terminal, commits)
    }

    /// A row as a natural scan reads it.
    fn scanned(model: &History, id: u64, row: &Row) -> (Short, Value, Value) {
        let body = model.body(id, row).map_or(Value::Null, Value::Bytes);
        (expected(id, model.terminal as usize, row), Value::Text(model.text(id, row)), body)
    }

    /// What a database has that lost nothing.
    fn honest() -> Found {
        let mut found = Found::default();
        let mut shared = [0; SHARED];
        for terminal in 0..3 {
            let model = model(terminal, COMMITS);
            found.counters.insert(terminal, (COMMITS as i64, *SEED as i64));
            found.natural.extend(model.state.rows.iter().map(|(id, row)| scanned(&model, *id, row)));
            found.looked_up.0.extend(&model.used);
            (0..SHARED).for_each(|which| shared[which] += model.state.shared[which]);
            if let Some(rows) = &model.state.own {
                let rows: Vec<_> = rows.iter().map(|(id, value)| [Some(*id as i64), Some(*value as i64)]).collect();
                found.own.insert(terminal, [rows.clone(), rows]);
            }
        }
        for terminal in 0..3 {
            let state = model(terminal, COMMITS).state;
            let rows = found.natural.iter().map(|(short, ..)| *short);
            if state.index {
                found.made.insert(terminal, rows.clone().collect());
            }
            if let Some(values) = state.column {
                let value = |id: i64| *values.get(&(id as u64)).unwrap_or(&EXTRA) as i64;
                found.columns.insert(terminal, rows.map(|row| [row[0], row[0].map(value)]).collect());
            }
        }
        let rows: Vec<Short> = found.natural.iter().map(|(short, ..)| *short).collect();
        found.paths = PATHS.iter().map(|(name, _)| (*name, rows.clone())).collect();
        found.entries = Some(rows.iter().map(|short| [short[3], short[0]]).collect());
        found.looked_up.1 = rows;
        found.shared = (0..SHARED).map(|which| (which as i64, shared[which])).collect();
        found
    }

    /// By every path the row of this place becomes another; none: it goes.
    fn everywhere(found: &mut Found, place: usize, to: Option<(Short, Value, Value)>) {
        let short = found.natural[place].0;
        let entry = [short[3], short[0]];
        found.natural.remove(place);
        let paths = found.paths.iter_mut().map(|(_, rows)| rows).chain(found.made.values_mut());
        for rows in paths.chain([&mut found.looked_up.1]) {
            rows.retain(|row| *row != short);
            rows.extend(to.as_ref().map(|row| row.0));
        }
        let entries = found.entries.as_mut().unwrap();
        entries.retain(|one| *one != entry);
        if let Some(to) = to {
            entries.push([to.0[3], to.0[0]]);
            found.natural.push(to);
        }
    }

    fn broken(found: &Found) -> Vec<(String, String)> {
        let acknowledged = Acknowledged::at_least(&[3 * COMMITS]);
        let conditions = compare(&settings(Ddl::WithRows), found, &acknowledged);
        conditions.into_iter().filter(|one| !one.holds).map(|one| (one.name, one.detail)).collect()
    }

    fn names(found: &Found) -> Vec<String> {
        broken(found).into_iter().map(|(name, _)| name).collect()
    }

    /// The place of a row that was written long before the last commit.
    fn old(found: &Found) -> usize {
        let is_old = |short: &Short| model(0, COMMITS).fate(short[2].unwrap() as u64) == Fate::Loaded;
        found.natural.iter().position(|(short, ..)| short[1] == Some(0) && is_old(short)).unwrap()
    }

    #[test]
    fn what_lost_nothing_keeps_every_condition() {
        assert_eq!(broken(&honest()), []);
    }

    #[test]
    fn a_missing_row_is_named() {
        let mut found = honest();
        let place = old(&found);
        let id = found.natural[place].0[0].unwrap();
        everywhere(&mut found, place, None);
        let flaws = broken(&found);
        assert_eq!(flaws[0].0, "rows_are_those_of_the_history");
        assert_eq!(flaws[0].1, format!("row {id} is not there: the load left it"));
        assert_eq!(flaws.len(), 1);
    }

    #[test]
    fn a_row_that_only_its_key_finds_makes_the_paths_disagree() {
        let mut found = honest();
        let place = old(&found);
        let id = found.natural.remove(place).0[0].unwrap();
        let flaws = broken(&found);
        assert_eq!(names(&found), ["rows_are_those_of_the_history", "every_path_finds_the_same"]);
        let by_key = format!("row {id} is found so in the order of the primary key and not by a natural scan");
        assert!(flaws[1].1.contains(&by_key), "{}", flaws[1].1);
        let more = 2 + found.made.len();
        assert!(flaws[1].1.ends_with(&format!("; and {more} more")), "{}", flaws[1].1);
    }

    #[test]
    fn each_path_is_held_against_the_scan() {
        let entry = |found: &mut Found| found.entries.as_mut().unwrap().truncate(1);
        let look_up = |found: &mut Found| found.looked_up.1.truncate(1);
        let twice = |found: &mut Found| found.paths[2].1.push(found.natural[0].0);
        let small = |found: &mut Found| found.differing.push("the counter".to_string());
        let plants: [&dyn Fn(&mut Found); 4] = [&entry, &look_up, &twice, &small];
        for plant in plants {
            let mut found = honest();
            plant(&mut found);
            assert_eq!(names(&found), ["every_path_finds_the_same"]);
        }
        for (number, path) in PATHS.iter().enumerate() {
            let mut found = honest();
            found.paths[number].1.remove(3);
            assert_eq!(names(&found), ["every_path_finds_the_same"]);
            assert!(broken(&found)[0].1.contains(path.1));
        }
    }

    #[test]
    fn a_row_of_a_transaction_that_was_rolled_back_is_named_as_such() {
        let mut history = model(1, COMMITS - 30);
        let (id, row) = loop {
            let step = history.next();
            let inserted = step.changes.iter().find_map(|change| match change {
                Change::Insert(id, row) if step.commit.is_none() => Some((*id, *row)),
                _ => None,
            });
            if let Some(one) = inserted.filter(|(id, _)| !model(1, COMMITS).state.rows.contains_key(id)) {
                break one;
            }
        };
        assert!(history.commits <= COMMITS);
        let mut found = honest();
        let planted = scanned(&history, id, &row);
        found.natural.push(planted.clone());
        found.paths.iter_mut().for_each(|(_, rows)| rows.push(planted.0));
        found.made.values_mut().for_each(|rows| rows.push(planted.0));
        found.looked_up.1.push(planted.0);
        found.entries.as_mut().unwrap().push([planted.0[3], planted.0[0]]);
        let flaws = broken(&found);
        assert_eq!(flaws.len(), 1, "{flaws:?}");
        assert_eq!(flaws[0].0, "nothing_rolled_back_is_there");
        assert!(flaws[0].1.ends_with("which was rolled back"), "{}", flaws[0].1);
    }

    #[test]
    fn a_part_of_a_commit_is_none_of_it() {
        // The counter says one commit less than one of its rows.
        let mut commits = COMMITS;
        let (id, row) = loop {
            let later = model(0, commits + 1);
            let of_it = |row: &Row| later.fate(row.version) == Fate::Committed(commits + 1);
            if let Some((id, row)) = later.state.rows.iter().find(|(_, row)| of_it(row)) {
                break (*id, *row);
            }
            commits += 1;
        };
        let mut found = honest();
        found.counters.insert(0, (commits as i64, *SEED as i64));
        let earlier = model(0, commits);
        found.natural.retain(|(short, ..)| short[1] != Some(0));
        found.natural.extend(
            earlier.state.rows.iter().filter(|(of, _)| **of != id).map(|(id, row)| scanned(&earlier, *id, row)),
        );
        found.natural.push(scanned(&model(0, commits + 1), id, &row));
        assert!(names(&found).contains(&"commits_are_whole".to_string()));
        assert!(!names(&found).contains(&"rows_are_those_of_the_history".to_string()));

        // And the other way about: the counter is there, and a row of the commit is not.
        let later = model(0, commits + 1);
        found.counters.insert(0, (commits as i64 + 1, *SEED as i64));
        found.natural.retain(|(short, ..)| short[1] != Some(0));
        found
            .natural
            .extend(later.state.rows.iter().filter(|(of, _)| **of != id).map(|(id, row)| scanned(&later, *id, row)));
        assert!(names(&found).contains(&"commits_are_whole".to_string()));
    }

    #[test]
    fn wrong_bytes_wrong_columns_and_doubles_are_told_apart() {
        let mut found = honest();
        let place = found.natural.iter().position(|(.., body)| matches!(body, Value::Bytes(_))).unwrap();
        let Value::Bytes(bytes) = &mut found.natural[place].2 else { unreachable!() };
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        assert_eq!(names(&found), ["texts_and_bodies_are_whole"]);
        assert!(broken(&found)[0].1.starts_with("the body of row "));

        let mut found = honest();
        found.natural[0].1 = Value::Text("other".to_string());
        assert_eq!(names(&found), ["texts_and_bodies_are_whole"]);

        let mut found = honest();
        let place = old(&found);
        let mut moved = found.natural[place].clone();
        moved.0[3] = moved.0[3].map(|grp| grp + 1);
        everywhere(&mut found, place, Some(moved));
        assert_eq!(names(&found), ["rows_are_those_of_the_history"]);

        let mut found = honest();
        let twice = found.natural[1].clone();
        found.natural.push(twice);
        assert_eq!(names(&found), ["rows_are_those_of_the_history", "every_path_finds_the_same"]);
    }

    #[test]
    fn counters_shared_rows_and_tables_are_looked_at() {
        let mut found = honest();
        found.counters.remove(&2);
        assert!(names(&found)
            .starts_with(&["commits_match_acknowledged".to_string(), "each_terminal_has_its_counter".to_string()]));

        let mut found = honest();
        *found.shared.get_mut(&1).unwrap() += 1;
        assert_eq!(names(&found), ["shared_rows_are_the_sum_of_commits"]);

        let mut found = honest();
        let made = *found.own.keys().next().expect("one of them has made a table");
        found.own.get_mut(&made).unwrap()[1].clear();
        assert_eq!(names(&found), ["every_path_finds_the_same"]);
        found.own.remove(&made);
        assert_eq!(names(&found), ["tables_are_those_of_the_history"]);
        found.own.insert(9, Default::default());
        assert_eq!(names(&found), ["tables_are_those_of_the_history"]);
    }

    #[test]
    fn indexes_and_columns_that_terminals_have_made_are_looked_at() {
        let made = |found: &Found| *found.made.keys().next().expect("one of them has made an index");
        let added = |found: &Found| *found.columns.keys().next().expect("one of them has added a column");
        let mut found = honest();
        found.made.get_mut(&made(&found)).unwrap().pop();
        assert_eq!(names(&found), ["every_path_finds_the_same"]);
        assert!(broken(&found)[0].1.contains("by the index that terminal "));
        found.made.remove(&made(&found));
        assert_eq!(names(&found), ["tables_are_those_of_the_history"]);

        let mut found = honest();
        let (terminal, rows) = (added(&found), found.natural.len());
        let of = found.columns.get_mut(&terminal).unwrap();
        assert_eq!(of.len(), rows);
        let id = of[0][0].unwrap();
        of[0][1] = None;
        let flaws = broken(&found);
        assert_eq!(flaws[0].0, "rows_are_those_of_the_history");
        assert!(
            flaws[0].1.starts_with(&format!("row {id} has NULL in extra_{terminal}, must have ")),
            "{}",
            flaws[0].1
        );
        found.columns.remove(&terminal);
        assert_eq!(names(&found), ["tables_are_those_of_the_history"]);

        let without = |terminal: u64| (!honest().made.contains_key(&terminal)).then_some(terminal);
        let terminal = (0..3).find_map(without).expect("one of them has none");
        let mut found = honest();
        found.made.insert(terminal, found.paths[0].1.clone());
        assert!(broken(&found)[0].1.contains("is there and must not be"));
    }
}
