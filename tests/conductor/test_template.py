"""Which cells begin with the same database, and that of a user's own file a copy is measured."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from pathlib import Path
from unittest.mock import Mock

import pytest

from acidtest import plan
from acidtest.conductor.template import _copy_own, template_key
from acidtest.engine import catalogue
from acidtest.errors import CellFailed
from acidtest.experiment import parse
from acidtest.workload.base import OfTheUser

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


def test_a_file_that_has_changed_since_it_was_read_is_not_measured(tmp_path: Path) -> None:
    (tmp_path / "own").write_bytes(b"as it was")
    own = OfTheUser(tmp_path / "own", hashlib.sha256(b"as it was").hexdigest())
    instance = Mock(database_files=Mock(return_value=[tmp_path / "copy"]))
    _copy_own(own, instance)
    assert (tmp_path / "copy").read_bytes() == b"as it was"
    (tmp_path / "copy").unlink()
    (tmp_path / "own").write_bytes(b"as it is")
    with pytest.raises(CellFailed, match="has changed since the experiment was read"):
        _copy_own(own, instance)
