"""One key of an experiment, or one table of keys, as its reference tells it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from acidtest.engine.base import shown
from acidtest.journal.models import Scalar


def plain(value: Scalar) -> str:
    """As TOML writes it, without a point that says nothing."""
    return f"{value:g}" if isinstance(value, float) else shown(value)


@dataclass(frozen=True)
class Allowed:
    """Values that a key takes: exactly these, or a range. Without either: anything of its type."""

    values: tuple[Scalar, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    above: float | None = None  # the range begins beyond this
    engines: tuple[str, ...] = ()  # of these only; empty: of all that have the key

    def __str__(self) -> str:
        return self.words + (f" ({', '.join(self.engines)})" if self.engines else "")

    @property
    def words(self) -> str:
        """Without the engines."""
        if self.values:
            return ", ".join(map(plain, self.values))
        if self.above is not None:
            return f"above {self.above:,g}" + (f", at most {self.maximum:,}" if self.maximum is not None else "")
        if self.minimum is not None and self.maximum is not None:
            return f"{self.minimum:,} to {self.maximum:,}"
        return f"at least {self.minimum:,}" if self.minimum is not None else ""

    def as_json(self) -> dict[str, Any]:
        ranged = {"minimum": self.minimum, "maximum": self.maximum, "above": self.above}
        return {"values": list(self.values) or None, **ranged, "engines": list(self.engines) or None}


@dataclass(frozen=True)
class Key:
    """One key. Of what it works with, nothing named means that all do."""

    path: tuple[str, ...]  # ("place", "memory_mb"); a part in capitals is any name of the user's
    name: str  # as other text calls it: "place.memory_mb", "firebird.page_size"
    says: str  # one plain sentence
    type: str  # "whole number", "text", "true or false", "list of texts", "table" and so on
    default: Scalar  # None: see ``unset``
    since: str  # the version of acidtest that brought it
    unit: str = ""
    unset: str = ""  # what holds where it is not given, where the default does not show it
    form: str = ""  # how it is written
    allowed: tuple[Allowed, ...] = ()
    engines: tuple[str, ...] = ()
    by_url: bool | None = None  # whether a server by URL may be held to it; None where there is no such question
    workloads: tuple[str, ...] = ()
    places: tuple[str, ...] = ()  # kinds of them
    needs: tuple[str, ...] = ()  # other keys and commands without which it is without effect
    factor: str = ""  # its name in [factors], "" where it cannot be one

    @property
    def bare(self) -> str:
        """The key as it stands in its table."""
        return self.path[-1]

    @property
    def kind(self) -> str:
        """The type with its unit."""
        return f"{self.type}, {self.unit}" if self.unit else self.type

    @property
    def takes(self) -> str:
        """The values that it takes, or how they are written; "" for anything of its type."""
        ranges = "; ".join(filter(None, map(str, self.allowed)))
        return ", ".join(filter(None, (ranges, self.form)))

    @property
    def otherwise(self) -> str:
        """What holds where it is not given."""
        default = "" if self.default is None else plain(self.default)
        return "; ".join(filter(None, (default, self.unset))) or "none"

    @property
    def works_with(self) -> Sequence[str]:
        """One phrase for each kind of thing that it depends on; its workload is in its name."""
        named = (("engine", self.engines), ("place", self.places))
        phrases = [f"{what}{'s' if len(names) > 1 else ''} {', '.join(names)}" for what, names in named if names]
        if self.by_url is False:
            phrases.append("no server by URL")
        return [*phrases, *self.needs]

    def as_json(self) -> dict[str, Any]:
        """As ``acidtest help --json`` prints it."""
        return {
            "name": self.name,
            "table": ".".join(self.path[:-1]),
            "key": self.bare,
            "says": self.says,
            "type": self.type,
            "unit": self.unit or None,
            "default": self.default,
            "unset": self.unset or None,
            "allowed": [one.as_json() for one in self.allowed],
            "form": self.form or None,
            "engines": list(self.engines) or None,
            "servers_by_url": self.by_url,
            "workloads": list(self.workloads) or None,
            "places": list(self.places) or None,
            "needs": list(self.needs),
            "factor": self.factor or None,
            "since": self.since,
        }


@dataclass(frozen=True)
class Table:
    """One table of an experiment's file."""

    path: tuple[str, ...]  # ("settings", "firebird"); () is the top of the file
    says: str
    keys: tuple[Key, ...]
    pages: tuple[str, ...] = ()  # of docs/, which say more

    @property
    def name(self) -> str:
        """ "" for the top of the file."""
        return ".".join(self.path)

    @property
    def heading(self) -> str:
        """As a file writes it."""
        if self.path[:1] == ("factors",):
            return "A level in [factors]"
        return f"[{self.name}]" if self.path else "Top of the file"

    def as_json(self) -> dict[str, Any]:
        """As ``acidtest help --json`` prints it, with the names of its keys only."""
        return {"name": self.name, "says": self.says, "keys": [key.name for key in self.keys]}
