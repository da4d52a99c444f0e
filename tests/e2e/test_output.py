"""Runs whose output is lost, whose locale is not UTF-8, that are told to stop, or that may not write: as a user meets them."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support import ACIDTEST, command, journal_lines

NOT_UTF8 = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
GOES_ON = "nothing that was measured is lost, and the same command goes on: acidtest run"
Begin = Callable[..., "subprocess.Popen[bytes]"]


def long(directory: Path) -> Path:
    """An experiment whose last cells are far away."""
    file = directory / "long.toml"
    file.write_text(
        'name = "long"\nrepetitions = 100\nengine = "sqlite"\ndurability = "os"\n[workload.commits]\ncount = 2000\n',
        encoding="utf-8",
    )
    return file


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Begin]:
    """Starts a run with a home of its own, and ends it if the test did not."""
    begun: list[subprocess.Popen[bytes]] = []

    def started(*arguments: object, **more: object) -> subprocess.Popen[bytes]:
        # What is started in the background ignores Ctrl-C, and this suite may be.
        words = ["env", "--default-signal=INT", f"ACIDTEST_HOME={tmp_path / 'home'}", ACIDTEST, *map(str, arguments)]
        begun.append(subprocess.Popen(words, stderr=subprocess.PIPE, **more))  # type: ignore[call-overload]
        return begun[-1]

    yield started
    for one in begun:
        if one.poll() is None:
            one.kill()
        one.communicate()


def has_released_everything(tmp_path: Path) -> bool:
    out = {path.name for path in (tmp_path / "out").iterdir()}
    return out == {"journal.jsonl"} and list((tmp_path / "home" / "ledger").iterdir()) == []


@pytest.mark.parametrize(("number", "name", "code"), [(signal.SIGINT, "Ctrl-C", 130), (signal.SIGTERM, "SIGTERM", 143)])
def test_a_run_that_is_told_to_stop_says_that_the_same_command_goes_on(
    begin: Begin, tmp_path: Path, number: signal.Signals, name: str, code: int
) -> None:
    file, out = long(tmp_path), tmp_path / "out"
    lab = begin("run", file, "--out", out, stdout=subprocess.DEVNULL)
    while not (out / "journal.jsonl").exists() or (out / "journal.jsonl").read_bytes().count(b"\n") < 3:
        assert lab.poll() is None
        time.sleep(0.01)
    lab.send_signal(number)
    _, said = lab.communicate(timeout=300)
    assert lab.returncode == code
    assert said.decode() == f"acidtest: stopped by {name}; {GOES_ON} {file} --out {out}\n"
    assert has_released_everything(tmp_path)
    assert {line["status"] for line in journal_lines(out)} == {"done"}


def test_a_run_whose_output_is_lost_ends_in_one_line_and_keeps_what_it_measured(begin: Begin, tmp_path: Path) -> None:
    file, out = long(tmp_path), tmp_path / "out"
    lab = begin("run", file, "--out", out, stdout=subprocess.PIPE)
    assert lab.stdout is not None
    for _ in range(3):  # the header and two cells
        assert lab.stdout.readline()
    lab.stdout.close()
    assert lab.stderr is not None
    text = lab.stderr.read().decode()
    assert lab.wait(timeout=300) == 128 + signal.SIGPIPE
    assert text == f"acidtest: nobody reads the output any more; {GOES_ON} {file} --out {out}\n"
    assert has_released_everything(tmp_path)
    held = journal_lines(out)
    assert len(held) >= 2
    with Path("/dev/full").open("wb") as full:
        lab = begin("run", file, "--out", out, stdout=full)
        _, told = lab.communicate(timeout=300)
    assert lab.returncode == 4
    assert told.decode() == (
        f"acidtest: standard output cannot be written: No space left on device; {GOES_ON} {file} --out {out}\n"
    )
    assert has_released_everything(tmp_path)
    assert journal_lines(out)[: len(held)] == held


def test_a_run_in_a_locale_that_is_not_utf8(acidtest, tmp_path: Path) -> None:
    home = tmp_path / "größer"
    home.mkdir()
    file = home / "t.toml"
    file.write_text(
        'name = "t"\ntitle = "Größe – …"\nrepetitions = 1\nengine = "sqlite"\ndurability = "os"\n'
        f"[workload.commits]\ncount = 5\n[place]\npath = '{home}'\n",
        encoding="utf-8",
    )
    ran = acidtest("run", file, "--out", home / "öut", environment=NOT_UTF8, code=0)
    assert ran.stdout.isascii()
    assert "Grosse - ..." in ran.stdout
    assert "Größe – …" in (home / "öut" / "report.html").read_text(encoding="utf-8")
    (recording,) = journal_lines(home / "öut")
    assert recording["status"] == "done"
    assert recording["place"]["path"].startswith(str(home))
    assert sorted(path.name for path in home.iterdir()) == ["t.toml", "öut"]


@pytest.fixture
def read_only(acidtest, experiment, tmp_path: Path) -> Iterator[Path]:
    """A finished run that is mounted read-only."""
    assert acidtest("run", experiment(), "--out", tmp_path / "run").returncode == 0
    (tmp_path / "run" / "report.html").unlink()
    mounted = tmp_path / "mounted"
    mounted.mkdir()
    subprocess.run(["mount", "--bind", tmp_path / "run", mounted], check=True)
    subprocess.run(["mount", "-o", "remount,ro,bind", mounted], check=True)
    yield mounted
    subprocess.run(["umount", mounted], check=True)


def test_a_run_on_a_read_only_file_system_is_reported_and_repeated(
    read_only: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("report", read_only) == 0
    out, err = capsys.readouterr()
    assert "commits/s" in out
    assert err == (
        f"acidtest: {read_only}/report.html: cannot be written: Read-only file system: mount its file system writable, "
        f"or acidtest report {read_only} --page FILE writes it elsewhere\n"
    )
    assert command("report", read_only, "--page", tmp_path / "page.html") == 0
    assert (tmp_path / "page.html").stat().st_size > 100_000
    capsys.readouterr()
    assert command("run", tmp_path / "small.toml", "--out", read_only) == 4  # all has run; its page is not there
    out, err = capsys.readouterr()
    assert "1 already in the journal" in out
    assert "report.html: cannot be written: Read-only file system" in err


def test_a_user_without_rights_is_shown_the_report(acidtest, experiment, tmp_path: Path) -> None:
    # Root may write anywhere, so the command runs without that capability here.
    assert acidtest("run", experiment(), "--out", tmp_path / "run").returncode == 0
    (tmp_path / "run" / "report.html").unlink()
    (tmp_path / "run").chmod(0o555)
    drop = "-dac_override,-dac_read_search"
    ran = subprocess.run(
        ["setpriv", f"--bounding-set={drop}", f"--inh-caps={drop}", ACIDTEST, "report", tmp_path / "run"],
        capture_output=True, encoding="utf-8", timeout=300, check=False,
    )  # fmt: skip
    assert ran.returncode == 0
    assert "commits/s" in ran.stdout
    assert "Permission denied: allow writing there, or acidtest report" in ran.stderr
    assert len(ran.stderr.splitlines()) == 1


def test_an_installation_that_is_not_whole_is_listed_as_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ACIDTEST_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "engines" / "firebird-5.0" / "firebird" / "embedded" / "runtime").mkdir(parents=True)
    assert command("engines") == 0
    assert "damaged: " in capsys.readouterr().out
    assert command("engines", "remove", "firebird-5.0") == 0
    assert not (tmp_path / "engines" / "firebird-5.0").exists()
