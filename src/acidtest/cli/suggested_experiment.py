"""What to run instead of a benchmark that was audited: an experiment that ``acidtest init`` writes."""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import PurePath

from acidtest.audit.bench import Bench, Side
from acidtest.audit.declared import VARIES
from acidtest.audit.findings_output import Instead
from acidtest.audit.rules.builds import named
from acidtest.errors import AcidtestError
from acidtest.families import SERVERS, of_word
from acidtest.finding import Finding
from acidtest.reference.words import words
from acidtest.words import counted

FILE = "fair.toml"
ENGINES_MAX = 6
VERSION = re.compile(r"\d{1,3}(?:\.\d{1,3}){0,3}")
PAGES = frozenset(("page-size-differs", "buffers-smallest", "buffers-classic", "buffers-super", "buffers-in-header"))
QUESTIONS = {  # of acidtest.question, those that may answer it: what they ask here, and what makes the answer fair
    "build": (
        "Is one of these slower than another?",
        "With one promise of a commit, page caches of one size, on one drive, repeated in random order.",
    ),
    "page-and-cache": (
        "Which page size and which page cache?",
        "With every page size and every cache on one engine, and all else alike.",
    ),
    "durability": (
        "What does a durability level cost?",
        "With the promise of a commit as a factor, so that it stands beside each rate.",
    ),
    "highest-rate": (
        "Which of these configurations reaches the higher rate?",
        "With what the sides differ in written under [factors], and all else alike, in random order.",
    ),
}


def instead(bench: Bench, findings: Sequence[Finding], *, whole: bool) -> Instead | None:
    """The experiment that answers what the kit asks; with ``whole`` its text too, unless none can be made here. None
    where no engine of the kit is one that acidtest can run or reach."""
    spoken = {finding.rule.name for finding in findings if finding.severity != "note" and not finding.waiver}
    by_side = {named(side, bench.sides): _word(side) for side in _with_printed_versions(bench)}
    named_so = list(dict.fromkeys(filter(None, by_side.values())))[:ENGINES_MAX]
    if not named_so:
        return None
    lacking = [name for name, word in by_side.items() if not word]
    name = _question(named_so, spoken, bench)
    ids, urls = [word for word in named_so if "://" not in word], [word for word in named_so if "://" in word]
    if name != "build":
        ids, urls = ids[:1], []
        if not ids:
            return None
    command = ["acidtest", "init", FILE, "--question", name]
    command += ["--engine", ",".join(ids)] if ids else []
    command += [part for url in urls for part in ("--server", url)]
    text = _text(name, [*ids, *urls]) if whole else ""
    asks, why = QUESTIONS[name]
    terminals = {one.terminals for one in bench.measured if one.terminals}
    if name == "highest-rate" and len(terminals) == 1:
        why += f" The kit's own results are of {counted(terminals.pop(), 'terminal')}."
    if lacking and name == "build":
        why += f" Without {', '.join(dict.fromkeys(lacking))}, which acidtest does not run."
    return Instead(asks, why, shlex.join([*command, "--yes"]), text)


def _with_printed_versions(bench: Bench) -> list[Side]:
    """The sides with an engine, else one for each engine of the results; where no file of a side shows its version, in
    the only one that its results print."""
    printed: dict[str, set[str]] = defaultdict(set)
    for one in bench.measured:
        if one.engine and (version := VERSION.search(one.parameters.get("version", ""))):
            printed[one.engine].add(version[0])
    sides = [side for side in bench.sides if side.engine] or [Side(engine, engine) for engine in printed]
    only = {engine: min(versions) for engine, versions in printed.items() if len(versions) == 1}
    return [replace(side, version=side.version or only.get(side.engine or "", "")) for side in sides]


def _text(question: str, words: Sequence[str]) -> str:
    """The experiment; "" where none can be made on this machine."""
    from acidtest import question as questions
    from acidtest.cli.experiment_file import assess
    from acidtest.cli.init_answers import chosen, with_storage

    try:
        answers = replace(
            with_storage(chosen(words), questions.Storage("directory")), file=FILE, name=PurePath(FILE).stem
        )
        return questions.fit(questions.QUESTIONS[question], answers, assess).text
    except AcidtestError:
        return ""


def _question(words: Sequence[str], spoken: Collection[str], bench: Bench) -> str:
    if len(words) > 1:
        return "build"
    if PAGES & set(spoken):
        return "page-and-cache"
    varied = bench.declared.varies if bench.declared else None
    other = varied is not None and "durability" not in bench.factors and not {*VARIES["durability"].rules} & {*spoken}
    return "highest-rate" if other and bench.declared and bench.declared.claims else "durability"


def _word(side: Side) -> str:
    """The engine of a side as ``acidtest init`` takes it: an id of its version, else a server of the user's own; of an
    unknown version the newest that there are several of. "" where there is none."""
    if side.engine is None:
        return ""
    ids = [word for word in words("engines") if word.partition("-")[0] == side.engine]
    # Where no file tells the version, the side's folder may: "pg15", "firebird-3.0.7".
    for version in [side.version] if side.version else VERSION.findall(side.name):
        if of_version := [one for one in ids if f"{version}.".startswith(f"{one.partition('-')[2]}.")]:
            return of_version[0]
    family = of_word(side.engine)
    numbered = [one for one in ids if one == side.engine or one.partition("-")[2].replace(".", "").isdigit()]
    reached = family and family.name in SERVERS and (not side.version or _numbers(side.version) >= family.server_since)
    if family and reached and (side.version or len(numbered) == 1):
        return f"{family.name}://USER@HOST:{family.server_port}/DATABASE"
    return "" if side.version else max(numbered, key=_number, default="")


def _number(word: str) -> tuple[int, ...]:
    return _numbers(word.partition("-")[2])


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())
