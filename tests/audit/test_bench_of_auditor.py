"""``python -m bench audit``: what counts as met, as false and as understood, and how a commit is laid out."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from bench import audit
from bench.auditor import cases, snapshots
from bench.auditor.cases import Case
from bench.auditor.score import Answer, score

from acidtest.errors import BadInput
from tables import rows


def a_case(**parts: Any) -> Case:
    return Case.model_validate({"repository": "some/body", "commit": "0" * 40, "about": "one against another", **parts})


def a_finding(rule: str, severity: str, *files: str, waived: str | None = None) -> dict[str, Any]:
    evidence = [{"file": file, "line": 1, "text": "seen"} for file in files]
    return {"rule": rule, "severity": severity, "text": rule, "evidence": evidence, "waived": waived}


def an_answer(*findings: dict[str, Any], **parts: Any) -> Answer:
    return Answer(0, {"findings": list(findings), **parts})


DEMAND = {
    "rule": "few-repetitions", "basis": "data", "severity": "doubtful", "where": ["results/a.txt:3", "runs"],
    "why": "one run",
}  # fmt: skip


@rows(
    (a_finding("few-repetitions", "doubtful", "results/a.txt"), True),
    (a_finding("few-repetitions", "note", "runs/deep/b.txt", "elsewhere"), True),
    (a_finding("runs-too-few", "doubtful", "results/a.txt"), True),
    (a_finding("few-repetitions", "doubtful", "results/b.txt"), False),
    (a_finding("few-repetitions", "doubtful"), False),
    (a_finding("few-repetitions", "doubtful", "results/a.txt", waived="a first look"), False),
    (a_finding("no-warm-up", "doubtful", "results/a.txt"), False),
)
def test_a_demand_is_met_by_its_rule_at_its_place(finding: dict[str, Any], met: bool) -> None:
    got = score(a_case(demand=[DEMAND | {"also": ["runs-too-few"]}]), an_answer(finding))
    assert (len(got.met), len(got.missed)) == ((1, 0) if met else (0, 1))


def test_a_demand_without_a_place_is_met_anywhere() -> None:
    got = score(a_case(demand=[DEMAND | {"where": []}]), an_answer(a_finding("few-repetitions", "note")))
    assert got.met


@rows(
    (a_finding("old-build", "invalid", "a"), True, False),
    (a_finding("old-build", "note", "a"), False, False),
    (a_finding("few-repetitions", "doubtful", "elsewhere"), False, False),
    (a_finding("few-repetitions", "invalid", "elsewhere"), False, True),
    (a_finding("debug-build", "doubtful", "bin/x"), False, False),
    (a_finding("debug-build", "doubtful", "lib/x"), True, False),
    (a_finding("debug-build", "invalid", "bin/x"), False, True),
    (a_finding("setting-differs", "doubtful", "a"), True, False),
    (a_finding("durability-differs", "note", "a"), False, False),
    (a_finding("durability-differs", "doubtful", "a"), True, False),
    (a_finding("unknown-results", "doubtful", "a"), False, False),
)
def test_what_is_false(finding: dict[str, Any], false: bool, severer: bool) -> None:
    case = a_case(
        demand=[DEMAND, {"rule": "durability-differs", "basis": "data", "severity": "note", "why": "a factor"}],
        accept=[{"rule": "debug-build", "severity": "doubtful", "where": ["bin"], "why": "true, if not asked for"}],
        **{"not": [{"rule": "setting-differs", "why": "a factor"}, {"rule": "durability-differs", "why": "a factor"}]},
    )
    got = score(case, an_answer(finding))
    assert (len(got.false), len(got.severer)) == (int(false), int(severer))


def test_files_are_understood_told_or_silent() -> None:
    facts = {
        "results": ["run.txt", "table.md", "lost.log", "graph.png", "README.md"],
        "settings": ["conf/my.cnf:3 innodb_doublewrite = 0"],
        "not_understandable": ["blob.dat"],
    }
    read = [
        {"file": "run.txt", "as": "pgbench output", "results": 1, "settings": 0},
        {"file": "table.md", "as": "text", "results": 2, "settings": 0},
        {"file": "conf/my.cnf", "as": "configuration", "results": 0, "settings": 1},
        {"file": "README.md", "as": "text", "results": 0, "settings": 0},
        {"file": "blob.dat", "as": "text", "results": 0, "settings": 0},
    ]
    unknown = a_finding("unknown-results", "doubtful", "blob.dat")
    broken = [{"file": "lost.log", "line": None, "text": "cut off"}]
    got = score(a_case(facts=facts), an_answer(unknown, read=read, not_read=["graph.png"], broken=broken))
    assert got.understood == ("run.txt", "table.md", "conf/my.cnf")
    assert got.told == ("lost.log", "graph.png", "blob.dat")
    assert got.silent == ("README.md",)


def test_nothing_read_is_no_silence() -> None:
    got = score(a_case(facts={"results": ["run.txt"]}), Answer(2))
    assert (got.told, got.silent) == (("run.txt",), ())


@pytest.fixture
def snapshot(tmp_path: Path) -> tuple[Path, str]:
    """A directory of snapshots with one repository, and its commit."""
    work = tmp_path / "work"
    (work / "results").mkdir(parents=True)
    (work / "results" / "été.txt").write_text("tps = 1", encoding="utf-8")
    (work / "results" / "big.log").write_bytes(b"big\0" * 99)
    (work / "results" / "latest").symlink_to("big.log")
    (work / "README.md").write_text("not in the folder", encoding="utf-8")
    git = ["git", "-C", str(work), "-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "all"]):
        subprocess.run([*git, *command], check=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    bare = tmp_path / "snapshots" / "some+body" / "repo"
    subprocess.run(["git", "clone", "-q", "--bare", str(work), str(bare)], check=True)
    return tmp_path / "snapshots", commit


def test_a_folder_of_a_commit_is_laid_out(snapshot: tuple[Path, str], tmp_path: Path) -> None:
    git = snapshots.find(snapshot[0], "some/body")
    assert git is not None
    kit = tmp_path / "kit"
    assert snapshots.unpack(git, snapshot[1], "results", [], kit) == snapshots.Unpacked(3)
    assert sorted(path.name for path in kit.iterdir()) == ["big.log", "latest", "été.txt"]
    assert (kit / "latest").read_bytes() == b"big\0" * 99
    assert snapshots.unpack(git, snapshot[1], "", ["README.md"], tmp_path / "one") == snapshots.Unpacked(1)


def test_a_file_that_the_snapshot_lacks_is_named(snapshot: tuple[Path, str], tmp_path: Path) -> None:
    git = snapshots.find(snapshot[0], "some/body")
    assert git is not None
    listed = subprocess.run(
        ["git", "--git-dir", str(git), "rev-parse", f"{snapshot[1]}:results/big.log"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    for pack in list(git.glob("objects/pack/*.pack")):
        moved = pack.rename(tmp_path / pack.name)
        pack.with_suffix(".idx").unlink()
        with moved.open("rb") as content:
            subprocess.run(["git", "--git-dir", str(git), "unpack-objects", "-q"], stdin=content, check=True)
    (git / "objects" / listed[:2] / listed[2:]).unlink()
    assert snapshots.unpack(git, snapshot[1], "results", [], tmp_path / "kit") == snapshots.Unpacked(2, ("big.log",))


def test_what_there_is_no_snapshot_of(snapshot: tuple[Path, str], tmp_path: Path) -> None:
    assert snapshots.find(snapshot[0], "no/body") is None
    git = snapshots.find(snapshot[0], "some/body")
    assert git is not None
    assert snapshots.unpack(git, "1" * 40, "", [], tmp_path / "kit") is None


def test_each_benchmark_of_the_developed_half_is_well_formed() -> None:
    listed = cases.read(audit.LISTS / "developed")
    assert listed
    for name, case in listed.items():
        assert not case.careful or not [demand for demand in case.demand if demand.severity == "invalid"], name


def test_a_wrong_key_is_named(tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text('repository = "a/b"\ncommitt = "0"\n', encoding="utf-8")
    with pytest.raises(BadInput, match=r"one\.toml: commit"):
        cases.read(tmp_path)
