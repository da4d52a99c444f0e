//! The file of `LOAD DATA LOCAL INFILE`, as a server reads it when the statement names no form.

use std::io::Write as _;
use transaction::Value;

/// Writes one field. What has its own meaning is written behind a backslash.
pub fn put_field(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => out.extend(b"\\N"),
        Value::Int(n) => write!(out, "{n}").expect("a Vec takes everything"),
        Value::Real(x) => write!(out, "{x:?}").expect("a Vec takes everything"),
        Value::Text(text) => put_letters(out, text.as_bytes()),
        Value::Bytes(bytes) => put_letters(out, bytes),
    }
}

/// Writes one field that the server takes for hexadecimal digits: bytes in a file of letters. What is no bytes is
/// written so as well.
pub fn put_hexadecimal(out: &mut Vec<u8>, value: &Value) {
    let mut plain = Vec::new();
    let bytes = match value {
        Value::Null => return put_field(out, value),
        Value::Bytes(bytes) => bytes.as_slice(),
        Value::Text(text) => text.as_bytes(),
        Value::Int(_) | Value::Real(_) => {
            put_field(&mut plain, value);
            &plain
        }
    };
    out.extend(bytes.iter().flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]));
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

fn put_letters(out: &mut Vec<u8>, letters: &[u8]) {
    let special = |byte: u8| matches!(byte, b'\\' | b'\t' | b'\n' | 0);
    // Looks at all bytes, without a branch for each: that is quicker than to stop early.
    if !letters.iter().fold(false, |found, &byte| found | special(byte)) {
        out.extend(letters);
        return;
    }
    for &byte in letters {
        if special(byte) {
            out.extend([b'\\', if byte == 0 { b'0' } else { byte }]);
        } else {
            out.push(byte);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_written_so_that_the_server_reads_them_back() {
        for (value, field) in [
            (Value::Null, "\\N"),
            (Value::Int(-7), "-7"),
            (Value::Real(0.5), "0.5"),
            (Value::Real(1e300), "1e300"),
            (Value::Text("plain, 'quoted' \"text\"".to_string()), "plain, 'quoted' \"text\""),
            (Value::Text("a\tb\nc\\d\0e".to_string()), "a\\\tb\\\nc\\\\d\\0e"),
            (Value::Text("\\N".to_string()), "\\\\N"),
            (Value::Text(String::new()), ""),
        ] {
            let mut out = Vec::new();
            put_field(&mut out, &value);
            assert_eq!(String::from_utf8(out).unwrap(), field);
        }
    }

    #[test]
    fn bytes_are_written_in_hexadecimal_digits() {
        for (value, field) in [
            (Value::Null, "\\N"),
            (Value::Bytes(vec![0, 0xff, b'A']), "00ff41"),
            (Value::Text("A\t".to_string()), "4109"),
            (Value::Int(-7), "2d37"),
        ] {
            let mut out = Vec::new();
            put_hexadecimal(&mut out, &value);
            assert_eq!(String::from_utf8(out).unwrap(), field);
        }
    }
}
