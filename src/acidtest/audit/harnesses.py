"""The scripts of a kit that measure, each with those that it calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from acidtest.audit.bench import Harness, Step

DEPTH_MAX = 4
STEPS_MAX = 2_000


def whole(harnesses: Sequence[Harness]) -> list[list[Step]]:
    """The steps of each script that no other one calls, with those of the scripts that it calls in their places."""
    by_name: dict[str, list[Harness]] = {}
    for one in harnesses:
        by_name.setdefault(one.where.file.rpartition("/")[2], []).append(one)
    known = {name: of[0] for name, of in by_name.items() if len(of) == 1}
    called = {name for one in harnesses for step in one.steps if (name := _callee(step, known, one.where.file))}
    tops = [one for one in harnesses if one.where.file.rpartition("/")[2] not in called]
    return [list(_steps(one, known)) for one in tops or harnesses]


def _steps(
    harness: Harness, known: Mapping[str, Harness], loops: tuple[int, ...] = (), depth: int = 0
) -> Iterator[Step]:
    for step in harness.steps[:STEPS_MAX]:
        within = (*loops, *step.loops)
        name = _callee(step, known, harness.where.file)
        if name and depth < DEPTH_MAX:
            # A mark that keeps its loops apart from those of its caller, which may be of the same lines.
            yield from _steps(known[name], known, (*within, -(step.where.line or 0)), depth + 1)
        else:
            yield replace(step, loops=within)


def _callee(step: Step, known: Mapping[str, Harness], file: str) -> str:
    """The script of the kit that a step runs; "" of any other step."""
    if step.tool or step.kind not in ("call", "run"):
        return ""
    names = (word.strip("\"'").rpartition("/")[2] for word in step.text.split())
    return next((name for name in names if name in known and known[name].where.file != file), "")
