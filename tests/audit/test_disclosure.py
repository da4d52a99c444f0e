"""What a kit discloses: a table of where each thing is recorded, and one note for all that is missing."""

from __future__ import annotations

from pathlib import Path

from acidtest.audit import disclosed, importers
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
