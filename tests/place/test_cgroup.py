"""Control groups: what is parsed, where they are made, and that a limit holds for what a process caches."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from acidtest.errors import MachineLacks
from acidtest.place import Ledger, filecache, leftovers, release_leftovers
from acidtest.place.cgroup import (
    Cgroup,
    Hierarchy,
    Launched,
    here,
    hierarchy,
    may_swap,
    parse_pressure,
    usage_v1,
    usage_v2,
)
from support import is_alive, killed_lab

V1_STAT = """\
cache 62914560
rss 4194304
shmem 1048576
pgmajfault 3
workingset_refault_file 7
hierarchical_memory_limit 67108864
total_cache 65011712
total_rss 5242880
total_shmem 2097152
total_swap 4096
total_pgmajfault 5
total_workingset_refault_anon 2
total_workingset_refault_file 11
"""
V2_STAT = """\
anon 5242880
file 65011712
kernel 1146880
shmem 2097152
workingset_refault_anon 2
workingset_refault_file 11
pgmajfault 5
"""
MIB = 1 << 20


def test_both_versions_say_the_same_of_the_same() -> None:
    v1, v2 = usage_v1(V1_STAT, 70_000_000), usage_v2(V2_STAT, 70_000_000, 4096)
    assert v1 == v2
    assert (v1.file_bytes, v1.engine_bytes) == (60 * MIB, 7 * MIB)  # shared memory is the engine's, not file cache
    assert (v1.swap_bytes, v1.refaults_file, v1.refaults_engine, v1.major_faults) == (4096, 11, 2, 5)


def test_an_old_kernel_counts_refaults_together() -> None:
    assert usage_v1("workingset_refault 9\n", 0).refaults_file == 9
    assert usage_v2("workingset_refault 9\n", 0, 0).refaults_file == 9


def test_pressure_is_the_total_of_some_and_of_all() -> None:
    text = (
        "some avg10=1.53 avg60=0.87 avg300=0.21 total=1234567\n"
        "full avg10=0.00 avg60=0.00 avg300=0.00 total=89\n"
    )  # fmt: skip
    assert parse_pressure(text) == (1_234_567, 89)
    assert parse_pressure("some avg10=0.00 avg60=0.00 avg300=0.00 total=5\n") == (5, 0)
    assert parse_pressure("") is None  # a kernel without it, or v1's group


def mountinfo(*mounts: tuple[str, Path, str, str]) -> str:
    """Lines of root, mount point, type and the file system's own options."""
    return "".join(
        f"{n} 1 0:{n} {root} {point} rw,nosuid - {kind} {kind} rw,{options}\n"
        for n, (root, point, kind, options) in enumerate(mounts, start=30)
    )


def test_v1_groups_are_made_below_the_labs_own(tmp_path: Path) -> None:
    text = mountinfo(("/", tmp_path / "cpu", "cgroup", "cpu"), ("/", tmp_path / "memory", "cgroup", "memory"))
    found = hierarchy(text, "5:memory:/user/lab\n1:cpu:/\n0::/\n")
    assert found == Hierarchy(1, tmp_path / "memory", tmp_path / "memory" / "user" / "lab")


def test_in_a_container_the_path_begins_at_the_mounts_root(tmp_path: Path) -> None:
    text = mountinfo(("/docker/abc", tmp_path / "memory", "cgroup", "memory"))
    assert hierarchy(text, "5:memory:/docker/abc\n").parent == tmp_path / "memory"
    assert hierarchy(text, "5:memory:/docker/abc/lab\n").parent == tmp_path / "memory" / "lab"


def v2_tree(top: Path, handed_on: dict[str, str]) -> str:
    for name, controllers in handed_on.items():
        (top / name).mkdir(parents=True, exist_ok=True)
        (top / name / "cgroup.subtree_control").write_text(controllers + "\n")
    return mountinfo(("/", top, "cgroup2", "nsdelegate"))


def test_v2_groups_are_made_where_the_controller_is_handed_on(tmp_path: Path) -> None:
    text = v2_tree(tmp_path, {".": "cpu memory", "user.slice": "memory pids", "user.slice/lab.scope": ""})
    found = hierarchy(text, "0::/user.slice/lab.scope\n")
    assert found == Hierarchy(2, tmp_path, tmp_path / "user.slice")
    assert hierarchy(v2_tree(tmp_path, {"user.slice/lab.scope": "memory"}), "0::/user.slice/lab.scope\n").parent == (
        tmp_path / "user.slice" / "lab.scope"
    )


def test_v2_without_the_controller_is_refused_with_the_command_to_give(tmp_path: Path) -> None:
    text = v2_tree(tmp_path, {".": "cpu", "lab": ""})
    with pytest.raises(MachineLacks, match="no memory controller") as refused:
        hierarchy(text, "0::/lab\n")
    assert "systemd-run --user --scope -p Delegate=yes" in refused.value.remedy


def test_a_v2_group_is_limited_and_read_back(tmp_path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    # A tree of plain files: what is written where, and what is made of the answers. No kernel takes part.
    def furnish(path: Path, *args: object, **kwargs: object) -> None:
        os.makedirs(path)  # noqa: PTH103 - Path's own is what this stands for
        for name, text in {
            "memory.max": "max", "memory.swap.max": "max", "memory.swap.current": "0\n", "memory.current": "42\n",
            "memory.peak": "99\n", "memory.stat": V2_STAT, "memory.events": "low 0\nmax 4\noom 1\noom_kill 1\n",
            "memory.pressure": "some avg10=0.00 avg60=0.00 avg300=0.00 total=8\nfull avg10=0 avg60=0 avg300=0 total=2\n",
            "io.pressure": "some avg10=0.00 avg60=0.00 avg300=0.00 total=7\nfull avg10=0 avg60=0 avg300=0 total=1\n",
            "cgroup.procs": "12\n13\n",
        }.items():  # fmt: skip
            (path / name).write_text(text)

    (tmp_path / "above").mkdir()
    monkeypatch.setattr(Path, "mkdir", furnish)
    group = Cgroup(ledger, 64 * MIB, Hierarchy(2, tmp_path, tmp_path / "above"))
    assert (group.path / "memory.max").read_text() == str(64 * MIB)
    assert group.swap == "memory.swap.max 0"
    assert group.limit_bytes == 64 * MIB
    (tmp_path / "above" / "memory.max").write_text(f"{32 * MIB}\n")
    assert group.limit_bytes == 32 * MIB  # the group above allows less: that is what is in force
    assert (group.peak_bytes, group.killed, group.pressure(), group.pids()) == (99, 1, (8, 2), [12, 13])
    assert group.pressure("io") == (7, 1)
    assert group.usage().usage_bytes == 42
    swapping = Cgroup(ledger, 64 * MIB, Hierarchy(2, tmp_path, tmp_path / "above"), swap_bytes=16 * MIB)
    assert (group.swap_bytes, swapping.swap_bytes, swapping.swap) == (0, 16 * MIB, f"memory.swap.max {16 * MIB}")
    for child in swapping.path.iterdir():
        child.unlink()
    swapping.release()
    for child in group.path.iterdir():
        child.unlink()
    group.release()
    assert not group.path.exists()


@pytest.fixture
def big(tmp_path: Path) -> Path:
    path = tmp_path / "big"
    with path.open("wb") as file:
        for _ in range(64):
            file.write(os.urandom(MIB))
    filecache.drop([path])
    return path


@contextlib.contextmanager
def running(
    launched: Launched, tmp_path: Path, *commands: str, printed: int
) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Shells at work, when they have printed so many words."""
    log = tmp_path / "log"
    with log.open("wb") as file:
        started = [
            launched.start_process(["sh", "-c", command], environment=os.environ, stderr=file, stdout=file)
            for command in commands
        ]
    while len(log.read_text().split()) < printed:
        pass
    yield [process for _, process in started]
    for id, process in started:  # noqa: A001
        launched.end_process(id, process)


FAMILY = "sleep 1000 & echo started; wait"
READ = "import sys\nwith open(sys.argv[1], 'rb', buffering=0) as f:\n    while f.read(65536): pass\n"


def test_what_a_process_caches_stays_below_the_limit(big: Path, ledger: Ledger, tmp_path: Path) -> None:
    group = Cgroup(ledger, 16 * MIB)
    try:
        assert group.limit_bytes == 16 * MIB
        launched = Launched(ledger, group)
        with (tmp_path / "log").open("wb") as log:
            id, process = launched.start_process(  # noqa: A001
                [sys.executable, "-c", READ, str(big)], environment=os.environ, stderr=log, stdout=log
            )
            assert process.wait(timeout=300) == 0, (tmp_path / "log").read_text()
            launched.end_process(id, process)
        cached = filecache.residency([big])
        assert 0 < cached.resident_bytes <= 16 * MIB
        assert group.usage().file_bytes >= cached.resident_bytes
        assert group.usage().usage_bytes < 16 * MIB + MIB // 2
        assert 15 * MIB < (group.peak_bytes or 0) < 16 * MIB + MIB // 2  # some charges must not fail
        assert group.killed == 0
    finally:
        group.release()
    assert not group.path.exists()


def test_a_process_that_needs_more_is_killed_and_counted(ledger: Ledger, tmp_path: Path) -> None:
    group = Cgroup(ledger, 16 * MIB)
    launched = Launched(ledger, group)
    with (tmp_path / "log").open("wb") as log:
        id, process = launched.start_process(  # noqa: A001
            [sys.executable, "-c", "held = bytes(range(256)) * (1 << 20)"],
            environment=os.environ, stderr=log, stdout=log,
        )  # fmt: skip
        assert process.wait(timeout=300) == -9
        launched.end_process(id, process)
    assert group.killed == 1
    group.release()


@pytest.mark.parametrize("in_a_group", [True, False])
def test_every_process_of_the_family_is_known(in_a_group: bool, ledger: Ledger, tmp_path: Path) -> None:
    group = Cgroup(ledger, 16 * MIB) if in_a_group else None
    launched = Launched(ledger, group)
    with running(launched, tmp_path, FAMILY, printed=1) as (process,):
        assert process.pid in launched.pids()
        assert len(launched.pids()) == 2
    assert launched.pids() == []
    if group:
        group.release()


def test_a_process_that_is_not_in_the_group_is_seen_outside_of_it(ledger: Ledger, tmp_path: Path) -> None:
    group = Cgroup(ledger, 16 * MIB)
    launched = Launched(ledger, group)
    moves = f"echo $$ > {group.path.parent}/cgroup.procs; echo moved; exec sleep 1000"
    with running(launched, tmp_path, FAMILY, moves, printed=2) as (family, moved):
        inside, outside = launched.seen()
        assert inside[0] == family.pid
        assert len(inside) == 2
        assert outside == [moved.pid]
        moved.kill()
        moved.wait()
        assert launched.seen() == (inside, [])
    group.release()


def test_a_killed_lab_leaves_no_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACIDTEST_HOME", str(tmp_path / "home"))
    printed = killed_lab(f"""
        from acidtest.place.cgroup import Cgroup, Launched
        group = Cgroup(ledger, 16 << 20)
        log = open({str(tmp_path / "log")!r}, "wb")
        launched = Launched(ledger, group)
        launched.start_process(["sh", "-c", "sleep 1000 & sleep 1000"], environment=os.environ, stderr=log, stdout=log)
        while len(group.pids()) < 2:
            time.sleep(0.01)
        print(group.path, *group.pids(), flush=True)
    """)
    path, *pids = printed.split()
    assert Path(path).is_dir()
    assert {left.kind for left in leftovers()} == {"cgroup", "process"}
    assert f"removed control group {path}" in release_leftovers()
    assert not Path(path).exists()
    assert not any(is_alive(int(pid)) for pid in pids)
    assert leftovers() == []


def test_a_lab_killed_before_its_group_was_made_leaves_nothing_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACIDTEST_HOME", str(tmp_path / "home"))
    killed_lab(f'ledger._made("cgroup", path={str(here().parent / "acidtest-never-made")!r})')
    assert [left.kind for left in leftovers()] == ["cgroup"]
    assert release_leftovers() == []
    assert leftovers() == []


def test_without_rights_the_command_to_give_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(MachineLacks, match="may not be written to") as refused:
        here()
    assert "sudo acidtest run" in refused.value.remedy


@pytest.fixture
def swap(tmp_path: Path) -> Iterator[int]:
    """Bytes of swap that this machine has for the time of a test, in a file of its own; nobody outside a limit uses it."""
    file = tmp_path / "swap"
    size = 96 * MIB
    with file.open("wb") as writer:
        os.posix_fallocate(writer.fileno(), 0, size)
    file.chmod(0o600)
    subprocess.run(["mkswap", file], check=True, capture_output=True)
    subprocess.run(["swapon", file], check=True, capture_output=True)
    try:
        yield size
    finally:
        subprocess.run(["swapoff", file], check=True, capture_output=True)


HOLD = """
import sys
held = bytearray(48 << 20)
for page in range(0, len(held), 4096):
    held[page] = 1
print("held", flush=True)
sys.stdin.read()
"""


def test_what_may_be_swapped_is_swapped_and_no_more(swap: int, ledger: Ledger, tmp_path: Path) -> None:
    may_swap(64 * MIB)
    group = Cgroup(ledger, 32 * MIB, swap_bytes=64 * MIB)
    without = Cgroup(ledger, 32 * MIB)
    try:
        assert (group.limit_bytes, group.swap_bytes, without.swap_bytes) == (32 * MIB, 64 * MIB, 0)
        for one in (group, without):
            command = [sys.executable, "-c", HOLD]
            into = f"echo $$ > {one.path}/cgroup.procs; exec "
            process = subprocess.Popen(
                ["sh", "-c", into + shlex.join(command)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
            assert process.stdout
            said = process.stdout.readline()
            swapped = one.usage().swap_bytes
            process.communicate()
            assert (said, swapped > 8 * MIB, one.killed) == ((b"held\n", True, 0) if one is group else (b"", False, 1))
    finally:
        for one in (group, without):
            one.release()


def test_swap_that_the_machine_does_not_have_is_refused_in_a_line() -> None:
    with pytest.raises(
        MachineLacks, match=r"place.swap_mb = \d+: this machine has (no swap|.* MiB of swap)$"
    ) as refused:
        may_swap(1 << 60)  # whatever the test above adds meanwhile
    assert "swapon FILE" in refused.value.remedy
