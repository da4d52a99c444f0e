"""``acidtest plug`` end to end: the machine that is cut is a stand-in, whose disk loses what a real one may lose."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import faulty_program
import stand_in
from acidtest.files import state_directory
from acidtest.place import Ledger
from acidtest.place.link import PRIMARY, Link, entering
from stand_in import StandIn
from support import ACIDTEST, Run

PORT = 7583
DISK_SIZE = "512M"
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
{extent}
"""

SIDES: dict[str, Callable[[Path], list[object]]] = {
    "serve": lambda path: ["--at", path],
    "witness": lambda path: ["--server", "127.0.0.1:9", "--out", path / "out"],
}


class Machines:
    """The machine that is cut, and the witness with its switch."""

    def __init__(self, stand_in: StandIn, witness: Sequence[str], directory: Path) -> None:
        self.cut, self._enter, self._directory = stand_in, witness, directory

    @property
    def file(self) -> Path:
        return self._directory / "plugs.toml"

    def write(
        self, engine: Sequence[str], durability: Sequence[str], repetitions: int = 1, extent: str = "count = 150"
    ) -> None:
        text = EXPERIMENT.format(
            engine=json.dumps(list(engine)),
            durability=json.dumps(list(durability)),
            repetitions=repetitions,
            extent=extent,
        )
        self.file.write_text(text)

    def switch(self, to: str) -> str:
        """The command that does it."""
        return f"{sys.executable} {SCRIPT} {to} {self.cut.directory}"

    def kept(self) -> int:
        """Bytes of acknowledgements that the witness has kept, of loads that are to be cut."""
        files = (self._directory / "out" / "acidtest-witness").glob("*")
        return sum(file.stat().st_size for file in files if not file.name.endswith("-control"))

    def witness(
        self, *more: object, off: str = "", on: str = "", by_hand: bool = False
    ) -> tuple[int, dict[str, Any], str]:
        """Exit code, what --json says, and what was said beside it."""
        words = [
            "plug", "witness", self.file, "--server", f"{PRIMARY}:{PORT}", "--out", self._directory / "out", "--json",
            *([] if by_hand else ["--switch-off", off or self.switch("off"), "--switch-on", on or self.switch("on")]),
            "--off-for", 0, "--back-within", 300, *more,
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
        subprocess.run(
            [ACIDTEST, "disk", "create", name, "--at", mounted, "--size", DISK_SIZE], check=True, capture_output=True
        )
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
            machine.remove_disk()


class closing_link(Link):
    def __enter__(self) -> Link:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def test_what_a_level_promises_of_a_machine_without_power(machines: Machines, acidtest: Run) -> None:
    machines.write(["sqlite"], ["os", "drive"])
    machines.cut.on(restore=False)
    code, told, said = machines.witness()
    assert code == 0, said
    cuts = {cut["cell"].split("/")[2]: cut["cut"] for cut in told["cuts"]}
    lost, kept = cuts["os"], cuts["drive"]
    assert (lost["verdict"], kept["verdict"]) == ("lost", "survived"), (lost["reasons"], kept["reasons"])
    assert lost["fate"]["lost"] > 0 == kept["fate"]["lost"]
    assert kept["fate"]["acknowledged"] > 0
    assert told["losses"] == {"announced": 1, "unannounced": 0}
    for cut in cuts.values():
        assert cut["failure"] == "plug"
        for check in ("machine-was-off", "witness-saw-all", "comparison-notices-a-planted-loss", "holds-without-a-cut"):
            assert cut["checks"][check] == "survived"
    is_reported_and_audited(machines, acidtest, told)


def is_reported_and_audited(machines: Machines, acidtest: Run, told: dict[str, Any], *more: object) -> None:
    out = machines.file.parent / "out"
    again = acidtest("report", out, "--json")
    assert json.loads(again.stdout)["cuts"] == told["cuts"]
    shown = acidtest("report", out)
    assert "simulated" not in shown.stdout
    assert "another drive, what lies beside the database files, replicas" in " ".join(shown.stdout.split())
    assert "real machine" in (out / "report.html").read_text()
    acidtest("audit", out, "--json", code=0)
    # It is done: the machine need not be there any more.
    machines.cut.end()
    code, again_told, said = machines.witness(*more)
    assert (code, again_told["cuts"]) == (0, told["cuts"]), said


@pytest.mark.long
def test_the_shipped_experiment_is_cut_reported_and_audited(machines: Machines, acidtest: Run) -> None:
    machines.file.write_text((Path(__file__).parents[2] / "experiments" / "plug.toml").read_text())
    machines.cut.command.append("--quick")
    machines.cut.write()
    machines.cut.on(restore=False)
    part = ("--quick", "--only", "numbered/sqlite/drive", "--cuts", 1)
    code, told, said = machines.witness(*part)
    assert code == 0, said
    assert [cut["cut"]["verdict"] for cut in told["cuts"]] == ["survived"]
    is_reported_and_audited(machines, acidtest, told, *part)


def test_no_verdict_without_a_restart_that_was_a_cut(machines: Machines) -> None:
    """The same boot id, an uptime that goes on, a machine that was shut down: all of them come back, none was cut."""
    machines.write(["sqlite"], ["os"], repetitions=3)
    at = Path(machines.cut.directory)
    machines.cut.on(restore=False)
    script = at / "switch"
    script.write_text(
        f"""n=$(cat {at}/turn 2>/dev/null || echo 0)
rm -f {at}/same-boot-id {at}/uptime-goes-on
case $n in 0) touch {at}/same-boot-id ;; 1) touch {at}/uptime-goes-on ;; esac
echo $((n + 1)) >{at}/turn
[ $n = 2 ] || exec {machines.switch("off")}
{sys.executable} {SCRIPT} shutdown {at}
exec {machines.switch("off")}
"""
    )
    code, told, said = machines.witness(off=f"sh {script}")
    assert code == 3, said
    cuts = [cut["cut"] for cut in told["cuts"]]
    assert [cut["verdict"] for cut in cuts] == ["unknown"] * 3
    reasons = [" / ".join(cut["reasons"]) for cut in cuts]
    assert "its boot id is the same as before" in reasons[0]
    assert "it says that it has been up for" in reasons[1]
    assert "no power failed: acidtest plug serve was told to end" in reasons[2]
    assert [cut["checks"]["machine-was-off"] for cut in cuts] == ["unknown", "unknown", "survived"]
    assert cuts[2]["checks"]["witness-saw-all"] == "unknown"
    assert told["losses"] == {"announced": 0, "unannounced": 0}


def test_a_program_is_cut_where_its_check_notices_a_loss(machines: Machines) -> None:
    """A sound one survives, one that flushes nothing loses; whose check believes anything, or whose data lie on another
    drive, is not cut at all."""
    outside = machines.file.parent / "outside"
    outside.mkdir()
    levels = ["sound", "unflushed", "buffered", "credulous", "elsewhere"]
    # Its check looks for each item in the whole file: many of them would take it minutes.
    text = faulty_program.TEXT.replace("@OUTSIDE@", str(outside)).replace("n=$((n + 1))", "n=$((n + 1)); sleep 0.02")
    machines.file.write_text(f"{text}[factors]\ndurability = {json.dumps(levels)}\n")
    machines.cut.on(restore=False)
    code, told, said = machines.witness("--cuts", 1)
    assert code == 1, said  # a loss that its level does not announce
    cuts = {cut["cell"].split("/")[2].partition("#")[0]: cut["cut"] for cut in told["cuts"]}
    assert {level: cut["verdict"] for level, cut in cuts.items()} == {
        "sound": "survived", "unflushed": "lost",
        "buffered": "unknown", "credulous": "unknown", "elsewhere": "unknown",
    }, said  # fmt: skip
    for level in ("sound", "unflushed"):
        checks = cuts[level]["checks"]
        assert [checks[f"{who}-notices-{what}"] for who, what in (
            ("comparison", "a-planted-loss"), ("check", "a-planted-loss"), ("check", "an-empty-disk"),
        )] == ["survived"] * 3  # fmt: skip
        assert cuts[level]["fate"]["acknowledged"] > 0
    assert cuts["unflushed"]["fate"]["lost"] > 0
    assert cuts["unflushed"]["reasons"][0].startswith('item "item-')
    assert "does it buffer its output?" in " / ".join(cuts["buffered"]["reasons"])
    assert "which was never written: its answers prove nothing" in " / ".join(cuts["credulous"]["reasons"])
    assert "in data that were made anew, program.check did not answer missing for" in cuts["elsewhere"]["reasons"][0]
    assert cuts["elsewhere"]["at_s"] == cuts["buffered"]["at_s"] == cuts["credulous"]["at_s"] == 0  # no power was cut
    assert told["losses"] == {"announced": 0, "unannounced": 1}


def cut_beside(machines: Machines, *, by_hand: bool) -> tuple[dict[str, Any], str]:
    """The power fails, but not by a switch, when the witness has kept something: the cut, and what was said."""
    machines.cut.on(restore=False)
    with ThreadPoolExecutor() as beside:
        running = beside.submit(machines.witness, by_hand=by_hand)
        while not machines.kept():
            assert not running.done(), running.result()
            time.sleep(0.02)
        machines.cut.off()
        machines.cut.on()
        code, told, said = running.result()
    assert code == (0 if by_hand else 3), said
    [one] = [cut["cut"] for cut in told["cuts"]]
    return one, said


def test_a_connection_that_is_lost_before_the_cut(machines: Machines) -> None:
    """Long before the moment that was drawn."""
    machines.write(["sqlite"], ["drive"], extent="duration_s = 3600\nrate_per_s = 20")
    one, _ = cut_beside(machines, by_hand=False)
    assert one["verdict"] == "unknown"
    assert one["reasons"][0].startswith("the connection to the machine was lost before its power was cut: ")


def test_a_plug_that_is_pulled_by_hand(machines: Machines) -> None:
    machines.write(["sqlite"], ["os"])
    one, said = cut_beside(machines, by_hand=True)
    assert f"pull the plug of the machine at {PRIMARY}:{PORT} now, then plug it in again" in said
    assert one["verdict"] == "lost", one["reasons"]
    assert one["damage"] == []


def test_a_machine_that_does_not_come_back_and_switches_that_fail(machines: Machines) -> None:
    machines.write(["sqlite"], ["drive"], repetitions=2)
    machines.cut.on(restore=False)
    code, told, said = machines.witness(off="echo no socket; exit 9")
    assert (code, told) == (3, {})
    assert "--switch-off echo no socket; exit 9: ended with code 9: no socket" in said
    code, told, said = machines.witness("--back-within", 1, on="true")
    assert (code, told) == (3, {})
    assert "the machine did not come back within 1 s" in said
    code, told, said = machines.witness("--back-within", 1)
    assert (code, told) == (3, {})
    assert f"no machine answers: {PRIMARY}:{PORT}" in said
    machines.cut.on()
    code, told, said = machines.witness()  # goes on
    assert code == 3, said
    verdicts = {cut["cell"].rpartition("#")[2]: cut["cut"]["verdict"] for cut in told["cuts"]}
    assert verdicts == {"1": "unknown", "2": "survived"}
    (Path(machines.file)).write_text(machines.file.read_text().replace("count = 150", "count = 151"))
    refused = machines.witness("--out", machines.file.parent / "other")
    assert refused[0] == 2
    assert "another experiment, or another text or size of it, is served at" in refused[2]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("[factors]", "[place]\nkind = 'disk'\nfilesystem = 'ext4'\n[factors]"), "[place]: a plug cuts a real drive"),
        (("numbered", "commits"), "workload commits: does not number its commits"),
        (("count", "no-such-key"), "no-such-key"),
    ],
)
@pytest.mark.parametrize("side", ["serve", "witness"])
def test_what_a_plug_cannot_cut(acidtest: Run, tmp_path: Path, side: str, change: tuple[str, str], said: str) -> None:
    file = tmp_path / "plugs.toml"
    file.write_text(
        EXPERIMENT.format(repetitions=1, engine='["sqlite"]', durability='["os"]', extent="count = 9").replace(*change)
    )
    refused = acidtest("plug", side, file, *SIDES[side](tmp_path), code=2)
    assert said in refused.stderr


def test_what_is_refused_of_options(acidtest: Run, tmp_path: Path) -> None:
    file = Path(__file__).parents[2] / "experiments" / "plug.toml"
    for more, said in [
        (["--switch-off", "true"], "--switch-off: needs --switch-on too"),
        (["--switch-on", "true"], "--switch-on: needs --switch-off too"),
        (["--switch-off", " ", "--switch-on", "true"], "an empty command switches nothing"),
        (["--server", "nowhere:port"], "--server nowhere:port: is no address"),
    ]:
        refused = acidtest("plug", "witness", file, *SIDES["witness"](tmp_path), *more, code=2)
        assert said in refused.stderr
    (tmp_path / "acidtest-plug").mkdir()
    (tmp_path / "acidtest-plug" / "letters").touch()
    for more, said in [
        (["--listen", "192.0.2.7:port"], "--listen 192.0.2.7:port: is no address"),
        (["--at", tmp_path / "nothing"], "no such directory"),
        ([], "is there already, and is not acidtest's"),
    ]:
        refused = acidtest("plug", "serve", file, "--quick", *SIDES["serve"](tmp_path), *more, code=2)
        assert said in refused.stderr
    assert (tmp_path / "acidtest-plug" / "letters").exists()
