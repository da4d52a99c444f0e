"""One list of what was looked at: no state twice, no matter who looks or what dies, and no more than the budget."""

from __future__ import annotations

import random
import struct
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acidtest.analysis.disk_log import FLUSH, MAGIC, RECORD, WRITE, read
from acidtest.journal.models import Explored, FailingState, RecoveryOutcome
from acidtest.powercut.acknowledgement_log import Acknowledgement
from acidtest.powercut.coverage import BATCH_MAX, BATCH_S, Asked, Budget, Exploration, batch_size
from acidtest.powercut.crash_states import DRAWN, State
from acidtest.powercut.recorded_load import FilesSeen, RecordedLoad, contents

SECTOR = 512
SURVIVED = RecoveryOutcome(verdict="survived", unannounced=False, damaged=False, found="as it was", checks={})
LOST = RecoveryOutcome(
    verdict="lost", unannounced=True, damaged=False, found="1 acknowledged commit missing", checks={}
)


def load_of(path: Path, writes: list[tuple[int, bytes] | None], before: dict[int, bytes] | None = None) -> RecordedLoad:
    """Sectors with their bytes, ``None``: a flush of all before it; a commit is acknowledged after each flush."""
    content = MAGIC + struct.pack("<QI", 1 << 20, SECTOR)
    content = content.ljust(64, b"\0")
    number = 0
    for sector, held in (before or {}).items():
        content += RECORD.pack(WRITE, len(held), sector * SECTOR, 0, number) + held
        number += 1
    start, acknowledged = number, []
    for write in writes:
        time_ns = 10 * (number + 1)
        if write is None:
            content += RECORD.pack(FLUSH, 0, number, time_ns, number)
            acknowledged.append(Acknowledgement(0, len(acknowledged) + 1, 0, len(acknowledged) + 1, 0, time_ns + 1))
        else:
            content += RECORD.pack(WRITE, len(write[1]), write[0] * SECTOR, time_ns, number) + write[1]
        number += 1
    path.write_bytes(content)
    _, records = read(path)
    return RecordedLoad(path, records, start, len(records), SECTOR, 0, acknowledged)


def some_load(path: Path, seed: int, count: int = 20) -> RecordedLoad:
    lot = random.Random(seed)
    writes: list[tuple[int, bytes] | None] = []
    for _ in range(count):
        sectors = lot.choice([1, 2, 8])
        writes.append((lot.randrange(40), b"".join(bytes([lot.randrange(4)]) * SECTOR for _ in range(sectors))))
        if lot.random() < 0.4:
            writes.append(None)
    return load_of(path, writes)


def line_of(asked: list[Asked], outcome: RecoveryOutcome = SURVIVED, elapsed_s: float = 0.0) -> Explored:
    states = [(one.image, one.demanded, 0, one.at_random) for one in asked]
    return Explored(
        cell="c#1",
        load="load",
        ended_at="",
        took_s=1.0,
        elapsed_s=elapsed_s,
        states=states,
        outcomes=[outcome],
        worst=None,
    )


def image(load: RecordedLoad, state: State) -> dict[int, bytes]:
    """What the sectors hold that are not empty."""
    disk: dict[int, bytes] = {}
    content = load.log.read_bytes()
    for number, record in enumerate(load.records[: state.to]):
        if record.is_flush or number in state.without:
            continue
        kept = dict(state.torn).get(number, range(record.length // SECTOR))
        for sector in kept:
            begins = record.ends - record.length + sector * SECTOR
            disk[record.at // SECTOR + sector] = content[begins : begins + SECTOR]
    return {sector: held for sector, held in disk.items() if held.strip(b"\0")}


EVENTS = st.lists(
    st.tuples(st.sampled_from(["ask", "ask", "answer", "die", "late", "restart"]), st.integers(1, 30)), max_size=60
)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1 << 20), st.integers(1, 120), EVENTS)
def test_whatever_dies_no_state_is_on_the_list_twice_and_the_budget_is_met(
    tmp_path_factory: pytest.TempPathFactory, seed: int, limit: int, events: list[tuple[str, int]]
) -> None:
    """Hosts take batches, lose them, bring them late, beside those who got them again; the client begins anew."""
    load = some_load(tmp_path_factory.mktemp("load") / "log", seed)
    journal: list[Explored] = []

    def begun() -> Exploration:
        one = Exploration(load, "load", seed, Budget(limit, None))
        for line in journal:
            one.take(line)
        return one

    def taken(exploration: Exploration, asked: list[Asked]) -> None:
        if (new := exploration.new(line_of(asked))) is not None:
            journal.append(new)
            exploration.take(new)

    exploration = begun()
    out: list[list[Asked]] = []
    late: list[list[Asked]] = []
    came_late = 0
    for event, size in events:
        match event:
            case "ask" if asked := exploration.batch(size, 0.0):
                assert sum(map(len, [*out, asked])) + exploration.looked_at <= limit + came_late
                out.append(asked)
            case "answer" if out:
                asked = out.pop(0)
                exploration.came_back(asked)
                taken(exploration, asked)
            case "die" if out:
                late.append(out.pop())
                exploration.give_back(late[-1])
            case "late" if late:
                came_late += len(late[-1])
                taken(exploration, late.pop())
            case "restart":
                exploration, out, late = begun(), [], [*late, *out]
    for asked in out:
        exploration.give_back(asked)
    while asked := exploration.batch(50, 0.0):
        exploration.came_back(asked)
        taken(exploration, asked)
    assert exploration.is_over(0.0)
    listed = [(state[0], state[1]) for line in journal for state in line.states]
    assert len(listed) == len(set(listed))
    whole = Exploration(load, "load", seed, Budget(None, None))
    possible = 0
    while possible < limit and (asked := whole.batch(limit, 0.0)):
        possible += len(asked)
    # Late answers of hosts that were taken for dead may come on top of what was asked for.
    assert len(listed) >= min(limit, possible)
    assert len(listed) <= limit + came_late
    assert begun().looked_at == len(listed) == begun().summary(1.0, None).looked_at


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1 << 20))
def test_states_have_an_image_in_common_exactly_when_the_disk_holds_the_same(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    load = some_load(tmp_path_factory.mktemp("load") / "log", seed, count=8)
    exploration = Exploration(load, "load", seed, Budget(200, None))
    asked = exploration.batch(200, 0.0)
    disks: dict[str, dict[int, bytes]] = {}
    for one in asked:
        assert disks.setdefault(one.image, image(load, one.state)) == image(load, one.state)
        assert one.demanded == len(load.acknowledged_before(one.state.to))
    assert len({tuple(sorted(disk.items())) for disk in disks.values()}) == len(disks)


def test_writing_what_is_there_already_makes_no_other_image(tmp_path: Path) -> None:
    a, b = b"a" * SECTOR, b"b" * SECTOR
    load = load_of(tmp_path / "log", [(3, a), None, (3, b), None, (3, a), None], before={3: a})
    of = contents(load).of
    whole = [of(State(load.start, to)) for to in range(load.start, load.end + 1)]
    assert whole[0] == whole[1] == whole[2] == whole[5] == whole[6] == 0
    assert whole[3] == whole[4] != 0
    assert contents(load).legal_log10([load.start]) == 0.0  # the same, whether written or not


def test_all_of_a_small_load_is_looked_at_and_counted(tmp_path: Path) -> None:
    """Two sectors at a time and a flush: four images at each of these moments, some of them in common."""
    load = load_of(
        tmp_path / "log", [write for n in range(6) for write in ((n, b"x" * SECTOR), (n + 20, b"y" * SECTOR), None)]
    )
    exploration = Exploration(load, "load", 1, Budget(None, None))
    seen = set()
    for size in (7, 700):
        assert not exploration.is_over(0.0)
        exploration.give_back(exploration.batch(size, 0.0))
    assert not exploration.is_over(0.0)  # all are drawn, and none was looked at
    while asked := exploration.batch(7, 0.0):
        exploration.came_back(asked)
        exploration.take(line_of(asked))
        seen |= {one.image for one in asked}
    assert exploration.is_over(0.0)
    summary = exploration.summary(2.0, None)
    assert summary.images == len(seen) == 1 + 6 * 3
    assert summary.legal_log10 is not None
    assert round(10**summary.legal_log10) == 6 * 4 + 1
    assert summary.outcomes == 1
    assert summary.per_s == summary.looked_at / 2


def test_what_was_exercised_is_counted_also_where_a_run_goes_on(tmp_path: Path) -> None:
    """A log and a database, each written once before each flush."""
    writes = [write for n in range(4) for write in ((n, b"x" * SECTOR), (n + 20, b"y" * SECTOR), None)]
    load = replace(load_of(tmp_path / "log", writes), kinds=["log", "database", ""] * 4)
    exploration = Exploration(load, "load", 1, Budget(5, None))
    asked = exploration.batch(5, 0.0)  # nothing that was not flushed, at the four moments, and all at one of them
    assert exploration.summary(1.0, None).exercised == {"database": (0, 4), "log": (0, 4)}
    exploration.came_back(asked)
    exploration.take(line_of(asked))
    half = exploration.summary(1.0, None).exercised
    assert half == {"database": (4, 4), "log": (4, 4)}
    again = Exploration(load, "load", 1, Budget(6, None))
    again.take(line_of(asked))
    assert again.summary(1.0, None).exercised is None
    again.came_back(again.batch(1, 0.0))
    assert again.summary(1.0, None).exercised == half


@pytest.mark.parametrize(
    ("record", "there"),
    [(3, None), (4, {"log": 5}), (6, {"log": 5}), (7, {"log": 5, "new": 1}), (99, {"log": 5, "new": 1})],
)
def test_files_that_were_there_before_and_after_a_moment_were_there(
    record: int, there: dict[str, int] | None, tmp_path: Path
) -> None:
    files = [FilesSeen(3, 4, {"log": 7, "gone": 1}), FilesSeen(6, 7, {"log": 5, "new": 1})]
    assert replace(some_load(tmp_path / "log", 1), files=files).files_at(record) == there


def test_a_checker_that_applies_to_some_states_of_an_outcome_is_in_its_checks(tmp_path: Path) -> None:
    exploration = Exploration(some_load(tmp_path / "log", 2), "load", 2, Budget(50, None))
    for checks in (
        {"engine-starts": "survived"},
        {"engine-starts": "survived", "check-notices-a-planted-loss": "unknown"},
    ):
        outcome = SURVIVED.model_copy(update={"checks": checks})
        exploration.take(line_of(exploration.batch(1, 0.0), outcome))
    assert exploration.checks() == {"engine-starts": "survived", "check-notices-a-planted-loss": "unknown"}


def test_a_budget_of_time_ends_what_is_handed_out_and_goes_on_where_it_was(tmp_path: Path) -> None:
    load = some_load(tmp_path / "log", 3, count=60)
    exploration = Exploration(load, "load", 3, Budget(None, 10.0))
    first = exploration.batch(5, 9.9)
    assert len(first) == 5
    assert exploration.batch(5, 10.0) == []
    assert not exploration.is_over(11.0)  # these five are still out
    exploration.came_back(first)
    exploration.take(line := line_of(first, elapsed_s=11.0))
    assert exploration.is_over(11.0)
    again = Exploration(load, "load", 3, Budget(None, 10.0))
    again.take(line)
    assert again.elapsed_s == 11.0
    assert again.is_over(again.elapsed_s)


def test_lines_of_another_load_do_not_count(tmp_path: Path) -> None:
    load = some_load(tmp_path / "log", 4)
    exploration = Exploration(load, "another", 4, Budget(50, None))
    line = line_of(Exploration(load, "load", 4, Budget(50, None)).batch(10, 0.0))
    exploration.take(line)
    assert exploration.looked_at == 0
    assert exploration.new(line) is None


def test_the_worst_is_the_unannounced_loss_that_departs_least(tmp_path: Path) -> None:
    load = some_load(tmp_path / "log", 5)
    exploration = Exploration(load, "load", 5, Budget(50, None))

    def failing(*without: int) -> FailingState:
        return FailingState(start=0, to=9, without=list(without), torn=[], of="", outcome=0, reasons=["x"])

    announced = LOST.model_copy(update={"unannounced": False})
    for worst, outcome in (
        (failing(1), announced),
        (failing(1, 2, 3), LOST),
        (failing(1, 2), LOST),
        (failing(), announced),
    ):
        line = line_of(exploration.batch(1, 0.0), outcome).model_copy(update={"worst": worst})
        exploration.take(line)
    assert exploration.worst is not None
    assert exploration.worst[0].without == [1, 2]
    assert exploration.count("lost") == 4


def test_the_worst_that_is_damaged_is_known_beside_a_shorter_one_that_is_not(tmp_path: Path) -> None:
    load = some_load(tmp_path / "log", 5)
    exploration = Exploration(load, "load", 5, Budget(50, None))
    lost = LOST.model_copy(update={"lost_all": True})
    damaged = LOST.model_copy(update={"damaged": True})

    def failing(*without: int) -> FailingState:
        return FailingState(start=0, to=9, without=list(without), torn=[], of="", outcome=0, reasons=["x"])

    for worst, worst_damaged, outcome in (
        (failing(), None, lost),
        (failing(1, 2, 3), failing(1, 2, 3), damaged),
        (failing(1, 2), failing(1, 2), damaged),
    ):
        line = line_of(exploration.batch(1, 0.0), outcome)
        exploration.take(line.model_copy(update={"worst": worst, "worst_damaged": worst_damaged}))
    assert exploration.worst is not None
    assert exploration.worst_damaged is not None
    assert (exploration.worst[0].without, exploration.worst_damaged[0].without) == ([], [1, 2])
    states = exploration.summary(1.0, "a.json", "b.json")
    assert (states.lost, states.damaged, states.lost_all, states.shortest_damaged) == (3, 2, 1, "b.json")


def test_survivors_of_which_nothing_was_demanded_are_counted(tmp_path: Path) -> None:
    load = some_load(tmp_path / "log", 4)
    exploration = Exploration(load, "load", 4, Budget(50, None))
    asked = exploration.batch(50, 0.0)
    exploration.take(line_of(asked))
    assert exploration.summary(1.0, None).survived_undemanded == sum(not one.demanded for one in asked) > 0


def test_only_draws_count_as_drawn(tmp_path: Path) -> None:
    load = some_load(tmp_path / "log", 6, count=30)
    exploration = Exploration(load, "load", 6, Budget(400, None))
    asked = exploration.batch(400, 0.0)
    exploration.take(line_of(asked))
    assert exploration.summary(1.0, None).drawn == sum(one.state.of == DRAWN for one in asked) > 0


def test_a_batch_takes_about_the_time_that_may_be_lost() -> None:
    assert batch_size(10, 10.0) == round(BATCH_S)
    assert batch_size(1, 60.0) == 1
    assert batch_size(1000, 0.001) == BATCH_MAX
    assert batch_size(0, 0.0) == 1
