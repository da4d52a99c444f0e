"""The words that a shell completes. They are written down beside this module, for a shell cannot wait until every model
and engine is imported."""

from __future__ import annotations

import json
from pathlib import Path

WRITTEN = Path(__file__).with_name("words.json")


def words(of: str) -> list[str]:
    """Names of "engines", of an experiment's "keys" and "tables", or of the audit's "rules"."""
    names: list[str] = json.loads(WRITTEN.read_text(encoding="utf-8"))[of]
    return names
