"""The kernel of guests, brought as a first use would; and one guest that the tests of a module share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from acidtest.place import Guests, Ledger, ready_guests
from acidtest.place.guest import kernel
from support import one_worker_at_a_time


@pytest.fixture(scope="session")
def has(tmp_path_factory: pytest.TempPathFactory) -> kernel.Kernel:
    """What cannot be brought fails the tests."""
    with one_worker_at_a_time(tmp_path_factory, "guest"):
        ready_guests(print)
    found = kernel.installed()
    assert found is not None
    return found


@pytest.fixture(scope="module")
def shared(has: kernel.Kernel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Ledger, Guests, Path]]:
    """A ledger, who keeps the guest, and where its files and places lie."""
    base = tmp_path_factory.mktemp("base")
    ledger = Ledger()
    guests = Guests(ledger)
    try:
        yield ledger, guests, base
    finally:
        guests.end()
        assert list(base.iterdir()) == []
        ledger.close()
        assert not ledger.path.exists()
