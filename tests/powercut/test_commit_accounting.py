"""What became of acknowledged commits: the comparison, against a database that is a set of numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidtest.journal.models import Integrity
from acidtest.journal.protocol import Checked, Condition, Survey, SurveyedTerminal, Torn
from acidtest.powercut.acknowledgement_log import Acknowledgement, kinds, missing_lines, parse
from acidtest.powercut.checkers import judge
from acidtest.powercut.commit_accounting import EXAMPLES_MAX, compare, missing_examples, partial_examples
from acidtest.powercut.evidence import CutEvidence

HOLDS = Integrity(holds="holds", check="PRAGMA integrity_check", said="ok")
CHECKED = Checked(conditions=[Condition(name="counters_match", holds=True, detail="0 differ")], seconds=0.1)


def ranges(numbers: set[int]) -> list[tuple[int, int]]:
    together: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if together and together[-1][1] == number - 1:
            together[-1] = (together[-1][0], number)
        else:
            together.append((number, number))
    return together


def survey(whole: dict[int, set[int]], torn: dict[int, set[int]] | None = None) -> Survey:
    """A database with these transactions whole, and these in parts, counters as the last whole one left them."""
    torn = torn or {}
    return Survey(
        terminals=[
            SurveyedTerminal(
                terminal=terminal,
                counter=max(numbers, default=None),
                whole=ranges(numbers),
                torn=[Torn(number=number, right=3, wrong=0, expected=6) for number in sorted(torn.get(terminal, ()))],
            )
            for terminal, numbers in whole.items()
        ],
        strays=0,
    )


def log_of(acknowledged: dict[int, list[int]]) -> list[Acknowledgement]:
    """Terminals side by side, each commit begun when the one before was acknowledged."""
    lines = [
        Acknowledgement(
            terminal, count, 0, number, began_ns=count * 1000 + terminal, acknowledged_ns=count * 1000 + 900
        )
        for terminal, numbers in acknowledged.items()
        for count, number in enumerate(numbers, start=1)
    ]
    return sorted(lines, key=lambda line: line.acknowledged_ns)


histories = st.dictionaries(
    st.integers(0, 5), st.sets(st.integers(1, 60)).map(sorted), min_size=1, max_size=4
)  # terminal -> numbers acknowledged, with gaps where a transaction was refused


@given(histories, st.data())
def test_what_is_all_there_is_survived_with_or_without_unacknowledged_ones(
    history: dict[int, list[int]], data: st.DataObject
) -> None:
    more = {terminal: data.draw(st.sets(st.integers(1, 70))) for terminal in history}
    fate = compare(log_of(history), survey({t: {0, *numbers} | more[t] for t, numbers in history.items()}))
    assert (fate.lost, fate.torn, fate.loaded_lost, fate.order_broken) == (0, 0, 0, False)
    assert fate.present == fate.acknowledged == sum(map(len, history.values()))
    assert fate.unacknowledged == sum(len(more[t] - set(numbers)) for t, numbers in history.items())
    judgement = judge(CutEvidence(fate=fate, checked=CHECKED, integrity=HOLDS))
    assert (judgement.verdict, judgement.reasons) == ("survived", [])


@given(histories, st.data())
def test_each_one_that_is_missing_or_torn_is_lost(history: dict[int, list[int]], data: st.DataObject) -> None:
    all_ = [(terminal, number) for terminal, numbers in history.items() for number in numbers]
    if not all_:
        return
    gone = data.draw(st.sets(st.sampled_from(all_), min_size=1))
    torn = data.draw(st.sets(st.sampled_from(sorted(gone))))
    whole = {t: {0, *numbers} - {n for of, n in gone if of == t} for t, numbers in history.items()}
    parts = {t: {n for of, n in torn if of == t} for t in history}
    fate = compare(log_of(history), survey(whole, parts))
    assert fate.lost == len(gone)
    assert fate.torn == len(torn)
    assert fate.present == len(all_) - len(gone)
    judgement = judge(CutEvidence(fate=fate, checked=CHECKED, integrity=HOLDS))
    assert judgement.verdict == "lost"
    assert judgement.reasons == fate.examples
    assert judgement.checks["acknowledged-commits-are-there"] == "lost"
    assert judgement.checks["transactions-are-whole"] == ("lost" if torn else "survived")
    assert len(missing_examples(fate)) == min(len(gone), EXAMPLES_MAX)
    assert len(partial_examples(fate)) == min(len(torn), EXAMPLES_MAX)


@given(histories, st.data())
def test_order_is_broken_only_by_one_that_began_after_a_lost_one_was_acknowledged(
    history: dict[int, list[int]], data: st.DataObject
) -> None:
    lines = log_of(history)
    kept = lines[: data.draw(st.integers(0, len(lines)))]  # a prefix of the acknowledged ones: order is kept
    last_ns = kept[-1].acknowledged_ns if kept else 0
    # Others that were under way when the last of them was acknowledged may be there too.
    kept += [line for line in lines[len(kept) :] if line.began_ns < last_ns]
    whole = {t: {0} | {line.number for line in kept if line.terminal == t} for t in history}
    first_lost_ns = min((line.acknowledged_ns for line in lines if line not in kept), default=None)
    expected = first_lost_ns is not None and any(line.began_ns > first_lost_ns for line in kept)
    assert compare(lines, survey(whole)).order_broken == expected


def test_a_hole_before_one_that_is_there_breaks_the_order() -> None:
    fate = compare(log_of({0: [1, 2, 3]}), survey({0: {0, 1, 3}}))
    assert fate.lost == 1
    assert fate.order_broken
    # Of another terminal, which began it when the lost one had been acknowledged.
    fate = compare(log_of({0: [1, 2], 1: [1, 2]}), survey({0: {0}, 1: {0, 1, 2}}))
    assert fate.lost == 2
    assert fate.order_broken


def test_one_that_nobody_was_told_of_is_lost_all_the_same_when_it_is_there_in_parts() -> None:
    fate = compare(log_of({0: [1]}), survey({0: {0, 1}}, {0: {2}}))
    assert (fate.lost, fate.torn) == (0, 1)
    assert judge(CutEvidence(fate=fate, checked=CHECKED, integrity=HOLDS)).verdict == "lost"


def test_loaded_rows_and_counters_and_strays_count() -> None:
    assert compare([], survey({0: {1}})).loaded_lost == 1
    fine = survey({0: {0, 1}})
    behind = fine.model_copy(update={"terminals": [fine.terminals[0].model_copy(update={"counter": 0})]})
    missing = fine.model_copy(update={"terminals": [fine.terminals[0].model_copy(update={"counter": None})]})
    for broken in (behind, missing, fine.model_copy(update={"strays": 1})):
        assert compare(log_of({0: [1]}), broken).torn == 1


@given(histories, st.data())
def test_a_log_that_drops_a_line_is_noticed(history: dict[int, list[int]], data: st.DataObject) -> None:
    lines = log_of(history)
    assert missing_lines(lines) == 0
    lasts = {line.terminal: line.count for line in lines}
    before_last = [line for line in lines if line.count < lasts[line.terminal]]
    if before_last:
        dropped = data.draw(st.sampled_from(before_last))
        rest = [line for line in lines if line != dropped]
        assert missing_lines(rest) == 1
        whole = survey({t: {0, *numbers} for t, numbers in history.items()})
        evidence = CutEvidence(
            missing_lines=missing_lines(rest), fate=compare(rest, whole), checked=CHECKED, integrity=HOLDS
        )
        assert judge(evidence).verdict == "unknown"
    if lines:
        assert missing_lines([*lines, lines[0]]) == 1  # or one that is there twice


def test_lines_are_read_as_the_rig_writes_them() -> None:
    lines = parse([b"0 1 0 1 100 200", b"3 1 2 77 150 250"])
    assert lines[1] == Acknowledgement(3, 1, 2, 77, 150, 250)
    assert kinds(lines) == [1, 0, 1]
    for broken in (b"0 1 0 1 100", b"0 1 0 x 100 200", b""):
        with pytest.raises((ValueError, TypeError)):
            parse([broken])
