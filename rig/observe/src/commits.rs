//! Calls and transactions put together: what each commit asked for, and one typical commit line by line. Pure.

use super::calls::{StorageEvent, CALLS};
use super::files::Act;
use measure::Noted;
use protocol::{ObservedLayer, ObservedLine, PerCommit, Spread, StorageCount, Tie, TypicalCommit};
use std::collections::{BTreeMap, HashMap};

/// So many lines of one commit are shown.
const LINES_MAX: usize = 200;

/// What a commit asked for, as one figure each; commits with the same are of one sort.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Shape {
    writes: u64,
    bytes: u64,
    /// Flush calls, and writes that are durable when they return.
    flushes: u64,
    flush_ns: u64,
}

impl Shape {
    fn add(&mut self, act: &Act) {
        if act.is_write() {
            self.writes += 1;
            self.bytes += act.bytes;
        }
        if act.is_flush() || act.is_write() && act.how.synced {
            self.flushes += 1;
            self.flush_ns += act.lasted_ns;
        }
    }

    /// What makes two commits alike: times and bytes differ between any two.
    fn sort(self) -> (u64, u64) {
        (self.writes, self.flushes)
    }
}

/// How calls find their transaction. An embedded engine works in the terminal's own thread. Of a server only the time is
/// known: with one terminal that is the one transaction, with several a call may be for any that was under way.
pub fn tie(embedded: bool, terminals: u32) -> Tie {
    match (embedded, terminals) {
        (true, _) => Tie::Thread,
        (false, 0 | 1) => Tie::Time,
        (false, _) => Tie::SharedTime,
    }
}

/// Each transaction with what was done for it. Both lists in the order of their beginnings; a call belongs where it began.
fn shapes(acts: &[Act], transactions: &[Noted], tie: Tie) -> Vec<Shape> {
    let mut shapes = vec![Shape::default(); transactions.len()];
    let mut of_thread: HashMap<u32, Vec<usize>> = HashMap::new();
    for (at, transaction) in transactions.iter().enumerate() {
        let key = if tie == Tie::Thread { transaction.tid } else { 0 };
        of_thread.entry(key).or_default().push(at);
    }
    for act in acts {
        let key = if tie == Tie::Thread { act.tid } else { 0 };
        let Some(own) = of_thread.get(&key) else { continue };
        let behind = own.partition_point(|at| transactions[*at].begin_ns <= act.begin_ns);
        if let Some(at) = behind.checked_sub(1).map(|at| own[at]) {
            if act.begin_ns <= transactions[at].end_ns {
                shapes[at].add(act);
            }
        }
    }
    shapes
}

/// Figures of all commits, and one that is like most of them.
///
/// `acts`, `storage_events` and `transactions` in the order of their beginnings; `until_ns`: when the last of them was
/// kept.
pub fn summarise(
    acts: &[Act],
    storage_events: &[StorageEvent],
    transactions: &[Noted],
    tie: Tie,
    until_ns: u64,
    names: &dyn Fn(u32) -> String,
    who: &mut dyn FnMut(u32) -> String,
) -> (Option<PerCommit>, Option<TypicalCommit>) {
    let whole = transactions.iter().take_while(|transaction| transaction.end_ns <= until_ns).count();
    let transactions = &transactions[..whole];
    if transactions.is_empty() {
        return (None, None);
    }
    let shapes = shapes(acts, transactions, tie);
    let mut sorts: BTreeMap<(u64, u64), Vec<usize>> = BTreeMap::new();
    for (at, shape) in shapes.iter().enumerate() {
        sorts.entry(shape.sort()).or_default().push(at);
    }
    let mut alike = sorts.into_values().max_by_key(Vec::len).expect("there are transactions");
    alike.sort_by_key(|at| transactions[*at].end_ns - transactions[*at].begin_ns);
    let chosen = transactions[alike[alike.len() / 2]];
    let of = |figure: fn(&Shape) -> u64| spread(shapes.iter().map(figure).collect());
    // Where a call may be for any of several transactions, a figure of each would count it more than once or for the wrong.
    let per_commit = (tie != Tie::SharedTime).then(|| PerCommit {
        commits: shapes.len() as u64,
        alike: alike.len() as u64,
        writes: of(|shape| shape.writes),
        bytes: of(|shape| shape.bytes),
        flushes: of(|shape| shape.flushes),
        flush_us: of(|shape| shape.flush_ns / 1_000),
        whole_us: spread(transactions.iter().map(|t| (t.end_ns - t.begin_ns) / 1_000).collect()),
    });
    (per_commit, Some(listing(&chosen, alike.len() as u64, acts, storage_events, names, who)))
}

fn spread(mut values: Vec<u64>) -> Spread {
    values.sort_unstable();
    let sum: u128 = values.iter().map(|value| u128::from(*value)).sum();
    Spread {
        min: values[0],
        median: values[values.len() / 2],
        max: values[values.len() - 1],
        mean: sum as f64 / values.len() as f64,
    }
}

fn listing(
    chosen: &Noted,
    alike: u64,
    acts: &[Act],
    storage_events: &[StorageEvent],
    names: &dyn Fn(u32) -> String,
    who: &mut dyn FnMut(u32) -> String,
) -> TypicalCommit {
    let within = |begin_ns: u64| (chosen.begin_ns..=chosen.end_ns).contains(&begin_ns);
    let at_us = |begin_ns: u64| (begin_ns - chosen.begin_ns) as f64 / 1e3;
    let mut lines: Vec<ObservedLine> = Vec::new();
    lines.extend(acts.iter().filter(|act| within(act.begin_ns)).map(|act| ObservedLine {
        at_us: at_us(act.begin_ns),
        lasted_us: Some(act.lasted_ns as f64 / 1e3),
        layer: ObservedLayer::Call,
        who: who(act.tid),
        own: act.tid == chosen.tid,
        what: CALLS[act.call as usize].0.to_string(),
        how: act.how.words(),
        path: act.file.map(names),
        offset: act.offset,
        bytes: (act.bytes > 0).then_some(act.bytes),
        error: (act.error != 0).then(|| std::io::Error::from_raw_os_error(act.error).to_string()),
    }));
    lines.extend(storage_events.iter().filter(|event| within(event.begin_ns)).map(|event| ObservedLine {
        at_us: at_us(event.begin_ns),
        lasted_us: (event.lasted_ns > 0).then_some(event.lasted_ns as f64 / 1e3),
        layer: if event.block { ObservedLayer::Block } else { ObservedLayer::FileSystem },
        who: who(event.tid),
        own: event.tid == chosen.tid,
        what: event.what.clone(),
        how: String::new(),
        path: None,
        offset: event.offset,
        bytes: (event.bytes > 0).then_some(event.bytes),
        error: None,
    }));
    lines.sort_by(|one, other| one.at_us.total_cmp(&other.at_us));
    let left_out = lines.len().saturating_sub(LINES_MAX) as u64;
    lines.truncate(LINES_MAX);
    TypicalCommit {
        begin_ns: chosen.begin_ns,
        lasted_us: at_us(chosen.end_ns),
        commit_at_us: chosen.commit_ns.map(at_us),
        terminal: chosen.terminal,
        alike,
        lines,
        left_out,
    }
}

/// What the layers beneath did, by what it was.
pub fn storage(storage_events: &[StorageEvent]) -> Vec<StorageCount> {
    let mut counts: BTreeMap<(bool, &str), StorageCount> = BTreeMap::new();
    for event in storage_events {
        let layer = if event.block { ObservedLayer::Block } else { ObservedLayer::FileSystem };
        let count = counts.entry((event.block, &event.what)).or_insert_with(|| StorageCount {
            layer,
            what: event.what.clone(),
            count: 0,
            bytes: 0,
            total_us: 0.0,
        });
        count.count += 1;
        count.bytes += event.bytes;
        count.total_us += event.lasted_ns as f64 / 1e3;
    }
    counts.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::number_of;
    use crate::files::How;
    use proptest::prelude::*;

    fn act(tid: u32, name: &str, begin_ns: u64, bytes: u64) -> Act {
        let call = number_of(name).unwrap();
        let how = How { synced: name == "pwritev", ..How::default() };
        Act { tid, file: Some(0), call, how, offset: None, bytes, error: 0, begin_ns, lasted_ns: 5_000 }
    }

    fn noted(tid: u32, begin_ns: u64, end_ns: u64) -> Noted {
        Noted { tid, terminal: tid, begin_ns, commit_ns: Some(begin_ns + 5), end_ns }
    }

    fn summed(acts: &[Act], noted: &[Noted], tie: Tie) -> (Option<PerCommit>, Option<TypicalCommit>) {
        summarise(acts, &[], noted, tie, u64::MAX, &|_| "x.db".into(), &mut |tid| tid.to_string())
    }

    #[test]
    fn the_typical_commit_is_like_most() {
        let acts: Vec<_> = (0..5u64)
            .flat_map(|at| {
                let begin = at * 100_000;
                let more = (at == 2).then(|| act(1, "pwrite64", begin + 30, 7));
                [act(1, "pwrite64", begin + 10, 4096), act(1, "fdatasync", begin + 20, 0)].into_iter().chain(more)
            })
            .collect();
        let transactions: Vec<_> = (0..5).map(|at| noted(1, at * 100_000, at * 100_000 + 50_000 + at)).collect();
        let (figures, typical) = summed(&acts, &transactions, Tie::Thread);
        let (figures, typical) = (figures.unwrap(), typical.unwrap());
        assert_eq!((figures.commits, figures.alike, figures.writes.median, figures.writes.max), (5, 4, 1, 2));
        assert_eq!((figures.flushes.min, figures.flushes.max, figures.flush_us.median), (1, 1, 5));
        let what: Vec<_> = typical.lines.iter().map(|line| (line.at_us, line.what.as_str())).collect();
        assert_eq!(what, [(0.01, "pwrite64"), (0.02, "fdatasync")]);
        assert_eq!(typical.commit_at_us, Some(0.005));
    }

    #[test]
    fn a_thread_has_its_own_calls_and_a_server_those_of_the_time() {
        let acts = [act(1, "pwrite64", 10, 1), act(9, "fsync", 11, 0), act(2, "pwritev", 12, 1)];
        let transactions = [noted(1, 5, 50), noted(2, 6, 50)];
        let by_thread = shapes(&acts, &transactions, Tie::Thread);
        assert_eq!((by_thread[0].writes, by_thread[0].flushes), (1, 0));
        assert_eq!((by_thread[1].writes, by_thread[1].flushes), (1, 1), "a durable write is a flush");
        let by_time = shapes(&acts, &transactions[..1], Tie::Time);
        assert_eq!((by_time[0].writes, by_time[0].flushes), (2, 2));
        let (figures, typical) = summed(&acts, &transactions, tie(false, 2));
        assert!(figures.is_none());
        assert_eq!(typical.unwrap().lines.len(), 3);
    }

    #[test]
    fn what_was_not_kept_is_not_counted() {
        let transactions = [noted(1, 0, 10), noted(1, 20, 30)];
        let (figures, _) =
            summarise(&[], &[], &transactions, Tie::Thread, 15, &|_| String::new(), &mut |_| String::new());
        assert_eq!(figures.unwrap().commits, 1);
        assert_eq!(summed(&[], &[], Tie::Thread), (None, None));
    }

    proptest! {
        /// No call is given to two transactions of a thread, and none outside of all is given to one.
        #[test]
        fn each_call_belongs_once(
            lengths in proptest::collection::vec((1u64..20, 0u64..20), 1..30),
            calls in proptest::collection::vec(0u64..800, 0..100)
        ) {
            let mut at = 0;
            let transactions: Vec<_> = lengths
                .into_iter()
                .map(|(long, gap)| {
                    let begin = at + gap + 1;
                    at = begin + long;
                    noted(1, begin, at)
                })
                .collect();
            let mut calls = calls;
            calls.sort_unstable();
            let acts: Vec<_> = calls.iter().map(|at| act(1, "write", *at, 1)).collect();
            let given: u64 = shapes(&acts, &transactions, Tie::Thread).iter().map(|shape| shape.writes).sum();
            let inside = calls.iter().filter(|at| transactions.iter().any(|t| (t.begin_ns..=t.end_ns).contains(at)));
            prop_assert_eq!(given, inside.count() as u64);
        }
    }
}
