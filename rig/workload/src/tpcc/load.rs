//! The initial population (clause 4.3.3.1), in chunks. The rows of a chunk follow from the seed and the chunk alone,
//! whichever session writes it and whenever.

use super::random::{last_name, permutation, Constants, Texts};
use super::scale::{Scale, CENTS, DISTRICTS};
use super::schema::Table;
use rand::{RngExt as _, SeedableRng as _};
use std::fmt::Write as _;
use transaction::{Rng, Value};

/// The time of everything loaded: the clock's would make two loads different.
const DATE: &str = "2026-01-01 00:00:00";
/// Into how many chunks the items are divided, and each warehouse's stock.
const PARTS: i64 = 4;

/// Rows of one table that one session writes and commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    pub table: Table,
    /// 0 for the items, which belong to none.
    warehouse: i64,
    /// The district, or which of the parts.
    part: i64,
}

/// The chunks of the warehouses after `from`, those of each together; after none the items come first.
pub fn chunks(from: i64, warehouses: i64) -> Vec<Chunk> {
    let items = if from == 0 { 0..PARTS } else { 0..0 };
    let mut chunks: Vec<Chunk> = items.map(|part| Chunk { table: Table::Item, warehouse: 0, part }).collect();
    for warehouse in from + 1..=warehouses {
        let mut add = |table, parts: std::ops::Range<i64>| {
            chunks.extend(parts.map(|part| Chunk { table, warehouse, part }));
        };
        add(Table::Warehouse, 0..1);
        add(Table::District, 0..1);
        add(Table::Stock, 0..PARTS);
        for table in [Table::Customer, Table::OrderLine, Table::History, Table::Orders, Table::NewOrder] {
            add(table, 1..DISTRICTS + 1);
        }
    }
    chunks
}

/// How many rows [`chunks`] have; that of order lines, which is random, is taken at its mean.
pub fn rows(from: i64, warehouses: i64, scale: Scale) -> i64 {
    let per_district = scale.customers() * 2 + scale.orders() * 11 + (scale.orders() + 1 - scale.first_open());
    let items = if from == 0 { scale.items() } else { 0 };
    items + (warehouses - from) * (1 + scale.items() + DISTRICTS * (1 + per_district))
}

/// Writes the values of a chunk's rows, one row after another.
pub struct Rows<'a> {
    chunk: Chunk,
    scale: Scale,
    names: Constants,
    texts: &'a Texts,
    rng: Rng,
    /// What comes next: an item, district, customer or order.
    next: i64,
    last: i64,
    /// Of an order the line to come next.
    line: i64,
    /// Of the district's orders how many lines they have.
    lines: Vec<i64>,
    /// The customers of the district's orders.
    customers: Vec<i64>,
}

impl<'a> Rows<'a> {
    pub fn new(chunk: Chunk, scale: Scale, seed: u64, texts: &'a Texts) -> Rows<'a> {
        let Chunk { table, warehouse, part } = chunk;
        let stream = |which: u64| {
            let mut rng = Rng::seed_from_u64(seed);
            rng.set_stream(which << 48 | (warehouse as u64) << 8 | part as u64);
            rng
        };
        let mut rng = stream(table as u64 + 1);
        let (next, last) = match table {
            Table::Item | Table::Stock => (part * (scale.items() / PARTS) + 1, (part + 1) * (scale.items() / PARTS)),
            Table::Warehouse => (1, 1),
            Table::District => (1, DISTRICTS),
            Table::Customer | Table::History => (1, scale.customers()),
            Table::Orders | Table::OrderLine => (1, scale.orders()),
            Table::NewOrder => (scale.first_open(), scale.orders()),
        };
        // Orders and their lines are written by different chunks, which must agree.
        let lines = match table {
            Table::Orders | Table::OrderLine => {
                let mut counts = stream(0);
                (0..scale.orders()).map(|_| counts.random_range(5..=15)).collect()
            }
            _ => Vec::new(),
        };
        let customers = if table == Table::Orders { permutation(&mut rng, scale.customers()) } else { Vec::new() };
        let names = Constants::of_load(scale);
        Rows { chunk, scale, names, texts, rng, next, last, line: 1, lines, customers }
    }

    /// Fills in the next row; false when there is none. `values` are those of the row before, or empty.
    pub fn next(&mut self, values: &mut Vec<Value>) -> bool {
        if self.next > self.last {
            return false;
        }
        let mut row = Row { values, at: 0 };
        match self.chunk.table {
            Table::Warehouse => self.warehouse(&mut row),
            Table::District => self.district(&mut row),
            Table::Customer => self.customer(&mut row),
            Table::History => self.history(&mut row),
            Table::NewOrder => row.ints(&[self.chunk.warehouse, self.chunk.part, self.next]),
            Table::Orders => self.order(&mut row),
            Table::OrderLine => return self.order_line(&mut row),
            Table::Item => self.item(&mut row),
            Table::Stock => self.stock(&mut row),
        }
        self.next += 1;
        true
    }

    fn text(&mut self, row: &mut Row, min: usize, max: usize) {
        row.text(self.texts.cut(&mut self.rng, min, max));
    }

    /// Street, street, city, state and zip code (clause 4.3.2.7).
    fn address(&mut self, row: &mut Row) {
        for (min, max) in [(10, 20), (10, 20), (10, 20), (2, 2)] {
            self.text(row, min, max);
        }
        let zip = self.rng.random_range(0..10_000);
        row.write(format_args!("{zip:04}11111"));
    }

    /// Text that in one of ten rows holds ORIGINAL somewhere.
    fn data(&mut self, row: &mut Row) {
        let text = self.texts.cut(&mut self.rng, 26, 50);
        let original = self.rng.random_range(0..10) == 0;
        let kept = row.text(text);
        if original {
            let start = self.rng.random_range(0..=text.len() - 8);
            kept.replace_range(start..start + 8, "ORIGINAL");
        }
    }

    fn warehouse(&mut self, row: &mut Row) {
        row.int(self.chunk.warehouse);
        self.text(row, 6, 10);
        self.address(row);
        row.int(self.rng.random_range(0..=2_000));
        row.int(10 * CENTS * self.scale.customers() * DISTRICTS);
    }

    fn district(&mut self, row: &mut Row) {
        row.ints(&[self.chunk.warehouse, self.next]);
        self.text(row, 6, 10);
        self.address(row);
        row.int(self.rng.random_range(0..=2_000));
        row.ints(&[10 * CENTS * self.scale.customers(), self.scale.orders() + 1]);
    }

    fn customer(&mut self, row: &mut Row) {
        row.ints(&[self.chunk.warehouse, self.chunk.part, self.next]);
        self.text(row, 8, 16);
        row.text("OE");
        let name = if self.next <= self.scale.names() { self.next - 1 } else { self.names.name(&mut self.rng) };
        row.text(&last_name(name));
        self.address(row);
        let phone = self.rng.random_range(0..10i64.pow(16));
        row.write(format_args!("{phone:016}"));
        row.text(DATE);
        row.text(if self.rng.random_range(0..10) == 0 { "BC" } else { "GC" });
        row.ints(&[50_000 * CENTS, self.rng.random_range(0..=5_000), -10 * CENTS, 10 * CENTS, 1, 0]);
        self.text(row, 300, 500);
    }

    fn history(&mut self, row: &mut Row) {
        let Chunk { warehouse, part: district, .. } = self.chunk;
        row.ints(&[self.next, district, warehouse, district, warehouse]);
        row.text(DATE);
        row.int(10 * CENTS);
        self.text(row, 12, 24);
    }

    fn order(&mut self, row: &mut Row) {
        let at = self.next as usize - 1;
        row.ints(&[self.chunk.warehouse, self.chunk.part, self.next, self.customers[at]]);
        row.text(DATE);
        let carrier = self.rng.random_range(1..=10);
        row.set(if self.next < self.scale.first_open() { Value::Int(carrier) } else { Value::Null });
        row.ints(&[self.lines[at], 1]);
    }

    /// As [`Rows::next`]: an order has several.
    fn order_line(&mut self, row: &mut Row) -> bool {
        let Chunk { warehouse, part: district, .. } = self.chunk;
        let delivered = self.next < self.scale.first_open();
        let (item, amount) = (self.rng.random_range(1..=self.scale.items()), self.rng.random_range(1..=999_999));
        row.ints(&[warehouse, district, self.next, self.line, item, warehouse]);
        if delivered {
            row.text(DATE);
        } else {
            row.set(Value::Null);
        }
        row.ints(&[5, if delivered { 0 } else { amount }]);
        self.text(row, 24, 24);
        self.line += 1;
        if self.line > self.lines[self.next as usize - 1] {
            self.line = 1;
            self.next += 1;
        }
        true
    }

    fn item(&mut self, row: &mut Row) {
        row.ints(&[self.next, self.rng.random_range(1..=10_000)]);
        self.text(row, 14, 24);
        row.int(self.rng.random_range(CENTS..=100 * CENTS));
        self.data(row);
    }

    fn stock(&mut self, row: &mut Row) {
        row.ints(&[self.chunk.warehouse, self.next, self.rng.random_range(10..=100)]);
        let districts = self.texts.cut(&mut self.rng, 240, 240);
        (0..10).for_each(|district| _ = row.text(&districts[district * 24..][..24]));
        row.ints(&[0, 0, 0]);
        self.data(row);
    }
}

/// Values of a row in the making; texts keep the memory of the row before.
struct Row<'a> {
    values: &'a mut Vec<Value>,
    at: usize,
}

impl Row<'_> {
    fn slot(&mut self) -> &mut Value {
        if self.at == self.values.len() {
            self.values.push(Value::Null);
        }
        self.at += 1;
        &mut self.values[self.at - 1]
    }

    fn set(&mut self, value: Value) {
        *self.slot() = value;
    }

    fn int(&mut self, number: i64) {
        self.set(Value::Int(number));
    }

    fn ints(&mut self, numbers: &[i64]) {
        numbers.iter().for_each(|number| self.int(*number));
    }

    fn text(&mut self, text: &str) -> &mut String {
        let kept = self.slot().empty_text();
        kept.push_str(text);
        kept
    }

    fn write(&mut self, text: std::fmt::Arguments) {
        self.slot().empty_text().write_fmt(text).expect("memory takes it");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn each(chunk: Chunk, scale: Scale, seed: u64, texts: &Texts, mut row: impl FnMut(&[Value])) {
        let mut rows = Rows::new(chunk, scale, seed, texts);
        let mut values = Vec::new();
        while rows.next(&mut values) {
            assert_eq!(values.len(), chunk.table.names().len());
            row(&values);
        }
    }

    fn kept(chunk: Chunk, scale: Scale, seed: u64, texts: &Texts) -> Vec<Vec<Value>> {
        let mut rows = Vec::new();
        each(chunk, scale, seed, texts, |row| rows.push(row.to_vec()));
        rows
    }

    fn all(chunk: Chunk, seed: u64) -> Vec<Vec<Value>> {
        kept(chunk, Scale::WHOLE, seed, &Texts::new(seed))
    }

    fn int(value: &Value) -> i64 {
        value.as_i64().unwrap_or_else(|| panic!("{value:?} is no number"))
    }

    fn text(value: &Value) -> &str {
        let Value::Text(text) = value else { panic!("{value:?} is no text") };
        text
    }

    fn chunk(table: Table, part: i64) -> Chunk {
        Chunk { table, warehouse: if table == Table::Item { 0 } else { 2 }, part }
    }

    #[test]
    fn a_chunks_rows_depend_on_the_seed_and_on_nothing_that_was_made_before() {
        let (chunks, texts, small) = (chunks(0, 2), [5, 6].map(Texts::new), Scale { percent: 5 });
        let made = |chunk: Chunk, which: usize| kept(chunk, small, which as u64 + 5, &texts[which]);
        let forwards: Vec<_> = chunks.iter().map(|&chunk| made(chunk, 0)).collect();
        let backwards: Vec<_> = chunks.iter().rev().map(|&chunk| made(chunk, 0)).collect();
        assert!(forwards.iter().eq(backwards.iter().rev()));
        for (at, (rows, chunk)) in forwards.iter().zip(&chunks).enumerate() {
            if chunk.table != Table::NewOrder {
                assert_ne!(*rows, made(*chunk, 1), "{chunk:?}");
                let others = || forwards.iter().zip(&chunks).skip(at + 1).filter(|(_, c)| c.table == chunk.table);
                // The last value is random text of its own.
                let tail =
                    |rows: &[Vec<Value>]| rows.iter().map(|row| row.last().cloned()).take(20).collect::<Vec<_>>();
                if chunk.table != Table::Orders && chunk.table != Table::Warehouse && chunk.table != Table::District {
                    assert!(others().all(|(other, _)| tail(other) != tail(rows)), "{chunk:?}");
                }
            }
        }
    }

    #[test]
    fn two_warehouses_have_the_rows_that_they_are_to_have() {
        let (texts, tenth) = (Texts::new(5), Scale { percent: 10 });
        let mut many: BTreeMap<&str, i64> = BTreeMap::new();
        for chunk in chunks(0, 2) {
            each(chunk, tenth, 5, &texts, |_| *many.entry(chunk.table.name()).or_default() += 1);
        }
        let lines = many["order_line"];
        assert!((58_500..61_500).contains(&lines), "{lines}");
        assert_eq!(many.values().sum::<i64>() - lines + 60_000, rows(0, 2, tenth));
        for (table, wanted) in [
            ("item", 10_000),
            ("warehouse", 2),
            ("stock", 20_000),
            ("district", 20),
            ("customer", 6_000),
            ("history", 6_000),
            ("orders", 6_000),
            ("new_order", 1_800),
        ] {
            assert_eq!(many[table], wanted, "{table}");
        }
        // Clause 4.3.3.1: those of a whole warehouse, beside the items of all.
        let whole = 100_000 + 10 * (1 + 3_000 + 3_000 + 3_000 + 30_000 + 900);
        assert_eq!(rows(1, 2, Scale::WHOLE), 1 + whole);
        assert_eq!(rows(0, 2, Scale::WHOLE), 100_000 + 2 * (1 + whole));
    }

    #[test]
    fn orders_and_their_lines_agree() {
        let (orders, lines) = (all(chunk(Table::Orders, 3), 1), all(chunk(Table::OrderLine, 3), 1));
        let mut lines = lines.iter().peekable();
        let mut customers = Vec::new();
        for (order, number) in orders.iter().zip(1..) {
            assert_eq!([0, 1, 2, 7].map(|at| int(&order[at])), [2, 3, number, 1]);
            customers.push(int(&order[3]));
            let delivered = number <= 2_100;
            assert_eq!(delivered, order[5] != Value::Null);
            assert!(order[5].as_i64().is_none_or(|carrier| (1..=10).contains(&carrier)));
            let many = int(&order[6]);
            assert!((5..=15).contains(&many));
            for line in 1..=many {
                let row = lines.next().expect("a line");
                assert_eq!([0, 1, 2, 3, 5, 7].map(|at| int(&row[at])), [2, 3, number, line, 2, 5]);
                assert!((1..=100_000).contains(&int(&row[4])));
                assert_eq!(delivered, row[6] != Value::Null);
                assert_eq!(delivered, int(&row[8]) == 0);
                assert!((0..=999_999).contains(&int(&row[8])));
                assert_eq!(text(&row[9]).len(), 24);
            }
        }
        assert!(lines.next().is_none());
        customers.sort_unstable();
        assert!(customers.into_iter().eq(1..=3_000));
        let open = all(chunk(Table::NewOrder, 3), 1);
        assert!(open.iter().map(|row| int(&row[2])).eq(2_101..=3_000));
    }

    #[test]
    fn customers_have_the_names_and_credits_they_are_to_have() {
        let rows: Vec<_> = (1..=10).flat_map(|district| all(chunk(Table::Customer, district), 1)).collect();
        for (row, number) in rows.iter().zip((1..=3_000).cycle()) {
            assert_eq!(int(&row[2]), number);
            if number <= 1_000 {
                assert_eq!(text(&row[5]), last_name(number - 1));
            }
            assert!((8..=16).contains(&text(&row[3]).len()) && (300..=500).contains(&text(&row[20]).len()));
            assert_eq!((text(&row[11]).len(), text(&row[10]).len()), (16, 9));
            assert_eq!([14, 16, 17, 18, 19].map(|at| int(&row[at])), [5_000_000, -1_000, 1_000, 1, 0]);
        }
        let bad = rows.iter().filter(|row| text(&row[13]) == "BC").count();
        assert!((2_850..=3_150).contains(&bad), "{bad}");
        // The tail follows NURand: some names come far oftener than twice.
        let mut names: BTreeMap<&str, u32> = BTreeMap::new();
        rows.iter().filter(|row| int(&row[2]) > 1_000).for_each(|row| *names.entry(text(&row[5])).or_default() += 1);
        assert!(*names.values().max().expect("names") > 60);
    }

    #[test]
    fn one_in_ten_is_original() {
        for (table, at) in [(Table::Item, 4), (Table::Stock, 16)] {
            let rows: Vec<_> = (0..4).flat_map(|part| all(chunk(table, part), 1)).collect();
            assert!(rows.iter().all(|row| (26..=50).contains(&text(&row[at]).len())));
            let original = rows.iter().filter(|row| text(&row[at]).contains("ORIGINAL")).count();
            assert!((9_500..=10_500).contains(&original), "{original}");
        }
    }
}
