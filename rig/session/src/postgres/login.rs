//! The start of a connection, up to the server's first readiness.

use super::connection::Wire;
use std::task::Poll;
use transaction::Outcome;
use wire_postgres::{put_startup, Binding, Secrets};

/// Logs in by whatever way the server asks for: trust, a password in clear text, MD5 or SCRAM, bound to the connection
/// where that is encrypted.
pub fn log_in(wire: &mut Wire, database: &str, user: &str, password: Option<&str>) -> Outcome<()> {
    put_startup(&mut wire.out, database, user)?;
    let binding = match wire.end_point() {
        Some(end_point) => Binding::To(end_point),
        None => Binding::Unknown,
    };
    let mut secrets = Secrets::new(user, password, binding);
    loop {
        // The server falls silent after each challenge: that is the only way out before it is ready.
        let mut answer = None;
        let mut challenged = false;
        wire.send()?;
        let ended = loop {
            let heard = wire.answers(|tag, body| {
                if tag == b'R' {
                    answer = secrets.answer(body)?;
                    challenged = answer.is_some();
                }
                Ok(())
            });
            match heard {
                Poll::Ready(outcome) => break Some(outcome?),
                Poll::Pending if challenged => break None,
                Poll::Pending => wire.wait()?,
            }
        };
        match (ended, answer) {
            (None, Some(answer)) => wire.out.extend(answer),
            _ => {
                wire.opened();
                return Ok(());
            }
        }
    }
}
