//! One prepared statement: what it takes, what it answers, and how it runs. The measured path allocates nothing: numbers
//! have their own place, texts go from where they are, and those of rows keep their memory.

use super::blob::Place;
use super::column::{ask_for, variable_type, Column};
use super::descriptor::{Descriptor, Slot};
use super::library::Library;
use rsfbclient_core::ibase::{self, isc_db_handle, isc_stmt_handle, isc_tr_handle, ISC_QUAD};
use rsfbclient_core::MAX_TEXT_LENGTH;
use std::ffi::{c_char, CString};
use transaction::{as_many_parameters, failed, Class, Outcome, Sink, Value};

const SQL_DIALECT: u16 = 3;
const DSQL_CLOSE: u16 = 1;
const DSQL_DROP: u16 = 2;
/// What a parameter may need: a number, the id of a blob, a real as text.
const ROOM: usize = 32;
/// The status of a fetch behind the last row.
const NO_MORE_ROWS: isize = 100;
/// Most statements answer no more: those that do are described once more.
const COLUMNS: u16 = 8;
/// The number of the character set UTF8, in which all is sent.
const UTF8: i16 = 4;

// Kinds of statements; see `isc_info_sql_stmt_...` in Firebird's inf_pub.h.
const SELECT: i64 = 1;
const PROCEDURE: i64 = 8;
const TRANSACTIONS: [i64; 3] = [9, 10, 11]; // start, commit, rollback
const SELECT_FOR_UPDATE: i64 = 12;

pub struct Prepared {
    pub sql: String,
    handle: isc_stmt_handle,
    kind: i64,
    /// It writes one row or fails: there is no need to ask how many, which takes a round trip more of its own.
    one_row: bool,
    /// How many rows it changes is asked, which takes a round trip more of its own.
    counted: bool,
    parameters: Descriptor,
    wanted: Vec<Parameter>,
    answered: Descriptor,
    columns: Vec<Column>,
    row: Vec<Value>,
}

/// A parameter as the engine has described it.
struct Parameter {
    blob: bool,
    text: bool,
    subtype: i16,
    /// Of a blob of text: its character set.
    scale: i16,
    slot: Slot,
}

impl Prepared {
    /// Prepares a statement inside an open transaction, which it outlives.
    pub fn new(place: &mut Place, sql: &str) -> Outcome<Prepared> {
        let library = place.library;
        let mut handle: isc_stmt_handle = 0;
        // SAFETY: the attachment is open, and the answer has a place.
        library.call(|status| unsafe { (library.allocate)(status, place.database, &mut handle) })?;
        described(place, handle, sql).inspect_err(|_| drop_handle(library, handle))
    }

    /// The same for a statement without parameters that is run once, with no more round trips than isql makes: of what kind
    /// it is its words tell, and how many rows it changes is not asked.
    pub fn for_once(place: &mut Place, sql: &str) -> Outcome<Prepared> {
        let library = place.library;
        let mut handle: isc_stmt_handle = 0;
        // SAFETY: the attachment is open, and the answer has a place.
        library.call(|status| unsafe { (library.allocate)(status, place.database, &mut handle) })?;
        let mut described = || {
            let mut answered = answered(place, &mut handle, sql)?;
            let columns = ask_for(&mut answered)?;
            Ok(Prepared {
                kind: kind_by_words(sql, columns.len()),
                counted: false,
                ..Prepared::of(sql, handle, (Descriptor::of(0), Vec::new()), (answered, columns))
            })
        };
        described().inspect_err(|_| drop_handle(library, handle))
    }

    fn of(
        sql: &str,
        handle: isc_stmt_handle,
        (parameters, wanted): (Descriptor, Vec<Parameter>),
        (answered, columns): (Descriptor, Vec<Column>),
    ) -> Prepared {
        let row = vec![Value::Null; columns.len()];
        let sql = sql.to_string();
        Prepared { sql, handle, kind: 0, one_row: false, counted: true, parameters, wanted, answered, columns, row }
    }

    pub fn parameters(&self) -> usize {
        self.wanted.len()
    }

    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| column.name.as_str())
    }

    /// Runs it to its end; answers how many rows it changed.
    pub fn run(&mut self, place: &mut Place, parameters: &[Value], row: Sink) -> Outcome<u64> {
        self.bind(place, parameters)?;
        let library = place.library;
        let (handle, given) = (&mut self.handle, self.parameters.pointer());
        // The one row of a procedure, or of a statement that returns one, comes with the execution.
        let at_once = self.one_row || (self.kind == PROCEDURE && !self.columns.is_empty());
        // SAFETY: the handles are open; the descriptors and all that they point to stay until the call has ended.
        library.call(|status| unsafe {
            if at_once {
                (library.execute2)(status, place.transaction, handle, 1, given, self.answered.pointer())
            } else {
                (library.execute)(status, place.transaction, handle, 1, given)
            }
        })?;
        if self.one_row {
            return Ok(1);
        }
        let changed = match self.counted {
            true => records(&info(library, &mut self.handle, ibase::isc_info_sql_records as u8)?)?,
            false => 0,
        };
        if at_once {
            self.hand_over(place, row)?;
        }
        if self.kind != SELECT && self.kind != SELECT_FOR_UPDATE {
            return Ok(changed);
        }
        let fetched = self.fetch_all(place, row);
        // The cursor is closed in any case, or the statement could not run again.
        // SAFETY: the statement is prepared.
        let closed = library.call(|status| unsafe { (library.free)(status, &mut self.handle, DSQL_CLOSE) });
        fetched.and(closed).map(|()| 0)
    }

    /// Lets go of the statement.
    pub fn close(self, library: &Library) {
        drop_handle(library, self.handle);
    }

    fn fetch_all(&mut self, place: &mut Place, row: Sink) -> Outcome<()> {
        let library = place.library;
        loop {
            let mut status = [0; 20];
            // SAFETY: the cursor is open; the descriptor and all that it points to are the statement's own.
            let fetched = unsafe { (library.fetch)(status.as_mut_ptr(), &mut self.handle, 1, self.answered.pointer()) };
            match fetched {
                0 => self.hand_over(place, row)?,
                NO_MORE_ROWS => return Ok(()),
                _ => return Err(library.error(&status)),
            }
        }
    }

    fn hand_over(&mut self, place: &mut Place, row: Sink) -> Outcome<()> {
        for (column, value) in self.columns.iter().zip(&mut self.row) {
            column.read(&self.answered, place, value)?;
        }
        row(&self.row);
        Ok(())
    }

    fn bind(&mut self, place: &mut Place, values: &[Value]) -> Outcome<()> {
        as_many_parameters(self.wanted.len(), values, &self.sql)?;
        for (number, (value, parameter)) in values.iter().zip(&self.wanted).enumerate() {
            bind(place, &mut self.parameters, number, value, parameter)?;
        }
        Ok(())
    }
}

fn described(place: &mut Place, mut handle: isc_stmt_handle, sql: &str) -> Outcome<Prepared> {
    let library = place.library;
    let mut answered = answered(place, &mut handle, sql)?;
    let mut parameters = Descriptor::of(1);
    // SAFETY: as above.
    library.call(|status| unsafe { (library.describe_bind)(status, &mut handle, 1, parameters.pointer()) })?;
    if parameters.found() > 1 {
        parameters = Descriptor::of(parameters.found() as u16);
        // SAFETY: as above.
        library.call(|status| unsafe { (library.describe_bind)(status, &mut handle, 1, parameters.pointer()) })?;
    }
    let kind = number(&info(library, &mut handle, ibase::isc_info_sql_stmt_type as u8)?[..], 3)?;
    if TRANSACTIONS.contains(&kind) {
        let message = format!("a transaction is begun and ended by the session, not by a statement: {sql}");
        return Err(failed(Class::Other, message));
    }
    let columns = ask_for(&mut answered)?;
    // Every parameter has room for what is not sent from where it is.
    let slots = parameters.make_room(&vec![ROOM; parameters.found()]);
    let wanted = slots.into_iter().enumerate().map(|(number, slot)| {
        let variable = parameters.variable(number);
        Parameter {
            blob: variable_type(variable.sqltype) == ibase::SQL_BLOB,
            text: matches!(variable_type(variable.sqltype), ibase::SQL_TEXT | ibase::SQL_VARYING),
            subtype: variable.sqlsubtype,
            scale: variable.sqlscale,
            slot,
        }
    });
    let wanted = wanted.collect();
    let one_row = inserts_one_row(sql);
    Ok(Prepared { kind, one_row, ..Prepared::of(sql, handle, (parameters, wanted), (answered, columns)) })
}

/// Prepares a statement; brings back what it answers.
fn answered(place: &mut Place, handle: &mut isc_stmt_handle, sql: &str) -> Outcome<Descriptor> {
    let library = place.library;
    let mut answered = Descriptor::of(COLUMNS);
    let (text, length) = terminated(sql)?;
    // SAFETY: the handles are open, the text has so many bytes or ends with a zero, and the descriptor says how large it is.
    library.call(|status| unsafe {
        let text: *const c_char = text.as_ptr();
        (library.prepare)(status, place.transaction, handle, length, text, SQL_DIALECT, answered.pointer())
    })?;
    if answered.found() > usize::from(COLUMNS) {
        answered = Descriptor::of(answered.found() as u16);
        // SAFETY: as above.
        library.call(|status| unsafe { (library.describe)(status, handle, 1, answered.pointer()) })?;
    }
    Ok(answered)
}

/// Whether the rows of a statement that answers some are fetched, or come as one with its execution.
fn kind_by_words(sql: &str, columns: usize) -> i64 {
    let mut words = sql.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    let mut next = || words.next().unwrap_or("").to_ascii_lowercase();
    match next().as_str() {
        _ if columns == 0 => 0,
        "select" | "with" => SELECT,
        "execute" if next() == "block" => SELECT,
        _ => PROCEDURE,
    }
}

/// A transaction begun by a statement of the engine's own: `set transaction snapshot no wait`.
pub fn begun(library: &Library, database: &mut isc_db_handle, sql: &str) -> Outcome<isc_tr_handle> {
    let mut transaction: isc_tr_handle = 0;
    let (text, length) = terminated(sql)?;
    // SAFETY: the attachment is open, the text has so many bytes, there is no parameter, and the answer has a place.
    library.call(|status| unsafe {
        let text: *const c_char = text.as_ptr();
        (library.execute_immediate)(status, database, &mut transaction, length, text, SQL_DIALECT, std::ptr::null())
    })?;
    Ok(transaction)
}

/// A text as the library takes it: up to 64 KiB its length is given, beyond that (Firebird 3.0 and newer) it ends with a zero.
fn terminated(sql: &str) -> Outcome<(CString, u16)> {
    let text = CString::new(sql).map_err(|_| failed(Class::Other, "a statement has a zero byte in it".to_string()))?;
    Ok((text, u16::try_from(sql.len()).unwrap_or(0)))
}

/// Says where a parameter's value lies and what it is: the engine converts it, as it would a literal.
fn bind(
    place: &mut Place,
    parameters: &mut Descriptor,
    number: usize,
    value: &Value,
    wanted: &Parameter,
) -> Outcome<()> {
    let slot = wanted.slot;
    parameters.set_null(slot, *value == Value::Null);
    let own = |bytes: &[u8], parameters: &mut Descriptor| (parameters.put(slot, bytes), bytes.len());
    let (kind, subtype, scale, (data, length)) = match value {
        Value::Null => (ibase::SQL_TEXT, 0, 0, own(&[], parameters)),
        Value::Int(n) if !wanted.blob => (ibase::SQL_INT64, 0, 0, own(&n.to_ne_bytes(), parameters)),
        // The engine itself would write all the digits that the number could have.
        Value::Real(x) if wanted.text => (ibase::SQL_TEXT, 0, 0, own(written(*x).as_bytes(), parameters)),
        Value::Real(x) if !wanted.blob => (ibase::SQL_DOUBLE, 0, 0, own(&x.to_ne_bytes(), parameters)),
        Value::Text(text) if !wanted.blob && text.len() <= MAX_TEXT_LENGTH => {
            (ibase::SQL_TEXT, 0, 0, (text.as_ptr().cast_mut().cast(), text.len()))
        }
        Value::Bytes(bytes) if !wanted.blob && bytes.len() <= MAX_TEXT_LENGTH => {
            (ibase::SQL_TEXT, 1, 0, (bytes.as_ptr().cast_mut().cast(), bytes.len()))
        }
        Value::Int(n) => as_blob(place, parameters, slot, n.to_string().as_bytes(), (1, UTF8))?,
        Value::Real(x) => as_blob(place, parameters, slot, written(*x).as_bytes(), (1, UTF8))?,
        Value::Text(text) => as_blob(place, parameters, slot, text.as_bytes(), (1, UTF8))?,
        // Nothing is converted: the bytes are those of the column, whatever it holds.
        Value::Bytes(bytes) if wanted.blob => as_blob(place, parameters, slot, bytes, (wanted.subtype, wanted.scale))?,
        Value::Bytes(bytes) => as_blob(place, parameters, slot, bytes, (0, 0))?,
    };
    let variable = parameters.variable(number);
    (variable.sqltype, variable.sqlsubtype, variable.sqlscale) = (kind as i16 | 1, subtype, scale);
    (variable.sqldata, variable.sqllen) = (data, length as i16);
    Ok(())
}

/// A real by as few digits as tell it apart, in the form of SQL.
fn written(number: f64) -> String {
    match number.abs() {
        0.0 | 1e-5..1e16 => number.to_string(),
        _ => format!("{number:e}"),
    }
}

type Bound = (u32, i16, i16, (*mut ibase::ISC_SCHAR, usize));

/// A blob of the bytes, by whose id the value is named.
fn as_blob(
    place: &mut Place,
    parameters: &mut Descriptor,
    slot: Slot,
    bytes: &[u8],
    (subtype, charset): (i16, i16),
) -> Outcome<Bound> {
    let ISC_QUAD { gds_quad_high, gds_quad_low } = place.write(bytes)?;
    let mut id = [0; 8];
    id[..4].copy_from_slice(&gds_quad_high.to_ne_bytes());
    id[4..].copy_from_slice(&gds_quad_low.to_ne_bytes());
    Ok((ibase::SQL_BLOB, subtype, charset, (parameters.put(slot, &id), id.len())))
}

fn drop_handle(library: &Library, mut handle: isc_stmt_handle) {
    // SAFETY: the statement is there, and nobody uses it any more. Nobody is left to hear of an error.
    library.call(|status| unsafe { (library.free)(status, &mut handle, DSQL_DROP) }).ok();
}

fn info(library: &Library, handle: &mut isc_stmt_handle, item: u8) -> Outcome<[u8; 64]> {
    let mut answer = [0u8; 64];
    // SAFETY: the statement is prepared; question and answer have so many bytes.
    library.call(|status| unsafe {
        let asked = [item as c_char];
        (library.sql_info)(status, handle, 1, asked.as_ptr(), answer.len() as i16, answer.as_mut_ptr().cast())
    })?;
    Ok(answer)
}

fn unknown_info() -> transaction::SessionError {
    failed(Class::Other, "what the client library says of a statement cannot be read".to_string())
}

/// The number behind an item and its length, from the lowest byte on; `head` bytes lie before it.
fn number(bytes: &[u8], head: usize) -> Outcome<i64> {
    let length = bytes.get(head - 2..head).ok_or_else(unknown_info)?;
    let length = usize::from(u16::from_le_bytes([length[0], length[1]]));
    let bytes = bytes.get(head..head + length).filter(|bytes| bytes.len() <= 8).ok_or_else(unknown_info)?;
    Ok(bytes.iter().rev().fold(0, |sum, &byte| sum << 8 | i64::from(byte)))
}

/// How many rows were inserted, updated and deleted, from the answer to `isc_info_sql_records`.
fn records(answer: &[u8]) -> Outcome<u64> {
    if answer.first() != Some(&(ibase::isc_info_sql_records as u8)) {
        return Ok(0);
    }
    let mut changed = 0;
    let mut rest = answer.get(3..).ok_or_else(unknown_info)?;
    while let Some(&item) = rest.first() {
        match item.into() {
            ibase::isc_info_end => return Ok(changed),
            ibase::isc_info_req_insert_count | ibase::isc_info_req_update_count | ibase::isc_info_req_delete_count => {
                changed += number(rest, 3)? as u64
            }
            ibase::isc_info_req_select_count => {}
            _ => break,
        }
        let length = rest.get(1..3).ok_or_else(unknown_info)?;
        rest = rest.get(3 + usize::from(u16::from_le_bytes([length[0], length[1]]))..).ok_or_else(unknown_info)?;
    }
    Err(unknown_info())
}

/// Read from the text: to Firebird `insert ... select` is of the same kind.
fn inserts_one_row(sql: &str) -> bool {
    let words: Vec<_> = sql.split_whitespace().map(str::to_lowercase).collect();
    words.starts_with(&["insert".to_string(), "into".to_string()])
        && words.iter().all(|word| !word.contains("select") && !word.contains("returning"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_insert_of_values_writes_one_row() {
        for (sql, one) in [
            ("insert into t (a, b) values (?, ?)", true),
            ("INSERT\n  INTO t VALUES (?)", true),
            ("insert into t (a) select a from u", false),
            ("insert into t (a) (select a from u)", false),
            ("insert into t (a) values (?) returning a", false),
            ("update or insert into t (a) values (?)", false),
            ("update t set a = ?", false),
        ] {
            assert_eq!(inserts_one_row(sql), one, "{sql}");
        }
    }

    #[test]
    fn the_words_of_a_statement_tell_how_its_rows_come() {
        for (sql, columns, kind) in [
            ("select 1 from rdb$database", 1, SELECT),
            ("(select 1 from rdb$database)", 1, SELECT),
            ("WITH x as (select 1 n from rdb$database) select n from x", 1, SELECT),
            ("execute block returns (n int) as begin suspend; end", 1, SELECT),
            ("execute\n  block(n int = 1) returns (n int) as begin suspend; end", 1, SELECT),
            ("execute block as begin end", 0, 0),
            ("execute procedure p", 2, PROCEDURE),
            ("insert into t values (1) returning n", 1, PROCEDURE),
            ("delete from t", 0, 0),
        ] {
            assert_eq!(kind_by_words(sql, columns), kind, "{sql}");
        }
    }

    #[test]
    fn changed_rows_are_those_inserted_updated_and_deleted() {
        let count = |item: u32, rows: u32| [&[item as u8, 4, 0][..], &rows.to_le_bytes()].concat();
        let answer = [
            vec![ibase::isc_info_sql_records as u8, 29, 0],
            count(ibase::isc_info_req_update_count, 3),
            count(ibase::isc_info_req_delete_count, 256),
            count(ibase::isc_info_req_select_count, 9),
            count(ibase::isc_info_req_insert_count, 1),
            vec![ibase::isc_info_end as u8, 0],
        ];
        assert_eq!(records(&answer.concat()).unwrap(), 260);
        assert_eq!(records(&[ibase::isc_info_end as u8]).unwrap(), 0);
        assert!(records(&[ibase::isc_info_sql_records as u8, 1, 0, 77]).is_err());
        assert_eq!(number(&[21, 4, 0, 8, 0, 0, 0, 1], 3).unwrap(), 8);
    }

    #[test]
    fn reals_are_written_as_short_as_they_are() {
        for (number, text) in [(0.5, "0.5"), (-2.0, "-2"), (0.0, "0"), (1e300, "1e300"), (-1.5e-9, "-1.5e-9")] {
            assert_eq!(written(number), text);
        }
        for number in [f64::MIN, f64::MAX, f64::MIN_POSITIVE, -f64::MIN_POSITIVE / 3.0, 1e16 / 3.0, -1e-5 / 3.0] {
            assert!(written(number).len() <= ROOM, "{number}");
        }
    }

    #[test]
    fn a_statement_that_a_length_cannot_tell_ends_with_a_zero() {
        assert_eq!(terminated(&"x".repeat(65_535)).unwrap().1, 65_535);
        assert_eq!(terminated(&"x".repeat(65_536)).unwrap().1, 0);
        assert!(terminated("select 1\0").is_err());
    }

    proptest! {
        #[test]
        fn any_answer_is_read_or_refused(answer: Vec<u8>) {
            records(&answer).ok();
            records(&[&[ibase::isc_info_sql_records as u8][..], &answer].concat()).ok();
        }
    }
}
