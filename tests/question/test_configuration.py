"""The experiment of a diagnosis: what was found beside a reference."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

import pytest

from acidtest import conductor, experiment
from acidtest.cli.diagnosing.subject import engine_of, product_of
from acidtest.cli.init_answers import chosen
from acidtest.engine import catalogue
from acidtest.engine.base import Offer
from acidtest.journal.diagnosis import Audited, Database, Inside
from acidtest.keys import Scalar
from acidtest.question import Answers, Storage
from acidtest.question.configuration import CACHE_MB, Configuration, reference
from acidtest.question.parts import ENOUGH


@pytest.mark.parametrize(
    ("engine", "settings", "level", "wanted"),
    [
        (
            "sqlite",
            {"page_size": 1024},
            "drive",
            {("found", "drive"), ("reference: 1 KiB pages, 128 MiB cache", "drive")},
        ),
        (
            "postgresql-17",
            {"fsync": False, "shared_buffers_mb": 64},
            "os",
            {("found", "os"), ("found-durable", "drive"), ("reference: 128 MiB cache", "drive")},
        ),
        ("mariadb-11.8", {}, "drive", {("found", "drive"), ("reference: 16 KiB pages, 128 MiB cache", "drive")}),
        ("firebird-5.0", {"page_size": 8192, "page_buffers": 16384}, "drive", {(None, "drive")}),
        (
            "firebird-5.0",
            {"page_size": 4096, "page_buffers": 75, "server_mode": "Classic"},
            "drive",
            {
                ("found", "drive"),
                ("found, 128 MiB cache", "drive"),
                ("reference: 4 KiB pages, 128 MiB cache", "drive"),
            },
        ),
        (
            "firebird-5.0",
            {"forced_writes": False},
            "os",
            {("found", "os"), ("found-durable", "drive"), ("reference: 8 KiB pages, 128 MiB cache", "drive")},
        ),
    ],
)
def test_it_can_be_run(
    engine: str, settings: dict[str, Scalar], level: str, wanted: set[tuple[str | None, str]]
) -> None:
    engines = chosen([engine])
    question = Configuration("found", settings, level, {"fsync", "forced_writes"})
    answers = Answers(engines, Storage("directory", ("/tmp",)), file="diagnosis.toml", name="diagnosis")
    sketches = question.sketches(answers)
    for sketch in sketches:
        text = sketch.draw(ENOUGH, 0.5).text(question.heading(answers))
        plan = conductor.plan_of(experiment.parse(text, "diagnosis.toml"))
        step = {one for one in wanted if one[0] == "found, 128 MiB cache"} if sketch is sketches[-1] else set()
        workloads = {"commits"} if sketch in sketches[-2:] else {"commits", "tpcb"}
        assert {(cell.levels.get("configuration"), cell.durability) for cell in plan.cells} == wanted - step
        assert {cell.levels["workload"] for cell in plan.cells} == workloads
        assert len(plan.cells) == ENOUGH * len(wanted - step) * len(workloads)
        assert {cell.workload.terminals for cell in plan.cells} == {1}
        if wanted == {(None, "drive")}:
            assert plan.cells[0].settings == reference(engines[0], 8192)


@pytest.mark.parametrize(
    ("version", "wanted"),
    [
        ("15.14", ("postgresql-15", True)),
        ("16.2", ("postgresql-17", False)),  # as near as 15, and newer
        ("14", ("postgresql-15", False)),
        ("19", ("postgresql-17", False)),
        ("", ("postgresql-17", None)),
    ],
)
def test_the_nearest_version_that_is_installed_is_taken(
    version: str, wanted: tuple[str, bool | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = ("postgresql-12", "postgresql-15", "postgresql-17", "mysql-16.2")
    monkeypatch.setattr(catalogue, "offers", lambda: [Offer(one, True, "", "", "", "", "") for one in ids])
    engine, exact = engine_of("postgresql", version)
    assert (engine.id, exact) == wanted


def test_the_version_of_a_server_is_the_one_that_it_has_told() -> None:
    course = Mock(
        database=Database(where="mysql://h/d", family="mysql", version="", bytes=None), asked=Mock(config=None)
    )
    inside = Inside(findings=[], looked_at="MySQL 8.0.36")
    assert product_of(course, None, inside) == ("mysql", "8.0.36")
    assert product_of(course, None, None) == ("mysql", "")


def audited(version: str = "") -> Audited:
    return Audited(
        directory="/etc",
        engine="postgresql",
        version=version,
        settings=[],
        findings=[],
        read=1,
        not_read=[],
        unchecked=[],
    )


def test_a_version_comes_from_who_knows_it_best(tmp_path: Path) -> None:
    server = Database(where="postgresql://h/d", family="postgresql", version="", bytes=None)
    course = Mock(database=server, asked=Mock(config=tmp_path))
    inside = Inside(findings=[], looked_at="PostgreSQL 17.11 (Debian 17.11-1)")
    assert product_of(course, audited(), inside) == ("postgresql", "17.11")
    assert product_of(course, audited("16.2"), inside) == ("postgresql", "17.11"), "what answers is what is in question"
    assert product_of(course, audited(), None) == ("postgresql", "")
    (tmp_path / "PG_VERSION").write_text("17\n")
    assert product_of(course, audited(), None) == ("postgresql", "17")
    (tmp_path / "PG_VERSION").write_text("nonsense")
    assert product_of(course, audited(), None) == ("postgresql", "")


@pytest.mark.parametrize("buffers", [75, 2048, 8192])
def test_the_scratch_database_is_larger_than_the_cache_that_is_asked_about(buffers: int) -> None:
    """And each configuration differs from the one beside it in the cache alone, or in all else alone."""
    settings: dict[str, Scalar] = {"page_size": 4096, "page_buffers": buffers, "server_mode": "Classic"}
    engines = chosen(["firebird-5.0"])
    question = Configuration("found", settings, "drive", ())
    answers = Answers(engines, Storage("directory", ("/tmp",)), file="diagnosis.toml", name="diagnosis")
    text = question.sketches(answers)[0].draw(ENOUGH, 0.5).text(question.heading(answers))
    scales = {
        cell.workload.scale
        for cell in conductor.plan_of(experiment.parse(text, "x.toml")).cells
        if cell.workload.kind == "tpcb"
    }
    assert min(scales) * 15_000_000 > 4096 * buffers
    found, with_cache, beside = (given for _, given in question.configurations(engines[0]).values())
    assert with_cache == {**found, "page_buffers": (CACHE_MB << 20) // 4096}
    assert beside == {key: with_cache[key] for key in ("page_size", "page_buffers")}
