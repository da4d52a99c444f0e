"""Plans: which cells, in which order."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidtest import plan
from acidtest.errors import BadInput
from acidtest.experiment import parse
from acidtest.plan.estimate import ASSUMED_BOOT_S, ASSUMED_MACHINE_S

TEXT = """
name = "t"
repetitions = 3
seed = {seed}
[factors]
workload = ["commits", "tpcb"]
engine = ["sqlite", "firebird-5.0"]
durability = ["os", "drive"]
"firebird.page_buffers" = [100, 200]
scale = [1, 2]
[[exclude]]
engine = "sqlite"
durability = "os"
[workload.commits]
count = 10
[workload.tpcb]
duration_s = 1
"""


def make(seed: int = 1, text: str = TEXT) -> plan.Plan:
    return plan.make(parse(text.replace("{seed}", str(seed)), "t.toml"))


def test_factors_that_do_not_apply_collapse() -> None:
    names = [cell.combination for cell in make().combinations()]
    assert names == [
        "commits/sqlite/drive/–/–",
        "commits/firebird-5.0/os/100/–",
        "commits/firebird-5.0/os/200/–",
        "commits/firebird-5.0/drive/100/–",
        "commits/firebird-5.0/drive/200/–",
        "tpcb/sqlite/drive/–/1",
        "tpcb/sqlite/drive/–/2",
        "tpcb/firebird-5.0/os/100/1",
        "tpcb/firebird-5.0/os/100/2",
        "tpcb/firebird-5.0/os/200/1",
        "tpcb/firebird-5.0/os/200/2",
        "tpcb/firebird-5.0/drive/100/1",
        "tpcb/firebird-5.0/drive/100/2",
        "tpcb/firebird-5.0/drive/200/1",
        "tpcb/firebird-5.0/drive/200/2",
    ]


def test_levels_reach_workload_and_settings() -> None:
    cell = next(c for c in make().cells if c.combination == "tpcb/firebird-5.0/drive/200/2")
    assert (cell.workload.scale, cell.settings) == (2, {"page_buffers": 200})


PLACES = """
name = "t"
engine = "sqlite"
durability = "drive"
repetitions = 1
[workload.commits]
count = 10
[factors]
where = [
  { name = "here", set = { "place.kind" = "directory" } },
  { name = "raw", set = { "place.kind" = "raw" } },
  { name = "xfs", set = { "place.kind" = "loop", "place.filesystem" = "xfs" } },
]
"place.mount" = ["defaults", "noatime"]
"place.scheduler" = ["none", "bfq"]
"""


def test_what_means_nothing_to_a_kind_of_place_collapses() -> None:
    planned = make(text=PLACES).combinations()
    assert [cell.combination.removeprefix("commits/sqlite/drive/") for cell in planned] == [
        "here/–/–",
        "raw/–/none",
        "raw/–/bfq",
        "xfs/defaults/none",
        "xfs/defaults/bfq",
        "xfs/noatime/none",
        "xfs/noatime/bfq",
    ]
    last = planned[-1].place
    assert (last.kind, last.filesystem, last.mount, last.scheduler) == ("loop", "xfs", "noatime", "bfq")


@given(st.integers(0, 2**53))
def test_repetitions_are_interleaved_and_complete(seed: int) -> None:
    cells = make(seed).cells
    assert Counter(c.id for c in cells) == Counter({c.id: 1 for c in cells})
    per_round = len(cells) // 3
    for number in range(3):
        block = cells[number * per_round : (number + 1) * per_round]
        assert {c.repetition for c in block} == {number + 1}
        assert len({c.seed for c in block}) == 1
    assert len({c.seed for c in cells}) == len({c.repetition for c in cells})
    assert [c.order for c in cells] == list(range(1, len(cells) + 1))


def test_same_seed_same_order_other_seed_another() -> None:
    assert [c.id for c in make(1).cells] == [c.id for c in make(1).cells]
    assert [c.id for c in make(1).cells] != [c.id for c in make(2).cells]


def test_nothing_left_is_refused() -> None:
    with pytest.raises(BadInput, match="no cell is left"):
        make(text=TEXT + '[[exclude]]\ndurability = ["os", "drive"]\n'.replace("[workload", "[workload"))


def test_time_left_learns_from_what_was_seen() -> None:
    cells = [c for c in make().cells if c.repetition < 3]
    counted = [c for c in cells if c.workload.duration_s is None]
    unseen = plan.time_left(counted, [])
    assumed = plan.cell_seconds(counted[0])
    assert plan.time_left(counted, [(counted[0], assumed * 2)]) == pytest.approx(unseen * 2)
    assert plan.time_left([], [(cells[0], 1.0)]) == 0


def test_a_whole_machine_boots_once_a_combination_and_takes_its_time_for_each_cut() -> None:
    text = """
    name = "machines"
    engine = "sqlite"
    durability = "drive"
    repetitions = 3
    [place]
    kind = "{}"
    filesystem = "ext4"
    [factors]
    "place.disk_cache_mb" = [0, 32]
    [workload.numbered]
    count = 60
    """
    machines, disks = (make(text=text.format(kind)).cells for kind in ("machine", "disk"))
    more = plan.time_left(machines, []) - plan.time_left(disks, [])
    assert more == pytest.approx(2 * ASSUMED_BOOT_S + 6 * ASSUMED_MACHINE_S)
    first, *others = sorted(machines, key=lambda cell: cell.combination)
    seen = [(first, ASSUMED_BOOT_S + 12.0)]
    again = [cell for cell in others if cell.combination == first.combination]
    assert plan.time_left(again, seen) == pytest.approx(2 * (ASSUMED_BOOT_S + 12.0))  # no boot on top of what was seen


def test_what_comes_on_top_of_a_set_duration_is_learned_from_other_cells() -> None:
    text = """
    name = "durations"
    engine = "sqlite"
    durability = "drive"
    repetitions = 1
    [factors]
    duration_s = [1, 100]
    [workload.tpcb]
    duration_s = 1
    """
    cells = make(text=text).cells
    short, long = sorted(cells, key=plan.cell_seconds)
    took = plan.cell_seconds(short) + 20
    assert plan.time_left([long], [(short, took)]) == pytest.approx(plan.cell_seconds(long) + 20)
    assert plan.time_left([short, long], [(short, took)]) == pytest.approx(took + plan.cell_seconds(long) + 20)
    assert plan.time_left([long], [(short, 0.1)]) >= 100


def test_crash_states_take_the_time_that_is_given_to_them() -> None:
    text = """
    name = "states"
    repetitions = 1
    engine = "sqlite"
    durability = "drive"
    [workload.numbered]
    count = 20
    [place]
    kind = "disk"
    filesystem = "ext4"
    disk_failure = "crash-states"
    """
    (timed,) = plan.make(parse(f"{text}disk_states_s = 600\n", "t.toml")).cells
    assert 600 <= plan.cell_seconds(timed) < 620
    (both,) = plan.make(parse(f"{text}disk_states_s = 600\ndisk_states = 10\n", "t.toml")).cells
    assert plan.cell_seconds(both) < 60
    (usual,) = plan.make(parse(text, "t.toml")).cells
    assert plan.cell_seconds(both) < plan.cell_seconds(usual) < 60
