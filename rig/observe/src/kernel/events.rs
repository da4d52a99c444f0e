//! Records of the events that are watched, read by the fields that the kernel says they have. Pure.

use crate::format::Field;

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Part {
    Begin,
    End,
    Moment,
}

/// How one event's records are read.
pub enum Reading {
    Enter { call: u8, arguments: Vec<Field> },
    Exit { call: u8, result: Field },
    RingSubmit { request: Field, operation: Field },
    RingComplete { request: Field, result: Field },
    Issue { device: Field, sector: Field, bytes: Field, flags: Field },
    Complete { device: Field, sector: Field, flags: Field },
    FileSystem { what: &'static str, key: Option<Field>, part: Part },
    Born { child: Field, flags: Field, name: Field },
}

/// One record, as far as it is understood.
#[derive(Debug)]
pub enum What {
    Enter { call: u8, args: [u64; 6] },
    Exit { call: u8, ret: i64 },
    RingSubmit { request: u64, operation: u8 },
    RingComplete { request: u64, result: i64 },
    Issue { device: u64, sector: u64, bytes: u64, flags: String },
    Complete { device: u64, sector: u64, flags: String },
    FileSystem { what: &'static str, key: u64, part: Part },
    Born { child: u32, thread: bool, name: String },
}

pub struct Event {
    pub at_ns: u64,
    pub tid: u32,
    pub what: What,
}

impl Reading {
    /// What a record says; nothing when it has not the fields.
    pub fn read(&self, data: &[u8]) -> Option<What> {
        Some(match self {
            Reading::Enter { call, arguments } => {
                let mut args = [0; 6];
                for (arg, field) in args.iter_mut().zip(arguments) {
                    *arg = field.number(data)?;
                }
                What::Enter { call: *call, args }
            }
            Reading::Exit { call, result } => What::Exit { call: *call, ret: result.number(data)? as i64 },
            Reading::RingSubmit { request, operation } => {
                What::RingSubmit { request: request.number(data)?, operation: operation.number(data)? as u8 }
            }
            Reading::RingComplete { request, result } => {
                What::RingComplete { request: request.number(data)?, result: result.number(data)? as i64 }
            }
            Reading::Issue { device, sector, bytes, flags } => What::Issue {
                device: device.number(data)?,
                sector: sector.number(data)?,
                bytes: bytes.number(data)?,
                flags: flags.text(data)?,
            },
            Reading::Complete { device, sector, flags } => {
                What::Complete { device: device.number(data)?, sector: sector.number(data)?, flags: flags.text(data)? }
            }
            Reading::FileSystem { what, key, part } => {
                let key = key.as_ref().map_or(Some(0), |field| field.number(data))?;
                What::FileSystem { what, key, part: *part }
            }
            Reading::Born { child, flags, name } => What::Born {
                child: child.number(data)? as u32,
                thread: flags.number(data)? & libc::CLONE_THREAD as u64 != 0,
                name: name.text(data)?,
            },
        })
    }
}
