"""What is sampled of an engine that ends while it is sampled."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from acidtest.place.sampler import Sampler

READ = "import sys\nwhile True: open(sys.argv[1], 'rb').read(); print(flush=True)"


class Processes:
    """Stands for what a cell has launched."""

    def __init__(self, *processes: subprocess.Popen[bytes]) -> None:
        self._processes = list(processes)

    def pids(self) -> list[int]:
        return [process.pid for process in self._processes]

    def clear(self) -> None:
        self._processes.clear()


def test_a_sample_that_an_ended_process_is_missing_from_is_none(tmp_path: Path) -> None:
    file = tmp_path / "database"
    file.write_bytes(b"x" * 8192)
    reader = subprocess.Popen([sys.executable, "-c", READ, file], stdout=subprocess.PIPE)
    assert reader.stdout is not None
    reader.stdout.readline()
    launched: Any = Processes(reader)
    sampler = Sampler([tmp_path], launched, None, None)
    began = time.monotonic()
    sampler._sample()
    reader.kill()
    reader.communicate()
    with pytest.raises(ProcessLookupError):
        sampler._sample()
    launched.clear()
    with pytest.raises(ProcessLookupError):
        sampler._sample()
    (sample,) = sampler.samples(began, time.monotonic())
    assert sample.read_calls > 0
    assert sample.database_bytes == 8192
