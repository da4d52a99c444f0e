//! PostgreSQL's protocol as bytes: messages written and read, without a socket. Source: PostgreSQL documentation,
//! chapter 55.

mod copy;
mod login;
mod message;
mod statement;
mod value;

pub use copy::{put_copy_row, COPY_HEADER, COPY_TRAILER};
pub use login::{put_startup, Secrets};
pub use message::{affected, message, put_message, put_text, refusal, HEAD};
pub use statement::{described, numbered, oid, Prepared};
pub use value::{read_row, TEXT};
