"""One commit line by line, apart from what others asked of the same disk."""

from __future__ import annotations

from typing import Any

from acidtest.journal.protocol import ObservedCalls, ObservedLine, StorageCount, TypicalCommit
from acidtest.report.calls import beneath, files_table, of_others, shown_lines, typical_table
from acidtest.report.table import print_table
from factory import observed, recording
from terminals import printed


def line(layer: str, who: str, what: str, length: int | None = None, **changes: Any) -> ObservedLine:
    fields = {
        "at_us": 1.0, "lasted_us": None, "layer": layer, "who": who, "own": False, "what": what, "how": "", "path": None,
        "offset": None, "bytes": length, "error": None,
    }  # fmt: skip
    return ObservedLine.model_validate(fields | changes)


def typical(*lines: ObservedLine) -> TypicalCommit:
    return TypicalCommit(
        begin_ns=1, lasted_us=100.0, commit_at_us=None, terminal=0, alike=9, lines=list(lines), left_out=0
    )


MINE = [
    line("call", "postgres:7", "pwrite64", 8192),
    line("block", "postgres:7", "write", 8192),
    line("block", "kworker/1:2H-kblockd:9", "flush"),
    line("file_system", "jbd2/vda1-8:4", "jbd2 commit"),
    line("block", "rig:3", "write", 4096, own=True),
    line("device", "disk", "flush"),
]


def test_what_other_programs_asked_of_the_disk_is_one_line() -> None:
    others = [
        line("block", "cc1:40", "write", 4096),
        line("block", "cc1:40", "write", 1),
        line("block", "tar:5", "read", 9),
    ]
    commit = typical(MINE[0], others[0], *MINE[1:], *others[1:])
    assert shown_lines(commit) == MINE
    assert of_others(commit) == (
        "On the same disk meanwhile, by threads that made no call for this commit: 3 requests, 4,097 bytes written "
        "(cc1:40, tar:5)."
    )
    assert of_others(typical(*MINE)) == ""


def test_what_the_disk_did_is_said_to_be_of_all_programs() -> None:
    calls = ObservedCalls(
        means="kernel", tied_by="thread", seconds=1, calls=1, dropped=0, commits=10, files=[],
        storage=[StorageCount(layer="block", what="write", count=640, bytes=2_850_000, total_us=0)],
        per_commit=None, typical=None,
    )  # fmt: skip
    assert beneath(calls) == (
        "Beneath, on this disk, by all programs of the machine together, for each commit: 64.0 write (285,000 bytes)."
    )


def test_names_that_differ_by_their_end_are_whole_at_any_width() -> None:
    calls = observed(engine_file="database.db-wal")
    assert calls.typical is not None
    for table in (files_table(recording(calls=calls)), typical_table(calls.typical)):
        for width in (40, 60, 80, 160):
            assert "database.db-wal" in printed(print_table, table, width=width)
