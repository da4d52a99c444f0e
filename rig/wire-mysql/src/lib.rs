//! The protocol of MySQL and MariaDB as bytes: packets written and read, without a socket.

mod answer;
mod infile;
mod login;
mod packet;
mod value;

/// See `enum_server_command` in `mysql_com.h`.
pub mod command {
    pub const QUIT: u8 = 1;
    pub const QUERY: u8 = 3;
    pub const STMT_PREPARE: u8 = 22;
    pub const STMT_EXECUTE: u8 = 23;
}

pub use answer::{Answer, Manner, AUTOCOMMIT, IN_TRANSACTION};
pub use infile::{put_field, put_hexadecimal};
pub use login::{only_private, Asked, Login, Reach};
pub use packet::{put_text, refusal, too_long, Packets, Reader, HEAD};
pub use value::{column_name, put_parameters, Column, Form};
