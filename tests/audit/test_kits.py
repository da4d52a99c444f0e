"""The sample kits: what three experts found in a published benchmark, each by its own rule; and nothing in fair ones."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import makes
from acidtest.audit import importers, judge, rules
from acidtest.audit.rules import vacuum
from acidtest.finding import Finding
from tables import rows

KITS = Path(__file__).parents[1] / "kits"
UNFAIR = KITS / "unfair-firebird"
FAIR = sorted(KITS.glob("fair-*"))

# What they found, the rule that finds it, and where: a file, and a line of files that have lines.
EXPERTS = [
    ("Firebird 2.5 and 3.0 are 32-bit, 4.0 is 64-bit", "word-size", "firebird-3.0/firebird.exe", None),
    ("Firebird 3.0 is old", "old-build", "firebird-3.0/firebird.exe", None),
    ("nothing but the port is set in 2.5", "settings-all-default", "firebird-2.5/firebird.conf", 16),
    ("nothing but the port is set in 3.0", "settings-all-default", "firebird-3.0/firebird.conf", 17),
    ("nothing but the port is set in 4.0", "settings-all-default", "firebird-4.0/firebird.conf", 19),
    ("ReadConsistency is on by default in 4.0", "read-consistency-differs", "firebird-4.0/firebird.conf", 14),
    ("restarts in the log", "restarts-in-log", "firebird-4.0/firebird.log", 7),
    ("the procedure draws the products itself", "routine-not-repeatable", "sql/shop.sql", 49),
    ("inserting a line updates the stock of it", "routine-not-repeatable", "sql/shop.sql", 17),
    ("it is the procedure that was restarted", "restarts-not-repeatable", "firebird-4.0/firebird.log", 7),
    ("a hundred orders in one call", "work-in-one-call", "sql/shop.sql", 38),
    ("the drive test goes to the file cache in 3.0", "drive-test-in-file-cache", "firebird-3.0/firebird.conf", 6),
    ("the drive test goes to the file cache in 4.0", "drive-test-in-file-cache", "firebird-4.0/firebird.conf", 6),
    ("it is called a drive test", "drive-test-in-file-cache", "benchmark.toml", 3),
    ("50 buffers", "buffers-smallest", "databases/drive30.fdb", None),
    ("5,000 buffers for Classic", "buffers-classic", "databases/thread25.fdb", None),
    ("5,000 buffers for SuperServer", "buffers-super", "databases/thread40.gstat.txt", 19),
    ("the header overrides the configuration", "buffers-in-header", "databases/thread30.gstat.txt", 19),
    ("16 KB pages against 32 KB", "page-size-differs", "databases/thread40.gstat.txt", 9),
    ("55 MB in a text", "database-too-small", "benchmark.toml", 4),
    ("55 MB by statistics", "database-too-small", "databases/thread30.gstat.txt", 2),
    ("servers of different modes", "server-mode-differs", "firebird-2.5/fb_inet_server.exe", None),
]  # fmt: skip


@pytest.fixture(scope="module")
def unfair() -> list[Finding]:
    return judge.of_bench(importers.read(UNFAIR))


@rows(*EXPERTS)
def test_what_the_experts_found(what: str, rule: str, file: str, line: int | None, unfair: list[Finding]) -> None:
    seen = {(e.file, e.line) for finding in unfair if finding.rule.name == rule for e in finding.evidence}
    assert (file, line) in seen


def test_all_that_lies_in_the_kit_is_read() -> None:
    bench = importers.read(UNFAIR)
    assert not bench.unread
    assert not bench.broken
    assert [(side.name, side.version) for side in bench.sides] == [
        ("firebird-2.5", "2.5.9.27139"),
        ("firebird-3.0", "3.0.5.33220"),
        ("firebird-4.0", "4.0.0.2496"),
    ]
    assert [len(side.databases) for side in bench.sides] == [2, 3, 3]


@rows(*FAIR)
def test_nothing_is_wrong_with_a_fair_kit(path: Path) -> None:
    bench = importers.read(path)
    assert len(bench.sides) == 2
    assert not bench.broken
    found = judge.of_bench(bench)
    assert [finding.text for finding in found if finding.severity == "invalid"] == []


MADE = {
    "unfair-firebird/firebird-2.5/fb_inet_server.exe": makes.pe(32, b"WI-V2.5.9.27139", (2, 5, 9, 27139)),
    "unfair-firebird/firebird-3.0/firebird.exe": makes.pe(32, b"WI-V3.0.5.33220", (3, 0, 5, 33220)),
    "unfair-firebird/firebird-4.0/firebird.exe": makes.pe(64, b"WI-V4.0.0.2496", (4, 0, 0, 2496)),
    "unfair-firebird/firebird-2.5/bin/fb_inet_server": makes.elf(32, b"LI-V2.5.9.27139"),
    "unfair-firebird/firebird-3.0/bin/firebird": makes.elf(32, b"LI-V3.0.5.33220"),
    "unfair-firebird/firebird-4.0/bin/firebird": makes.elf(64, b"LI-V4.0.0.2496"),
    "unfair-firebird/databases/drive25.fdb": makes.header_page(16384, (11, 2), 50),
    "unfair-firebird/databases/drive30.fdb": makes.header_page(16384, (12, 0), 50),
    "unfair-firebird/databases/drive40.fdb": makes.header_page(32768, (13, 0), 50),
    "unfair-firebird/databases/thread25.fdb": makes.header_page(16384, (11, 2), 5000),
    "unfair-firebird/databases/thread30.fdb": makes.header_page(16384, (12, 0), 5000),
    "unfair-firebird/databases/thread40.fdb": makes.header_page(32768, (13, 0), 5000),
    "fair-firebird/firebird-3.0/bin/firebird": makes.elf(64, b"LI-V3.0.14.33856"),
    "fair-firebird/firebird-4.0/bin/firebird": makes.elf(64, b"LI-V4.0.7.3271"),
}


@rows(*MADE)
def test_what_nobody_can_read_is_made_by_ourselves(name: str) -> None:
    assert (KITS / name).read_bytes() == MADE[name]


DOCS = Path(__file__).parents[2] / "docs"


def test_the_rule_in_the_documentation_is_the_rule() -> None:
    text = (DOCS / "ADDING-A-RULE.md").read_text()
    source = Path(vacuum.__file__).read_text()
    assert f"```python\n{source}```" in text
    table = (Path(__file__).parent / "test_bench_rules.py").read_text()
    row = text.split("```python\n")[2].partition("```")[0]
    assert "".join(row.split()) in "".join(table.split())


def test_the_documentation_names_rules_that_there_are() -> None:
    tables = [line for line in (DOCS / "AUDIT.md").read_text().splitlines() if line.startswith("| ")]
    said = {name for line in tables for name in re.findall(r"`([a-z]+(?:-[a-z0-9]+)+)`", line)}
    assert said
    assert said <= {rule.name for rule in rules.rules()}


def test_a_small_kit_costs_no_import_of_what_only_runs_need() -> None:
    """They take several times as long as the kit itself."""
    program = (
        "import sys\nfrom pathlib import Path\nimport acidtest.cli.audit, acidtest.cli.suggested_experiment\n"
        "from acidtest.audit import findings_output, importers, judge, unchecked\n"
        f"judge.of_bench(importers.read(Path({str(KITS / 'fair-servers')!r})))\n"
        "print(*sorted({'numpy', 'scipy', 'pydantic', 'jinja2', 'dask', 'pandas'} & sys.modules.keys()))"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "\n"
