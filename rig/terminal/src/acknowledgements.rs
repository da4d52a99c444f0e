//! The acknowledgement log: commits that the engine acknowledged. It lies outside the place that is cut, so it tells what must be
//! there afterwards.
//!
//! A line is written whole, by one write(2) of less than PIPE_BUF, after the engine's answer and before the terminal
//! goes on; see pipe(7). What a reader has drained before the cut was acknowledged before the cut.

use measure::monotonic_ns;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

/// One terminal's part of the log.
pub struct Acknowledgements<'a> {
    file: &'a File,
    terminal: usize,
    /// How many this terminal wrote: a line that is missing shows as a gap.
    count: u64,
    line: String,
}

impl<'a> Acknowledgements<'a> {
    /// A pipe, whose reader must be there, or a file.
    pub fn open(path: &Path) -> io::Result<File> {
        OpenOptions::new().append(true).open(path)
    }

    pub fn new(file: &'a File, terminal: usize) -> Acknowledgements<'a> {
        Acknowledgements { file, terminal, count: 0, line: String::with_capacity(128) }
    }

    /// Writes that the engine acknowledged transaction `number` of this terminal, which began at `began_ns`.
    pub fn write(&mut self, kind: usize, number: u64, began_ns: u64) -> io::Result<()> {
        self.count += 1;
        self.line.clear();
        let (terminal, count, now_ns) = (self.terminal, self.count, monotonic_ns());
        writeln!(self.line, "{terminal} {count} {kind} {number} {began_ns} {now_ns}").expect("memory suffices");
        self.file.write_all(self.line.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_whole_counted_by_terminal_and_appended() {
        let path = tempfile::NamedTempFile::new().unwrap();
        let file = Acknowledgements::open(path.path()).unwrap();
        let (mut first, mut second) = (Acknowledgements::new(&file, 0), Acknowledgements::new(&file, 7));
        let began_ns = monotonic_ns();
        first.write(0, 1, began_ns).unwrap();
        second.write(3, 40, began_ns).unwrap();
        first.write(0, 2, began_ns).unwrap();
        let text = std::fs::read_to_string(path.path()).unwrap();
        let lines: Vec<Vec<u64>> =
            text.lines().map(|line| line.split(' ').map(|word| word.parse().unwrap()).collect()).collect();
        let heads: Vec<&[u64]> = lines.iter().map(|line| &line[..4]).collect();
        assert_eq!(heads, [[0, 1, 0, 1], [7, 1, 3, 40], [0, 2, 0, 2]]);
        assert!(lines.iter().all(|line| line[4] == began_ns && line[5] >= began_ns));
    }

    #[test]
    fn a_reader_that_is_gone_is_an_error() {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let file = File::from(std::os::fd::OwnedFd::from(writer));
        assert!(Acknowledgements::new(&file, 0).write(0, 1, 0).is_err());
    }
}
