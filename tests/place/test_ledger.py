"""The ledger: what a killed lab made is released, and nothing else is touched."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest

from acidtest.errors import BadInput
from acidtest.files import MARK, TOKEN, tag
from acidtest.place import DirectoryPlace, Ledger, leftovers, release_leftovers
from acidtest.place.ledger import _family
from support import is_alive, killed_lab


def test_a_killed_labs_directory_and_process_are_released(tmp_path: Path) -> None:
    killed_lab(f"""
        ledger.make_directory(Path({str(tmp_path / "db")!r}))
        Path({str(tmp_path / "db" / "x")!r}).mkdir()
        Path({str(tmp_path / "db" / "x" / "file")!r}).write_text("data")
        _, process = ledger.start_process(["sleep", "1000"], environment=os.environ, stderr=tempfile.TemporaryFile())
        Path({str(tmp_path / "pid")!r}).write_text(str(process.pid))
    """)
    pid = int((tmp_path / "pid").read_text())
    assert is_alive(pid)
    assert {(left.kind) for left in leftovers()} == {"directory", "process"}
    said = release_leftovers()
    assert len(said) == 2
    assert not is_alive(pid)
    assert not (tmp_path / "db").exists()
    assert leftovers() == [] == release_leftovers()


def test_a_line_is_on_the_drive_before_a_directory_is_made_and_struck_off_when_it_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, directory, fsync = Ledger(), tmp_path / "db", os.fsync
    synced: list[tuple[bytes, bool]] = []

    def noted(descriptor: int) -> None:
        fsync(descriptor)
        if Path(f"/proc/self/fd/{descriptor}").resolve() == ledger.path:
            synced.append((ledger.path.read_bytes(), directory.exists()))

    monkeypatch.setattr(os, "fsync", noted)
    ledger.remove_directory(ledger.make_directory(directory))
    assert [there for _, there in synced] == [False, False]
    assert [text.count(b"\n") for text, _ in synced] == [1, 2]
    ledger.close()


def test_what_a_lab_made_is_released_though_it_was_killed_while_it_started_a_process(tmp_path: Path) -> None:
    killed_lab(f"""
        ledger.make_directory(Path({str(tmp_path / "db")!r}))
        if os.fork() == 0:  # it has the ledger open, as a child has until it runs its command
            time.sleep(0.5)
            os._exit(0)
    """)
    assert [left.kind for left in leftovers()] == ["directory"]
    assert release_leftovers() == [f"removed {tmp_path / 'db'}"]


def test_a_process_that_has_not_begun_its_command_when_the_lab_is_killed_is_found(tmp_path: Path) -> None:
    killed_lab(f"""
        from acidtest.files import TOKEN
        ledger._made("process", command=["sleep", "1000"], token="late-token")
        if (pid := os.fork()) == 0:
            os.close(ledger._file.fileno())
            time.sleep(0.3)
            os.execvpe("sleep", ["sleep", "1000"], {{**os.environ, TOKEN: "late-token"}})
        Path({str(tmp_path / "pid")!r}).write_text(str(pid))
    """)
    pid = int((tmp_path / "pid").read_text())
    release_leftovers()
    assert not is_alive(pid)


def test_a_process_whose_pid_was_not_written_yet_is_found_by_its_token(tmp_path: Path) -> None:
    killed_lab(f"""
        import subprocess
        from acidtest.files import TOKEN
        ledger._made("process", command=["sleep", "1000"], token="secret-token")
        process = subprocess.Popen(["sleep", "1000"], env={{**os.environ, TOKEN: "secret-token"}})
        Path({str(tmp_path / "pid")!r}).write_text(str(process.pid))
    """)
    pid = int((tmp_path / "pid").read_text())
    assert is_alive(pid)
    release_leftovers()
    assert not is_alive(pid)


FORGETFUL = "sleep 1000 & echo $! >{}; wait"  # its child has no token, as a child that overwrote its environment


@pytest.fixture
def child(tmp_path: Path) -> Callable[[], int]:
    """The process that a started shell started, once it is there."""

    def waited() -> int:
        end = time.monotonic() + 120
        while time.monotonic() < end:
            with contextlib.suppress(OSError, ValueError):
                return int((tmp_path / "child").read_text())
            time.sleep(0.01)
        raise AssertionError("the shell started nothing")

    return waited


def forgetful(tmp_path: Path) -> list[str]:
    return ["env", "-u", TOKEN, "sh", "-c", FORGETFUL.format(tmp_path / "child")]


def test_what_a_process_started_ends_with_it_though_it_carries_no_token(
    tmp_path: Path, child: Callable[[], int]
) -> None:
    ledger = Ledger()
    with (tmp_path / "log").open("wb") as log:
        id, process = ledger.start_process(  # noqa: A001
            forgetful(tmp_path), environment=os.environ, stderr=log, stdout=log
        )
    pid = child()
    assert TOKEN.encode() not in Path(f"/proc/{pid}/environ").read_bytes()
    ledger.end_process(id, process)
    assert not is_alive(pid)
    ledger.close()


def test_what_a_killed_labs_process_started_is_released_too(tmp_path: Path, child: Callable[[], int]) -> None:
    killed_lab(f"""
        ledger.start_process({forgetful(tmp_path)!r}, environment=os.environ, stderr=tempfile.TemporaryFile())
        while not Path({str(tmp_path / "child")!r}).exists() or not Path({str(tmp_path / "child")!r}).read_text():
            time.sleep(0.01)
    """)
    pid = child()
    assert is_alive(pid)
    assert len(release_leftovers()) == 2
    assert not is_alive(pid)


def _working_in(directory: Path) -> Iterator[int]:
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (process / "cwd").readlink().is_relative_to(directory):
                yield int(process.name)


def test_what_a_killed_lab_let_work_in_its_directory_without_a_line_ends_before_the_directory_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an engine's program that makes a database: it writes on, also by what it starts while it is being ended."""
    database, stranger = tmp_path / "db", subprocess.Popen(["sleep", "1000"], cwd=tmp_path)
    writing = "i=0; while :; do i=$((i + 1)); mkdir -p $i; (sleep 2; echo >$i/file) & sleep 0.05; done"
    try:
        killed_lab(f"""
            import subprocess
            from acidtest.files import tag
            at = Path({str(database)!r})
            ledger.make_directory(at)
            (at / "run").mkdir()
            helper = subprocess.Popen(
                ["sh", "-c", "({writing}) & wait"], cwd=at / "run", env={{**os.environ, **tag(at / "run")}}
            )
            Path({str(tmp_path / "pid")!r}).write_text(str(helper.pid))
            while not list((at / "run").iterdir()):
                pass
        """)
        helpers = _family(int((tmp_path / "pid").read_text()))
        assert len(helpers) >= 2
        slowly = Mock(side_effect=lambda pid: (_family(pid), time.sleep(0.05))[0])  # meanwhile more are started
        monkeypatch.setattr("acidtest.place.ledger._family", slowly)
        said = release_leftovers()
        assert f"removed {database}" in said
        assert any(f"(at work in {database})" in line for line in said)
        assert [pid for pid in _working_in(database) if is_alive(pid)] == []
        assert not database.exists()
        assert stranger.poll() is None
        assert leftovers() == []
    finally:
        stranger.kill()
        stranger.wait()


def test_a_directory_that_no_lab_made_tags_nothing(tmp_path: Path) -> None:
    assert tag(tmp_path) == {}


def test_a_recycled_pid_is_not_signalled(tmp_path: Path) -> None:
    stranger = subprocess.Popen(["sleep", "1000"])
    try:
        killed_lab(f"""
            id = ledger._made("process", command=["sleep"], token="t")
            ledger._write({{"started": id, "pid": {stranger.pid}, "start_time": "1"}})
        """)
        assert release_leftovers() == []
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


@pytest.mark.parametrize("mark", [None, ""])
def test_a_directory_whose_lab_was_killed_before_it_was_marked_is_removed(tmp_path: Path, mark: str | None) -> None:
    (tmp_path / "mine").mkdir()
    if mark is not None:
        (tmp_path / "mine" / MARK).write_text(mark)
    killed_lab(f'ledger._made("directory", path={str(tmp_path / "mine")!r})')
    assert release_leftovers()
    assert not (tmp_path / "mine").exists()


@pytest.mark.parametrize("mark", [None, "", "of another directory"])
def test_a_directory_without_our_mark_is_not_removed(tmp_path: Path, mark: str | None) -> None:
    (tmp_path / "theirs").mkdir()
    if mark is not None:
        (tmp_path / "theirs" / MARK).write_text(mark)
    (tmp_path / "theirs" / "data").write_text("precious")
    killed_lab(f'ledger._made("directory", path={str(tmp_path / "theirs")!r})')
    assert release_leftovers() == []
    assert (tmp_path / "theirs" / "data").read_text() == "precious"


def test_a_living_lab_is_left_alone(tmp_path: Path) -> None:
    ledger = Ledger()
    ledger.make_directory(tmp_path / "mine")
    assert leftovers() == []
    assert release_leftovers() == []
    assert (tmp_path / "mine").exists()
    ledger.close()
    assert not (tmp_path / "mine").exists()
    assert not ledger.path.exists()


def test_a_torn_ledger_line_is_ignored(tmp_path: Path, home: Path) -> None:
    killed_lab(f"ledger.make_directory(Path({str(tmp_path / 'db')!r}))")
    (ledger,) = (home / "ledger").glob("*.jsonl")
    with ledger.open("ab") as file:
        file.write(b'{"made": "torn", "ki')
    release_leftovers()
    assert not (tmp_path / "db").exists()


def test_places_refuse_what_they_cannot_use(tmp_path: Path) -> None:
    ledger = Ledger()
    with pytest.raises(BadInput, match="no such directory"):
        DirectoryPlace(tmp_path / "missing", ledger, needed_bytes=0)
    with pytest.raises(BadInput, match=r"needs about .* MB for the databases, has"):
        DirectoryPlace(tmp_path, ledger, needed_bytes=1 << 60)
    with pytest.raises(BadInput, match=r"needs about .* MB for the files that the probe writes, has"):
        DirectoryPlace(tmp_path, ledger, needed_bytes=1 << 60, holds="the files that the probe writes")
    (tmp_path / "link").symlink_to(tmp_path)
    place = DirectoryPlace(tmp_path / "link" / ".." / tmp_path.name, ledger, needed_bytes=0)
    assert place.path.parent == tmp_path.resolve()  # as the kernel lists what is mounted in it
    source = tmp_path / "template.db"
    source.write_bytes(os.urandom(10_000))
    cell = place.subdirectory("cell")
    place.copy([source], cell)
    assert (cell / "template.db").read_bytes() == source.read_bytes()
    place.remove(cell)
    place.release()
    assert not place.path.exists()
    ledger.close()


def test_a_process_that_nobody_ended_ends_with_the_ledger(tmp_path: Path) -> None:
    ledger = Ledger()
    ledger.make_directory(tmp_path / "mine")
    with (tmp_path / "log").open("wb") as log:
        _, process = ledger.start_process(["sleep", "1000"], environment=os.environ, stderr=log, stdout=log)
    ledger.close()
    assert process.wait() == -signal.SIGKILL
    assert not (tmp_path / "mine").exists()
    assert not ledger.path.exists()


def test_processes_may_have_any_name(tmp_path: Path) -> None:
    ledger = Ledger()
    script = "open('/proc/self/comm', 'wb').write(b'\\xff\\xfe (x) y'); print(flush=True); input()"
    with (tmp_path / "log").open("wb") as log:
        id, process = ledger.start_process([sys.executable, "-c", script], environment=os.environ, stderr=log)  # noqa: A001
        assert process.stdout is not None
        process.stdout.readline()
        assert process.pid in _family(os.getpid())
        ledger.end_process(id, process)
    ledger.close()
