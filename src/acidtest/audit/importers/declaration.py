"""What a study says of itself: ``benchmark.toml`` at the top of its kit.

Such a file is for acidtest, so that a wrong key of it is an error and nothing to be passed over.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from acidtest.audit.bench import Claim, ClaimKind, Declared, DeclaredMachine, DeclaredSide, Setting, Where
from acidtest.audit.importers import known
from acidtest.audit.importers.file import Broken, File, Importer, Part, Spent
from acidtest.errors import BadInput, Problems, nearest, not_among
from acidtest.families import PRODUCTS
from acidtest.formats import linear
from acidtest.words import counted, harmless

NAME = "benchmark.toml"
DOCS = "acidtest help docs/AUDIT.md has its keys"
KEYS = ("title", "varies", "measures", "database_mb", "repetitions", "client", "sides", "machines", "claim")
OURS = frozenset(KEYS) - {"title"}  # by which it is known
SIDE_KEYS = ("engine", "files", "machine")
AMOUNTS = ("cores", "memory_gb", "rpm")
MACHINE_KEYS = (*AMOUNTS, "processor", "drive", "write_cache", "file_system", "system", "instance")
CLAIM_KEYS = ("sides", "is", "by", "metric", "text", "published", "results")
KINDS: tuple[ClaimKind, ...] = ("faster", "slower", "equal")
ALL_KEYS = frozenset((*KEYS, *SIDE_KEYS, *MACHINE_KEYS, *CLAIM_KEYS))
METRIC = linear.Pattern(r"rate|took|mean|max|p\d{2}(?:\.\d{1,3})?")
BYTES_MAX = 1 << 20
SHOWN_MAX = 60
NUMBER_MAX = 1e12

Path = tuple[str | int, ...]


@dataclass
class _Table:
    """A table of a declaration and where it stands."""

    file: str
    values: Mapping[str, Any]
    lines: Mapping[Path, int]  # of each key of the whole file
    problems: Problems  # what is wrong so far
    path: Path = ()

    def where(self, *path: str | int) -> Where:
        """Where a key stands, or what it is a part of."""
        path = (*self.path, *path)
        while path and path not in self.lines:
            path = path[:-1]
        return Where(self.file, self.lines.get(path))

    def refuse(self, key: str, message: str, remedy: str = DOCS) -> None:
        path = ".".join(map(str, (*self.path, key) if key else self.path))
        words = [harmless(self.file), *([_cut(path)] if path else []), message]
        self.problems.add(BadInput(": ".join(words), remedy))

    def table(self, key: str | int, value: Any, allowed: Collection[str] | None = None) -> _Table:
        """``value`` with none but the keys that are allowed; what is no table is refused, and empty."""
        path = (*self.path, key) if key != "" else ()
        found = replace(self, path=path, values=value if isinstance(value, dict) else {})
        if not isinstance(value, dict):
            found.refuse("", f"found {_shown(value)}, must be a table")
        wrong = [value for value in found.values if value not in allowed] if allowed is not None else []
        for one in wrong:
            found.refuse("", not_among("key", _cut(one), allowed or ()))
        return replace(found, values={name: value for name, value in found.values.items() if name not in wrong})

    def text(self, key: str, *, needed: bool = False) -> str:
        value = self.values.get(key)
        if isinstance(value, str) and (value.strip() or not needed):
            return " ".join(value.split())
        if value is not None or needed:
            self.refuse(key, f"found {_shown(value)}, must be a text" if value is not None else "is missing")
        return ""

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.values.get(key, [])
        if isinstance(value, list) and all(isinstance(one, str) and one.strip() for one in value):
            return tuple(one.strip() for one in value)
        self.refuse(key, f"found {_shown(value)}, must be a list of texts", f'write {key} = ["…", "…"]')
        return ()

    def files(self, key: str) -> tuple[str, ...]:
        """Names below the kit."""
        names = self.texts(key)
        for name in names:
            if name.startswith("/") or ".." in name.split("/"):
                remedy = "write it as it is named from the kit's folder"
                self.refuse(key, f'"{_cut(name)}" is not below the kit', remedy)
        return tuple(name.removeprefix("./").rstrip("/") for name in names)

    def one_of(self, key: str, words: Sequence[str], *, needed: bool = False) -> str:
        word = self.text(key, needed=needed)
        if word and word not in words:
            self.refuse(key, not_among("word", _cut(word), words))
        return word

    def setting(self, key: str, *, amount: bool) -> Setting | None:
        """An amount or a text; None where there is none."""
        value = self.values.get(key)
        if value is None or (_is_amount(value) if amount else isinstance(value, str)):
            shown = " ".join(str(f"{value:.12g}" if amount and value else value or "").split())
            return Setting(key, shown, self.where(key)) if shown else None
        self.refuse(key, f"found {_shown(value)}, must be a {'number above 0' if amount else 'text'}")
        return None


def _cut(text: str) -> str:
    whole = harmless(text)
    return whole if len(whole) <= SHOWN_MAX else f"{whole[:SHOWN_MAX]}…"


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list):
        return "a table" if isinstance(value, dict) else "a list"
    return f'"{_cut(value)}"' if isinstance(value, str) else _cut(str(value))


def read(file: File | None) -> Declared | None:
    """What the study says in its ``benchmark.toml``; None where there is none. Raises BadInput with all that is wrong
    in it."""
    try:
        table = _written(file) if file else None
    except (OSError, Spent):
        return None  # it is said elsewhere that it could not be read
    if table is None:
        return None
    declared = _declared(table)
    table.problems.check()
    return declared


def _written(file: File) -> _Table | None:
    """Its values, and where they stand; None of a file of another program."""
    if file.size > BYTES_MAX:
        return None
    table = _toml(file.text, file.name)
    return table if OURS & table.values.keys() or not table.values else None


HEADER = linear.Pattern(r"\s{0,99}(\[\[?)([^\[\]]{1,300})\]")
PART = linear.Pattern(r"[\w-]{1,200}|\"[^\"\n]{1,200}\"|'[^'\n]{1,200}'")
KEY = linear.Pattern(r"\s{0,99}([\w-]{1,200}|\"[^\"\n]{1,200}\"|'[^'\n]{1,200}')\s{0,99}=")


def _toml(text: str, name: str) -> _Table:
    """Its values and the line of each table and of each key at the beginning of a line. Raises BadInput."""
    try:
        values = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{harmless(name)}: not TOML: {harmless(str(error))}", "correct that line") from None
    lines: dict[Path, int] = {(): 1}
    at: Path = ()
    counts: Counter[Path] = Counter()
    for number, line in enumerate(text.split("\n"), start=1):
        if header := HEADER.match(line):
            at = tuple(part.strip("\"'") for part in PART.findall(header[2]))
            if header[1] == "[[":
                counts[at] += 1
                at = (*at, counts[at] - 1)
            lines.setdefault(at, number)
        elif key := KEY.match(line):
            lines.setdefault((*at, key[1].strip("\"'")), number)
    return _Table(name, values, lines, Problems())


def _declared(whole: _Table) -> Declared:
    table = whole.table("", whole.values, KEYS)
    of_machines, of_sides = (table.table(key, table.values.get(key, {})) for key in ("machines", "sides"))
    machines = [_machine(of_machines.table(name, value, MACHINE_KEYS)) for name, value in of_machines.values.items()]
    sides = [_side(of_sides.table(name, value, SIDE_KEYS)) for name, value in of_sides.values.items()]
    names = [machine.name for machine in machines]
    for side in sides:
        if side.machine and side.machine not in names:
            remedy = f"add a table [machines.{side.machine}]"
            message = not_among("machine", side.machine, names) if names else f"{side.machine} is described nowhere"
            table.refuse(f"sides.{side.name}.machine", message, remedy)
    claims = table.values.get("claim", [])
    if not isinstance(claims, list):
        table.refuse("claim", f"found {_shown(claims)}, must be [[claim]] tables")
        claims = []
    of_claims = replace(table, path=("claim",))
    measures = table.one_of("measures", ("drive", "engine"))
    return Declared(
        where=table.where(),
        title=table.text("title"),
        varies=tuple(
            Setting(word.lower().replace("-", "_").replace(" ", "_"), "", table.where("varies"), word)
            for word in table.texts("varies")
        )
        if "varies" in table.values
        else None,
        sides=tuple(sides),
        machines=tuple(machines),
        claims=tuple(_claim(of_claims.table(number, claim, CLAIM_KEYS)) for number, claim in enumerate(claims)),
        measures=Setting("measures", measures, table.where("measures")) if measures else None,
        database_mb=table.setting("database_mb", amount=True),
        repetitions=table.setting("repetitions", amount=True),
        client=table.setting("client", amount=False),
    )


def _is_amount(value: Any) -> bool:
    """Whether it is a number above 0 that something can have."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < NUMBER_MAX


def _machine(table: _Table) -> DeclaredMachine:
    facts = (table.setting(key, amount=key in AMOUNTS) for key in table.values)
    return DeclaredMachine(table.where(), str(table.path[-1]), tuple(fact for fact in facts if fact))


def _side(table: _Table) -> DeclaredSide:
    name, _, version = table.text("engine").partition(" ")
    engine = name.lower()
    if engine not in PRODUCTS and (near := nearest(engine, PRODUCTS)):
        table.refuse("engine", f'"{_cut(name)}" is not known', f"did you mean {near}?")
    return DeclaredSide(
        where=table.where(),
        name=str(table.path[-1]),
        engine=engine if engine in PRODUCTS else None,  # another is compared all the same
        version=version.strip(),
        files=table.files("files"),
        machine=table.text("machine"),
    )


def _claim(table: _Table) -> Claim:
    sides = table.texts("sides")
    if len(set(sides)) != 2:
        table.refuse("sides", "must name two sides", 'write sides = ["…", "…"]')
    kind = table.one_of("is", KINDS, needed=True)
    by = table.values.get("by")
    if by is not None and not (_is_amount(by) and by > 1):
        table.refuse("by", f"found {_shown(by)}, must be a number above 1", "1.4 means 40 % more")
        by = None
    metric = table.text("metric") or "rate"
    if not METRIC.fullmatch(metric):
        table.refuse("metric", f"{_cut(metric)} is not known", "rate, took, mean, max, or p99 and the like")
    return Claim(
        where=table.where(),
        sides=(sides[0], sides[-1]) if sides else ("", ""),
        kind=next((one for one in KINDS if one == kind), "equal"),
        by=by,
        metric=metric,
        text=table.text("text"),
        published=table.text("published"),
        results=table.files("results"),
    )


PLACE = linear.Pattern(r"([^\s:]{1,200}\.\w{1,10})(?::(\d{1,9}))?")


def check_published(declared: Declared, files: Mapping[str, File]) -> None:
    """Raises BadInput for a file or a line of the kit that a claim names and that is not there."""
    problems = Problems()
    for claim in declared.claims:
        place = PLACE.fullmatch(claim.published)
        if not place or not (place[2] or known.is_prose(place[1])):
            continue  # a talk, an address
        at, file = f"{declared.where.file}: published: ", files.get(place[1])
        if file is None:
            problems.add(BadInput(f"{at}{_cut(place[1])} is not in the kit", "name a file and a line of it"))
        elif place[2] and not 0 < int(place[2]) <= len(file.lines):
            text = counted(len(file.lines), "line")
            problems.add(BadInput(f"{at}{_cut(claim.published)} is not there", f"the file has {text}"))
    problems.check()


# Keys of a fleet's file: what its machines are of, and the others.
MACHINES = frozenset(("address", "ssh", "slurm", "kubernetes", "local"))
OF_FLEETS = ("workers", "spread", "server", "listen", "patience_s", "tls", "ssh_options", "hosts")


def of_acidtest(file: File) -> str:
    """What a TOML file of acidtest is, and that it holds nothing to audit; "" of any other file."""
    if not file.base.endswith(".toml") or file.size > BYTES_MAX:
        return ""
    try:
        keys = tomllib.loads(file.text).keys()
    except (ValueError, RecursionError):
        return ""
    if "name" in keys and {"workload", "program"} & keys and {"repetitions", "factors", "engine", "place"} & keys:
        return "is an experiment of acidtest, which is run and not audited"
    if file.base == "workload.toml" and "description" in keys:
        return "is a workload of acidtest, which is run and not audited"
    if keys & MACHINES and keys <= {*MACHINES, *OF_FLEETS}:
        return "is a fleet of acidtest, which is not audited"
    if OURS & keys and keys <= set(KEYS):
        return f"declares a study, and only {NAME} at the top of a kit is read"
    return ""


def _read(file: File) -> list[Part] | None:
    """It is read by ``read``, once; here it is only known, so that nothing else takes it for results."""
    try:
        return [] if file.name == NAME and _written(file) else None
    except BadInput as error:
        raise Broken(error.message) from None


IMPORTER = Importer("declaration", _read)
