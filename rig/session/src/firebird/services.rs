//! Firebird's Services API, by which gbak, nbackup and gfix work. `rsfbclient` attaches to a server's services only, not
//! to those of an embedded engine; the five functions are called here as both need them.
//!
//! Source: `firebird/impl/consts_pub.h` and `inf_pub.h`, which number the parts of requests and answers.

use super::library::classify;
use super::Target;
use libloading::Library;
use std::ffi::c_char;
use std::time::Duration;
use transaction::{failed, Class, Outcome, SessionError};

/// `ISC_STATUS_ARRAY`.
type Status = [isize; 20];
type Attach = unsafe extern "C" fn(*mut isize, u16, *const c_char, *mut u32, u16, *const u8) -> isize;
type Start = unsafe extern "C" fn(*mut isize, *mut u32, *mut u32, u16, *const u8) -> isize;
type Query =
    unsafe extern "C" fn(*mut isize, *mut u32, *mut u32, u16, *const u8, u16, *const u8, u16, *mut u8) -> isize;
type Detach = unsafe extern "C" fn(*mut isize, *mut u32) -> isize;
type Interpret = unsafe extern "C" fn(*mut c_char, u32, *mut *const isize) -> i32;

const SPB_VERSION: [u8; 2] = [2, 2];
const USER_NAME: u8 = 28;
const PASSWORD: u8 = 29;
const INFO_END: u8 = 1;
const INFO_TRUNCATED: u8 = 2;
const INFO_TO_EOF: u8 = 63;
const INFO_TIMEOUT: u8 = 64;
const INFO_RUNNING: u8 = 67;
/// How often it is looked whether a service still runs, and what it does.
const PAUSE: Duration = Duration::from_millis(2);

/// A request of a service, part by part.
pub struct Request(Vec<u8>);

impl Request {
    pub fn of(action: u8) -> Request {
        Request(vec![action])
    }

    pub fn text(mut self, part: u8, text: &str) -> Outcome<Request> {
        let length = u16::try_from(text.len())
            .map_err(|_| failed(Class::Other, format!("a name of {} bytes is too long for Firebird", text.len())))?;
        self.0.push(part);
        self.0.extend(length.to_le_bytes());
        self.0.extend(text.as_bytes());
        Ok(self)
    }

    pub fn number(mut self, part: u8, number: u32) -> Request {
        self.0.push(part);
        self.0.extend(number.to_le_bytes());
        self
    }
}

/// An attachment to the services of an engine, by the client library that is loaded already.
pub struct Services {
    library: Library,
    handle: u32,
}

impl Services {
    pub fn attach(target: &Target) -> Outcome<Services> {
        // SAFETY: the session has loaded this library already, so nothing new is run.
        let library = unsafe { Library::new(&target.library) }
            .map_err(|error| failed(Class::Connection, format!("{}: {error}", target.library)))?;
        let mut services = Services { library, handle: 0 };
        let name = match &target.remote {
            None => "service_mgr".to_string(),
            Some(remote) => format!("{}/{}:service_mgr", remote.named(), remote.port),
        };
        let mut parameters = SPB_VERSION.to_vec();
        let password = target.remote.as_ref().map(|remote| remote.password.as_str());
        for (part, text) in [(USER_NAME, Some(target.user.as_str())), (PASSWORD, password)] {
            // `Target::fits` has seen to the length.
            if let Some(text) = text {
                parameters.extend([part, text.len() as u8]);
                parameters.extend(text.as_bytes());
            }
        }
        let mut status: Status = [0; 20];
        let attach = services.function::<Attach>(b"isc_service_attach\0")?;
        // SAFETY: both texts are as long as is given, and live until the call has returned.
        let code = unsafe {
            attach(
                status.as_mut_ptr(),
                name.len() as u16,
                name.as_ptr().cast(),
                &mut services.handle,
                parameters.len() as u16,
                parameters.as_ptr(),
            )
        };
        services.check(code, &status)?;
        Ok(services)
    }

    /// Runs a service to its end and answers what it says. `look` is called again and again while the service runs, until
    /// it answers that it has seen enough.
    pub fn run(&mut self, request: &Request, mut look: impl FnMut() -> Outcome<bool>) -> Outcome<String> {
        let mut status: Status = [0; 20];
        let start = self.function::<Start>(b"isc_service_start\0")?;
        let length = u16::try_from(request.0.len())
            .map_err(|_| failed(Class::Other, "too many names for one service of Firebird".to_string()))?;
        // SAFETY: the request is as long as is given, and lives until the call has returned.
        let code =
            unsafe { start(status.as_mut_ptr(), &mut self.handle, std::ptr::null_mut(), length, request.0.as_ptr()) };
        self.check(code, &status)?;
        while self.is_running()? && !look()? {
            std::thread::sleep(PAUSE);
        }
        let output = self.read_to_end()?;
        // Its last words are there before it has ended.
        while self.is_running()? {
            std::thread::sleep(PAUSE);
        }
        Ok(output)
    }

    fn is_running(&mut self) -> Outcome<bool> {
        let mut answer = [0; 64];
        self.query(&[INFO_RUNNING], &mut answer)?;
        Ok(answer[0] == INFO_RUNNING && answer[1..5] != [0; 4])
    }

    fn read_to_end(&mut self) -> Outcome<String> {
        let (mut output, mut answer) = (Vec::new(), vec![0; 32_000]);
        loop {
            self.query(&[INFO_TO_EOF], &mut answer)?;
            let length = usize::from(u16::from_le_bytes([answer[1], answer[2]]));
            let (text, rest) = answer.get(3..).and_then(|all| all.split_at_checked(length)).unwrap_or((&[], &[]));
            output.extend(text);
            let mut items_left = rest.iter().take_while(|item| **item != INFO_END);
            let goes_on = items_left.any(|item| matches!(*item, INFO_TRUNCATED | INFO_TIMEOUT));
            if answer[0] != INFO_TO_EOF || !goes_on {
                return Ok(String::from_utf8_lossy(&output).into_owned());
            }
        }
    }

    fn query(&mut self, asked: &[u8], answer: &mut [u8]) -> Outcome<()> {
        let mut status: Status = [0; 20];
        let query = self.function::<Query>(b"isc_service_query\0")?;
        answer.fill(0);
        // SAFETY: what is asked and the room for the answer are as long as is given, and live until the call has returned.
        let code = unsafe {
            query(
                status.as_mut_ptr(),
                &mut self.handle,
                std::ptr::null_mut(),
                0,
                std::ptr::null(),
                asked.len() as u16,
                asked.as_ptr(),
                answer.len() as u16,
                answer.as_mut_ptr(),
            )
        };
        self.check(code, &status)
    }

    fn function<T: Copy>(&self, name: &[u8]) -> Outcome<T> {
        // SAFETY: `T` is the function's type in ibase.h, and the library stays loaded as long as `self`, which calls it.
        let symbol = unsafe { self.library.get::<T>(name) };
        symbol.map(|symbol| *symbol).map_err(|error| failed(Class::Connection, format!("the client library: {error}")))
    }

    fn check(&self, code: isize, status: &Status) -> Outcome<()> {
        if code == 0 {
            return Ok(());
        }
        let interpret = self.function::<Interpret>(b"fb_interpret\0")?;
        let (mut words, mut text, mut at) = (Vec::new(), [0u8; 1024], status.as_ptr());
        // SAFETY: `at` goes through a status vector that the library has filled, which ends itself.
        while unsafe { interpret(text.as_mut_ptr().cast(), text.len() as u32, &mut at) } > 0 {
            let output: Vec<u8> = text.iter().copied().take_while(|byte| *byte != 0).collect();
            words.push(String::from_utf8_lossy(&output).split_whitespace().collect::<Vec<_>>().join(" "));
        }
        let message = plainer(words.join(" -"));
        Err(SessionError { class: classify(0, &message), message })
    }
}

/// What a service hands to the database beside its request has 255 bytes in 4.0, and the paths take most of them.
fn plainer(output: String) -> String {
    if output.contains("clumplet") {
        format!("the path of the server's files is too long for its services: choose a shorter directory ({output})")
    } else {
        output
    }
}

impl Drop for Services {
    fn drop(&mut self) {
        if let (true, Ok(detach)) = (self.handle != 0, self.function::<Detach>(b"isc_service_detach\0")) {
            let mut status: Status = [0; 20];
            // SAFETY: the handle is of the attachment that this is the end of. Nobody is left to hear of an error.
            unsafe { detach(status.as_mut_ptr(), &mut self.handle) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_too_long_is_told_as_such() {
        let output =
            "Internal error when using clumplet API: attempt to store 273 bytes in a clumplet with maximum size 255";
        assert!(plainer(output.into()).starts_with("the path of the server's files is too long"));
        assert_eq!(plainer("lock conflict".into()), "lock conflict");
    }

    #[test]
    fn a_request_is_written_part_by_part() {
        let request = Request::of(1).text(106, "a.fdb").unwrap().number(108, 0x0001_0008);
        assert_eq!(request.0, b"\x01\x6a\x05\x00a.fdb\x6c\x08\x00\x01\x00");
        assert!(Request::of(1).text(106, &"x".repeat(1 << 16)).is_err());
    }
}
