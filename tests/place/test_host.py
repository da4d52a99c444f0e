"""What a machine does as a whole, from the kernel's own words."""

from __future__ import annotations

import time

import pytest

from acidtest.place import host
from acidtest.place.host import HostCounters, HostWatch

STAT = "cpu  100 5 50 800 20 1 4 0 30 2\ncpu0 100 5 50 800 20 1 4 0 30 2\nintr 1\n"
MEMORY = "MemTotal:       8000 kB\nMemFree:        1000 kB\nMemAvailable:   4000 kB\n"


def test_what_the_kernel_says_is_read() -> None:
    # Time of guests is in user time already, and counts once.
    assert host.parse_ticks(STAT) == (100, 5, 50, 800, 20, 1, 4, 0)
    assert host.parse_available(MEMORY) == 4000 * 1024
    assert host.parse_available("MemTotal: 8000 kB\n") == 0


@pytest.mark.parametrize(
    ("after", "busy", "io_wait"),
    [
        ((150, 5, 50, 850, 20, 1, 4, 0), 0.5, 0.0),
        ((100, 5, 50, 875, 45, 1, 4, 0), 0.0, 0.25),
    ],
)
def test_a_sample_is_the_difference_of_two_readings(after: tuple[int, ...], busy: float, io_wait: float) -> None:
    first = HostCounters(10.0, host.parse_ticks(STAT), 5, (1_000_000, None, 0))
    last = HostCounters(12.0, after, 4, (1_500_000, 7, 3_000_000))
    sample = host.between(first, last, 1.5)
    assert (sample.at_s, sample.available_bytes) == (1.5, 4)
    assert (sample.busy, sample.io_wait) == pytest.approx((busy, io_wait))
    assert (sample.pressure_cpu, sample.pressure_io, sample.pressure_memory) == (0.25, None, 1.0)


def test_this_machine_is_watched_while_something_is_at_work() -> None:
    watch = HostWatch()
    watch.start()
    began = time.monotonic()
    while time.monotonic() - began < 0.3:
        pass
    watch.stop()
    samples = watch.samples(began, time.monotonic())
    assert samples
    assert samples[-1].busy > 0
    assert samples[-1].available_bytes > 0
    assert watch.samples(time.monotonic() + 1, time.monotonic() + 2) == []
