"""Which cells begin with the same database."""

from __future__ import annotations

from collections import defaultdict

from acidtest import plan
from acidtest.conductor.template import template_key
from acidtest.engine import catalogue
from acidtest.experiment import parse

TEXT = """
name = "t"
engine = "sqlite"
[workload.commits]
count = 10
[factors]
durability = ["os", "drive"]
"sqlite.page_size" = [4096, 8192]
"""


def test_cells_share_a_database_unless_a_setting_shapes_its_files() -> None:
    engine = catalogue.find("sqlite")
    sharing: dict[str, set[tuple[str, object]]] = defaultdict(set)
    for cell in plan.make(parse(TEXT, "t.toml")).cells:
        sharing[template_key(cell, engine)].add((cell.durability, cell.settings["page_size"]))
    assert sorted(map(sorted, sharing.values())) == [[("drive", size), ("os", size)] for size in (4096, 8192)]
