"""What a study says of itself: ``benchmark.toml`` at the top of its kit.

Such a file is for acidtest, so that a wrong key of it is an error and nothing to be passed over.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from acidtest.audit.bench import Claim, ClaimKind, Declared, DeclaredMachine, DeclaredSide, Setting, Where
from acidtest.audit.importers.file import Broken, File, Importer, Part, Spent
from acidtest.errors import BadInput, Problems, nearest, not_among
from acidtest.families import PRODUCTS
from acidtest.formats import linear
from acidtest.words import harmless

NAME = "benchmark.toml"
DOCS = "acidtest help docs/AUDIT.md has its keys"
KEYS = ("title", "varies", "measures", "database_mb", "repetitions", "client", "sides", "machines", "claim")
OURS = frozenset(KEYS) - {"title"}  # by which it is known
SIDE_KEYS = ("engine", "files", "machine")
AMOUNTS = ("cores", "memory_gb", "rpm", "iops")
MACHINE_KEYS = (*AMOUNTS, "processor", "drive", "write_cache", "file_system", "system", "instance")
CLAIM_KEYS = ("sides", "is", "by", "metric", "text", "published", "results")
KINDS: tuple[ClaimKind, ...] = ("faster", "slower", "equal")
METRIC = linear.Pattern(r"rate|took|mean|max|p\d{2}(?:\.\d{1,3})?")
BYTES_MAX = 1 << 20
SHOWN_MAX = 60
NUMBER_MAX = 1e12

Path = tuple[str | int, ...]


@dataclass
class _Reading:
    """One reading of a declaration: its values, the line of each, and what is wrong so far."""

    file: str
    values: Mapping[str, Any]
    lines: Mapping[Path, int]
    problems: Problems = field(default_factory=Problems)

    def where(self, *path: str | int) -> Where:
        """Where a key stands, or what it is a part of."""
        while path and path not in self.lines:
            path = path[:-1]
        return Where(self.file, self.lines.get(path))

    def refuse(self, path: Path, message: str, remedy: str = "") -> None:
        key = ".".join(map(str, path))
        words = [harmless(self.file), _cut(key), message] if key else [harmless(self.file), message]
        self.problems.add(BadInput(": ".join(words), remedy))

    def table(self, path: Path, value: Any, allowed: Collection[str] | None = None) -> dict[str, Any]:
        """``value`` with none but the keys that are allowed; what is no table is refused, and empty."""
        if not isinstance(value, dict):
            self.refuse(path, f"found {_shown(value)}, must be a table", DOCS)
            return {}
        wrong = [key for key in value if key not in allowed] if allowed is not None else []
        for key in wrong:
            self.refuse(path, not_among("key", _cut(key), allowed or ()), DOCS)
        return {key: one for key, one in value.items() if key not in wrong}

    def text(self, path: Path, value: Any, *, needed: bool = False) -> str:
        if value is None and not needed:
            return ""
        if isinstance(value, str) and (value.strip() or not needed):
            return " ".join(value.split())
        self.refuse(path, f"found {_shown(value)}, must be a text" if value is not None else "is missing", DOCS)
        return ""

    def texts(self, path: Path, value: Any) -> tuple[str, ...]:
        if value is None:
            return ()
        if isinstance(value, list) and all(isinstance(one, str) and one.strip() for one in value):
            return tuple(one.strip() for one in value)
        self.refuse(path, f"found {_shown(value)}, must be a list of texts", f'write {path[-1]} = ["…", "…"]')
        return ()


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
        reading = _written(file) if file else None
    except (OSError, Spent):
        return None  # it is said elsewhere that it could not be read
    if reading is None:
        return None
    declared = _declared(reading)
    reading.problems.check()
    return declared


def _written(file: File) -> _Reading | None:
    """Its values, and where they stand; None of a file of another program."""
    if file.size > BYTES_MAX:
        return None
    reading = _toml(file.text, file.name)
    return reading if OURS & reading.values.keys() or not reading.values else None


HEADER = linear.Pattern(r"\s{0,99}(\[\[?)([^\[\]]{1,300})\]")
PART = linear.Pattern(r"[\w-]{1,200}|\"[^\"\n]{1,200}\"|'[^'\n]{1,200}'")
KEY = linear.Pattern(r"\s{0,99}([\w-]{1,200}|\"[^\"\n]{1,200}\"|'[^'\n]{1,200}')\s{0,99}=")


def _toml(text: str, name: str) -> _Reading:
    """Its values and the line of each table and of each key at the beginning of a line. Raises BadInput."""
    try:
        values = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{harmless(name)}: not TOML: {harmless(str(error))}", "mend that line") from None
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
    return _Reading(name, values, lines)


def _declared(reading: _Reading) -> Declared:
    values = reading.table((), reading.values, KEYS)
    machines, sides = (
        [made(reading, (key, name), one) for name, one in reading.table((key,), values.get(key, {})).items()]
        for key, made in (("machines", _machine), ("sides", _side))
    )
    names = [one.name for one in machines]
    for side in sides:
        if side.machine and side.machine not in names:
            remedy = f"add a table [machines.{side.machine}]"
            message = not_among("machine", side.machine, names) if names else f"{side.machine} is described nowhere"
            reading.refuse(("sides", side.name, "machine"), message, remedy)
    claims = values.get("claim", [])
    if not isinstance(claims, list):
        reading.refuse(("claim",), f"found {_shown(claims)}, must be [[claim]] tables", DOCS)
        claims = []
    measures = reading.text(("measures",), values.get("measures"))
    if measures not in ("", "drive", "engine"):
        reading.refuse(("measures",), not_among("word", _cut(measures), ("drive", "engine")), DOCS)
    client = reading.text(("client",), values.get("client"))
    return Declared(
        where=reading.where(),
        title=reading.text(("title",), values.get("title")),
        varies=tuple(
            Setting(word.lower().replace("-", "_").replace(" ", "_"), "", reading.where("varies"), word)
            for word in reading.texts(("varies",), values.get("varies"))
        ),
        sides=tuple(sides),
        machines=tuple(machines),
        claims=tuple(_claim(reading, ("claim", number), one) for number, one in enumerate(claims)),
        measures=Setting("measures", measures, reading.where("measures")) if measures else None,
        database_mb=_amount(reading, "database_mb", values.get("database_mb")),
        repetitions=_amount(reading, "repetitions", values.get("repetitions")),
        client=Setting("client", client, reading.where("client")) if client else None,
    )


def _is_amount(value: Any) -> bool:
    """Whether it is a number above 0 that something can have."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < NUMBER_MAX


def _amount(reading: _Reading, key: str, value: Any) -> Setting | None:
    if value is None or _is_amount(value):
        return Setting(key, f"{value:.12g}", reading.where(key)) if value else None
    reading.refuse((key,), f"found {_shown(value)}, must be a number above 0", DOCS)
    return None


def _machine(reading: _Reading, path: Path, value: Any) -> DeclaredMachine:
    facts = []
    for key, one in reading.table(path, value, MACHINE_KEYS).items():
        numeric = key in AMOUNTS
        if not (_is_amount(one) if numeric else isinstance(one, str)):
            reading.refuse((*path, key), f"found {_shown(one)}, must be a {'number' if numeric else 'text'}", DOCS)
        else:
            shown = f"{one:.12g}" if numeric else " ".join(one.split())
            facts.append(Setting(key, shown, reading.where(*path, key)))
    return DeclaredMachine(reading.where(*path), str(path[-1]), tuple(facts))


def _side(reading: _Reading, path: Path, value: Any) -> DeclaredSide:
    table = reading.table(path, value, SIDE_KEYS)
    written = reading.text((*path, "engine"), table.get("engine"))
    name, _, version = written.partition(" ")
    engine = name.lower()
    if engine not in PRODUCTS and (near := nearest(engine, PRODUCTS)):
        reading.refuse((*path, "engine"), f'"{_cut(name)}" is not known', f"did you mean {near}?")
    return DeclaredSide(
        where=reading.where(*path),
        name=str(path[-1]),
        engine=engine if engine in PRODUCTS else None,  # another is compared all the same
        version=version.strip(),
        files=_files(reading, (*path, "files"), table.get("files")),
        machine=reading.text((*path, "machine"), table.get("machine")),
    )


def _files(reading: _Reading, path: Path, value: Any) -> tuple[str, ...]:
    """Names below the kit."""
    names = reading.texts(path, value)
    for name in names:
        if name.startswith("/") or ".." in name.split("/"):
            reading.refuse(
                path, f'"{_cut(name)}" is not below the kit', "write it as it is named from the kit's folder"
            )
    return tuple(name.removeprefix("./").rstrip("/") for name in names)


def _claim(reading: _Reading, path: Path, value: Any) -> Claim:
    table = reading.table(path, value, CLAIM_KEYS)
    sides = reading.texts((*path, "sides"), table.get("sides"))
    if len(set(sides)) != 2:
        reading.refuse((*path, "sides"), "must name two sides", 'write sides = ["…", "…"]')
    kind = reading.text((*path, "is"), table.get("is"), needed=True)
    if kind and kind not in KINDS:
        reading.refuse((*path, "is"), not_among("word", _cut(kind), KINDS))
    by = table.get("by")
    if by is not None and not (_is_amount(by) and by > 1):
        reading.refuse((*path, "by"), f"found {_shown(by)}, must be a number above 1", "1.4 means 40 % more")
        by = None
    metric = reading.text((*path, "metric"), table.get("metric")) or "rate"
    if not METRIC.fullmatch(metric):
        reading.refuse((*path, "metric"), f"{_cut(metric)} is not known", "rate, took, mean, max, or p99 and the like")
    return Claim(
        where=reading.where(*path),
        sides=(sides[0], sides[-1]) if sides else ("", ""),
        kind=next((one for one in KINDS if one == kind), "equal"),
        by=by,
        metric=metric,
        text=reading.text((*path, "text"), table.get("text")),
        published=reading.text((*path, "published"), table.get("published")),
        results=_files(reading, (*path, "results"), table.get("results")),
    )


def _read(file: File) -> list[Part] | None:
    """It is read by ``read``, once; here it is only known, so that nothing else takes it for results."""
    try:
        return [] if file.name == NAME and _written(file) else None
    except BadInput as error:
        raise Broken(error.message) from None


IMPORTER = Importer("declaration", _read)
