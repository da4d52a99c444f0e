"""By what means calls can be watched, and what is said where there is none."""

from __future__ import annotations

import pytest

from acidtest.errors import MachineLacks
from acidtest.place import tracing


def test_strace_stands_in_and_where_nothing_does_the_way_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "kernel_lacks", lambda: "")
    assert tracing.means() == "kernel"
    monkeypatch.setattr(tracing, "kernel_lacks", lambda: "mount -t tracefs: Operation not permitted")
    monkeypatch.setattr(tracing, "strace", lambda: "/usr/bin/strace")
    assert tracing.means() == "strace"
    monkeypatch.setattr(tracing, "strace", lambda: None)
    with pytest.raises(MachineLacks, match=r"Operation not permitted, and strace is not installed") as told:
        tracing.means()
    assert "strace" in told.value.remedy


def test_an_instance_that_was_never_made_is_no_leftover() -> None:
    assert tracing.kernel_lacks() == ""
    assert tracing.remove("acidtest-never-made") is False
