//! The history of one terminal, and the model beside it: pure.
//!
//! A seed and a terminal's number fix all of its transactions, in their order, with those that it rolls back. So the state
//! after its commit number `n` follows from these three alone, whatever the other terminals do, and a reader who knows the
//! number of the last commit knows every row that must be there.

use crate::common::{letters, mixed};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Rows that all terminals add to.
pub const SHARED: usize = 3;
/// Letters of the longest text: nearly 8 KiB, which is a page of most engines. Firebird takes 8,191.
pub const TEXT_MAX: u64 = 8_100;
/// Bits of a version below its transaction's number.
const CHANGE_BITS: u32 = 8;
/// A transaction has fewer changes than fit in these bits.
const OPEN_ROWS_MAX: u64 = 40;
/// Different values of the column `grp`.
const GROUPS: u64 = 50;
/// A terminal's rows grow to this many times those that are loaded, and then become fewer again.
const GROWTH: u64 = 4;
/// Keys that a terminal may use, for each row that is loaded.
const KEYS_PER_ROW: u64 = 16;
/// Where fewer are loaded.
const ROWS_MIN: u64 = 25;
/// What a column that is added has where nobody has written to it.
pub const EXTRA: u64 = 7;
/// All terminals together add and drop so many columns: Firebird takes 255 formats of a table.
const ALTERATIONS: u64 = 200;
/// Terminals that make an index over all rows.
const INDEXING: u64 = 32;

/// What a history may have in it. The first are kinds of transactions, in the order of the workload's own kinds; the others
/// say how those end and what rows they write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    Insert,
    Update,
    Move,
    Delete,
    Savepoint,
    Open,
    Shared,
    Ddl,
    Rollback,
    Blob,
}

/// How often each kind is drawn in a plain history.
const WEIGHTS: [(Part, u64); 8] = [
    (Part::Insert, 28),
    (Part::Update, 18),
    (Part::Move, 12),
    (Part::Delete, 14),
    (Part::Savepoint, 8),
    (Part::Open, 10),
    (Part::Shared, 15),
    (Part::Ddl, 4),
];

/// How often a kind is drawn of which a history has much.
const MUCH: u64 = 200;

impl Part {
    /// As the workload's own kinds name it.
    pub fn name(self) -> &'static str {
        match self {
            Part::Insert => "insert",
            Part::Update => "update",
            Part::Move => "move",
            Part::Delete => "delete",
            Part::Savepoint => "savepoint",
            Part::Open => "open",
            Part::Shared => "shared",
            Part::Ddl => "ddl",
            Part::Rollback => "rollback",
            Part::Blob => "blob",
        }
    }

    /// Whether it is a kind of transactions.
    pub fn is_kind(self) -> bool {
        WEIGHTS.iter().any(|(kind, _)| *kind == self)
    }
}

/// What an engine makes of a table that is made in a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ddl {
    /// It cannot be rolled back: there is none in a history.
    None,
    /// It takes rows from the next transaction on.
    Alone,
    /// It takes rows in the same transaction.
    WithRows,
}

/// What is the same for all terminals of a history.
#[derive(Debug, Clone)]
pub struct Settings {
    pub terminals: u64,
    /// Of each terminal, loaded.
    pub rows: u64,
    pub parts: Vec<Part>,
    /// A transaction is left open for at most so long.
    pub open_ms: u64,
    pub ddl: Ddl,
}

impl Settings {
    fn has(&self, part: Part) -> bool {
        self.parts.contains(&part) && (part != Part::Ddl || self.ddl != Ddl::None)
    }

    fn size(&self) -> u64 {
        self.rows.max(ROWS_MIN)
    }
}

/// What comes up how often in a history: drawn from its seed, the same for all of its terminals.
///
/// Every third history is plain. In the others each kind is left out, as often as in a plain one, or much more often, and
/// most transactions may be rolled back: what takes many of one kind at the same time is met sooner than by a history that
/// has some of everything. Source: Groce et al., "Swarm Testing", ISSTA 2012, https://doi.org/10.1145/2338965.2336763.
#[derive(Debug, Clone, PartialEq)]
struct Mix {
    weights: Vec<(Part, u64)>,
    /// Of a hundred transactions of any kind so many are rolled back; none: each kind has its own share.
    rolled_back: Option<u64>,
    /// So many of the rows that all add to are used.
    shared: usize,
    /// Of a plain history's transactions about so many come to one commit. They are smaller and shorter, so that a
    /// commit adds about as much, about as soon.
    to_a_commit: u64,
}

impl Mix {
    fn plain(settings: &Settings) -> Mix {
        let weights = WEIGHTS.into_iter().filter(|(kind, _)| settings.has(*kind)).collect();
        Mix { weights, rolled_back: None, shared: SHARED, to_a_commit: 1 }
    }

    fn drawn(settings: &Settings, seed: u64) -> Mix {
        let mut mix = Mix::plain(settings);
        let mut lot = Lot(mixed(!seed));
        if lot.below(3) == 0 {
            return mix;
        }
        for (_, weight) in &mut mix.weights {
            *weight = [0, 0, *weight, 4 * *weight, MUCH][lot.below(5) as usize];
        }
        if mix.weights.iter().all(|(_, weight)| *weight == 0) {
            return Mix::plain(settings);
        }
        mix.shared = 1 + lot.below(SHARED as u64) as usize;
        mix.rolled_back = [None, Some(60), Some(95)][lot.below(3) as usize];
        mix.to_a_commit = 100 / (100 - mix.rolled_back.unwrap_or(0));
        mix
    }
}

/// A row as it must be. Its owner is the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Which change wrote it last; 0: the load.
    pub version: u64,
    /// Which change wrote its text and its body.
    pub written: u64,
    pub grp: u64,
    pub uniq: u64,
    text: u64,
    body: Option<u64>,
}

/// What is a terminal's own, and what it has added to the rows of all.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct State {
    pub rows: BTreeMap<u64, Row>,
    uniques: BTreeSet<u64>,
    pub shared: [i64; SHARED],
    /// Of the table that it may have made: number and value of each row.
    pub own: Option<BTreeMap<u64, u64>>,
    /// Whether it has made its index over the rows of all.
    pub index: bool,
    /// Of the column that it may have added to the rows of all: what its own rows hold where it is not [`EXTRA`].
    pub column: Option<BTreeMap<u64, u64>>,
    /// Columns that it has added or dropped.
    alterations: u64,
    shrinking: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    Insert(u64, Row),
    /// Text and body.
    Update(u64, Row),
    /// The columns with indexes.
    Move(u64, Row),
    Delete(u64),
    Shared(usize, i64),
    Savepoint,
    Back,
    CreateOwn,
    DropOwn,
    IntoOwn(u64, u64),
    CreateIndex,
    DropIndex,
    AddColumn,
    DropColumn,
    IntoColumn(u64, u64),
}

#[derive(Debug, Clone)]
pub struct Step {
    pub kind: Part,
    pub changes: Vec<Change>,
    /// Its number among the commits; none where it is rolled back.
    pub commit: Option<u64>,
    /// So long it is left open after its last change.
    pub open_ms: u64,
}

/// How a transaction ends, and which of its changes a savepoint takes back.
#[derive(Debug, Clone)]
struct End {
    commit: Option<u64>,
    undone: Range<usize>,
}

/// The outcome of the change with a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Loaded,
    Committed(u64),
    RolledBack,
    /// By the commit of this number, to a savepoint.
    TakenBack(u64),
    Unknown,
}

pub struct History {
    settings: Settings,
    mix: Mix,
    pub seed: u64,
    pub terminal: u64,
    lot: Lot,
    pub state: State,
    pub commits: u64,
    ends: Vec<End>,
    /// Keys that were used.
    pub used: BTreeSet<u64>,
}

impl History {
    /// At its beginning: the rows that are loaded, which do not depend on the seed.
    pub fn new(settings: &Settings, seed: u64, terminal: u64) -> History {
        let mut state = State::default();
        let mut lot = Lot(mixed(terminal + 1));
        while (state.rows.len() as u64) < settings.rows {
            let (id, row) = state.fresh(&mut lot, settings, terminal, 0, true);
            state.insert(id, row);
        }
        History {
            settings: settings.clone(),
            mix: Mix::drawn(settings, seed),
            seed,
            terminal,
            lot: Lot(mixed(seed ^ mixed(terminal))),
            used: state.rows.keys().copied().collect(),
            state,
            commits: 0,
            ends: Vec::new(),
        }
    }

    /// After the commit of this number.
    pub fn at(settings: &Settings, seed: u64, terminal: u64, commits: u64) -> History {
        let mut history = History::new(settings, seed, terminal);
        while history.commits < commits {
            history.next();
        }
        history
    }

    /// The next transaction. The model goes on to what is there after it.
    pub fn next(&mut self) -> Step {
        let mut step = Drawing {
            settings: &self.settings,
            mix: &self.mix,
            lot: &mut self.lot,
            terminal: self.terminal,
            number: self.ends.len() as u64 + 1,
            before: &self.state,
            state: self.state.clone(),
            changes: Vec::new(),
            undone: 0..0,
            open_ms: 0,
            long: false,
        };
        let kind = step.kind();
        step.long = step.lot.below(4 * step.mix.to_a_commit) == 0;
        step.draw(kind);
        let rolls_back = step.rolls_back(kind);
        let Drawing { state, changes, undone, open_ms, .. } = step;
        let commit = (!rolls_back).then_some(self.commits + 1);
        if commit.is_some() {
            self.commits += 1;
            self.state = state;
        }
        self.used.extend(changes.iter().filter_map(|change| match change {
            Change::Insert(id, _) => Some(*id),
            _ => None,
        }));
        self.ends.push(End { commit, undone });
        Step { kind, changes, commit, open_ms }
    }

    /// The same history, so many transactions later.
    pub fn ahead(&self, transactions: usize) -> History {
        let mut later = History {
            settings: self.settings.clone(),
            mix: self.mix.clone(),
            lot: self.lot.clone(),
            state: self.state.clone(),
            ends: self.ends.clone(),
            used: BTreeSet::new(),
            ..*self
        };
        for _ in 0..transactions {
            later.next();
        }
        later
    }

    /// What happens to the change with this version, of those up to here.
    pub fn fate(&self, version: u64) -> Fate {
        let Some(before) = (version >> CHANGE_BITS).checked_sub(1) else {
            return if version == 0 { Fate::Loaded } else { Fate::Unknown };
        };
        let change = (version & ((1 << CHANGE_BITS) - 1)) as usize;
        match self.ends.get(before as usize) {
            None => Fate::Unknown,
            Some(End { commit: None, .. }) => Fate::RolledBack,
            Some(End { commit: Some(commit), undone }) if undone.contains(&change) => Fate::TakenBack(*commit),
            Some(End { commit: Some(commit), .. }) => Fate::Committed(*commit),
        }
    }

    pub fn text(&self, id: u64, row: &Row) -> String {
        letters(self.stamp(id, row), row.text as usize)
    }

    pub fn body(&self, id: u64, row: &Row) -> Option<Vec<u8>> {
        let length = row.body? as usize;
        let mut bytes = letters(!self.stamp(id, row), length).into_bytes();
        // No text: a body has every byte.
        bytes.iter_mut().enumerate().for_each(|(place, byte)| *byte = byte.wrapping_mul(31).wrapping_add(place as u8));
        Some(bytes)
    }

    fn stamp(&self, id: u64, row: &Row) -> u64 {
        let seed = if row.written == 0 { 0 } else { self.seed };
        mixed(mixed(seed ^ mixed(id)).wrapping_add(row.written))
    }
}

impl State {
    fn insert(&mut self, id: u64, row: Row) {
        self.uniques.insert(row.uniq);
        self.rows.insert(id, row);
    }

    fn remove(&mut self, id: u64) {
        if let Some(row) = self.rows.remove(&id) {
            self.uniques.remove(&row.uniq);
        }
        if let Some(values) = &mut self.column {
            values.remove(&id);
        }
    }

    /// Another row under the same key.
    fn replace(&mut self, id: u64, row: Row) {
        if let Some(before) = self.rows.insert(id, row) {
            self.uniques.remove(&before.uniq);
        }
        self.uniques.insert(row.uniq);
    }

    fn fresh(&self, lot: &mut Lot, settings: &Settings, terminal: u64, version: u64, long: bool) -> (u64, Row) {
        let key = |lot: &mut Lot| lot.below(settings.size() * KEYS_PER_ROW) * settings.terminals + terminal;
        let id = lot.until(key, |id| !self.rows.contains_key(id));
        let uniq = lot.until(key, |uniq| !self.uniques.contains(uniq));
        let blobs = version > 0 && settings.has(Part::Blob);
        let (text, body) = lengths(lot, long, blobs);
        (id, Row { version, written: version, grp: lot.below(GROUPS), uniq, text, body })
    }
}

/// Lengths of a row's text and of its body, of a transaction that writes long ones, or of one that does not. Some are nearly
/// as long as a page.
fn lengths(lot: &mut Lot, long: bool, blobs: bool) -> (u64, Option<u64>) {
    let text = match lot.below(10) {
        0 => 0,
        1 if long => 850 + lot.below(150),
        2 if long => 1_900 + lot.below(200),
        3 if long => 3_900 + lot.below(300),
        4 if long => 7_800 + lot.below(300),
        _ => 40 + lot.below(260),
    };
    let body = (blobs && long && lot.below(3) == 0).then(|| match lot.below(8) {
        0 => 1,
        1 | 2 => 40 + lot.below(60),
        3 => 1_000 + lot.below(100),
        4 | 5 => 7_000 + lot.below(2_000),
        6 => 30_000 + lot.below(5_000),
        _ => 70_000,
    });
    (text, body)
}

/// A transaction that is being drawn.
struct Drawing<'a> {
    settings: &'a Settings,
    mix: &'a Mix,
    lot: &'a mut Lot,
    terminal: u64,
    number: u64,
    before: &'a State,
    state: State,
    changes: Vec<Change>,
    undone: Range<usize>,
    open_ms: u64,
    /// Some of its rows are long.
    long: bool,
}

impl Drawing<'_> {
    fn kind(&mut self) -> Part {
        let kinds = &self.mix.weights;
        // A history of an engine that cannot roll back what is its only kind.
        let Some((last, _)) = kinds.last() else { return Part::Shared };
        let mut drawn = self.lot.below(kinds.iter().map(|(_, weight)| weight).sum());
        for (kind, weight) in kinds {
            if drawn < *weight {
                return *kind;
            }
            drawn -= weight;
        }
        *last
    }

    fn rolls_back(&mut self, kind: Part) -> bool {
        let percent = self.mix.rolled_back.unwrap_or(match kind {
            Part::Shared => 60,
            Part::Open | Part::Ddl => 50,
            _ => 15,
        });
        let drawn = self.lot.below(100) < percent;
        drawn && self.settings.has(Part::Rollback)
    }

    fn draw(&mut self, kind: Part) {
        let live = self.state.rows.len() as u64;
        if live >= self.settings.size() * GROWTH {
            self.state.shrinking = true;
        } else if live <= self.settings.rows {
            self.state.shrinking = false;
        }
        let (more, many, fewer) =
            if self.before.shrinking { (2, 4, 16) } else { (12, (OPEN_ROWS_MAX / self.mix.to_a_commit).max(4), 4) };
        match kind {
            Part::Insert => self.times(more, Drawing::insert),
            Part::Update => self.times(6, Drawing::update),
            Part::Move => self.times(6, Drawing::relocate),
            Part::Delete => self.times(fewer, Drawing::delete),
            Part::Savepoint => self.savepoint(),
            Part::Open => {
                self.times(many, Drawing::insert);
                self.times(4, Drawing::any);
                self.open_ms = 1 + self.lot.below((self.settings.open_ms / self.mix.to_a_commit).max(1));
            }
            Part::Shared => self.add(),
            Part::Ddl => self.ddl(),
            Part::Rollback | Part::Blob => unreachable!("no kind"),
        }
        // Last of all, so that nobody waits for who holds it.
        if kind != Part::Shared && self.open_ms == 0 && self.settings.has(Part::Shared) && self.lot.below(10) == 0 {
            self.add();
        }
    }

    fn times(&mut self, most: u64, change: fn(&mut Self)) {
        for _ in 0..1 + self.lot.below(most) {
            change(self);
        }
    }

    fn version(&self) -> u64 {
        debug_assert!(self.changes.len() < 1 << CHANGE_BITS);
        (self.number << CHANGE_BITS) + self.changes.len() as u64
    }

    fn any(&mut self) {
        let part = [Part::Insert, Part::Update, Part::Move, Part::Delete][self.lot.below(4) as usize];
        if !self.settings.has(part) {
            return;
        }
        match part {
            Part::Insert => self.insert(),
            Part::Update => self.update(),
            Part::Move => self.relocate(),
            _ => self.delete(),
        }
    }

    fn insert(&mut self) {
        // A history without deletes would use up its keys.
        if self.state.rows.len() as u64 >= 2 * GROWTH * self.settings.size() {
            if self.settings.has(Part::Update) {
                self.update();
            }
            return;
        }
        let (id, row) = self.state.fresh(self.lot, self.settings, self.terminal, self.version(), self.long);
        self.state.insert(id, row);
        self.changes.push(Change::Insert(id, row));
    }

    /// One of the rows that are there.
    fn one(&mut self) -> Option<(u64, Row)> {
        let from = self.lot.below(self.settings.size() * KEYS_PER_ROW * self.settings.terminals);
        let rows = &self.state.rows;
        rows.range(from..).next().or_else(|| rows.iter().next()).map(|(id, row)| (*id, *row))
    }

    fn update(&mut self) {
        let Some((id, mut row)) = self.one() else { return };
        row.version = self.version();
        row.written = row.version;
        (row.text, row.body) = lengths(self.lot, self.long, self.settings.has(Part::Blob));
        self.state.rows.insert(id, row);
        self.changes.push(Change::Update(id, row));
    }

    fn relocate(&mut self) {
        let Some((id, mut row)) = self.one() else { return };
        row.version = self.version();
        if self.lot.below(3) > 0 {
            row.grp = self.lot.below(GROUPS);
        }
        if self.lot.below(3) > 0 {
            let fresh = self.state.fresh(self.lot, self.settings, self.terminal, 0, false).1;
            row.uniq = fresh.uniq;
        }
        self.state.replace(id, row);
        self.changes.push(Change::Move(id, row));
    }

    fn delete(&mut self) {
        let Some((id, _)) = self.one() else { return };
        self.state.remove(id);
        self.changes.push(Change::Delete(id));
    }

    fn savepoint(&mut self) {
        self.times(4, Drawing::any);
        let kept = self.state.clone();
        self.changes.push(Change::Savepoint);
        let from = self.changes.len();
        self.times(8, Drawing::any);
        if self.lot.below(10) < 7 {
            self.undone = from..self.changes.len();
            self.changes.push(Change::Back);
            self.state = kept;
        }
        self.times(4, Drawing::any);
    }

    fn add(&mut self) {
        let which = self.lot.below(self.mix.shared as u64) as usize;
        let by = 1 + self.lot.below(9) as i64;
        self.state.shared[which] += by;
        self.changes.push(Change::Shared(which, by));
    }

    fn ddl(&mut self) {
        match self.lot.below(3) {
            0 if self.terminal < INDEXING => self.index(),
            1 if (self.state.alterations + 1) * self.settings.terminals <= ALTERATIONS => self.column(),
            _ => self.own(),
        }
    }

    /// An index over the rows of all terminals.
    fn index(&mut self) {
        self.changes.push(if self.state.index { Change::DropIndex } else { Change::CreateIndex });
        self.state.index = !self.state.index;
    }

    /// A column of the rows of all terminals, and what its own rows hold there.
    fn column(&mut self) {
        let drops = self.lot.below(2) == 0;
        match self.state.column {
            None => {
                self.changes.push(Change::AddColumn);
                self.state.column = Some(BTreeMap::new());
                self.state.alterations += 1;
                if self.settings.ddl == Ddl::WithRows {
                    self.times(5, Drawing::put_into_column);
                }
            }
            Some(_) if drops => {
                self.changes.push(Change::DropColumn);
                self.state.column = None;
                self.state.alterations += 1;
            }
            Some(_) => self.times(5, Drawing::put_into_column),
        }
    }

    fn put_into_column(&mut self) {
        let Some((id, _)) = self.one() else { return };
        let value = EXTRA + 1 + self.lot.below(1_000);
        self.state.column.as_mut().expect("it is there").insert(id, value);
        self.changes.push(Change::IntoColumn(id, value));
    }

    /// A table of the terminal's own.
    fn own(&mut self) {
        let drops = self.lot.below(2) == 0;
        match &mut self.state.own {
            None => {
                self.changes.push(Change::CreateOwn);
                self.state.own = Some(BTreeMap::new());
                if self.settings.ddl == Ddl::WithRows {
                    self.times(5, Drawing::put_into_own);
                }
            }
            Some(_) if drops => {
                self.state.own = None;
                self.changes.push(Change::DropOwn);
            }
            Some(_) => self.times(5, Drawing::put_into_own),
        }
    }

    fn put_into_own(&mut self) {
        let value = self.lot.below(1_000);
        let rows = self.state.own.as_mut().expect("it is there");
        let id = rows.len() as u64 + 1;
        rows.insert(id, value);
        self.changes.push(Change::IntoOwn(id, value));
    }
}

/// Numbers drawn at random, the same ones for a seed in every version (splitmix64).
#[derive(Debug, Clone)]
struct Lot(u64);

impl Lot {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mixed(self.0) % bound
    }

    fn until(&mut self, draw: impl Fn(&mut Lot) -> u64, is_right: impl Fn(&u64) -> bool) -> u64 {
        loop {
            let drawn = draw(self);
            if is_right(&drawn) {
                return drawn;
            }
        }
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use proptest::prelude::*;

    pub fn settings(ddl: Ddl) -> Settings {
        use Part::*;
        let parts = vec![Insert, Update, Move, Delete, Savepoint, Open, Shared, Ddl, Rollback, Blob];
        Settings { terminals: 3, rows: 20, parts, open_ms: 5, ddl }
    }

    /// Those whose histories are plain.
    pub fn plain_seeds(settings: &Settings) -> impl Iterator<Item = u64> + '_ {
        let plain = Mix::plain(settings);
        (0..).filter(move |seed| Mix::drawn(settings, *seed) == plain)
    }

    /// Rows as a database would have them: nothing of the model but the changes goes into it.
    #[derive(Clone, Default, PartialEq, Debug)]
    struct Tables {
        rows: BTreeMap<u64, Row>,
        shared: [i64; SHARED],
        own: Option<BTreeMap<u64, u64>>,
        index: bool,
        /// Of each row.
        column: Option<BTreeMap<u64, u64>>,
    }

    impl Tables {
        fn of(state: &State) -> Tables {
            let value = |values: &BTreeMap<u64, u64>, id: &u64| values.get(id).copied().unwrap_or(EXTRA);
            let column = state.column.as_ref();
            let column = column.map(|values| state.rows.keys().map(|id| (*id, value(values, id))).collect());
            let rows = state.rows.clone();
            Tables { rows, shared: state.shared, own: state.own.clone(), index: state.index, column }
        }

        /// Does to the tables what a database is asked to do. What it would refuse is a panic.
        fn run(&mut self, step: &Step) {
            let before = self.clone();
            let mut kept = None;
            for change in &step.changes {
                match change.clone() {
                    Change::Insert(id, row) => {
                        assert!(self.rows.values().all(|other| other.uniq != row.uniq));
                        assert!(self.rows.insert(id, row).is_none());
                        self.column.iter_mut().for_each(|values| assert!(values.insert(id, EXTRA).is_none()));
                    }
                    Change::Update(id, row) => {
                        let of = self.rows.get_mut(&id).unwrap();
                        (of.version, of.written, of.text, of.body) = (row.version, row.version, row.text, row.body);
                    }
                    Change::Move(id, row) => {
                        assert!(self.rows.iter().all(|(other, of)| *other == id || of.uniq != row.uniq));
                        let of = self.rows.get_mut(&id).unwrap();
                        (of.version, of.grp, of.uniq) = (row.version, row.grp, row.uniq);
                    }
                    Change::Delete(id) => {
                        assert!(self.rows.remove(&id).is_some());
                        self.column.iter_mut().for_each(|values| assert!(values.remove(&id).is_some()));
                    }
                    Change::Shared(which, by) => self.shared[which] += by,
                    Change::Savepoint => kept = Some(self.clone()),
                    Change::Back => *self = kept.clone().unwrap(),
                    Change::CreateOwn => assert!(self.own.replace(BTreeMap::new()).is_none()),
                    Change::DropOwn => assert!(self.own.take().is_some()),
                    Change::IntoOwn(id, value) => {
                        assert!(self.own.as_mut().unwrap().insert(id, value).is_none());
                    }
                    Change::CreateIndex => assert!(!std::mem::replace(&mut self.index, true)),
                    Change::DropIndex => assert!(std::mem::replace(&mut self.index, false)),
                    Change::AddColumn => {
                        let values = self.rows.keys().map(|id| (*id, EXTRA)).collect();
                        assert!(self.column.replace(values).is_none());
                    }
                    Change::DropColumn => assert!(self.column.take().is_some()),
                    Change::IntoColumn(id, value) => {
                        assert!(self.column.as_mut().unwrap().insert(id, value).is_some());
                    }
                }
            }
            if step.commit.is_none() {
                *self = before;
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]

        #[test]
        fn the_model_is_what_a_database_has_after_each_transaction(seed: u64, terminal in 0u64..3) {
            let mut history = History::new(&settings(Ddl::WithRows), seed, terminal);
            let mut tables = Tables::of(&history.state);
            for _ in 0..150 {
                tables.run(&history.next());
                prop_assert_eq!(&tables, &Tables::of(&history.state));
            }
        }

        #[test]
        fn a_history_is_the_same_again_up_to_any_commit(seed: u64, commits in 0u64..60) {
            let settings = settings(Ddl::Alone);
            let mut history = History::at(&settings, seed, 1, commits);
            let again = History::at(&settings, seed, 1, commits);
            prop_assert_eq!(&history.state, &again.state);
            let later = History::at(&settings, seed, 1, commits + 1);
            while history.commits <= commits {
                history.next();
            }
            prop_assert_eq!(&history.state, &later.state);
        }

        #[test]
        fn each_change_that_is_there_is_of_a_commit(seed: u64) {
            let history = History::at(&settings(Ddl::None), seed, 2, 150);
            for row in history.state.rows.values() {
                let fate = history.fate(row.version);
                prop_assert!(matches!(fate, Fate::Loaded | Fate::Committed(1..=150)), "{:?}", fate);
            }
        }
    }

    #[test]
    fn every_part_of_a_history_comes_up_and_none_that_is_left_out() {
        let mut settings = settings(Ddl::WithRows);
        let steps = |settings: &Settings| {
            let mut history = History::new(settings, plain_seeds(settings).next().unwrap(), 0);
            (0..500).map(|_| history.next()).collect::<Vec<_>>()
        };
        let all = steps(&settings);
        for (kind, _) in WEIGHTS {
            assert!(all.iter().any(|step| step.kind == kind), "{kind:?}");
        }
        let rolled_back = all.iter().filter(|step| step.commit.is_none()).count();
        assert!((50..250).contains(&rolled_back), "{rolled_back}");
        assert!(all.iter().any(|step| step.changes.contains(&Change::Back)));
        let has_body = |step: &Step| {
            step.changes.iter().any(|change| matches!(change, Change::Insert(_, Row { body: Some(_), .. })))
        };
        assert!(all.iter().any(has_body));
        settings.parts = vec![Part::Insert];
        for step in steps(&settings) {
            assert_eq!(step.kind, Part::Insert);
            assert!(step.commit.is_some() && !has_body(&step) && step.open_ms == 0);
        }
    }

    #[test]
    fn two_of_three_seeds_draw_what_comes_up_how_often() {
        let settings = settings(Ddl::WithRows);
        let plain = Mix::plain(&settings);
        let drawn: Vec<_> = (0..400).map(|seed| Mix::drawn(&settings, seed)).collect();
        let share = drawn.iter().filter(|mix| **mix == plain).count();
        assert!((100..180).contains(&share), "{share}");
        for (place, (kind, _)) in WEIGHTS.into_iter().enumerate() {
            let of = |mix: &Mix| {
                mix.weights[place].1 as f64 / mix.weights.iter().map(|(_, weight)| weight).sum::<u64>() as f64
            };
            assert!(drawn.iter().any(|mix| of(mix) == 0.0), "{kind:?} is never left out");
            assert!(drawn.iter().any(|mix| of(mix) > 0.4), "{kind:?} never comes up much");
        }
        let many = |seed: &u64| Mix::drawn(&settings, *seed).rolled_back == Some(95);
        let mut history = History::new(&settings, (0..400).find(many).unwrap(), 0);
        (0..400).for_each(|_| drop(history.next()));
        assert!(history.commits < 80, "{}", history.commits);
        assert!(drawn.iter().any(|mix| mix.shared == 1));
    }

    #[test]
    fn a_terminal_stops_altering_the_rows_of_all_before_an_engine_refuses_to() {
        let mut settings = settings(Ddl::WithRows);
        settings.parts = vec![Part::Ddl];
        let mut history = History::new(&settings, 3, 1);
        (0..3_000).for_each(|_| drop(history.next()));
        assert_eq!(history.state.alterations, ALTERATIONS / settings.terminals);
    }

    #[test]
    fn however_long_it_is_a_terminals_rows_stay_within_bounds() {
        let mut settings = settings(Ddl::None);
        for parts in [settings.parts.clone(), vec![Part::Insert, Part::Open], vec![Part::Delete, Part::Open]] {
            settings.parts = parts;
            let mut history = History::new(&settings, 3, 1);
            for _ in 0..1_500 {
                history.next();
                assert!(history.state.rows.len() as u64 <= 2 * GROWTH * settings.size());
            }
        }
    }

    #[test]
    fn keys_are_a_terminals_own_and_lie_between_those_of_the_others() {
        for terminal in 0..3 {
            let history = History::at(&settings(Ddl::None), 11, terminal, 100);
            assert!(history.used.iter().all(|id| id % 3 == terminal));
            assert!(history.state.rows.values().all(|row| row.uniq % 3 == terminal));
            assert!(history.state.rows.keys().all(|id| history.used.contains(id)));
        }
    }
}
