"""Tests over tables: all rows are one test, which fails with each row that does."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import pytest


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
