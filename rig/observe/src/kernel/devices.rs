//! The devices beneath a database, as the kernel numbers them in its events.

use crate::files::Processes;
use crate::processes::{threads_of, Proc};
use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// The devices of a database: as its file systems know them, and the disks that requests go to.
#[derive(Debug, Default)]
pub struct Devices {
    pub filesystem: String,
    pub filesystems: HashSet<u64>,
    pub disks: HashSet<u64>,
}

impl Devices {
    /// Those beneath `directory`, and block devices that the processes have open (a database on a raw device).
    pub fn of(directory: &Path, roots: &[u32]) -> Devices {
        let mut devices = Devices::default();
        if let Ok(status) = fs::metadata(directory) {
            let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
            let (filesystem, source) = mount_of(&mounts, &directory.to_string_lossy());
            devices.filesystem = filesystem;
            devices.filesystems.insert(kernel_number(status.dev()));
            // A file system with its own device number (btrfs) names the disk as its source.
            let named = fs::metadata(source).ok().filter(|metadata| metadata.file_type().is_block_device());
            let number = named.map_or(status.dev(), |metadata| metadata.rdev());
            devices.disks.extend(disk_of(number));
        }
        let processes: HashSet<u32> = threads_of(roots, std::process::id()).into_iter().map(|(pid, _)| pid).collect();
        for pid in processes {
            for (_, path, ..) in Proc.descriptors(pid) {
                let device = fs::metadata(&path).ok().filter(|metadata| metadata.file_type().is_block_device());
                devices.disks.extend(device.and_then(|metadata| disk_of(metadata.rdev())));
            }
        }
        devices
    }
}

/// The whole disk of a device, which requests name, as the kernel counts.
fn disk_of(number: u64) -> Option<u64> {
    let at = format!("/sys/dev/block/{}:{}", libc::major(number), libc::minor(number));
    let mut at = fs::canonicalize(at).ok()?;
    if at.join("partition").exists() {
        at.pop();
    }
    let text = fs::read_to_string(at.join("dev")).ok()?;
    let (major, minor) = text.trim().split_once(':')?;
    Some(kernel_number(libc::makedev(major.parse().ok()?, minor.parse().ok()?)))
}

/// A device number as the kernel keeps it, and shows it in traces.
fn kernel_number(number: u64) -> u64 {
    u64::from(libc::major(number)) << 20 | u64::from(libc::minor(number))
}

/// File system and source of the mount that `path` is in, by the text of mountinfo; see proc_pid_mountinfo(5).
fn mount_of(mountinfo: &str, path: &str) -> (String, String) {
    let mut innermost = (0, (String::new(), String::new()));
    for line in mountinfo.lines() {
        let Some((left, right)) = line.split_once(" - ") else { continue };
        let point = left.split(' ').nth(4).unwrap_or("").replace("\\040", " ");
        let inside =
            point == "/" || path == point || path.strip_prefix(&point).is_some_and(|rest| rest.starts_with('/'));
        // The last one mounted at a point is what is seen there.
        if inside && point.len() >= innermost.0 {
            let mut words = right.split(' ');
            let mut word = || words.next().unwrap_or("").to_string();
            innermost = (point.len(), (word(), word()));
        }
    }
    innermost.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_and_last_mount_counts() {
        let text = "1 0 254:0 / / rw - ext4 /dev/vda rw\n2 1 7:0 / /d rw shared:1 - xfs /dev/loop0 rw\n\
            3 1 7:1 / /d rw - btrfs /dev/loop1 rw\n";
        assert_eq!(mount_of(text, "/d/x/y"), ("btrfs".into(), "/dev/loop1".into()));
        assert_eq!(mount_of(text, "/data"), ("ext4".into(), "/dev/vda".into()));
    }
}
