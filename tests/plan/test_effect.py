"""What would be without effect is refused, with the file, the key and what to do; all of it at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from acidtest import conductor, plan
from acidtest.errors import BadInput
from acidtest.experiment import Experiment, parse

HEAD = """
name = "t"
repetitions = 1
durability = "drive"
"""
SQLITE = HEAD + 'engine = "sqlite"\n'
FIREBIRD = HEAD + 'engine = "firebird-5.0"\n'
COMMITS = "[workload.commits]\ncount = 5\n"
TPCB = "[workload.tpcb]\ncount = 5\n"
DISK = '[place]\nkind = "disk"\nfilesystem = "ext4"\n'
SERVER = '[servers.mine]\nurl = "postgresql://me@db/test"\n'
NUMBERED = "[workload.numbered]\ncount = 20\n"


def read(text: str, *, quick: bool = False) -> Experiment:
    return parse(text, "t.toml", quick=quick)


def planned(text: str, *, cuts: bool | None = None, quick: bool = False) -> plan.Plan:
    """As ``acidtest plan``, ``run`` and ``powercut`` plan and verify it."""
    asked = read(text, quick=quick)
    asked = asked if cuts is None else asked.to_cut() if cuts else asked.to_run()
    made = conductor.plan_of(asked, cuts=cuts)
    conductor.verify(made, Path("t.toml"))
    return made


def refused(text: str, *, cuts: bool | None = None, quick: bool = False) -> str:
    """What is said and what is to be done, on alternating lines."""
    with pytest.raises(BadInput) as caught:
        planned(text, cuts=cuts, quick=quick)
    return f"{caught.value.message}\n  {caught.value.remedy}"


@pytest.mark.parametrize(
    ("text", "said", "remedy"),
    [
        (SQLITE + TPCB + "warehouses = 50\n",
         "t.toml: workload.tpcb: warehouses is a key of tpcc, and this workload is tpcb", 'leave it out, or write kind = "tpcc"'),
        (SQLITE + COMMITS + '[place]\nfilesystem = "xfs"\nmount = "sync"\n',
         "t.toml: place.filesystem, place.mount: without effect: this needs a place of kind loop, device, guest, disk or "
         "machine, and every place here is of kind directory", 'write kind = "loop" in [place], or leave it out'),
        (SQLITE + COMMITS + '[place]\nscheduler = "bfq"\n',
         "t.toml: place.scheduler: without effect: this needs a place of kind loop, device, raw, guest, disk or machine",
         'write kind = "loop" in [place], or leave it out'),
        (SQLITE + COMMITS + '[place]\nkind = "loop"\nfilesystem = "ext4"\ndisk_cache_mb = 0\n',
         "t.toml: place.disk_cache_mb: without effect: this needs a place of kind disk or machine, and every place here is of kind loop",
         'write kind = "disk" in [place]'),
        (SQLITE + COMMITS + '[place]\nkind = "guest"\nfilesystem = "ext4"\nmemory_mb = 64\n',
         "t.toml: place.memory_mb: without effect: a control group of this machine does not hold an engine in a guest",
         "write guest_memory_mb, or leave it out"),
        (SQLITE.replace("sqlite", "firebird-5.0") + COMMITS + '[place]\nkind = "guest"\nfilesystem = "raw"\nmount = "sync"\n',
         't.toml: place.mount: without effect: this needs filesystem other than "raw"', "change that, or leave it out"),
        (SQLITE + COMMITS + '[place]\nkind = "loop"\nfilesystem = "ext4"\njournal_path = "/x"\n',
         't.toml: place.journal_path: without effect: this needs journal = "external"', "change that, or leave it out"),
        (SQLITE + COMMITS + '[place]\nkind = "loop"\nfilesystem = "ext4"\nstripe_disks = 2\n',
         "t.toml: place.stripe_disks: without effect: this needs stripe_kb", "change that, or leave it out"),
        (SQLITE.replace("sqlite", "firebird-5.0") + COMMITS + '[place]\nkind = "raw"\ndevice = "/dev/sdX"\nsize_mb = 64\n',
         "t.toml: place.size_mb: without effect: this needs a place without device", ""),
        (SQLITE + COMMITS + DISK + 'disk_parameters = "rpm=5400"\n',
         't.toml: place.disk_parameters: without effect: this needs disk other than "none"', ""),
        (SQLITE + COMMITS + DISK + "disk_states = 5\n", 't.toml: place.disk_states: acts at a power cut only', ""),
        (SQLITE + COMMITS + "[settings.firebird]\npage_size = 8192\n",
         "t.toml: settings.firebird.page_size: without effect: no engine here is of the family firebird: sqlite",
         "add an engine of firebird, or leave it out"),
        (SQLITE + COMMITS + SERVER, "t.toml: servers.mine: no level of engine names it", 'add "mine" to engine'),
        (HEAD + 'engine = "mine"\n' + SERVER + COMMITS + '[place]\nkind = "loop"\nfilesystem = "ext4"\n',
         "t.toml: place.filesystem, place.kind: a server by URL keeps its databases where it has them", ""),
        (SQLITE + COMMITS + TPCB + '[factors]\nworkload = ["commits"]\n',
         "t.toml: workload.tpcb: no level of factors.workload names it", 'add "tpcb" there, or leave the table out'),
        (SQLITE + COMMITS + "threads = 2\n", "t.toml: workload.commits.threads: without effect: an embedded engine has a thread for each terminal",
         "leave it out, or name an engine that is a server"),
        (SQLITE + COMMITS + 'arrivals = "fixed"\n', "t.toml: workload.commits.arrivals: without effect: arrivals are of an open loop",
         "add rate_per_s to the workload's table, or leave it out"),
        (SQLITE + COMMITS + "terminals = 3\n[factors]\nterminals = [1, 2]\n",
         "t.toml: workload.commits.terminals: factors.terminals sets it in every cell", "leave one of them out"),
        (SQLITE + COMMITS + "[factors]\nscale = [1, 2]\n",
         "t.toml: factors.scale: without effect: scale is a key of tpcb and maintenance, and the workload here is commits",
         "add a table [workload.tpcb], or leave it out"),
        (SQLITE + COMMITS + '[factors]\n"firebird.page_size" = [4096, 8192]\n',
         "t.toml: factors.firebird.page_size: without effect: no engine here is of the family firebird: sqlite", ""),
        (SQLITE + COMMITS + '[factors]\n"place.mount" = ["defaults", "noatime"]\n', "t.toml: factors.place.mount: without effect", ""),
        (SQLITE + COMMITS + '[factors]\nwhere = [{ name = "here", set = { "place.kind" = "directory", "place.filesystem" = "xfs" } }, '
         '{ name = "loop", set = { "place.kind" = "loop", "place.filesystem" = "xfs" } }]\n',
         't.toml: factors.where, level "here": place.filesystem: without effect', ""),
        (SQLITE + COMMITS + '[factors]\nvariant = [{ name = "a", set = { "sqlite.cache_size_kb" = 99 } }, '
         '{ name = "b", set = { "mysql.log_bin" = true } }]\n', 't.toml: factors.variant, level "b": mysql.log_bin: without effect', ""),
        (SQLITE + COMMITS + "[factors]\nterminals = [1, 2]\n[[exclude]]\nworkload = 'commits'\nterminals = 2\n[base]\nterminals = 2\n",
         't.toml: base.terminals: no cell has the level "2", so nothing can be read against it', "name another level"),
        (SQLITE + COMMITS + TPCB + "[factors]\nscale = [1, 2]\n[[exclude]]\nworkload = 'commits'\nscale = 2\n",
         "t.toml: exclude 1: matches no combination", "correct its levels, or leave it out"),
        (FIREBIRD + "[workload.maintenance]\npage_size = 8192\n",
         't.toml: workload.maintenance.page_size: without effect: this needs operation = "restore"', "change that, or leave it out"),
        (FIREBIRD + "[workload.maintenance]\n[factors]\noperation = ['backup', 'sweep']\nlevel = [0, 1]\n",
         't.toml: factors.level: without effect: this needs operation = "incremental_backup"', "change that, or leave it out"),
    ],
)  # fmt: skip
def test_what_reaches_no_cell_is_refused_with_the_key_and_the_remedy(text: str, said: str, remedy: str) -> None:
    for cuts in (None, False):
        if cuts is None and "power cut" in said:
            continue  # acidtest plan shows what either of the two commands would do
        lines = refused(text, cuts=cuts).splitlines()
        assert len(lines) == 2
        assert lines[0].startswith(said)
        assert lines[1].startswith(f"  {remedy}")
        assert lines[1].strip()


def test_everything_is_said_at_once() -> None:
    text = (
        SQLITE
        + '[place]\nmount = "sync"\n[workload.tpcb]\ncount = 1\narrivals = "fixed"\n[settings.mysql]\nlog_bin = true\n'
    )
    assert [line for line in refused(text).splitlines() if not line.startswith("  ")] == [
        "t.toml: place.mount: without effect: this needs a place of kind loop, device, guest, disk or machine, and every place here is of kind "
        "directory",
        "t.toml: settings.mysql.log_bin: without effect: no engine here is of the family mysql: sqlite",
        "t.toml: workload.tpcb.arrivals: without effect: arrivals are of an open loop",
        "3 errors",
    ]  # fmt: skip
    broken = (
        SQLITE
        + "[place]\nknid = 1\n[workload.tpcb]\nwarehouses = 1\ncuont = 2\n[workload.commits]\nscale = 3\n[factors]\nfoo = [1]\n"
    )
    found = refused(broken)
    assert [word for word in ("knid", "warehouses", "cuont", "scale", "foo") if word not in found] == []
    assert found.count("t.toml: ") == 6  # the last: [workload.commits] has no count
    values = (
        SQLITE
        + "[workload.tpcb]\nterminals = 0\nscale = 0\ncount = 1\n[workload.commits]\ncount = 0\nduration_s = -1\n"
    )
    assert refused(values).count("t.toml: workload.") == 3


def test_a_level_that_reaches_some_cells_only_is_a_dash_elsewhere() -> None:
    text = SQLITE.replace('engine = "sqlite"\n', "") + COMMITS + (
        '[factors]\nengine = ["sqlite", "firebird-3.0-server"]\nthreads = [1, 2]\n"firebird.page_size" = [4096, 8192]\n'
    )  # fmt: skip
    made = planned(text).combinations()
    assert [cell.combination for cell in made if cell.engine == "sqlite"] == ["commits/sqlite/drive/–/–"]
    assert len(made) == 5
    assert {cell.workload.threads for cell in made} == {None, 1, 2}


def test_row_bytes_vary_numbered_transactions() -> None:
    made = planned(SQLITE + NUMBERED + "[factors]\nrow_bytes = [10, 2000]\n").combinations()
    assert [(cell.levels["row_bytes"], cell.workload.message().row_bytes) for cell in made] == [
        ("10", 10),
        ("2000", 2000),
    ]


DRIVES = """
[factors]
drive = [
  { name = "tearing", set = { "place.disk_keeps" = "torn" } },
  { name = "torn by a fault", set = { "place.disk_faults" = "tear every 3rd" } },
  { name = "honest", set = { "place.disk_faults" = "" } },
  { name = "lying", set = { "place.disk_faults" = "lie-about-flush,  tear" } },
]
"""


def test_what_acts_at_a_cut_only_is_refused_by_a_run_of_nothing_else() -> None:
    found = refused(SQLITE + NUMBERED + DISK + DRIVES, cuts=False)
    assert 't.toml: factors.drive, level "tearing": place.disk_keeps' in found
    assert 'level "torn by a fault": place.disk_faults: acts at a power cut only, and acidtest run makes none' in found
    assert found.endswith("  acidtest powercut t.toml, or leave it out")
    for key in ('disk_keeps = "torn"', 'disk_failure = "failed-flush"', 'disk_faults = "tear"'):
        assert f"place.{key.split()[0]}: acts at a power cut only" in refused(
            SQLITE + NUMBERED + DISK + key, cuts=False
        )
        assert planned(SQLITE + NUMBERED + DISK + key, cuts=True)
        assert planned(SQLITE + NUMBERED + DISK + key)
    cut = planned(SQLITE + NUMBERED + DISK + DRIVES, cuts=True)
    assert [cell.levels["drive"] for cell in cut.combinations()] == ["tearing", "torn by a fault", "honest", "lying"]
    assert cut.combinations()[3].place.disk_faults == "lie-about-flush,  tear"


def test_a_run_beside_power_cuts_folds_what_differs_at_a_cut_only() -> None:
    text = SQLITE + NUMBERED + COMMITS + DISK + 'disk_failure = "failed-flush"\n' + DRIVES
    run = planned(text, cuts=False)
    assert [(cell.workload_name, cell.levels["drive"]) for cell in run.combinations()] == [("commits", "honest"), ("commits", "lying")]  # fmt: skip
    assert {(cell.place.disk_failure, cell.place.disk_keeps) for cell in run.cells} == {("cut", "none")}
    assert [cell.place.disk_faults for cell in run.combinations()] == ["", "lie-about-flush"]
    cut = planned(text, cuts=True)
    assert len(cut.combinations()) == 4
    assert {cell.place.disk_failure for cell in cut.cells} == {"failed-flush"}
    assert len(planned(text).combinations()) == 6


def test_what_power_cuts_do_not_look_after_is_refused_there() -> None:
    for key in ("memory_mb = 64", 'start = "cold"', 'access = "random"'):
        named = key.split()[0]
        assert f"place.{named}: without effect where power is cut" in refused(SQLITE + NUMBERED + DISK + key, cuts=True)
        assert planned(SQLITE + NUMBERED + DISK + key, cuts=False)
        assert planned(SQLITE + NUMBERED + COMMITS + DISK + key, cuts=True).cells[0].place.memory_mb is None
    assert "workload.numbered.observe: without effect where power is cut" in refused(SQLITE + NUMBERED + "observe = true\n" + DISK, cuts=True)  # fmt: skip
    timed = SQLITE + DISK + 'disk_failure = "crash-states"\ndisk_states = 9\n[workload.numbered]\nduration_s = 3\n'
    assert "workload.numbered.duration_s: without effect: crash states are those of a load of so many commits" in refused(timed, cuts=True)  # fmt: skip
    states = SQLITE + NUMBERED + DISK + 'disk_failure = "crash-states"\n'
    assert 'place.disk_keeps: without effect: this needs disk_failure other than "crash-states"' in refused(states + 'disk_keeps = "torn"\n', cuts=True)  # fmt: skip
    grows = HEAD + 'engine = "sqlite"\n' + DISK + "[growth]\nsizes = ['1 GB']\n[workload.tpcc]\ncount = 3\n"
    assert "growth.sizes: power cuts are not for databases that grow" in refused(grows, cuts=True)
    assert planned(grows, cuts=False)


def test_the_small_size_answers_for_its_own_keys_only() -> None:
    text = (
        HEAD
        + """
[factors]
engine = ["sqlite", "firebird-5.0"]
[settings.firebird]
page_size = 8192
[workload.commits]
count = 5
[quick.factors]
engine = ["sqlite"]
"""
    )
    assert planned(text)
    assert {cell.engine for cell in planned(text, quick=True).cells} == {"sqlite"}
    more = text + "[quick.settings.firebird]\npage_buffers = 99\n"
    assert "settings.firebird.page_buffers: without effect" in refused(more, quick=True)
    assert planned(more)


def test_a_recorded_experiment_answers_for_nothing() -> None:
    """One that an earlier version accepted is planned as it was."""
    asked = read(SQLITE + COMMITS + DISK)
    assert asked.given
    dumped = asked.model_dump(mode="json")
    dumped["place"]["kind"] = "directory"
    again = Experiment.recorded(dumped)
    assert again.given == frozenset()
    conductor.verify(conductor.plan_of(again), Path("t.toml"))
    assert {"given", "whole"}.isdisjoint(dumped)


def test_a_cell_carries_nothing_that_does_not_act_in_it() -> None:
    text = HEAD + SERVER + COMMITS + 'threads = 2\n[place]\nfilesystem = "ext4"\nmount = "noatime"\nscheduler = "bfq"\n' + (
        '[factors]\nengine = ["sqlite", "mine"]\n"place.kind" = ["directory", "raw", "loop"]\n[[exclude]]\nengine = "sqlite"\n'
        '"place.kind" = "raw"\n'
    )  # fmt: skip
    made = {(cell.engine, cell.levels["place.kind"]): cell for cell in planned(text).cells}
    assert len(made) == 3
    here, loop = made["sqlite", "directory"].place, made["sqlite", "loop"].place
    assert (here.filesystem, here.mount, here.scheduler) == (None, "defaults", None)
    assert (loop.filesystem, loop.mount, loop.scheduler) == ("ext4", "noatime", "bfq")
    assert made["mine", "–"].place == type(here)()
    assert (made["mine", "–"].workload.threads, made["sqlite", "loop"].workload.threads) == (2, None)


def test_a_key_that_acts_with_some_values_of_another_shows_in_those_cells_only() -> None:
    text = FIREBIRD + "[workload.maintenance]\nlevel = 1\n[factors]\n" + (
        'operation = ["backup", "restore", "incremental_backup"]\nparallel = [1, 2]\npage_size = [4096, 8192]\n'
    )  # fmt: skip
    made = [
        (cell.levels["operation"], cell.levels["parallel"], cell.levels["page_size"]) for cell in planned(text).cells
    ]
    assert sorted(made) == [
        ("backup", "1", "–"), ("backup", "2", "–"), ("incremental_backup", "–", "–"), ("restore", "1", "4096"),
        ("restore", "1", "8192"), ("restore", "2", "4096"), ("restore", "2", "8192"),
    ]  # fmt: skip
    levels = {cell.levels["operation"]: cell.workload.message().model_dump()["level"] for cell in planned(text).cells}
    assert levels == {"backup": 0, "restore": 0, "incremental_backup": 1}


def test_what_an_engine_lacks_of_a_workload_is_refused_with_the_cells_to_leave_out() -> None:
    text = HEAD + "[workload.maintenance]\n[factors]\n" + (
        'engine = ["firebird-4.0", "firebird-5.0", "sqlite"]\nparallel = [1, 2]\n'
    )  # fmt: skip
    lines = refused(text)
    assert "t.toml: firebird-4.0: has no parallel workers before 5.0" in lines
    assert '[[exclude]] engine = "firebird-4.0", parallel = "2"' in lines
    assert (
        "t.toml: sqlite: has no services that back up, restore and sweep, as workload maintenance needs them" in lines
    )
    assert '[[exclude]] engine = "sqlite", workload = "maintenance"' in lines
    out = "[[exclude]]\nengine = 'sqlite'\n[[exclude]]\nengine = 'firebird-4.0'\nparallel = 2\n"
    assert len(planned(text + out).cells) == 3
