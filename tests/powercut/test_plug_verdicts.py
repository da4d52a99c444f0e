"""What makes a real plug's verdict unknown: no restart, a witness that did not hear all, a loss that nobody noticed."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest

from acidtest.errors import AcidtestError
from acidtest.journal.models import Cut, Fate, Integrity
from acidtest.journal.protocol import Checked
from acidtest.powercut.acknowledgement_log import missing_lines, parse
from acidtest.powercut.checkers import judge
from acidtest.powercut.evidence import CutEvidence
from acidtest.powercut.plug import witness
from acidtest.powercut.plug.machine import Seen, Switch, boot_id, not_restarted, uptime_s
from acidtest.powercut.plug.messages import Greeting
from acidtest.powercut.plug.witness import planted, unnoticed

KEPT = Fate(acknowledged=3, present=3, lost=0, loaded_lost=0, unacknowledged=0, torn=0, order_broken=False, examples=[])
GONE = KEPT.model_copy(update={"present": 2, "lost": 1, "examples": ["transaction 3 is not there"]})
WHOLE = CutEvidence(
    broken_without_cut=[],
    restarted="",
    witnessed="",
    unnoticed_loss="",
    fate=KEPT,
    checked=Checked(conditions=[], seconds=0.1),
    integrity=Integrity(holds="holds", check="PRAGMA integrity_check", said="ok"),
)


def seen(boot: str, up_s: float, at_s: float) -> Seen:
    return Seen(Greeting(plug=1, acidtest="0.3", digest="d", boot_id=boot, uptime_s=up_s), at_s)


@pytest.mark.parametrize(
    ("after", "why"),
    [
        (seen("b", 5, 120), ""),
        (seen("b", 21.5, 120), ""),  # clocks of two machines
        (seen("a", 5, 120), "its boot id is the same"),
        (seen("b", 1_020, 120), "it says that it has been up for 1020 s, and its power was cut 20 s before"),
        (seen("b", 23, 120), "it has been up for 23 s"),
    ],
)
def test_a_machine_that_was_off(after: Seen, why: str) -> None:
    """Its power was cut at 100 s of the witness's clock."""
    found = not_restarted(seen("a", 1_000, 90), after, 100.0)
    assert (why in found) if why else not found


def test_this_machine_is_up() -> None:
    assert len(boot_id()) == 36
    assert uptime_s() >= time.monotonic() - 1


def test_a_sound_plug_survives_or_loses() -> None:
    assert judge(WHOLE).verdict == "survived"
    assert judge(replace(WHOLE, fate=GONE)).verdict == "lost"


@pytest.mark.parametrize("fate", [KEPT, GONE])
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("restarted", "the machine did not restart"),
        ("witnessed", "the connection was lost"),
        ("unnoticed_loss", "the comparison answered survived"),
        ("broken_without_cut", ["transactions are there in parts"]),
        ("missing_lines", 1),
        ("inspection_error", "the database lies elsewhere"),
    ],
)
def test_nothing_else_is_ever_survived_or_lost(fate: Fate, field: str, value: object) -> None:
    found = judge(replace(WHOLE, fate=fate, **{field: value}))
    assert found.verdict == "unknown"
    assert found.reasons


def test_a_simulated_disk_is_not_asked_for_a_plug() -> None:
    found = judge(replace(WHOLE, restarted=None, witnessed=None, unnoticed_loss=None))
    assert not {"machine-was-off", "witness-saw-all", "comparison-notices-a-planted-loss"} & found.checks.keys()


def test_a_planted_commit_is_one_more_of_a_log_without_a_gap() -> None:
    log = parse([b"0 1 0 1 10 20", b"1 1 0 4 10 21", b"1 2 0 5 22 30"])
    with_it = parse([b"0 1 0 1 10 20", b"1 1 0 4 10 21", b"1 2 0 5 22 30", planted(log)])
    assert missing_lines(with_it) == 0
    assert with_it[-1].terminal == 1
    assert with_it[-1].number not in {line.number for line in log}


def test_a_planted_item_is_one_of_the_same_look() -> None:
    log = parse([b"0 1 0 1 10 10 key-1", b"0 2 0 2 20 20 key-2"])
    with_it = [*log, *parse([planted(log)])]
    assert missing_lines(with_it) == 0
    assert with_it[-1].item.startswith("key-")
    assert len({line.item for line in with_it}) == 3


def cut(verdict: str, fate: Fate | None, *reasons: str) -> Cut:
    return Cut.model_construct(verdict=verdict, fate=fate, reasons=list(reasons))


@pytest.mark.parametrize(
    ("lines", "sound", "loss", "why"),
    [
        (3, cut("survived", KEPT), cut("lost", GONE), ""),
        (3, cut("survived", KEPT), cut("survived", KEPT), "the comparison answered survived, with 0 commits missing"),
        (3, cut("survived", KEPT), cut("lost", GONE.model_copy(update={"lost": 2})), "with 2 commits missing"),
        (3, cut("survived", KEPT), cut("unknown", GONE), "the comparison answered unknown"),
        (3, cut("lost", GONE, "1 is gone"), cut("lost", GONE), "the checks do not hold: 1 is gone"),
        (0, cut("survived", KEPT), cut("lost", GONE), "nothing was acknowledged"),
        (3, cut("unknown", None, "the rig ended"), cut("unknown", None), "could not be looked for: the rig ended"),
        (3, None, None, "could not be looked for"),
    ],
)
def test_a_comparison_that_proves_nothing(lines: int, sound: Cut | None, loss: Cut | None, why: str) -> None:
    found = unnoticed(lines, sound, loss)
    assert (why in found) if why else not found
    assert unnoticed(lines, sound, loss, "item") == found.replace("commit", "item")


def test_a_switch_that_fails_says_so(tmp_path: Path) -> None:
    waited: list[float] = []
    Switch(f"sleep 0.2; touch {tmp_path}/off", "true").switch_off(
        lambda seconds: (time.sleep(seconds), waited.append(1))[1]
    )
    assert (tmp_path / "off").exists()
    assert waited
    with pytest.raises(
        AcidtestError, match=r"--switch-off echo no socket here; exit 7: ended with code 7: no socket here"
    ):
        Switch("echo no socket here; exit 7", "true").switch_off(time.sleep)
    with pytest.raises(AcidtestError, match=r"--switch-on no-such-switch: ended with code 127"):
        Switch("true", "no-such-switch").switch_on()


def test_a_line_that_was_read_late_does_not_move_the_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """A witness that waits for a processor reads it when the machine may be up again."""
    now = Mock(side_effect=[10.0, 14.0, 15.0, 15.5])
    monkeypatch.setattr(witness, "time", Mock(monotonic=now))
    connection, heard = Mock(), witness._Seen(Mock(), last_s=9.0, before_last_s=9.0, empty_s=9.0)
    for said in ([None], [b"line", None]):
        connection.take.side_effect = said
        witness.Witness._receive(Mock(_connection=connection), Mock(), heard, 0.1)
    assert (heard.before_last_s, heard.last_s, heard.empty_s) == (10.0, 15.5, 15.0)


@pytest.mark.parametrize("fading", ["", "the machine went on acknowledging"])
def test_a_machine_that_goes_on_after_the_switch_is_doubted(monkeypatch: pytest.MonkeyPatch, fading: str) -> None:
    monkeypatch.setattr(witness, "Moment", Mock())
    monkeypatch.setattr(witness, "time", Mock(monotonic=Mock(return_value=10.0)))
    beside = Mock(_is_over=Mock(return_value=False), _fades=Mock(return_value=fading))
    heard = witness._Seen(Mock(), last_s=9.0, before_last_s=9.0, empty_s=9.0)
    assert witness.Witness._powerless(beside, Mock(), Mock(), heard) == (10.0, fading)
