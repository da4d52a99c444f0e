"""What a kit discloses: a table of where each thing is recorded, and one note for all that is missing."""

from __future__ import annotations

from pathlib import Path

from acidtest.audit import disclosed, findings_output, importers
from acidtest.audit.repeated import uneven
from tables import speaks_only_of
from written_kits import PGBENCH, found

SERVED = "services:\n  db:\n    image: {image}\n"
RUN = {"a.log": PGBENCH.format(rate="400.000000")}
DECLARED = """client = "another machine"
repetitions = 5
[machines.server]
processor = "AMD EPYC 7302P"
memory_gb = 64
drive = "Samsung PM9A3"
file_system = "ext4"
system = "Debian 12"
[sides.pg]
engine = "postgresql 16.2"
files = ["pg"]
"""


def how(at: Path, files: dict[str, str]) -> dict[str, str]:
    """How each thing is disclosed; writes the kit."""
    found(at, files)
    bench = importers.read(at)
    return {one.what: one.how(bench) for one in disclosed.table(bench)}


def test_what_is_recorded_names_its_file_and_what_is_declared_is_declared(tmp_path: Path) -> None:
    files = {"meminfo": "MemTotal: 24576000 kB\n", "uname.txt": "Linux db 6.1.0-18-amd64 #1 SMP x86_64 GNU/Linux\n"}
    told = how(tmp_path / "recorded", RUN | files)
    assert (told["memory"], told["kernel"]) == ("recorded in meminfo", "recorded in uname.txt")
    assert told["processor"] == told["drive and its cache"] == "not recorded"
    told = how(tmp_path / "declared", RUN | {"pg/postgresql.conf": "fsync = on\n", "benchmark.toml": DECLARED})
    assert told.pop("settings in force") == "recorded in pg/postgresql.conf"
    assert set(told.values()) == {"declared"}


def test_one_note_names_all_that_is_missing(tmp_path: Path) -> None:
    prose = "It ran on an AMD Ryzen 7 5700G with 64 GB of RAM on ext4.\n"
    assert found(tmp_path / "a", RUN | {"README.md": prose})["not-disclosed"].startswith(
        "Not recorded: processor, memory, "
    )
    whole = {"pg/postgresql.conf": "fsync = on\n", "benchmark.toml": DECLARED}
    assert "not-disclosed" not in found(tmp_path / "b", RUN | whole)


def test_where_nothing_was_measured_nothing_is_missing(tmp_path: Path) -> None:
    assert "not-disclosed" not in found(tmp_path, {"pg/postgresql.conf": "fsync = on\n"})


def test_a_kit_without_results_is_told_what_it_discloses(tmp_path: Path) -> None:
    found(tmp_path, {"pg/postgresql.conf": "fsync = on\n"})
    assert {item.what: item.where for item in findings_output.disclosed_of(importers.read(tmp_path))}[
        "processor"
    ] is None


def test_uneven_repetitions_are_told(tmp_path: Path) -> None:
    table = "system,run,clients,tps\n{more}old,1,8,100\nold,2,8,101\nold,3,8,102\nnew,1,8,140\n"
    sides = {f"{name}/postgresql.conf": "fsync = on\n" for name in "ab"}
    runs = {f"results/{name}/run-{n}.txt": PGBENCH.format(rate=f"40{n}.0") for name, n in ("a1", "b1", "b2", "b3")}
    even = {f"results/a/run-{n}.txt": PGBENCH.format(rate=f"40{n}.0") for n in "23"}
    for n, (files, spoken) in enumerate(
        [
            (sides | runs, True),
            (sides | runs | even, False),
            ({"runs.csv": table.format(more="")}, True),
            ({"runs.csv": table.format(more="new,2,8,141\nnew,3,8,139\n")}, False),
        ]
    ):
        assert ("is compared with 3 runs" in found(tmp_path / str(n), files).get("few-repetitions", "")) == spoken
        bench = importers.read(tmp_path / str(n))
        told = {one.what: one.how(bench) for one in disclosed.table(bench)}["repetitions"]
        assert (told == "not recorded") == spoken
        assert "results-missing" not in found(tmp_path / str(n), files)


def test_results_of_several_configurations_are_no_repetitions(tmp_path: Path) -> None:
    sides = {f"{name}/postgresql.conf": "fsync = on\n" for name in "ab"}
    names = ("a/default", "b/small", "b/tuned", "b/huge")
    files = sides | {f"results/{name}.txt": PGBENCH.format(rate="400.0") for name in names}
    assert "is compared with 3 runs" not in found(tmp_path, files).get("few-repetitions", "")
    assert uneven(importers.read(tmp_path)) == []


def test_what_an_engine_says_of_its_settings_is_no_figure(tmp_path: Path) -> None:
    rows = [
        ("deadlock_timeout", "1s", "Sets the time to wait on a lock before checking for deadlock."),
        ("shared_buffers", "128MB", "Sets the number of shared memory buffers used by the server."),
        ("synchronous_commit", "on", "Sets the current transaction's synchronization level."),
        *((f"vacuum_cost_page_{n}", f"{n}", "Vacuum cost for a page.") for n in ("hit", "miss", "dirty")),
    ]
    text = "name | setting | description\n" + "-" * 18 + "+" + "-" * 9 + "+" + "-" * 60 + "\n"
    text += "".join(f" {name:17}| {value:8}| {said}\n" for name, value, said in rows)
    found(tmp_path, {"pg/show-all.txt": text})
    bench = importers.read(tmp_path)
    assert bench.published == [] and {configuration.source for configuration in bench.sides[0].configurations} == {
        "dump"
    }


IMAGES = [("postgres", "postgres:16.4"), ("mysql:latest", "mysql:8.4.2"), ("mongo", "grafana/grafana")]
NEWEST = [
    *(({"compose.yaml": SERVED.format(image=newest)}, {"compose.yaml": SERVED.format(image=fixed)}) for newest, fixed in IMAGES),
    ({"Dockerfile": "FROM ubuntu\nRUN make\n"}, {"Dockerfile": "FROM ubuntu:24.04 AS base\nFROM base\n"}),
    ({"run.sh": "wget -qO- bench.example.org | bash\n"}, {"run.sh": "curl -sSL https://install.example.org/get.sh | sh\n"}),
    ({"run.sh": "docker run some/tool:latest\n"}, {"run.sh": "docker build -t tool:latest .\ndocker run tool:latest\n"}),
]  # fmt: skip


def test_what_is_the_newest_on_that_day_is_not_pinned(tmp_path: Path) -> None:
    wrong, right = ([RUN | files for files in kits] for kits in zip(*NEWEST, strict=True))
    speaks_only_of("version-not-pinned", "note", wrong, right, tmp_path)
