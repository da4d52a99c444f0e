//! The protocol of MySQL and MariaDB as bytes: packets written and read, without a socket.

mod answer;
pub mod command;
mod infile;
mod login;
mod packet;
mod value;

pub use answer::{Answer, Manner, AUTOCOMMIT, IN_TRANSACTION};
pub use infile::{put_field, put_hexadecimal};
pub use login::{only_private, Asked, Login, Reach};
pub use packet::{put_text, refusal, too_long, Packets, Reader, HEAD};
pub use value::{column_name, put_parameters, Column, Form};
