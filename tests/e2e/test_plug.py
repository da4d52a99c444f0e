"""``acidtest plug`` end to end: the machine that is cut is a stand-in, whose disk loses what a real one may lose."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import stand_in
from acidtest.files import state_directory
from acidtest.place import Ledger
from acidtest.place.link import PRIMARY, Link, entering
from stand_in import StandIn
from support import ACIDTEST

PORT = 7583
SCRIPT = Path(stand_in.__file__)
EXPERIMENT = """
name = "plugs"
repetitions = {repetitions}
[factors]
engine = {engine}
durability = {durability}
# Without checkpoints nothing that SQLite does by itself brings a commit of level os onto the drive.
log = [{{ name = "log", set = {{ "sqlite.wal_autocheckpoint_pages" = 0 }} }}]
[workload.numbered]
terminals = 2
count = 150
"""

Plug = Callable[..., tuple[int, dict[str, Any], str]]


class Machines:
    """The machine that is cut, and the witness with its switch."""

    def __init__(self, stand_in: StandIn, witness: Sequence[str], directory: Path) -> None:
        self.cut, self._enter, self._directory = stand_in, witness, directory

    @property
    def file(self) -> Path:
        return self._directory / "plugs.toml"

    def write(self, engine: Sequence[str], durability: Sequence[str], repetitions: int = 1) -> None:
        text = EXPERIMENT.format(
            engine=json.dumps(list(engine)), durability=json.dumps(list(durability)), repetitions=repetitions
        )
        self.file.write_text(text)

    def witness(self, *more: object, off: str = "", on: str = "") -> tuple[int, dict[str, Any], str]:
        """Exit code, what --json says, and what was said beside it."""
        switch = f"{sys.executable} {SCRIPT}"
        words = [
            "plug", "witness", self.file, "--server", f"{PRIMARY}:{PORT}", "--out", self._directory / "out", "--json",
            "--switch-off", off or f"{switch} off {self.cut.directory}",
            "--switch-on", on or f"{switch} on {self.cut.directory}",
            "--off-for", 0, "--back-within", 60, *more,
        ]  # fmt: skip
        command = [*self._enter, str(ACIDTEST), *map(str, words)]
        environment = {**os.environ, "COLUMNS": "120"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=600)
        return done.returncode, json.loads(done.stdout) if done.stdout else {}, done.stderr


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Machines]:
    name, at, mounted = f"plug-{os.getpid()}", tmp_path / "machine", tmp_path / "mounted"
    at.mkdir()
    mounted.mkdir()
    (at / "home").mkdir()
    (at / "home" / "engines").symlink_to((state_directory() / "engines").resolve())
    with closing(Ledger()) as ledger, closing_link(ledger) as link:
        subprocess.run([ACIDTEST, "disk", "create", name, "--at", mounted], check=True, capture_output=True)
        file = tmp_path / "plugs.toml"
        machine = StandIn(
            directory=str(at),
            disk=name,
            mounted=str(mounted),
            acidtest=str(ACIDTEST),
            network=str(link.primary.network),
            command=[str(ACIDTEST), "plug", "serve", str(file), "--at", str(mounted), "--listen", f"{PRIMARY}:{PORT}"],
        )
        machine.write()
        try:
            yield Machines(machine, entering(link.replica.network), tmp_path)
        finally:
            machine.end()
            subprocess.run([ACIDTEST, "disk", "remove", name], check=True, capture_output=True)


class closing_link(Link):
    def __enter__(self) -> Link:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def test_what_a_level_promises_of_a_machine_without_power(machines: Machines) -> None:
    machines.write(["sqlite"], ["os", "drive"])
    machines.cut.on(restore=False)
    code, told, said = machines.witness()
    assert code == 0, said
    cuts = {one["cell"].split("/")[2]: one["cut"] for one in told["cuts"]}
    lost, kept = cuts["os"], cuts["drive"]
    assert (lost["verdict"], kept["verdict"]) == ("lost", "survived"), (lost["reasons"], kept["reasons"])
    assert lost["fate"]["lost"] > 0 == kept["fate"]["lost"]
    assert kept["fate"]["acknowledged"] > 0
    assert told["losses"] == {"announced": 1, "unannounced": 0}
    for one in cuts.values():
        assert one["failure"] == "plug"
        for check in ("machine-was-off", "witness-saw-all", "comparison-notices-a-planted-loss", "holds-without-a-cut"):
            assert one["checks"][check] == "survived"
