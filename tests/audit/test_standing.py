"""What becomes of what was published, and what a sentence is that publishes something."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from acidtest.audit import importers, judge
from acidtest.audit.bench import (
    Bench,
    Configuration,
    Declared,
    DeclaredResult,
    Published,
    Sentence,
    Setting,
    Side,
    Statement,
    Where,
)
from acidtest.audit.standing import groups

SENTENCES = [
    ("PostgreSQL is 2 times faster than MySQL.", True),
    ("It reaches **12,345 tps** with 16 clients.", True),
    ("MariaDB outperforms MySQL.", True),
    ("The p99 latency is 40% lower with the new build.", True),
    ("- 9,100 transactions per second", True),
    ("NVMe drives are faster than hard disks.", False),
    ("Is PostgreSQL faster than MySQL?", False),
    ("It should be 2 times faster.", False),
    ("We want to find out how fast it is, 100 tps or 1,000 tps.", False),
    ("| PostgreSQL | 12,345 tps |", False),
    ("# 12,345 tps", False),
    ("PostgreSQL 16 was installed from packages.", False),
]


@pytest.mark.parametrize(("text", "publishes"), SENTENCES)
def test_what_publishes_something(tmp_path: Path, text: str, publishes: bool) -> None:
    (tmp_path / "README.md").write_text(f"A study.\n\n{text}\n", encoding="utf-8")
    assert bool(importers.read(tmp_path).sentences) == publishes


def test_a_sentence_goes_on_in_the_next_line(tmp_path: Path) -> None:
    text = "---\ntitle: 5 tps\n---\nA study. MySQL\nis slower than\n[SQLite](https://sqlite.org). It is old.\n```\n7 tps\n```\n"
    (tmp_path / "README.md").write_text(text, encoding="utf-8")
    (found,) = importers.read(tmp_path).sentences
    assert (found.text, found.where.line) == ("MySQL is slower than SQLite.", 4)


def side(name: str, engine: str, **values: str) -> Side:
    settings = tuple(Setting(key, value, Where(f"{name}.conf", n)) for n, (key, value) in enumerate(values.items(), 1))
    kind = "my.cnf" if engine == "mysql" else "postgresql.conf"
    return Side(name, engine, configurations=(Configuration(Where(f"{name}.conf"), engine, kind, settings),))


LOOSE = side("my", "mysql", innodb_flush_log_at_trx_commit="2", innodb_buffer_pool_size="8G")
STRICT = side("pg", "postgresql", fsync="on", shared_buffers="8GB")
RUN = Published(Where("run.txt", 3), "sysbench", "run", rate=100.0)


def sentences(*texts: str) -> list[Sentence]:
    return [Sentence(Where("README.md", number), text) for number, text in enumerate(texts, 1)]


def verdicts(bench: Bench) -> dict[str, str]:
    held, _ = groups(bench, judge.of_bench(bench))
    return {said.text: group.verdict for group in held for said in group.sentences}


def test_a_comparison_falls_and_a_figure_alone_does_not() -> None:
    compares, alone = "PostgreSQL is slower.", "It does 100 tps."
    bench = Bench([LOOSE, STRICT], published=[RUN], sentences=sentences(compares, alone))
    told = verdicts(bench)
    assert told[compares] == "falls"
    assert told[alone] != "falls"


def test_nothing_stands_without_results() -> None:
    bench = Bench([STRICT], sentences=sentences("It does 100 tps."))
    assert verdicts(bench) == {"It does 100 tps.": "not examined"}
    told = replace(RUN, told=True)
    assert verdicts(replace(bench, published=[told])) == {"It does 100 tps.": "not examined"}


def test_a_finding_of_latency_leaves_rates_alone() -> None:
    rate, latency = "It does 100 tps.", "The p99 latency of it is 2 ms, 10% lower."
    disordered = replace(RUN, latency_ms={"p50": 9.0, "p99": 2.0})
    told = verdicts(Bench([], published=[disordered], sentences=sentences(rate, latency)))
    assert told[latency] == "falls"
    assert told[rate] != "falls"


def test_a_finding_of_one_engine_leaves_others_alone() -> None:
    mine, theirs, other = "MySQL does 100 tps.", "PostgreSQL does 90 tps.", "MongoDB does 80 tps."
    off = side("pg", "postgresql", autovacuum="off", shared_buffers="8GB")
    bench = Bench([side("my", "mysql", innodb_buffer_pool_size="8G"), off], sentences=sentences(mine, theirs, other))
    vacuum = [one for one in judge.of_bench(bench) if one.rule.name == "autovacuum-off"]
    held, rest = groups(bench, vacuum)
    assert {said.text: group.verdict for group in held for said in group.sentences} == {
        mine: "not examined",
        other: "not examined",
        theirs: "doubtful",
    }
    assert rest == []


def test_a_finding_of_one_sentence_is_of_no_other() -> None:
    said = sentences("It is 40% faster!", "It does 100 tps.")
    relative = Statement(said[0].where, "relative", "40% faster")
    bench = Bench([], published=[RUN], texts=[relative], sentences=said)
    base = [one for one in judge.of_bench(bench) if one.rule.name == "base-missing"]
    held, _ = groups(bench, base)
    assert [(group.verdict, [one.text for one in group.sentences]) for group in held] == [
        ("doubtful", ["It is 40% faster!"]),
        ("stands", ["It does 100 tps."]),
    ]


def test_what_is_declared_counts_and_rests_on_its_results() -> None:
    said = (
        DeclaredResult(Where("benchmark.toml", 2), "It has a p99 latency of 2 ms.", ("a",)),
        DeclaredResult(Where("benchmark.toml", 4), "It has a p99 latency of 3 ms.", ("b",)),
    )
    disordered = replace(RUN, where=Where("a/run.txt", 1), latency_ms={"p50": 9.0, "p99": 2.0})
    sound = replace(RUN, where=Where("b/run.txt", 1), latency_ms={"p50": 2.0, "p99": 3.0})
    bench = Bench(
        [],
        published=[disordered, sound],
        sentences=sentences("It does 100 tps."),
        declared=Declared(Where("benchmark.toml"), published=said),
    )
    found = [one for one in judge.of_bench(bench) if one.rule.name == "percentiles-disordered"]
    held, _ = groups(bench, found)
    assert [(group.verdict, group.sentences[0].where.line) for group in held] == [("falls", 2), ("stands", 4)]


def test_a_table_of_a_text_is_published_as_one() -> None:
    rows = [Published(Where("README.md", n), "", "run", rate=float(n), told=True) for n in (5, 6, 7, 20, 21)]
    bench = Bench([], published=[*rows, RUN, replace(RUN, where=Where("out.csv", 5), told=True)])
    held, _ = groups(bench, [])
    assert [(said.where.line, said.last) for group in held for said in group.sentences] == [(5, 7), (20, 21)]
    assert [said.is_at("README.md", 6) for group in held for said in group.sentences] == [True, False]


def test_notes_and_what_is_set_aside_decide_nothing() -> None:
    bench = Bench([LOOSE, STRICT], published=[RUN], sentences=sentences("PostgreSQL is slower than MySQL."))
    aside = [replace(one, waiver="on purpose") for one in judge.of_bench(bench)]
    held, rest = groups(bench, aside)
    assert [group.verdict for group in held] == ["stands"]
    assert rest == aside


def test_every_finding_is_somewhere() -> None:
    bench = Bench([LOOSE, STRICT], published=[RUN], sentences=sentences("MySQL is faster.", "It does 100 tps."))
    findings = judge.of_bench(bench)
    held, rest = groups(bench, findings)
    assert {id(one) for group in held for one in group.findings} | {id(one) for one in rest} == set(map(id, findings))
