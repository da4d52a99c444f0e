"""``acidtest audit --init``: writes a first ``benchmark.toml`` from what was understood of a kit."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice, permutations
from pathlib import Path, PurePosixPath

from acidtest.audit import claims
from acidtest.audit.bench import Bench, Claim, Declared, DeclaredSide, Side, Where
from acidtest.audit.declared import VARIES, is_of
from acidtest.audit.importers.declaration import NAME
from acidtest.errors import BadInput, cannot_write
from acidtest.finding import Finding
from acidtest.question.text import BARE, Draft, Line, Table, toml

MACHINE = "machine"
CLAIMS_MAX, PAIRS_MAX = 20, 400  # pairs of sides that are drafted, and that are looked at


def write(root: Path, bench: Bench, findings: Sequence[Finding]) -> Path:
    """The file that was written. Raises BadInput where there is one, or none can be written."""
    file = root / NAME
    text = draft(bench, findings).text(_heading(root))
    try:
        with file.open("x", encoding="utf-8") as written:
            written.write(text)
    except FileExistsError:
        raise BadInput(f"{file}: is there already", "change it, or remove it first") from None
    except OSError as error:
        raise cannot_write(file, error, "copy the kit to where you may write") from None
    return file


def _heading(root: Path) -> tuple[str, ...]:
    return (
        "What this benchmark says of itself, for acidtest audit. Written by acidtest audit --init from what was "
        "understood; every line may be changed, and acidtest help docs/AUDIT.md has all keys.",
        "",
        f"   {shlex.join(['acidtest', 'audit', str(root)])}",
    )


def draft(bench: Bench, findings: Sequence[Finding]) -> Draft:
    """The declaration as text."""
    engines = {side.engine for side in bench.sides}
    versions = {side.version for side in bench.sides if side.version}
    varies = ["engine"] if len(engines) > 1 else ["version"] if len(versions) > 1 else []
    return Draft(
        (
            Line("title", "What is compared with what", "A sentence of yours."),
            Line("varies", varies, _varies_said(findings)),
        ),
        (*_sides(bench), _machine(), *_claims(bench)),
    )


def _varies_said(findings: Sequence[Finding]) -> str:
    rule_names = {finding.rule.name for finding in findings}
    differ = [word for word, factor in VARIES.items() if rule_names & set(factor.rules)]
    sentence = "What differs on purpose: such a difference is no finding, and everything else is held against it."
    if differ:
        sentence += f" Findings are about {', '.join(differ)}: add what you meant to vary."
    return f"{sentence} All words: {', '.join(VARIES)}; or the name of a setting."


def _sides(bench: Bench) -> Iterator[Table]:
    for number, side in enumerate(bench.sides):
        text = (
            "One of those that are compared. Its files are what lies in these files and folders." if not number else ""
        )
        files = _files(side, bench)
        lines = [
            Line("engine", " ".join(filter(None, (side.engine or "", side.version)))),
            Line("files", files),
            Line("machine", MACHINE),
        ]
        yield Table(f"sides.{_key(side.name)}", tuple(line for line in lines if line.value), text)


def _key(name: str) -> str:
    return name if BARE.fullmatch(name) else toml(name)


def _files(side: Side, bench: Bench) -> list[str]:
    """The files of a side, with the results in folders of its name; of those that lie together a folder, where nothing
    of another side is in it."""
    mine = _names(side, bench)
    others = [name for other in bench.sides if other is not side for name in _names(other, bench)]
    folders = [str(above) for name in mine for above in reversed(PurePosixPath(name).parents) if str(above) != "."]
    whole = [folder for folder in dict.fromkeys(folders) if not any(is_of(name, [folder]) for name in others)]
    top = [folder for folder in whole if not any(is_of(folder, [other]) for other in whole if other != folder)]
    return [*top, *(name for name in mine if not is_of(name, top))]


def _names(side: Side, bench: Bench) -> list[str]:
    """The files that tell of a side, but for facts of the machine."""
    parts = (side.binaries, side.configurations, side.databases, side.log)
    results = {
        other.where.file for other in bench.others if not other.planned and f"/{side.name}/" in f"/{other.where.file}"
    }
    return sorted({part.where.file for of_kind in parts for part in of_kind} | results)


def _machine() -> Table:
    """For the author to fill in: no text is read for it."""
    lines = (
        Line("processor", "?", offered=True),
        Line("cores", 8, offered=True),
        Line("memory_gb", 32, offered=True),
        Line("drive", "?", offered=True),
        Line("file_system", "?", offered=True),
    )
    several = "The machine of all sides; if they had several, write a table for each. Take out the # where it is true."
    return Table(f"machines.{MACHINE}", lines, several)


def _claims(bench: Bench) -> Iterator[Table]:
    """A claim for each pair of sides that differ, or of rows where only those tell sides apart, with the ratio of their
    results."""
    sides = tuple(
        DeclaredSide(Where(NAME), side.name, side.engine, "", tuple(_files(side, bench))) for side in bench.sides
    )
    known = replace(bench, declared=bench.declared or Declared(Where(NAME), sides=sides))
    text = "What was published of two sides. These are the ratios of the results: keep what you claim, without its #."
    found = _differing(known, [side.name for side in bench.sides])
    found = found or _differing(known, list(dict.fromkeys(other.name for other in bench.others if other.told)))
    for number, answer in enumerate(found):
        by = round(answer.ratio.median or 1, 2) if answer.ratio else 1
        shown = [Line("sides", list(answer.claim.sides), f"By the results: {answer.why}.", offered=True)]
        shown += [Line("is", "faster", offered=True), Line("by", by, offered=True)]
        shown += [Line("published", "README.md:1", offered=True)]
        yield Table("claim", tuple(shown), text if not number else "", repeated=True, offered=True)


def _differing(bench: Bench, names: Sequence[str]) -> list[claims.Answer]:
    """Of each pair the claim that the first is faster, as far as the results do not speak against it."""
    pairs = islice(permutations(names, 2), PAIRS_MAX)
    answers = [claims.answer(bench, Claim(Where(NAME), pair, "faster")) for pair in pairs]
    return [
        answer
        for answer in answers
        if answer.ratio
        and round(answer.ratio.median or 1, 2) > 1
        and (answer.verdict == "follows" or answer.ratio.interval is None)
    ][:CLAIMS_MAX]
