"""The experiments that the documents show are accepted: what a block leaves out is filled in with the least that runs."""

from __future__ import annotations

import re
import sqlite3
import tomllib
from contextlib import closing
from pathlib import Path

import pytest

import workloads
from acidtest import experiment, plan
from acidtest.conductor import plan_of, verify
from acidtest.errors import Problems
from acidtest.workload.declared import declared

DOCS = Path(__file__).parents[2] / "docs"
README = DOCS.parent / "README.md"
BLOCKS = [
    (page.name, block)
    for page in sorted(DOCS.glob("*.md"))
    # What a study declares of itself: tests/audit/test_declared.py; files of fleets: tests/fleet/test_fleet_document.py.
    if page.name not in ("AUDIT.md", "FLEET.md")
    for block in re.findall(r"```toml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    if not block.startswith("{")  # one level, to be put into a list
]


@pytest.mark.parametrize(("page", "block"), BLOCKS, ids=[page for page, _ in BLOCKS])
def test_an_experiment_in_the_documents_is_accepted(page: str, block: str, tmp_path: Path) -> None:
    written = tomllib.loads(block)
    if "load" in written:  # what a folder says of itself
        problems = Problems()
        assert declared(block, page, problems).load
        problems.check()
        return
    least = {"name": '"documented"', "engine": '"firebird-5.0"', "durability": '"drive"'}
    if "program" in written:  # it stands where an engine does, and its items are the workload
        least = {"name": '"documented"'}
    lines = [f"{key} = {value}" for key, value in least.items() if key not in {**written, **written.get("factors", {})}]
    workload = "" if {"workload", "program"} & written.keys() else "\n[workload.commits]\ncount = 5\n"
    if page == "OLTP-EMUL.md":
        block = block.replace('"oltp-emul"', f'"{workloads.KIT}"', 1)  # the kit is the reader's
    if "database_file" in block:  # so are a script and the database that it runs over
        block = block.replace('"move.sql"', f'"{tmp_path}/move.sql"').replace(
            '"accounts.db"', f'"{tmp_path}/accounts.db"'
        )
        (tmp_path / "move.sql").write_text("select 1;")
        with closing(sqlite3.connect(tmp_path / "accounts.db")) as made:
            made.execute("create table account (id integer)")
    asked = experiment.parse("\n".join([*lines, block]) + workload, page, base=DOCS)
    if not asked.engines:  # builds at paths must be there to be planned
        verify(plan_of(asked), Path(page))


def test_the_experiment_in_the_readme_is_read_and_planned() -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert len(plan.make(experiment.parse(block, "README.md")).combinations()) == 12
