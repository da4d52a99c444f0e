"""What nobody parsed is said: figures and settings of unknown forms, and kits of nothing but prose."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from acidtest.audit.importers.file import Budget
from acidtest.audit.rules.disclosure import unknown_results
from acidtest.cli import app
from acidtest.errors import BadInput
from tables import read, rows

LEFT = [
    ("a rate in a log", "run.log", "starting\nwrote at 250 MB/s\n", 2),
    ("times in a log", "run.log", "a took 12 ms\nb took 13 ms\nc took 14 ms\n", 1),
    ("JSON with measurements", "out.json", '{\n "name": "x",\n "latency_avg": 12.5\n}', 3),
    ("a table without a unit", "out.csv", "store,throughput\na,100\nb,200\n", 1),
    ("a table in a text without a unit", "README.md", "# x\n\n| store | throughput |\n|---|---|\n| a | 100 |\n| b | 200 |\n", 3),
    ("settings in a form of its own", "server.settings", "shared_buffers :: 1\nshared_buffers | 8GB\nwork_mem | 64MB\n", 2),

    ("a spreadsheet", "results.xlsx", b"PK\x03\x04" + b"\0" * 26 + b"xl/workbook.xml", None),
    ("a packed log", "sysbench.log.gz", b"\x1f\x8b\x08", None),
    ("packed results", "pgbench.tgz", b"\x1f\x8b\x08", None),
    ("a block of a text", "notes.md", "# x\n\n```\niops: min=1, avg=12 iops\nlat: 12 IOPS=18\n```\n", 4),




]  # fmt: skip


@rows(*LEFT)
def test_figures_that_nobody_parsed(_: str, name: str, text: str | bytes, line: int | None, tmp_path: Path) -> None:
    bench = read(tmp_path, {name: text})
    assert [(one.file, one.line) for one in bench.not_understood] == [(name, line)]
    assert len(list(unknown_results(bench))) == 1


UNDERSTOOD: list[tuple[str, str | bytes]] = [
    ("README.md", "# A kit\n\nIt took 12 ms, then 13 ms, then 14 ms.\n\n| a | b |\n|---|---|\n| c | d |\n"),
    ("bench.py", "print('tps: 12')\nTPS = 100\nprint('tps: 12')\n"),
    ("data.csv", "id,name,zip\n1,a,12345\n2,b,23456\n"),
    ("package.json", '{"version": 1, "latency": 5}'),
    (
        "iostat.log",
        "Linux 6.1.0 (host) 01/01/26 _x86_64_ (8 CPU)\n\navg-cpu:  %user   %nice\n           1.00    0.00\n",
    ),
    (
        "notes.md",
        "# Machine\n\n| part | price | version |\n|---|---|---|\n| a | 12 | 3 |\n| b | 12 | 3 |\n| c | 1 | 2 |\n",
    ),
    ("notes.md", "# Steps\n\n```bash\nsudo apt install fio\n./run 10 20\n```\n\n1. wait 30 s\n2. read 12 lines\n"),
    ("docker-compose.yml", "services:\n  db:\n    # up to 250 MB/s\n    image: postgres\n"),
    ("README.md", "# x\n\n| store | tps |\n|---|---|\n| a | 100 |\n| b | 200 |\n"),
    ("my.cnf", "[mysqld]\nport = 1\n"),
]


@rows(*UNDERSTOOD)
def test_what_holds_no_figures_is_not_told_of(name: str, text: str | bytes, tmp_path: Path) -> None:
    assert read(tmp_path, {name: text}).not_understood == []


def test_a_folder_is_named_once(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {f"runs/{n}.log": "wrote at 250 MB/s\n" for n in range(30)}
    (found,) = unknown_results(read(tmp_path, {**files, "other/x.log": "5 MB/s\n"}))
    assert found.text == "31 files with figures or settings that are not understood, in runs (30), other (1)."
    assert [one.file for one in found.evidence[:2]] == ["runs/0.log", "other/x.log"]


def test_nothing_but_prose_is_not_clean(tmp_path: Path) -> None:
    bench = read(tmp_path, {"README.md": "# We are fast\n", "run.bin": b"\0\1"})
    assert (bench.read, bench.unread, [evidence.file for evidence in bench.passed]) == ([], ["run.bin"], ["README.md"])


@rows(
    ("run.txt", ""),
    ("run-2.md", "# Two clients\n\n"),
    ("Makefile", "bench:\n\tfor i in $(seq 1 5); do ./run --warmup; done\n"),
)
def test_what_gave_nothing_but_words_is_not_read(name: str, text: str, tmp_path: Path) -> None:
    bench = read(tmp_path, {"README.md": "# x\n", name: text})
    assert name in [*bench.unread, *(evidence.file for evidence in bench.passed)]


@rows(
    ("a.toml", 'name = "a"\nengine = "sqlite"\n[workload.tpcb]\nscale = 1\n', "an experiment"),
    ("p.toml", 'name = "p"\n[program]\nload = "x"\n[factors]\ndurability = ["drive"]\n', "an experiment"),
    ("w/workload.toml", 'description = "Orders"\n', "a workload"),
    ("fleet.toml", 'ssh = ["a", "b"]\nspread = "compare"\n', "a fleet"),
    ("draft.toml", 'title = "x"\nvaries = ["engine"]\n', "declares a study"),
    ("pyproject.toml", '[project]\nname = "x"\n', ""),
)
def test_a_file_of_acidtest_is_named_as_what_it_is(name: str, text: str, is_: str, tmp_path: Path) -> None:
    bench = read(tmp_path, {name: text})
    assert [evidence.text for evidence in bench.passed if is_ and is_ in evidence.text] == [
        evidence.text for evidence in bench.passed
    ]
    assert bench.unread == ([] if is_ else [name])


def test_words_that_are_too_many_leave_results_readable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acidtest.audit.importers.Budget", lambda: Budget(prose=10))
    bench = read(
        tmp_path,
        {
            "run.sh": "for n in 1 2 3; do\n  ./one\ndone\n",
            "README.md": "# x\n\n| store | tps |\n|---|---|\n| a | 100 |\n| b | 200 |\n",
        },
    )
    assert [one.rate for one in bench.published] == [100.0, 200.0]
    assert [evidence.file for evidence in bench.passed] == ["run.sh"]


def test_a_kit_of_which_nothing_could_be_read_ends_so(tmp_path: Path) -> None:
    (tmp_path / "run.log").write_text("wrote at 250 MB/s\n")
    assert isinstance(CliRunner().invoke(app, ["audit", str(tmp_path)]).exception, BadInput)  # exit code 2
