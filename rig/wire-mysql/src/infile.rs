//! The file of `LOAD DATA LOCAL INFILE`, as a server reads it when nothing is said of its form.

use std::io::Write as _;
use transaction::Value;

/// Writes one field. What has a meaning of its own is written behind a backslash.
pub fn put_field(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => out.extend(b"\\N"),
        Value::Int(n) => write!(out, "{n}").expect("a Vec takes everything"),
        Value::Real(x) => write!(out, "{x:?}").expect("a Vec takes everything"),
        Value::Text(text) => {
            let special = |byte: u8| matches!(byte, b'\\' | b'\t' | b'\n' | 0);
            // Looks at all bytes, without a branch for each: that is quicker than to stop early.
            if !text.bytes().fold(false, |found, byte| found | special(byte)) {
                out.extend(text.as_bytes());
                return;
            }
            for byte in text.bytes() {
                if special(byte) {
                    out.extend([b'\\', if byte == 0 { b'0' } else { byte }]);
                } else {
                    out.push(byte);
                }
            }
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
}
