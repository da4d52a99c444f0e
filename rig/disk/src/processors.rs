//! The processors that the kernel lists.

use anyhow::{Context, Result};
use std::fs;
use std::path::Path;

/// Those of the list `name`: online, or possible.
pub fn listed_in(name: &str) -> Result<Vec<i32>> {
    let path = Path::new("/sys/devices/system/cpu").join(name);
    let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    listed(text.trim()).with_context(|| format!("\"{}\" is no list of processors", text.trim()))
}

/// Of a list like "0-3,8".
fn listed(text: &str) -> Option<Vec<i32>> {
    let mut all = Vec::new();
    for part in text.split(',') {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        all.extend(from.parse::<i32>().ok()?..=to.parse().ok()?);
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::listed;

    #[test]
    fn processors_are_listed_one_by_one() {
        assert_eq!(listed("0-2,8"), Some(vec![0, 1, 2, 8]));
        assert_eq!(listed("0"), Some(vec![0]));
        assert_eq!(listed("0-"), None);
    }
}
