"""The pages of docs/studies: made of what is kept, and of nothing else; recordings keep nothing of their machine."""

from __future__ import annotations

import json
import lzma
import re
import socket
import xml.etree.ElementTree as ET
from functools import cache
from pathlib import Path

import pytest
from studies.figures import FIGURES, At
from studies.pages import Kept, Making, NotMeasured
from studies.ranking import places
from studies.recordings import kept, told
from studies.study import Experiment, Held, Ours, Picture, Published, Study, Table, names, read

from acidtest.errors import BadInput
from acidtest.journal.models import Journal
from acidtest.report import pictures
from factory import file_systems, journal, recording, result, study, tpcc
from studies import pages, recordings

pytestmark = pytest.mark.slow  # it reads all kept recordings

BASE = {"place.filesystem": "raw"}
JSON_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def written(journal: Journal, directory: Path) -> Path:
    """A run's directory with this journal."""
    directory.mkdir(parents=True, exist_ok=True)
    lines = [
        journal.header.model_dump_json(),
        *(recording.model_dump_json(by_alias=True) for recording in journal.recordings),
    ]
    (directory / recordings.FILES["run"]).write_text("\n".join(lines) + "\n")
    return directory


def elsewhere(journal: Journal, path: str) -> Journal:
    """With its places below ``path``."""
    moved = [
        recording.model_copy(update={"place": recording.place.model_copy(update={"path": path, "mount_point": path})})
        for recording in journal.recordings
    ]
    return journal.model_copy(update={"recordings": moved})


@cache
def compared(repetitions: int) -> Journal:
    """File systems under two schedulers."""
    whole = file_systems(repetitions, BASE)
    held = [recording for recording in whole.recordings if recording.levels["place.scheduler"] in ("none", "kyber")]
    header = whole.header.model_copy(update={"cells": len(held)})
    return whole.model_copy(update={"recordings": held, "header": header})


def making(journal: Journal | None, **changes: object) -> Making:
    fields = {
        "title": "Which one?", "text": "A text (1999)", "answer": 'At **{{ shown("e", "relative", {"place.filesystem": "xfs"}) }}**.',
        "without": "Not measured yet.", "experiments": {"e": Experiment(file="experiments/file-systems.toml")},
        "tables": [Table(name="table 1", theirs="one", came_out="reproduced",
                         ours=[Ours(experiment="e", figures=["relative"], rows="place.filesystem",
                                    where={"place.scheduler": "none"}, columns="place.mount")])],
    }  # fmt: skip
    texts = {
        "one": Published(place="page 1", unit="raw = 100", columns=["speed"], rows={"raw": [100], "jfs": [104.63]})
    }
    held = Held(name="a-study", study=Study.model_validate(fields | changes), text=texts)
    journals = {"run": journal} if journal else {}
    return Making(held, {"e": Kept("e", held.study.experiments["e"], journals)})  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def made() -> dict[str, pages.Page]:
    """The pages of all studies."""
    return {page.name: page for page in pages.made()}


@pytest.mark.parametrize("name", names())
def test_a_page_is_what_its_recordings_make(made: dict[str, pages.Page], name: str) -> None:
    page = made[name]
    assert (pages.PAGES / f"{name}.md").read_text() == page.text, "make studies writes it anew"
    drawn = {path.stem: pictures.made_of(path) for path in (pages.PAGES / "pictures").glob(f"{name}*.svg")}
    assert drawn == {one: pictures.fingerprint(spec) for one, spec in page.pictures.items()}, "make studies draws it"


def test_the_table_of_tables_is_what_the_studies_say(made: dict[str, pages.Page]) -> None:
    every = list(made.values())
    assert (pages.PAGES / "README.md").read_text() == pages.readme(every)


def test_what_is_kept_belongs_to_a_study_and_names_nothing_of_its_machine() -> None:
    for path in recordings.KEPT.rglob("*.xz"):
        study_name, experiment = path.parts[-3:-1]
        asked = read(study_name).study.experiments[experiment]
        assert path.name.removesuffix(".xz") in {recordings.FILES[command] for command in asked.commands}
        texts = set(JSON_STRING.findall(lzma.decompress(path.read_bytes()).decode()))
        assert [one for one in map(json.loads, texts) if told(one)] == []


@pytest.mark.parametrize("name", names())
def test_experiments_of_a_study_are_shipped(name: str) -> None:
    for experiment in read(name).study.experiments.values():
        assert (recordings.ROOT / experiment.file).exists()
        assert not experiment.full or (recordings.ROOT / experiment.full).exists()


def test_paths_of_the_run_are_taken_out_and_all_figures_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recordings, "KEPT", tmp_path / "kept")
    out = tmp_path / "out"
    before = elsewhere(study(), f"{out}/acidtest-1")
    recordings.keep("a", "e", "run", written(before, out))
    after = kept("a", "e")
    assert after is not None
    assert {recording.place.path for recording in after.recordings} == {"OUT/acidtest-1"}
    assert [recording.result for recording in after.recordings] == [recording.result for recording in before.recordings]
    assert str(tmp_path) not in lzma.decompress(recordings.path_of("a", "e").read_bytes()).decode()


@pytest.mark.parametrize(
    "said",
    ["/srv/secret/db", "mkfs.ext4 /mnt/disk", "path=/mnt/disk", "(/mnt/disk)", "of host " + "h" * 9, "/home/me"],
    ids=["path", "in words", "after a sign", "in brackets", "host", "home"],
)
def test_what_still_names_the_machine_is_refused(said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recordings, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(socket, "gethostname", lambda: "h" * 9)
    one = recording(engine_log=said)
    held = elsewhere(journal([one]), str(tmp_path / "out"))
    with pytest.raises(BadInput, match="line 2 names"):
        recordings.keep("a", "e", "run", written(held, tmp_path / "out"))
    assert not (tmp_path / "kept").exists()


@pytest.mark.parametrize(
    "said",
    [
        "/dev/loop3",
        "ext4 (/dev/vda, rw)",
        "commits/s",
        "http://one/two",
        "OUT/acidtest-1",
        "/",
        "1/2",
        "/sys/block",
        "tpcb/sqlite/drive/raw/–/bfq#1",
    ],
)
def test_what_every_machine_has_is_kept(said: str) -> None:
    assert told(said) == ""


def test_a_row_of_the_text_and_one_of_ours_that_mean_the_same_are_one() -> None:
    text = making(compared(6)).page().text
    assert "|  | text: speed, raw = 100 | here: defaults, raw = 100 | here: sync,noatime, raw = 100 |" in text
    rows = {line.split("|")[1].strip(): line.split("|")[2:5] for line in text.splitlines() if line.startswith("| ")}
    assert [cell.strip() for cell in rows["raw"]] == ["100", "100", "100"]
    assert [cell.strip() for cell in rows["jfs"]] == ["104.63", "–", "–"]
    assert rows["xfs"][1].strip().startswith("160 (")
    assert rows["xfs"][2].strip().startswith("143 (")
    assert "At **160 (" in text


def test_a_page_says_that_nothing_is_kept_and_what_measures_it() -> None:
    page = making(None).page()
    assert "Not measured yet." in page.text
    assert "Not measured yet: `acidtest run experiments/file-systems.toml --out DIR`." in page.text
    assert "`make studies STUDY=a-study` measures all of it" in page.text
    assert page.rows == [("table 1", "not measured yet", "`file-systems.toml`")]


def test_a_page_says_how_much_of_a_run_is_there() -> None:
    whole = compared(2)
    part = whole.model_copy(update={"header": whole.header.model_copy(update={"cells": len(whole.recordings) + 3})})
    page = making(part).page()
    assert page.rows[0][1] == f"reproduced ({len(whole.recordings)} of {len(whole.recordings) + 3} cells so far)"
    assert "160 (2 runs)" in page.text


def test_a_table_of_two_experiments_says_that_one_is_missing() -> None:
    made = making(compared(2))
    two = [Ours(experiment=name, figures=["relative"], rows="place.filesystem") for name in ("e", "other")]
    made.held.study.experiments["other"] = Experiment(file="experiments/quick.toml")
    whole = Making(made.held, {**made.kept, "other": Kept("other", Experiment(file="experiments/quick.toml"), {})})
    table = made.held.study.tables[0].model_copy(update={"ours": two})
    assert whole._came_out(table) == "reproduced (in part; the rest is not measured yet)"
    said = whole._measured_by([*whole.kept.values()])
    assert "doubtful `too-few-repetitions`" in said
    assert said.endswith("Not measured yet: `acidtest run experiments/quick.toml --out DIR`.")


def test_findings_that_an_experiment_sets_aside_are_printed_with_its_reason() -> None:
    held = compared(2)
    waived = held.header.model_copy(
        update={"experiment": held.header.experiment | {"waive": {"too-few-repetitions": "small."}}}
    )
    text = making(held.model_copy(update={"header": waived})).page().text
    assert "`too-few-repetitions`" in text
    assert "*The experiment sets it aside: small.*" in text


def test_a_sentence_with_a_figure_that_is_not_there_is_left_out() -> None:
    made = making(compared(2))
    assert made._said('{{ value("e", "relative", {"place.filesystem": "jfs"}) }}') == ""
    assert made._said('{{ (value("e", "per-minute", {"place.filesystem": "raw"}) / 60)|number }}') != ""
    with pytest.raises(NotMeasured):
        made._value("e", "seconds", {"place.filesystem": "raw"})  # no run by count


@pytest.mark.parametrize("said", ['{{ value("e") }}', "{{ value(", '{{ value("e", "fast") }}', "{{ nothing }}"])
def test_a_sentence_that_cannot_be_read_is_told_with_its_study(said: str) -> None:
    with pytest.raises(BadInput, match=r"^a-study: .*: "):
        making(compared(2))._said(said)


def test_a_picture_is_of_the_rows_that_are_asked_for_and_is_whole() -> None:
    picture = Picture(experiment="e", chart="bars", where={"place.scheduler": "none"}, says="Speed.")
    made = making(compared(5), picture=picture).page()
    assert "![Speed.](pictures/a-study.svg)" in made.text
    drawn = pictures.svg(made.pictures["a-study"])
    words = "".join(ET.fromstring(drawn.partition("<!--")[0]).itertext())
    assert "xfs" in words
    assert "kyber" not in words
    assert "prefers-color-scheme:dark" in drawn


def test_every_figure_can_be_shown_of_any_row() -> None:
    for held in (study(), tpcc(), compared(5)):
        found = Kept("e", Experiment(file=""), {"run": held}).results
        assert found is not None
        for table in found.tables:
            for line in table.lines:
                assert all(figure.of(At(line, table.lines, table, found)).text for figure in FIGURES.values())


def test_restarts_are_counted_in_the_engine_s_log() -> None:
    line = "Update conflict: unable to get a stable set of rows in the source tables\n\tafter 10 attempts of restart.\n"
    held = journal([recording(engine_log=line * 3), recording(repetition=2, engine_log="")])
    found = Kept("e", Experiment(file=""), {"run": held}).results
    assert found is not None
    table = found.tables[0]
    assert FIGURES["restarts"].of(At(table.lines[0], table.lines, table, found)).text == "3 0"


def test_places_are_no_more_certain_than_the_runs() -> None:
    low, middle, high = ([base + n for n in range(6)] for base in (100.0, 200.0, 300.0))
    assert places([middle, low, high]) == [(2, 2), (3, 3), (1, 1)]
    assert places([middle, [one + 0.5 for one in middle], high]) == [(2, 3), (2, 3), (1, 1)]
    assert places([low[:4], high[:4]]) == [(1, 2), (1, 2)]  # four runs show nothing


def test_a_run_that_is_kept_in_part_is_replaced_by_one_that_went_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recordings, "KEPT", tmp_path / "kept")
    ones = [recording(repetition=n, found=result(seed=n)) for n in (1, 2, 3)]
    for many in (2, 3):
        recordings.keep(
            "a", "e", "run", written(elsewhere(journal(ones[:many]), str(tmp_path / "out")), tmp_path / "out")
        )
        held = kept("a", "e")
        assert held is not None
        assert len(held.recordings) == many
