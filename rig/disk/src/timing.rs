//! How long a drive takes: when what it begins now will be done. Pure functions of the state, the request and the clock.
//!
//! The rotating disk: seek times grow with the root of the distance up to a third of the disk and linearly from there
//! (Ruemmler and Wilkes, "An introduction to disk drive modeling", IEEE Computer 27(3), 1994), the head waits for the
//! sector to come by, whatever passes under it after a read is kept in the track buffer. One request at a time, in the
//! order in which they come; the write cache is emptied by place.
//!
//! Flash: requests share a bus and are spread over units that each do one at a time; a block in the write cache costs
//! nothing until it is programmed, and a flush a fixed time on top of that.
//!
//! All times are nanoseconds and whole: two runs agree to the last digit.

use super::medium::BLOCK;
use protocol::{DiskTiming, DiskTimingName};

const MS: f64 = 1e6;
const US: f64 = 1e3;

/// Parameters by name, with what each model has where none is given. No drive in particular.
type Defaults = &'static [(&'static str, f64)];

const DESTAGE: (&str, f64) = ("destage_ms", 1_000.0); // a dirty block waits so long before the idle drive writes it
                                                      // One thread: to hand requests round among several costs more than any of them takes.
const NONE: Defaults = &[("queue_depth", 1.0), DESTAGE];
const ROTATING: Defaults = &[
    ("rpm", 7_200.0),
    ("seek_track_ms", 0.8),
    ("seek_average_ms", 8.5),
    ("seek_full_ms", 17.0),
    ("capacity_gb", 500.0), // the disk is at its beginning: short distances, as of a partition there
    ("track_kb", 1_024.0),
    ("overhead_us", 100.0),
    ("bus_mb_s", 300.0),
    ("lookahead_kb", 2_048.0),
    ("queue_depth", 32.0),
    DESTAGE,
];
const SATA_SSD: Defaults = &[
    ("read_us", 90.0),
    ("write_us", 40.0),
    ("flush_us", 400.0),
    ("program_us", 250.0), // 4 KiB, on one unit
    ("units", 32.0),
    ("bus_mb_s", 550.0),
    ("queue_depth", 32.0),
    DESTAGE,
];
const NVME: Defaults = &[
    ("read_us", 70.0),
    ("write_us", 12.0),
    ("flush_us", 250.0),
    ("program_us", 130.0),
    ("units", 64.0),
    ("bus_mb_s", 3_500.0),
    ("queue_depth", 64.0),
    DESTAGE,
];

/// What of a block of flash or a place on a platter is waited for.
#[derive(Debug, Clone)]
pub struct Timing {
    pub queue_depth: usize,
    pub destage_after_ns: u64,
    drive: Drive,
}

#[derive(Debug, Clone)]
enum Drive {
    None,
    Rotating(Rotating),
    Flash(Flash),
}

impl Timing {
    /// Says which parameter is unknown or out of range.
    pub fn new(asked: &DiskTiming) -> Result<Self, String> {
        let defaults = match asked.name {
            DiskTimingName::None => NONE,
            DiskTimingName::Rotating => ROTATING,
            DiskTimingName::SataSsd => SATA_SSD,
            DiskTimingName::Nvme => NVME,
        };
        for (name, value) in &asked.parameters {
            if !defaults.iter().any(|(known, _)| known == name) {
                let names: Vec<&str> = defaults.iter().map(|(known, _)| *known).collect();
                return Err(format!("this disk has no {name}; it has {}", names.join(", ")));
            }
            if !(*value > 0.0 && *value <= 1e9) {
                return Err(format!("{name} must be above 0, found {value}"));
            }
        }
        let of = |name: &str| {
            let default = defaults.iter().find(|(known, _)| *known == name).map_or(0.0, |(_, value)| *value);
            asked.parameters.get(name).copied().unwrap_or(default)
        };
        let drive = match asked.name {
            DiskTimingName::None => Drive::None,
            DiskTimingName::Rotating => Drive::Rotating(Rotating::new(of)),
            DiskTimingName::SataSsd | DiskTimingName::Nvme => Drive::Flash(Flash::new(of)),
        };
        Ok(Timing {
            queue_depth: (of("queue_depth") as usize).clamp(1, 256),
            destage_after_ns: (of("destage_ms") * MS) as u64,
            drive,
        })
    }

    pub fn is_none(&self) -> bool {
        matches!(self.drive, Drive::None)
    }

    pub fn read(&mut self, now: u64, at: u64, length: u64) -> u64 {
        match &mut self.drive {
            Drive::None => now,
            Drive::Rotating(disk) => disk.read(now, at, length),
            Drive::Flash(flash) => flash.read(now, length),
        }
    }

    /// A read from the write cache, or a write into it.
    pub fn cached(&mut self, now: u64, length: u64) -> u64 {
        match &mut self.drive {
            Drive::None => now,
            Drive::Rotating(disk) => disk.bus(now, length),
            Drive::Flash(flash) => flash.cached(now, length),
        }
    }

    pub fn write(&mut self, now: u64, at: u64, length: u64) -> u64 {
        match &mut self.drive {
            Drive::None => now,
            Drive::Rotating(disk) => disk.write(now, at, length),
            Drive::Flash(flash) => {
                let there = flash.cached(now, length);
                (0..length.div_ceil(BLOCK as u64)).map(|_| flash.program(there)).max().unwrap_or(there)
            }
        }
    }

    /// One block from the cache onto the medium.
    pub fn destage(&mut self, now: u64, block: u32) -> u64 {
        match &mut self.drive {
            Drive::None => now,
            Drive::Rotating(disk) => disk.access(now, u64::from(block) * BLOCK as u64, BLOCK as u64),
            Drive::Flash(flash) => flash.program(now),
        }
    }

    /// When a block, begun at `from` if nothing keeps the drive busy, would be destaged; begins nothing.
    pub fn would_destage(&self, from: u64, block: u32) -> u64 {
        match &self.drive {
            Drive::None => from,
            Drive::Rotating(disk) => disk.clone().access(from, u64::from(block) * BLOCK as u64, BLOCK as u64),
            Drive::Flash(flash) => flash.would_program(from),
        }
    }

    /// When a flush is done whose blocks were destaged at `destaged`.
    pub fn flushed(&mut self, now: u64, destaged: u64) -> u64 {
        match &mut self.drive {
            Drive::None => now,
            Drive::Rotating(disk) => disk.bus(now, 0).max(destaged),
            Drive::Flash(flash) => destaged.max(now) + flash.flush_ns,
        }
    }
}

#[derive(Debug, Clone)]
struct Rotating {
    turn_ns: u64,
    track_bytes: u64,
    tracks: f64,
    seek_track_ns: f64,
    seek_average_ns: f64,
    seek_full_ns: f64,
    overhead_ns: u64,
    bus_bytes_s: f64,
    lookahead_bytes: u64,
    /// The mechanics are free from then on, with the head over this track.
    free_at: u64,
    track: u64,
    buffer: Option<Buffer>,
}

/// What the head has read since the last read, requested or not.
#[derive(Debug, Clone)]
struct Buffer {
    from: u64,
    to: u64,
    begun_at: u64,
    /// When the head was taken away.
    ended_at: u64,
}

impl Rotating {
    fn new(of: impl Fn(&str) -> f64) -> Self {
        let track_bytes = (of("track_kb") * 1024.0) as u64;
        Rotating {
            turn_ns: ((60e9 / of("rpm")) as u64).max(1),
            track_bytes: track_bytes.max(BLOCK as u64),
            tracks: (of("capacity_gb") * 1e9 / track_bytes.max(1) as f64).max(3.0),
            seek_track_ns: of("seek_track_ms") * MS,
            seek_average_ns: of("seek_average_ms") * MS,
            seek_full_ns: of("seek_full_ms") * MS,
            overhead_ns: (of("overhead_us") * US) as u64,
            bus_bytes_s: of("bus_mb_s") * 1e6,
            lookahead_bytes: (of("lookahead_kb") * 1024.0) as u64,
            free_at: 0,
            track: 0,
            buffer: None,
        }
    }

    fn bus(&self, now: u64, length: u64) -> u64 {
        now + self.overhead_ns + (length as f64 / self.bus_bytes_s * 1e9) as u64
    }

    fn seek_ns(&self, tracks: u64) -> u64 {
        let (distance, third) = (tracks as f64, self.tracks / 3.0);
        (match tracks {
            0 => 0.0,
            _ if distance <= third => {
                self.seek_track_ns + (self.seek_average_ns - self.seek_track_ns).max(0.0) * (distance / third).sqrt()
            }
            _ => {
                let beyond = ((distance - third) / (self.tracks - third)).min(1.0);
                self.seek_average_ns + (self.seek_full_ns - self.seek_average_ns).max(0.0) * beyond
            }
        }) as u64
    }

    /// When a byte passes under the head, counted from byte 0 as if the disk were one long track: a step to the next
    /// track is hidden by a skew of as much. Whole and increasing, so that one access ends exactly where the next begins.
    fn passes_ns(&self, byte: u64) -> u64 {
        let turns = (u128::from(byte) * u128::from(self.turn_ns) / u128::from(self.track_bytes)) as u64;
        turns + byte / self.track_bytes * self.seek_track_ns as u64
    }

    /// Moves the head and reads or writes; when that is done.
    fn access(&mut self, now: u64, at: u64, length: u64) -> u64 {
        let start = now.max(self.free_at);
        if let Some(buffer) = &mut self.buffer {
            buffer.ended_at = buffer.ended_at.min(start);
        }
        let there = start + self.seek_ns((at / self.track_bytes).abs_diff(self.track));
        let begins = self.passes_ns(at);
        let angle = begins % self.turn_ns;
        let wait = (angle + self.turn_ns - there % self.turn_ns) % self.turn_ns;
        let transfer = (self.passes_ns(at + length) - begins).max(1);
        self.track = (at + length) / self.track_bytes;
        self.free_at = there + wait + transfer;
        self.free_at
    }

    fn read(&mut self, now: u64, at: u64, length: u64) -> u64 {
        let over_the_bus = self.bus(now, length);
        if let Some(buffer) = &self.buffer {
            let passed_at = buffer.begun_at + self.passes_ns(at + length) - self.passes_ns(buffer.from.min(at));
            if at >= buffer.from && at + length <= buffer.to && passed_at <= buffer.ended_at {
                return over_the_bus.max(passed_at);
            }
        }
        let done = self.access(now, at, length);
        let begun_at = done - (self.passes_ns(at + length) - self.passes_ns(at)).max(1);
        self.buffer = Some(Buffer { from: at, to: at + length + self.lookahead_bytes, begun_at, ended_at: u64::MAX });
        over_the_bus.max(done)
    }

    fn write(&mut self, now: u64, at: u64, length: u64) -> u64 {
        let over_the_bus = self.bus(now, length);
        over_the_bus.max(self.access(now + self.overhead_ns, at, length))
    }
}

#[derive(Debug, Clone)]
struct Flash {
    read_ns: u64,
    write_ns: u64,
    flush_ns: u64,
    program_ns: u64,
    bus_bytes_s: f64,
    bus_free_at: u64,
    units_free_at: Vec<u64>,
}

impl Flash {
    fn new(of: impl Fn(&str) -> f64) -> Self {
        Flash {
            read_ns: (of("read_us") * US) as u64,
            write_ns: (of("write_us") * US) as u64,
            flush_ns: (of("flush_us") * US) as u64,
            program_ns: (of("program_us") * US) as u64,
            bus_bytes_s: of("bus_mb_s") * 1e6,
            bus_free_at: 0,
            units_free_at: vec![0; (of("units") as usize).clamp(1, 1024)],
        }
    }

    fn bus(&mut self, now: u64, length: u64) -> u64 {
        self.bus_free_at = now.max(self.bus_free_at) + (length as f64 / self.bus_bytes_s * 1e9) as u64;
        self.bus_free_at
    }

    fn unit(&self) -> usize {
        (0..self.units_free_at.len()).min_by_key(|unit| self.units_free_at[*unit]).unwrap_or(0)
    }

    fn read(&mut self, now: u64, length: u64) -> u64 {
        let unit = self.unit();
        self.units_free_at[unit] = now.max(self.units_free_at[unit]) + self.read_ns;
        self.bus(self.units_free_at[unit], length)
    }

    fn cached(&mut self, now: u64, length: u64) -> u64 {
        self.bus(now, length) + self.write_ns
    }

    fn program(&mut self, now: u64) -> u64 {
        let unit = self.unit();
        self.units_free_at[unit] = now.max(self.units_free_at[unit]) + self.program_ns;
        self.units_free_at[unit]
    }

    fn would_program(&self, now: u64) -> u64 {
        now.max(self.units_free_at[self.unit()]) + self.program_ns
    }
}
