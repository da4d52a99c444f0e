//! Packets: how each is framed and numbered, what they are made of, and the one that refuses.
//! Source: MySQL internals manual, "MySQL packets"; MariaDB knowledge base, "0-packet".

use transaction::{failed, garbled, Class, Outcome, SessionError};

/// Length (3, little-endian) and number (1).
pub const HEAD: usize = 4;
/// A packet of this length goes on in the next.
const LENGTH_MAX: usize = 0xff_ffff;

/// A conversation's packets, which both sides number together.
pub struct Packets {
    /// Whole packets that are to be sent next.
    pub out: Vec<u8>,
    /// The number of the next packet, from either side.
    number: u8,
}

impl Default for Packets {
    fn default() -> Packets {
        Packets { out: Vec::with_capacity(4096), number: 0 }
    }
}

impl Packets {
    /// Writes the one packet of a command, which begins a new conversation.
    pub fn command(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Outcome<()> {
        self.number = 0;
        self.packet(write)
    }

    /// Writes the conversation's next packet, its content put out by `write`.
    pub fn packet(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Outcome<()> {
        let start = self.open_packet();
        write(&mut self.out);
        self.close_packet(start)
    }

    /// Begins a packet in `out`; answers where.
    pub fn open_packet(&mut self) -> usize {
        let start = self.out.len();
        self.out.extend([0; HEAD]);
        start
    }

    pub fn close_packet(&mut self, start: usize) -> Outcome<()> {
        let length = self.out.len() - start - HEAD;
        if length >= LENGTH_MAX {
            self.out.truncate(start);
            return Err(too_long(length, LENGTH_MAX));
        }
        self.out[start..start + 3].copy_from_slice(&(length as u32).to_le_bytes()[..3]);
        self.out[start + 3] = self.number;
        self.number = self.number.wrapping_add(1);
        Ok(())
    }

    /// The content of the server's next packet, and how many bytes of `bytes` it takes; none while it has not come whole.
    pub fn read<'a>(&mut self, bytes: &'a [u8]) -> Outcome<Option<(&'a [u8], usize)>> {
        let Some((number, content)) = first_packet(bytes)? else { return Ok(None) };
        if number != self.number {
            // Out of turn the server writes only that it ends the connection.
            let why = if content.first() == Some(&0xff) { refusal(content).message } else { garbled().message };
            return Err(failed(Class::Connection, why));
        }
        self.number = self.number.wrapping_add(1);
        Ok(Some((content, HEAD + content.len())))
    }
}

/// What is sent to the server at once is longer than it takes.
pub fn too_long(length: usize, most: usize) -> SessionError {
    let message = format!(
        "a statement with its values is {length} bytes long, and the server takes at most {most} at once \
         (max_allowed_packet, and never 16 MiB or more): make the values smaller, or raise the setting"
    );
    failed(Class::Other, message)
}

/// The first packet of `bytes`, its number and its content; none while it has not come whole.
fn first_packet(bytes: &[u8]) -> Outcome<Option<(u8, &[u8])>> {
    let Some((&[a, b, c, number], rest)) = bytes.split_first_chunk::<HEAD>() else { return Ok(None) };
    let length = u32::from_le_bytes([a, b, c, 0]) as usize;
    if length == LENGTH_MAX {
        return Err(failed(Class::Connection, "the server's answer has a row of 16 MB or more".to_string()));
    }
    Ok(rest.get(..length).map(|content| (number, content)))
}

/// Takes values off the front of a packet; none when it is too short.
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    pub fn bytes(&mut self, many: usize) -> Outcome<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(many).ok_or_else(garbled)?;
        self.0 = rest;
        Ok(taken)
    }

    pub fn array<const N: usize>(&mut self) -> Outcome<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk().ok_or_else(garbled)?;
        self.0 = rest;
        Ok(*taken)
    }

    pub fn u8(&mut self) -> Outcome<u8> {
        self.array().map(|[byte]| byte)
    }

    pub fn u16(&mut self) -> Outcome<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub fn u32(&mut self) -> Outcome<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// A number whose first byte tells how long it is.
    pub fn number(&mut self) -> Outcome<u64> {
        match self.u8()? {
            small @ 0..=0xfa => Ok(small.into()),
            0xfc => self.u16().map(u64::from),
            0xfd => self.array().map(|[a, b, c]| u32::from_le_bytes([a, b, c, 0]).into()),
            0xfe => self.array().map(u64::from_le_bytes),
            0xfb | 0xff => Err(garbled()),
        }
    }

    /// A text whose length stands before it.
    pub fn text(&mut self) -> Outcome<&'a [u8]> {
        let length = self.number()?;
        self.bytes(usize::try_from(length).map_err(|_| garbled())?)
    }

    /// A text up to a zero byte, or to the packet's end.
    pub fn until_zero(&mut self) -> &'a [u8] {
        let end = self.0.iter().position(|&byte| byte == 0);
        let text = &self.0[..end.unwrap_or(self.0.len())];
        self.0 = &self.0[end.map_or(self.0.len(), |end| end + 1)..];
        text
    }
}

/// Writes a text with its length before it.
pub fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    match text.len() {
        short @ 0..=0xfa => out.push(short as u8),
        long @ 0xfb..=0xffff => {
            out.push(0xfc);
            out.extend((long as u16).to_le_bytes());
        }
        // Longer than a packet holds, it is refused there.
        longer => {
            out.push(0xfd);
            out.extend(&(longer as u32).to_le_bytes()[..3]);
        }
    }
    out.extend(text);
}

/// An ERR packet in our words: 0xff, error number (2), `#` and SQLSTATE (5) but for the very first packet, message.
pub fn refusal(content: &[u8]) -> SessionError {
    let mut reader = Reader(content);
    let (Ok(_), Ok(code)) = (reader.u8(), reader.u16()) else { return garbled() };
    let text = match reader.0 {
        [b'#', _, _, _, _, _, text @ ..] => text,
        text => text,
    };
    let message = String::from_utf8_lossy(text);
    failed(classify(code, &message), format!("{message} (error {code})"))
}

/// Error numbers as in MySQL's `errmsg.txt`, MariaDB's own among them.
fn classify(code: u16, message: &str) -> Class {
    match code {
        1213 => Class::Deadlock,
        1205 => Class::LockTimeout,
        1020 => Class::UpdateConflict,
        3572 => Class::LockConflict,
        1021 | 1114 => Class::DiskFull,
        // EE_WRITE, ER_ERROR_ON_WRITE, ER_GET_ERRNO, ER_ERROR_DURING_COMMIT: their text holds ENOSPC.
        3 | 1026 | 1030 | 1180 if message.contains("error 28") || message.contains("rno: 28") => Class::DiskFull,
        1022 | 1048 | 1062 | 1169 | 1216 | 1217 | 1451 | 1452 | 1557 | 1586 | 1761 | 1762 | 3819 | 4025 => {
            Class::Constraint
        }
        1040
        | 1042..=1045
        | 1047
        | 1049
        | 1053
        | 1077..=1081
        | 1129
        | 1130
        | 1152
        | 1156..=1161
        | 1184
        | 1203
        | 1226 => Class::Connection,
        1251 | 1698 | 1862 | 1927 | 2000..=2062 | 3118 | 3159 | 4031 | 4151 => Class::Connection,
        _ => Class::Other,
    }
}
