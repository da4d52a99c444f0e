"""What texts say and what they deny, which machine a line is about, and how far apart repetitions lie."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acidtest.audit import importers
from acidtest.audit.bench import Bench, Claim, Database, Published, Side, Statement, Where
from acidtest.audit.importers import prose
from acidtest.audit.importers.about import spread
from acidtest.audit.rules import firebird, rates

# A sentence, the words in question, and whether they are denied.
DENIED = [
    ("The database lay on a disk, not an NVMe drive.", "NVMe", True),
    ("It lay on an NVMe drive, not a disk.", "NVMe", False),
    ("We did not switch off fsync, and used an NVMe drive.", "NVMe", False),
    ("We did not switch fsync off.", "fsync off", True),
    ("Nobody's drive isn't an SSD.", "SSD", True),
    ("Not only an SSD but a fast one.", "SSD", False),
    ("There are neither error bars nor means.", "error bars", True),
    ("No swap, NVMe, 16 GB of RAM", "NVMe", False),
    ("No SSD, or Optane, was there.", "Optane", True),
    ("An SSD was not used here.", "SSD", True),
    ("The SSD is not full.", "SSD", False),
    ("We ran it without a battery-backed cache.", "battery", True),
    ("It failed. Not once did the SSD.", "SSD", True),
    ("It is slow (not fast). The SSD is new.", "SSD", False),
    ("Das war keine SSD.", "SSD", True),
    ("На диске, а не на SSD", "SSD", True),
    ("这不是 SSD", "SSD", True),
]  # fmt: skip


@pytest.mark.parametrize(("text", "words", "denied"), DENIED)
def test_what_is_denied(text: str, words: str, denied: bool) -> None:
    begin = text.index(words)
    assert prose.denied(text, begin, begin + len(words)) == denied


SUPPOSED = [("An SSD is recommended.", True), ("If you have an SSD, use it.", True), ("Requires an SSD.", True),
            ("It ran on an SSD. Others should too.", False), ("The SSD is new.", False)]  # fmt: skip


@pytest.mark.parametrize(("text", "supposed"), SUPPOSED)
def test_what_is_only_wished_for(text: str, supposed: bool) -> None:
    assert prose.supposed(text, text.index("SSD")) == supposed


MACHINES = [
    ("## Server A\n- RAM: 64 GB\n## Server B\n- RAM: 32 GB", ["server a", "server b"]),
    ("The client has 16 GB of RAM, the server 64 GB of RAM.", ["client", "server"]),
    ("- Laptop\n  - CPU: 4\n  - 8 GB RAM\n- Desktop\n  - 32 GB RAM", ["laptop", "desktop"]),
    ("| | Node 1 | Node 2 |\n|---|---|---|\n| CPU | x | y |\n| Memory | 16 GB | 64 GB |", ["node 1", "node 2"]),
    ("| host | RAM |\n|---|---|\n| c5.2xlarge | 16 GB |\n| Standard_D4s_v3 | 16 GB |", ["c5.2xlarge", "standard_d4s_v3"]),
    ("Windows Server 2019, 16 GB of RAM", [""]),
    ("SQL server configuration: 16 GB of RAM", [""]),
    ("# Laptop\nx\n# Results\n16 GB of RAM", [""]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "machines"), MACHINES, ids=range(len(MACHINES)))
def test_which_machine_a_line_is_about(tmp_path: Path, text: str, machines: list[str]) -> None:
    (tmp_path / "README.md").write_text(text)
    claims = [one for one in importers.read(tmp_path).claims if one.about == "memory"]
    assert [one.machine for one in claims] == machines


NO_MEMORY = ["shared memory 16 GB", "a memory limit of 16 GB of RAM", "It needs 16 GB of RAM", "at least 16 GB of RAM is recommended",
             "It has no 16 GB of RAM."]  # fmt: skip


@pytest.mark.parametrize("text", NO_MEMORY)
def test_what_is_not_the_memory_of_a_machine(tmp_path: Path, text: str) -> None:
    (tmp_path / "README.md").write_text(text)
    assert importers.read(tmp_path).claims == []


@pytest.mark.parametrize(("others", "speaks"), [([("", 64)], True), ([("", 64), ("server", 4)], False), ([("client", 4), ("", 64)], True), ([("client", 64)], False)])  # fmt: skip
def test_a_database_is_held_against_the_memory_that_may_have_held_it(
    others: list[tuple[str, int]], speaks: bool
) -> None:
    claims = [Claim(Where("r", 1), "memory", "memory", size << 30, machine) for machine, size in others]
    database = Database(Where("d.fdb"), "drive.fdb", "firebird", bytes=20 << 30, page_buffers=50, page_bytes=8192)
    bench = Bench([Side("s", "firebird", databases=(database,))], claims=claims)
    assert bool(list(firebird.database_too_small(bench))) == speaks


# A line, the heads of its table's columns, and what of it tells how far apart repetitions lie.
SPREADS: list[tuple[str, list[str], str]] = [
    ("Five runs: 1,188 to 1,214 tps.", [], "1,188 to 1,214 tps"),
    ("between 1188 and 1214", [], "between 1188 and 1214"),
    ("The rates ranged from 980.5 to 1020 over the runs.", [], "ranged from 980.5 to 1020"),
    ("| PostgreSQL | 1,201 | 1,188–1,214 |", [], "1,188–1,214"),
    ("| PostgreSQL | 1,188 | 1,214 |", ["", "", "min", "max", ""], "1,188 to 1,214"),
    ("| PostgreSQL | 1,188 | 1,201 | 1,214 |", ["", "engine", "smallest", "median", "largest", ""], "1,188 to 1,214"),
    ("| PostgreSQL | 3 | 9 |", ["", "", "min latency (ms)", "max latency (ms)", ""], ""),
    ("from 1 to 128 clients", [], ""),
    ("from 64 to 128 threads", [], ""),
    ("from 1 to 128", [], ""),
    ("versions 9.6 to 16", [], ""),
    ("in 2019-2024", [], ""),
    ("| a | 2019-2024 |", [], ""),
    ("took from 10 to 16 GB", [], ""),
]  # fmt: skip


@pytest.mark.parametrize(("line", "heads", "told"), SPREADS)
def test_how_far_apart_repetitions_lie(line: str, heads: list[str], told: str) -> None:
    assert spread(line, heads) == told


TEXTS = [
    ("We did not take the best of five runs.", "best-of"),
    ("No confidence intervals are given.", "spread"),
    ("An SSD is recommended.", "drive"),
    ("This is not an NVMe drive.", "drive"),
    ("It is not 2x faster.", "relative"),
    ("This is no disk benchmark.", "drive test"),
    ("We do not claim any tpmC.", "tpc-word alone"),
]


@pytest.mark.parametrize(("text", "kind"), TEXTS)
def test_what_a_text_denies_it_does_not_say(tmp_path: Path, text: str, kind: str) -> None:
    (tmp_path / "README.md").write_text(text)
    bench = importers.read(tmp_path)
    kinds = {*(one.kind for one in bench.texts), *(one.about for one in bench.claims)}
    assert kind not in kinds
    assert "tpc-word" not in kinds or "not-tpc" in kinds


PIECES = ["| ", "|---|", "\n", "- ", "  - ", "# ", "not ", "server 1 ", "16 GB ", "RAM ", "min ", "max ", "1,000 to 1,100 ", ", ", ". ", "é"]  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(text=st.lists(st.sampled_from(PIECES), max_size=60).map("".join))
def test_any_text_has_its_machines(text: str) -> None:
    lines = text.split("\n")
    machines = prose.Machines(lines, 2_000)
    for number, line in enumerate(lines, start=1):
        spread(line, machines.heads(number))
        for match in re.finditer("GB", line):
            machines.of(number, match.start())
            prose.denied(line, *match.span())


RELATIVE = [
    ("It is 30% faster.", True),
    ("It is 30% faster with prepared statements.", False),
    ("Costs fall from ~5 to 2: a 2x improvement.", False),
    ("Inserts: 11,800 ops/sec (+12% improvement)", False),
    ("The 7.6% improvement is due to inlining.", True),
    ("| what | before | after |\n|---|---|---|\n| fetch | 10 | 9 |\n\nThe 7.6% improvement is due to inlining.", False),
]


@pytest.mark.parametrize(("text", "missing"), RELATIVE, ids=range(len(RELATIVE)))
def test_what_a_relative_figure_is_relative_to(tmp_path: Path, text: str, missing: bool) -> None:
    (tmp_path / "README.md").write_text(text)
    assert ("relative" in {one.kind for one in importers.read(tmp_path).texts}) == missing


@pytest.mark.parametrize("turning", [["server 1"], ["server 1", "server 2"], ["", "server 1"]])
def test_what_turns_in_one_machine_does_not_in_another(turning: list[str]) -> None:
    where = Where("README.md", 1)
    texts = [Statement(where, "turns", "7,200 rpm", 7200.0, machine) for machine in turning]
    run = Published(where, "pg_test_fsync", "fdatasync", rate=9000.0, terminals=1, unit="flushes", flushed=True)
    alone = Bench([], published=[run], texts=texts)
    assert list(rates.faster_than_it_turns(alone))
    others = [
        Claim(where, "memory", "memory", 1 << 30, "client"),
        Claim(where, "memory", "memory", 1 << 30, "server 2"),
    ]
    both = Bench([], published=[run], texts=texts, claims=others)
    assert bool(list(rates.faster_than_it_turns(both))) == ("server 2" in turning)
