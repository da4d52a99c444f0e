//! Deliveries wait here for a worker (clause 2.7.2), and the outcome of them is counted.

use crate::common::condition;
use protocol::Condition;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

/// A delivery that a terminal asked for.
#[derive(Debug, Clone, Copy)]
pub struct Delivery {
    pub warehouse: i64,
    pub carrier: i64,
    pub queued: Instant,
}

#[derive(Default)]
pub struct Queue(Mutex<Inside>);

#[derive(Default)]
struct Inside {
    run: u64,
    waiting: VecDeque<Delivery>,
    done: u64,
    /// Of those done, how many found a district without an order to deliver.
    skipped: u64,
}

impl Queue {
    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.0.lock().expect("no panic under this lock")
    }

    /// A run does not work off what the one before it left.
    pub fn begin(&self, run: u64) {
        let mut inside = self.inside();
        if inside.run != run {
            inside.run = run;
            inside.waiting.clear();
        }
    }

    pub fn push(&self, delivery: Delivery) {
        self.inside().waiting.push_back(delivery);
    }

    pub fn pop(&self) -> Option<Delivery> {
        self.inside().waiting.pop_front()
    }

    pub fn done(&self, skipped: bool) {
        let mut inside = self.inside();
        inside.done += 1;
        inside.skipped += u64::from(skipped);
    }

    /// A measurement in which more than one delivery, and more than one in a hundred, was skipped is not valid
    /// (clause 5.5.1.6): the orders to be delivered have run out.
    pub fn condition(&self) -> Condition {
        let Inside { done, skipped, .. } = *self.inside();
        condition(
            "deliveries_seldom_skipped",
            skipped <= 1.max(done / 100),
            format!("{skipped} of {done} deliveries found a district without a new order"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deliveries_come_out_as_they_went_in_and_not_in_another_run() {
        let queue = Queue::default();
        queue.begin(0);
        let delivery = |carrier| Delivery { warehouse: 1, carrier, queued: Instant::now() };
        (1..=3).for_each(|carrier| queue.push(delivery(carrier)));
        assert_eq!(queue.pop().map(|delivery| delivery.carrier), Some(1));
        queue.begin(0);
        assert_eq!(queue.pop().map(|delivery| delivery.carrier), Some(2));
        queue.begin(1);
        assert!(queue.pop().is_none());
    }

    #[test]
    fn one_skipped_delivery_in_a_hundred_is_let_pass() {
        for (done, skipped, holds) in [(0, 0, true), (5, 1, true), (5, 2, false), (300, 3, true), (300, 4, false)] {
            let queue = Queue::default();
            (0..done).for_each(|at| queue.done(at < skipped));
            assert_eq!(queue.condition().holds, holds, "{}", queue.condition().detail);
        }
    }
}
