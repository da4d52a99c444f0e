//! Commands; see `enum_server_command` in `mysql_com.h`.

pub const QUIT: u8 = 1;
pub const QUERY: u8 = 3;
pub const STMT_PREPARE: u8 = 22;
pub const STMT_EXECUTE: u8 = 23;
