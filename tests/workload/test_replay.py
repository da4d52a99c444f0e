"""Logs as workloads: what is made of one, what cannot be replayed, and what is refused."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from acidtest.errors import BadInput
from acidtest.experiment import parse
from acidtest.formats.logs import Entry, lines, recognised
from acidtest.formats.logs.postgres import parameters
from acidtest.workload import logged, replaying
from acidtest.workload.base import Runner
from acidtest.workload.replay import Replay
from recording import row
from workloads import SHOP

LOGS = Path(__file__).parents[1] / "logs"
FORMATS = {
    "postgresql.csv": "PostgreSQL csvlog",
    "postgresql.json": "PostgreSQL jsonlog",
    "mysql-general.log": "MySQL general log",
    "mysql-slow.log": "MySQL slow log",
    "mariadb-general.log": "MySQL general log",
    "mariadb-slow.log": "MySQL slow log",
    "firebird-trace.txt": "Firebird trace",
}
MYSQL_HEAD = "Time                 Id Command    Argument\n"


def made(tmp_path: Path, text: str, database: str | None = None) -> tuple[replaying.LogFacts, list[list[Any]]]:
    """What a log becomes: its facts, and its statements as [session, kind, text, parameters, failed]."""
    log = tmp_path / "a.log"
    log.write_text(text, encoding="utf-8", newline="")
    out = io.BytesIO()
    facts = replaying.made([log], database, out)
    *statements, _ = [json.loads(line) for line in out.getvalue().splitlines()]
    return facts, [[statement[0], statement[2], statement[3], statement[4], statement[6]] for statement in statements]


def kinds(statements: list[list[Any]]) -> str:
    return "".join(statement[1] for statement in statements)


def left(facts: replaying.LogFacts) -> dict[str, int]:
    return {not_replayed.why: not_replayed.count for not_replayed in facts.not_replayed}


@pytest.mark.parametrize("name", FORMATS)
def test_each_format_is_recognised_and_every_transaction_of_a_real_log_is_found(name: str, tmp_path: Path) -> None:
    content = (LOGS / name).read_bytes()
    found = recognised(content)
    assert found is not None
    assert found.name == FORMATS[name]
    facts, statements = made(tmp_path, content.decode())
    # Nine transactions of three terminals; a look has two queries, each a transaction of its own.
    texts = [text for _, _, text, _, _ in statements]
    buys = sum(text.startswith("insert into purchase_line") for text in texts)
    looks = sum(text.startswith("select id, amount from purchase") for text in texts)
    assert (buys + looks, buys > 0, looks > 0) == (9, True, True)
    assert facts.transactions >= buys + 2 * looks
    assert kinds(statements).count("b") == kinds(statements).count("c") + kinds(statements).count("r")
    assert not [why for why in left(facts) if why != logged.WHOLE_SERVER]
    assert facts.failed == 0
    assert facts.length_s < 10


def test_a_duration_belongs_to_the_statement_before_it_and_an_error_to_the_one_that_it_names(tmp_path: Path) -> None:
    facts, statements = made(
        tmp_path,
        row("statement: select 1") + row("duration: 12.345 ms")
        + row("duration: 7.000 ms  parse <unnamed>: select $1") + row("duration: 0.100 ms  bind <unnamed>: select $1")
        + row("execute <unnamed>: select $1", detail="Parameters: $1 = 'it''s, $2 = x', $2 = NULL")
        + row("statement: insert\ninto \"t\"") + row("duplicate key", severity="ERROR", statement='insert\ninto "t"')
        + row("syntax error", severity="ERROR", statement="selec 2"),
    )  # fmt: skip
    assert [statement[2:] for statement in statements] == [
        ["select 1", None, False],
        ["select $1", ["it's, $2 = x", None], False],
        ['insert\ninto "t"', None, True],
        ["selec 2", None, True],
    ]
    assert kinds(statements) == "spss"
    assert (facts.failed, facts.tell_time, facts.transactions) == (2, 1, 4)


def test_a_statement_that_is_told_at_its_end_began_before(tmp_path: Path) -> None:
    log = tmp_path / "a.csv"
    log.write_text(
        row("duration: 60.000 ms  statement: select 1", at="00:00.100")
        + row("statement: select 2", at="00:00.200", session="6b04.2"),
        encoding="utf-8",
    )
    out = io.BytesIO()
    replaying.made([log], None, out)
    first, second, whole = [json.loads(line) for line in out.getvalue().splitlines()]
    if first[3] == "select 2":
        first, second = second, first
    assert (first[1] - whole["base_us"], second[1] - whole["base_us"], first[7]) == (0, 160_000, 60_000)


@pytest.mark.parametrize(
    ("detail", "values"),
    [
        ("$1 = '42'", ("42",)),
        ("$1 = 'a''''b', $2 = NULL", ("a''b", None)),
        ("$1 = ', $2 = '", (", $2 = ",)),
        ("$1 = 'open", None),
        ("$2 = '1'", None),
        ("", None),
    ],
)
def test_parameters_of_a_detail(detail: str, values: tuple[str | None, ...] | None) -> None:
    assert parameters(detail) == values


def test_what_cannot_be_replayed_is_counted_with_its_lines(tmp_path: Path) -> None:
    log = (
        row("statement: copy t from stdin") + row("statement: COPY t TO '/tmp/x'") + row("statement: listen x")
        + row("execute <unnamed>: select $1") + row("statement: select '$1'") + row("execute fetch from a/b: select 1")
        + row("fastpath function call: \"f\" (OID 7)") + row("statement: alter system set x = 1")
        + row("execute <unnamed>: select $1", detail="Parameters: $1 = 'long...'")
        + row("statement: begin") + row("statement: update t set a = 1") + row("statement: prepare transaction 'x'")
    )  # fmt: skip
    facts, statements = made(tmp_path, log + 'cut,"short')
    assert kinds(statements) == "sbsr"
    assert left(facts) == {
        logged.COPY_DATA: 1,
        logged.FILES: 1,
        logged.LISTENS: 1,
        logged.WITHOUT_PARAMETERS: 1,
        "a fetch from a portal, whose beginning the log does not distinguish": 1,
        "a function that was called by the fast path: the log has no arguments": 1,
        logged.WHOLE_SERVER: 1,
        "a parameter ends in ..., as one does that the log has cut short": 1,
        logged.TWO_PHASE: 1,
        "the log is cut short there, or a record is longer than 16 MiB": 1,
    }
    assert next(not_replayed.places for not_replayed in facts.not_replayed if not_replayed.why == logged.LISTENS) == (
        "a.log:3",
    )


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["begin", "x", "commit"], "bsc"),
        (["BEGIN ISOLATION LEVEL SERIALIZABLE", "x", "rollback to savepoint a", "abort"], "bssr"),
        (["x", "commit", "y"], "ss"),
        (["begin; x; commit"], "s"),
        (["begin; x", "y; commit"], "bc"),
        (["start transaction", "x", "commit and chain", "y", "end"], "bscbsc"),
        (["/* a */ begin -- b", "do $$ begin commit; end $$", "commit"], "bsc"),
        (["begin", "create function f() returns int begin atomic select 1; end", "commit"], "bsc"),
        (["begin", "x"], "bsr"),
    ],
)
def test_transactions_of_postgresql(texts: list[str], expected: str, tmp_path: Path) -> None:
    facts, statements = made(tmp_path, "".join(row(f"statement: {text}") for text in texts))
    assert kinds(statements) == expected
    assert facts.transactions == expected.count("c") + expected.count("r") + _alone(expected)


def _alone(expected: str) -> int:
    alone, is_open = 0, False
    for kind in expected:
        is_open = (is_open or kind in "bi") and kind not in "cr"
        alone += kind == "s" and not is_open
    return alone


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["begin", "x", "begin", "y", "commit"], "bscbsc"),
        (["set autocommit = 0", "x", "y", "commit", "z", "set autocommit=1"], "sisscisc s".replace(" ", "")),
        (["begin", "x", "create table t (a int)", "y"], "bscs"),
        (["begin", "create temporary table t (a int)", "commit"], "bsc"),
        (["insert into t values ('a;\\';b')"], "s"),
        (["create procedure p() begin select 1; end"], "s"),
    ],
)
def test_transactions_of_mysql(texts: list[str], expected: str, tmp_path: Path) -> None:
    log = MYSQL_HEAD + "".join(f"2026-11-23T22:00:00.{n:06d}Z\t    8 Query\t{text}\n" for n, text in enumerate(texts))
    _, statements = made(tmp_path, log)
    assert kinds(statements) == expected


def test_a_general_log_counts_connections_anew_after_a_start_and_skips_what_sql_executes_twice(tmp_path: Path) -> None:
    log = (
        "mysqld, Version: 8.0.15. started with:\nTcp port: 0\n" + MYSQL_HEAD
        + "2026-11-23T22:00:00.000001Z\t    8 Connect\tme@localhost on shop using Socket\n"
        + "2026-11-23T22:00:00.000002Z\t    8 Query\tselect 1\n\nfrom t\n"
        + "2026-11-23T22:00:00.000003Z\t    8 Query\texecute p\n2026-11-23T22:00:00.000004Z\t    8 Execute\tselect 2\n"
        + "mysqld, Version: 8.0.15. started with:\nTcp port: 0\n" + MYSQL_HEAD
        + "2026-11-23T22:00:01.000001Z\t    8 Execute\tselect 3\n"
    )  # fmt: skip
    facts, statements = made(tmp_path, log)
    assert [(statement[0], statement[2]) for statement in statements] == [
        (0, "select 1\n\nfrom t"),
        (0, "execute p"),
        (1, "select 3"),
    ]
    assert (facts.sessions, facts.terminals) == (2, 1)


def test_a_log_of_several_databases_needs_one_to_be_named(tmp_path: Path) -> None:
    log = row("statement: select 1") + row("statement: select 2", database="other", session="6b04.2")
    with pytest.raises(BadInput, match=r"is of 2 databases: shop \(1 statement\), other \(1 statement\)"):
        made(tmp_path, log)
    facts, statements = made(tmp_path, log, "other")
    assert [statement[2] for statement in statements] == ["select 2"]
    assert facts.sessions == 1
    with pytest.raises(BadInput, match="has no statement of database none; it is of shop, other"):
        made(tmp_path, log, "none")


def test_sessions_share_terminals_where_they_do_not_overlap(tmp_path: Path) -> None:
    log = "".join(
        row("statement: select 1", session=f"6b04.{number}", at=f"00:0{number}.000")
        + row("disconnection: session time", session=f"6b04.{number}", at=f"00:0{number + 1}.500")
        for number in range(4)
    )
    log = log.replace("2026-11-23 22:00:00 UTC", "2026-11-23 22:00:09 UTC")  # sessions begin with their first line
    facts, _ = made(tmp_path, log)
    assert (facts.sessions, facts.terminals) == (4, 2)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is no log whose statements are known here"),
        ("hello\n", "is no log whose statements are known here"),
        (row("statement: listen x"), "nothing in it can be replayed: LISTEN"),
        (row("connection received"), "nothing in it can be replayed: it has no statement"),
    ],
)
def test_what_is_left_with_nothing_is_refused(text: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=why):
        made(tmp_path, text)


EXPERIMENT = """name = "t"
engine = "{engine}"
durability = "drive"
[workload.t]
kind = "replay"
path = "{log}"
database = "{shop}"
{more}
"""


def experiment(more: str = "", engine: str = "postgresql-17", log: Path = LOGS / "postgresql.csv") -> Replay:
    read = parse(EXPERIMENT.format(engine=engine, log=log, shop=SHOP, more=more), "t.toml").workload["t"]
    assert isinstance(read, Replay)
    return read


def test_an_experiment_has_terminals_and_count_of_its_log() -> None:
    workload = experiment("speed = 2")
    facts = workload.facts()
    assert (workload.terminals, workload.count) == (facts.terminals, facts.transactions)
    phase = workload.run_phase()
    assert (phase.connect, phase.pacing.kind, phase.terminals) == ("as_recorded", "recorded", facts.terminals)
    assert workload.run_s(1000) == facts.length_s / 2
    assert experiment('pace = "closed"').run_phase().pacing.kind == "closed"
    assert workload.told_before()[0].endswith("statements, replayed at its times, 2 times as fast.")


@pytest.mark.parametrize("key", ["terminals = 4", "count = 5", "duration_s = 1", "rate_per_s = 7", "think_ms = 1"])
def test_what_the_log_says_is_no_key(key: str) -> None:
    with pytest.raises(BadInput, match=f"{key.split(maxsplit=1)[0]}: the log says that"):
        experiment(key)


def test_an_engine_of_another_family_is_refused() -> None:
    workload = experiment()
    here = Runner(family="mysql", release=(8, 0), private=True, raw=False)
    refused = workload.refused(here)
    assert refused is not None
    assert refused.why == "cannot replay a PostgreSQL csvlog: its SQL is that of PostgreSQL"
    assert workload.refused(Runner(family="postgresql", release=(17,), private=True, raw=False)) is None
    in_guest = workload.refused(Runner(family="postgresql", release=(17,), private=True, raw=False, in_guest=True))
    assert in_guest is not None
    assert "guest" in in_guest.why


def test_long_lines_are_cut_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules[lines.__module__]
    monkeypatch.setattr(module, "LINE_BYTES_MAX", 4)
    monkeypatch.setattr(module, "BLOCK_BYTES", 3)
    found = [(line.number, line.content, line.is_whole) for line in lines(io.BytesIO(b"ab\nabcd\nabcdef\n\nxy"))]
    assert found == [(1, b"ab", True), (2, b"abcd", True), (3, b"abcd", False), (4, b"", True), (5, b"xy", False)]


@pytest.mark.parametrize(
    ("family", "text", "pieces"),
    [
        ("postgresql", "a; b", ["a", " b"]),
        ("postgresql", "a ';' \"x;\" $q$;$q$ -- ;\n/* ; */;b", ["a ';' \"x;\" $q$;$q$ -- ;\n/* ; */", "b"]),
        ("postgresql", "select E'\\';' ; c", ["select E'\\';' ", " c"]),
        ("postgresql", "select '\\'; c", ["select '\\'", " c"]),
        ("mysql", "select '\\';' ; c # ;", ["select '\\';' ", " c # ;"]),
        ("firebird", "a; b", ["a; b"]),
        ("mysql", "a;;;", ["a;;;"]),
    ],
)
def test_texts_are_taken_apart(family: str, text: str, pieces: list[str]) -> None:
    assert logged.pieces(text, family) == pieces


@pytest.mark.parametrize("unit", ["select 1;", "/**/", "''", "E'\\\\", "$a$", "--\n"])
def test_taking_apart_takes_time_linear_in_the_text(unit: str) -> None:
    """Counted in the signs that are looked at, not in seconds."""
    text = unit * 2_000
    assert len(list(logged._plain_signs(text, "postgresql"))) <= len(text) + 1
    assert len("".join(logged._pieces(text, "postgresql"))) <= len(text)


def test_entries_tell_their_lines(tmp_path: Path) -> None:
    found: list[Entry] = []
    content = (LOGS / "postgresql.csv").read_bytes()
    of = recognised(content)
    assert of is not None
    found = list(of.read(lines(io.BytesIO(content))))
    texts = content.decode().split("\n")
    told = [entry for entry in found if entry.act == "statement"]
    assert told
    assert all(entry.text.split("\n")[0].replace('"', '""') in texts[entry.line - 1] for entry in told)
