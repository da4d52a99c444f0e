"""The shape of a load: classes of terminals, and stages in which the load keeps its height or changes evenly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from acidtest.journal.protocol import ClosedLoop, Leg, OpenLoop, Pacing, StageMessage, TerminalClassMessage
from acidtest.keys import MILLISECONDS, SECONDS, TRANSACTIONS_PER_SECOND, Model, Unset


class Stage(Model):
    """A part of the measurement. It has a rate or a number of terminals, which changes evenly where ``to`` is given."""

    seconds: Annotated[float, SECONDS] = Field(gt=0, le=604_800, description="The stage takes this long.")
    rate_per_s: Annotated[float | None, TRANSACTIONS_PER_SECOND, Unset("terminals says how many")] = Field(
        default=None, ge=0, le=10_000_000, description="This many transactions arrive: an open loop."
    )
    terminals: Annotated[int | None, Unset("rate_per_s says how many arrive")] = Field(
        default=None, ge=0, le=10_000, description="This many terminals are at work: a closed loop."
    )
    to: Annotated[float | None, Unset("as it begins")] = Field(
        default=None,
        ge=0,
        le=10_000_000,
        description="The stage ends with this rate, or this many terminals: a ramp.",
    )

    @model_validator(mode="after")
    def _of_one_unit(self) -> Self:
        if (self.rate_per_s is None) == (self.terminals is None):
            raise ValueError('give either "rate_per_s" or "terminals"')
        if self.terminals is not None and self.to is not None and (self.to != int(self.to) or self.to > 10_000):
            raise ValueError('"to" must be a whole number of terminals, at most 10,000')
        return self

    @property
    def is_open(self) -> bool:
        return self.rate_per_s is not None

    @property
    def begins(self) -> float:
        """Arrivals a second, or terminals."""
        return float(self.terminals or 0) if self.rate_per_s is None else self.rate_per_s

    @property
    def ends(self) -> float:
        return self.begins if self.to is None else self.to


class TerminalClass(Model):
    """Terminals that are alike. A workload whose classes may differ in its own parameters has a subclass with those."""

    name: str = Field(min_length=1, max_length=40, description="Tables and the page show the class by this name.")
    terminals: int = Field(default=1, ge=1, le=10_000, description="The class has this many terminals.")
    think_ms: Annotated[float | None, MILLISECONDS, Unset("the workload's")] = Field(
        default=None, ge=0, le=3_600_000, description="A terminal of the class waits this long between transactions."
    )
    rate_per_s: Annotated[float | None, TRANSACTIONS_PER_SECOND, Unset("a closed loop")] = Field(
        default=None, gt=0, le=10_000_000, description="This many transactions arrive for the class: an open loop."
    )
    arrivals: Annotated[Literal["fixed", "poisson"] | None, Unset("the workload's")] = Field(
        default=None, description="They arrive at fixed distances, or at random ones (Poisson)."
    )
    mix: Annotated[dict[str, float], Unset("the workload's own mix")] = Field(
        default={},
        description="Each kind of transaction is drawn as often as its number here says; the others are not.",
    )

    @model_validator(mode="after")
    def _of_one_loop(self) -> Self:
        if self.rate_per_s is not None and self.think_ms is not None:
            raise ValueError('"think_ms" belongs to a closed loop and "rate_per_s" to an open one: give one of them')
        if self.arrivals is not None and self.rate_per_s is None:
            raise ValueError('"arrivals" is of an open loop: add "rate_per_s"')
        if self.mix and (min(self.mix.values()) < 0 or not any(self.mix.values())):
            raise ValueError('the numbers of "mix" must be 0 or more, and not all of them 0')
        return self

    def parameters(self) -> dict[str, Any]:
        """Of the workload's parameters those that the class has otherwise."""
        own = set(type(self).model_fields) - set(TerminalClass.model_fields)
        return {name: value for name in sorted(own) if (value := getattr(self, name)) is not None}

    def message(self, arrivals: Literal["fixed", "poisson"]) -> TerminalClassMessage:
        """In the rig's words; ``arrivals`` are the workload's."""
        pacing: Pacing | None = None
        if self.rate_per_s is not None:
            pacing = OpenLoop(rate_per_s=self.rate_per_s, arrivals=self.arrivals or arrivals)
        elif self.think_ms is not None:
            pacing = ClosedLoop(think_ms=self.think_ms)
        return TerminalClassMessage(
            name=self.name, terminals=self.terminals, pacing=pacing, mix=self.mix, parameters=self.parameters()
        )


def split(many: int, sizes: Sequence[int]) -> list[int]:
    """How many of ``many`` terminals each class has at work, in proportion to its ``sizes``.

    The sum is exact, nobody has more than its size, and with more terminals no class has fewer: the method of
    Sainte-Laguë, which gives the n-th place to whom ``(places + 1/2) / size`` is smallest.
    """
    turns = [((place + 0.5) / size, at) for at, size in enumerate(sizes) for place in range(size)]
    shares = [0] * len(sizes)
    for _, at in sorted(turns)[:many]:
        shares[at] += 1
    return shares


def stage_messages(stages: Sequence[Stage], classes: Sequence[TerminalClass]) -> list[StageMessage]:
    """In the rig's words: what each class does of a stage. A rate is shared out in proportion to the classes' own."""

    def shares(height: float, is_open: bool) -> list[float]:
        if not classes:
            return [height]
        if not is_open:
            return [float(one) for one in split(int(height), [class_.terminals for class_ in classes])]
        rates = [class_.rate_per_s or 0.0 for class_ in classes]
        return [height * rate / sum(rates) for rate in rates]

    def legs(stage: Stage) -> list[Leg]:
        ends = zip(shares(stage.begins, stage.is_open), shares(stage.ends, stage.is_open), strict=True)
        return [Leg.model_validate({"from": begin, "to": end}) for begin, end in ends]

    return [StageMessage(seconds=stage.seconds, legs=legs(stage)) for stage in stages]


def implied(given: Mapping[str, Any]) -> dict[str, Any]:
    """What stages and classes say of the keys ``duration_s``, ``terminals`` and ``rate_per_s`` of their workload.

    ``given`` is not validated yet: of what is no stage and no class nothing follows.
    """
    found: dict[str, Any] = {}
    stages, classes = _tables(given.get("stages")), _tables(given.get("classes"))
    seconds = [_number(stage, "seconds") for stage in stages]
    if stages and None not in seconds:
        lengths = [second for second in seconds if second is not None]
        found["duration_s"] = float(sum(lengths))
        rates, at_work = (_heights(stages, key) for key in ("rate_per_s", "terminals"))
        if rates and not classes and found["duration_s"]:
            arriving = sum(length * (begin + end) / 2 for length, (begin, end) in zip(lengths, rates, strict=True))
            found["rate_per_s"] = arriving / found["duration_s"]
        if at_work:
            found["terminals"] = max(1, int(max(max(ends) for ends in at_work)))
    terminals = [class_.get("terminals", 1) for class_ in classes]
    if classes and all(isinstance(terminal, int) for terminal in terminals):
        found["terminals"] = sum(terminals)
    return found


def _tables(value: Any) -> list[Mapping[str, Any]]:
    if not isinstance(value, list | tuple):
        return []
    tables = [one.model_dump() if isinstance(one, Model) else one for one in value]
    return tables if all(isinstance(table, Mapping) for table in tables) else []


def _number(table: Mapping[str, Any], key: str) -> float | None:
    value = table.get(key)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _heights(stages: Sequence[Mapping[str, Any]], key: str) -> list[tuple[float, float]]:
    """How each stage begins and ends; none where one of them does not say it by ``key``."""
    found = []
    for stage in stages:
        begin = _number(stage, key)
        end = begin if stage.get("to") is None else _number(stage, "to")
        if begin is None or end is None:
            return []
        found.append((begin, end))
    return found
