//! What /proc says of the processes that are watched; see proc(5).

use super::files::Processes;
use std::fs;

pub struct Proc;

impl Processes for Proc {
    fn thread(&mut self, tid: u32) -> Option<(u32, String)> {
        let status = fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
        let pid = status.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()?;
        let name = status.lines().find_map(|line| line.strip_prefix("Name:")).unwrap_or("").trim();
        Some((pid, name.to_string()))
    }

    fn descriptors(&mut self, pid: u32) -> Vec<(i32, String, u64, u64)> {
        let numbers = names(format!("/proc/{pid}/fd")).filter_map(|name| name.parse::<i32>().ok());
        let descriptors = numbers.filter_map(|number| {
            let (path, flags) = self.descriptor(pid, number)?;
            let info = fs::read_to_string(format!("/proc/{pid}/fdinfo/{number}")).ok()?;
            let position = info.lines().find_map(|line| line.strip_prefix("pos:"))?.trim().parse().ok()?;
            Some((number, path, flags, position))
        });
        descriptors.collect::<Vec<_>>()
    }

    fn descriptor(&mut self, pid: u32, descriptor: i32) -> Option<(String, u64)> {
        let path = fs::read_link(format!("/proc/{pid}/fd/{descriptor}")).ok()?;
        let info = fs::read_to_string(format!("/proc/{pid}/fdinfo/{descriptor}")).ok()?;
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"))?.trim();
        Some((path.to_string_lossy().into_owned(), u64::from_str_radix(flags, 8).ok()?))
    }

    fn path_at(&mut self, pid: u32, address: u64) -> Option<String> {
        text_at(pid, address)
    }

    fn mappings(&mut self, pid: u32) -> Vec<(u64, u64, String)> {
        let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
        maps.lines().filter_map(mapping).collect()
    }

    fn directory(&mut self, pid: u32) -> Option<String> {
        let path = fs::read_link(format!("/proc/{pid}/cwd")).ok()?;
        Some(path.to_string_lossy().into_owned())
    }
}

/// `7f01a000-7f01b000 rw-s 00000000 fe:00 1234   /d/x.db-shm`; nothing of memory that is no file's. See proc_pid_maps(5).
fn mapping(line: &str) -> Option<(u64, u64, String)> {
    let (range, rest) = line.split_once(' ')?;
    let (begin, end) = range.split_once('-')?;
    let path = &rest[rest.find('/')?..];
    Some((u64::from_str_radix(begin, 16).ok()?, u64::from_str_radix(end, 16).ok()?, path.to_string()))
}

const PATH_MAX: usize = libc::PATH_MAX as usize;

/// The printable text at an address of another process, up to its zero.
fn text_at(pid: u32, address: u64) -> Option<String> {
    let mut bytes = [0u8; PATH_MAX];
    // A read stops at the first page that is not there: the text may end before it.
    let page = 4096 - (address as usize & 4095);
    let mut have = 0;
    for length in [page.min(256), page, PATH_MAX] {
        if length <= have {
            continue;
        }
        let local = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: length.min(PATH_MAX) };
        let remote = libc::iovec { iov_base: address as usize as *mut libc::c_void, iov_len: length.min(PATH_MAX) };
        // SAFETY: writes at most `iov_len` bytes into `bytes`, which is that long; the other process's memory is read only.
        let read = unsafe { libc::process_vm_readv(pid as libc::pid_t, &local, 1, &remote, 1, 0) };
        have = usize::try_from(read).ok()?;
        if let Some(end) = bytes[..have].iter().position(|byte| *byte == 0) {
            let text = std::str::from_utf8(&bytes[..end]).ok()?;
            return (!text.is_empty() && !text.chars().any(char::is_control)).then(|| text.to_string());
        }
    }
    None
}

/// The threads of these processes and of all that they started, but for `without` and what it started.
pub fn threads_of(roots: &[u32], without: u32) -> Vec<(u32, u32)> {
    let mut processes: Vec<u32> = roots.to_vec();
    let mut threads = Vec::new();
    let mut at = 0;
    while let Some(&pid) = processes.get(at) {
        at += 1;
        for tid in names(format!("/proc/{pid}/task")).filter_map(|name| name.parse::<u32>().ok()) {
            threads.push((pid, tid));
            let children = fs::read_to_string(format!("/proc/{pid}/task/{tid}/children")).unwrap_or_default();
            let children = children.split_whitespace().filter_map(|child| child.parse::<u32>().ok());
            let new: Vec<u32> = children.filter(|child| *child != without && !processes.contains(child)).collect();
            processes.extend(new);
        }
    }
    threads
}

fn names(directory: String) -> impl Iterator<Item = String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_in_memory_is_read_up_to_its_end() {
        let text = std::ffi::CString::new("/tmp/some.db-journal").unwrap();
        let own = std::process::id();
        assert_eq!(text_at(own, text.as_ptr() as u64).as_deref(), Some("/tmp/some.db-journal"));
        assert_eq!(Proc.path_at(own, text.as_ptr() as u64).as_deref(), Some("/tmp/some.db-journal"));
        assert_eq!(text_at(own, 8), None);
    }

    #[test]
    fn a_mapping_is_read() {
        let read = mapping("7f01a000-7f01b000 rw-s 00000000 fe:00 1234                    /d/x 1.db-shm");
        assert_eq!(read, Some((0x7f01_a000, 0x7f01_b000, "/d/x 1.db-shm".to_string())));
        assert_eq!(mapping("7ffd0000-7ffd1000 rw-p 00000000 00:00 0    [stack]"), None);
        assert!(Proc.mappings(std::process::id()).iter().any(|(begin, end, _)| begin < end));
    }

    #[test]
    fn own_descriptors_are_listed() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let descriptors = Proc.descriptors(std::process::id());
        assert!(descriptors.iter().any(|(_, path, flags, _)| {
            path == &file.path().to_string_lossy() && flags & libc::O_ACCMODE as u64 == libc::O_RDWR as u64
        }));
        assert!(threads_of(&[std::process::id()], 0).len() > 1);
    }
}
