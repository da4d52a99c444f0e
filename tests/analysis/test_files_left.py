"""The files that a power cut has left, beside those before it: every name that is missing or shorter, and no other."""

from __future__ import annotations

import pytest

from acidtest.analysis.files_left import Before, compare, in_words

BEFORE = {"log": 1_204, "names/a": 17, "store": 12_288}


@pytest.mark.parametrize(
    ("left", "than", "lines"),
    [
        (
            BEFORE | {"grown": 1, "log": 9_000},
            "power failed",
            ["files left: grown (1 byte), log (9,000 bytes), names/a (17 bytes), 1 more",
             "beside those when power failed: none is missing or shorter"],
        ),
        (
            {"log": 0, "store": 12_288},
            "every write",
            ["files left: log (0 bytes), store (12,288 bytes)",
             "beside those with every write up to then: missing names/a (17 bytes); shorter log (0 of 1,204 bytes)"],
        ),
        ({}, "power failed", ["files left: none",
                              "beside those when power failed: missing log (1,204 bytes), names/a (17 bytes), store (12,288 bytes)"]),
    ],
)  # fmt: skip
def test_what_is_missing_and_what_is_shorter_is_named(left: dict[str, int], than: Before, lines: list[str]) -> None:
    assert in_words(compare(left, BEFORE, than)) == lines


def test_of_many_files_all_are_counted_and_names_are_no_commands() -> None:
    files = compare({}, {f"{n:02}\x1b": n for n in range(50)}, "power failed")
    assert (files.missing_count, len(files.missing)) == (50, 20)
    assert in_words(files)[1].endswith(r"00\x1b (0 bytes), 01\x1b (1 byte), 02\x1b (2 bytes), 47 more")
    assert in_words(None) == []
