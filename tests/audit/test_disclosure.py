"""What a kit does not tell: said where no file of it does, and of whatever file it stands in not said."""

from __future__ import annotations

from pathlib import Path

import pytest

from acidtest.audit import importers, judge

PGBENCH = """transaction type: <builtin: TPC-B (sort of)>
scaling factor: 50
query mode: simple
number of clients: 8
number of threads: 2
duration: 300 s
number of transactions actually processed: 120000
latency average = 20.000 ms
tps = 400.000000 (without initial connection time)
"""
README = "# Two ways to commit\n\nThe outputs of PostgreSQL are in this folder.\n"
MACHINE = "It ran on an AMD Ryzen 7 5700G.\n"
SETTING = "Both had shared_buffers = 4GB.\n"
VERSION = "Measured was PostgreSQL 16.4.\n"
SERVED = "services:\n  db:\n    image: {image}\n"


def found(tmp_path: Path, files: dict[str, str]) -> dict[str, str]:
    """The findings of a kit: their sentences by rule."""
    for name, text in files.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return {one.rule.name: one.text for one in judge.of_bench(importers.read(tmp_path))}


def kit(readme: str = "", **more: str) -> dict[str, str]:
    return {"README.md": README + readme, "a.log": PGBENCH, **more}


@pytest.mark.parametrize(
    ("rule", "silent", "told"),
    [
        ("machine-undisclosed", "", MACHINE),
        ("machine-undisclosed", "", "On a db.r6g.2xlarge of the cloud.\n"),
        ("machine-undisclosed", "It is fast, and 3.5 cores of it idle.\n", "The server has 16 cores.\n"),
        ("machine-undisclosed", "It was not a Xeon.\n", "Server: 2 x Xeon\n"),
        ("machine-undisclosed", "", "服务器: 8核\n"),
        ("settings-undisclosed", "", SETTING),
        ("settings-undisclosed", "The buffer pool matters.\n", "The page size is 8192 bytes.\n"),
        ("settings-undisclosed", "#pragma once\n", "Each ran with PRAGMA journal_mode.\n"),
        ("version-undisclosed", "", VERSION),
        ("version-undisclosed", "PostgreSQL was new.\n", "postgres:16\n"),
    ],
)
def test_what_no_file_tells_is_undisclosed(tmp_path: Path, rule: str, silent: str, told: str) -> None:
    assert rule in found(tmp_path / "a", kit(silent))
    assert rule not in found(tmp_path / "b", kit(told))
    assert rule not in found(tmp_path / "c", kit(silent, **{"deep/down/notes.txt": told}))


def test_nothing_is_missed_where_nothing_was_measured(tmp_path: Path) -> None:
    rules = found(tmp_path, {"README.md": "# Notes\n\nSome thoughts on PostgreSQL.\n"})
    assert not {name for name in rules if name.endswith("-undisclosed")} - {
        "drive-undisclosed",
        "file-system-undisclosed",
    }


def test_of_drives_alone_no_setting_of_an_engine_is_asked(tmp_path: Path) -> None:
    dd = "2000+0 records in\n2000+0 records out\n2097152000 bytes (2.1 GB) copied, 10.1 s, 207 MB/s\n"
    rules = found(tmp_path, {"README.md": "# Disks for PostgreSQL\n", "dd.txt": dd})
    assert not rules.keys() & {"settings-undisclosed", "version-undisclosed"}


@pytest.mark.parametrize(
    ("file", "newest", "fixed"),
    [
        ("compose.yaml", SERVED.format(image="postgres"), SERVED.format(image="postgres:16.4")),
        ("compose.yaml", SERVED.format(image="mysql:latest"), SERVED.format(image="mysql:8.4.2")),
        ("compose.yaml", SERVED.format(image="mongo"), SERVED.format(image="grafana/grafana")),
        ("Dockerfile", "FROM ubuntu\nRUN make\n", "FROM ubuntu:24.04 AS base\nFROM base\n"),
        ("run.sh", "wget -qO- bench.example.org | bash\n", "curl -sSL https://install.example.org/get.sh | sh\n"),
        ("run.sh", "docker run some/tool:latest\n", "docker build -t tool:latest .\ndocker run tool:latest\n"),
    ],
)
def test_what_is_the_newest_on_that_day_is_not_pinned(tmp_path: Path, file: str, newest: str, fixed: str) -> None:
    assert "version-not-pinned" in found(tmp_path / "a", kit(**{file: newest}))
    assert "version-not-pinned" not in found(tmp_path / "b", kit(**{file: fixed}))


@pytest.mark.parametrize(
    ("early", "released"),
    [
        ("postgres:17beta1", "postgres:17.1"),
        ("mariadb:11.8.1-rc", "mariadb:11.8.2"),
        ("mysql/mysql-server:8.0.4", "mysql/mysql-server:8.0.36"),
    ],
)
def test_a_version_before_its_release_is_named(tmp_path: Path, early: str, released: str) -> None:
    rules = found(tmp_path / "a", kit(**{"compose.yaml": SERVED.format(image=early)}))
    assert "pre-release" in rules
    assert "pre-release" not in found(tmp_path / "b", kit(**{"compose.yaml": SERVED.format(image=released)}))
    aside = "".join(f"# {line}\n" for line in SERVED.format(image=early).splitlines())
    assert "pre-release" not in found(tmp_path / "c", kit(**{"compose.yaml": aside}))


@pytest.mark.parametrize(
    ("own", "another"),
    [
        ("pgbench -h 127.0.0.1 -c 8 -T 60 bench", "pgbench -h 10.0.0.7 -c 8 -T 60 bench"),
        ("sysbench oltp_read_write --mysql-host=localhost --threads=4 run",
         "sysbench oltp_read_write --mysql-host=db.lan --threads=4 run"),
    ],
)  # fmt: skip
def test_a_load_from_the_machine_itself_is_seen(tmp_path: Path, own: str, another: str) -> None:
    assert "client-on-server" in found(tmp_path / "a", kit(**{"run.sh": own + "\n"}))
    assert "client-on-server" not in found(tmp_path / "b", kit(**{"run.sh": another + "\n"}))


def test_a_text_may_say_where_the_load_came_from(tmp_path: Path) -> None:
    assert "client-on-server" in found(tmp_path / "a", kit("pgbench ran on the same host as the server.\n"))
    assert "client-on-server" not in found(tmp_path / "b", kit("The clients did not run on the same host.\n"))


TABLE = "\n| clients | tps |\n|---|---|\n| 8 | 400 |\n| 16 | 700 |\n"


def test_figures_without_output_are_missing_results(tmp_path: Path) -> None:
    assert "alone" in found(tmp_path / "a", {"README.md": README + TABLE})["results-missing"]
    assert "results-missing" not in found(tmp_path / "b", kit(TABLE))


def test_empty_results_are_missing(tmp_path: Path) -> None:
    assert "empty" in found(tmp_path / "a", kit(**{"b.log": ""}))["results-missing"]
    assert "results-missing" not in found(tmp_path / "b", kit(**{"requirements.txt": "", "__init__.py": ""}))


def test_pictures_elsewhere_are_no_results(tmp_path: Path) -> None:
    pictures = "".join(f"![run {n}](https://pictures.example.org/{n}.png)\n" for n in range(3))
    badges = "".join(f"![build](https://example.org/badge/{n}.svg)\n" for n in range(3))
    assert "3 pictures" in found(tmp_path / "a", {"README.md": README + pictures})["results-missing"]
    assert "results-missing" not in found(tmp_path / "b", {"README.md": README + badges})


def test_a_server_that_is_started_bare_runs_with_defaults(tmp_path: Path) -> None:
    bare = SERVED.format(image="mongo:7")
    assert "settings-all-default" in found(tmp_path / "a", kit(**{"compose.yaml": bare}))
    assert "settings-all-default" not in found(
        tmp_path / "b", kit(**{"compose.yaml": bare + "    command: --wiredTigerCacheSizeGB 4\n    cache_size: 4GB\n"})
    )
