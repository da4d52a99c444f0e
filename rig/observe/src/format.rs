//! What a trace event's record holds: the text of its `format` file, and fields read by it. Pure.

#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    pub name: String,
    pub offset: usize,
    pub bytes: usize,
    pub signed: bool,
    /// The bytes are where the text lies: its offset below, its length above 16 bits (`__data_loc`).
    pub elsewhere: bool,
}

impl Field {
    /// Reads `field:unsigned int fd; offset:16; size:8; signed:0;`.
    pub fn parse(line: &str) -> Option<Field> {
        let mut parts = line.trim().split(';').map(str::trim);
        let declared = parts.next()?.strip_prefix("field:")?.trim();
        let name = declared.split('[').next()?.split_whitespace().last()?;
        // `char data[10]` is named before the bracket, `__data_loc char[] cmd` behind it.
        let name = if declared.ends_with(']') { name } else { declared.split_whitespace().last()? };
        let mut number = |what: &str| parts.next()?.strip_prefix(what)?.trim().parse::<usize>().ok();
        let (offset, bytes, signed) = (number("offset:")?, number("size:")?, number("signed:")?);
        Some(Field {
            name: name.trim_start_matches('*').to_string(),
            offset,
            bytes,
            signed: signed != 0,
            elsewhere: declared.starts_with("__data_loc"),
        })
    }

    /// The number in `record`, sign and all; `None` when the record is too short or the field is none.
    pub fn number(&self, record: &[u8]) -> Option<u64> {
        let bytes = record.get(self.offset..self.offset.checked_add(self.bytes)?)?;
        Some(match *bytes {
            [a] if self.signed => a as i8 as u64,
            [a] => a.into(),
            [a, b] if self.signed => i16::from_ne_bytes([a, b]) as u64,
            [a, b] => u16::from_ne_bytes([a, b]).into(),
            [a, b, c, d] if self.signed => i32::from_ne_bytes([a, b, c, d]) as u64,
            [a, b, c, d] => u32::from_ne_bytes([a, b, c, d]).into(),
            _ => u64::from_ne_bytes(bytes.try_into().ok()?),
        })
    }

    /// The text in `record`, up to its first zero.
    pub fn text(&self, record: &[u8]) -> Option<String> {
        let bytes = if self.elsewhere {
            let at = self.number(record)?;
            let offset = (at & 0xffff) as usize;
            record.get(offset..offset + (at >> 16 & 0xffff) as usize)?
        } else {
            record.get(self.offset..self.offset.checked_add(self.bytes)?)?
        };
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }
}

/// One event as the kernel describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Format {
    pub number: u16,
    pub fields: Vec<Field>,
}

impl Format {
    /// Reads an event's `format` file.
    pub fn parse(text: &str) -> Option<Format> {
        let number = text.lines().find_map(|line| line.strip_prefix("ID:")?.trim().parse().ok())?;
        Some(Format { number, fields: text.lines().filter_map(Field::parse).collect() })
    }

    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The fields behind `__syscall_nr`: a call's arguments, or what it returned.
    pub fn arguments(&self) -> Vec<Field> {
        let behind = self.fields.iter().skip_while(|field| field.name != "__syscall_nr").skip(1);
        behind.filter(|field| field.bytes == 8 && !field.elsewhere).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ISSUE: &str = "name: block_rq_issue\nID: 2104\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n\
        \tfield:char rwbs[10];\toffset:12;\tsize:10;\tsigned:0;\n\
        \tfield:__data_loc char[] cmd;\toffset:24;\tsize:4;\tsigned:0;\n\nprint fmt: \"%d\", REC->dev\n";

    #[test]
    fn fields_of_every_form_are_read() {
        let format = Format::parse(ISSUE).unwrap();
        assert_eq!(format.number, 2104);
        let names: Vec<_> = format.fields.iter().map(|field| field.name.as_str()).collect();
        assert_eq!(names, ["common_type", "common_pid", "dev", "rwbs", "cmd"]);
        let mut record = vec![0u8; 28];
        record[4..8].copy_from_slice(&(-7i32).to_ne_bytes());
        record[12..15].copy_from_slice(b"FWS");
        record[24..28].copy_from_slice(&(28u32 | 4 << 16).to_ne_bytes());
        record.extend(b"abc\0");
        assert_eq!(format.field("common_pid").unwrap().number(&record), Some(-7i64 as u64));
        assert_eq!(format.field("rwbs").unwrap().text(&record).unwrap(), "FWS");
        assert_eq!(format.field("cmd").unwrap().text(&record).unwrap(), "abc");
    }

    #[test]
    fn a_calls_arguments_stand_behind_its_number() {
        let text = "name: sys_enter_fsync\nID: 9\nformat:\n\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n\
            \tfield:unsigned int fd;\toffset:16;\tsize:8;\tsigned:0;\n\
            \tfield:const char * buf;\toffset:24;\tsize:8;\tsigned:0;\n";
        let arguments = Format::parse(text).unwrap().arguments();
        assert_eq!(arguments.iter().map(|field| field.name.as_str()).collect::<Vec<_>>(), ["fd", "buf"]);
    }

    proptest! {
        #[test]
        fn no_text_and_no_record_makes_it_panic(text in "[ -~\n\t]{0,200}", record in proptest::collection::vec(any::<u8>(), 0..64)) {
            for field in Format::parse(&text).into_iter().chain(Format::parse(ISSUE)).flat_map(|format| format.fields) {
                let _ = (field.number(&record), field.text(&record));
            }
        }
    }
}
