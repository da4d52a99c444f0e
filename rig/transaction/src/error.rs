//! What went wrong, in the same few words for every engine.

/// What went wrong, in the same few words for every engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    Busy,
    Deadlock,
    UpdateConflict,
    /// A row that is there was not found, because another transaction was changing it.
    RowMissed,
    LockTimeout,
    LockConflict,
    Constraint,
    /// No session could be opened for a transaction that was to have one of its own.
    Connect,
    Connection,
    DiskFull,
    Other,
}

impl Class {
    pub fn name(self) -> &'static str {
        match self {
            Class::Busy => "busy",
            Class::Deadlock => "deadlock",
            Class::UpdateConflict => "update_conflict",
            Class::RowMissed => "row_missed",
            Class::LockTimeout => "lock_timeout",
            Class::LockConflict => "lock_conflict",
            Class::Constraint => "constraint",
            Class::Connect => "connect",
            Class::Connection => "connection",
            Class::DiskFull => "disk_full",
            Class::Other => "other",
        }
    }

    /// Refused for another transaction's sake: trying again may succeed.
    pub fn is_conflict(self) -> bool {
        matches!(
            self,
            Class::Busy
                | Class::Deadlock
                | Class::UpdateConflict
                | Class::RowMissed
                | Class::LockTimeout
                | Class::LockConflict
        )
    }

    /// No further transaction on this database can succeed.
    pub fn is_final(self) -> bool {
        matches!(self, Class::Connection | Class::DiskFull)
    }
}

#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct SessionError {
    pub class: Class,
    pub message: String,
}

impl SessionError {
    /// A statement for one row changed `changed`.
    pub fn not_one(changed: u64) -> SessionError {
        SessionError {
            class: if changed == 0 { Class::RowMissed } else { Class::Other },
            message: format!("a statement for one row changed {changed}"),
        }
    }
}

pub type Outcome<T> = Result<T, SessionError>;

pub fn failed(class: Class, message: String) -> SessionError {
    SessionError { class, message }
}

/// What a server answered is not its protocol.
pub fn garbled() -> SessionError {
    failed(Class::Connection, "the server's answer cannot be read".to_string())
}

/// An attempt that failed, and whether it was the commit itself that did.
#[derive(Debug)]
pub struct Refused {
    pub error: SessionError,
    pub at_commit: bool,
}

impl From<SessionError> for Refused {
    fn from(error: SessionError) -> Self {
        Refused { error, at_commit: false }
    }
}
