"""A program of the user's that was changed: what a journal holds of the one before is not told of the one that is there."""

from __future__ import annotations

from pathlib import Path

import pytest

import factory
from acidtest.conductor.admission import refuse_other_programs
from acidtest.engine.program import Program, changes, named_files
from acidtest.errors import BadInput
from acidtest.experiment import ProgramSpec
from acidtest.journal.models import EngineFacts, Journal

WHERE = Path("till.toml")


def program(folder: Path, **keys: str) -> Program:
    spec = ProgramSpec(**{"name": "till", "load": "exec sh load.sh", "check": "python3 ./check.py", **keys})  # type: ignore[arg-type]
    return Program(spec.model_copy(update={"folder": str(folder)}))


def facts(folder: Path, **keys: str) -> EngineFacts:
    made = program(folder, **keys)
    made.ready()
    return made.facts()


def held(before: EngineFacts, status: str = "done") -> Journal:
    return factory.journal([factory.recording(engine=before, cut=factory.cut(), status=status)])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "load.sh").write_text("echo 1\n")
    (tmp_path / "check.py").write_text("print(1)\n")
    return tmp_path


def test_the_files_that_commands_name_are_kept(folder: Path) -> None:
    (folder / "load.log").write_text("what a load said before\n")
    spec = program(folder, load="exec sh $HERE/load.sh 2>>load.log && cat /proc/uptime", environment={"HERE": "."}).spec  # type: ignore[arg-type]
    files = named_files(spec)
    assert {"./load.sh", "./check.py"} <= files.keys()
    assert {Path(name).name for name in files if name.startswith("/")} >= {"sh"}
    assert not {"load.log", "/proc/uptime"} & files.keys()  # each run writes it, and no look finds it as it was


def test_a_program_whose_file_has_changed_is_refused_also_where_nothing_is_left_to_cut(folder: Path) -> None:
    before = facts(folder)
    (same,) = refuse_other_programs(held(before), [program(folder)], WHERE)
    assert "load.sh" in same
    assert "a change of what they use in turn is not noticed, unless program.version prints it" in same
    (folder / "load.sh").write_text("echo 1; sync\n")
    with pytest.raises(BadInput) as refused:
        refuse_other_programs(held(before), [program(folder)], WHERE)
    assert refused.value.message == (
        "till.toml: the journal's cuts were made with another version of the program: load.sh has changed"
    )
    assert "give another --out" in refused.value.remedy
    assert refuse_other_programs(held(before, status="failed"), [program(folder)], WHERE) == []  # it is made anew
    (folder / "load.sh").unlink()
    assert changes(before, facts(folder)) == ["load.sh is gone"]


def test_a_program_that_tells_another_version_is_refused(folder: Path) -> None:
    before = facts(folder, version="echo 1.0")
    assert before.files == {}
    (folder / "load.sh").write_text("sync\n")  # it is the version's part to tell
    (same,) = refuse_other_programs(held(before), [program(folder, version="echo 1.0")], WHERE)
    assert 'program.version prints "1.0" as it did' in same
    with pytest.raises(BadInput, match=r"program\.version printed 1\.0, and now prints 1\.1"):
        refuse_other_programs(held(before), [program(folder, version="echo 1.1")], WHERE)
    (gone,) = refuse_other_programs(held(before), [program(folder, version="exit 1")], WHERE)
    assert "whether the program has changed since the journal's cuts is not known" in gone


def test_where_nothing_can_be_compared_that_is_said(folder: Path) -> None:
    nothing = {"load": ":", "check": ":"}
    (said,) = refuse_other_programs(held(facts(folder, **nothing)), [program(folder, **nothing)], WHERE)
    assert "it is not known whether the program has changed since" in said
    older = facts(folder).model_copy(update={"files": {}})  # older journals tell of no files
    (said,) = refuse_other_programs(held(older), [program(folder)], WHERE)
    assert "it is not known whether the program has changed since" in said


def test_what_hides_a_buffer_is_not_passed_on_but_may_be_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")
    monkeypatch.setenv("TILL", "7")
    made = program(folder)
    given = made.instance(folder, {}, made.durability_levels()[0]).environment()
    assert "PYTHONUNBUFFERED" not in given
    assert given["TILL"] == "7"
    made = program(folder, environment={"PYTHONUNBUFFERED": "1"})  # type: ignore[arg-type]
    assert made.instance(folder, {}, made.durability_levels()[0]).environment()["PYTHONUNBUFFERED"] == "1"
