//! What a transaction under way waits for. Its driver clears that, polls it, and looks; see [`waits_for`].

use std::cell::Cell;
use std::future::poll_fn;
use std::task::Poll;
use std::time::{Duration, Instant};

/// What the future polled last waits for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Wait {
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

/// Waits until `time`, or at most `slice` longer than it takes until `ended`.
pub async fn sleep_unless(time: Instant, slice: Duration, ended: impl Fn() -> bool) {
    loop {
        let now = Instant::now();
        if now >= time || ended() {
            return;
        }
        sleep_until(time.min(now + slice)).await;
    }
}

/// Forgets what was waited for; to be called before a future is polled.
pub fn wait_for_nothing() {
    WAIT.set(None);
}

/// What the future that was polled last on this thread waits for; nothing when it has not set it.
pub fn waits_for() -> Option<Wait> {
    WAIT.get()
}
