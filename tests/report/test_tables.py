"""The tables of a report, in the terminal and as JSON: numbers only where they may stand, marks beside them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from unittest.mock import Mock

import pytest

from acidtest.errors import BadInput
from acidtest.finding import together, wording
from acidtest.journal.models import Journal, Recording
from acidtest.report import verdicts
from acidtest.report.numbers import interval, number, percent
from acidtest.report.results import Notes, Results, results
from acidtest.report.side_by_side import side_by_side, unlike
from acidtest.report.terminal import print_results
from factory import grown_logs, journal, limited, loaded, recording, result, study, tpcc
from terminals import printed, words


@pytest.fixture
def found(studied: Results) -> Results:
    return studied


def shown(found: Results, width: int) -> str:
    return printed(print_results, found, width=width)


@pytest.mark.parametrize("width", [80, 100, 160])
def test_nothing_is_wider_than_the_terminal_and_no_figure_is_cut(found: Results, width: int) -> None:
    text = shown(found, width)
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    for table in found.tables:
        for line in table.lines:
            assert re.search(
                rf"{re.escape(line.levels['engine'])} +{line.levels['durability']} +{number(line.goodput.median)}", text
            )


def test_a_wide_terminal_shows_every_column_and_a_narrow_one_says_what_it_leaves_out(found: Results) -> None:
    wide, narrow = shown(found, 160), shown(found, 80)
    assert "95 %" in wide.splitlines()[4]
    assert "A wider terminal also shows" not in wide
    assert "A wider terminal also shows 95 %, max ms, run s; the page has all." in narrow


def test_a_severe_finding_counts_whether_it_concerns_a_row_or_the_whole(found: Results) -> None:
    mild, severe = (Mock(severe=severe) for severe in (False, True))
    for where in ("findings", "overall"):
        nothing_else = replace(found, findings=(), overall=())
        assert replace(nothing_else, **{where: (mild, severe)}).severe == [severe]


def test_every_finding_has_a_number_beside_a_figure_and_its_words_below(found: Results) -> None:
    text = shown(found, 160)
    assert found.findings
    for position, finding in enumerate(found.findings, start=1):
        mark = str(position).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
        assert text.count(mark) >= 2
        assert " ".join(finding.text.split())[:60] in " ".join(text.split())


def test_a_finding_keeps_its_number_when_others_come_between(found: Results) -> None:
    first, second, *_ = found.findings
    notes = Notes({})
    assert [notes.number(one) for one in (first, second, first, second)] == [1, 2, 1, 2]


def test_findings_are_under_the_waivers_of_the_experiment_unless_others_are_given(found: Results) -> None:
    waive = {finding.rule.name: f"{finding.rule.name} is known" for finding in (*found.findings, *found.overall)}
    header = found.journal.header.model_copy(update={"experiment": {**found.journal.header.experiment, "waive": waive}})
    held = found.journal.model_copy(update={"header": header})
    for given, reasons in ((None, waive), ({}, {})):
        again = results(held, waivers=given)
        assert {
            finding.rule.name: finding.waiver for finding in (*again.findings, *again.overall) if finding.waiver
        } == reasons


def test_cells_without_a_number_are_named_with_their_reason(found: Results) -> None:
    text = words(shown(found, 160))
    assert len(found.bad) == 2
    for one in found.bad:
        assert f"{one.status}: {one.cell}: {one.reason}" in text


def test_only_done_cells_enter_a_number(found: Results) -> None:
    for table in found.tables:
        for line in table.lines:
            assert line.goodput.n == len(line.row.done)
            assert all(one.status == "done" for one in line.row.done)
    (short,) = [line for table in found.tables for line in table.lines if line.row.invalid]
    assert short.goodput.n == 4
    assert short.goodput.interval is None


def test_the_base_is_100_and_every_other_row_relative_to_it(found: Results) -> None:
    for table in found.tables:
        (base,) = [line for line in table.lines if line.is_base]
        assert percent(base.relative) == "100"
        for line in table.lines:
            assert line.relative is not None
            assert line.relative.median == pytest.approx(line.goodput.median / base.goodput.median)


def test_json_holds_what_the_table_shows(found: Results) -> None:
    answer = json.loads(json.dumps(found.as_json()))
    assert len(answer["rows"]) == sum(len(table.lines) for table in found.tables)
    row = next(r for r in answer["rows"] if r["is_base"] and r["workload"] == "commits")
    assert row["levels"] == {"workload": "commits", "engine": "sqlite", "durability": "drive"}
    assert row["goodput_per_s"]["n"] == len(row["samples_per_s"]) == 5
    assert row["throughput_per_s"] >= row["goodput_per_s"]["median"] > 0
    assert row["latency_ms"]["p50"] > 0
    assert {r["cell"] for r in answer["invalid"] + answer["failed"]} == {r.cell for r in found.bad}
    numbers = [finding["number"] for finding in answer["findings"]]
    assert numbers == [*range(1, len(found.findings) + 1), *[None] * len(found.overall)]


@pytest.mark.parametrize("width", [80, 160])
def test_kinds_of_transactions_stand_beside_their_limits(width: int) -> None:
    text = shown(results(tpcc()), width)
    assert max(map(len, text.splitlines())) <= width
    assert re.search(r"firebird-5.0 +new-order +2,250 .* 18.0 +5,000 +yes", text)
    assert re.search(r"^ +payment +2,150 .* 6,000 +5,000 +no", text, re.MULTILINE)
    assert "update conflict 45, deadlock" in text
    assert "tpmC" not in text


def test_json_tells_kinds_classes_and_loads() -> None:
    (row, _) = results(tpcc()).as_json()["rows"]
    assert row["new_order_per_min"] == pytest.approx(450 / 12 * 60)
    assert row["classes"] == {"update_conflict": 45, "deadlock": 15}
    assert row["threads"] == 2
    new_order = row["kinds"][0]
    assert (new_order["name"], new_order["committed"], new_order["rolled_back"]) == ("new_order", 2250, 25)
    assert (new_order["conflicts"], new_order["given_up"], new_order["limit_kept"]) == (60, 10, True)
    assert new_order["latency_ms_p90"] == pytest.approx(18, rel=0.1)
    load = row["load"]
    assert (load["rows"], load["sessions"]) == (500_000, 2)
    assert load["rows_per_s"] == pytest.approx(111_111, rel=1e-3)
    assert load["mb_per_s"] == pytest.approx(11.1, rel=1e-2)


@pytest.mark.parametrize("width", [80, 160])
def test_memory_stands_beside_the_numbers(width: int) -> None:
    text = shown(results(limited()), width)
    assert max(map(len, text.splitlines())) <= width
    assert re.search(r"^64 +64.0 +200 +3.12", text, re.MULTILINE)
    assert re.search(r"^1024 +1,020 +200 +0.195", text, re.MULTILINE)
    told = results(limited()).as_json()["rows"][0]["memory"]
    assert (told["limit_bytes"], told["resident_at_end"], told["refaults"]) == (64 << 20, pytest.approx(0.24), 4400)


@pytest.mark.parametrize("width", [80, 160])
def test_sizes_stand_in_the_table_where_they_differ_or_grew(width: int) -> None:
    text = shown(results(grown_logs()), width)
    assert max(map(len, text.splitlines())) <= width
    assert "database MB  log MB" in text
    for row, sizes in (("reused", "20.0 +4.00"), ("held", "20.0 +110"), ("none", "40.0 → 90.0 +–")):
        assert re.search(rf"^{row} .* {sizes}( |$)", text, re.MULTILINE)
    assert "The log (a.db-wal) grew from 10 to 110 MB and was not reused" in " ".join(text.split())
    told = {row["levels"]["reader"]: row["sizes"] for row in results(grown_logs()).as_json()["rows"]}
    assert told["held"] == {
        "database_bytes": 20e6, "database_bytes_max": 20e6, "log": "a.db-wal", "log_bytes_start": 10e6, "log_bytes_max": 110e6,
    }  # fmt: skip
    assert told["none"]["log_bytes_max"] is None


def test_sizes_that_are_alike_take_no_column_and_those_of_older_journals_have_one_where_they_differ() -> None:
    levels = {"workload": "tpcb", "engine": "sqlite", "durability": "os"}

    def of(*bytes_: int) -> str:
        held = [recording({**levels, "page": str(n)}, database_bytes=size) for n, size in enumerate(bytes_)]
        return shown(results(journal(held)), 160)

    assert "database MB" not in of(60_000_000, 61_000_000)
    assert re.search(r"^1 .* 234$", of(59_000_000, 234_000_000), re.MULTILINE)
    assert "log MB" not in of(59_000_000, 234_000_000)


def test_a_load_is_told_once_for_all_rows_that_began_with_it() -> None:
    one, other = loaded(), loaded(rows=200)
    held = [
        recording({"workload": "tpcb", "engine": "sqlite", "durability": durability, "scale": scale}, load=load)
        for durability, scale, load in [("os", "1", one), ("drive", "1", one), ("drive", "2", other)]
    ]
    (table,) = results(journal(held)).tables
    assert [load.label for load in table.loads] == ["sqlite, 1", "sqlite, drive, 2"]
    assert results(journal([recording(load=loaded(rows=0))])).tables[0].loads == ()


def test_one_row_alone_is_a_table() -> None:
    text = shown(results(journal([recording()])), 80)
    assert "all" in text
    assert "base" not in text.lower().replace("database", "")


def test_a_run_without_any_done_cell_says_so() -> None:
    lost = recording(status="failed", reason="the rig was killed by signal 9", result=None)
    text = shown(results(journal([lost])), 80)
    assert "the rig was killed by signal 9" in text


def test_cells_that_have_not_run_are_counted() -> None:
    held = study(["sqlite"], ["commits"], repetitions=1)
    held.header.cells += 7
    assert "7 of" in shown(results(held), 160)


def test_side_by_side_names_what_else_differs() -> None:
    def run(rate: float, kernel: str) -> Journal:
        runs = []
        for repetition in range(1, 6):
            one = recording(repetition=repetition)
            goodput = rate * (1 + repetition / 100)
            runs.append(
                one.model_copy(
                    update={
                        "machine": one.machine.model_copy(update={"kernel": kernel}),
                        "result": one.result.model_copy(update={"goodput_per_s": goodput}),
                    }
                )
            )
        return journal(runs)

    found = side_by_side(run(1000, "Linux 6.1"), run(1500, "Linux 6.12"))
    (pair,) = found.as_json()["rows"]
    assert pair["verdict"] == "faster"
    assert pair["ratio"]["median"] == pytest.approx(1.5)
    assert found.different == [{"what": "machine kernel", "a": "Linux 6.1", "b": "Linux 6.12"}]
    text = printed(found.show)
    assert re.search(r"A commits/s +B commits/s", text)
    assert "differs: machine kernel: A Linux 6.1, B Linux 6.12" in text


def compared(a: Journal, b: Journal) -> str:
    return words(printed(side_by_side(a, b).show))


def ran(
    rates: Sequence[float], on: str = "2026-03-02", waive: dict[str, str] | None = None, **workload: object
) -> Journal:
    held = []
    for n, rate in enumerate(rates, start=1):
        one = recording(repetition=n, started_at=f"{on}T10:00:00.000+00:00", ended_at=f"{on}T10:09:00.000+00:00")
        held.append(
            one.model_copy(
                update={
                    "workload": one.workload | workload,
                    "result": one.result.model_copy(update={"goodput_per_s": rate}),
                }
            )
        )
    return journal(held, **({"waive": waive} if waive else {}))


def test_side_by_side_has_the_doubts_of_both_runs_beside_their_rates() -> None:
    apart, steady = (100, 60, 140, 80, 120), (200, 201, 202, 203, 204)
    found = side_by_side(ran(apart), ran(steady, "2026-03-03"))
    (row,) = found.as_json()["rows"]
    spread = next(n for n, finding in enumerate(found.findings, start=1) if finding.rule.name == "wide-spread")
    assert spread in row["a_findings"]
    assert spread not in row["b_findings"]
    assert set(row["a_findings"] + row["b_findings"]) == set(range(1, len(found.findings) + 1))
    text = compared(ran(apart), ran(steady, "2026-03-03"))
    mark = str(spread).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    assert text.count(mark) >= 2
    assert "The repetitions lie 80% of their median apart" in text
    assert "A was measured 2026-03-02 10:00 to 10:09 UTC, B 2026-03-03 10:00 to 10:09 UTC: they differ in time" in text
    assert "run A, B and A again" in text
    assert "Nothing else differs that is recorded: machine" in text


def test_a_doubt_that_one_run_sets_aside_is_not_set_aside_for_the_other() -> None:
    apart = (100, 60, 140, 80, 120)
    found = side_by_side(ran(apart, waive={"wide-spread": "known"}), ran(apart))
    of = [finding for finding in found.findings if finding.rule.name == "wide-spread"]
    assert sorted(finding.waiver for finding in of) == ["", "known"]
    (row,) = found.as_json()["rows"]
    assert row["a_findings"] != row["b_findings"]


def test_side_by_side_names_what_differs_in_the_workload() -> None:
    files = {"order.sql": "a" * 64, "schema.sql": "c" * 64}
    first = ran([100.0] * 5, files=files, path="orders")
    second = ran([100.0] * 4, files=files | {"order.sql": "b" * 64}, path="other", duration_s=60.0)
    assert side_by_side(first, second).different == [
        {"what": "workload duration_s", "a": "12.0", "b": "60.0"},
        {"what": "workload path", "a": "orders", "b": "other"},
        {"what": "commits/order.sql", "a": f"sha256 {'a' * 16}", "b": f"sha256 {'b' * 16}"},
        {"what": "repetitions that count", "a": "5", "b": "4"},
    ]
    text = compared(first, second)
    assert "differs: commits/order.sql: A sha256 aaaaaaaaaaaaaaaa, B sha256 bbbbbbbbbbbbbbbb" in text
    assert "Nothing else differs" not in text


@pytest.mark.parametrize("factor", ["durability", "place.filesystem"])
def test_side_by_side_pairs_what_is_alike_but_for_a_factor_and_names_it(factor: str) -> None:
    def run(*levels: str) -> Journal:
        return journal([
            recording({"workload": "tpcb", "engine": "sqlite", factor: level}, n) for level in levels for n in (1, 2)
        ])  # fmt: skip

    first, second = run("drive"), run("none")
    assert side_by_side(first, second).pairs == []
    assert unlike(first, second) == {factor: ("drive", "none")}
    found = side_by_side(first, second, [factor])
    assert found.different[0] == {"what": factor, "a": "drive", "b": "none"}
    (row,) = found.as_json()["rows"]
    assert (row["levels"][factor], row["b_levels"][factor]) == ("drive", "none")
    assert f"differs: {factor}: A drive, B none" in printed(found.show)
    with pytest.raises(BadInput, match="drive and os differ in nothing but what is ignored"):
        side_by_side(run("drive", "os"), second, [factor])


def test_what_storage_does_not_tell_is_marked_at_that_storage_alone() -> None:
    """Of two places, one on a drive that tells its cache and one on a drive that does not."""
    known, silent = (recording({"workload": "tpcb", "engine": "sqlite", "place.path": where}) for where in ("a", "b"))
    place = silent.place.model_copy(update={"write_cache": "unknown", "device": "/dev/nbd0"})
    found = results(journal([known, silent.model_copy(update={"place": place})]))
    text = words(shown(found, 200))
    (number_,) = [n for n, finding in enumerate(found.findings, start=1) if finding.rule.name == "write-cache-unknown"]
    mark = str(number_).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    assert f"write cache unknown, scheduler none{mark}" in text
    assert "write cache write back, scheduler none Storage: " in text
    # A simulated disk's cache is the experiment's own.
    disk = place.model_copy(update={"disk": "nvme, write cache 32 MiB"})
    assert results(journal([known.model_copy(update={"place": disk})])).place_notes == {json.dumps(disk.alike()): ()}


def test_what_storage_of_some_rows_tells_is_marked_at_those_rows_and_at_their_level() -> None:
    """Two mount options on one image: the storage line is the same, and one row is not durable."""

    def on(mount: str, rate: float) -> Recording:
        one = recording({"workload": "tpcb", "engine": "sqlite", "mount": mount}, found=result(rate=rate))
        facts = {"mount_options": f"rw,{mount}", "image": "loop, file, 1 GiB", "image_on": "ext4 (/dev/sda1, rw)"}
        return one.model_copy(update={"place": one.place.model_copy(update=facts)})

    both = [on("nobarrier", 900.0), on("relatime", 100.0)]
    found = results(journal(both))
    (n,) = [n for n, finding in enumerate(found.findings, start=1) if finding.rule.name == "no-barriers"]
    (table,) = found.tables
    assert {line.levels["mount"]: n in line.notes for line in table.lines} == {"nobarrier": True, "relatime": False}
    assert n in found.notes_of_level(table, "mount", "nobarrier")
    assert n not in found.notes_of_level(table, "mount", "relatime")
    (effect,) = verdicts.effects(found, table).rows
    best = next(column for column in verdicts.effects(found, table).columns if column.head == "best")
    assert list(best.shown(effect).marks) == [n]
    mark = str(n).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    (storage,) = [line for line in shown(found, 200).splitlines() if line.startswith("Storage: ")]
    assert mark not in storage
    # What all rows have stands at the storage alone.
    alike = results(journal([one.model_copy(update={"place": both[0].place}) for one in both]))
    (n,) = [n for n, finding in enumerate(alike.findings, start=1) if finding.rule.name == "no-barriers"]
    assert not any(n in line.notes for line in alike.tables[0].lines)
    (storage,) = [line for line in shown(alike, 200).splitlines() if line.startswith("Storage: ")]
    assert storage.endswith(str(n).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")))


def test_footnotes_that_differ_in_figures_are_one() -> None:
    """Five rows that lie apart by different amounts have one note with the least and the most, at each of them."""
    held = []
    for step, engine in enumerate(("sqlite", "firebird-3.0", "firebird-4.0", "firebird-5.0", "mine")):
        for repetition in range(1, 6):
            one = recording({"workload": "tpcb", "engine": engine, "durability": "drive"}, repetition)
            rate = 1000.0 * (1 + (repetition - 3) * (0.1 + step / 50))
            held.append(one.model_copy(update={"result": one.result.model_copy(update={"goodput_per_s": rate})}))
    found = results(journal(held))
    (note,) = [finding for finding in found.findings if finding.rule.name == "wide-spread"]
    assert note.text.startswith("The repetitions lie 40 to 72% of their median apart: something else")
    said = [one.text.partition(" of their")[0] for one in note.evidence]
    assert said == [f"The repetitions lie {percent}%" for percent in (40, 48, 56, 64, 72)]
    number_ = found.findings.index(note) + 1
    assert all(line.notes.count(number_) == 1 for line in found.tables[0].lines)
    assert shown(found, 160).count("of their median apart") == 1


@pytest.mark.parametrize(
    ("texts", "text"),
    [
        (["5 rows are missing."], "5 rows are missing."),
        (["5 rows of 1,200.", "12 rows of 900.", "7 rows of 900."], "5 to 12 rows of 900 to 1,200."),
        (["takes 0.5% of it", "takes 30% of it"], "takes 0.5 to 30% of it"),
    ],
)
def test_figures_that_differ_are_a_span(found: Results, texts: list[str], text: str) -> None:
    (first, *_) = found.findings
    alike = [replace(first, text=text) for text in texts]
    assert len({wording(one) for one in alike}) == 1
    assert together(alike).text == text
    assert together(alike).advice.startswith(text)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("firebird-3.0 refuses", "firebird-4.0 refuses"),
        ("version 3.0.14 is old", "version 3.0.15 is old"),
        ("p99 is missing", "p90 is missing"),
        ("1 row is missing", "2 rows are missing"),
        ("/dev/sda1 is slow", "/dev/sda2 is slow"),
    ],
)
def test_names_and_versions_are_no_figures(found: Results, one: str, other: str) -> None:
    (first, *_) = found.findings
    assert wording(replace(first, text=one)) != wording(replace(first, text=other))


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (None, "–"), (0.012345, "0.0123"), (9.999, "10.0"), (123.4, "123"), (1234.5, "1,230"), (5, "5.00")],
)
def test_numbers_have_three_figures(value: float | None, text: str) -> None:
    assert number(value) == text


def test_no_interval_is_a_dash() -> None:
    assert interval(None) == "–"
