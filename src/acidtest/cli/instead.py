"""What to run instead of a benchmark that was audited: an experiment that ``acidtest init`` writes."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import PurePath

from acidtest.audit.bench import Bench, Side
from acidtest.audit.finding import Finding
from acidtest.audit.rules.builds import named
from acidtest.engine import catalogue
from acidtest.errors import AcidtestError
from acidtest.families import SERVERS, of_word
from acidtest.question import QUESTIONS, Question, Storage, fit
from acidtest.question.answers import listed
from acidtest.report.findings import Instead

FILE = "fair.toml"
ENGINES_MAX = 6
PAGES = frozenset(("page-size-differs", "buffers-smallest", "buffers-classic", "buffers-super", "buffers-in-header"))
WHY = {
    "build": "With one promise of a commit, page caches of one size, on one drive, repeated in an order drawn by lot.",
    "page-and-cache": "With every page size and every cache on each engine, and all else alike.",
    "durability": "With the promise of a commit as a factor, so that it stands beside each rate.",
}


def instead(bench: Bench, findings: Sequence[Finding], *, whole: bool) -> Instead | None:
    """The experiment that answers what the kit asks; with ``whole`` its text too, unless none can be made here. None
    where no engine of the kit is one that acidtest can run or reach."""
    spoken = {one.rule.name for one in findings if one.severity != "note" and not one.waiver}
    by_side = {named(side, bench.sides): _word(side) for side in bench.sides if side.engine}
    words = list(dict.fromkeys(filter(None, by_side.values())))[:ENGINES_MAX]
    if not words:
        return None
    lacking = [name for name, word in by_side.items() if not word]
    name = _question(words, spoken)
    ids, urls = [word for word in words if "://" not in word], [word for word in words if "://" in word]
    if name != "build":
        ids, urls = ids[:1], []
        if not ids:
            return None
    command = ["acidtest", "init", FILE, "--question", name]
    command += ["--engine", ",".join(ids)] if ids else []
    command += [part for url in urls for part in ("--server", url)]
    text = _text(QUESTIONS[name], [*ids, *urls]) if whole else ""
    why = WHY[name]
    if lacking and name == "build":
        why += f" Without {listed(tuple(dict.fromkeys(lacking)))}, which acidtest does not run."
    return Instead(QUESTIONS[name].asks, why, shlex.join([*command, "--yes"]), text)


def _text(question: Question, words: Sequence[str]) -> str:
    from acidtest.cli.answering import chosen, with_storage
    from acidtest.cli.writing import assess

    try:
        answers = replace(with_storage(chosen(words), Storage("directory")), file=FILE, name=PurePath(FILE).stem)
        return fit(question, answers, assess).text
    except AcidtestError:
        return ""


def _question(words: Sequence[str], spoken: Collection[str]) -> str:
    if len(words) > 1:
        return "build"
    return "page-and-cache" if PAGES & set(spoken) else "durability"


def _word(side: Side) -> str:
    """The engine of a side as ``acidtest init`` takes it: an id of its version, else a server of the user's own; of an
    unknown version the newest that there are several of. "" where there is none."""
    if side.engine is None:
        return ""
    ids = [one for one in catalogue.known() if one.partition("-")[0] == side.engine]
    if of_version := [one for one in ids if f"{side.version}.".startswith(f"{one.partition('-')[2]}.")]:
        return of_version[0]
    family = of_word(side.engine)
    numbered = [one for one in ids if one == side.engine or one.partition("-")[2].replace(".", "").isdigit()]
    if family and family.name in SERVERS and (side.version or len(numbered) == 1):
        return f"{family.name}://USER@HOST:{family.server_port}/DATABASE"
    return "" if side.version else max(numbered, key=_number, default="")


def _number(word: str) -> tuple[int, ...]:
    return tuple(int(part) for part in word.partition("-")[2].split(".") if part.isdigit())
