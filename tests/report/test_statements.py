"""What an engine's own trace told, in a terminal: each statement in figures, and what is missing of them."""

from __future__ import annotations

from typing import Any

import pytest

from acidtest.journal.models import TracedStatement, TracedStatements
from acidtest.report.calls import as_json
from acidtest.report.statements import SHOWN, print_statements, trace_summary
from factory import recording
from terminals import printed

INSERT = {
    "kind": "", "text": "insert into history\n  (tid, bid)\nvalues (?, ?)", "count": 100, "ms": 12, "ms_max": 3,
    "fetches": 250, "record_inserts": 100,
}  # fmt: skip
COMMIT = {"kind": "commit", "count": 100, "ms": 900, "ms_max": 40, "writes": 430}


def statement(**changes: Any) -> TracedStatement:
    fields = dict.fromkeys(TracedStatement.model_fields, 0) | {"kind": "", "text": ""} | changes
    return TracedStatement(**fields)


def traced(*statements: TracedStatement, **changes: Any) -> TracedStatements:
    fields: dict[str, Any] = {
        "source": "Firebird's trace API", "not_traced": None, "records": 300, "not_understood": 0, "left_out": 0,
        "suspended": 0, "commits": 100, "committed": 100, "statements": list(statements),
    }  # fmt: skip
    return TracedStatements(**(fields | changes))


def shown(of: TracedStatements, width: int = 200) -> str:
    return printed(print_statements, of, width=width)


def test_each_statement_is_one_row_in_figures_of_each_time() -> None:
    text = " ".join(shown(traced(statement(**COMMIT), statement(**INSERT))).split())
    assert "300 events, none lost." in text
    assert "commit 100 900 40 0 4.30 0 0 0" in text
    assert "insert into history (tid, bid) values (?, ?) 100 12 3 0 0 2.50 0 0 1.00 inserted" in text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"suspended": 2}, "the engine's trace log was full 2 times"),
        ({"commits": 7}, "7 of 100 commits were seen"),
        ({"not_understood": 1}, "1 event could not be read"),
        ({"left_out": 3}, "3 events of further statements are left out"),
    ],
)
def test_what_is_missing_makes_every_figure_a_lower_bound(changes: dict[str, int], words: str) -> None:
    found = traced(statement(**COMMIT), **changes)
    assert found.lost
    assert words in trace_summary(found)
    assert "every figure is a lower bound" in trace_summary(found)


def test_an_engine_that_did_not_trace_says_why() -> None:
    found = traced(not_traced="There are no trace plugins loaded", records=0, commits=0)
    assert trace_summary(found) == "Statements were not traced: There are no trace plugins loaded."
    assert "ms" not in shown(found)


def test_json_has_all_and_the_terminal_says_what_it_leaves_out() -> None:
    many = traced(*(statement(text=f"select {n} from t", count=1) for n in range(SHOWN + 5)))
    assert "5 more statements are in the recording." in shown(many)
    told = as_json(recording(traced_statements=many))["traced_statements"]
    assert len(told["statements"]) == SHOWN + 5
