"""What of a kit's settings was in force: not what an example, a check of every change, a page of documentation or a
compose file that nobody starts would set, where something else in the kit says what was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from acidtest.audit.bench import Configuration, Database, Mount, Statement
from acidtest.audit.declared import is_of
from acidtest.audit.importers import known
from acidtest.audit.importers.file import File, Importer, Part
from acidtest.formats import linear

BYTES_MAX = 1 << 20
LINE_MAX = 1_000
# Files that show something, by their names or by the folders that they lie in.
EXAMPLE = linear.compile(
    r"(?:^|/)(?:examples?|samples?|demos?|docs?)/|[._-](?:example|sample|dist|tmpl|template)(?:\.\w{1,8})?$|"
    r"(?:^|/)(?:example|sample)[._-][^/]{0,80}$",
    linear.I,
)
# What a tool tests itself with, and what others wrote: of no server that is measured.
FIXTURE = linear.compile(
    r"(?:^|/)(?:__)?(?:fixtures?|testdata|test[-_]data|mocks?|vendor|third[-_]party|node_modules|site-packages)(?:__)?/|"
    r"(?:^|/)src/(?:test|main)/resources/",
    linear.I,
)
CHECKS = linear.compile(
    r"(?:^|/)(?:\.github|\.gitlab|\.circleci|\.devcontainer|\.buildkite|\.semaphore)/|(?:^|/)(?:\.gitlab-ci|\.travis|"
    r"azure-pipelines|bitbucket-pipelines|\.drone|appveyor)\.ya?ml$",
    linear.I,
)
MEASURES = linear.compile(r"bench|perf|load[-_]?test|stress", linear.I)
REFERENCE = linear.compile(
    r"(?:^|/)docs?(?:umentation)?/(?:[^/]{1,80}/){0,6}[^/]{0,60}(?:config|setting|option|reference|tuning|faq|guide|install|"
    r"deploy|troubleshoot|manual)[^/]{0,60}$",
    linear.I,
)
COMPOSE = linear.compile(r"(?:docker-)?compose[\w.-]{0,80}\.ya?ml|[\w.-]{0,80}[.-]compose\.ya?ml", linear.I)
DEFAULT = linear.compile(r"(?:docker-)?compose(?:\.override)?\.ya?ml")
ASIDE = linear.compile(
    r"(?:^|[.-])(?:dev(?:elopment)?|tests?|ci|debug|local|prod(?:uction)?|monitoring)(?:[.-]|$)", linear.I
)
STARTS = linear.compile(r"docker[ -]compose\b([^;&|\n]{0,600})")
FILES = linear.compile(r"(?:^|\s)(?:-f|--file)[ =]([^\s\"'`,]{1,200})")
UP = linear.compile(r"\s(?:up|run|start|exec|create)\b")


def _read(file: File) -> Sequence[Statement] | None:
    """The compose files that a script or a text starts, each by its name; "" where it names none."""
    if file.size > BYTES_MAX or b"\0" in file.head or "compose" not in file.text:
        return None
    said: dict[str, Statement] = {}
    for number, line in enumerate(file.lines, start=1):
        for match in STARTS.finditer(line[:LINE_MAX]):
            for name in FILES.findall(match[1]) or [""] * bool(UP.search(match[1])):
                said.setdefault(name, Statement(file.at(number), "composed", name))
    return list(said.values()) or None


def left(parts: Sequence[tuple[str, Part]]) -> list[tuple[str, Part]]:
    """The parts without what only shows settings, or would set those of servers that nobody starts."""
    parts = [part for part in parts if not (FIXTURE.search(part[0]) and _is_of_a_server(part[1]))]
    held = _with_known_files(parts)
    sets = [name for name, part in held if isinstance(part, Configuration)]
    shown = {name for name in sets if _only_shows(name)}
    shown |= _not_started(held, set(sets))
    # Where nothing else sets anything, an example is what one has.
    if not shown or all(name in shown for name in sets if not known.is_prose(name.rpartition("/")[2].lower())):
        return held
    return [one for one in held if one[0] not in shown or not _is_of_a_server(one[1])]


def _only_shows(name: str) -> bool:
    base = name.rpartition("/")[2].lower()
    if known.is_prose(base):
        return REFERENCE.search(name) is not None
    return EXAMPLE.search(name) is not None or (CHECKS.search(name) is not None and not MEASURES.search(name))


def _is_of_a_server(part: Part) -> bool:
    return isinstance(part, Configuration | Mount | Database) or (isinstance(part, Statement) and part.kind == "store")


def _not_started(parts: Sequence[tuple[str, Part]], sets: set[str]) -> set[str]:
    """Compose files that lie beside those that are started, or are called what those of other purposes are."""
    composed = {name for name in sets if COMPOSE.fullmatch(name.rpartition("/")[2])}
    if len(composed) < 2:
        return set()
    said = {part.text for _, part in parts if isinstance(part, Statement) and part.kind == "composed"}
    if any("$" in one or "{" in one for one in said):
        return set()
    started = {one.rpartition("/")[2] for one in said if one}
    bases = {name: name.rpartition("/")[2] for name in composed}
    usual = {name for name, base in bases.items() if DEFAULT.fullmatch(base)}
    run = {name for name, base in bases.items() if base in started} | (usual if "" in said else set())
    if run:
        return composed - run
    folders = {name.rpartition("/")[0] for name in usual}
    aside = {name for name, base in bases.items() if ASIDE.search(base.rpartition(".")[0])}
    return {name for name in aside if name.rpartition("/")[0] in folders}


def _with_known_files(parts: Sequence[tuple[str, Part]]) -> list[tuple[str, Part]]:
    """The parts, where a server that is given a configuration which the kit does not have is not known as a whole."""
    there = {name for name, part in parts if isinstance(part, Configuration)}
    return [
        (name, replace(part, whole=False))
        if isinstance(part, Configuration) and part.reads and not any(is_of(name, part.reads) for name in there)
        else (name, part)
        for name, part in parts
    ]


IMPORTER = Importer("text", _read, beside=True)
