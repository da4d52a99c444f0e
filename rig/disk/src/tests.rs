//! What a disk promises, against a plain account of every version that every sector ever had.

use super::cache::{Cache, Snapshot};
use super::medium::{Memory, BLOCK};
use super::model::{Disk, Finished, Ticket};
use super::timing::Timing;
use proptest::prelude::*;
use protocol::{CutKeeps, DiskBattery, DiskPower, DiskTiming, DiskTimingName, GhostFlushes};
use std::collections::VecDeque;

const SECTOR: usize = 512;
const BLOCKS: usize = 64;
const SECTORS: usize = BLOCKS * BLOCK / SECTOR;
const SIZE: u64 = (BLOCKS * BLOCK) as u64;
const MS: u64 = 1_000_000;

fn timing(name: DiskTimingName, parameters: &[(&str, f64)]) -> Timing {
    let parameters = parameters.iter().map(|(name, value)| (name.to_string(), *value)).collect();
    Timing::new(&DiskTiming { name, parameters }).unwrap()
}

fn disk_of(capacity: usize, sector_bytes: usize, timing: Timing, faults: &[&str]) -> Disk<Memory> {
    let cache = Cache::new(Memory::new(SIZE).unwrap(), SIZE, sector_bytes, BLOCKS).unwrap();
    let mut disk = Disk::new(cache, capacity, DiskBattery::None, timing, 1);
    for fault in faults {
        disk.add_fault(fault.parse().unwrap()).unwrap();
    }
    disk
}

fn disk(capacity: usize, faults: &[&str]) -> Disk<Memory> {
    disk_of(capacity, SECTOR, timing(DiskTimingName::None, &[]), faults)
}

/// A disk with a clock, and every version of every sector that a cut may still bring to light.
struct Account {
    disk: Disk<Memory>,
    now: u64,
    write_cache: bool,
    /// Of all requests so far; a write's is also its version.
    order: u64,
    /// By sector, oldest first: what it may hold after a cut.
    versions: Vec<Vec<u64>>,
    under_way: VecDeque<(Ticket, Request, u64)>,
    times: Vec<u64>,
}

#[derive(Debug, Clone)]
enum Request {
    Write {
        sector: usize,
        count: usize,
    },
    Flush,
    Read {
        sector: usize,
        count: usize,
    },
    /// The oldest request under way is finished.
    Finish,
    Wait(u64),
}

fn request() -> impl Strategy<Value = Request> {
    let range = || (0..SECTORS, 1..24usize).prop_map(|(at, count)| (at, count.min(SECTORS - at)));
    prop_oneof![
        6 => range().prop_map(|(sector, count)| Request::Write { sector, count }),
        2 => Just(Request::Flush),
        1 => range().prop_map(|(sector, count)| Request::Read { sector, count }),
        6 => Just(Request::Finish),
        1 => (0..2_000 * MS).prop_map(Request::Wait),
    ]
}

impl Account {
    fn new(disk: Disk<Memory>, write_cache: bool) -> Self {
        let versions = vec![vec![0]; SECTORS];
        Account { disk, now: 0, write_cache, order: 0, versions, under_way: VecDeque::new(), times: Vec::new() }
    }

    fn run(&mut self, requests: &[Request]) {
        for request in requests {
            self.one(request.clone());
        }
    }

    fn one(&mut self, request: Request) {
        self.order += 1;
        let order = self.order;
        let ticket = match request {
            Request::Finish => return self.finish(),
            Request::Wait(ns) => {
                self.now += ns;
                return;
            }
            Request::Flush => self.disk.begin_flush(false, self.now),
            Request::Write { sector, count } => {
                let bytes: Vec<u8> = order.to_le_bytes().repeat(count * SECTOR / 8);
                for version in &mut self.versions[sector..sector + count] {
                    version.push(order);
                }
                self.disk.begin_write((sector * SECTOR) as u64, &bytes, self.now)
            }
            Request::Read { sector, count } => {
                let mut bytes = vec![0; count * SECTOR];
                let ticket = self.disk.begin_read((sector * SECTOR) as u64, &mut bytes, self.now);
                for (found, versions) in bytes.chunks(SECTOR).zip(&self.versions[sector..]) {
                    assert_eq!(version(found), *versions.last().unwrap(), "a read gives what was written last");
                }
                ticket
            }
        };
        self.under_way.push_back((ticket.expect("the disk answers"), request, order));
    }

    fn finish(&mut self) {
        let Some((ticket, request, order)) = self.under_way.pop_front() else { return };
        self.now = self.now.max(ticket.done_at);
        self.times.push(ticket.done_at);
        let finished = self.disk.finish(&ticket, self.now);
        match request {
            Request::Flush if finished == Finished::Settled => self.settled(0, SECTORS, order),
            Request::Write { sector, count } if !self.write_cache => self.settled(sector, count, order),
            _ => {}
        }
    }

    /// What was begun before `order` is safe: no version older than the last of those may come back.
    fn settled(&mut self, sector: usize, count: usize, order: u64) {
        for versions in &mut self.versions[sector..sector + count] {
            let last = versions.iter().rposition(|version| *version <= order).unwrap();
            versions.drain(..last);
        }
    }

    fn contents(&mut self) -> Vec<u64> {
        let mut bytes = vec![0; SIZE as usize];
        let ticket = self.disk.begin_read(0, &mut bytes, self.now).unwrap();
        assert_ne!(self.disk.finish(&ticket, ticket.done_at), Finished::Failed(libc::EIO));
        bytes.chunks(SECTOR).map(version).collect()
    }

    fn cut(&mut self, keep: CutKeeps, seed: u64) {
        let newest: Vec<u64> = self.versions.iter().map(|versions| *versions.last().unwrap()).collect();
        self.disk.cut(keep, seed, GhostFlushes::Succeed, self.now).unwrap();
        assert_eq!(self.contents(), newest, "a ghost shows what was written");
        // What a ghost is given is forgotten, and what was under way promises nothing.
        let ghostly = self.disk.begin_write(0, &[0xff; 3 * BLOCK], self.now).unwrap();
        self.disk.finish(&ghostly, self.now);
        for (ticket, ..) in std::mem::take(&mut self.under_way) {
            self.disk.finish(&ticket, self.now);
        }
        self.disk.revive().unwrap();
    }
}

fn version(sector: &[u8]) -> u64 {
    let version = &sector[..8];
    assert!(sector.chunks(8).all(|part| part == version), "a sector is written whole or not at all");
    u64::from_le_bytes(version.try_into().unwrap())
}

fn keeps() -> impl Strategy<Value = CutKeeps> {
    prop::sample::select(vec![CutKeeps::None, CutKeeps::Torn, CutKeeps::Reordered, CutKeeps::All])
}

fn drive() -> impl Strategy<Value = DiskTimingName> {
    use DiskTimingName::{None, Nvme, Rotating, SataSsd};
    prop::sample::select(vec![None, Rotating, SataSsd, Nvme])
}

proptest! {
    #[test]
    fn what_was_flushed_survives_and_what_was_not_is_old_or_some_version_since(
        requests in prop::collection::vec(request(), 1..120),
        capacity in prop::sample::select(vec![0, 1, 7, 1_000]),
        name in drive(),
        keep in keeps(),
        seed: u64,
        faults in prop::sample::select(vec![&[][..], &["tear every 2nd"], &["reorder"], &["tear", "reorder"]]),
    ) {
        let mut account = Account::new(disk_of(capacity, SECTOR, timing(name, &[]), faults), capacity > 0);
        account.run(&requests);
        account.cut(keep, seed);
        for (sector, (found, legal)) in account.contents().iter().zip(&account.versions).enumerate() {
            prop_assert!(legal.contains(found), "sector {sector} holds {found}, legal is {legal:?}");
            if keep == CutKeeps::All && faults.is_empty() {
                prop_assert_eq!(found, legal.last().unwrap());
            }
        }
    }

    #[test]
    fn the_same_seed_and_requests_give_the_same_disk_at_the_same_times(
        requests in prop::collection::vec(request(), 1..120), name in drive(), keep in keeps(), seed: u64,
    ) {
        let run = || {
            let disk = disk_of(9, SECTOR, timing(name, &[]), &["reorder", "tear every 3rd"]);
            let mut account = Account::new(disk, true);
            account.run(&requests);
            account.cut(keep, seed);
            (account.contents(), account.times)
        };
        prop_assert_eq!(run(), run());
    }

    #[test]
    fn large_sectors_are_written_whole_or_not_at_all(
        writes in prop::collection::vec((0..BLOCKS, 1..4usize), 1..40), keep in keeps(), seed: u64,
    ) {
        let mut account = Account::new(disk_of(1_000, BLOCK, timing(DiskTimingName::None, &[]), &["tear"]), true);
        for (block, count) in writes {
            account.one(Request::Write { sector: block * 8, count: count.min(BLOCKS - block) * 8 });
        }
        account.cut(keep, seed);
        for block in account.contents().chunks(BLOCK / SECTOR) {
            prop_assert!(block.iter().all(|version| *version == block[0]));
        }
    }

    #[test]
    fn a_disk_that_turns_120_times_a_second_takes_no_more_durable_writes_to_one_place(
        waits in prop::collection::vec(0..20 * MS, 2..40), block in 0..24u64, appends: bool,
    ) {
        let mut disk = disk_of(0, SECTOR, timing(DiskTimingName::Rotating, &[]), &[]);
        let (mut now, mut first, mut last) = (0, None, 0);
        for (n, wait) in waits.iter().enumerate() {
            let at = if appends { block + n as u64 } else { block } * BLOCK as u64;
            let ticket = disk.begin_write(at, &[1; BLOCK], now).unwrap();
            last = ticket.done_at;
            disk.finish(&ticket, last);
            first.get_or_insert(last);
            now = last + if appends { 0 } else { *wait };
        }
        prop_assert!(last - first.unwrap() >= (waits.len() as u64 - 1) * 8_333_333);
    }

    #[test]
    fn a_drive_finishes_nothing_before_it_began(
        name in drive(), capacity in prop::sample::select(vec![0, 16]), requests in prop::collection::vec(request(), 1..80),
    ) {
        let mut account = Account::new(disk_of(capacity, SECTOR, timing(name, &[]), &[]), capacity > 0);
        for request in requests {
            let (now, before) = (account.now, account.under_way.len());
            account.one(request);
            if account.under_way.len() > before {
                prop_assert!(account.under_way.back().unwrap().0.done_at >= now);
            }
        }
    }

    #[test]
    fn a_snapshot_comes_back_whole(
        before in prop::collection::vec(request(), 1..60),
        between in prop::collection::vec(request(), 1..60),
        after in prop::collection::vec(request(), 1..60),
    ) {
        let mut account = Account::new(disk(1_000, &[]), true);
        account.run(&before);
        account.disk.keep(Some(Snapshot::new(SIZE).unwrap())).unwrap();
        account.run(&between);
        account.disk.keep(None).unwrap();
        let kept = account.contents();
        account.run(&after);
        account.disk.restore().unwrap();
        prop_assert_eq!(account.contents(), kept);
    }
}

fn write(disk: &mut Disk<Memory>, block: u64, byte: u8, now: u64) -> Finished {
    let ticket = disk.begin_write(block * BLOCK as u64, &[byte; BLOCK], now).unwrap();
    disk.finish(&ticket, ticket.done_at.max(now))
}

fn flush(disk: &mut Disk<Memory>, now: u64) -> Finished {
    let ticket = disk.begin_flush(false, now).unwrap();
    disk.finish(&ticket, ticket.done_at)
}

fn byte(disk: &mut Disk<Memory>, block: u64) -> u8 {
    let mut bytes = [0; BLOCK];
    let ticket = disk.begin_read(block * BLOCK as u64, &mut bytes, 0).unwrap();
    disk.finish(&ticket, ticket.done_at);
    assert!(bytes.iter().all(|one| *one == bytes[0]));
    bytes[0]
}

fn lose_all(disk: &mut Disk<Memory>, now: u64) {
    disk.cut(CutKeeps::None, 1, GhostFlushes::Succeed, now).unwrap();
    disk.revive().unwrap();
}

#[test]
fn a_drive_that_lies_loses_what_it_took_for_a_second_and_an_honest_one_nothing() {
    for (faults, survives) in [(&[][..], 2), (&["lie-about-flush"], 1)] {
        let mut disk = disk(1_000, faults);
        write(&mut disk, 3, 1, 0);
        flush(&mut disk, 0);
        write(&mut disk, 3, 1, 1_100 * MS); // the first has aged by now, and is on the medium
        write(&mut disk, 3, 2, 1_200 * MS);
        flush(&mut disk, 1_300 * MS);
        lose_all(&mut disk, 1_400 * MS);
        assert_eq!(byte(&mut disk, 3), survives);
        assert_eq!(disk.stats(0, 0).lied_flushes, faults.len() as u64 * 2);
    }
}

fn write_through(disk: &mut Disk<Memory>, block: u64, byte: u8, now: u64) -> Finished {
    write(disk, block, byte, now);
    let ticket = disk.begin_flush(true, now).unwrap();
    disk.finish(&ticket, ticket.done_at)
}

#[test]
fn a_drive_that_ignores_write_through_loses_what_no_flush_came_for_and_an_honest_one_nothing() {
    for (faults, survives) in [(&[][..], 2), (&["ignore-write-through"], 1)] {
        let mut disk = disk(1_000, faults);
        write_through(&mut disk, 3, 1, 0);
        write_through(&mut disk, 4, 1, 0);
        assert_eq!(flush(&mut disk, 0), Finished::Settled);
        let ignored = faults.len() == 1;
        assert_eq!(write_through(&mut disk, 3, 2, 0) == Finished::Done, ignored);
        assert_eq!(disk.stats(0, 0).ignored_write_throughs, faults.len() as u64 * 3);
        assert_eq!(disk.stats(0, 0).lied_flushes, 0);
        lose_all(&mut disk, 0);
        assert_eq!((byte(&mut disk, 3), byte(&mut disk, 4)), (survives, 1));
    }
}

#[test]
fn what_is_written_through_while_a_flush_is_under_way_is_flushed_with_it() {
    let mut disk = disk(1_000, &["ignore-write-through"]);
    let flushing = disk.begin_flush(false, 0).unwrap();
    assert_eq!(write_through(&mut disk, 3, 1, 0), Finished::Settled);
    disk.finish(&flushing, flushing.done_at);
    lose_all(&mut disk, 0);
    assert_eq!(byte(&mut disk, 3), 1);
}

#[test]
fn a_flush_of_a_battery_backed_cache_waits_for_no_medium_and_the_battery_decides_what_survives() {
    for (battery, survives) in [(DiskBattery::Good, 2), (DiskBattery::Dead, 1)] {
        for keep in [CutKeeps::None, CutKeeps::Torn, CutKeeps::Reordered] {
            let cache = Cache::new(Memory::new(SIZE).unwrap(), SIZE, BLOCK, SIZE as usize / BLOCK).unwrap();
            let rotating = timing(DiskTimingName::Rotating, &[]);
            let mut disk = Disk::new(cache, 1_000, battery, rotating, 1);
            write(&mut disk, 3, 1, 0);
            disk.stats(10_000 * MS, 0); // idle for so long, the drive has written it
            write(&mut disk, 3, 2, 10_000 * MS);
            let ticket = disk.begin_flush(false, 10_000 * MS).unwrap();
            assert!(ticket.done_at - 10_000 * MS < MS, "no turn of the platter");
            assert_eq!(disk.finish(&ticket, ticket.done_at), Finished::Done);
            assert_eq!(disk.stats(10_000 * MS, 0).lied_flushes, u64::from(battery == DiskBattery::Dead));
            let keep = if battery == DiskBattery::Dead { CutKeeps::None } else { keep };
            disk.cut(keep, 7, GhostFlushes::Succeed, 10_001 * MS).unwrap();
            disk.revive().unwrap();
            assert_eq!(byte(&mut disk, 3), survives, "{battery:?}, {keep:?}");
        }
    }
}

#[test]
fn failed_requests_fail_and_a_failed_flush_keeps_the_cache_or_drops_it() {
    let mut kept = disk(1_000, &["eio on flush 1", "eio on write 2"]);
    assert_eq!(write(&mut kept, 0, 1, 0), Finished::Done);
    assert_eq!(write(&mut kept, 0, 2, 0), Finished::Failed(libc::EIO));
    assert_eq!(flush(&mut kept, 0), Finished::Failed(libc::EIO));
    assert_eq!(flush(&mut kept, 0), Finished::Settled);
    lose_all(&mut kept, 0);
    assert_eq!(byte(&mut kept, 0), 1);

    let mut dropped = disk(1_000, &["drop on flush 2"]);
    write(&mut dropped, 0, 1, 0);
    assert_eq!(flush(&mut dropped, 0), Finished::Settled);
    write(&mut dropped, 0, 2, 0);
    assert_eq!(flush(&mut dropped, 0), Finished::Failed(libc::EIO));
    assert_eq!(byte(&mut dropped, 0), 1);
    assert_eq!(flush(&mut dropped, 0), Finished::Settled);
}

#[test]
fn a_disk_that_has_stopped_answers_nothing_before_its_time_unless_it_is_mended_or_cut() {
    let mut disk = disk(1_000, &["stop after 2 writes"]);
    write(&mut disk, 0, 1, 0);
    write(&mut disk, 1, 1, 0);
    assert!(disk.begin_flush(false, 0).is_some());
    assert!(disk.begin_write(0, &[2; BLOCK], 0).is_none());
    assert!(disk.begin_flush(false, 0).is_none() && disk.begin_read(0, &mut [0; BLOCK], 0).is_none());
    disk.mend(0);
    assert_eq!(write(&mut disk, 0, 2, 0), Finished::Done);
    disk.add_fault("stop after 0 requests".parse().unwrap()).unwrap();
    assert!(disk.begin_flush(false, 0).is_none());
    disk.cut(CutKeeps::None, 1, GhostFlushes::Fail, 0).unwrap();
    assert_eq!(flush(&mut disk, 0), Finished::Failed(libc::EIO));
}

#[test]
fn a_disk_that_has_stopped_is_given_up_when_its_time_is_over_and_comes_back_when_it_is_mended() {
    for (fault, limit) in [("stop after 1 writes", 30_000 * MS), ("stop after 1 writes fail after 2 s", 2_000 * MS)] {
        let mut disk = disk(1_000, &[fault]);
        write(&mut disk, 0, 1, 0);
        assert!(disk.begin_write(0, &[2; BLOCK], 5).is_none());
        assert_eq!(disk.fails_at(), 5 + limit);
        assert!(disk.begin_flush(false, 4 + limit).is_none());
        assert_eq!(flush(&mut disk, 5 + limit), Finished::Failed(libc::EIO));
        assert_eq!(write(&mut disk, 0, 2, 6 + limit), Finished::Failed(libc::EIO));
        let read = disk.begin_read(0, &mut [0; BLOCK], 6 + limit).unwrap();
        assert_eq!(disk.finish(&read, 7 + limit), Finished::Failed(libc::EIO));
        assert_eq!(disk.stats(7 + limit, 0).power, DiskPower::GivenUp);
        disk.mend(0);
        assert_eq!(byte(&mut disk, 0), 1);
    }
}

#[test]
fn a_ghost_without_room_fails_writes_instead_of_forgetting_them() {
    let cache = Cache::new(Memory::new(SIZE).unwrap(), SIZE, SECTOR, 4).unwrap();
    let mut disk = Disk::new(cache, 2, DiskBattery::None, timing(DiskTimingName::None, &[]), 1);
    disk.cut(CutKeeps::None, 1, GhostFlushes::Succeed, 0).unwrap();
    let all: Vec<Finished> = (0..6).map(|block| write(&mut disk, block, 1, 0)).collect();
    assert_eq!(all, [[Finished::Done; 4].as_slice(), &[Finished::Failed(libc::EIO); 2]].concat());
    assert_eq!(write(&mut disk, 0, 2, 0), Finished::Done);
    disk.revive().unwrap();
    assert_eq!(byte(&mut disk, 0), 0);
}

#[test]
fn a_write_cache_hides_the_platter_until_it_is_full_or_flushed() {
    let mut disk = disk_of(4, SECTOR, timing(DiskTimingName::Rotating, &[]), &[]);
    let took = |disk: &mut Disk<Memory>, block, now| {
        let ticket = disk.begin_write(block * BLOCK as u64, &[1; BLOCK], now).unwrap();
        disk.finish(&ticket, ticket.done_at);
        ticket.done_at - now
    };
    for block in 0..4 {
        assert!(took(&mut disk, block * 10, block * MS) < MS);
    }
    assert!(took(&mut disk, 50, 5 * MS) > MS, "the fifth waits for one to be destaged");
    let ticket = disk.begin_flush(false, 30 * MS).unwrap();
    assert!((MS..20 * MS).contains(&(ticket.done_at - 30 * MS)), "four blocks side by side: a turn or two");
}

#[test]
fn sequential_reads_stream_at_the_platters_rate_and_random_ones_wait_for_it() {
    let mut timing = timing(DiskTimingName::Rotating, &[]);
    let mut now = 0;
    for n in 0..1_000 {
        now = timing.read(now, n * 131_072, 131_072);
    }
    let mb_s = 1_000.0 * 131.072 / (now as f64 / 1e6);
    assert!((80.0..126.0).contains(&mb_s), "{mb_s} MB/s");
    let start = now;
    for n in 0..200u64 {
        now = timing.read(now, n * 7_919_000_003 % 400_000_000_000 / 4096 * 4096, 4096);
    }
    let ms = (now - start) as f64 / 200e6;
    assert!((8.0..18.0).contains(&ms), "{ms} ms: an average seek and half a turn");
}

#[test]
fn flash_works_on_many_requests_at_once() {
    let mut one = timing(DiskTimingName::Nvme, &[]);
    let in_turn = (0..32).fold(0, |now, n| one.read(now, n << 20, 4_096));
    let mut many = timing(DiskTimingName::Nvme, &[]);
    let together = (0..32).map(|n| many.read(0, n << 20, 4_096)).max().unwrap();
    assert!(together * 10 < in_turn, "{together} ns together, {in_turn} ns one after the other");
}

#[test]
fn parameters_are_known_by_name() {
    let asked = |name: &str, value| {
        Timing::new(&DiskTiming { name: DiskTimingName::Rotating, parameters: [(name.to_string(), value)].into() })
    };
    assert!(asked("rpm", 15_000.0).is_ok());
    assert!(asked("speed", 1.0).unwrap_err().starts_with("this disk has no speed; it has rpm, "));
    assert_eq!(asked("rpm", 0.0).unwrap_err(), "rpm must be above 0, found 0");
}

/// Writes, then empties the cache, so that a block is on the medium.
fn stored(disk: &mut Disk<Memory>, block: u64, byte: u8) {
    assert_eq!(write(disk, block, byte, 0), Finished::Done);
    assert_eq!(flush(disk, 0), Finished::Settled);
}

fn content(disk: &mut Disk<Memory>, block: u64) -> Vec<u8> {
    let mut bytes = vec![0; BLOCK];
    let ticket = disk.begin_read(block * BLOCK as u64, &mut bytes, 0).unwrap();
    assert_eq!(disk.finish(&ticket, 0), Finished::Done);
    bytes
}

#[test]
fn a_lost_write_is_acknowledged_and_leaves_what_was_there() {
    for capacity in [0, 100] {
        let mut disk = disk(capacity, &["(lose (nth 2))"]);
        stored(&mut disk, 3, 1);
        stored(&mut disk, 3, 2);
        assert_eq!(byte(&mut disk, 3), 1);
        stored(&mut disk, 3, 3);
        assert_eq!(byte(&mut disk, 3), 3);
        assert_eq!(disk.stats(0, 0).faults[0].struck, 1);
    }
}

#[test]
fn a_misdirected_write_lands_further_on_or_at_the_beginning() {
    let mut disk = disk(100, &["(misdirect 8K (nth 3))", "(misdirect 8K (nth 4))"]);
    stored(&mut disk, 3, 1);
    stored(&mut disk, 5, 2);
    stored(&mut disk, 3, 7);
    assert_eq!((byte(&mut disk, 3), byte(&mut disk, 5)), (1, 7));
    let last = BLOCKS as u64 - 1;
    stored(&mut disk, last, 9);
    assert_eq!((byte(&mut disk, last), byte(&mut disk, 1)), (0, 9));
}

#[test]
fn bits_that_rot_stay_turned_and_are_as_many_as_asked_for() {
    let turned = |bytes: &[u8]| bytes.iter().map(|byte| (byte ^ 7).count_ones()).sum::<u32>();
    let mut disk = disk(100, &["(rot 1 (and reads once))"]);
    stored(&mut disk, 3, 7);
    assert_eq!(turned(&content(&mut disk, 3)), 1);
    assert_eq!(turned(&content(&mut disk, 3)), 1);
    lose_all(&mut disk, 0);
    assert_eq!(turned(&content(&mut disk, 3)), 1, "a cut brings no rotten bit back");
    stored(&mut disk, 3, 7);
    disk.add_fault("(rot 1 (and writes (nth 1)))".parse().unwrap()).unwrap();
    stored(&mut disk, 4, 7);
    assert_eq!((turned(&content(&mut disk, 3)), turned(&content(&mut disk, 4))), (0, 1));
}

#[test]
fn a_rule_fails_a_request_with_its_own_error_and_the_first_one_counts() {
    let rules = ["(fail ENOSPC (and writes (range 4K 8K)))", "(fail ENODATA (and (or reads writes) (range 4K 8K)))"];
    let mut disk = disk(100, &rules);
    assert_eq!(write(&mut disk, 0, 1, 0), Finished::Done);
    assert_eq!(write(&mut disk, 1, 1, 0), Finished::Failed(libc::ENOSPC));
    let ticket = disk.begin_read(4_096, &mut [0; 512], 0).unwrap();
    assert_eq!(disk.finish(&ticket, 0), Finished::Failed(libc::ENODATA));
}

#[test]
fn a_disk_that_has_vanished_fails_everything_until_it_is_mended_and_still_has_its_cache() {
    let mut disk = disk(100, &["(vanish (nth 2))"]);
    assert_eq!(write(&mut disk, 0, 1, 0), Finished::Done);
    assert_eq!(write(&mut disk, 0, 2, 0), Finished::Failed(libc::ENODEV));
    assert_eq!(flush(&mut disk, 0), Finished::Failed(libc::ENODEV));
    assert_eq!(disk.stats(0, 0).power, DiskPower::Vanished);
    disk.mend(0);
    assert_eq!((byte(&mut disk, 0), flush(&mut disk, 0)), (1, Finished::Settled));
}

#[test]
fn a_fault_cuts_the_power_at_the_request_that_it_names() {
    let mut disk = disk(100, &["(cut none (and writes (nth 3)))"]);
    for number in 1..=2 {
        assert_eq!(write(&mut disk, number, number as u8, 0), Finished::Done);
        assert_eq!(flush(&mut disk, 0), Finished::Settled);
    }
    let under_way = disk.begin_write(3 * BLOCK as u64, &[3; BLOCK], 0).unwrap();
    assert!(!under_way.taken());
    assert_eq!((disk.finish(&under_way, 0), disk.stats(0, 0).power), (Finished::Done, DiskPower::Ghost));
    assert_eq!((byte(&mut disk, 3), flush(&mut disk, 0)), (3, Finished::Done), "it goes on as after any cut");
    assert_eq!(disk.stats(0, 0).faults[0].struck, 1);
    disk.revive().unwrap();
    assert_eq!([1, 2, 3].map(|number| byte(&mut disk, number)), [1, 2, 0]);
    assert_eq!(disk.stats(0, 0).faults.len(), 0);
}

#[test]
fn of_the_write_under_way_so_much_is_left_as_the_fault_says() {
    let left = |fault: &str, cache_blocks: usize| {
        let mut disk = disk(cache_blocks, &[fault]);
        write(&mut disk, 0, 1, 0);
        disk.revive().unwrap();
        let mut content = [0; BLOCK];
        let ticket = disk.begin_read(0, &mut content, 0).unwrap();
        disk.finish(&ticket, 0);
        content.iter().filter(|byte| **byte == 1).count()
    };
    for cache_blocks in [0, 100] {
        assert_eq!(left("(cut all writes)", cache_blocks), BLOCK);
        assert_eq!(left("(cut none writes)", cache_blocks), 0);
        assert!(left("(cut torn writes)", cache_blocks).is_multiple_of(512));
    }
    let mut disk = disk(100, &["(cut none flushes)"]);
    write(&mut disk, 0, 1, 0);
    assert_eq!(flush(&mut disk, 0), Finished::Done, "the flush under way settles nothing");
    disk.revive().unwrap();
    assert_eq!(byte(&mut disk, 0), 0);
}

#[test]
fn a_disk_that_stops_for_a_while_takes_nothing_meanwhile_and_goes_on() {
    let mut disk = disk(100, &["(stop 2s (and writes (nth 2)))"]);
    assert_eq!(write(&mut disk, 0, 1, 0), Finished::Done);
    let held_up = disk.begin_write(0, &[2; BLOCK], 10 * MS).unwrap();
    assert_eq!(disk.waits_until(&held_up), 2_010 * MS);
    assert!(disk.begin_flush(false, 2_009 * MS).is_none());
    assert_eq!(disk.fails_at(), 2_010 * MS);
    assert_eq!(disk.stats(1_000 * MS, 0).power, DiskPower::Stopped);
    assert_eq!(flush(&mut disk, 2_010 * MS), Finished::Settled);
    assert_eq!(disk.finish(&held_up, 2_010 * MS), Finished::Done);
    disk.mend(3_000 * MS);
    assert_eq!(disk.waits_until(&held_up), 3_000 * MS, "what waits is answered when the disk is mended");
}

#[test]
fn a_slow_drive_takes_its_models_time_so_many_times_and_needs_a_model() {
    let timed = || disk_of(0, SECTOR, timing(DiskTimingName::SataSsd, &[]), &[]);
    let took = |mut disk: Disk<Memory>| disk.begin_write(0, &[1; BLOCK], 0).unwrap().done_at;
    let plain = took(timed());
    let mut slow = timed();
    slow.add_fault("(slow 10)".parse().unwrap()).unwrap();
    assert_eq!(took(slow), plain * 10);
    let mut later = timed();
    later.add_fault("(delay 3ms)".parse().unwrap()).unwrap();
    assert_eq!(took(later), plain + 3 * MS);
    let refused = disk(100, &[]).add_fault("(slow 10)".parse().unwrap()).unwrap_err();
    assert!(refused.contains("without a timing"), "{refused}");
}
