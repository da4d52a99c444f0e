"""``acidtest audit --init``: writes a first ``benchmark.toml`` from what was understood of a kit."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from acidtest.audit.bench import Bench, Claim, Side, Statement
from acidtest.audit.declared import VARIES, is_of
from acidtest.audit.importers.declaration import NAME
from acidtest.errors import BadInput, cannot_write
from acidtest.finding import Finding
from acidtest.question.text import BARE, Draft, Line, Table, toml

MACHINE = "machine"
PUBLISHED_MAX = 20  # sentences that are taken over
RESULTS_MAX = 8  # files that are named; of more their folders


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
        (*_sides(bench), _machine(bench), *_published(bench)),
    )


def _varies_said(findings: Sequence[Finding]) -> str:
    spoken = {finding.rule.name for finding in findings}
    differ = [word for word, factor in VARIES.items() if spoken & set(factor.rules)]
    said = "What differs on purpose: such a difference is no finding, and everything else is held against it."
    if differ:
        said += f" Findings are about {', '.join(differ)}: add what you meant to vary."
    return f"{said} All words: {', '.join(VARIES)}; or the name of a setting."


def _sides(bench: Bench) -> Iterator[Table]:
    for number, side in enumerate(bench.sides):
        said = (
            "One of those that are compared. Its files are what lies in these files and folders." if not number else ""
        )
        files = _files(side, bench.sides)
        lines = [
            Line("engine", " ".join(filter(None, (side.engine or "", side.version)))),
            Line("files", files),
            Line("machine", MACHINE),
        ]
        yield Table(f"sides.{_key(side.name)}", tuple(line for line in lines if line.value), said)


def _key(name: str) -> str:
    return name if BARE.fullmatch(name) else toml(name)


def _files(side: Side, sides: Sequence[Side]) -> list[str]:
    """The files of a side; of those that lie together a folder, where nothing of another side is in it."""
    mine = _names(side)
    others = [name for other in sides if other is not side for name in _names(other)]
    folders = [str(above) for name in mine for above in reversed(PurePosixPath(name).parents) if str(above) != "."]
    whole = [one for one in dict.fromkeys(folders) if not any(is_of(name, [one]) for name in others)]
    top = [one for one in whole if not any(is_of(one, [other]) for other in whole if other != one)]
    return [*top, *(name for name in mine if not is_of(name, top))]


def _names(side: Side) -> list[str]:
    """The files that tell of a side, but for facts of the machine."""
    parts = (side.binaries, side.configurations, side.databases, side.log)
    return sorted({part.where.file for of_kind in parts for part in of_kind})


def _machine(bench: Bench) -> Table:
    """What the texts say of the machine, for the author to confirm."""

    def said(kind: str) -> Statement | None:
        return next((one for one in bench.texts if one.kind == kind), None)

    memory = next((one for one in bench.claims if one.about == "memory" and one.bytes), None)
    drive, file_system = said("drive"), said("file-system")
    lines = (
        Line("processor", "?", offered=True),
        Line("cores", 8, offered=True),
        Line("memory_gb", round(memory.bytes / 2**30) if memory and memory.bytes else 32, _from(memory), offered=True),
        Line("drive", drive.text if drive else "?", _from(drive), offered=True),
        Line("file_system", file_system.text if file_system else "?", _from(file_system), offered=True),
    )
    several = "The machine of all sides; if they had several, write a table for each. Take out the # where it is true."
    return Table(f"machines.{MACHINE}", lines, several)


def _from(one: Claim | Statement | None) -> str:
    return f"So says {one.where.file}, line {one.where.line}." if one else ""


def _published(bench: Bench) -> Iterator[Table]:
    results = sorted({one.where.file for one in bench.published})
    if len(results) > RESULTS_MAX:
        results = sorted({str(PurePosixPath(name).parent) for name in results} - {"."}) or results[:RESULTS_MAX]
    sentences = list(dict.fromkeys(one.text for one in bench.sentences))[:PUBLISHED_MAX]
    for number, text in enumerate(sentences or ["What was published"]):
        lines = [Line("text", text), Line("results", results)]
        rates: dict[str, float] = {side.name: 1000 for side in bench.sides}
        if not number:
            lines += [Line("rates", rates, "The figures of each side, if you like them checked.", offered=True)]
            lines += [Line("unit", "tps", offered=True)]
        said = "A sentence or figure that was published, and the results it rests on." if not number else ""
        yield Table("published", tuple(line for line in lines if line.value), said, repeated=True)
