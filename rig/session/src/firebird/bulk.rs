//! A bulk load by `execute block`: Firebird has no insert of many rows, but a block of many inserts is one call.

use super::Firebird;
use transaction::{ManyRows, Outcome, Session as _};

/// Rows of a block. More of them make an embedded engine slower again; a server is worth the larger block, which saves
/// round trips. Both are far from the 255 contexts that a request of Firebird 3.0 may have, each insert takes one.
const ROWS_EMBEDDED: usize = 20;
const ROWS_REMOTE: usize = 50;

/// What Firebird 3.0 takes for a block's parameters, and the client for its text: 64 KiB each, less what frames them.
const BLOCK_BYTES: usize = 65_000;

/// More than this does not wait for a block to be full: blobs may be long.
const WAITING_BYTES: u64 = 1 << 20;

/// Fills a table in one transaction, which waits for others like any of the session's. The engine counts the inserts of a
/// block as it does those of a single statement.
pub fn begin<'a>(session: &'a mut Firebird, table: &str, columns: &[&str]) -> Outcome<ManyRows<'a>> {
    // A parameter takes at most 12 bytes beside its value: a length, a flag for NULL, and both aligned.
    let sql = format!(
        "select sum(f.rdb$field_length + 12) from rdb$relation_fields r \
         join rdb$fields f on f.rdb$field_name = r.rdb$field_source where r.rdb$relation_name = upper('{table}')"
    );
    let width = session.rows(&sql)?.first().and_then(|row| row[0].as_i64()).unwrap_or(0) as usize;
    let wished = if session.remote { ROWS_REMOTE } else { ROWS_EMBEDDED };
    let rows = rows_of_block(wished, width, block(table, columns, 1).len());
    let marks = vec!["?"; columns.len()].join(", ");
    let one = format!("insert into {table} ({}) values ({marks})", columns.join(", "));
    ManyRows::begin(session, columns.len(), &one, (&block(table, columns, rows), rows), WAITING_BYTES)
}

/// As many rows as wished, or as the parameters of `width` bytes and the text of `length` bytes a row allow.
fn rows_of_block(wished: usize, width: usize, length: usize) -> usize {
    wished.min(BLOCK_BYTES / width.max(length)).max(1)
}

/// A block that inserts `rows` rows. Its parameters are of the columns' own types, so that nothing is converted twice.
fn block(table: &str, columns: &[&str], rows: usize) -> String {
    let names = columns.join(", ");
    let (mut parameters, mut inserts) = (Vec::new(), String::new());
    for row in 0..rows {
        let first = row * columns.len();
        parameters
            .extend(columns.iter().zip(first..).map(|(column, n)| format!("p{n} type of column {table}.{column} = ?")));
        let values: Vec<_> = (first..first + columns.len()).map(|n| format!(":p{n}")).collect();
        inserts += &format!("insert into {table} ({names}) values ({}); ", values.join(", "));
    }
    format!("execute block ({}) as begin {inserts}end", parameters.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_inserts_row_after_row() {
        assert_eq!(
            block("t", &["a", "b"], 2),
            "execute block (p0 type of column t.a = ?, p1 type of column t.b = ?, \
             p2 type of column t.a = ?, p3 type of column t.b = ?) as begin \
             insert into t (a, b) values (:p0, :p1); insert into t (a, b) values (:p2, :p3); end"
        );
    }

    #[test]
    fn a_block_of_wide_rows_has_fewer_of_them() {
        for (wished, width, length, rows) in
            [(50, 200, 300, 50), (50, 6500, 300, 10), (50, 200, 2000, 32), (20, 100_000, 300, 1), (20, 0, 90, 20)]
        {
            assert_eq!(rows_of_block(wished, width, length), rows);
        }
        let columns: Vec<_> = (0..60).map(|n| format!("a_column_of_thirty_letters_{n:03}")).collect();
        let columns: Vec<_> = columns.iter().map(String::as_str).collect();
        let one = block("t", &columns, 1).len();
        assert!(block("t", &columns, rows_of_block(ROWS_REMOTE, 0, one)).len() <= usize::from(u16::MAX));
    }
}
