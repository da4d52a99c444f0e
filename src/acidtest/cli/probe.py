"""``acidtest probe``: the commit path of a directory or a block device, without an engine."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from acidtest.cli import stop_signals
from acidtest.cli.options import Erase, Json, UseDevice, option
from acidtest.cli.progress import Bar
from acidtest.cli.report import show_probe
from acidtest.cli.spans import span
from acidtest.errors import BadInput, cannot_write

if TYPE_CHECKING:
    from acidtest.journal import probe as recordings

SECONDS, QUICK_SECONDS = 60.0, 10.0
DISK_TEST_MB, QUICK_MB = 1024, 128
WRITERS = "1,2,4,8,16"


def probe(
    path: Annotated[Path, typer.Argument(help="A directory, or a block device.", metavar="PATH")],
    seconds: Annotated[float | None, option("--seconds", "About how long to measure, in all.")] = None,
    quick: Annotated[bool, option("--quick", "One writer only, in about ten seconds.")] = False,
    writers: Annotated[str, option("--writers", "Numbers of simultaneous writers, besides one.")] = WRITERS,
    one_file: Annotated[bool, option("--one-file", "All writers on one file, not each on its own.")] = False,
    disk_test: Annotated[
        bool,
        option("--disk-test", "Instead: reads and writes, sequential and random, past the file cache and through it."),
    ] = False,
    size_mb: Annotated[int | None, option("--size-mb", "MiB of the disk test's file; 1024 by default.")] = None,
    block: Annotated[int, option("--block", "Bytes of a block: 512 to 1048576.")] = 4096,
    repetitions: Annotated[int, option("--repetitions", "Fewer than five give no interval and no verdict.")] = 5,
    seed: Annotated[int | None, option("--seed", "Seed of the data and the order.")] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Keep a recording in this directory.")] = None,
    use_device: UseDevice = None,
    erase: Erase = None,
    json: Json = False,
) -> None:
    """Measure every way of making a write durable, and judge whether this storage flushes. Exit code 1: it does not.

    A block device is only looked at, unless --use-device names it.
    """
    from acidtest.conductor.admission import Devices
    from acidtest.conductor.probe import OVERWRITE_BYTES, is_device, look
    from acidtest.conductor.probe import probe as run_probe
    from acidtest.plan.probe import plan_disk_test, plan_probe

    devices = Devices.named(use_device or [], erase or [])
    widths, on_device = [1] if quick else _widths(writers), is_device(path)
    _check(block, seconds, repetitions, size_mb)
    if disk_test:
        if on_device:
            raise BadInput(f"{path}: a disk test works on a file", "name a directory on it")
        if (widths, one_file, block) != ([1] if quick else _widths(WRITERS), False, 4096):
            raise BadInput("--writers, --one-file and --block: without effect in a disk test", "leave them out")
    elif size_mb is not None:
        raise BadInput("--size-mb: without effect: it is the size of a disk test's file", "add --disk-test")
    console = Console(stderr=json, highlight=False)
    if on_device and not devices.use:
        _show(look(path), path, console, json=json)
        return
    _can_write(out)
    length_s = seconds or (QUICK_SECONDS if quick else SECONDS)
    seed = seed if seed is not None else random.randrange(1 << 32)
    if disk_test:
        plan = plan_disk_test(seconds=length_s, repetitions=repetitions, seed=seed)
        file_bytes = (size_mb or (QUICK_MB if quick else DISK_TEST_MB)) << 20
    else:
        plan = plan_probe(
            seconds=length_s, repetitions=repetitions, writers=widths, block_bytes=block, one_file=one_file,
            on_device=on_device, seed=seed,
        )  # fmt: skip
        file_bytes = OVERWRITE_BYTES
    with stop_signals.leaving(stop_signals.NOTHING_KEPT), Watcher(console, len(plan.order)) as watcher:
        recording = run_probe(path, plan, devices, watcher.say, watcher.steps, file_bytes=file_bytes)
    unkept = _kept(out, recording) if out is not None else None
    flushes = _show(recording, path, console, json=json)
    if unkept:  # what was measured is shown even so
        raise unkept
    if not flushes:
        raise typer.Exit(1)


def _show(recording: recordings.ProbeRecording, path: Path, console: Console, *, json: bool) -> bool:
    """Print it; False where it shows that the storage does not flush."""
    summary = show_probe(recording, console, json=json)
    if summary and not summary.lines and not json:
        console.print(f"Nothing was written, so nothing was measured: add --use-device {path} for that.")
    return summary is None or summary.judgement.verdict != "does not flush"


def _check(block: int, seconds: float | None, repetitions: int, size_mb: int | None) -> None:
    if not (block >= 512 and block <= 1 << 20 and block.bit_count() == 1):
        raise BadInput(f"--block {block}: must be a power of two from 512 to 1048576", "4096 is usual")
    if seconds is not None and not 0 < seconds <= 86_400:
        raise BadInput(f"--seconds {seconds:g}: must be above 0 and at most 86400")
    if not 1 <= repetitions <= 1000:
        raise BadInput(f"--repetitions {repetitions}: must be 1 to 1000")
    if size_mb is not None and not 16 <= size_mb <= 1 << 20:
        raise BadInput(f"--size-mb {size_mb}: must be 16 to 1048576")


def _widths(text: str) -> list[int]:
    from acidtest.conductor.probe import WRITERS_MAX

    words = text.split(",")
    if not all(word.strip().isdecimal() and 1 <= int(word) <= WRITERS_MAX for word in words):
        raise BadInput(f'--writers "{text}": must be numbers from 1 to {WRITERS_MAX}', f"as in --writers {WRITERS}")
    return [int(word) for word in words]


def _can_write(out: Path | None) -> None:
    if out is None:
        return
    from acidtest.journal import probe as recordings

    try:
        out.mkdir(parents=True, exist_ok=True)
        if (out / recordings.NAME).exists():
            raise BadInput(f"{out}: holds a probe already", "give another --out, or remove it")
        attempt = out / ".acidtest-can-write"
        attempt.write_bytes(b"1")
        attempt.unlink()
    except OSError as error:
        raise cannot_write(out, error, "give another --out", into=True) from None


def _kept(out: Path, recording: recordings.ProbeRecording) -> BadInput | None:
    """Why the recording could not be kept; None when it is."""
    from acidtest.journal import probe as recordings

    try:
        recordings.write(out, recording)
    except OSError as error:
        return cannot_write(out, error, "give another --out", into=True)
    return None


class Watcher(Bar):
    """A bar for a person, a line now and then for a log."""

    def __init__(self, console: Console, total: int) -> None:
        super().__init__(console, "probing", total, "preparing")
        self._console, self._total, self._shown = console, total, 0

    def say(self, lines: list[str]) -> None:
        for line in lines:
            self._console.print(line, soft_wrap=True, markup=False)

    def steps(self, done: int, left_s: float) -> None:
        self.show(done, f"{done} of {self._total}, {span(left_s)} left")
        tenth = 10 * done // self._total
        if not self._console.is_terminal and tenth > self._shown:
            self._shown = tenth
            self._console.print(f"[{done}/{self._total}] {span(left_s)} left", soft_wrap=True, markup=False)
