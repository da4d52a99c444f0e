//! Messages that are not on the measured path, as the crate `postgres-protocol` writes and reads them.

use bytes::{BufMut as _, BytesMut};
use fallible_iterator::FallibleIterator as _;
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend;
use std::io;
use transaction::{failed, garbled, Class, Outcome, SessionError};

/// Puts out what `write` writes; `what` names it where it cannot be sent.
pub fn put(out: &mut Vec<u8>, what: &str, write: impl FnOnce(&mut BytesMut) -> io::Result<()>) -> Outcome<()> {
    let mut buffer = BytesMut::new();
    write(&mut buffer).map_err(|error| failed(Class::Other, format!("{what:?} cannot be sent: {error}")))?;
    out.extend_from_slice(&buffer);
    Ok(())
}

pub fn parse(tag: u8, body: &[u8]) -> Outcome<Message> {
    let mut whole = BytesMut::with_capacity(5 + body.len());
    whole.put_u8(tag);
    whole.put_u32(body.len() as u32 + 4);
    whole.put_slice(body);
    let message = Message::parse(&mut whole).map_err(|error| failed(Class::Connection, error.to_string()))?;
    message.ok_or_else(garbled)
}

/// Writes the message that a connection begins with.
pub fn put_startup(out: &mut Vec<u8>, database: &str, user: &str) -> Outcome<()> {
    let parameters = [("user", user), ("database", database), ("client_encoding", "UTF8")];
    put(out, &format!("{user} {database}"), |buffer| frontend::startup_message(parameters, buffer))
}

/// Writes a query of the simple protocol.
pub fn put_query(out: &mut Vec<u8>, sql: &str) -> Outcome<()> {
    put(out, sql, |buffer| frontend::query(sql, buffer))
}

/// Asks for a statement of this name to be prepared and described. Its parameters are `$1`, `$2`, …
pub fn put_prepare(out: &mut Vec<u8>, name: &str, sql: &str) -> Outcome<()> {
    put(out, sql, |buffer| {
        frontend::parse(name, sql, [], buffer)?;
        frontend::describe(b'S', name, buffer)?;
        frontend::sync(buffer);
        Ok(())
    })
}

pub fn put_copy_fail(out: &mut Vec<u8>) -> Outcome<()> {
    put(out, "", |buffer| frontend::copy_fail("broken off", buffer))
}

pub fn put_copy_done(out: &mut Vec<u8>) -> Outcome<()> {
    put(out, "", |buffer| {
        frontend::copy_done(buffer);
        Ok(())
    })
}

/// `?` becomes `$1`, `$2`, …: our statements hold no question mark of their own.
pub fn numbered(sql: &str) -> String {
    let mut parts = sql.split('?');
    let mut numbered = parts.next().unwrap_or_default().to_string();
    for (position, part) in parts.enumerate() {
        numbered.push_str(&format!("${}{part}", position + 1));
    }
    numbered
}

pub fn parameter_types(body: &[u8]) -> Outcome<Vec<u32>> {
    match parse(b't', body)? {
        Message::ParameterDescription(described) => described.parameters().collect().map_err(|_| garbled()),
        _ => Err(garbled()),
    }
}

/// The name and the type of each column, from the body of a RowDescription.
pub fn columns(body: &[u8]) -> Outcome<(Vec<String>, Vec<u32>)> {
    match parse(b'T', body)? {
        Message::RowDescription(described) => {
            let columns = described.fields().map(|field| Ok((field.name().to_string(), field.type_oid())));
            columns.collect::<Vec<_>>().map(|columns| columns.into_iter().unzip()).map_err(|_| garbled())
        }
        _ => Err(garbled()),
    }
}

/// An ErrorResponse in our words: its SQLSTATE (field C) decides the class; see PostgreSQL documentation, appendix A. Where
/// it names a place in the statement (field P, in characters from 1 on), the message does.
pub fn refusal(body: &[u8]) -> SessionError {
    let (mut state, mut message, mut place) = (String::new(), String::new(), String::new());
    if let Ok(Message::ErrorResponse(response)) = parse(b'E', body) {
        let mut fields = response.fields();
        // What can be read up to where it is garbled tells more than that it is.
        while let Ok(Some(field)) = fields.next() {
            let text = || String::from_utf8_lossy(field.value_bytes()).into_owned();
            match field.type_() {
                b'C' => state = text(),
                b'M' => message = text(),
                b'P' => place = format!(" at character {}", text()),
                _ => {}
            }
        }
    }
    let class = match state.as_str() {
        "40001" => Class::UpdateConflict,
        "40P01" => Class::Deadlock,
        "55P03" => Class::LockTimeout,
        "53100" => Class::DiskFull,
        "53300" | "3D000" => Class::Connection,
        state if state.starts_with("23") => Class::Constraint,
        state if ["08", "28", "57P", "58", "XX"].iter().any(|begin| state.starts_with(begin)) => Class::Connection,
        _ => Class::Other,
    };
    failed(class, format!("{message}{place} (SQLSTATE {state})"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn question_marks_become_numbers() {
        assert_eq!(numbered("update a set b = b + ? where c = ?"), "update a set b = b + $1 where c = $2");
        assert_eq!(numbered("begin"), "begin");
    }

    #[test]
    fn sqlstates_become_classes() {
        for (state, class) in [
            ("40001", Class::UpdateConflict),
            ("40P01", Class::Deadlock),
            ("55P03", Class::LockTimeout),
            ("23505", Class::Constraint),
            ("53100", Class::DiskFull),
            ("57P01", Class::Connection),
            ("28P01", Class::Connection),
            ("42P01", Class::Other),
        ] {
            let error = refusal(format!("SERROR\0C{state}\0Mwhat happened\0\0").as_bytes());
            assert_eq!((error.class, error.message), (class, format!("what happened (SQLSTATE {state})")));
        }
    }

    #[test]
    fn a_refusal_names_the_place() {
        let error = refusal(b"SERROR\0C42601\0Msyntax error at or near \"x\"\0P15\0p3\0\0");
        assert_eq!(error.message, "syntax error at or near \"x\" at character 15 (SQLSTATE 42601)");
    }

    #[test]
    fn what_has_a_zero_byte_cannot_be_sent() {
        assert!(put_query(&mut Vec::new(), "select 1\0").is_err());
        assert!(put_startup(&mut Vec::new(), "a\0", "me").is_err());
    }

    proptest! {
        #[test]
        fn any_answer_is_read_or_refused(body: Vec<u8>, many in 0u8..4) {
            for body in [body.clone(), [&[0, many][..], &body].concat()] {
                columns(&body).ok();
                parameter_types(&body).ok();
                refusal(&body);
            }
        }
    }
}
