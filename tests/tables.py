"""Tests over tables: all rows are one test, which fails with each row that does."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from acidtest.audit import importers, judge
from acidtest.audit.bench import Bench
from acidtest.finding import Rule

Kit = dict[str, str]
RuleOverKits = tuple[str, str, list[Kit], list[Kit]]  # its name, how severe it is, kits that it finds wrong and right


def write(at: Path, files: Mapping[str, str | bytes]) -> None:
    for name, content in files.items():
        file = at / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)


def read(at: Path, files: Mapping[str, str | bytes]) -> Bench:
    """The kit of these files, written there."""
    write(at, files)
    return importers.read(at)


def rows(*table: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The test is called with the values of each row; its parameters after those are fixtures.

    ``tmp_path`` is a directory of the row's own. What fails names the number of its row and the first value of it.
    """

    def over(test: Callable[..., None]) -> Callable[..., None]:
        listed = [row if isinstance(row, tuple) else (row,) for row in table]
        assert listed
        signature = inspect.signature(test)
        fixtures = list(signature.parameters.values())[len(listed[0]) :]

        @functools.wraps(test)
        def all_rows(**given: Any) -> None:
            failures: list[BaseException] = []
            for number, row in enumerate(listed):
                own = dict(given)
                if "tmp_path" in given:
                    own["tmp_path"] = given["tmp_path"] / str(number)
                    own["tmp_path"].mkdir()
                try:
                    test(*row, **own)
                except (Exception, pytest.fail.Exception) as error:
                    error.add_note(f"of row {number}, {str(row[0])[:100]!r}")
                    failures.append(error)
            if failures:
                raise BaseExceptionGroup(f"{len(failures)} of {len(listed)} rows fail", failures)

        all_rows.__signature__ = signature.replace(parameters=fixtures)  # type: ignore[attr-defined]
        return all_rows

    return over


def speaks_only_of(rule: str, severity: str, wrong: list[Kit], right: list[Kit], at: Path) -> None:
    """The rule has one finding of this severity in each wrong kit, with evidence from that kit, and none in a right one."""
    failures = []
    for expected, kits in (([severity], wrong), ([], right)):
        for number, files in enumerate(kits):
            found = _found(rule, files, at / f"{len(expected)}-{number}")
            failures += [f"{found} instead of {expected} for {files}"] if found != expected else []
    if failures:
        pytest.fail(f"{rule}:\n" + "\n".join(failures))


def _found(rule: str, files: Kit, at: Path) -> list[str]:
    found = [finding for finding in judge.of_bench(read(at, files)) if finding.rule.name == rule]
    assert {seen.file for one in found for seen in one.evidence} <= files.keys()
    return [one.severity for one in found]


def over_kits(table: list[RuleOverKits]) -> Callable[..., None]:
    """A test for each row of the table."""

    @pytest.mark.parametrize(("rule", "severity", "wrong", "right"), table, ids=[row[0] for row in table])
    def test(rule: str, severity: str, wrong: list[Kit], right: list[Kit], tmp_path: Path) -> None:
        speaks_only_of(rule, severity, wrong, right, tmp_path)

    return test


def over_benches(table: list[tuple[Rule[Bench], Bench, Bench]]) -> Callable[..., None]:
    """A test for each rule of the table: it speaks of the first benchmark of each of its rows and not of the second."""

    @pytest.mark.parametrize("name", dict.fromkeys(rule.name for rule, _, _ in table))
    def test(name: str) -> None:
        for rule, faulty, sound in [row for row in table if row[0].name == name]:
            found = list(rule(faulty))
            assert found, faulty
            assert all(one.rule is rule and one.text and one.evidence[0].file for one in found)
            assert [one.text for one in rule(sound)] == []

    return test
