"""Every command on an ASCII terminal, on a full disk, with nobody reading, and where it may not write: in this process."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest

import factory
from acidtest.cli.diagnosing.making import keep as keep_diagnosis
from acidtest.cli.report import could_not_run
from acidtest.errors import AcidtestError, BadInput, cannot_write
from acidtest.journal.models import Journal
from acidtest.place import mounts
from acidtest.report import page, survival_page
from support import command


def test_a_retry_is_named_only_where_it_may_help() -> None:
    """A mount option that is refused is refused again."""
    refused = mounts.advised("mount -t xfs -o nobarrier /dev/loop0: xfs: Unknown parameter 'nobarrier'")
    assert refused.endswith("'nobarrier': correct place.mount, or leave that combination out by [[exclude]]")
    for words in ("Bad value for 'commit'", 'Unrecognized mount option "nobarrier"'):
        assert "[[exclude]]" in mounts.advised(words)
    assert mounts.advised("mount: No space left on device") == "mount: No space left on device"
    never, perhaps = (factory.recording(status="failed", reason=reason) for reason in (refused, "the port is taken"))
    assert could_not_run("cells", [never]) == "Some cells could not run: see above."
    assert could_not_run("cells", [never, perhaps]).endswith("see above; --retry-failed runs them again.")


EXPERIMENT = 'name = "t"\ntitle = "Größe – …"\nrepetitions = 1\nengine = "sqlite"\ndurability = "drive"\n[workload.commits]\ncount = 5\n'


def keep(journal: Journal, directory: Path, name: str = "journal.jsonl") -> Path:
    """``journal`` as a file, as a run writes it."""
    directory.mkdir(exist_ok=True)
    lines = [
        journal.header.model_dump_json(),
        *(recording.model_dump_json(by_alias=True) for recording in journal.recordings),
    ]
    (directory / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return directory


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Directories that commands can look at, and an experiment."""
    base = tmp_path_factory.mktemp("kept")
    keep(factory.study(["sqlite"], ["commits"], repetitions=2), base / "run")
    keep(factory.cut_off(), base / "cuts", "cuts.jsonl")
    keep(factory.growing(("sqlite",), repetitions=1), base / "growth")
    (base / "t.toml").write_text(EXPERIMENT, encoding="utf-8")
    return base


COMMANDS = [
    "report run", "report cuts", "report cuts --json", "compare run run", "audit run", "audit --rules", "growth growth",
    "plan t.toml", "plan t.toml --json", "engines", "engines settings sqlite", "clean --dry-run", "help",
    "init --help", "--version", "--help",
]  # fmt: skip


@pytest.fixture
def output(monkeypatch: pytest.MonkeyPatch, kept: Path) -> Iterator[Callable[[io.TextIOWrapper], None]]:
    """Has standard output go into a file of this process, and the commands begin beside what they look at."""
    monkeypatch.chdir(kept)
    monkeypatch.setenv("COLUMNS", "100")
    files: list[io.TextIOWrapper] = []

    def into(file: io.TextIOWrapper) -> None:
        files.append(file)
        monkeypatch.setattr(sys, "stdout", file)

    yield into
    for file in files:
        file.close()


@pytest.mark.parametrize(
    ("encoding", "words"),
    [*(("ascii", words) for words in COMMANDS), ("iso8859-1", "report run"), ("cp1252", "plan t.toml")],
)
def test_it_is_shown_in_any_encoding(encoding: str, words: str, output) -> None:
    shown = io.BytesIO()
    output(io.TextIOWrapper(shown, encoding=encoding))
    assert command(*words.split()) in (0, 1)  # 1: a finding of the audit is severe
    text = shown.getvalue().decode(encoding)
    assert text.strip()
    if words.endswith("--json"):
        json.loads(text)


@pytest.mark.parametrize("words", COMMANDS)
def test_a_full_disk_behind_the_output_is_one_line(words: str, output, capsys: pytest.CaptureFixture[str]) -> None:
    output(os.fdopen(os.open("/dev/full", os.O_WRONLY), "w", encoding="utf-8"))
    assert command(*words.split()) == 4
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert said.startswith("acidtest: standard output cannot be written: No space left on device; ")
    assert f"acidtest {words}" in said


@pytest.mark.parametrize("words", COMMANDS)
def test_output_that_nobody_reads_ends_it_as_it_ends_other_tools(
    words: str, output, capsys: pytest.CaptureFixture[str]
) -> None:
    read, write = os.pipe()
    os.close(read)
    output(os.fdopen(write, "w", encoding="utf-8"))
    assert command(*words.split()) == 141
    assert capsys.readouterr().err == ""


def test_lost_error_output_keeps_the_exit_code(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        monkeypatch.setattr(sys, "stderr", full)
        assert command("report", tmp_path) == 2
        with pytest.raises(OSError, match="No space"):
            full.flush()
        with Path(os.devnull).open("wb") as null:
            os.dup2(null.fileno(), full.fileno())


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.EROFS, "mount its file system writable, or name another"),
        (errno.EACCES, "allow writing there, or name another"),
        (errno.EPERM, "allow writing there, or name another"),
        (errno.ENOSPC, "free some space, or name another"),
        (errno.EDQUOT, "free some space, or raise the quota, or name another"),
        (errno.ENOENT, "make its directory, or name another"),
        (errno.EISDIR, "name another"),
        (errno.EIO, "name another"),
    ],
)
def test_each_reason_why_a_file_is_not_written_has_its_own_remedy(number: int, remedy: str) -> None:
    problem = cannot_write(Path("x.csv"), OSError(number, os.strerror(number)), "name another")
    assert problem.message == f"x.csv: cannot be written: {os.strerror(number)}"
    assert problem.remedy == remedy


@pytest.mark.parametrize("option", ["--page", "--csv", "--parquet"])
def test_a_file_that_was_asked_for_is_written_or_refused(
    option: str, kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("report", kept / "run", option, tmp_path / "file") == 0
    assert (tmp_path / "file").stat().st_size > 1000
    capsys.readouterr()
    missing = tmp_path / "none" / "file"
    assert command("report", kept / "run", option, missing) == 2
    out, said = capsys.readouterr()
    assert said == (
        f"acidtest: {missing}: cannot be written: No such file or directory\n  make its directory, or name another {option}\n"
    )
    assert "Page:" not in out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]


@pytest.mark.parametrize("option", ["--page", "--csv", "--parquet"])
def test_a_dash_is_standard_output(
    option: str, kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert command("report", kept / "run", option, tmp_path / "file") == 0
    capfdbinary.readouterr()
    assert command("report", kept / "run", option, "-") == 0
    out, said = capfdbinary.readouterr()
    assert out == (tmp_path / "file").read_bytes() or option == "--page"
    assert out.startswith({"--page": b"<!doctype html>", "--csv": b'"', "--parquet": b"PAR1"}[option])
    assert said and [path.name for path in tmp_path.iterdir()] == ["file"]
    assert command("report", kept / "run", option, "-", "--json") == 2
    assert f"{option} and --json: standard output takes one of them".encode() in capfdbinary.readouterr().err


def test_a_report_needs_no_right_to_write(
    kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(*anything: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(page, "write_page", refused)
    monkeypatch.setattr(survival_page, "write_survival_page", refused)
    for name in ("run", "cuts"):
        said = (
            f"acidtest: {kept / name}/report.html: cannot be written: Read-only file system: mount its file system writable, "
            f"or acidtest report {kept / name} --page FILE writes it elsewhere"
        )
        (kept / name / "report.html").unlink(missing_ok=True)
        assert command("report", kept / name) == 0
        out, err = capsys.readouterr()
        assert ("commits/s" in out, "Page:" in out, err) == (True, False, f"{said}\n")
        (kept / name / "report.html").write_text("of yesterday", encoding="utf-8")
        assert command("report", kept / name, "--json") == 0
        out, err = capsys.readouterr()
        assert json.loads(out)["experiment"]
        assert err == f"{said}; the page there is an older one\n"


def test_an_experiment_is_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("of yesterday", encoding="utf-8")

    def full(path: Path, text: str, **more: str) -> None:
        path.write_bytes(text.encode()[:10])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_text", full)
    options = ("--question", "durability", "--engine", "sqlite", "--storage", tmp_path, "--time", "1m", "--yes")
    assert command("init", file, "--force", *options) == 2
    assert f"{file}: cannot be written: No space left on device\n  free some space, or " in capsys.readouterr().err
    assert file.read_text(encoding="utf-8") == "of yesterday"
    assert [path.name for path in tmp_path.iterdir()] == ["mine.toml"]


def test_findings_that_cannot_be_kept_are_refused(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("audit", kept / "run", "--sarif", kept / "none" / "x") == 2
    assert "make its directory, or name another --sarif" in capsys.readouterr().err


def test_a_probe_has_no_exports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "probe.json").write_text("{}", encoding="utf-8")
    assert command("report", tmp_path, "--csv", tmp_path / "x.csv") == 2
    assert "--csv: a probe has one table" in capsys.readouterr().err


def damage(file: Path, line: int) -> str:
    """Overwrite a part of a line, from 1, behind its cell; the name of that cell."""
    lines = file.read_bytes().split(b"\n")
    whole = lines[line - 1]
    lines[line - 1] = whole[:400] + b"\0" * 20 + whole[420:]
    file.write_bytes(b"\n".join(lines))
    return str(json.loads(whole)["cell"])


@pytest.fixture
def damaged(tmp_path: Path) -> tuple[Path, str, str]:
    """A run with a damaged line in its middle, the line that says so, and the cell that it held."""
    directory = keep(factory.study(["sqlite"], ["commits"], repetitions=2), tmp_path / "run")
    cell = damage(directory / "journal.jsonl", 3)
    again = f"{cell} counts as not run, and the same command runs it again"
    return directory, f"acidtest: {directory}/journal.jsonl, line 3: damaged (not JSON): {again}\n", cell


def test_a_damaged_line_is_told_by_a_report_in_its_json_and_on_its_page(
    damaged: tuple[Path, str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    directory, said, cell = damaged
    assert command("report", directory, "--json") == 0
    out, err = capsys.readouterr()
    assert err == said
    found = json.loads(out)
    assert found["damaged"] == [
        {"file": f"{directory}/journal.jsonl", "line": 3, "cell": cell, "why": "not JSON"}
    ]  # fmt: skip
    assert found["missing_cells"] == 1
    assert said.removeprefix("acidtest: ").strip() in (directory / "report.html").read_text(encoding="utf-8")


def test_a_report_is_read_against_another_base_without_a_new_run(
    kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    assert command("report", kept / "run", "--json", "--page", page) == 0
    before = json.loads(capsys.readouterr().out)
    factor, level = next((f, row["levels"][f]) for f in before["base"] for row in before["rows"] if not row["is_base"])
    assert command("report", kept / "run", "--json", "--page", page, "--base", f"{factor}={level}") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["base"] == {factor: level}
    assert {row["levels"][factor] for row in found["rows"] if row["is_base"]} == {level}
    for wrong, said in (("nothing", "FACTOR=LEVEL"), ("nothing=1", "factor"), (f"{factor}=nothing", "nothing")):
        assert command("report", kept / "run", "--page", page, "--base", wrong) == 2
        assert said in capsys.readouterr().err


@pytest.mark.parametrize(("option", "begins"), [("--svg", b"<svg"), ("--png", b"\x89PNG")])
def test_each_chart_is_a_file_with_its_caption(
    kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str, begins: bytes
) -> None:
    page, drawn = tmp_path / "page.html", tmp_path / "a" / "drawn"
    assert command("report", kept / "run", "--page", page, option, drawn) == 0
    charts = set(re.findall(r'<div id="([\w-]+)" role="img"', page.read_text(encoding="utf-8")))
    assert {file.stem for file in drawn.iterdir()} == charts
    assert charts
    assert all(file.read_bytes().startswith(begins) for file in drawn.iterdir())
    if option == "--svg":
        text = " ".join(file.read_text(encoding="utf-8") for file in drawn.iterdir())
        assert "bar and figure: median" in text or "median and 95 % interval" in text
    (tmp_path / "file").touch()
    assert command("report", kept / "run", "--page", page, option, tmp_path / "file") == 2
    assert f"name another {option}" in capsys.readouterr().err


def test_runs_without_a_common_combination_are_refused_with_what_differs(
    kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = []
    for level in ("drive", "none"):
        levels = {"workload": "commits", "engine": "sqlite", "durability": level}
        runs.append(keep(factory.journal([factory.recording(levels, n) for n in (1, 2)]), tmp_path / level))
    assert command("compare", *runs) == 2
    err = capsys.readouterr().err
    assert "A has durability drive, B none" in err
    assert f"acidtest compare {runs[0]} {runs[1]} --ignore durability" in err
    assert command("compare", *runs, "--ignore", "durability", "--json") == 0
    assert json.loads(capsys.readouterr().out)["ignored"] == ["durability"]
    assert command("compare", *runs, "--ignore", "durabillity") == 2


def test_a_damaged_line_is_told_by_every_command_that_reads_a_journal(
    damaged: tuple[Path, str, str], kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory, said, _ = damaged
    assert command("compare", kept / "run", directory, "--json") == 0
    out, err = capsys.readouterr()
    assert (err, [one["line"] for one in json.loads(out)["damaged"]]) == (said, [3])
    command("audit", directory, "--json")
    out, err = capsys.readouterr()
    assert err == said
    assert json.loads(out)["broken"] == [{"text": "damaged: not JSON", "file": "journal.jsonl", "line": 3}]
    cuts = keep(factory.cut_off(), tmp_path / "cuts", "cuts.jsonl")
    damage(cuts / "cuts.jsonl", 2)
    command("report", cuts, "--json")
    out, err = capsys.readouterr()
    assert f"{cuts}/cuts.jsonl, line 2: damaged" in err
    assert [one["line"] for one in json.loads(out)["damaged"]] == [2]
    growth = keep(factory.growing(("sqlite",), repetitions=1), tmp_path / "growth")
    damage(growth / "journal.jsonl", 4)
    assert command("growth", growth, "--json") == 0
    assert f"{growth}/journal.jsonl, line 4: damaged" in capsys.readouterr().err


def test_a_name_that_is_not_utf8_is_refused_where_it_would_be_written_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ACIDTEST_HOME", str(tmp_path / "home"))
    strange = Path(os.fsdecode(bytes(tmp_path) + b"/caf\xe9"))
    strange.mkdir()
    (tmp_path / "t.toml").write_text(EXPERIMENT, encoding="utf-8")
    (strange / "t.toml").write_text(EXPERIMENT, encoding="utf-8")
    text = f"acidtest: {tmp_path}/caf\\xe9{{}}: its name is not UTF-8\n  rename it, or name another\n"
    for arguments, name in (
        (("run", strange / "t.toml", "--out", tmp_path / "out"), "/t.toml"),
        (("run", tmp_path / "t.toml", "--out", strange / "out"), "/out"),
        (("probe", strange), ""),
    ):
        assert command(*arguments) == 2
        assert capsys.readouterr().err == text.format(name)
    keep(factory.study(["sqlite"], ["commits"], repetitions=2), strange / "run")
    assert command("report", strange / "run") == 0  # somebody may have moved it
    assert "caf\\xe9/run/report.html" in capsys.readouterr().out
    assert (strange / "run" / "report.html").exists()


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO, errno.EMFILE, errno.EAGAIN])
def test_an_error_of_the_system_that_nobody_has_foreseen_is_told_in_two_lines(
    number: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    why = os.strerror(number)
    monkeypatch.setattr("acidtest.cli.app", Mock(side_effect=OSError(number, why, "/somewhere")))
    assert command("report") == AcidtestError.exit_code
    first, second = capsys.readouterr().err.splitlines()
    assert first == f"acidtest: /somewhere: {why}" and second.startswith("  fix that; ")


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), KeyboardInterrupt()])
def test_a_diagnosis_that_cannot_be_kept_whole_is_not_kept(
    error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acidtest.cli.diagnosing.making.recordings.write", Mock(side_effect=error))
    with pytest.raises(BadInput if isinstance(error, OSError) else type(error)):
        keep_diagnosis(tmp_path / "out", Mock(next=None), None, None)
    assert list(tmp_path.iterdir()) == []
