"""docs/EXPERIMENT.md: every key, as the models give it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from acidtest.reference.key import Key, Table
from acidtest.reference.tables import tables

FRAME = Path(__file__).with_name("page.md")  # all but the tables


def text() -> str:
    """The whole page."""
    lines = "\n".join(line for table in tables() for line in _table(table)).rstrip()
    return FRAME.read_text(encoding="utf-8").replace("{{tables}}", lines)


def _table(table: Table) -> Iterator[str]:
    yield f"## {table.heading}"
    as_factors = _as_factors(table.keys) if table.path[:1] != ("factors",) else ""
    yield " ".join(filter(None, (table.says, as_factors, _see(table.pages))))
    yield ""
    working = any(key.works_with for key in table.keys)
    yield _row(["key", "what it does", "type", "not given", *(["works with"] if working else []), "since"])
    yield _row(["---"] * (6 if working else 5))
    for key in table.keys:
        kind = f"{key.kind}: {key.takes}" if key.takes else key.kind
        works_with = ["; ".join(key.works_with)] if working else []
        yield _row([f"`{key.bare}`", key.says, kind, key.otherwise, *works_with, key.since])
    yield ""


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _as_factors(keys: Sequence[Key]) -> str:
    """Which of them may be factors, and by which names."""
    able = [key for key in keys if key.factor]
    if not able:
        return "None of them may be a factor."
    names = f"as in `{_factor(able[0])}`"
    if len(able) == len(keys):
        return f"{'Each' if len(keys) > 1 else 'It'} may be a factor, {names}."
    unable = [key for key in keys if not key.factor]
    if len(able) < len(unable):
        return f"{_listed(able)} may be factors, {names}."
    return f"Each may be a factor, {names}, but for {_listed(unable)}."


def _factor(key: Key) -> str:
    return f'"{key.factor}" = […]' if "." in key.factor else f"{key.factor} = […]"


def _listed(keys: Sequence[Key]) -> str:
    *others, last = (f"`{key.bare}`" for key in keys)
    return f"{', '.join(others)} and {last}" if others else last


def _see(pages: Sequence[str]) -> str:
    links = (f"[{page.removesuffix('.md').replace('.md#', ': ')}]({page})" for page in pages)
    return f"More: {', '.join(links)}." if pages else ""
