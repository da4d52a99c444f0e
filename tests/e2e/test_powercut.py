"""Power cuts as a user meets them: on drives that keep their word and drives that do not, with bugs planted on our side."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pyarrow.parquet
import pytest

from acidtest.analysis.survival import merge
from acidtest.files import find_rig
from blocks import loops_over_files_in, mounts_below
from support import ACIDTEST, Cut, Run, processes_with, times

PLANTED = Path(__file__).parents[1] / "powercut" / "planted_rig.py"

CUTS = """
name = "cuts"
repetitions = {cuts}
{factors}
[workload.numbered]
terminals = 3
count = {count}
[place]
kind = "disk"
filesystem = "{filesystem}"
size_mb = {size_mb}
{place}
"""
DRIVES = """
[factors]
engine = ["sqlite"]
durability = ["none", "drive"]
drive = [
  { name = "honest", set = { "place.disk_faults" = "" } },
  { name = "lying", set = { "place.disk_faults" = "lie-about-flush" } },
  { name = "tearing", set = { "place.disk_keeps" = "torn" } },
]
"""
ONE = 'engine = "sqlite"\ndurability = "drive"'
FEW = times(1, 3)  # cuts of a combination where each of them shows the same


def written(
    path: Path,
    factors: str = ONE,
    place: str = "",
    count: int = 20,
    filesystem: str = "ext4",
    size_mb: int = 64,
    cuts: int = FEW,
) -> Path:
    path.write_text(
        CUTS.format(factors=factors, place=place, count=count, filesystem=filesystem, size_mb=size_mb, cuts=cuts)
    )
    return path


def test_drives_that_keep_their_word_and_drives_that_do_not(acidtest: Run, powercut: Cut, tmp_path: Path) -> None:
    file, out = written(tmp_path / "cuts.toml", DRIVES), tmp_path / "out"
    results = powercut(file, out)
    verdicts = {(c["levels"]["durability"], c["levels"]["drive"]): c["verdict"] for c in results["combinations"]}
    assert verdicts == {
        ("none", "honest"): "lost", ("none", "lying"): "lost", ("none", "tearing"): "lost",
        ("drive", "honest"): "survived", ("drive", "lying"): "lost", ("drive", "tearing"): "survived",
    }  # fmt: skip
    assert results["losses"] == {"announced": 4 * FEW, "unannounced": 0}
    assert {cut["announced_by"] for cut in results["cuts"]} == {
        None, "level none: an OS crash or power cut may lose commits and break the database", "the drive, which lies about flushes",
    }  # fmt: skip
    assert [c["cuts"] for c in results["combinations"]] == [FEW] * 6
    for cut in results["cuts"]:
        assert cut["cut"]["fate"]["acknowledged"] > 0
        assert cut["cut"]["filesystem_recovery_s"] > 0
        assert cut["cut"]["engine_recovery_s"] > 0
        assert cut["cut"]["integrity"]["check"] == "PRAGMA integrity_check"
        checks = cut["cut"]["checks"]
        assert checks["disk-loses-its-cache"] == checks["file-system-mounts"] == "survived"
        assert checks["file-system-check"] != "unknown"
        assert merge(*(checks[name] for name in checks if name != "file-system-check")) == cut["cut"]["verdict"]
    # The same command makes no cut again, one more makes one a combination.
    assert powercut(file, out)["cuts"] == results["cuts"]
    more = FEW + 1
    assert len(powercut(file, out, "--cuts", str(more))["cuts"]) == 6 * more
    table = tmp_path / "cuts.csv"
    shown = acidtest("report", out, "--csv", table, "--parquet", tmp_path / "cuts.parquet").stdout
    assert f"{more} of {more}" in shown
    assert f"In {4 * more} of {6 * more} cuts acknowledged commits were lost or damaged, as permitted by" in shown
    rows = list(csv.DictReader(table.open()))
    assert {(row["verdict"], row["failure"]) for row in rows} == {("survived", "cut"), ("lost", "cut")}
    assert [row["verdict"] for row in rows if row["commits_lost"] == "0"].count("survived") == 2 * more
    assert len(rows) == 6 * more == pyarrow.parquet.read_table(tmp_path / "cuts.parquet").num_rows
    refused = acidtest("report", out, "--rows", "engine", code=2)
    assert "--rows: power cuts have one table" in refused.stderr


def test_what_a_level_promises_for_the_end_of_the_engine_the_kernel_and_the_power_is_tried(
    powercut: Cut, tmp_path: Path
) -> None:
    """And on a drive that loses what it acknowledges the engine serves an old database as if it were right."""
    factors = """
engine = "sqlite"
[factors]
durability = ["os", "drive"]
end = [
  { name = "kill", set = { "place.disk_failure" = "kill" } },
  { name = "kernel crash", set = { "place.disk_failure" = "kernel-crash" } },
  { name = "losing drive", set = { "place.disk_faults" = "(lose writes)" } },
]
"""
    # ext4 writes nothing by itself meanwhile, however slow this machine.
    file = written(tmp_path / "cuts.toml", factors, place='mount = "commit=3600"')
    results = powercut(file, tmp_path / "out")
    assert {(c["levels"]["durability"], c["levels"]["end"]): c["verdict"] for c in results["combinations"]} == {
        ("os", "kill"): "survived", ("os", "kernel crash"): "lost", ("os", "losing drive"): "lost",
        ("drive", "kill"): "survived", ("drive", "kernel crash"): "survived", ("drive", "losing drive"): "lost",
    }  # fmt: skip
    for cut in results["cuts"]:
        if cut["cut"]["drive"] == "(lose writes)":
            assert cut["announced_by"] == "the drive, which loses writes that it has acknowledged"
        else:
            assert cut["cut"]["fate"]["acknowledged"] > 0
            assert (cut["cut"]["failure"] == "kill") == (cut["cut"]["filesystem_recovery_s"] is None)
            assert "disk-loses-its-cache" not in cut["cut"]["checks"]
    silent = {
        c["levels"]["end"]: c["lost_silently"] for c in results["combinations"] if c["levels"]["durability"] == "drive"
    }
    assert silent == {"kill": 0, "kernel crash": 0, "losing drive": FEW}


def test_a_controller_s_battery_decides(powercut: Cut, tmp_path: Path) -> None:
    """The flush is acknowledged in both cases."""
    factors = """
engine = "sqlite"
durability = "drive"
[factors]
drive = [
  { name = "battery-backed", set = { "place.disk_battery" = "good" } },
  { name = "dead battery", set = { "place.disk_battery" = "dead" } },
]
"""
    results = powercut(written(tmp_path / "cuts.toml", factors), tmp_path / "out")
    assert {c["levels"]["drive"]: c["verdict"] for c in results["combinations"]} == {
        "battery-backed": "survived", "dead battery": "lost",
    }  # fmt: skip
    assert results["losses"] == {"announced": FEW, "unannounced": 0}
    assert {cut["announced_by"] for cut in results["cuts"]} == {
        None, "the drive's controller, whose battery is dead",
    }  # fmt: skip
    controls = {cut["cut"]["drive"]: cut["cut"]["checks"].get("disk-loses-its-cache") for cut in results["cuts"]}
    assert controls == {"battery-backed controller": None, "controller with a dead battery": "survived"}


def test_a_log_that_is_written_through_is_lost_by_a_drive_that_ignores_that(powercut: Cut, tmp_path: Path) -> None:
    """Of a log that is flushed nothing is said on that drive: where its flush was the journal's, it may be lost as well."""
    methods = [
        '{ name = "written through", set = { "mysql.innodb_log_file_write_through" = true } }',
        '{ name = "flushed", set = { "mysql.innodb_log_file_write_through" = false } }',
    ][: times(1, 2)]
    factors = f"""
engine = "mariadb-11.8"
durability = "drive"
[factors]
method = [{", ".join(methods)}]
drive = [
  {{ name = "honest", set = {{ "place.disk_faults" = "" }} }},
  {{ name = "ignores write-through", set = {{ "place.disk_faults" = "ignore-write-through" }} }},
]
[settings.mysql]
innodb_log_file_buffering = false
"""
    file = written(tmp_path / "cuts.toml", factors, size_mb=512)
    # A flush of another thread may come between the last commit and the cut, and more often on a busy machine.
    for cuts in (FEW, 4, 12, 40):
        results = powercut(file, tmp_path / "out", "--cuts", str(cuts))
        verdicts = {(c["levels"]["method"], c["levels"]["drive"]): c["verdict"] for c in results["combinations"]}
        if verdicts["written through", "ignores write-through"] == "lost":
            break
    assert {verdict for (_, drive), verdict in verdicts.items() if drive == "honest"} == {"survived"}
    assert verdicts["written through", "ignores write-through"] == "lost"
    assert results["losses"]["unannounced"] == 0
    ignoring = [cut["cut"] for cut in results["cuts"] if cut["cut"]["drive"] == "ignore-write-through"]
    assert {one["checks"]["disk-loses-its-cache"] for one in ignoring} == {"survived"}


def test_the_first_commit_of_a_server_whose_log_was_made_anew_survives(powercut: Cut, tmp_path: Path) -> None:
    """MariaDB renames a log of another size into place at its start and does not make that durable."""
    factors = 'engine = "mariadb-10.11"\ndurability = "drive"'
    file = written(tmp_path / "cuts.toml", factors, count=1, size_mb=512)
    results = powercut(file, tmp_path / "out")
    assert [(combination["verdict"], combination["survived"]) for combination in results["combinations"]] == [
        ("survived", FEW)
    ]


def test_a_cut_is_made_again_from_its_seed(acidtest: Run, powercut: Cut, tmp_path: Path) -> None:
    file = written(tmp_path / "cuts.toml", DRIVES)
    only = "numbered/sqlite/drive/lying"
    results = powercut(file, tmp_path / "out", "--only", only, "--seed", "7")
    assert [(cut["seed"], cut["cut"]["verdict"]) for cut in results["cuts"]] == [(7, "lost")] * FEW
    stray = acidtest("powercut", file, "--out", tmp_path / "other", "--only", "numbered/sqlite/drive", code=2)
    assert only in stray.stderr


def planted(bug: str) -> dict[str, str]:
    """An environment in which the acknowledgement log has this bug."""
    return {"ACIDTEST_RIG": str(PLANTED), "REAL_RIG": str(find_rig()), "PLANTED": bug}


def test_an_acknowledgement_that_is_too_early_is_a_loss_and_is_found_again(
    acidtest: Run, powercut: Cut, tmp_path: Path
) -> None:
    """A loss that nobody announces is kept."""
    results = powercut(written(tmp_path / "cuts.toml"), tmp_path / "out", environment=planted("early"), code=1)
    assert results["losses"]["announced"] == 0
    assert results["combinations"][0]["verdict"] == "lost"
    lost = [cut["cut"] for cut in results["cuts"] if cut["cut"]["verdict"] == "lost"]
    assert any("was acknowledged and is not there" in reason for one in lost for reason in one["reasons"])
    assert {one["checks"]["acknowledged-commits-are-there"] for one in lost} == {"lost"}
    (kept,) = [one for one in lost if one["state"]]
    for _ in range(2):  # it is inspected on a copy
        again = acidtest("powercut", "--replay", kept["state"], "--json", code=1)
        shown = json.loads(again.stdout)
        assert (shown["verdict"], shown["reasons"]) == ("lost", kept["reasons"])
        assert shown["fate"] == kept["fate"]


def test_an_acknowledgement_log_that_lacks_lines_proves_nothing(powercut: Cut, tmp_path: Path) -> None:
    file = written(tmp_path / "cuts.toml", cuts=3)  # in one of them all that the log lacks may have survived
    results = powercut(file, tmp_path / "out", environment=planted("dropped"), code=3)
    assert results["losses"]["announced"] == 0
    assert results["combinations"][0]["verdict"] == "unknown"
    unknown = [cut["cut"] for cut in results["cuts"] if cut["cut"]["verdict"] == "unknown"]
    assert any("lacks" in reason for one in unknown for reason in one["reasons"])
    assert {one["checks"]["acknowledgement-log-is-complete"] for one in unknown} == {"unknown"}


def test_a_disk_that_keeps_all_proves_nothing(powercut: Cut, tmp_path: Path) -> None:
    file = written(tmp_path / "cuts.toml", place='disk_keeps = "all"\ndisk_faults = "lie-about-flush"')
    results = powercut(file, tmp_path / "out", code=3)
    assert [cut["cut"]["verdict"] for cut in results["cuts"]] == ["unknown"] * FEW
    (reason,) = results["cuts"][0]["cut"]["reasons"]
    assert "the disk lost nothing" in reason
    checks = results["cuts"][0]["cut"]["checks"]
    assert (checks["disk-loses-its-cache"], checks["holds-without-a-cut"]) == ("unknown", "survived")


@pytest.mark.parametrize(
    ("failure", "filesystem", "size_mb"),
    [("cut-in-recovery", "ext4", 64), ("failed-flush", "xfs", 320), ("dropped-flush", "xfs", 320)],
)
def test_other_failures(powercut: Cut, tmp_path: Path, failure: str, filesystem: str, size_mb: int) -> None:
    """A failed flush stops xfs at once; ext4 may confirm one more that is not durable (docs/POWER-CUTS.md)."""
    place = f'disk_failure = "{failure}"'
    file = written(tmp_path / "cuts.toml", place=place, filesystem=filesystem, size_mb=size_mb)
    results = powercut(file, tmp_path / "out")
    for cut in results["cuts"]:
        assert cut["cut"]["verdict"] == "survived"
        assert cut["cut"]["after_failed_flush"] == ("stopped" if failure.endswith("-flush") else None)


def test_recovery_is_timed_piece_by_piece_after_the_verdict(acidtest: Run, powercut: Cut, tmp_path: Path) -> None:
    """How long a piece takes on a busy machine is not ours to say; that all of them are there, and add up, is."""
    file = written(tmp_path / "cuts.toml", place="disk_recovery_s = 5\ndisk = 'sata-ssd'", size_mb=256)
    file.write_text(file.read_text().replace("count = 20", "duration_s = 12"))
    results = powercut(file, tmp_path / "out", "--cuts", str(times(1, 2)))
    cuts = [made["cut"] for made in results["cuts"]]
    for cut in cuts:  # each from what its own cut has left
        assert cut["verdict"] == "survived"
        assert cut["fate"]["lost"] == 0
        assert cut["at_s"] >= 11
        pieces = cut["recovery"]
        assert pieces["mount_s"] > 0 and pieces["clean_mount_s"] > 0
        assert pieces["start_s"] > 0 and pieces["clean_start_s"] > 0
        assert pieces["first_commit_s"] > 0  # the load found its place behind what the cut had left
        assert len(pieces["before_per_s"]) >= 8
        assert sum(pieces["before_per_s"]) <= cut["fate"]["acknowledged"]
        if pieces["before"] != "steady":
            assert (pieces["full_speed_s"], pieces["watched_s"]) == (None, 0)
            assert pieces["why"].startswith("the rate before the cut was not steady")
        elif pieces["full_speed_s"] is None:
            assert pieces["watched_s"] == 5 and pieces["why"] == "not as fast as before within 5 s"
        else:
            back = int(pieces["full_speed_s"])
            assert pieces["why"] == ""
            assert min(pieces["after_per_s"][back : back + 3]) >= min(pieces["before_per_s"])
    (row,) = results["recoveries"]
    mounts = [cut["recovery"]["mount_s"] for cut in cuts]
    assert min(mounts) <= row["mount_s"]["median"] <= max(mounts)
    shown = acidtest("report", tmp_path / "out", "--csv", tmp_path / "cuts.csv").stdout
    assert "Recovery, piece by piece" in shown
    with (tmp_path / "cuts.csv").open() as handle:
        assert [float(exported["recovery_mount_s"]) for exported in csv.DictReader(handle)] == mounts


def test_crash_states_and_the_failing_one_again(acidtest: Run, powercut: Cut, tmp_path: Path) -> None:
    factors = '[factors]\nengine = ["sqlite"]\ndurability = ["os", "drive"]'
    file = written(tmp_path / "cuts.toml", factors, 'disk_failure = "crash-states"\ndisk_states = 25', count=10)
    results = powercut(file, tmp_path / "out", "--cuts", "1")
    weak, strong = (cut["cut"] for cut in results["cuts"])
    assert (weak["verdict"], strong["verdict"]) == ("lost", "survived")
    assert strong["states"]["survived"] == strong["states"]["looked_at"] == 25
    assert strong["states"]["at_once"] == weak["states"]["at_once"] == 2  # one for ten states
    assert strong["states"]["flushes"] >= 10
    assert {"database", "the file system's journal"} <= strong["states"]["exercised"].keys()
    assert all(0 <= done <= of for done, of in strong["states"]["exercised"].values())
    assert results["losses"] == {"announced": weak["states"]["lost"], "unannounced": 0}
    assert weak["states"]["damaged"] == 0
    again = acidtest("powercut", "--replay", weak["states"]["shortest"], "--json", code=0)
    shown = json.loads(again.stdout)
    assert shown["verdict"] == "lost"
    assert shown["announced_by"].startswith("level os: an OS crash or power cut may lose the commits since the last")
    assert shown["fate"]["lost"] == weak["fate"]["lost"]
    assert [one["number"] for one in shown["writes"]] == list(range(1, len(shown["writes"]) + 1))
    assert {"flush", "flushed"} <= {one["fate"] for one in shown["writes"]}


def test_after_kills_of_lab_and_rig_clean_leaves_nothing(acidtest: Run, tmp_path: Path) -> None:
    file, out, home = written(tmp_path / "cuts.toml"), tmp_path / "out", tmp_path / "home"
    home.mkdir()
    environment = {**os.environ, "ACIDTEST_HOME": str(home)}
    ours = f"ACIDTEST_HOME={home}"
    seed = random.randrange(1 << 32)
    moments = random.Random(seed)
    for kill in range(times(2, 12)):
        command = [ACIDTEST, "powercut", file, "--out", out, "--cuts", "1000"]
        lab = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
        time.sleep(delay := moments.uniform(0.3, 4.0))
        rigs = [pid for pid, command in processes_with(ours).items() if "acidtest-rig" in command.split(" ", 1)[0]]
        about = f"seed {seed}, kill {kill}, after {delay:.4f} s, {len(rigs)} rigs"
        if kill % 2 and rigs:  # disk or load; the lab a moment later, wherever that has led it
            with contextlib.suppress(ProcessLookupError):
                os.kill(moments.choice(sorted(rigs)), signal.SIGKILL)
            time.sleep(moments.uniform(0.0, 1.0))
        assert lab.poll() is None, about
        lab.kill()
        lab.wait()
        done = acidtest("clean", environment=environment)
        about += f": {done.stdout}{done.stderr}"
        assert done.returncode == 0, about
        assert mounts_below(tmp_path) == [] == loops_over_files_in(tmp_path), about
        assert processes_with(ours) == {}, about
        left = {path.name for path in out.glob("*")} - {"acidtest-states", ".acidtest-can-write"}
        assert left <= {"cuts.jsonl", "report.html"}, about
        assert acidtest("clean", environment=environment).stdout == "Nothing was left behind.\n"


def test_a_disk_that_was_killed_ends_no_more_than_its_cuts(acidtest: Run, tmp_path: Path) -> None:
    file, out, home = written(tmp_path / "cuts.toml"), tmp_path / "out", tmp_path / "home"
    home.mkdir()
    environment = {**os.environ, "ACIDTEST_HOME": str(home)}
    lab = subprocess.Popen([ACIDTEST, "powercut", file, "--out", out, "--cuts", "20"], env=environment)
    journal = out / "cuts.jsonl"
    while not journal.is_file() or journal.read_bytes().count(b"\n") < 2:
        assert lab.poll() is None
        time.sleep(0.02)
    (disk,) = [
        pid for pid, command in processes_with(f"ACIDTEST_HOME={home}").items() if command.endswith("-rig disk ")
    ]
    os.kill(disk, signal.SIGKILL)
    assert lab.wait(timeout=600) == 3
    assert mounts_below(tmp_path) == [] == loops_over_files_in(tmp_path)
    assert processes_with(f"ACIDTEST_HOME={home}") == {}
    assert acidtest("clean", environment=environment).stdout == "Nothing was left behind.\n"
    results = [json.loads(line) for line in journal.read_text().splitlines()[1:]]
    assert {result["cut"]["verdict"] for result in results if result["status"] == "done"} <= {"survived", "unknown"}
    # What could not be made is made by the next call.
    assert {result["status"] for result in results} == {"done", "failed"}
    assert sum(result["status"] == "failed" for result in results) <= 2  # the others have another disk
    made = 1 + sum(result["status"] == "done" for result in results)
    again = acidtest("powercut", file, "--out", out, "--cuts", str(made), "--json", environment=environment)
    cuts = {int(cut["cell"].rpartition("#")[2]): cut["status"] for cut in json.loads(again.stdout)["cuts"]}
    assert [cuts[number] for number in range(1, made + 1)] == ["done"] * made


def test_what_cannot_be_cut_is_refused(acidtest: Run, tmp_path: Path) -> None:
    file = tmp_path / "cuts.toml"
    file.write_text('name = "x"\nengine = "sqlite"\ndurability = "drive"\n[workload.numbered]\ncount = 5\n')
    done = acidtest("powercut", file, "--out", tmp_path / "out", code=2)
    assert 'kind = "disk"' in done.stderr
    assert acidtest("powercut").returncode == 2
    short = written(tmp_path / "short.toml", place="disk_recovery_s = 5")
    refused = acidtest("powercut", short, "--out", tmp_path / "out", code=2)
    assert "workload.numbered: a load of 11 s or less shows no rate to recover to" in refused.stderr
    stranger = acidtest("powercut", "--replay", file, code=2)
    assert "cannot be read" in stranger.stderr


SPOILING = """
[factors]
engine = ["sqlite", "postgresql-15"]
durability = ["drive"]
"place.disk_failure" = ["rot", "lost-write", "full-disk"]
"""


def test_who_notices_what_storage_does_wrong(powercut: Cut, tmp_path: Path) -> None:
    place = 'queue = "max_sectors_kb=16"\n[settings]\npostgresql.data_checksums = true'
    file, out = written(tmp_path / "storage.toml", SPOILING, place, count=60, size_mb=256), tmp_path / "out"
    results = powercut(file, out, code=None)
    # What was lost is announced by the drive, and a full disk loses nothing. Of storage that failed it may be unknown.
    unknown = any(cut["cut"]["verdict"] == "unknown" for cut in results["cuts"])
    assert powercut(file, out, code=3 if unknown else 0)["cuts"] == results["cuts"]  # no cut is made again
    told = {
        (failure["levels"]["engine"], failure["levels"]["place.disk_failure"]): failure
        for failure in results["storage_failures"]
    }
    for (engine, failure), one in told.items():
        assert one["trials"] == FEW, (engine, failure, one)
        if failure != "lost-write":  # the engine's writes that are tried are drawn at random, and may be none
            assert one["struck"] == FEW, (engine, failure, one)
    for cut in results["cuts"]:
        storage = cut["cut"]["storage"]
        assert cut["cut"]["fate"] is None or cut["cut"]["fate"]["acknowledged"] >= 60
        if storage["outcome"] == "unknown":
            struck_none = not storage["struck"] and "did not strike" in storage["why"]
            assert struck_none or "never read again" in storage["why"]
    # Of a page with a checksum no turned bit is served: PostgreSQL refuses it, in answer to the session and in its log.
    rot = told["postgresql-15", "rot"]
    assert rot["outcomes"]["silent"] == 0 and "wrong" not in rot["served"]
    assert rot["outcomes"]["noticed"] + rot["outcomes"]["by check"] + rot["outcomes"]["unknown"] == FEW
    for engine in ("sqlite", "postgresql-15"):
        full = told[engine, "full-disk"]
        assert full["outcomes"]["noticed"] == FEW and full["served"] == {"right": FEW}


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ('disk_failure = "slow-disk"', "a disk without a timing cannot become slower"),
        ('disk_failure = "rot"\ndisk_faults = "(lose writes)"', "the disk does that alone"),
        ('disk_failure = "rot"\ndisk_keeps = "torn"', "disk_keeps is without effect"),
    ],
)
def test_what_would_not_tell_who_notices_is_refused(acidtest: Run, tmp_path: Path, place: str, said: str) -> None:
    done = acidtest("powercut", written(tmp_path / "cuts.toml", place=place), "--out", tmp_path / "out")
    assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr
