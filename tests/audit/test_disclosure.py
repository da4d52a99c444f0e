"""What a kit does not tell: said where no file of it does, and of whatever file it stands in not said."""

from __future__ import annotations

from pathlib import Path

import pytest

from acidtest.audit import importers, judge
from written_kits import PGBENCH, found

README = "# Two ways to commit\n\nThe outputs of PostgreSQL are in this folder.\n"
MACHINE = "It ran on an AMD Ryzen 7 5700G.\n"
SETTING = "Both had shared_buffers = 4GB.\n"
VERSION = "Measured was PostgreSQL 16.4.\n"
SERVED = "services:\n  db:\n    image: {image}\n"


def kit(readme: str = "", **more: str) -> dict[str, str]:
    return {"README.md": README + readme, "a.log": PGBENCH.format(rate="400.000000"), **more}


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
        # A badge's colour, an address, a port, a driver, and what is asked for are no version of what was measured.
        ("version-undisclosed", "![x](https://img.example.org/PostgreSQL-4169E1.svg)\n", "PostgreSQL-17.2\n"),
        ("version-undisclosed", "postgres://me:postgres@10.0.0.1:5432/db, postgres:5432\n", "PostgreSQL 18beta1\n"),
        ("version-undisclosed", "Needs PostgreSQL 14 or newer, and mysql2.\n", "pg16 was measured.\n"),
        ("version-undisclosed", "PostgreSQL 9.4+ has this type.\n", "server_version: 16.2\n"),
        ("version-undisclosed", "See https://example.org/postgresql-9-indexes of others.\n", "PostgreSQL 9 ran.\n"),
        ("machine-undisclosed", "- **CPU**: Modern x86_64 processor\n", "- **CPU**: Ryzen 7 5700G\n"),
        ("machine-undisclosed", "- Limits: 2GB RAM, 2 CPU cores per container\n", "- Host: 2 CPU cores\n"),
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


@pytest.mark.parametrize(
    ("name", "own", "another"),
    [
        ("bench.py", 'URL = "postgresql://bench:x@localhost:5432/b"', 'URL = "postgresql://bench:x@db.example:5432/b"'),
        ("run.sh", "docker compose exec db pgbench -c 8 b", "docker compose exec client ls"),
        ("config.yaml", 'host: "127.0.0.1"', 'host: "10.0.0.7"'),
        ("env.sh", "export PGHOST=localhost", "export PGHOST=db1"),
        ("run.sh", "sysbench oltp_read_write --mysql-socket=/tmp/m.sock run", "sysbench oltp_read_write --mysql-host=db run"),
    ],
)  # fmt: skip
def test_a_program_that_connects_to_its_own_machine_is_seen(tmp_path: Path, name: str, own: str, another: str) -> None:
    assert "client-on-server" in found(tmp_path / "a", kit(**{name: own + "\n"}))
    assert "client-on-server" not in found(tmp_path / "b", kit(**{name: another + "\n"}))
    assert "client-on-server" not in found(tmp_path / "c", kit(**{name: f"# {own}\n"}))


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


def test_the_version_of_each_engine_is_asked(tmp_path: Path) -> None:
    both = "\n| engine | tps |\n|---|---|\n| PostgreSQL | 400 |\n| MongoDB | 700 |\n\n"
    one = found(tmp_path / "a", {"README.md": README + both + VERSION})["version-undisclosed"]
    assert "mongodb" in one.lower() and "PostgreSQL" not in one
    told = both + VERSION + "MongoDB 7.0 stood beside it.\n"
    assert "version-undisclosed" not in found(tmp_path / "b", {"README.md": README + told})


def test_a_library_that_holds_its_engine_tells_its_version(tmp_path: Path) -> None:
    text = "| driver | tps |\n|---|---|\n| SQLite a | 400 |\n| SQLite b | 700 |\n"
    assert "version-undisclosed" in found(tmp_path / "a", {"README.md": text, "go.mod": "require x/sqlite3 latest\n"})
    assert "version-undisclosed" not in found(
        tmp_path / "b", {"README.md": text, "go.mod": "require github.com/mattn/go-sqlite3 v1.14.12\n"}
    )


@pytest.mark.parametrize("name", ["package.json", "requirements.txt", "go.mod"])
def test_the_version_of_a_driver_is_not_the_engines(tmp_path: Path, name: str) -> None:
    assert "version-undisclosed" in found(tmp_path / "a", kit(**{name: "postgresql 42.7.3\n"}))
    assert "version-undisclosed" not in found(tmp_path / "b", kit(**{"notes.md": "postgresql 16.7\n"}))


def test_a_servers_dump_tells_its_version_whatever_it_is_called(tmp_path: Path) -> None:
    assert "version-undisclosed" not in found(tmp_path, kit(**{"run.db.cnf": "server_version=9.5.1\n"}))


def test_a_variable_of_a_program_discloses_no_setting(tmp_path: Path) -> None:
    own = "int transactionIsolation = 0;\nint max_connections = 5;\n"
    passed = 'db.execute("SET max_connections = 5");\n'
    assert "settings-undisclosed" in found(tmp_path / "a", kit(**{"main.cpp": own}))
    assert "settings-undisclosed" not in found(tmp_path / "b", kit(**{"main.cpp": passed}))


@pytest.mark.parametrize(
    "line", ["It writes `out/results_all.csv`.", "├── latency_summary.json", "    bench | tee -a run/bench_out.log"]
)
def test_results_that_a_text_names_are_looked_for(tmp_path: Path, line: str) -> None:
    name = line.strip(".`").replace("`", " ").split()[-1].rpartition("/")[2]
    gone = found(tmp_path / "a", kit(line + "\n"))["results-missing"]
    assert name in gone
    assert "results-missing" not in found(tmp_path / "b", kit(line + "\n", **{f"elsewhere/{name}": PGBENCH}))


@pytest.mark.parametrize(
    "line", ["Names are like `results_YYYY.csv`.", "Edit `docker.json`.", "See `results/` below.", "It is `main.py`."]
)
def test_what_names_no_result_is_not_missed(tmp_path: Path, line: str) -> None:
    assert "results-missing" not in found(tmp_path, kit(line + "\n"))


def test_charts_without_a_figure_are_no_results(tmp_path: Path) -> None:
    charts = "![Throughput](img/a.png)\n\n![x](img/latency.svg)\n"
    drawn = "![Schema](img/a.png)\n\n![x](img/er.svg)\n"
    assert "2 pictures" in found(tmp_path / "a", {"README.md": README + charts})["results-missing"]
    assert "results-missing" not in found(tmp_path / "b", {"README.md": README + drawn})
    assert "results-missing" not in found(tmp_path / "c", kit(charts))


def test_a_server_that_is_started_bare_runs_with_defaults(tmp_path: Path) -> None:
    bare = SERVED.format(image="mongo:7")
    assert "settings-all-default" in found(tmp_path / "a", kit(**{"compose.yaml": bare}))
    assert "settings-all-default" not in found(
        tmp_path / "b", kit(**{"compose.yaml": bare + "    command: --wiredTigerCacheSizeGB 4\n    cache_size: 4GB\n"})
    )


def test_memory_alone_names_no_machine_and_the_script_is_where_it_would_stand(tmp_path: Path) -> None:
    files = kit("Each had 4 GB of memory.\n", **{"run.sh": "pgbench -c 8 -T 300 bench\n"})
    assert "machine-undisclosed" in found(tmp_path, files)
    findings = judge.of_bench(importers.read(tmp_path))
    places = {said.file for one in findings if one.rule.name == "machine-undisclosed" for said in one.evidence}
    assert {"README.md", "a.log", "run.sh"} <= places


def test_figures_in_a_table_and_a_script_are_a_benchmark(tmp_path: Path) -> None:
    table = "# Drives\n\n| Log device | Result |\n|---|---|\n| with | 22,551 |\n| without | 20,048 |\n"
    script = "fio --name=w --rw=randwrite --size=4g --runtime=60\n"
    assert "machine-undisclosed" in found(tmp_path / "a", {"README.md": table, "write.sh": script})
    assert "machine-undisclosed" not in found(tmp_path / "b", {"README.md": table + MACHINE, "write.sh": script})
