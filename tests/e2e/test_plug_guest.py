"""``acidtest plug`` over a machine of its own: a guest, whose power takes its kernel, its memory and its drive's cache."""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from acidtest.place import disk_service, leftovers
from acidtest.place.guest import machine_service as guest
from support import ACIDTEST, Run

EXPERIMENT = """
name = "guests"
engine = "sqlite"
durability = "os"
repetitions = 1
settings.sqlite.wal_autocheckpoint_pages = 0
[workload.numbered]
terminals = 1
count = 5
"""
NAME = "tried"


@pytest.fixture
def port() -> Iterator[int]:
    """One that is free, and no disk is left after the test."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        number = int(found.getsockname()[1])
    yield number
    assert disk_service.names() == []
    assert leftovers() == []


# One line after another, each said when it is written, or when it is flushed. Of the first file only the first line is
# ever flushed, so that the file is there after the cut. Ready is who has flushed five of the one, and written more of the
# other than was flushed.
TWO_FILES = """
last() { tr -d '\\000' <$1 | tail -n 1; }
echo "at boot $(cat /proc/sys/kernel/random/boot_id): $(last flushed) $(last written)"
echo 1 >>written; sync written; echo "wrote 1"
i=1; while :; do i=$((i + 1)); echo $i >>written; echo "wrote $i"; done &
i=0; said=
while :; do
  i=$((i + 1)); echo $i >>flushed; sync flushed; echo "flushed $i"
  [ $i -lt 5 ] || [ $(tail -n 1 written) = 1 ] || [ $said ] || { said=ready; echo ready; }
done
"""


def test_a_guest_loses_with_its_power_what_it_has_not_flushed(acidtest: Run, port: int) -> None:
    service = guest.Service(["sh", "-c", f"cd {guest.AT}; {TWO_FILES}"], Path("/"), "ready")
    console = guest.create(
        NAME, service, size_mb=64, filesystem="ext4", port=port, memory_mb=256, cpus=1, accelerator="tcg", faults=[],
        say=print,
    )  # fmt: skip
    try:
        kept = acidtest("disk", "remove", NAME)
        assert (kept.returncode, "is in use by qemu-system-x86" in kept.stderr) == (2, True), kept.stderr
        twice = acidtest("plug", "guest", "on", NAME)
        assert (twice.returncode, f"{NAME}: is on" in twice.stderr) == (2, True), twice.stderr
        for turn in ("off", "on"):
            acidtest("plug", "guest", turn, NAME, code=0)
        while len(boots := re.findall(r"at boot (\S+): (.*)\n", text := console.read_text())) < 2:
            with guest.opened(NAME) as on:
                assert on.pid is not None, text
            time.sleep(0.1)
    finally:
        removed = acidtest("plug", "guest", "remove", NAME)
    assert removed.returncode == 0, removed.stderr
    (first, nothing), (second, kept_lines) = boots
    assert first != second
    assert nothing.split() == []
    flushed, written = map(int, kept_lines.split())
    before = text.partition(f"at boot {second}")[0]
    told = {what: int(re.findall(rf"{what} (\d+)\r?\n", before)[-1]) for what in ("flushed", "wrote")}
    assert flushed >= told["flushed"] >= 5
    assert 1 <= written < told["wrote"]


@pytest.mark.long  # an emulated processor takes a minute over acidtest's own imports, twice
def test_a_guest_loses_with_its_power_what_its_level_announces(acidtest: Run, tmp_path: Path, port: int) -> None:
    file, out = tmp_path / "guests.toml", tmp_path / "out"
    file.write_text(EXPERIMENT)
    acidtest("plug", "guest", "create", NAME, file, "--size", "128M", "--memory-mb", 512, "--port", port, code=0)
    try:
        switch = f"{ACIDTEST} plug guest"
        done = acidtest(
            "plug", "witness", file, "--server", f"127.0.0.1:{port}", "--out", out, "--json",
            "--off-for", 0, "--switch-off", f"{switch} off {NAME}", "--switch-on", f"{switch} on {NAME}",
            code=0,
        )  # fmt: skip
    finally:
        removed = acidtest("plug", "guest", "remove", NAME)
    assert removed.returncode == 0, removed.stderr
    [one] = json.loads(done.stdout)["cuts"]
    cut = one["cut"]
    assert (cut["verdict"], cut["failure"], one["unannounced"]) == ("lost", "plug", False), cut["reasons"]
    assert cut["fate"]["lost"] > 0
    assert cut["damage"] == []
    for check in ("machine-was-off", "witness-saw-all", "comparison-notices-a-planted-loss", "engine-check-holds"):
        assert cut["checks"][check] == "survived"
    [recording] = [json.loads(line) for line in (out / "cuts.jsonl").read_text().splitlines()[1:]]
    place = recording["place"]
    assert (place["device"], place["filesystem"], place["mount_point"]) == ("/dev/vda", "ext4", "/srv/acidtest")
    assert "Debian" in recording["machine"]["kernel"] or "amd64" in recording["machine"]["kernel"]


def test_a_guest_that_cannot_be_made_leaves_nothing(acidtest: Run, tmp_path: Path, port: int) -> None:
    file = tmp_path / "guests.toml"
    file.write_text(EXPERIMENT)
    with socket.create_server(("127.0.0.1", port)):
        taken = acidtest("plug", "guest", "create", NAME, file, "--size", "128M", "--port", port)
    assert taken.returncode == 3, taken.stderr
    assert "the guest did not come up: " in taken.stderr
    assert f"hostfwd=tcp:127.0.0.1:{port}" in taken.stderr
    assert len(taken.stderr.splitlines()) <= 2
    placed = tmp_path / "placed.toml"
    placed.write_text(EXPERIMENT.replace("[workload", '[place]\nkind = "disk"\nfilesystem = "ext4"\n[workload'))
    for of, more, said in (
        (file, ["--filesystem", "ext2"], "--filesystem"),
        (file, ["--accelerator", "xen"], "--accelerator"),
        (file, ["--fault", "(fail"], "(fail"),
        (file, ["--size", "12"], "--size 12: is no whole number of MiB"),
        (placed, [], "[place]: a plug cuts a real drive"),
    ):
        refused = acidtest("plug", "guest", "create", NAME, of, *more)
        assert (refused.returncode, said in refused.stderr) == (2, True), refused.stderr
    nobody = acidtest("plug", "guest", "off", NAME)
    assert (nobody.returncode, f"there is no disk {NAME}" in nobody.stderr) == (2, True), nobody.stderr
    assert acidtest("disk", "create", NAME, "--filesystem", "raw", "--size", "16M").returncode == 0
    other = acidtest("plug", "guest", "on", NAME)
    assert (other.returncode, "is a disk without a guest" in other.stderr) == (2, True), other.stderr
    assert acidtest("disk", "remove", NAME).returncode == 0
