//! The start of a connection, up to the server's first OK.

use super::connection::Wire;
use crate::tls::Tls;
use transaction::Outcome;
use wire_mysql::{Asked, Login, Manner, Reach};

/// Logs in, by whatever way the server asks for that is known here; `tls` is what the session asks for, and the name of
/// the server's host. None: the server asks for the password itself, and somebody may listen in.
pub fn log_in(
    wire: &mut Wire,
    database: &str,
    user: &str,
    password: Option<&str>,
    tls: Option<(&Tls, &str)>,
) -> Outcome<Option<Manner>> {
    let reach = match tls {
        Some((tls, _)) => Reach::Tls { known: tls.identity.is_some() },
        None if wire.private => Reach::Socket,
        None => Reach::Open,
    };
    let mut login = Login::new(database, user, password, reach)?;
    let greeting = next(wire)?;
    if let Some((tls, host)) = tls {
        let request = login.ask_for_tls(&greeting)?;
        wire.packets.packet(|out| out.extend(request))?;
        wire.encrypt(tls, host)?;
    }
    let hello = login.answer_greeting(&greeting)?;
    wire.packets.packet(|out| out.extend(hello))?;
    loop {
        let asked = next(wire)?;
        match login.answer(&asked)? {
            Asked::Proof(proof) => wire.packets.packet(|out| out.extend(proof))?,
            Asked::Nothing => {}
            Asked::In(manner) => {
                wire.opened();
                return Ok(Some(manner));
            }
            Asked::Private => return Ok(None),
        }
    }
}

/// Sends what is to be sent and waits for the next packet.
fn next(wire: &mut Wire) -> Outcome<Vec<u8>> {
    wire.converse(|content| Ok(Some(content.to_vec())))
}
