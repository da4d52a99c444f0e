"""One reading of an experiment: where it stands, what is wrong with it so far, and what is therefore not looked at."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from acidtest.errors import BadInput, Problems, nearest, not_among
from acidtest.names import NameRule

SHOWN_MAX = 60  # characters of what was found


@dataclass
class Reading:
    """Collects what is wrong, so that all of it is said at once, and nothing that only follows from something else."""

    where: str  # stands for the file in errors
    problems: Problems
    # Factors of which something is amiss: what else names them is not looked at.
    broken: set[str] = field(default_factory=set)
    # Keys that were probably meant by others that are not known: that they are missing is not said.
    meant: set[str] = field(default_factory=set)
    # Of a small size: the whole size's levels, of each factor. [[exclude]] may name some that the small one lacks.
    whole: Mapping[str, Collection[str]] = field(default_factory=dict)
    # Names that cannot be, of workloads and servers: levels of these names are not looked at.
    misnamed: set[str] = field(default_factory=set)

    def bad(self, message: str, remedy: str = "") -> BadInput:
        """The error, to be raised."""
        return BadInput(f"{self.where}: {message}", remedy)

    def refuse(self, message: str, remedy: str = "") -> None:
        """Something is wrong, and the rest can still be looked at."""
        self.problems.add(self.bad(message, remedy))

    @contextmanager
    def gather(self, factor: str | None = None) -> Iterator[None]:
        """What is raised within, as BadInput, is said with the others. If anything was wrong, ``factor`` is broken."""
        before = len(self.problems)
        with self.problems.gather():
            yield
        if factor is not None and len(self.problems) > before:
            self.broken.add(factor)

    def table(self, key: str, value: Any, hint: str = "") -> dict[str, Any]:
        """A copy of ``value``. Raises BadInput unless it is a table."""
        if not isinstance(value, dict):
            raise self.bad(f"{key}: found {shown(value)}, must be a table", hint)
        return dict(value)

    def known_keys(self, at: str, table: Mapping[str, Any], allowed: Collection[str]) -> dict[str, Any]:
        """What of ``table``, which stands under ``at``, is among ``allowed``; the rest is refused."""
        explained = "" if at == "quick" else at.partition(",")[0]  # "factors.size, level 2"
        for key in table:
            if key not in allowed:
                message = not_among(f"{at}: key" if at else "key", cut(key), allowed)
                self.refuse(message, f"acidtest help {explained}".rstrip())
                if near := nearest(key, allowed):
                    self.meant.add(f"{at}.{near}" if at else near)
        return {key: value for key, value in table.items() if key in allowed}

    def check_name(self, at: str, name: str, rule: NameRule) -> bool:
        """Whether ``name``, which stands at ``at``, follows the rule; otherwise it is refused."""
        if wrong := rule.complaint(name):
            self.refuse(f"{at}: found {shown(name)}, {wrong}")
            self.misnamed.add(name)
        return not wrong


def shown(value: Any) -> str:
    """What was found, as TOML writes it, on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    return f'"{cut(value)}"' if isinstance(value, str) else str(value)


def cut(text: str) -> str:
    """``text`` for one line: printable, and of a long one the beginning."""
    whole = "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)
    return whole if len(whole) <= SHOWN_MAX else f"{whole[:SHOWN_MAX]}…"
