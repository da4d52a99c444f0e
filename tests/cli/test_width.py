"""What a command prints in a narrow terminal can still be typed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from acidtest.cli import doctor
from acidtest.engine import catalogue


@pytest.mark.parametrize("width", [30, 50, 80, 160])
def test_every_engine_can_be_typed_as_it_is_listed(
    width: int, acidtest: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    listed, _, left_out = acidtest("engines").partition("A wider terminal also shows")
    head, *lines = listed.splitlines()
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == list(catalogue.known())
    assert ("from" in left_out) == ("from" not in head.split())


def test_what_doctor_says_to_do_is_a_line_of_its_own(
    acidtest: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    remedies = ["acidtest engines install some-engine-with-a-rather-long-name-of-its-own --and an-option", ""]
    found = [doctor._finding("[red]", "missing", "is [not] here " * 9, remedy) for remedy in remedies]
    monkeypatch.setattr(doctor, "findings_of", lambda directory: found)
    monkeypatch.setenv("COLUMNS", "80")
    lines = acidtest("doctor").splitlines()
    assert f"  → {remedies[0]}" in lines
    assert lines[0].startswith("[red]  missing  is [not] here")
