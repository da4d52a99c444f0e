//! The protocol of MySQL and MariaDB as bytes: packets written and read, without a socket.

mod answer;
pub mod command;
mod infile;
mod login;
mod packet;
mod value;

pub use answer::{Answer, Manner, IN_TRANSACTION};
pub use infile::put_field;
pub use login::{Asked, Login};
pub use packet::{put_text, refusal, Packets, Reader};
pub use value::{as_many, put_parameters, Column};
