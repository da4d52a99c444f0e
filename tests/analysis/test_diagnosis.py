"""What follows from the figures of a diagnosis: by examples, and what holds whatever the figures are."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acidtest.analysis.diagnosis import (
    APPEND_LIKELY,
    STANDINGS,
    Answer,
    Bottleneck,
    Figures,
    Name,
    Probed,
    Processor,
    Ran,
    Sizes,
    Storage,
    diagnose,
)
from acidtest.analysis.yardsticks import YARDSTICKS, contradiction, likeness, nearest

GB = 1 << 30
REFERENCE = "reference: 128 MiB cache"
EXT4 = Storage("ext4", ("rw", "relatime"), free_bytes=50 * GB, all_bytes=100 * GB, devices=("disk",))
PROBED = Probed(
    "flushes", [1000, 1010, 1020, 1030, 1040], [1100, 1110, 1120, 1130, 1140], [2100, 2110, 2120, 2130, 2140]
)


def ran(configuration: str, each_us: float, workload: str = "commits", level: str = "drive", flushes: float = 2) -> Ran:
    spread = (0.98, 0.99, 1.0, 1.01, 1.02)
    times = [each_us * one for one in spread]
    return Ran(workload, configuration, level, [1e6 / time for time in times], times, [flushes] * 5, [0.9] * 5)


WHOLE = Figures(
    sizes=Sizes(16 * GB, 1 * GB, 2 * GB),
    storage=EXT4,
    probed=PROBED,
    ran=(ran("found", 2500), ran(REFERENCE, 2500)),
    log=(),
    inside=(),
)


def of(answer: Answer, name: Name) -> Bottleneck:
    return next(bottleneck for bottleneck in answer.bottlenecks if bottleneck.name == name)


def test_nothing_is_known_of_nothing() -> None:
    answer = diagnose(Figures(Sizes(16 * GB), why={"the drive's flush": "No PLACE."}))
    assert {bottleneck.standing for bottleneck in answer.bottlenecks} == {"not looked at"}
    assert of(answer, "the drive's flush").says == "No PLACE."
    assert answer.headline == "Too little could be looked at for an answer."


def test_a_commit_that_waits_for_its_flushes() -> None:
    found = of(diagnose(WHOLE), "the drive's flush")
    assert found.standing == "likely"
    assert "0.82 times" in found.says
    assert any("490 times a second" in figure for figure in found.figures)


@pytest.mark.parametrize(
    ("each_us", "at_work", "standing"),
    [(2500, 0.9, "likely"), (2500, 0.05, "cannot tell"), (6000, 0.3, "cannot tell"), (50_000, 0.05, "unlikely")],
)
def test_the_share_of_flushes(each_us: float, at_work: float, standing: str) -> None:
    one = replace(ran("found", each_us), at_work=[at_work] * 5)
    assert of(diagnose(replace(WHOLE, ran=(one,))), "the drive's flush").standing == standing


def test_flushes_that_could_not_be_counted_are_a_lower_bound() -> None:
    slow = replace(ran("found", 50_000, flushes=0), at_work=())
    fast = replace(ran("found", 1500, flushes=0), at_work=())
    assert of(diagnose(replace(WHOLE, ran=(slow,))), "the drive's flush").standing == "cannot tell"
    assert of(diagnose(replace(WHOLE, ran=(fast,))), "the drive's flush").standing == "likely"


def test_commits_that_wait_for_nothing() -> None:
    found = of(diagnose(replace(WHOLE, ran=(ran("found", 20, level="os"),))), "the drive's flush")
    assert found.standing == "unlikely"
    assert "a power cut takes" in found.says


@pytest.mark.parametrize(("each_us", "then"), [(2_500, "likely is the bottleneck"), (50_000, "is unlikely to be")])
def test_commits_that_are_made_to_wait_are_held_against_those_that_do_not(each_us: float, then: str) -> None:
    durable = replace(ran("found-durable", each_us, flushes=2), at_work=[2500 / each_us * 0.9] * 5)
    quick = ran("found", 20, level="os")
    answer = diagnose(replace(WHOLE, ran=(quick, durable, ran(REFERENCE, 2500)), durably="With Forced Writes on"))
    found = of(answer, "the drive's flush")
    assert found.standing == "unlikely" and then in found.says
    rate = "400" if each_us == 2_500 else "20"
    text = f"With Forced Writes on the rate of commits is {rate} a second; as it was found it is 50,000, which is"
    assert text in found.says
    assert any("found-durable: flushes of the device for each commit: 2" in figure for figure in found.figures)
    (waited,) = answer.waited
    assert waited.ratio.median == pytest.approx(each_us / 20, rel=0.05) and waited.ratio.interval


def test_a_mean_far_above_the_median_is_told_beside_it() -> None:
    uneven = replace(ran("found", 25, level="os"), rates=[4_460] * 5)
    figures = of(diagnose(replace(WHOLE, ran=(uneven,))), "the drive's flush").figures
    assert "a commit, median: 25 µs (24.5 – 25.5)" in figures
    assert any("mean (of which the rate is): 224 µs, 9 times the median" in figure for figure in figures)
    even = of(diagnose(WHOLE), "the drive's flush").figures
    assert not any("mean" in one for one in even)


def test_what_cannot_be_told_is_told_with_its_row() -> None:
    few = replace(ran("found", 500), rates=[1, 2, 3])
    told = of(diagnose(replace(WHOLE, ran=(few, ran(REFERENCE, 250)))), "the configuration")
    assert "it cannot be told of commits, found." in told.says
    (row,) = [figure for figure in told.figures if "cannot tell" in figure]
    assert row.startswith("commits, found: ") and row.endswith(")") and "cannot tell (" in row


@pytest.mark.parametrize(
    ("storage", "standing", "word"),
    [
        (EXT4, "unlikely", "without an option"),
        (replace(EXT4, mount_options=("rw", "sync")), "likely", "mounted with sync"),
        (replace(EXT4, filesystem="nfs4"), "likely", "network"),
        (replace(EXT4, filesystem="overlay"), "possible", "another file system"),
        (replace(EXT4, filesystem="btrfs"), "possible", "elsewhere"),
        (replace(EXT4, filesystem="btrfs", mount_options=("nodatacow",)), "unlikely", "without an option"),
        (replace(EXT4, mount_options=("nobarrier",)), "cannot tell", "not safe"),
        (replace(EXT4, filesystem="tmpfs"), "cannot tell", "memory"),
        (replace(EXT4, free_bytes=2 * GB), "possible", "nearly full"),
        (replace(EXT4, free_bytes=2 * GB, all_bytes=None), "unlikely", "without an option"),
        (replace(EXT4, filesystem="nfs", free_bytes=GB), "likely", "nearly full"),
    ],
)
def test_the_file_system(storage: Storage, standing: str, word: str) -> None:
    found = of(diagnose(replace(WHOLE, storage=storage)), "the file system")
    assert (found.standing, word in found.says) == (standing, True)


def test_a_file_that_grows_may_cost_too_much() -> None:
    slow = replace(PROBED, append_us=[one * 6 for one in PROBED.overwrite_us])
    unsure = replace(PROBED, append_us=[1000, 2000, 4000, 8000, 16_000])
    assert of(diagnose(replace(WHOLE, probed=slow)), "the file system").standing == "likely"
    assert of(diagnose(replace(WHOLE, probed=unsure)), "the file system").standing == "cannot tell"
    assert of(diagnose(replace(WHOLE, probed=None)), "the file system").standing == "cannot tell"
    assert APPEND_LIKELY > 3


@pytest.mark.parametrize(
    ("sizes", "standing"),
    [
        (Sizes(16 * GB, None, GB), "not looked at"),
        (Sizes(16 * GB, 32 * GB, GB), "possible"),
        (Sizes(16 * GB, GB, None), "cannot tell"),
        (Sizes(16 * GB, 8 * GB, GB // 4), "possible"),
        (Sizes(16 * GB, 8 * GB, 2 * GB), "unlikely"),
        (Sizes(16 * GB, GB, 2 * GB), "unlikely"),
    ],
)
def test_memory(sizes: Sizes, standing: str) -> None:
    assert of(diagnose(replace(WHOLE, sizes=sizes)), "memory and cache").standing == standing


@pytest.mark.parametrize(
    ("found", "standing"),
    [
        ((ran("found", 500),), "likely"),
        ((ran("found", 280),), "possible"),
        ((ran("found", 250),), "unlikely"),
        ((ran("found", 100),), "unlikely"),
        ((ran("found", 20, level="os"),), "cannot tell"),
        ((ran("found", 20, level="os"), ran("found-durable", 500)), "likely"),
        ((ran("found", 20, level="os"), ran("found-durable", 250)), "unlikely"),
        ((replace(ran("found", 500), rates=[1, 2, 3]),), "cannot tell"),
        ((), "not looked at"),
    ],
)
def test_the_configuration(found: tuple[Ran, ...], standing: str) -> None:
    answer = diagnose(replace(WHOLE, ran=(*found, ran(REFERENCE, 250))))
    told = of(answer, "the configuration")
    assert told.standing == standing
    if standing == "unlikely":  # what no run has shown names what would have been
        assert "% lower would probably have been noticed" in told.says
    if any("no difference shown" in figure for figure in told.figures):
        assert all(
            "would probably have been noticed" in figure for figure in told.figures if "no difference shown" in figure
        )


def test_what_the_log_and_the_database_say_is_possible() -> None:
    answer = diagnose(replace(WHOLE, log=("checkpoints-frequent, 3 times",), inside=("an old transaction",)))
    assert of(answer, "the engine's log").figures == ("checkpoints-frequent, 3 times",)
    assert {of(answer, "the engine's log").standing, of(answer, "the database inside").standing} == {"possible"}
    assert answer.headline == "Likely: the drive's flush."


times = st.lists(st.floats(1, 1e6), max_size=7)
runs = st.builds(
    lambda workload, configuration, level, each, flushes, at_work: Ran(
        workload,
        configuration,
        level,
        [1e6 / one for one in each],
        each,
        [flushes] * len(each) if flushes is not None else (),
        [at_work] * len(each) if at_work is not None else (),
    ),
    st.sampled_from(("commits", "tpcb")),
    st.sampled_from(("found", "defaults", "found-durable", REFERENCE)),
    st.sampled_from(("none", "os", "drive")),
    times,
    st.none() | st.floats(0, 20),
    st.none() | st.floats(0, 1),
)
storages = st.builds(
    Storage,
    st.sampled_from(("ext4", "xfs", "btrfs", "zfs", "nfs", "overlay", "tmpfs", "unknown", "")),
    st.lists(st.sampled_from(("rw", "sync", "nobarrier", "nodatacow", "")), max_size=4).map(tuple),
    st.integers(0, 10 * GB),
    st.none() | st.integers(10 * GB, 20 * GB),
    st.lists(st.sampled_from(("partition", "mapped", "array", "loop", "disk")), max_size=4).map(tuple),
)
figures = st.builds(
    Figures,
    st.builds(Sizes, st.integers(1, 1 << 40), st.none() | st.integers(0, 1 << 50), st.none() | st.integers(0, 1 << 50)),
    st.none() | storages,
    st.none() | st.builds(Probed, st.sampled_from(("flushes", "cannot tell", "does not flush")), times, times, times),
    st.lists(runs, max_size=6, unique_by=lambda one: (one.workload, one.configuration)),
    st.none() | st.lists(st.text(max_size=5), max_size=2),
    st.none() | st.lists(st.text(max_size=5), max_size=2),
)


@settings(max_examples=60, deadline=None)
@given(figures)
def test_every_bottleneck_has_its_standing_once(some: Figures) -> None:
    answer = diagnose(some)
    assert sorted(bottleneck.name for bottleneck in answer.bottlenecks) == sorted(get_args(Name))
    places = [STANDINGS.index(bottleneck.standing) for bottleneck in answer.bottlenecks]
    assert all(one <= other for one, other in pairwise(places))
    assert all(bottleneck.says for bottleneck in answer.bottlenecks)
    assert answer.headline.endswith(".")


@settings(max_examples=60, deadline=None)
@given(figures)
def test_what_decides_has_a_threshold_and_a_source(some: Figures) -> None:
    listed = {"the engine's log", "the database inside"}
    for bottleneck in diagnose(some).bottlenecks:
        if bottleneck.standing in ("likely", "unlikely") and bottleneck.name not in listed:
            assert bottleneck.threshold
            assert bottleneck.source


@settings(max_examples=60, deadline=None)
@given(figures)
def test_what_is_missing_is_never_taken_for_good(some: Figures) -> None:
    bare = replace(
        some,
        storage=None,
        probed=None,
        ran=(),
        log=None,
        inside=None,
        processor=None,
        sizes=replace(some.sizes, database=None),
    )
    assert {bottleneck.standing for bottleneck in diagnose(bare).bottlenecks} == {"not looked at"}
    without = diagnose(replace(some, probed=None))
    assert of(without, "the drive's flush").standing == "not looked at"


@settings(max_examples=60, deadline=None)
@given(figures)
def test_too_few_repetitions_decide_nothing(some: Figures) -> None:
    few = replace(
        some,
        ran=[
            Ran(
                one.workload,
                one.configuration,
                "drive",
                one.rates[:4],
                one.commit_us[:4],
                one.flushes[:4],
                one.at_work[:4],
            )
            for one in some.ran
        ],
    )
    answer = diagnose(few)
    assert of(answer, "the drive's flush").standing in ("cannot tell", "not looked at")
    assert of(answer, "the configuration").standing in ("cannot tell", "not looked at")


@settings(max_examples=30, deadline=None)
@given(figures, st.sampled_from((0.25, 4.0)))
def test_a_machine_that_is_slower_in_everything_has_the_same_answer_but_of_its_drive(
    some: Figures, factor: float
) -> None:
    def slower(values: object) -> list[float]:
        return [value * factor for value in values]  # type: ignore[attr-defined]

    probed = some.probed and Probed(
        some.probed.verdict, *map(slower, (some.probed.flush_us, some.probed.overwrite_us, some.probed.append_us))
    )
    all_slower = replace(
        some,
        probed=probed,
        ran=[replace(one, rates=[r / factor for r in one.rates], commit_us=slower(one.commit_us)) for one in some.ran],
    )
    before, after = diagnose(some), diagnose(all_slower)
    standings = [
        {bottleneck.name: bottleneck.standing for bottleneck in answer.bottlenecks} for answer in (before, after)
    ]
    flush = {standing.pop("the drive's flush") for standing in standings}
    assert standings[0] == standings[1]
    assert len(flush) == 1 or flush == {"likely", "unlikely"}  # a drive is held against others, by its time of a flush


@pytest.mark.parametrize(
    ("flush_us", "standing", "said"),
    [
        (40, "unlikely", "as fast as an SSD with power-loss protection"),
        (150, "unlikely", "not the reason"),
        (900, "likely", "as slow as a network volume"),
        (2_000, "likely", "as slow as an SSD without power-loss protection"),
        (8_400, "likely", "as slow as a 7,200 RPM disk"),
        (60_000, "likely", "slower than a 7,200 RPM disk"),
    ],
)
def test_a_flush_is_held_against_other_drives(flush_us: float, standing: str, said: str) -> None:
    spread = [flush_us * one for one in (0.98, 0.99, 1.0, 1.01, 1.02)]
    probed = Probed("flushes", spread, [1.1 * one for one in spread], [2.1 * one for one in spread])
    found = of(diagnose(replace(WHOLE, probed=probed, ran=(ran("found", 2.5 * flush_us),))), "the drive's flush")
    assert (found.standing, said in found.says) == (standing, True)
    assert nearest(flush_us).source in found.source


@pytest.mark.parametrize(
    ("rotational", "flush_us", "contradicts"),
    [("yes", 90, True), ("yes", 3_900, True), ("yes", 8_400, False), ("no", 8_400, True), ("no", 90, False), ("", 90, False)],
)  # fmt: skip
def test_what_a_device_reports_is_held_against_its_flushes(rotational: str, flush_us: float, contradicts: bool) -> None:
    assert bool(contradiction(rotational, flush_us)) == contradicts
    probed = replace(PROBED, flush_us=[flush_us] * 5)
    storage = replace(EXT4, rotational=rotational)
    told = of(diagnose(replace(WHOLE, probed=probed, storage=storage)), "the drive's flush").figures
    assert any(one.startswith("the device: it reports") for one in told) == contradicts


@given(st.floats(1, 1e7))
def test_every_time_is_like_that_of_some_storage(flush_us: float) -> None:
    one = nearest(flush_us)
    assert one in YARDSTICKS and one.kind in likeness(flush_us)
    if one.low_us <= flush_us <= one.high_us:
        assert likeness(flush_us).startswith("as ")


def test_what_puts_data_at_risk_is_said_first() -> None:
    risk = "Forced writes are off."
    assert diagnose(replace(WHOLE, severe=(risk,))).headline == f"Severe: {risk} Likely: the drive's flush."


@pytest.mark.parametrize(("stolen", "standing"), [(0.0, "cannot tell"), (0.04, "cannot tell"), (0.3, "possible")])
def test_what_the_host_takes_of_the_processors(stolen: float, standing: str) -> None:
    found = of(diagnose(replace(WHOLE, processor=Processor(60.0, stolen))), "the processor")
    assert found.standing == standing and any("60 MB a second" in figure for figure in found.figures)


@pytest.mark.parametrize(("database", "said"), [(30_000_000, "is larger than the cache"), (200_000, "was not tried")])
def test_cells_whose_database_fits_into_the_cache_say_nothing_of_its_size(database: int, said: str) -> None:
    runs = tuple(replace(one, database=database) for one in (ran("found", 2500), ran(REFERENCE, 2500)))
    sizes = Sizes(16 * GB, GB, 300_000, cell_cache=300_000)
    assert said in of(diagnose(replace(WHOLE, sizes=sizes, ran=runs)), "the configuration").says
