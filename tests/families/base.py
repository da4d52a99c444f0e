"""What the contract suites have to be told of an engine family, beside what its engines say of themselves."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from acidtest.journal.models import Scalar
from builds import Build


@dataclass(frozen=True)
class Family:
    """One family, and the engines of it that tests run.

    ``builds`` are installations at paths, by the names that tests give them, ``private`` are those that acidtest brings
    where the machine has none, ``others`` those that need no bringing. ``typical`` are those that ``make test`` runs all
    contract suites over: one of each kind. ``asked`` are settings that must reach the engine, the first of them as it was
    written, and ``asked_of_newer`` those of the engines that know the setting which is the key. ``asked_once`` are those
    of them that admit one session only, and ``shown_nowhere``, by engine, those that nothing shows.
    ``lie`` is an answer, by its name, that an engine would give which does not keep level drive, and ``contradiction``
    are settings that exclude that level. ``dialects`` are one engine for each way in which the family's SQL or procedures
    differ. ``discard`` begins a session whose changes are gone when it closes, and ``empties`` are statements that empty
    the database; both are "" or none of a family whose database is one file that is copied instead.
    ``always_conflicts`` are the engines on which four writers of one row do not pass without a conflict. ``counts`` are
    the engine's own counters of rows that were ``inserted``, ``updated`` and ``deleted``, and of pages ``fetched``; none
    of a family that is not asked for its counters.
    ``architectures`` are those of engines that are not built for this kind of machine.
    ``rises`` is the figure among those of a family that is asked once a second which rises with every commit, and
    ``untold``, by engine, are those that a version does not tell.
    """

    family: str
    lie: tuple[str, str]
    contradiction: Mapping[str, Scalar]
    asked: Mapping[str, Scalar]
    asked_of_newer: Mapping[str, Mapping[str, Scalar]]
    asked_once: tuple[str, ...] = ()
    shown_nowhere: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    builds: Mapping[str, Build] = field(default_factory=dict)
    private: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    typical: tuple[str, ...] = ()
    dialects: tuple[str, ...] = ()
    discard: str = ""
    empties: tuple[str, ...] = ()
    always_conflicts: tuple[str, ...] = ()
    version: str = ""
    counts: Mapping[str, str] = field(default_factory=dict)
    rises: str = ""
    untold: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    architectures: Mapping[str, str] = field(default_factory=dict)

    @property
    def engines(self) -> tuple[str, ...]:
        return (*self.private, *self.others, *self.builds)

    def begins_version(self, engine: str) -> str:
        """How the version begins that the engine must tell: ``version``, else that which its id ends with."""
        return self.version or re.findall(r"[\d.]+", engine)[0]
