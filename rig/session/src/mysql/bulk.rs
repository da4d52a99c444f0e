//! A bulk load by `LOAD DATA LOCAL INFILE`, whose file is made here as the server reads it.

use super::{put_query, Mysql};
use transaction::{as_many_values, failed, garbled, Bulk, Class, ManyRows, Outcome, Session as _, Value};
use wire_mysql::{put_field, put_hexadecimal, refusal, Answer, Form, HEAD};

/// The file goes in packets of this size: MySQL 5.5 takes a megabyte at most.
const PACKET: usize = 128 * 1024;
/// What is longer is sent in parts.
const LONG: usize = 512 * 1024;
/// How many rows one insert writes, where no file is admitted.
const ROWS: usize = 100;

/// What a server says that admits no local file, after its error number: MySQL up to 5.7, MySQL 8, MariaDB.
const NOT_ADMITTED: [&str; 3] = ["(error 1148)", "(error 3948)", "(error 4166)"];

/// Fills a table from our file, in its own transaction. Where the server admits none, it is inserts of many
/// rows, in one transaction.
pub fn begin<'a>(session: &'a mut Mysql, table: &str, columns: &[&str]) -> Outcome<Box<dyn Bulk + 'a>> {
    let forms = session.forms(&format!("select {} from {table} limit 0", columns.join(", ")))?;
    put_query(&mut session.wire, &file_sql(table, columns, &forms))?;
    let answered = session.wire.converse(|content| match content.first() {
        // The name of the file that it asks for.
        Some(0xfb) => Ok(Some(Ok(()))),
        Some(0xff) => Ok(Some(Err(refusal(content)))),
        _ => Err(garbled()),
    })?;
    match answered {
        Ok(()) => {
            let packet = session.wire.packets.open_packet();
            Ok(Box::new(Infile { session, forms, packet, ended: false }))
        }
        Err(error) if NOT_ADMITTED.iter().any(|ending| error.message.ends_with(ending)) => {
            let marks = format!("({})", vec!["?"; columns.len()].join(", "));
            let sql = |rows| {
                format!("insert into {table} ({}) values {}", columns.join(", "), vec![&*marks; rows].join(", "))
            };
            // Many long rows would be more than the server takes at once.
            Ok(Box::new(ManyRows::begin(session, columns.len(), &sql(1), (&sql(ROWS), ROWS), LONG as u64)?))
        }
        Err(error) => Err(error),
    }
}

/// The statement that asks for a file. Such are the rules of a file when the statement names none, but for its characters. Bytes
/// are no characters, and bits would be taken for those that the digits are made of.
fn file_sql(table: &str, columns: &[&str], forms: &[Form]) -> String {
    let (mut fields, mut set) = (Vec::new(), Vec::new());
    for (number, (name, form)) in columns.iter().zip(forms).enumerate() {
        let read = match form {
            Form::Letters => {
                fields.push(name.to_string());
                continue;
            }
            Form::Bytes => format!("unhex(@x{number})"),
            Form::Bits => format!("cast(@x{number} as unsigned)"),
        };
        fields.push(format!("@x{number}"));
        set.push(format!("{name} = {read}"));
    }
    let set = if set.is_empty() { String::new() } else { format!(" set {}", set.join(", ")) };
    format!("load data local infile 'rows' into table {table} character set utf8mb4 ({}){set}", fields.join(", "))
}

struct Infile<'a> {
    session: &'a mut Mysql,
    forms: Vec<Form>,
    /// Where in the wire's `out` the next packet begins.
    packet: usize,
    ended: bool,
}

impl Infile<'_> {
    fn send(&mut self) -> Outcome<()> {
        let packets = &mut self.session.wire.packets;
        let start = self.packet + HEAD;
        if packets.out.len() - start > LONG {
            // A row may be longer than any packet.
            let rows = packets.out.split_off(start);
            let mut parts = rows.chunks(PACKET);
            packets.out.extend(parts.next().unwrap_or_default());
            for part in parts {
                packets.close_packet(self.packet)?;
                self.packet = packets.open_packet();
                packets.out.extend(part);
            }
        }
        self.session.wire.packets.close_packet(self.packet)?;
        self.session.wire.send()?;
        self.packet = self.session.wire.packets.open_packet();
        Ok(())
    }

    /// Ends the file; answers how many rows were taken.
    fn complete(&mut self) -> Outcome<u64> {
        let answer = self.end()?;
        if answer.warnings > 0 {
            // Of a local file the server takes every row, cut to fit or left out, and only warns: it cannot stop us.
            let warnings = self.session.rows("show warnings limit 1")?;
            let warning_text =
                warnings.into_iter().flatten().filter_map(Value::into_text).collect::<Vec<_>>().join(" ");
            return Err(failed(
                Class::Other,
                format!("{} rows were not taken as they are: {warning_text}", answer.warnings),
            ));
        }
        Ok(answer.changed)
    }

    /// Ends the file, which an empty packet does, and takes in what came of it.
    fn end(&mut self) -> Outcome<Answer> {
        self.ended = true;
        let wire = &mut self.session.wire;
        if wire.packets.out.len() > self.packet + 4 {
            wire.packets.close_packet(self.packet)?;
            self.packet = wire.packets.open_packet();
        }
        wire.packets.close_packet(self.packet)?;
        let mut answer = Answer::to(false);
        let (manner, mut none) = (self.session.manner, (Vec::new(), Vec::new()));
        wire.converse(|content| answer.take(content, manner, &mut none.0, &mut none.1, &mut |_| {}))??;
        Ok(answer)
    }
}

impl Bulk for Infile<'_> {
    fn row(&mut self, values: &[Value]) -> Outcome<u64> {
        as_many_values(self.forms.len(), values)?;
        let out = &mut self.session.wire.packets.out;
        let mut bytes = 0;
        for (position, value) in values.iter().enumerate() {
            if position > 0 {
                out.push(b'\t');
            }
            match self.forms[position] {
                Form::Bytes => put_hexadecimal(out, value),
                Form::Letters | Form::Bits => put_field(out, value),
            }
            bytes += value.bytes();
        }
        out.push(b'\n');
        if out.len() >= PACKET {
            self.send()?;
        }
        Ok(bytes)
    }

    fn finish(mut self: Box<Self>) -> Outcome<u64> {
        self.complete()
    }
}

impl Drop for Infile<'_> {
    fn drop(&mut self) {
        if !self.ended {
            // There is no way to break off but to end the file early; nobody is left to hear of an error.
            self.end().ok();
        }
    }
}
