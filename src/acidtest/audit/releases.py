"""When releases came out, as far as rules need it: from each project's own release notes."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib import resources


@dataclass(frozen=True)
class Release:
    series: str
    version: str
    date: date


@cache
def _of(engine: str | None) -> tuple[Release, ...]:
    """All of an engine, by series, each in order of time."""
    tables = tomllib.loads(resources.files("acidtest.audit").joinpath("releases.toml").read_text(encoding="utf-8"))
    return tuple(
        Release(series, version, date.fromisoformat(day))
        for series, lines in tables.get(engine or "", {}).items()
        for version, day in map(str.split, lines.splitlines())
    )


def find(engine: str | None, version: str) -> Release | None:
    """The release that ``version`` is, build number, "-MariaDB" and all; None for one that is not in the table."""
    known = (one for one in _of(engine) if version.startswith(one.version))
    return next((one for one in known if not version[len(one.version) :][:1].isdigit()), None)


def newest(engine: str | None, series: str, until: date | None) -> Release | None:
    """The last release of ``series`` that was out on a day."""
    known = (one for one in _of(engine) if one.series == series and (not until or one.date <= until))
    return max(known, key=lambda one: one.date, default=None)
