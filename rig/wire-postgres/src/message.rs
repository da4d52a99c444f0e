//! Messages of the measured path: how each is framed, and what a command tag tells.

use transaction::{failed, garbled, Class, Outcome};

/// Tag (1) and length (4, itself included).
pub const HEAD: usize = 5;

/// The first message of `bytes`, its tag and its body; none while it has not come whole.
pub fn message(bytes: &[u8]) -> Outcome<Option<(u8, &[u8])>> {
    let Some((&[tag, ref length @ ..], rest)) = bytes.split_first_chunk::<HEAD>() else { return Ok(None) };
    let length = (u32::from_be_bytes(*length) as usize).checked_sub(4).ok_or_else(garbled)?;
    Ok(rest.get(..length).map(|body| (tag, body)))
}

/// Writes a message whose body `write` puts out.
pub fn put_message<T>(out: &mut Vec<u8>, tag: u8, write: impl FnOnce(&mut Vec<u8>) -> Outcome<T>) -> Outcome<T> {
    let start = out.len();
    out.push(tag);
    put_length(out, true, write).inspect_err(|_| out.truncate(start))
}

/// Writes a length in four bytes, itself `included` or not, and what it is the length of.
pub fn put_length<T>(out: &mut Vec<u8>, included: bool, write: impl FnOnce(&mut Vec<u8>) -> Outcome<T>) -> Outcome<T> {
    let start = out.len();
    out.extend([0; 4]);
    let written = write(out)?;
    let length = out.len() - start - if included { 0 } else { 4 };
    let length = i32::try_from(length).map_err(|_| failed(Class::Other, "a message is too long".to_string()))?;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    Ok(written)
}

pub fn put_text(out: &mut Vec<u8>, text: &str) -> Outcome<()> {
    if text.contains('\0') {
        return Err(failed(Class::Other, format!("{text:?} cannot be sent: it contains a zero byte")));
    }
    out.extend(text.as_bytes());
    out.push(0);
    Ok(())
}

/// The last word of a command tag: `INSERT 0 1`, `UPDATE 1`.
pub fn affected(tag: &[u8]) -> u64 {
    let mut scale = 1u64;
    let digits = tag.strip_suffix(b"\0").unwrap_or(tag).iter().rev().take_while(|byte| byte.is_ascii_digit());
    digits.fold(0, |sum: u64, digit| {
        let part = scale.wrapping_mul(u64::from(digit - b'0'));
        scale = scale.wrapping_mul(10);
        sum.wrapping_add(part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn command_tags_tell_how_many_rows() {
        for (tag, rows) in [("INSERT 0 3\0", 3), ("UPDATE 1\0", 1), ("SELECT 12\0", 12), ("BEGIN\0", 0), ("", 0)] {
            assert_eq!(affected(tag.as_bytes()), rows, "{tag}");
        }
    }

    #[test]
    fn a_zero_byte_ends_no_text() {
        assert!(put_text(&mut Vec::new(), "select 1\0").is_err());
    }

    proptest! {
        #[test]
        fn any_answer_is_read_or_refused(bytes: Vec<u8>) {
            message(&bytes).ok();
            affected(&bytes);
        }

        #[test]
        fn what_was_put_is_read_back_once_it_is_whole(tag: u8, body: Vec<u8>) {
            let mut out = Vec::new();
            put_message(&mut out, tag, |out| {
                out.extend(&body);
                Ok(())
            })
            .unwrap();
            for part in 0..out.len() {
                prop_assert_eq!(message(&out[..part]).unwrap(), None);
            }
            prop_assert_eq!(message(&out).unwrap(), Some((tag, body.as_slice())));
        }
    }
}
