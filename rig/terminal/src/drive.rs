//! Drives terminals on one thread: each is a future that waits for its session's socket or for a time, and nothing else.
//! A terminal of an embedded engine never waits for a socket; it has its own thread.

use rustix::buffer::spare_capacity;
use rustix::event::{epoll, poll, PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::Future;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use transaction::{wait_for_nothing, waits_for, Wait};

/// One terminal, and the socket that it may wait for.
pub struct Task<'a> {
    pub socket: Option<RawFd>,
    pub future: Pin<Box<dyn Future<Output = ()> + 'a>>,
}

impl Task<'_> {
    fn socket(&self) -> Option<BorrowedFd<'_>> {
        // SAFETY: the session, which the future holds, keeps it open.
        self.socket.map(|socket| unsafe { BorrowedFd::borrow_raw(socket) })
    }
}

struct Seat<'a> {
    task: Task<'a>,
    wait: Option<Wait>,
    /// The socket had news while the terminal waited for something else.
    news: bool,
}

/// What is to be done beside the terminals: called when due, it answers when it is next.
pub type Chore<'a> = &'a mut dyn FnMut() -> Instant;

/// Runs all tasks to their end on this thread.
pub fn drive(tasks: Vec<Task>, mut chore: Option<Chore>) -> io::Result<()> {
    let mut events = Events::new(tasks.len())?;
    let mut chore_due = chore.as_mut().map(|chore| chore());
    let mut sleepers = BinaryHeap::new();
    let mut seats = Vec::with_capacity(tasks.len());
    for (index, task) in tasks.into_iter().enumerate() {
        if let Some(socket) = task.socket() {
            events.watch(socket, index)?;
        }
        seats.push(Some(Seat { task, wait: None, news: false }));
    }
    let mut left = seats.len();
    let mut ready: Vec<usize> = (0..seats.len()).collect();
    while left > 0 {
        for index in ready.drain(..) {
            let Some(seat) = &mut seats[index] else { continue };
            if advance(seat) {
                left -= 1;
                // A session that closes its socket takes it out of the events; news of one that stays open find no seat.
                seats[index] = None;
            } else if let Some(Wait::Until(time)) = seat.wait {
                sleepers.push(Reverse((time, index)));
            }
        }
        if left == 0 {
            break;
        }
        // The clock is read only where somebody waits for a time.
        let mut timeout = None;
        if chore_due.is_some() || !sleepers.is_empty() {
            let now = Instant::now();
            while let Some(&Reverse((time, index))) = sleepers.peek() {
                if time > now {
                    break;
                }
                sleepers.pop();
                if seats[index].as_ref().is_some_and(|seat| seat.wait == Some(Wait::Until(time))) {
                    ready.push(index);
                }
            }
            if let (Some(chore), Some(due)) = (&mut chore, &mut chore_due) {
                if *due <= now {
                    *due = chore();
                }
            }
            let next = sleepers.peek().map(|Reverse((time, _))| *time).into_iter().chain(chore_due).min();
            timeout = next.map(|time| time.saturating_duration_since(now));
        }
        if !ready.is_empty() {
            timeout = Some(Duration::ZERO);
        }
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
fn advance(seat: &mut Seat) -> bool {
    loop {
        wait_for_nothing();
        match seat.task.future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(()) => return true,
            Poll::Pending => {
                seat.wait = waits_for();
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
    news: Vec<epoll::Event>,
}

/// A wait this long may end up to a millisecond early, and is taken up again.
const COARSE: Duration = Duration::from_millis(2);

impl Events {
    fn new(sockets: usize) -> io::Result<Events> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        Ok(Events { epoll, news: Vec::with_capacity(sockets.max(1)) })
    }

    fn watch(&self, socket: BorrowedFd, index: usize) -> io::Result<()> {
        let interest = epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
        Ok(epoll::add(&self.epoll, socket, epoll::EventData::new_u64(index as u64), interest)?)
    }

    /// Waits for news of a socket, at most `timeout`, perhaps less, and names the tasks that have some.
    fn wait(&mut self, timeout: Option<Duration>, mut each: impl FnMut(usize)) -> io::Result<()> {
        let timeout = timeout.map(|left| match left {
            left if left >= COARSE => timespec(left - Duration::from_nanos(u64::from(left.subsec_nanos() % 1_000_000))),
            Duration::ZERO => timespec(left),
            left => {
                // Whole milliseconds are all that epoll_wait knows on kernels before 5.11.
                poll(&mut [PollFd::new(&self.epoll, PollFlags::IN)], Some(&timespec(left))).ok();
                timespec(Duration::ZERO)
            }
        });
        self.news.clear();
        match epoll::wait(&self.epoll, spare_capacity(&mut self.news), timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in &self.news {
            each(event.data.u64() as usize);
        }
        Ok(())
    }
}

fn timespec(length: Duration) -> Timespec {
    Timespec { tv_sec: length.as_secs() as i64, tv_nsec: i64::from(length.subsec_nanos()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::future::poll_fn;
    use std::io::{Read, Write};
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;
    use transaction::{sleep_until, wait_for_socket};

    /// Reads one byte as a session does: everything that is there, waiting for more.
    async fn byte(socket: &mut UnixStream) -> Option<u8> {
        poll_fn(|_| {
            let mut buffer = [0];
            match socket.read(&mut buffer) {
                Ok(0) => Poll::Ready(None),
                Ok(_) => Poll::Ready(Some(buffer[0])),
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
        drive(tasks.into(), None).unwrap();
        assert_eq!(*woken.borrow(), [10, 20, 30]);
    }

    #[test]
    fn terminals_on_one_thread_wait_for_each_others_answers() {
        // Each waits for what the other writes: neither could end if the other kept the thread.
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
        drive(vec![task(Some(&sockets[0]), ping), task(Some(&sockets[1]), pong)], None).unwrap();
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
        drive(vec![task(Some(&socket), future)], None).unwrap();
        writer.join().unwrap();
        assert_eq!(*ended.borrow(), Some((Some(b'x'), None)));
    }

    #[test]
    fn a_chore_is_done_when_due_while_terminals_wait() {
        let (near, mut far) = pair();
        let mut reading = near.try_clone().unwrap();
        let future = async { assert_eq!(byte(&mut reading).await, Some(b'x')) };
        let began = Instant::now();
        let mut done = Vec::new();
        let mut chore = || {
            done.push(began.elapsed());
            if done.len() == 4 {
                far.write_all(b"x").unwrap();
            }
            began + Duration::from_millis(5 * done.len() as u64)
        };
        drive(vec![task(Some(&near), future)], Some(&mut chore)).unwrap();
        assert!((4..=5).contains(&done.len()), "{done:?}");
        assert!(done.iter().zip(0..).all(|(&at, round)| at >= Duration::from_millis(5 * round)), "{done:?}");
    }
}
