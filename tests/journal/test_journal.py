"""The journal: nothing lost, nothing twice, torn lines recovered."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import factory
from acidtest.errors import BadInput
from acidtest.journal import export
from acidtest.journal.models import Header, Machine, PlaceFacts, Recording
from acidtest.journal.reader import read, split_torn
from acidtest.journal.writer import JournalWriter


def header(digest: str = "d") -> Header:
    return Header(
        acidtest_version="0", created_at="now", experiment={"name": "t"}, digest=digest, factors={}, base={}, cells=2
    )


def recording(cell: str, status: str = "done") -> Recording:
    return Recording(
        cell=cell, levels={}, repetition=1, order=1, seed=1, status=status, reason=None, started_at="a", ended_at="b",
        acidtest_version="0", workload={}, durability="drive", durability_means="", engine=None, settings=[],
        machine=Machine(cpu_model="", cpu_count=1, memory_bytes=1, kernel="", os="", virtualization=""),
        place=PlaceFacts(
            kind="directory", path="/", filesystem="", mount_point="", mount_options="", device="", device_model="",
            rotational="", write_cache="", fua="", scheduler="", read_ahead_kb="", free_bytes=0,
        ),
        database_bytes=0, checks_before=None, checks_after=None, result=None, warnings=[],
    )  # fmt: skip


def test_what_was_appended_is_read_back(tmp_path: Path) -> None:
    with JournalWriter(tmp_path, header()) as writer:
        writer.append(recording("a"))
        writer.append(recording("b"))
    journal = read(tmp_path / "journal.jsonl")
    assert [r.cell for r in journal.recordings] == ["a", "b"]
    assert journal.torn_bytes == 0


@given(cut=st.integers(1, 400))
def test_any_cut_in_the_last_line_loses_only_that_line(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    directory = tmp_path_factory.mktemp("journal")
    with JournalWriter(directory, header()) as writer:
        writer.append(recording("a"))
        writer.append(recording("b"))
    path = directory / "journal.jsonl"
    raw = path.read_bytes()
    path.write_bytes(raw[:-cut])
    assert read(path).torn_bytes > 0 or cut == 0
    with JournalWriter(directory, header()) as writer:
        assert [r.cell for r in writer.journal.recordings] == ["a"]
        writer.append(recording("b"))
    assert path.read_bytes() == raw


def test_a_tail_of_zeros_is_torn(tmp_path: Path) -> None:
    with JournalWriter(tmp_path, header()) as writer:
        writer.append(recording("a"))
    path = tmp_path / "journal.jsonl"
    path.write_bytes(path.read_bytes() + b"\0" * 100)
    assert [r.cell for r in read(path).recordings] == ["a"]


def test_a_cell_run_again_counts_once(tmp_path: Path) -> None:
    with JournalWriter(tmp_path, header()) as writer:
        writer.append(recording("a", "failed"))
        writer.append(recording("a"))
    assert [(r.cell, r.status) for r in read(tmp_path / "journal.jsonl").recordings] == [("a", "done")]


def test_another_experiment_is_refused(tmp_path: Path) -> None:
    JournalWriter(tmp_path, header("one")).close()
    with pytest.raises(BadInput, match="another experiment"):
        JournalWriter(tmp_path, header("two"))


def test_two_writers_are_refused(tmp_path: Path) -> None:
    with JournalWriter(tmp_path, header()), pytest.raises(BadInput, match="another acidtest"):
        JournalWriter(tmp_path, header())


def test_a_broken_line_in_the_middle_is_named(tmp_path: Path) -> None:
    with JournalWriter(tmp_path, header()) as writer:
        writer.append(recording("a"))
    path = tmp_path / "journal.jsonl"
    path.write_bytes(path.read_bytes() + b"{}\n" + path.read_bytes().splitlines()[1] + b"\n")
    with pytest.raises(BadInput, match="line 3: not a recording"):
        read(path)


@pytest.mark.parametrize(
    "raw", [b"", b"{}\n", b"x\n", b"[]\n", b'{"kind":"header","format":99}\n', b'{"kind":"header","format":1}\n']
)
def test_what_is_no_journal_is_refused(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(raw)
    with pytest.raises(BadInput):
        read(path)


@given(st.binary(max_size=300))
def test_any_bytes_split_into_whole_lines_and_a_rest(raw: bytes) -> None:
    whole, torn = split_torn(raw)
    assert whole + raw[len(whole) :] == raw
    assert torn == len(raw) - len(whole)
    assert not whole or whole.endswith(b"\n")


def test_the_flat_table_has_loads_kinds_and_new_orders() -> None:
    table = export.table(factory.tpcc())
    row = table.to_pylist()[0]
    assert row["new_order_per_min"] == pytest.approx(450 / 12 * 60)
    assert (row["threads"], row["load_rows"], row["load_sessions"]) == (2, 500_000, 2)
    assert row["load_rows_per_s"] == pytest.approx(111_111, rel=1e-3)
    assert (row["new_order_committed"], row["new_order_rolled_back"], row["payment_committed"]) == (450, 5, 430)
    plain = export.table(factory.journal([factory.recording()])).to_pylist()[0]
    assert plain["new_order_per_min"] is None
    assert plain["threads"] is None
    assert "load_rows" not in plain


def test_a_journal_written_before_loads_threads_and_kinds_were_kept_is_read() -> None:
    held = json.loads(factory.recording().model_dump_json(by_alias=True))
    del held["load"], held["result"]["threads"], held["result"]["kinds"]
    old = Recording.model_validate(held)
    assert old.load is None
    assert old.result is not None
    assert (old.result.threads, old.result.kinds, old.result.new_order_per_min) == (0, [], None)
