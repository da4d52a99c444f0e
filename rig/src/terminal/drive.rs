//! Drives many terminals on one thread: each is a future that waits for its session's socket or for a time, and nothing
//! else. A terminal of an embedded engine never waits for a socket; it has a thread of its own.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::{poll_fn, Future};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// What the future polled last waits for.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Wait {
    Socket,
    Until(Instant),
}

thread_local! {
    static WAIT: Cell<Option<Wait>> = const { Cell::new(None) };
}

/// To be called before a future answers that it is pending: poll it again when its socket can be read.
pub fn wait_for_socket() {
    WAIT.set(Some(Wait::Socket));
}

/// Waits until `time`.
pub async fn sleep_until(time: Instant) {
    poll_fn(|_| {
        if Instant::now() >= time {
            return Poll::Ready(());
        }
        WAIT.set(Some(Wait::Until(time)));
        Poll::Pending
    })
    .await
}

/// One terminal, and the socket that it may wait for.
pub struct Task<'a> {
    pub socket: Option<RawFd>,
    pub future: Pin<Box<dyn Future<Output = ()> + 'a>>,
}

struct Seat<'a> {
    task: Task<'a>,
    wait: Option<Wait>,
    /// The socket had news while the terminal waited for something else.
    news: bool,
}

/// Runs all tasks to their end on this thread.
pub fn drive(tasks: Vec<Task>) -> io::Result<()> {
    let mut events = Events::new()?;
    let mut sleepers = BinaryHeap::new();
    let mut seats = Vec::with_capacity(tasks.len());
    for (index, task) in tasks.into_iter().enumerate() {
        if let Some(socket) = task.socket {
            events.watch(socket, index)?;
        }
        seats.push(Some(Seat { task, wait: None, news: false }));
    }
    let mut left = seats.len();
    let mut ready: Vec<usize> = (0..seats.len()).collect();
    while left > 0 {
        for index in ready.drain(..) {
            let Some(seat) = &mut seats[index] else { continue };
            if poll(seat) {
                left -= 1;
                // The session closes its socket, which takes it out of the events.
                seats[index] = None;
            } else if let Some(Wait::Until(time)) = seat.wait {
                sleepers.push(Reverse((time, index)));
            }
        }
        if left == 0 {
            break;
        }
        let due = loop {
            // The clock is read only where somebody waits for a time.
            let ahead = sleepers.peek().map(|Reverse((time, _))| time.saturating_duration_since(Instant::now()));
            match ahead {
                Some(Duration::ZERO) => {
                    let Some(Reverse((time, index))) = sleepers.pop() else { unreachable!("just seen") };
                    if seats[index].as_ref().is_some_and(|seat| seat.wait == Some(Wait::Until(time))) {
                        ready.push(index);
                    }
                }
                _ => break ahead,
            }
        };
        let timeout = if ready.is_empty() { due } else { Some(Duration::ZERO) };
        events.wait(timeout, |index| {
            let Some(seat) = &mut seats[index] else { return };
            if seat.wait == Some(Wait::Socket) {
                ready.push(index);
            } else {
                seat.news = true;
            }
        })?;
    }
    Ok(())
}

/// Polls until the terminal has ended (true) or waits for something that is not there yet.
fn poll(seat: &mut Seat) -> bool {
    loop {
        WAIT.set(None);
        match seat.task.future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(()) => return true,
            Poll::Pending => {
                seat.wait = WAIT.get();
                assert!(seat.wait.is_some(), "a terminal waits for its socket or for a time");
                if seat.wait == Some(Wait::Socket) && std::mem::take(&mut seat.news) {
                    continue;
                }
                return false;
            }
        }
    }
}

/// An epoll instance, edge-triggered; see epoll(7).
struct Events {
    epoll: OwnedFd,
    news: [libc::epoll_event; BATCH],
}

const BATCH: usize = 64;

impl Events {
    fn new() -> io::Result<Events> {
        // SAFETY: makes a descriptor, which is owned from here on.
        unsafe {
            match libc::epoll_create1(libc::EPOLL_CLOEXEC) {
                -1 => Err(io::Error::last_os_error()),
                descriptor => Ok(Events {
                    epoll: OwnedFd::from_raw_fd(descriptor),
                    news: [libc::epoll_event { events: 0, u64: 0 }; BATCH],
                }),
            }
        }
    }

    fn watch(&self, socket: RawFd, index: usize) -> io::Result<()> {
        let interest = libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLET;
        let mut event = libc::epoll_event { events: interest as u32, u64: index as u64 };
        // SAFETY: the kernel reads one event of ours.
        match unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), libc::EPOLL_CTL_ADD, socket, &raw mut event) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Waits for news of a socket, at most `timeout`, and names the tasks that have some.
    fn wait(&mut self, timeout: Option<Duration>, mut each: impl FnMut(usize)) -> io::Result<()> {
        let time = timeout.map(|left| libc::timespec {
            tv_sec: left.as_secs() as libc::time_t,
            tv_nsec: libc::c_long::from(left.subsec_nanos() as i32),
        });
        // SAFETY: the kernel writes at most BATCH events into an array of ours and reads one time.
        let found = unsafe {
            libc::epoll_pwait2(
                self.epoll.as_raw_fd(),
                self.news.as_mut_ptr(),
                BATCH as libc::c_int,
                time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref),
                std::ptr::null(),
            )
        };
        if found < 0 {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::Interrupted { Ok(()) } else { Err(error) };
        }
        for event in &self.news[..found as usize] {
            each(event.u64 as usize);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    /// Reads one byte as a session does: everything that is there, waiting for more.
    async fn byte(socket: &mut UnixStream) -> Option<u8> {
        poll_fn(|_| {
            let mut found = [0];
            match socket.read(&mut found) {
                Ok(0) => Poll::Ready(None),
                Ok(_) => Poll::Ready(Some(found[0])),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    wait_for_socket();
                    Poll::Pending
                }
                Err(error) => panic!("{error}"),
            }
        })
        .await
    }

    fn pair() -> (UnixStream, UnixStream) {
        let (near, far) = UnixStream::pair().unwrap();
        near.set_nonblocking(true).unwrap();
        (near, far)
    }

    fn task<'a>(socket: Option<&UnixStream>, future: impl Future<Output = ()> + 'a) -> Task<'a> {
        Task { socket: socket.map(AsRawFd::as_raw_fd), future: Box::pin(future) }
    }

    #[test]
    fn sleepers_wake_in_the_order_of_their_times_and_not_early() {
        let began = Instant::now();
        let woken = RefCell::new(Vec::new());
        let tasks = [30, 10, 20].map(|ms| {
            let woken = &woken;
            task(None, async move {
                for round in 1..=2 {
                    let time = began + Duration::from_millis(ms * round);
                    sleep_until(time).await;
                    assert!(Instant::now() >= time);
                }
                woken.borrow_mut().push(ms);
            })
        });
        drive(tasks.into()).unwrap();
        assert_eq!(*woken.borrow(), [10, 20, 30]);
    }

    #[test]
    fn terminals_on_one_thread_wait_for_each_others_answers() {
        // Each waits for what the other writes: neither could end if one kept the thread.
        let (mut a, mut b) = pair();
        b.set_nonblocking(true).unwrap();
        let (to_a, to_b) = (b.try_clone().unwrap(), a.try_clone().unwrap());
        let sockets = [a.try_clone().unwrap(), b.try_clone().unwrap()];
        let heard = RefCell::new(0);
        let ping = async {
            for round in 0..100 {
                (&to_b).write_all(&[round]).unwrap();
                assert_eq!(byte(&mut a).await, Some(round));
            }
        };
        let pong = async {
            for round in 0..100 {
                assert_eq!(byte(&mut b).await, Some(round));
                (&to_a).write_all(&[round]).unwrap();
                *heard.borrow_mut() += 1;
            }
        };
        drive(vec![task(Some(&sockets[0]), ping), task(Some(&sockets[1]), pong)]).unwrap();
        assert_eq!(*heard.borrow(), 100);
    }

    #[test]
    fn news_that_come_while_a_terminal_sleeps_are_not_lost() {
        let (mut near, mut far) = pair();
        let socket = near.try_clone().unwrap();
        let ended = RefCell::new(None);
        let future = async {
            sleep_until(Instant::now() + Duration::from_millis(30)).await;
            *ended.borrow_mut() = Some((byte(&mut near).await, byte(&mut near).await));
        };
        let writer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(10));
            far.write_all(b"x").unwrap(); // and hangs up
        });
        drive(vec![task(Some(&socket), future)]).unwrap();
        writer.join().unwrap();
        assert_eq!(*ended.borrow(), Some((Some(b'x'), None)));
    }
}
