//! PostgreSQL's protocol as bytes: messages written and read, without a socket. Source: PostgreSQL documentation,
//! chapter 55.
//!
//! Messages of the measured path are ours, written and read in place; the others are those of `postgres-protocol`.

mod cold;
mod copy;
mod login;
mod message;
mod statement;
mod value;

pub use cold::{
    columns, numbered, parameter_types, put_copy_done, put_copy_fail, put_prepare, put_query, put_startup, refusal,
};
pub use copy::{copies_binary, put_copy_row, put_text_row, COPY_HEADER, COPY_TRAILER};
pub use login::{Binding, Secrets, TLS_REQUEST};
pub use message::{affected, message, put_message, HEAD};
pub use statement::Prepared;
pub use value::{read_row, TEXT};
