"""The journal: nothing lost, nothing twice, torn lines recovered."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import factory
from acidtest.errors import AcidtestError, BadInput
from acidtest.journal.models import Forecast, Header, Machine, PlaceFacts, Recording
from acidtest.journal.reader import read, split_torn
from acidtest.journal.writer import JournalWriter, held


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


def forecast(rate: float) -> Forecast:
    return Forecast(
        written_at="now", levels={"engine": "e"}, size="2 GB", bytes=2e9, rate_per_s=rate, measured=["1 GB"]
    )


def test_a_forecast_counts_only_if_it_was_written_before_its_size_was_measured(tmp_path: Path) -> None:
    at = {"levels": {"engine": "e", "size": "2 GB"}}
    with JournalWriter(tmp_path, header()) as writer:
        writer.append(forecast(1.0))
        writer.append(recording("a", "failed").model_copy(update=at))
        writer.append(forecast(2.0))
        writer.append(recording("b").model_copy(update={"levels": {"engine": "other", "size": "2 GB"}}))
        writer.append(forecast(3.0))
        writer.append(recording("c").model_copy(update=at))
        writer.append(forecast(4.0))
    journal = read(tmp_path / "journal.jsonl")
    assert [forecast.rate_per_s for forecast in journal.forecasts] == [3.0]
    assert len(journal.recordings) == 3
    assert journal.damaged == []


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


@pytest.mark.parametrize("tail", [b"\0" * 100, b"\0" * 100 + b"\n"], ids=["", "whose end was written"])
def test_a_tail_of_zeros_is_torn(tmp_path: Path, tail: bytes) -> None:
    with JournalWriter(tmp_path, header()) as writer:
        writer.append(recording("a"))
    path = tmp_path / "journal.jsonl"
    path.write_bytes(path.read_bytes() + tail)
    assert [r.cell for r in read(path).recordings] == ["a"]
    assert read(path).torn_bytes == len(tail)


def test_a_cell_run_again_counts_once(tmp_path: Path) -> None:
    with JournalWriter(tmp_path, header()) as writer:
        writer.append(recording("a", "failed"))
        writer.append(recording("a"))
    assert [(r.cell, r.status) for r in read(tmp_path / "journal.jsonl").recordings] == [("a", "done")]


def test_another_experiment_is_refused(tmp_path: Path) -> None:
    JournalWriter(tmp_path, header("one")).close()
    with pytest.raises(BadInput, match="another experiment"):
        JournalWriter(tmp_path, header("two"))


def of_file(text: str) -> Header:
    experiment = {"name": "t", "workload": {"shop": {"files": {"look.sql": text}}}}
    return header(text).model_copy(update={"experiment": experiment})


def test_a_journal_of_other_files_is_begun_anew_only_where_nothing_in_it_counts(tmp_path: Path) -> None:
    with JournalWriter(tmp_path, of_file("wrong")) as writer:
        writer.append(recording("a", "failed"))

    def counts(one: Recording) -> bool:
        return one.status != "failed"

    with pytest.raises(BadInput, match=r"other files: shop: look\.sql") as refused:
        held(tmp_path, of_file("right"))
    assert "--retry-failed" in refused.value.remedy
    assert held(tmp_path, of_file("right"), counts=counts) is None
    with JournalWriter(tmp_path, of_file("right"), counts=counts) as writer:
        assert writer.journal.recordings == []
        writer.append(recording("a"))
    assert [recording.status for recording in read(tmp_path / "acidtest-before-journal.jsonl").recordings] == ["failed"]
    assert [recording.status for recording in read(tmp_path / "journal.jsonl").recordings] == ["done"]
    with pytest.raises(BadInput, match="other files") as refused:
        held(tmp_path, of_file("right again"), counts=counts)
    assert "--retry-failed" not in refused.value.remedy


def test_two_writers_are_refused(tmp_path: Path) -> None:
    with JournalWriter(tmp_path, header()), pytest.raises(BadInput, match="another acidtest"):
        JournalWriter(tmp_path, header())


def whole(name: bytes, status: bytes = b"done") -> bytes:
    return (
        recording("b")
        .model_dump_json()
        .encode()
        .replace(b'"b"', b'"%s"' % name, 1)
        .replace(b'"done"', b'"%s"' % status)
    )


DAMAGED = {
    "zeros in it": (whole(b"b")[:300] + b"\0" * 9 + whole(b"b")[309:], "b", "not JSON"),
    "zeros at its beginning": (b"\0" * 60 + whole(b"b")[60:], None, "not JSON"),
    "its end is cut off": (whole(b"b")[:-40], "b", "not JSON"),
    "two lines have run together": (whole(b"b") + b"\0" + whole(b"c"), "b", "not JSON"),
    "bytes that are no UTF-8": (whole(b"b").replace(b"drive", b"dr\xffve"), "b", "not JSON"),
    "a carriage return in it": (whole(b"b")[:300] + b"\r" + whole(b"b")[301:], "b", "not JSON"),
    "a word that is none of its words": (whole(b"b", b"dune"), "b", "not a recording: status: Input should be"),
    "a name that no field has": (
        whole(b"b").replace(b'"seed"', b'"sxed"'),
        "b",
        "not a recording: seed: Field required",
    ),
    "nothing": (b"", None, "not JSON"),
    "an empty object": (b"{}", None, "not a recording: cell: Field required"),
    "another value": (b"7", None, "not a recording: Input should be"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_line_in_the_middle_is_told_and_its_cell_counts_as_not_run(tmp_path: Path, name: str) -> None:
    line, cell, why = DAMAGED[name]
    with JournalWriter(tmp_path, header()) as writer:
        for one in ("a", "b", "d"):
            writer.append(recording(one, "failed" if one == "b" else "done"))
    path = tmp_path / "journal.jsonl"
    lines = path.read_bytes().splitlines()
    # b had failed, was run again, and that is damaged
    path.write_bytes(b"\n".join([*lines[:3], line, *lines[3:], b""]))
    journal = read(path)
    held = ["a", "d"] if cell else ["a", "b", "d"]
    assert [recording.cell for recording in journal.recordings] == held
    assert journal.lines == {"a": 2, "b": 3, "d": 5} if not cell else {"a": 2, "d": 5}
    (found,) = journal.damaged
    assert (found.file, found.line, found.cell) == (str(path), 4, cell)
    assert found.why.startswith(why)
    assert found.told.startswith(f"{path}, line 4: damaged ({why}")
    assert "counts as not run, and the same command runs it again" in found.told
    with JournalWriter(tmp_path, header()) as writer:
        assert [recording.cell for recording in writer.journal.recordings] == held
        writer.append(recording("b"))
    again = read(path)
    assert [recording.cell for recording in again.recordings] == ["a", "d", "b"]
    assert [one.line for one in again.damaged] == ([] if cell else [4])  # nobody knows what was in it


@given(data=st.data())
def test_damage_of_any_bytes_is_told_and_touches_no_other_line(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    lines = [header().model_dump_json().encode(), *(recording(one).model_dump_json().encode() for one in "abcd")]
    number = data.draw(st.integers(1, 3))  # neither the header nor the last
    start = data.draw(st.integers(0, len(lines[number]) - 1))
    written = data.draw(st.binary(min_size=8, max_size=60).filter(lambda raw: b"\n" not in raw and b"\0" in raw))
    lines[number] = lines[number][:start] + written + lines[number][start + len(written) :]
    path = tmp_path_factory.mktemp("journal") / "journal.jsonl"
    path.write_bytes(b"\n".join([*lines, b""]))
    journal = read(path)
    assert [one.line for one in journal.damaged] == [number + 1]
    assert [recording.cell for recording in journal.recordings] == [one for one in "abcd" if one != "abcd"[number - 1]]


def test_a_line_that_was_cut_off_is_told_until_the_next_run_mends_it(tmp_path: Path) -> None:
    with JournalWriter(tmp_path, header()) as writer:
        writer.append(recording("a"))
        writer.append(recording("b"))
    path = tmp_path / "journal.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    (found,) = read(path).damaged
    assert (found.line, found.cell, found.why) == (3, "b", "cut off while it was written")
    JournalWriter(tmp_path, header()).close()
    assert read(path).damaged == []


def test_a_field_of_a_newer_acidtest_is_no_damage(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    newer = whole(b"a").replace(b'"kind"', b'"phase_of_the_moon":1,"kind"', 1)
    path.write_bytes(b"\n".join([header().model_dump_json().encode(), newer, b""]))
    with pytest.raises(
        BadInput, match=r"line 2: has a field that this acidtest does not know \(phase_of_the_moon\)"
    ) as raised:
        read(path)
    assert raised.value.remedy == "use a newer acidtest"


def test_a_journal_that_was_removed_in_mid_run_takes_nothing_more(tmp_path: Path) -> None:
    with JournalWriter(tmp_path, header()) as writer:
        writer.append(recording("a"))
        (tmp_path / "journal.jsonl").unlink()
        with pytest.raises(AcidtestError, match=r"journal\.jsonl: was removed while the run went on"):
            writer.append(recording("b"))
        (tmp_path / "journal.jsonl").write_bytes(b"")  # another file in its place
        with pytest.raises(AcidtestError, match="was removed"):
            writer.append(recording("b"))


def test_a_journal_can_be_looked_at_without_writing(tmp_path: Path) -> None:
    assert held(tmp_path, header()) is None
    assert held(tmp_path / "none", header()) is None
    (tmp_path / "journal.jsonl").write_bytes(b"")
    assert held(tmp_path, header()) is None
    with JournalWriter(tmp_path, header()) as writer:
        writer.append(recording("a"))
        found = held(tmp_path, header())  # also while a run writes it
    assert found is not None
    assert [recording.cell for recording in found.recordings] == ["a"]
    with pytest.raises(BadInput, match="another experiment"):
        held(tmp_path, header("other"))


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


def test_a_journal_written_before_loads_threads_and_kinds_were_kept_is_read() -> None:
    held = json.loads(factory.recording().model_dump_json(by_alias=True))
    del held["load"], held["result"]["threads"], held["result"]["kinds"]
    old = Recording.model_validate(held)
    assert old.load is None
    assert old.result is not None
    assert (old.result.threads, old.result.kinds, old.result.new_order_per_min) == (0, [], None)
