"""The auditor as a user meets it: somebody's kit, a journal of ours with planted faults, and a run that audits itself."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import factory
from acidtest.journal.models import Recording
from acidtest.journal.protocol import RunResult
from acidtest.journal.reader import CUTS
from acidtest.journal.writer import JournalWriter
from support import Run, journal_lines

KITS = Path(__file__).parents[1] / "kits"
SOUND = factory.result(rate=100.0)
SLOW_ENGINE = SOUND.cpu.model_copy(update={"generator_us_per_transaction": SOUND.service.mean_ns / 1000 * 0.5})
BUSY = SOUND.cpu.model_copy(update={"process_user_s": 8 * SOUND.measured_s, "process_system_s": 0.0})
RAMP = factory.series([1000.0 - 40 * second for second in range(12)])


def run(**changes: Any) -> RunResult:
    return SOUND.model_copy(update=changes)


# What is planted in a row's recordings, by the rule that must name it.
PLANTED: dict[str, Callable[[int], dict[str, Any]]] = {
    "flush-costs-nothing": lambda n: {"found": run(latency=factory.histogram([5_000] * 1000))},
    "unfinished-arrivals": lambda n: {"found": factory.open_loop(late=0, unfinished=9)},
    "not-steady": lambda n: {"found": run(series=RAMP)},
    "generator-bound": lambda n: {"found": run(cpu=SLOW_ENGINE)},
    "processor-bound": lambda n: {"found": run(cpu=BUSY)},
    "wide-spread": lambda n: {"found": run(goodput_per_s=100.0 + 40 * n)},
    "given-up": lambda n: {"found": run(counts=factory.counts(retries=9, given_up=1))},
    "errors": lambda n: {"found": run(counts=factory.counts(errors=1), error_samples=[factory.error("disk full")])},
    "swapped": lambda n: {"memory": factory.memory(swap=4096)},
    "hint-late": lambda n: {"found": run(measured_s=0.9), "memory": factory.memory(access="random")},
    "too-short": lambda n: {"found": run(series=factory.series([1000.0, 400.0, 1000.0]))},
}


def written(directory: Path, recordings: list[Recording], **experiment: Any) -> Path:
    directory.mkdir()
    made = factory.journal(recordings, **experiment)
    with JournalWriter(directory, made.header) as writer:
        for recording in recordings:
            writer.append(recording)
    return directory


def of(fault: str, changes: Callable[[int], dict[str, Any]]) -> list[Recording]:
    levels = {"workload": "tpcb", "engine": "sqlite", "durability": "drive", "fault": fault}
    return [factory.recording(levels, n, **{"found": SOUND, **changes(n)}) for n in range(1, 6)]


def test_each_planted_fault_is_named_with_its_row(acidtest: Run, tmp_path: Path) -> None:
    assert len(PLANTED) >= 10
    rows = [of("none", lambda n: {}), *(of(name, changes) for name, changes in PLANTED.items())]
    out = written(tmp_path / "out", [recording for row in rows for recording in row])
    done = acidtest("audit", out, "--json", code=1)
    lines = {record["levels"]["fault"]: n for n, record in reversed([*enumerate(journal_lines(out), start=2)])}
    for name in PLANTED:
        seen = [e for f in json.loads(done.stdout)["findings"] if f["rule"] == name for e in f["evidence"]]
        assert [(e["file"], e["line"]) for e in seen if name in e["text"]] == [("journal.jsonl", lines[name])], name
        assert not any("none" in e["text"] for e in seen), name


def cut_off(directory: Path, *verdicts: Any) -> Path:
    """Power cuts of one combination, in the journal that they have beside that of a run."""
    directory.mkdir(exist_ok=True)
    levels = {"workload": "numbered", "engine": "sqlite", "durability": "drive"}
    recordings = [
        factory.recording(levels, n, cut=factory.cut(verdict, lost=7 if verdict == "lost" else 0))
        for n, verdict in enumerate(verdicts, 1)
    ]
    cuts = [recording.model_copy(update={"result": None}) for recording in recordings]
    with JournalWriter(directory, factory.journal(cuts).header, CUTS) as writer:
        for cut in cuts:
            writer.append(cut)
    return directory


def test_power_cuts_are_audited_alone_and_beside_a_run(acidtest: Run, tmp_path: Path) -> None:
    done = acidtest("audit", cut_off(tmp_path / "alone", "survived", "lost", "unknown"), "--json")
    found = {f["rule"]: f for f in json.loads(done.stdout)["findings"]}
    assert (done.returncode, set(found)) == (1, {"commits-lost", "cuts-unknown"}), done.stderr
    assert found["commits-lost"]["evidence"] == [{"file": "cuts.jsonl", "line": 2, "text": "numbered, sqlite, drive"}]
    both = cut_off(written(tmp_path / "both", of("fast", PLANTED["flush-costs-nothing"])), "survived", "lost")
    done = acidtest("audit", both, "--json")
    answer = json.loads(done.stdout)
    assert [one["file"] for one in answer["read"]] == ["journal.jsonl", "cuts.jsonl"]
    places = {f["rule"]: f["evidence"][0]["file"] for f in answer["findings"]}
    assert (places["flush-costs-nothing"], places["commits-lost"]) == ("journal.jsonl", "cuts.jsonl")
    severities = [f["severity"] for f in answer["findings"]]
    assert severities == sorted(severities, key=["invalid", "doubtful", "note"].index)
    assert acidtest("audit", cut_off(tmp_path / "sound", "survived")).returncode == 0


def test_a_sound_journal_has_nothing_severe(acidtest: Run, tmp_path: Path) -> None:
    done = acidtest("audit", written(tmp_path / "out", of("none", lambda n: {})), "--json")
    assert (done.returncode, [f for f in json.loads(done.stdout)["findings"] if f["severity"] != "note"]) == (0, [])


def test_a_kit_is_told_to_people_programs_and_ci(acidtest: Run, tmp_path: Path) -> None:
    sarif = tmp_path / "found.sarif"
    done = acidtest("audit", KITS / "unfair-firebird", "--sarif", sarif, code=1)
    assert done.stdout.index("invalid  word-size") < done.stdout.index("doubtful  old-build")
    assert "sql/shop.sql:49: RAND() answers differently each time" in done.stdout
    answer = json.loads(acidtest("audit", KITS / "unfair-firebird", "--json").stdout)
    assert {"rule", "severity", "evidence", "remedy", "source"} <= set(answer["findings"][0])
    (ran,) = json.loads(sarif.read_text())["runs"]
    assert {rule["id"] for rule in ran["tool"]["driver"]["rules"]} == {f["rule"] for f in answer["findings"]}
    sizes = next(result for result in ran["results"] if result["ruleId"] == "word-size")
    assert sizes["level"] == "error"
    assert sizes["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "firebird-2.5/fb_inet_server.exe"
    fair = acidtest("audit", KITS / "fair-firebird")
    assert (fair.returncode, fair.stderr) == (0, "")


def test_a_page_is_written_and_a_declaration_begun(acidtest: Run, tmp_path: Path) -> None:
    kit = tmp_path / "kit"
    shutil.copytree(KITS / "unfair-firebird", kit)
    page = tmp_path / "audit.html"
    done = acidtest("audit", kit, "--html", page)
    assert (done.returncode, done.stderr) == (1, "")
    assert "acidtest init fair.toml" in done.stdout
    assert "<h2>What to run instead</h2>" in page.read_text(encoding="utf-8")
    (kit / "benchmark.toml").unlink()
    begun = acidtest("audit", kit, "--init")
    assert (begun.returncode, begun.stderr) == (0, "")
    again = acidtest("audit", kit)
    assert again.stdout.splitlines()[-1].endswith("3 sides, 21 files read")
    assert acidtest("audit", kit, "--init").returncode == 2
    lost = acidtest("audit", kit, "--html", tmp_path / "none" / "audit.html")
    assert (lost.returncode, "cannot be written" in lost.stderr) == (2, True)


def test_a_waiver_needs_a_rule_and_a_reason(acidtest: Run, tmp_path: Path) -> None:
    every = json.loads(acidtest("audit", "--rules", "--json").stdout)["rules"]
    assert all(rule["source"] and rule["says"] and rule["remedy"] for rule in every)
    out = written(tmp_path / "out", of("fast", PLANTED["flush-costs-nothing"]))
    done = acidtest("audit", out, "--except", "flush-costs-nothing=a drive in memory, on purpose", "--json", code=0)
    assert [f["waived"] for f in json.loads(done.stdout)["findings"] if f["rule"] == "flush-costs-nothing"] == [
        "a drive in memory, on purpose"
    ]
    for words, complaint in (("flush-cost-nothing=x", "did you mean"), ("flush-costs-nothing=", "gives no reason")):
        refused = acidtest("audit", out, "--except", words)
        assert (refused.returncode, complaint in refused.stderr) == (2, True), refused.stderr


NOTHING: dict[str, dict[str, bytes]] = {
    "holds nothing": {},
    "an unknown file": {"x.foo": b"hello"},
    "bytes": {"firebird.conf": b"\0\1", "a.fdb": b""},
}


@pytest.mark.parametrize("files", NOTHING.values(), ids=NOTHING)
def test_a_directory_with_nothing_to_audit(acidtest: Run, files: dict[str, bytes], tmp_path: Path) -> None:
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    refused = acidtest("audit", tmp_path)
    assert (refused.returncode, "nothing in it could be audited" in " ".join(refused.stderr.split())) == (2, True)
    assert len(refused.stderr.splitlines()) == 2


@pytest.mark.parametrize(
    "arguments",
    [(), ("no/such/directory",), (__file__,), (KITS / "fair-mysql", "--sarif", "no/such/directory/x.sarif")],
    ids=["nothing", "no directory", "a file", "a report that cannot be written"],
)
def test_what_cannot_be_audited(acidtest: Run, arguments: tuple[Any, ...]) -> None:
    refused = acidtest("audit", *arguments, code=2)
    assert 1 <= len(refused.stderr.splitlines()) <= 2
    assert "Traceback" not in refused.stderr


def test_a_run_audits_itself_and_an_experiment_may_say_why_not(
    acidtest: Run, experiment: Callable[..., Path], tmp_path: Path
) -> None:
    file = experiment(extra='[waive]\ntoo-few-repetitions = "one is enough to look at it"\n')
    done = acidtest("run", file, "--out", tmp_path / "out", "--json", code=0)
    found = {f["rule"]: f for f in json.loads(done.stdout)["findings"]}
    assert found["too-few-repetitions"]["waived"] == "one is enough to look at it"
    shown = acidtest("report", tmp_path / "out").stdout
    assert "Set aside: one is enough to look at it" in " ".join(shown.split())
    wrong = experiment(extra='[waive]\ntoo-few-repetition = "x"\n', name="wrong")
    refused = acidtest("run", wrong, "--out", tmp_path / "other")
    assert (refused.returncode, "too-few-repetitions" in refused.stderr) == (2, True)
    assert not (tmp_path / "other").exists()
