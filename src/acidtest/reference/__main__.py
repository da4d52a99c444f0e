"""``python -m acidtest.reference``: writes docs/EXPERIMENT.md of this checkout, and the words for completion."""

from __future__ import annotations

import json
from pathlib import Path

from acidtest.audit.rules import rules
from acidtest.engine import catalogue
from acidtest.reference import page
from acidtest.reference.tables import keys, tables
from acidtest.reference.words import WRITTEN

PAGE = Path(__file__).parents[3] / "docs" / "EXPERIMENT.md"


def written() -> dict[Path, str]:
    """What each file must hold."""
    names = {
        "engines": list(catalogue.known()),
        "keys": [key.name for key in keys()],
        "tables": [table.name for table in tables() if table.path],
        "rules": sorted({rule.name for rule in rules()}),
    }
    return {PAGE: page.text(), WRITTEN: json.dumps(names, indent=1) + "\n"}


if __name__ == "__main__":
    for path, text in written().items():
        path.write_text(text, encoding="utf-8")
        print(path)
