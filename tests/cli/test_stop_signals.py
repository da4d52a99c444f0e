"""A command that is told to stop: what each signal does, and what is said of it."""

from __future__ import annotations

import math
import os
import signal
import sys
from unittest.mock import Mock

import pytest

from acidtest.cli import stop_signals
from acidtest.cli.diagnosing.cells import _Enough, _Until
from acidtest.cli.stop_signals import Stopped, handled, leaving

SIGNALS = [(signal.SIGINT, "Ctrl-C", 130), (signal.SIGTERM, "SIGTERM", 143), (signal.SIGHUP, "SIGHUP", 129)]


@pytest.mark.parametrize(("number", "name", "code"), SIGNALS)
def test_a_first_signal_stops_the_command(number: signal.Signals, name: str, code: int) -> None:
    before = {one: signal.getsignal(one) for one, _, _ in SIGNALS}
    with pytest.raises(Stopped) as raised, handled():
        signal.raise_signal(number)
    assert (raised.value.name, raised.value.exit_code) == (name, code)
    assert {one: signal.getsignal(one) for one, _, _ in SIGNALS} == before


def test_no_handler_of_exceptions_takes_it_for_its_own() -> None:
    assert not issubclass(Stopped, (Exception, KeyboardInterrupt))


def test_a_second_signal_lets_the_release_go_on_and_a_third_ends_at_once(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    left: list[int] = []
    monkeypatch.setattr(os, "_exit", left.append)
    released = False
    with pytest.raises(Stopped), handled():
        try:
            signal.raise_signal(signal.SIGTERM)
        finally:
            signal.raise_signal(signal.SIGINT)
            released = True
            assert left == []
            said = capfd.readouterr().err
            assert said.count("\n") == 1
            assert "still releasing what was made; a third signal ends at once" in said
            signal.raise_signal(signal.SIGINT)
    assert released
    assert left == [130]
    assert capfd.readouterr().err == "acidtest: ended at once; acidtest clean releases what is left\n"


@pytest.mark.parametrize(("number", "name", "code"), SIGNALS)
def test_a_signal_that_is_ignored_stays_ignored(number: signal.Signals, name: str, code: int) -> None:
    before = signal.signal(number, signal.SIG_IGN)
    try:
        with handled():
            signal.raise_signal(number)
            assert signal.getsignal(number) is signal.SIG_IGN
    finally:
        signal.signal(number, before)


def test_the_command_is_named_with_what_it_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/usr/bin/acidtest", "run", "my disk.toml", "--out", "o"])
    with pytest.raises(Stopped), handled(), leaving(stop_signals.GOES_ON):
        signal.raise_signal(signal.SIGINT)
    assert stop_signals.left() == (
        "nothing that was measured is lost, and the same command goes on: acidtest run 'my disk.toml' --out o"
    )
    with handled():
        with leaving(stop_signals.GOES_ON):
            assert stop_signals.goes_on()
        assert not stop_signals.goes_on()
        assert stop_signals.left().startswith("nothing is lost, and the same command begins anew: acidtest run ")


def test_a_diagnosis_begins_no_cell_after_its_time() -> None:
    watcher, cell = Mock(), Mock()
    _Until(watcher, math.inf).cell_begins(cell, 1.0)
    watcher.cell_begins.assert_called_once_with(cell, 1.0)
    with pytest.raises(_Enough):
        _Until(watcher, -math.inf).cell_begins(cell, 1.0)


def test_a_diagnosis_begins_no_cell_that_would_probably_end_after_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("acidtest.cli.diagnosing.cells.time.monotonic", lambda: clock[0])
    until = _Until(Mock(), 100.0)
    begun = 0
    with pytest.raises(_Enough):
        while True:
            until.cell_begins(Mock(), 1.0)
            begun += 1
            clock[0] += 30.0
            until.cell_ended(Mock(), Mock(), 1.0)
    assert begun == 3 and clock[0] <= 100.0
