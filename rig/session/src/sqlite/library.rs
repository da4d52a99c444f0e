//! A SQLite as a table of its functions: the one that is linked into the rig, or a shared library of the user's.
//!
//! Both are called through the same table, so that what a call costs does not differ between them.

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use libsqlite3_sys as linked;
use std::collections::HashMap;
use std::ffi::{c_char, c_int, c_uint, c_void, CStr};
use std::sync::{Mutex, PoisonError};

/// `sqlite3` and `sqlite3_stmt` of any SQLite: nothing is known of them but their addresses.
pub type Database = linked::sqlite3;
pub type Prepared = linked::sqlite3_stmt;

macro_rules! functions {
    ($($name:ident = $symbol:ident: fn($($argument:ty),*) -> $answer:ty;)*) => {
        /// Each is as <https://sqlite.org/c3ref/funclist.html> has it.
        pub struct Functions {
            $(pub $name: unsafe extern "C" fn($($argument),*) -> $answer,)*
            compileoption_get: Option<unsafe extern "C" fn(c_int) -> *const c_char>,
        }

        static LINKED: Functions = Functions {
            $($name: linked::$symbol,)*
            compileoption_get: Some(linked::sqlite3_compileoption_get),
        };

        /// The functions of `library`, or which of them it lacks.
        fn found(library: &Library) -> Result<Functions, &'static str> {
            Ok(Functions {
                // SAFETY: a function of this name has this type in every SQLite since 3.20, which its makers keep so.
                $($name: *unsafe { library.get(concat!(stringify!($symbol), "\0").as_bytes()) }
                    .map_err(|_| stringify!($symbol))?,)*
                // SAFETY: as above; some are built without it (SQLITE_OMIT_COMPILEOPTION_DIAGS).
                compileoption_get: unsafe { library.get(b"sqlite3_compileoption_get\0") }.ok().map(|found| *found),
            })
        }
    };
}

type Callback = Option<unsafe extern "C" fn(*mut c_void, c_int, *mut *mut c_char, *mut *mut c_char) -> c_int>;

functions! {
    initialize = sqlite3_initialize: fn() -> c_int;
    libversion = sqlite3_libversion: fn() -> *const c_char;
    sourceid = sqlite3_sourceid: fn() -> *const c_char;
    threadsafe = sqlite3_threadsafe: fn() -> c_int;
    open_v2 = sqlite3_open_v2: fn(*const c_char, *mut *mut Database, c_int, *const c_char) -> c_int;
    close = sqlite3_close: fn(*mut Database) -> c_int;
    extended_result_codes = sqlite3_extended_result_codes: fn(*mut Database, c_int) -> c_int;
    busy_timeout = sqlite3_busy_timeout: fn(*mut Database, c_int) -> c_int;
    errmsg = sqlite3_errmsg: fn(*mut Database) -> *const c_char;
    errstr = sqlite3_errstr: fn(c_int) -> *const c_char;
    get_autocommit = sqlite3_get_autocommit: fn(*mut Database) -> c_int;
    changes = sqlite3_changes: fn(*mut Database) -> c_int;
    exec = sqlite3_exec: fn(*mut Database, *const c_char, Callback, *mut c_void, *mut *mut c_char) -> c_int;
    prepare_v3 = sqlite3_prepare_v3:
        fn(*mut Database, *const c_char, c_int, c_uint, *mut *mut Prepared, *mut *const c_char) -> c_int;
    finalize = sqlite3_finalize: fn(*mut Prepared) -> c_int;
    step = sqlite3_step: fn(*mut Prepared) -> c_int;
    reset = sqlite3_reset: fn(*mut Prepared) -> c_int;
    clear_bindings = sqlite3_clear_bindings: fn(*mut Prepared) -> c_int;
    bind_null = sqlite3_bind_null: fn(*mut Prepared, c_int) -> c_int;
    bind_int64 = sqlite3_bind_int64: fn(*mut Prepared, c_int, i64) -> c_int;
    bind_double = sqlite3_bind_double: fn(*mut Prepared, c_int, f64) -> c_int;
    bind_text = sqlite3_bind_text:
        fn(*mut Prepared, c_int, *const c_char, c_int, linked::sqlite3_destructor_type) -> c_int;
    bind_blob = sqlite3_bind_blob:
        fn(*mut Prepared, c_int, *const c_void, c_int, linked::sqlite3_destructor_type) -> c_int;
    bind_parameter_count = sqlite3_bind_parameter_count: fn(*mut Prepared) -> c_int;
    column_name = sqlite3_column_name: fn(*mut Prepared, c_int) -> *const c_char;
    column_count = sqlite3_column_count: fn(*mut Prepared) -> c_int;
    column_type = sqlite3_column_type: fn(*mut Prepared, c_int) -> c_int;
    column_int64 = sqlite3_column_int64: fn(*mut Prepared, c_int) -> i64;
    column_double = sqlite3_column_double: fn(*mut Prepared, c_int) -> f64;
    column_blob = sqlite3_column_blob: fn(*mut Prepared, c_int) -> *const c_void;
    column_bytes = sqlite3_column_bytes: fn(*mut Prepared, c_int) -> c_int;
}

/// A SQLite that sessions may be opened with.
#[derive(Clone, Copy)]
pub struct Sqlite(pub &'static Functions);

impl Sqlite {
    pub fn linked() -> Sqlite {
        Sqlite(&LINKED)
    }

    /// The one at `path`, else the one that is linked into the rig. A library stays loaded until the process ends. An
    /// error says in one line what is wrong with the file.
    pub fn of(path: Option<&str>) -> Result<Sqlite, String> {
        static LOADED: Mutex<Option<HashMap<String, Sqlite>>> = Mutex::new(None);
        let Some(path) = path else { return Ok(Sqlite::linked()) };
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        let loaded = loaded.get_or_insert_default();
        if let Some(&there) = loaded.get(path) {
            return Ok(there);
        }
        let sqlite = load(path).map_err(|why| format!("{path}: {why}"))?;
        loaded.insert(path.to_string(), sqlite);
        Ok(sqlite)
    }

    pub fn version(self) -> String {
        // SAFETY: it answers a constant text.
        unsafe { text((self.0.libversion)()) }
    }

    /// The check-in that it was built from.
    pub fn source_id(self) -> String {
        // SAFETY: it answers a constant text.
        unsafe { text((self.0.sourceid)()) }
    }

    /// As `PRAGMA compile_options` has them, without the prefix `SQLITE_`; none where it was built to keep them to itself.
    pub fn options(self) -> Vec<String> {
        let Some(get) = self.0.compileoption_get else { return Vec::new() };
        (0..)
            // SAFETY: it answers a constant text, or null behind the last one.
            .map(|number| unsafe { get(number) })
            .take_while(|option| !option.is_null())
            // SAFETY: it is not null.
            .map(|option| unsafe { text(option) })
            .collect()
    }

    /// What a result code means.
    pub fn words(self, code: c_int) -> String {
        // SAFETY: it answers a constant text for any code.
        unsafe { text((self.0.errstr)(code)) }
    }
}

fn load(path: &str) -> Result<Sqlite, String> {
    // SAFETY: the initialisers of the library run, which the user has named to be run.
    let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.map_err(|error| error.to_string())?;
    let functions =
        found(&library).map_err(|symbol| format!("it has no {symbol}, which SQLite 3.20 and newer have"))?;
    // Sessions, and the text of errors, may outlive anything that could own it.
    std::mem::forget(library);
    let sqlite = Sqlite(Box::leak(Box::new(functions)));
    // SAFETY: it has no argument and may be called at any time.
    if unsafe { (sqlite.0.threadsafe)() } == 0 {
        return Err("it was built with SQLITE_THREADSAFE=0, and terminals are threads".to_string());
    }
    // SAFETY: as above.
    match unsafe { (sqlite.0.initialize)() } {
        linked::SQLITE_OK => Ok(sqlite),
        code => Err(format!("sqlite3_initialize: {}", sqlite.words(code))),
    }
}

/// An owned copy of a C string.
///
/// # Safety
/// `from` is null, or ends with a zero.
pub unsafe fn text(from: *const c_char) -> String {
    if from.is_null() {
        return String::new();
    }
    // SAFETY: as the caller promises.
    unsafe { CStr::from_ptr(from) }.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_linked_one_says_what_it_is() {
        let sqlite = Sqlite::linked();
        assert!(sqlite.version().starts_with("3."), "{}", sqlite.version());
        assert!(sqlite.source_id().starts_with("20"), "{}", sqlite.source_id());
        assert!(sqlite.options().iter().any(|option| option == "THREADSAFE=1"), "{:?}", sqlite.options());
    }

    #[test]
    fn what_is_no_sqlite_is_refused_by_what_it_lacks() {
        let error = Sqlite::of(Some("libc.so.6")).err().unwrap();
        assert_eq!(error, "libc.so.6: it has no sqlite3_initialize, which SQLite 3.20 and newer have");
        assert!(Sqlite::of(Some("/nowhere/libsqlite3.so")).err().unwrap().starts_with("/nowhere/libsqlite3.so: "));
    }
}
