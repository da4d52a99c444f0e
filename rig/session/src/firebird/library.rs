//! The functions of a client library that statements and blobs are made of, found once a session. The rest of a session
//! (attachment, transactions) goes through `rsfbclient`, whose handles are the library's own: both work on the same ones.
//! Source: Firebird's `ibase.h`; InterBase 6 API Guide.

use libloading::Library as Loaded;
use rsfbclient_core::ibase::{
    isc_blob_handle, isc_db_handle, isc_stmt_handle, isc_tr_handle, ISC_QUAD, ISC_STATUS, XSQLDA,
};
use rsfbclient_core::FbError;
use std::ffi::{c_char, c_short, c_uint, c_ushort};
use std::ptr;
use transaction::{failed, Class, Outcome, SessionError};

/// What a call answers: how it ended, and what more is known of it.
pub type Status = [ISC_STATUS; 20];

macro_rules! functions {
    ($($name:ident = $symbol:literal: fn($($argument:ty),*) -> $answer:ty;)*) => {
        pub struct Library {
            $(pub $name: unsafe extern "system" fn($($argument),*) -> $answer,)*
            // Its functions are gone with it.
            _loaded: Loaded,
        }

        impl Library {
            /// The library at `path`, which is loaded already or will be.
            pub fn load(path: &str) -> Outcome<Library> {
                let refused = |why: String| failed(Class::Connection, format!("{path}: {why}"));
                // SAFETY: the initialisers of the library run, which the user has named to be run.
                let loaded = unsafe { Loaded::new(path) }.map_err(|error| refused(error.to_string()))?;
                Ok(Library {
                    // SAFETY: a function of this name has this type in every client library since InterBase 6.
                    $($name: *unsafe { loaded.get(concat!($symbol, "\0").as_bytes()) }
                        .map_err(|_| refused(format!("it has no {}, which Firebird's client library has", $symbol)))?,)*
                    _loaded: loaded,
                })
            }
        }
    };
}

functions! {
    allocate = "isc_dsql_allocate_statement": fn(*mut ISC_STATUS, *mut isc_db_handle, *mut isc_stmt_handle) -> ISC_STATUS;
    prepare = "isc_dsql_prepare": fn(
        *mut ISC_STATUS, *mut isc_tr_handle, *mut isc_stmt_handle, c_ushort, *const c_char, c_ushort, *mut XSQLDA
    ) -> ISC_STATUS;
    describe = "isc_dsql_describe": fn(*mut ISC_STATUS, *mut isc_stmt_handle, c_ushort, *mut XSQLDA) -> ISC_STATUS;
    describe_bind =
        "isc_dsql_describe_bind": fn(*mut ISC_STATUS, *mut isc_stmt_handle, c_ushort, *mut XSQLDA) -> ISC_STATUS;
    sql_info = "isc_dsql_sql_info":
        fn(*mut ISC_STATUS, *mut isc_stmt_handle, c_short, *const c_char, c_short, *mut c_char) -> ISC_STATUS;
    execute = "isc_dsql_execute":
        fn(*mut ISC_STATUS, *mut isc_tr_handle, *mut isc_stmt_handle, c_ushort, *const XSQLDA) -> ISC_STATUS;
    execute2 = "isc_dsql_execute2": fn(
        *mut ISC_STATUS, *mut isc_tr_handle, *mut isc_stmt_handle, c_ushort, *const XSQLDA, *const XSQLDA
    ) -> ISC_STATUS;
    execute_immediate = "isc_dsql_execute_immediate": fn(
        *mut ISC_STATUS, *mut isc_db_handle, *mut isc_tr_handle, c_ushort, *const c_char, c_ushort, *const XSQLDA
    ) -> ISC_STATUS;
    fetch = "isc_dsql_fetch": fn(*mut ISC_STATUS, *mut isc_stmt_handle, c_ushort, *const XSQLDA) -> ISC_STATUS;
    free = "isc_dsql_free_statement": fn(*mut ISC_STATUS, *mut isc_stmt_handle, c_ushort) -> ISC_STATUS;
    open_blob = "isc_open_blob2": fn(
        *mut ISC_STATUS, *mut isc_db_handle, *mut isc_tr_handle, *mut isc_blob_handle, *mut ISC_QUAD, c_ushort, *const u8
    ) -> ISC_STATUS;
    create_blob = "isc_create_blob2": fn(
        *mut ISC_STATUS, *mut isc_db_handle, *mut isc_tr_handle, *mut isc_blob_handle, *mut ISC_QUAD, c_short, *const u8
    ) -> ISC_STATUS;
    get_segment = "isc_get_segment":
        fn(*mut ISC_STATUS, *mut isc_blob_handle, *mut c_ushort, c_ushort, *mut c_char) -> ISC_STATUS;
    put_segment = "isc_put_segment": fn(*mut ISC_STATUS, *mut isc_blob_handle, c_ushort, *const c_char) -> ISC_STATUS;
    close_blob = "isc_close_blob": fn(*mut ISC_STATUS, *mut isc_blob_handle) -> ISC_STATUS;
    cancel_blob = "isc_cancel_blob": fn(*mut ISC_STATUS, *mut isc_blob_handle) -> ISC_STATUS;
    database_info = "isc_database_info":
        fn(*mut ISC_STATUS, *mut isc_db_handle, c_short, *const c_char, c_short, *mut c_char) -> ISC_STATUS;
    interpret = "fb_interpret": fn(*mut c_char, c_uint, *mut *const ISC_STATUS) -> i32;
    sqlcode = "isc_sqlcode": fn(*const ISC_STATUS) -> i32;
}

impl Library {
    /// Calls what fills in a status; an error has the library's words for it.
    pub fn call(&self, call: impl FnOnce(*mut ISC_STATUS) -> ISC_STATUS) -> Outcome<()> {
        let mut status: Status = [0; 20];
        match call(status.as_mut_ptr()) {
            0 => Ok(()),
            _ => Err(self.error(&status)),
        }
    }

    pub fn error(&self, status: &Status) -> transaction::SessionError {
        let mut msg = String::new();
        let mut line = [0u8; 1024];
        let mut at = status.as_ptr();
        loop {
            // SAFETY: the line has so many bytes, and the status ends as the library has filled it in.
            let length =
                unsafe { (self.interpret)(line.as_mut_ptr().cast(), line.len() as c_uint, ptr::addr_of_mut!(at)) };
            match usize::try_from(length) {
                Ok(length @ 1..=1024) => msg += &(String::from_utf8_lossy(&line[..length]) + "\n"),
                _ => break,
            }
        }
        // SAFETY: the status ends as the library has filled it in.
        let code = unsafe { (self.sqlcode)(status.as_ptr()) };
        session_error(FbError::Sql { msg, code })
    }
}

pub fn session_error(error: FbError) -> SessionError {
    match error {
        FbError::Sql { msg, code } => {
            let message = msg.split_whitespace().collect::<Vec<_>>().join(" ");
            SessionError { class: classify(code, &message), message }
        }
        other => SessionError { class: Class::Other, message: other.to_string() },
    }
}

/// SQL codes as in Firebird's `sqlerr` table; the words tell apart what shares a code.
/// -913 covers a deadlock and an update conflict, -901 a lock conflict and a lock time-out among others.
pub fn classify(code: i32, message: &str) -> Class {
    let lower = message.to_lowercase();
    let says = |words: &str| lower.contains(words);
    if says("no space left") || says("disk full") {
        Class::DiskFull
    } else if says("lock time-out") {
        Class::LockTimeout
    } else if says("update conflicts with concurrent update") || says("concurrent transaction number is") {
        Class::UpdateConflict
    } else if says("no current record for fetch operation") || says("row_missed") {
        Class::RowMissed
    } else if says("deadlock") {
        Class::Deadlock
    } else if says("lock conflict") {
        Class::LockConflict
    } else if code == -803 || code == -530 || says("violation of") {
        Class::Constraint
    } else if code == -902 || code == -904 || says("connection") {
        Class::Connection
    } else {
        Class::Other
    }
}
