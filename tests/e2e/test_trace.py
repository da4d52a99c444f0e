"""``acidtest trace`` and ``observe = true``, as a user meets them."""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest

from acidtest.conductor.rig import find_rig
from acidtest.place import tracing
from support import journal_lines


def test_each_combination_is_shown(acidtest, experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = acidtest("trace", experiment(durability='["none", "drive"]', count=1000), "--transactions", 20, code=0)
    words = " ".join(ran.stdout.split())
    assert len(re.findall(r"(?<![\d,])20 commits, \d+ calls seen", words)) == 2
    assert words.count("no event lost") == 2
    table = [" ".join(line.split()) for line in ran.stdout.partition("What a commit costs")[2].splitlines()]
    assert [line.split()[0] for line in table[2:4]] == ["none", "drive"]  # a line for each, beside each other
    assert re.search(r"\b1\.\d\d f(data)?sync", words)
    assert "log" in words
    assert words.count("One commit like most") == 2
    assert [path.name for path in tmp_path.iterdir()] == ["small.toml"], "databases and recordings are gone"
    assert acidtest("clean").stdout.strip() == "Nothing was left behind."


def test_json_for_programs(acidtest, experiment, tmp_path: Path) -> None:
    file = experiment(engine='["sqlite", "firebird-5.0"]', count=20)
    ran = acidtest("trace", file, "--engine", "firebird-5.0", "--json", "--out", tmp_path / "out", code=0)
    answer = json.loads(ran.stdout)
    (cell,) = answer["cells"]
    assert cell["engine"]["id"] == "firebird-5.0"
    assert cell["calls"]["commits"] == 20
    assert any(
        file["role"] == "database" and any("SYNC" in flags for flags in file["flags"])
        for file in cell["calls"]["files"]
    )
    assert (tmp_path / "out" / "journal.jsonl").exists()


@pytest.mark.parametrize(
    "engine", [pytest.param("firebird-3.0", marks=pytest.mark.long), "firebird-5.0", "firebird-4.0-server"]
)
def test_a_firebird_tells_of_each_statement(acidtest, tmp_path: Path, engine: str) -> None:
    file = tmp_path / "t.toml"
    file.write_text(
        f'name = "t"\nrepetitions = 1\nengine = "{engine}"\ndurability = "drive"\n[workload.commits]\ncount = 30\n'
    )
    ran = acidtest("trace", file, "--out", tmp_path / "out")
    assert "Statements by Firebird's trace API: 90 events, none lost." in " ".join(ran.stdout.split()), ran.stdout
    (recording,) = journal_lines(tmp_path / "out")
    traced = recording["traced_statements"]
    assert (traced["not_traced"], traced["commits"], traced["committed"]) == (None, 30, 30)
    by_kind = {statement["kind"]: statement for statement in traced["statements"]}
    assert set(by_kind) == {"", "commit", "start of a transaction"}
    assert by_kind[""]["text"].startswith("insert into")
    assert (by_kind[""]["count"], by_kind[""]["record_inserts"]) == (30, 30)
    # With forced writes the pages are written by the commit, and the engine's counters tell the same.
    assert by_kind["commit"]["writes"] >= 30
    assert by_kind["commit"]["writes"] > by_kind[""]["writes"]
    (page_writes,) = [counter for counter in recording["engine_counts"]["counters"] if counter["name"] == "page_writes"]
    assert sum(statement["writes"] for statement in traced["statements"]) <= page_writes["sessions"]
    assert acidtest("report", tmp_path / "out").returncode == 0
    assert "its statements, as the engine traced them" in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.parametrize(
    ("options", "words"),
    [(["--engine", "sqlit"], '--engine "sqlit" is not known (did you mean "sqlite"?)'), (["--cell", "x"], '--cell "x" is not known')],
)  # fmt: skip
def test_what_is_not_in_the_experiment(acidtest, experiment, options: list[str], words: str) -> None:
    ran = acidtest("trace", experiment(), *options, code=2)
    assert words in ran.stderr
    assert len(ran.stderr.strip().splitlines()) <= 2


def test_a_run_may_be_watched_and_says_so(acidtest, tmp_path: Path) -> None:
    file = tmp_path / "watched.toml"
    file.write_text(
        'name = "watched"\nrepetitions = 1\nengine = "sqlite"\ndurability = "drive"\n[factors]\nobserve = [false, true]\n'
        "[workload.commits]\ncount = 50\n"
    )
    acidtest("run", file, "--out", tmp_path / "out", code=0)
    bare, watched = sorted(journal_lines(tmp_path / "out"), key=lambda line: line["calls"] is not None)
    assert bare["calls"] is None
    assert not [warning for warning in bare["warnings"] if warning["code"] == "observed"]
    assert watched["calls"]["per_commit"]["flushes"]["median"] == 1
    assert watched["workload"]["observe"] is True
    assert [warning["about"] for warning in watched["warnings"] if warning["code"] == "observed"] == ["goodput_per_s"]


def test_a_server_of_the_users_own_cannot_be_watched(acidtest, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        'name = "mine"\nrepetitions = 1\nengine = "mine"\ndurability = "drive"\n[workload.commits]\ncount = 5\n'
        '[servers.mine]\nurl = "postgresql://me@127.0.0.1:1/test"\n'
    )
    ran = acidtest("trace", file, code=2)
    assert "mine is a server by URL" in ran.stderr
    assert "acidtest run" in ran.stderr
    assert "observe" not in ran.stderr, "which nobody has written"
    assert len(ran.stderr.strip().splitlines()) <= 2


def test_on_a_simulated_disk_a_commit_is_seen_in_every_layer(acidtest, tmp_path: Path) -> None:
    file = tmp_path / "layers.toml"
    file.write_text(
        'name = "layers"\nrepetitions = 1\nengine = "sqlite"\ndurability = "drive"\n'
        '[place]\nkind = "disk"\nfilesystem = "ext4"\ndisk_cache_mb = 16\nsize_mb = 512\n'
        "[workload.commits]\ncount = 40\n"
    )
    ran = acidtest("trace", file, "--json", "--out", tmp_path / "out", code=0)
    (cell,) = json.loads(ran.stdout)["cells"]
    lines = cell["calls"]["typical"]["lines"]
    assert {line["layer"] for line in lines} >= {"call", "block", "device"}, lines

    def after(at_us: float, layer: str, what: str) -> float:  # the file system may write for itself meanwhile
        found = [line["at_us"] for line in lines if (line["layer"], line["what"].split()[0]) == (layer, what)]
        return float(min((at for at in found if at > at_us), default=math.inf))

    written = after(after(0, "call", "pwrite64"), "device", "write")
    assert after(written, "device", "flush") <= cell["calls"]["typical"]["lasted_us"], lines


@pytest.mark.parametrize(("filesystem", "commits"), [("ext4", "jbd2 commit"), ("xfs", "xfs log force")])
def test_the_file_systems_own_commits_are_seen(acidtest, tmp_path: Path, filesystem: str, commits: str) -> None:
    file = tmp_path / "beneath.toml"
    file.write_text(
        f'name = "beneath"\nrepetitions = 1\nengine = "sqlite"\ndurability = "drive"\n'
        f'[place]\nkind = "loop"\nfilesystem = "{filesystem}"\n[workload.commits]\ncount = 40\n'
    )
    ran = acidtest("trace", file, "--json", "--out", tmp_path / "out", code=0)
    (cell,) = json.loads(ran.stdout)["cells"]
    seen = {one["what"]: one["count"] for one in cell["calls"]["storage"]}
    # The log grows with each commit, and with it the file: its size has to be made durable too.
    assert seen[commits] >= 40
    assert seen["flush"] >= 40, "a flush of the block layer has another place when it is done than when it is issued"
    assert {line["layer"] for line in cell["calls"]["typical"]["lines"]} == {"call", "file_system", "block"}
    assert cell["calls"]["dropped"] == 0


# Gives every hint that there is, on its standard input's word; each stands for what an engine does with its files.
HINTING = """
import ctypes, mmap, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.readahead.argtypes = [ctypes.c_int, ctypes.c_int64, ctypes.c_size_t]
print("ready", flush=True)
sys.stdin.readline()
early = os.open("early", os.O_RDWR)
os.posix_fadvise(early, 0, 0, os.POSIX_FADV_RANDOM)
os.write(early, b"x")
print("opened", flush=True)
sys.stdin.readline()
late = os.open("late", os.O_RDWR)
os.posix_fadvise(late, 4096, 8192, os.POSIX_FADV_WILLNEED)
assert libc.readahead(late, 8192, 4096) == 0
os.write(late, b"x")
with mmap.mmap(late, 65536) as mapped:
    mapped.madvise(mmap.MADV_SEQUENTIAL)
    mapped.madvise(mmap.MADV_WILLNEED, 4096, 8192)
anonymous = mmap.mmap(-1, 65536)
anonymous.madvise(mmap.MADV_DONTNEED)
print("done", flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize("means", ["kernel", "strace"])
def test_every_hint_of_a_real_program_is_seen_with_its_file(tmp_path: Path, means: str) -> None:
    """Also those from before the first transaction; of the rest only what came after it."""
    for name in ("early", "late"):
        (tmp_path / name).write_bytes(bytes(65536))
    program = subprocess.Popen(
        [sys.executable, "-c", HINTING], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    instance = f"acidtest-{uuid.uuid4().hex[:12]}"
    ways: dict[str, dict[str, Any]] = {
        "kernel": {"kind": "kernel", "instance": instance},
        "strace": {"kind": "strace", "program": shutil.which("strace")},
    }
    observer = subprocess.Popen([find_rig(), "observe"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(process: subprocess.Popen[str], order: str) -> str:
        assert process.stdin
        assert process.stdout
        process.stdin.write(f"{order}\n")
        process.stdin.flush()
        return process.stdout.readline().strip()

    try:
        assert program.stdout
        assert program.stdout.readline() == "ready\n"
        asked = {"means": ways[means], "processes": [program.pid], "directory": str(tmp_path)}
        assert ask(observer, json.dumps(asked)) == '"watching"'
        assert ask(program, "") == "opened"
        assert ask(observer, '"begin"') == '"begun"'
        assert ask(program, "") == "done"
        ended = {"end": {"embedded": False, "terminals": 1, "commits": 1, "noted": []}}
        observed = json.loads(ask(observer, json.dumps(ended)))["observed"]
    finally:
        program.kill()
        program.communicate()
        observer.communicate()
        tracing.remove(instance)
    assert observed["dropped"] == 0
    seen = {
        (file["path"], call["call"], call["how"]): (call["count"], call["bytes"])
        for file in observed["files"]
        for call in file["calls"]
        if file["path"] in ("early", "late") and call["call"] not in ("openat", "close")
    }
    assert seen == {
        ("early", "fadvise64", "POSIX_FADV_RANDOM"): (1, 0),
        ("late", "fadvise64", "POSIX_FADV_WILLNEED"): (1, 8192),
        ("late", "readahead", ""): (1, 4096),
        ("late", "write", ""): (1, 1),
        ("late", "mmap", "MAP_SHARED|PROT_WRITE"): (1, 65536),
        ("late", "madvise", "MADV_SEQUENTIAL"): (1, 65536),
        ("late", "madvise", "MADV_WILLNEED"): (1, 8192),
    }


def test_what_sqlite_maps_is_told(acidtest, tmp_path: Path) -> None:
    file = tmp_path / "mapped.toml"
    file.write_text(
        'name = "mapped"\nrepetitions = 1\nengine = "sqlite"\ndurability = "drive"\n[workload.commits]\ncount = 20\n'
        '[settings.sqlite]\njournal_mode = "wal"\nmmap_size_mb = 16\n'
    )
    ran = acidtest("trace", file, "--out", tmp_path / "out")
    assert ran.returncode in (0, 1), ran.stderr + ran.stdout
    words = " ".join(ran.stdout.split())
    assert "No hint to the kernel was seen" in words
    assert re.search(r"Mapped into memory, so that reads and writes of it are no calls: .*MAP_SHARED", words)
    assert acidtest("report", tmp_path / "out").returncode in (0, 1)
    assert "Mapped into memory" in (tmp_path / "out" / "report.html").read_text()
