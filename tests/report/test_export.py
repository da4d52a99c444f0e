"""The flat table for other programs: every column has a type, a unit and a meaning, and reads back as it was written."""

from __future__ import annotations

import csv
import io
import json
import re
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import factory
from acidtest.analysis.latency import percentile_ns
from acidtest.cli import app
from acidtest.journal.models import NOT_APPLICABLE, Journal, SettingInForce, States
from acidtest.journal.protocol import ArrivalCounts
from acidtest.report import export
from factory import cut, journal, recording, result, stored

PAGE = Path(__file__).parents[2] / "docs" / "EXPORTS.md"


def in_force(**values: str | None) -> list[SettingInForce]:
    return [SettingInForce(name=n, asked=None, in_force=v, agrees=True, source="") for n, v in values.items()]


@cache
def everything() -> Journal:
    """A journal that has every group of columns."""
    arrivals = ArrivalCounts(scheduled=5, late=1, unfinished=0, unfinished_wait_ms_max=0.5)
    states = States(looked_at=9, survived=8, lost=1, unknown=0, per_s=2.0, writes=5, flushes=2, shortest="a.json")
    tpcc = factory.tpcc().recordings
    open_loop = tpcc[0].model_copy(update={"cell": "open", "result": result(arrivals=arrivals)})
    counted = tpcc[0].model_copy(
        update={"cell": "counted", "engine_counts": factory.engine_counts(1000, page_reads=(10, None))}
    )
    sized = tpcc[0].model_copy(update={"cell": "sized", "sizes": factory.sizes(3, 5, 4, database_mb=(10, 11, 12))})
    return journal(
        [
            *tpcc,
            open_loop,
            counted,
            sized,
            recording(cut=cut("lost", states=states)).model_copy(update={"result": None}),
        ]
    )


def test_every_column_has_a_type_a_unit_and_a_meaning() -> None:
    units = {"s": "s", "ms": "ms", "us": "µs", "bytes": "bytes", "per_s": "1/s", "per_min": "1/min", "mb_per_s": "MB/s"}
    for field in export.table(everything()).schema:
        assert field.type in export.TYPES, field.name
        about = {key.decode(): value.decode() for key, value in field.metadata.items()}
        assert set(about) == {"description", "unit"}
        assert about["description"], field.name
        if not field.name.startswith(("level_", "setting_")):
            ends = [
                unit
                for end, unit in units.items()
                if re.search(rf"_{end}(_(mean|max|p[\d_]+|per_transaction))?$", field.name)
            ]
            assert about["unit"] == (ends[-1] if ends else ""), field.name


def test_the_percentiles_are_those_of_the_histogram_as_far_as_it_bears_them() -> None:
    held = journal([recording(found=result(800)), recording(repetition=2, found=result(800, count=150))])
    many, few = export.table(held).to_pylist()
    (latency, _) = (recording.result.latency for recording in held.recordings if recording.result)
    assert many["latency_ms_p95"] == percentile_ns(latency, 0.95) / 1e6
    names = ["latency_ms_p50", "latency_ms_p90", "latency_ms_p95", "latency_ms_p99", "latency_ms_p99_9"]
    assert [many[name] is not None for name in names] == [True, True, True, True, False]
    assert [few[name] is not None for name in names] == [True, True, False, False, False]
    known = [many[name] for name in (*names[:4], "latency_ms_max")]
    assert known == sorted(known)
    payment = export.table(factory.tpcc()).to_pylist()[0]
    assert payment["payment_latency_ms_p90"] == pytest.approx(20, rel=1e-3)
    assert payment["delivery_latency_ms_p90"] is None  # of 40 transactions


def test_the_flat_table_has_loads_kinds_and_new_orders() -> None:
    table = export.table(factory.tpcc())
    row = table.to_pylist()[0]
    assert row["new_order_per_min"] == pytest.approx(450 / 12 * 60)
    assert (row["threads"], row["load_rows"], row["load_sessions"]) == (2, 500_000, 2)
    assert row["load_rows_per_s"] == pytest.approx(111_111, rel=1e-3)
    assert (row["new_order_committed"], row["new_order_rolled_back"], row["payment_committed"]) == (450, 5, 430)
    plain = export.table(factory.journal([factory.recording()])).to_pylist()[0]
    assert plain["new_order_per_min"] is None
    assert plain["threads"] is None
    assert "load_rows" not in plain


def test_what_is_a_number_a_truth_or_a_time_has_that_type() -> None:
    levels = {"workload": "tpcb", "engine": "sqlite", "durability": "drive"}
    first = recording(levels | {"terminals": "16", "page_size": NOT_APPLICABLE, "fill": "0.5"})
    other = recording(levels | {"terminals": "4", "page_size": "8192", "fill": "1"}, 2)
    settings = (
        in_force(pages="512", forced="true", fsync="on", ratio="0.9", mode="on", odd="007", big="9" * 30, gone=None),
        in_force(pages="1024", forced="false", fsync="off", ratio="2", mode="remote", odd="8", big="1", gone=None),
    )
    held = journal([one.model_copy(update={"settings": s}) for one, s in zip((first, other), settings, strict=True)])
    table = export.table(held)
    types = {field.name: export.TYPES[field.type] for field in table.schema}
    assert {name: types[name] for name in types if name.startswith(("level_", "setting_"))} == {
        "level_workload": "text", "level_engine": "text", "level_durability": "text", "level_terminals": "integer",
        "level_page_size": "integer", "level_fill": "number", "setting_pages": "integer",
        "setting_forced": "true or false", "setting_fsync": "true or false", "setting_ratio": "number",
        "setting_mode": "text", "setting_odd": "text", "setting_big": "text", "setting_gone": "text",
    }  # fmt: skip
    rows = table.to_pylist()
    assert [row["level_page_size"] for row in rows] == [None, 8192]
    assert [row["setting_fsync"] for row in rows] == [True, False]
    assert rows[0]["started_at"] == datetime(2026, 3, 2, 10, tzinfo=UTC)
    assert types["reason"] == "text"  # also where no cell has one


@given(st.lists(st.none() | st.text("0123456789.-truefalsnoy", max_size=6), min_size=1, max_size=3))
def test_no_text_is_changed_by_its_type(values: list[str | None]) -> None:
    kind = export._type(values)
    for before in values:
        after = export._as(kind, before)
        if before is None or kind == export.TEXT:
            assert before == after
        elif kind == export.YES_NO:
            assert export.TRUTHS[before.lower()] is after
        else:
            assert float(before) == after


def test_files_read_back_as_they_were_written(tmp_path: Path) -> None:
    held = everything()
    table = export.table(held)
    export.to_parquet(held, tmp_path / "a.parquet")
    kept = pyarrow.parquet.read_table(tmp_path / "a.parquet")
    assert kept.equals(table)
    assert [field.metadata[b"description"] for field in kept.schema] == [
        field.metadata[b"description"] for field in table.schema
    ]
    export.to_csv(held, tmp_path / "a.csv")
    text = (tmp_path / "a.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["cell"] for row in rows] == table.column("cell").to_pylist()
    types = {field.name: field.type for field in table.schema}
    read = pyarrow.csv.read_csv(
        tmp_path / "a.csv",
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=types, strings_can_be_null=True, quoted_strings_can_be_null=False
        ),
    )
    assert read.to_pylist() == table.to_pylist()


def test_a_log_is_given_at_its_largest_and_a_database_at_its_end() -> None:
    (row,) = [one for one in export.table(everything()).to_pylist() if one["cell"] == "sized"]
    assert (row["database_bytes_max"], row["log_bytes_max"]) == (12_000_000, 5_000_000)


def test_describe_names_every_column_and_writes_nothing(tmp_path: Path) -> None:
    held = everything()
    stored(held, tmp_path / "journal.jsonl")
    names = export.table(held).column_names
    told = CliRunner().invoke(app, ["report", str(tmp_path), "--describe", "--json"])
    assert [column["name"] for column in json.loads(told.stdout)["columns"]] == names
    shown = CliRunner().invoke(app, ["report", str(tmp_path), "--describe"])
    assert [line.split()[0] for line in shown.stdout.splitlines()[1:] if not line.startswith(" ")] == names
    assert [file.name for file in tmp_path.iterdir()] == ["journal.jsonl"]
    (tmp_path / "journal.jsonl").rename(tmp_path / "cuts.jsonl")
    cuts = CliRunner().invoke(app, ["report", str(tmp_path), "--describe", "--json"])
    assert json.loads(cuts.stdout) == json.loads(told.stdout)


def test_the_page_has_every_column() -> None:
    """docs/EXPORTS.md, from the columns themselves."""
    lines = []
    for group in export.GROUPS:
        lines += [f"## {group.says}", "| column | type | unit | meaning |", "|---|---|---|---|"]
        lines += [
            f"| `{column.name}` | {column.type_name} | {column.unit} | {column.says} |" for column in group.columns
        ]
        lines.append("")
    assert PAGE.read_text(encoding="utf-8").partition("## ")[2] == "\n".join(lines).removeprefix("## ")
