//! The start of a connection, up to the server's first OK.

use super::connection::Wire;
use transaction::Outcome;
use wire_mysql::{Asked, Login, Manner};

/// Logs in, by whatever way the server asks for that is known here.
pub fn log_in(wire: &mut Wire, database: &str, user: &str, password: Option<&str>) -> Outcome<Manner> {
    let mut login = Login::new(database, user, password, wire.private)?;
    let greeting = next(wire)?;
    let hello = login.answer_greeting(&greeting)?;
    wire.packets.packet(|out| out.extend(hello))?;
    loop {
        let asked = next(wire)?;
        match login.answer(&asked)? {
            Asked::Proof(proof) => wire.packets.packet(|out| out.extend(proof))?,
            Asked::Nothing => {}
            Asked::In(manner) => return Ok(manner),
        }
    }
}

/// Sends what is to be sent and waits for the next packet.
fn next(wire: &mut Wire) -> Outcome<Vec<u8>> {
    wire.converse(|content| Ok(Some(content.to_vec())))
}
