"""What a cut may not accuse an engine of, and a loss whose state cannot be kept."""

from __future__ import annotations

import contextlib
import errno
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

import factory
from acidtest.errors import CellFailed, MachineLacks
from acidtest.experiment import PlaceSpec
from acidtest.place import Ledger, mounts
from acidtest.place.cuttable import CuttablePlace
from acidtest.place.guest.agent import Gone
from acidtest.powercut.acknowledgement_log import Acknowledgement, AcknowledgementLog
from acidtest.powercut.conductor import Cuts
from acidtest.powercut.evidence import CutEvidence
from acidtest.powercut.failures import FAILURES
from acidtest.powercut.trial import Trial, unkept
from acidtest.report.survival_table import reasons_of

GONE = "the engine was removed or changed while the run went on: firebird-5.0 is not installed: install it"
LOST = {
    "it does not start": {"start_error": "libfbclient.so.2: cannot open shared object file"},
    "it does not give its data back": {"read_error": "opening the database: no such library"},
    "nothing is known": {"inspection_error": "the survey ended before its time"},
}


def trial(gone: str | None) -> Trial:
    made = Trial.__new__(Trial)
    made.engine, made._failure = Mock(gone=Mock(return_value=gone)), FAILURES["cut"]
    made._subject, made._keep, made._recovery_s = Mock(buffered=Mock(return_value=None)), "none", 0.0
    return made


@pytest.mark.parametrize("shown", LOST)
def test_an_engine_that_is_gone_is_not_accused_of_a_loss(shown: str) -> None:
    with pytest.raises(CellFailed, match="removed or changed while the run went on"):
        trial(GONE).judged(CutEvidence(**LOST[shown]))
    assert trial(None).judged(CutEvidence(**LOST[shown])).verdict != "survived"


def test_a_file_system_that_cannot_be_mounted_is_lost_and_a_guest_that_does_not_come_up_tells_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("acidtest.powercut.trial.Moment", Mock())
    made = trial(None)
    made.begin, made.killed = Mock(), Mock(return_value=[])  # type: ignore[method-assign]
    made.loaded = lambda cell: contextlib.nullcontext(Mock())  # type: ignore[method-assign]
    made.place = Mock(recover=Mock(side_effect=CellFailed("ext4: bad superblock")))
    judgement = made.cycle(Mock(seed=7), CutEvidence())
    made.place.cut.assert_called_once_with("none", 7)  # so that the seed makes the same cut again
    assert judgement.verdict == "lost"
    assert judgement.reasons == ["the file system cannot be mounted: ext4: bad superblock"]
    made.place = Mock(recover=Mock(side_effect=Gone("the guest ended")))
    with pytest.raises(Gone):
        made.cycle(Mock(), CutEvidence())


def test_files_that_a_cut_took_or_cut_short_are_kept_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acidtest.powercut.trial.Moment", Mock())
    made, evidence = trial(None), CutEvidence(inspection_error="nobody looked")
    made.begin, made.killed = Mock(), Mock(return_value=[])  # type: ignore[method-assign]
    made.loaded = lambda cell: contextlib.nullcontext(Mock())  # type: ignore[method-assign]
    sizes = [{"log": 40, "new": 5}, {"log": 12}]  # as the kernel had them, and as they were mounted again
    made.place = Mock(file_sizes=Mock(side_effect=sizes), end=Mock(return_value=("clean", "")))
    made.cycle(Mock(seed=7, place=Mock(disk_recovery_s=None)), evidence)
    assert evidence.files is not None
    assert (evidence.files.missing, evidence.files.shorter) == ({"new": 5}, {"log": (12, 40)})


def test_what_is_amiss_without_a_cut_is_known_before_the_first() -> None:
    made = trial(None)
    made._judge_without_cut(CutEvidence(read_error="no such library"))
    assert made.broken_without_cut == ["the engine does not give its data back: no such library"]


def test_what_is_acknowledged_after_the_cut_does_not_count(tmp_path: Path) -> None:
    log = AcknowledgementLog(tmp_path)
    lines = [Acknowledgement(1, count, 0, count, 0, count).as_line() + b"\n" for count in (1, 2)]
    with log.path.open("wb", buffering=0) as pipe:
        pipe.write(lines[0])
        log.drain()
        made = trial(None)
        made.subject.instance = Mock(lose_power=lambda: pipe.write(lines[1]))
        found = made.killed(Mock(acknowledged=log, answers=[]), CutEvidence())
    log.close()
    assert [line.count for line in found] == [1]


def test_the_power_is_cut_while_the_engine_recovers() -> None:
    made, cell = trial(None), Mock(seed=7)
    made.place, made.evidence = Mock(), Mock()  # type: ignore[method-assign]
    made._cut_in_recovery(cell, [])
    made.place.cut.assert_called_once_with("none", 8)
    made.subject.inspector.inspect.assert_called_once()  # type: ignore[attr-defined]
    made.subject.instance.lose_power.assert_called_once()  # type: ignore[attr-defined]


def test_what_an_engine_keeps_for_its_processes_is_in_memory_meanwhile(tmp_path: Path) -> None:
    ledger, directory = Ledger(), tmp_path / "lock"
    directory.mkdir()
    (directory / "before").touch()
    made = trial(None)
    made._ledger, made.subject.instance = ledger, Mock(scratch=Mock(return_value=[directory]))
    with made.scratch_in_memory():
        (mounted,) = mounts.mounted_below(directory)
        assert mounted.filesystem == "tmpfs"
        (directory / "lock table").touch()
        assert "acidtest-memory" in ledger.path.read_text()
    assert mounts.mounted_below(directory) == []
    assert [path.name for path in directory.iterdir()] == ["before"]
    ledger.close()
    assert not ledger.path.exists()


def test_what_the_end_of_a_process_left_is_no_state_of_a_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acidtest.powercut.trial.announcement_of", Mock(return_value=None))
    monkeypatch.setattr("acidtest.powercut.trial.is_unannounced", Mock(return_value=True))
    judgement: Any = Mock(verdict="lost", reasons=["a commit is missing"])
    cell: Any = None
    kept = {}
    for name in ("cut", "kill"):
        made = trial(None)
        made._failure = FAILURES[name]
        kept[name] = made._kept(cell, CutEvidence(acknowledged=[]), judgement, Mock(return_value="a state file"))
    assert kept == {"cut": "a state file", "kill": None}


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "/out/acidtest-states"), "/out/acidtest-states: No space left on device"),
        (CellFailed("the disk refused: read-only"), "the disk refused: read-only"),
    ],
)  # fmt: skip
def test_a_loss_whose_state_cannot_be_kept_is_a_loss_and_says_why(
    error: Exception, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acidtest.powercut.trial.announcement_of", Mock(return_value=None))
    monkeypatch.setattr("acidtest.powercut.trial.is_unannounced", Mock(return_value=True))
    evidence = CutEvidence(acknowledged=[])
    judgement: Any = Mock(verdict="lost", reasons=["a commit is missing"])
    cell: Any = None
    assert trial(None)._kept(cell, evidence, judgement, Mock(side_effect=error)) is None
    (warning,) = unkept(evidence.unkept)
    assert warning.text == f"What was lost could not be kept in a state file: {why}; the seed makes the cut again."
    recording = factory.recording(cut=factory.cut("lost", lost=1), warnings=[warning])
    assert reasons_of(recording)[1] == warning.text
    assert unkept("") == []


@pytest.mark.parametrize("status", ["done", "invalid", "failed"])
def test_the_load_of_an_exploration_is_kept_for_the_same_command_if_it_failed(
    status: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = tmp_path / "load"
    load.touch()
    for name, answer in {"load_file": load, "_at_once": 1, "refuse_to_go_on": None}.items():
        monkeypatch.setattr(f"acidtest.powercut.conductor.{name}", Mock(return_value=answer))
    cuts = Cuts.__new__(Cuts)
    cell: Any = Mock(id="cell#1")
    cuts._earlier, cuts._took = {cell.id: []}, []
    cuts.exploring = lambda *about, at_once: contextlib.nullcontext("no disk")  # type: ignore[method-assign,assignment]
    cuts._failed = Mock(return_value=factory.recording(status=status))  # type: ignore[method-assign]
    for _ in cuts._explore(cell, Mock()):
        pass
    assert load.exists() is (status == "failed")


def cuttable(drive: Mock, ledger: Mock, home: Path, *faults: str) -> CuttablePlace:
    return CuttablePlace(PlaceSpec(filesystem="raw"), Mock(path=home), drive, ledger, faults)


@pytest.mark.parametrize("back", ["begin", "recover", "recover_state", "go_back"])
def test_a_disk_does_wrong_again_each_time_its_power_is_back(back: str, tmp_path: Path) -> None:
    drive = Mock()
    place = cuttable(drive, Mock(), tmp_path, "lie-about-flush", "rot 8")
    place._attach = Mock()  # type: ignore[method-assign]
    getattr(place, back)(*([None] if back in ("recover_state", "go_back") else []))
    assert [call.args[0] for call in drive.fault.call_args_list] == ["lie-about-flush", "rot 8"]


@pytest.mark.parametrize("faults", [(), ("lie-about-flush",)])
def test_a_file_cache_beneath_the_file_system_is_refused(faults: tuple[str, ...], tmp_path: Path) -> None:
    ledger = Mock()
    ledger.attach_loop.return_value = "loop", Path("/dev/null"), False
    with pytest.raises(MachineLacks, match="without direct I/O"):
        cuttable(Mock(), ledger, tmp_path, *faults).prepare([])
