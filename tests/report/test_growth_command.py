"""``acidtest growth``: what it prints, and the plain lines that bad input gets."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import factory
from acidtest.analysis import samples
from acidtest.analysis.growth.answer import Prediction
from acidtest.analysis.growth.recorded import recorded
from acidtest.analysis.growth.series import Landmark, Series, SizePoint
from acidtest.analysis.growth.words import expected
from acidtest.analysis.summary import Interval
from acidtest.cli import main
from acidtest.journal.models import DatabaseSize, Recording
from acidtest.journal.writer import JournalWriter
from acidtest.report.growth import growth

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "docs" / "examples" / "firebird-growth.csv"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """The command in this process: exit code, standard output, standard error."""

    def called(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setenv("COLUMNS", "120")
        monkeypatch.setattr(sys, "argv", ["acidtest", "growth", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        code = left.value.code
        output = capsys.readouterr()
        return (code if isinstance(code, int) else 0), output.out, output.err

    return called


def test_the_example_in_the_docs_is_what_is_printed(run) -> None:
    page = (ROOT / "docs" / "ANALYSIS.md").read_text()
    command = "acidtest growth docs/examples/firebird-growth.csv --memory 16GB --predict 1813.97GB"
    _, _, shown = page.partition(f"    $ {command}\n")
    block = []
    for line in shown.splitlines():
        if line and not line.startswith("    "):
            break
        block.append(line[4:].rstrip())
    code, out, err = run(PUBLISHED, "--memory", "16GB", "--predict", "1813.97GB")
    assert (code, err) == (0, "")
    assert [line.rstrip() for line in out.strip().splitlines()] == "\n".join(block).strip().splitlines()


def test_json_has_what_is_printed(run) -> None:
    code, out, _ = run(PUBLISHED, "--memory", "16GB", "--predict", "1813.97GB", "--predict", "1 GB", "--json")
    assert code == 0
    (found,) = json.loads(out)["series"]
    assert len(found["sizes"]) == 11
    assert found["knee"]["verdict"] == "no knee shown"
    assert found["landmarks"][0]["knee"].startswith("no knee shown at memory size (16 GB): one from which")
    assert found["knee"]["smallest"] == [{"bytes": 16e9, "leaves": 0.9}]
    far, near = found["predictions"]
    assert far["interval"]["low"] < 169.33 < far["interval"]["high"]
    assert near["rate"] is None
    assert "smallest size measured" in near["refused"]
    assert any(model["name"] == far["model"] and model["plausible"] for model in found["models"])
    assert found["said"][0].startswith("No knee shown at memory size (16 GB)")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("# only a remark\n", "empty"),
        ("size,rate\n", "no measurement"),
        ("warehouses,rate\n1,2\n", "needs one column size and one column rate"),
        ("size,rate,rate_2\n1,2,3\n", "needs one column size and one column rate"),
        ("size_gb,rate\n9,04,494\n", "line 2: 3 fields where the first line has 2"),
        ('size_gb;rate\n"9,04";494\n', '"9,04 gb" is not a size'),
        ("size_parsec,rate\n9,494\n", "is not a size"),
        ("size_gb,rate\n9,\n", 'line 2: "" is not a rate'),
        ("size_gb,rate\n9,nan\n", "is not a rate"),
        ("size_gb,rate\n9,-1\n", "is not a rate"),
        ("size_gb,rate\n,5\n", "is not a size"),
        ("size_gb,rate\n0,5\n", "at least a byte"),
        ('size,rate\n"1,2\n', "line 2: not CSV"),
    ],
)
def test_a_bad_file_gets_a_plain_line(run, tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "rates.csv"
    file.write_text(text)
    code, out, err = run(file)
    assert (code, out) == (2, "")
    assert said in err
    assert 1 <= len(err.strip().splitlines()) <= 2


def test_other_bad_input_gets_a_plain_line(run, tmp_path: Path) -> None:
    (tmp_path / "picture.csv").write_bytes(b"\x89PNG\xff\xfe")
    for arguments, said in [
        ((tmp_path / "none",), "no such file or directory"),
        ((tmp_path,), "no journal here"),
        ((tmp_path / "picture.csv",), "not a text file"),
        ((PUBLISHED, "--predict", "big"), '--predict: "big" is not a size'),
        ((PUBLISHED, "--memory", "16,0 GB"), '--memory: "16,0 GB" is not a size'),
    ]:
        code, out, err = run(*arguments)
        assert (code, out) == (2, "")
        assert said in err
        assert 1 <= len(err.strip().splitlines()) <= 2


def test_sizes_with_units_and_repetitions_and_several_series(run, tmp_path: Path) -> None:
    file = tmp_path / "rates.csv"
    file.write_text("series;size;rate\nssd;1 GB;10\nssd;1000 MB;12\nssd;2GiB;9\n\nhdd;1GB;1\nhdd;4000000000;1\n")
    code, out, _ = run(file, "--json")
    assert code == 0
    found = json.loads(out)
    assert [(one["name"], [(at["bytes"], at["n"]) for at in one["sizes"]]) for one in found["series"]] == [
        ("ssd", [(1e9, 2), (2 * 2**30, 1)]), ("hdd", [(1e9, 1), (4e9, 1)]),
    ]  # fmt: skip
    (ratios,) = found["ratios"]
    assert (ratios["series"], ratios["against"]) == ("hdd", "ssd")
    assert [at["median"] for at in ratios["sizes"]] == [pytest.approx(1 / 11)]
    code, out, _ = run(file)
    assert code == 0
    assert "hdd over ssd" in out


def measured(size: int, repetition: int) -> Recording:
    levels = {"workload": "tpcc", "engine": "sqlite", "durability": "drive", "size": f"{size} GB"}
    found = factory.recording(levels, repetition, found=factory.result(rate=900 / size))
    size_bytes = size * 10**9
    return found.model_copy(
        update={
            "database_size": DatabaseSize(asked=f"{size} GB", asked_bytes=size_bytes, warehouses=1, bytes=size_bytes)
        }
    )


def test_a_run_that_grew(run, tmp_path: Path) -> None:
    recordings = [measured(size, repetition) for size in (1, 2, 4, 8) for repetition in (1, 2)]
    journal = factory.journal(recordings, growth={"sizes": ["1 GB", "2 GB", "4 GB", "8 GB"]})
    with JournalWriter(tmp_path, journal.header) as writer:
        for recording in recordings:
            writer.append(recording)
    code, out, err = run(tmp_path, "--predict", "16GB", "--memory", "2GB")
    assert (code, err) == (0, "")
    assert "sqlite" in out
    assert "At 16 GB expect 56" in out
    (series,) = recorded(journal.header, samples.rows(journal.header, journal.recordings))
    assert series.points[0].rates == (900.0, 900.0)


def test_a_reduced_scale_is_told_beside_what_is_predicted(run, tmp_path: Path) -> None:
    whole = [measured(size, repetition) for size in (1, 2, 4, 8) for repetition in (1, 2)]
    for name, percent in (("whole", 100), ("reduced", 10)):
        recordings = [
            one.model_copy(update={"workload": {**one.workload, "warehouse_percent": percent}}) for one in whole
        ]
        journal = factory.journal(recordings, growth={"sizes": ["1 GB", "2 GB", "4 GB", "8 GB"]})
        (tmp_path / name).mkdir()
        with JournalWriter(tmp_path / name, journal.header) as writer:
            for recording in recordings:
                writer.append(recording)
    said = "Reduced scale: a warehouse has 10 % of its rows. No prediction carries over to another scale."
    code, out, _ = run(tmp_path / "reduced", "--predict", "16GB")
    assert code == 0
    assert said in " ".join(out.split())
    assert json.loads(run(tmp_path / "reduced", "--json")[1])["reduced_scale"] == ["a warehouse has 10 % of its rows"]
    assert "Reduced scale" not in run(tmp_path / "whole", "--predict", "16GB")[1]


def test_an_interval_that_says_little_leads() -> None:
    wide = Prediction(10e9, 40.0, Interval(0.03, 3789.0), "power")
    assert expected(wide) == "At 10 GB: cannot say, between 0.03 and 3789 a second (95 %, over all plausible models)."
    narrow = expected(replace(wide, interval=Interval(30.0, 50.0)))
    assert narrow.startswith("At 10 GB expect 40 a second, between 30 and 50 (95 %")


def test_a_run_without_growth_is_refused(run, tmp_path: Path) -> None:
    journal = factory.study(engines=["sqlite"], repetitions=1)
    with JournalWriter(tmp_path, journal.header) as writer:
        for recording in journal.recordings:
            writer.append(recording)
    code, _, err = run(tmp_path)
    assert code == 2
    assert "no database in it grew" in err


def test_what_is_given_for_a_page_needs_no_terminal() -> None:
    series = Series(
        "made", tuple(SizePoint(1e9 * 2**n, (100.0 - 5 * n,)) for n in range(5)), (Landmark("memory", 4e9),)
    )
    found = growth([series], [6.4e10])
    (one,) = found.series
    assert one.predictions[0].rate is not None
    assert len(one.sentences) == 3
    assert json.dumps(found.as_json())
