"""Databases that grow from size to size, on real engines at a tiny scale."""

from __future__ import annotations

import datetime as dt
import json
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acidtest import experiment, plan
from acidtest.conductor.growth.at_work import EngineAtWork
from acidtest.conductor.run import run
from acidtest.journal.protocol import Checked, Condition
from blocks import mounted_in_memory
from support import ACIDTEST, journal_lines, times

MB = 1_000_000
WORKLOAD = "[workload.tpcc]\nterminals = 4\nduration_s = 1\nwarehouse_percent = 2\n"
SMALL_CACHES = {
    "sqlite": "",
    "postgresql-15": "[settings.postgresql]\nshared_buffers_mb = 8\nmaintenance_work_mem_mb = 8\n",
    "firebird-5.0": "[settings.firebird]\npage_buffers = 512\n",
}


def text(sizes: str, *, engine: str = '["sqlite"]', repetitions: int = 1, more: str = "", load: str = "") -> str:
    return (
        f'name = "growth"\nrepetitions = {repetitions}\ndurability = "os"\n[factors]\nengine = {engine}\n'
        f"[growth]\nsizes = {sizes}\n{load}{more}" + WORKLOAD
    )


def in_order(out: Path, engine: str = "sqlite") -> list[dict[str, Any]]:
    return [recording for recording in journal_lines(out) if recording["levels"]["engine"] == engine]


def nothing_but(out: Path) -> set[str]:
    return {path.name for path in out.iterdir()}


def test_a_database_of_every_kind_of_engine_grows_and_is_measured_where_it_lies(acidtest, tmp_path: Path) -> None:
    file = tmp_path / "growth.toml"
    sizes = '["0.2x memory", "0.35x memory"]'
    engines = list(SMALL_CACHES)[: times(2, 3)]
    caches = "".join(SMALL_CACHES[engine] for engine in engines)
    file.write_text(text(sizes, engine=json.dumps(engines), repetitions=2, more="[place]\nmemory_mb = 90\n" + caches))
    ran = acidtest("run", file, "--out", tmp_path / "out", code=0)
    assert "MB/s" in ran.stdout
    for engine in engines:
        found = in_order(tmp_path / "out", engine)
        assert [r["status"] for r in found] == ["done"] * 4, [r["reason"] for r in found]
        assert [(r["levels"]["size"], r["repetition"]) for r in found] == [
            (size, n) for size in ("0.2x memory", "0.35x memory") for n in (1, 2)
        ]
        warehouses = 0
        for first, again in zip(found[::2], found[1::2], strict=True):
            grown = first["grown"]
            assert abs(grown["bytes"] / grown["asked_bytes"] - 1) < 0.15, (engine, grown["asked"])
            said = [warning["code"] for warning in first["warnings"]]
            assert ("size-missed" in said) == (abs(grown["bytes"] / grown["asked_bytes"] - 1) > 0.05)
            # The load carries on from the size before; the second repetition found it loaded.
            assert grown["warehouses_before"] == warehouses
            warehouses = grown["warehouses"]
            assert warehouses == first["workload"]["warehouses"] == again["grown"]["warehouses"]
            assert warehouses > grown["warehouses_before"]
            assert grown["load"][-1]["at_s"] <= grown["load_s"] + 0.001
            assert [s["bytes"] for s in grown["load"]] == sorted(s["bytes"] for s in grown["load"])
            assert grown["load"][-1]["rows"] > 0
            assert grown["statistics"]["tables"], grown["statistics_said"]
            assert again["grown"]["load"] == []
            assert again["grown"]["statistics"] is again["grown"]["load_s"] is None
            # Checked after the load, and when all of the size is measured.
            assert all(c["holds"] for c in first["checks_before"]["conditions"])
            assert first["checks_after"] is None
            assert all(c["holds"] for c in again["checks_after"]["conditions"])
            for recording in (first, again):
                assert recording["memory"]["limit_bytes"] == 90 << 20
                assert recording["memory"]["resident_bytes_at_start"] < 0.01 * recording["database_bytes"]
                assert recording["result"]["counts"]["committed"] > 0
    assert nothing_but(tmp_path / "out") == {"journal.jsonl", "report.html"}


@pytest.mark.parametrize(
    "ended_by",
    [pytest.param(signal.SIGKILL, id="killed"), pytest.param(signal.SIGINT, id="interrupted", marks=pytest.mark.long)],
)
def test_a_run_ended_in_the_fourth_size_goes_on_there(acidtest, tmp_path: Path, ended_by: signal.Signals) -> None:
    file, out = tmp_path / "growth.toml", tmp_path / "out"
    file.write_text(text('["10 MB", "20 MB", "30 MB", "60 MB", "66 MB"]'))
    # What is started in the background ignores Ctrl-C, and this suite may be.
    command = ["env", "--default-signal=INT", ACIDTEST, "run", file, "--out", out]
    lab = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 120
    held = 0
    while held < 4 and time.monotonic() < end:  # the header and three sizes
        time.sleep(0.02)
        held = (out / "journal.jsonl").read_bytes().count(b"\n") if (out / "journal.jsonl").exists() else 0
    time.sleep(0.3)  # into the load of the fourth
    lab.send_signal(ended_by)
    lab.wait()
    before = journal_lines(out)
    assert [r["levels"]["size"] for r in before] == ["10 MB", "20 MB", "30 MB"]
    if ended_by == signal.SIGKILL:
        assert acidtest("clean").returncode == 0
    assert nothing_but(out) == {"journal.jsonl"}
    ran = acidtest("run", file, "--out", out, code=0)
    assert "3 already in the journal" in ran.stdout
    found = journal_lines(out)
    assert found[:3] == before
    assert [r["levels"]["size"] for r in found[3:]] == ["60 MB", "66 MB"]
    fourth, fifth = (r["grown"] for r in found[3:])
    assert (fourth["warehouses_before"], fourth["bytes_before"]) == (0, 0)
    assert fifth["warehouses_before"] == fourth["warehouses"] > 0
    assert abs(fourth["bytes"] - 60 * MB) < 0.05 * 60 * MB


def test_fresh_loads_begin_from_nothing_on_a_place_of_their_own(acidtest, tmp_path: Path) -> None:
    file = tmp_path / "growth.toml"
    place = '[place]\nkind = "loop"\nfilesystem = "ext4"\n'
    file.write_text(text('["20 MB", "5 warehouses"]', load='load = "fresh"\nstatistics = false\n', more=place))
    acidtest("run", file, "--out", tmp_path / "out", code=0)
    first, second = in_order(tmp_path / "out")
    assert [r["grown"]["warehouses_before"] for r in (first, second)] == [0, 0]
    assert second["grown"]["warehouses"] == 5
    assert second["grown"]["asked_bytes"] is None
    assert first["grown"]["statistics_said"] == "growth.statistics = false"
    assert [r["place"]["filesystem"] for r in (first, second)] == ["ext4", "ext4"]


def test_a_size_that_does_not_fit_is_refused_before_anything_is_loaded(acidtest, tmp_path: Path) -> None:
    file = tmp_path / "growth.toml"
    place = '[place]\nkind = "loop"\nfilesystem = "ext4"\nsize_mb = 100\n'
    file.write_text(text('["10 MB", "200 MB"]', more=place))
    ran = acidtest("run", file, "--out", tmp_path / "out", code=2)
    (line,) = (line for line in ran.stderr.splitlines() if "200 MB" in line)
    assert "growing to 200 MB needs about 318 MB, and place.size_mb is 100" in line
    assert journal_lines(tmp_path / "out") == []
    file.write_text(text('["10 MB", "900 TB"]'))
    ran = acidtest("run", file, "--out", tmp_path / "other", code=2)
    assert "growing to 900 TB needs about" in ran.stderr
    assert "MB free" in ran.stderr


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with mounted_in_memory(tmp_path / "small", size_mb=200) as path:
        yield path


def test_a_series_whose_disk_fills_up_ends_and_keeps_what_it_has(acidtest, tmp_path: Path, small_disk: Path) -> None:
    file, out = tmp_path / "growth.toml", tmp_path / "out"
    file.write_text(text('["10 MB", "20 MB", "60 MB"]', more=f'[place]\npath = "{small_disk}"\n'))
    lab = subprocess.Popen(
        [ACIDTEST, "run", file, "--out", out], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    end, journal = time.monotonic() + 120, out / "journal.jsonl"
    while time.monotonic() < end and not (journal.exists() and b"10 MB#1" in journal.read_bytes()):
        time.sleep(0.02)
    (small_disk / "filler").write_bytes(bytes(150 * MB))
    said, _ = lab.communicate(timeout=120)
    assert lab.returncode == 3, said
    found = in_order(out)
    assert found[0]["status"] == "done"
    assert found[-1]["status"] == "failed"
    assert "needs about" in " ".join(r["reason"] or "" for r in found)
    assert "MB free" in " ".join(r["reason"] or "" for r in found)
    assert [path.name for path in small_disk.iterdir()] == ["filler"]


class _Silent:
    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: None


def test_a_size_whose_last_check_fails_is_invalid_with_all_its_repetitions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, out = tmp_path / "growth.toml", tmp_path / "out"
    file.write_text(text('["10 MB", "20 MB"]', repetitions=2))
    checked = EngineAtWork.check
    checks = 0

    def broken_second(self: EngineAtWork) -> Checked | None:
        nonlocal checks
        checks += 1
        if checks != 2:
            return checked(self)
        return Checked(seconds=0, conditions=[Condition(name="planted", holds=False, detail="one too few")])

    monkeypatch.setattr(EngineAtWork, "check", broken_second)
    read = experiment.read(file)
    outcome = run(plan.make(read), file, out, _Silent())
    found = {recording.cell.rpartition("/")[2]: recording for recording in outcome.journal.recordings}
    assert {name: recording.status for name, recording in found.items()} == {
        "10 MB#1": "invalid", "10 MB#2": "invalid", "20 MB#1": "failed", "20 MB#2": "failed",
    }  # fmt: skip
    for name in ("10 MB#1", "10 MB#2"):
        assert "planted does not hold: one too few" in str(found[name].reason)
    assert "the series ended at 10 MB, repetition 2" in str(found["20 MB#2"].reason)


def test_a_database_that_statistics_find_corrupt_makes_its_size_invalid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, out = tmp_path / "growth.toml", tmp_path / "out"
    file.write_text(text('["10 MB", "20 MB"]'))
    checked = EngineAtWork.check

    def then_damaged(self: EngineAtWork) -> Checked | None:
        found = checked(self)
        (database,) = self.instance.data_files()
        with database.open("r+b") as file:
            for page in range(100, 2000, 50):
                file.seek(page * 4096)
                file.write(b"\xee" * 4096)
        return found

    monkeypatch.setattr(EngineAtWork, "check", then_damaged)
    outcome = run(plan.make(experiment.read(file)), file, out, _Silent())
    first, second = outcome.journal.recordings
    assert (first.status, first.result) == ("invalid", None)
    assert str(first.reason).startswith("statistics of the database: ")
    assert "a page of " in str(first.reason)
    assert "corrupted" in str(first.reason)
    assert "\n" not in str(first.reason)
    assert second.status == "failed"
    assert "the series ended at 10 MB" in str(second.reason)


@pytest.mark.parametrize("engine", ["sqlite", pytest.param("firebird-5.0", marks=pytest.mark.long)])
def test_a_held_out_size_is_foretold_before_anything_of_it_is_loaded(acidtest, tmp_path: Path, engine: str) -> None:
    file, out = tmp_path / "growth.toml", tmp_path / "out"
    held_out = 'held_out = ["24 MB"]\nstatistics = false\n'
    # Terminals that think most of the time: rates of a busy machine may fall so steeply that nothing is left to predict.
    thinks = "think_ms = 50\n"
    file.write_text(text('["8 MB", "10 MB", "12 MB", "18 MB"]', engine=f'["{engine}"]', load=held_out) + thinks)
    acidtest("run", file, "--out", out, code=0)
    lines = [json.loads(line) for line in (out / "journal.jsonl").read_text().splitlines()[1:]]
    assert [line["kind"] for line in lines] == ["recording"] * 4 + ["forecast", "recording"]
    forecast, measured = lines[-2:]
    assert (forecast["size"], forecast["bytes"]) == ("24 MB", 24 * MB)
    assert forecast["measured"] == ["8 MB", "10 MB", "12 MB", "18 MB"]
    assert forecast["low"] <= forecast["rate_per_s"] <= forecast["high"]
    assert "size" not in forecast["levels"]
    # Written before the load: by then the recording's own cell had only begun.
    taken = dt.datetime.fromisoformat(measured["ended_at"]) - dt.datetime.fromisoformat(forecast["written_at"])
    assert taken.total_seconds() >= measured["grown"]["load_s"] + measured["result"]["measured_s"] - 1
    told = json.loads(acidtest("growth", out, "--json").stdout)["forecasts"]["held_out"]
    assert [forecast["series"] for forecast in told["forecasts"]] == [engine]
    words = " ".join(acidtest("growth", out).stdout.split())
    assert words.count("MB, held out, ") == 1
    assert acidtest("report", out).returncode in (0, 1)
    assert "Forecasts beside what was measured" in (out / "report.html").read_text()
    # Whoever runs it again adds nothing, and an earlier forecast is not made better afterwards.
    before = (out / "journal.jsonl").read_bytes()
    assert acidtest("run", file, "--out", out).returncode == 0
    assert (out / "journal.jsonl").read_bytes() == before
