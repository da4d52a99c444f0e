"""A trace of Firebird's, added up: right on what the engine writes, never more than a refusal on anything else."""

from __future__ import annotations

from datetime import datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from acidtest.formats import firebird_trace
from acidtest.formats.firebird_trace import COMMIT, Figures, Reader
from traces import COMMIT as COMMITTED
from traces import FAILED, FULL, INSERT, SELECT, START, counts, record, statement

ALL = INSERT + SELECT + COMMITTED + START + FAILED + FULL


def read(*texts: str, pieces: int = 1 << 16, **of: object) -> Reader:
    reader = Reader(**of)  # type: ignore[arg-type]
    raw = "".join(texts).encode()
    for at in range(0, len(raw), pieces):
        reader.feed(raw[at : at + pieces])
    reader.close()
    return reader


def told(reader: Reader) -> tuple[object, ...]:
    return reader.statements, reader.records, reader.not_understood, reader.left_out, reader.suspended


def test_each_statement_is_added_up() -> None:
    reader = read(INSERT * 3, SELECT, COMMITTED * 3, START)
    assert reader.statements == {
        ("", "insert into history (tid, bid) values (?, ?)"): Figures(
            count=3, ms=3, ms_max=1, reads=9, writes=3, fetches=36, marks=12, records=[0, 0, 0, 3, 0, 0, 0, 0]
        ),
        ("", "select abalance\nfrom accounts\nwhere aid = ?"): Figures(
            count=1, fetches=2, rows=1, records=[0, 1, 0, 0, 0, 0, 0, 0]
        ),
        (COMMIT, ""): Figures(count=3, ms=21, ms_max=7, writes=12, fetches=3, marks=3),
        ("start of a transaction", ""): Figures(count=1),
    }
    assert (reader.records, reader.not_understood, reader.left_out, reader.suspended) == (8, 0, 0, 0)


def test_what_failed_and_what_was_lost_is_told() -> None:
    reader = read(FAILED, FULL, FAILED)
    (figures,) = reader.statements.values()
    assert (figures.count, figures.failed, reader.suspended) == (2, 2, 1)


def test_only_these_sessions_and_only_from_then_on() -> None:
    early, late = "2026-11-23T17:11:20.4519", "2026-11-23T17:11:20.4520"
    texts = [statement("a", attachment=7, at=late), statement("b", attachment=8, at=late), statement("c", at=early)]
    since = datetime.fromisoformat("2026-11-23T17:11:20.452000")
    assert [text for _, text in read(*texts, attachments={7}, since=since).statements] == ["a"]
    assert [text for _, text in read(*texts).statements] == ["a", "b", "c"]


def test_a_statement_whose_text_looks_like_the_engines_own_words() -> None:
    text = "select '\n3 records fetched\n      9 ms, 9 read(s)\n' from t"
    reader = read(statement(text, perf="      2 ms, 1 read(s)", rows=4))
    assert reader.statements == {("", text): Figures(count=1, ms=2, ms_max=2, reads=1, rows=4)}


def test_the_columns_of_a_table_with_a_long_name() -> None:
    name = "A_TABLE_WHOSE_NAME_IS_LONGER_THAN_THE_COLUMN_HAS_ROOM"
    header = "Table".ljust(len(name)) + firebird_trace.TABLES + "\n" + "*" * 130 + "\n"
    tables = counts(name, update=4_000_000_000, delete=2)
    reader = read(record("COMMIT_TRANSACTION", body=f"      7 ms\n\n{header}{tables}"))
    (figures,) = reader.statements.values()
    assert figures.records == [0, 0, 4_000_000_000, 0, 2, 0, 0, 0]


def test_events_of_another_kind_are_told_and_not_counted() -> None:
    reader = read(record("ATTACH_DATABASE"), INSERT)
    assert (reader.records, reader.not_understood) == (1, 1)


def test_statements_without_end_take_no_memory_without_end() -> None:
    many = firebird_trace.STATEMENTS_MAX + 7
    reader = read(*(statement(f"select {n} from t") for n in range(many)))
    assert (len(reader.statements), reader.left_out, reader.records) == (firebird_trace.STATEMENTS_MAX, 7, many)


@settings(max_examples=200)
@given(st.integers(1, 300))
def test_it_does_not_matter_in_which_pieces_it_comes(pieces: int) -> None:
    assert told(read(ALL, pieces=pieces)) == told(read(ALL))


@settings(max_examples=300)
@given(st.binary(max_size=400), st.integers(0, len(ALL)))
def test_any_bytes_are_read_or_passed_over(raw: bytes, at: int) -> None:
    reader = Reader()
    reader.feed(ALL.encode()[:at] + raw + ALL.encode()[at:])
    reader.close()
    assert reader.records >= 0
    assert sum(figures.count for figures in reader.statements.values()) == reader.records - reader.left_out
    for figures in reader.statements.values():
        assert figures.failed <= figures.count
        assert figures.ms_max <= figures.ms
