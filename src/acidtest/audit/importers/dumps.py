"""What an engine said of its own settings: SHOW VARIABLES, SHOW ALL, pg_settings, PRAGMA and RDB$CONFIG, in any form in
which a shell prints them as a table, alone or amid other output."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain, islice, pairwise, takewhile

from acidtest.audit.bench import Configuration, EngineName, Setting
from acidtest.audit.importers import known
from acidtest.audit.importers.file import File, Importer

TEXT_MAX = 16 << 20
CELLS_MAX = 64
CELL_MAX = 4096
ROWS_MAX = 20_000  # of one table: no engine has as many settings
RULE = re.compile(r"\+?[-=]{2,}(?:[+|][-=]+){0,63}\+?")  # "+----+----+" of mysql, "----+----" of psql
HINTS = (
    "variable_name", "setting", "@@", "pragma", "rdb$config",
    "_buffer_pool_size\t", "_buffer_pool_size:", "_buffer_pool_size |", "shared_buffers", "synchronous_commit",
)  # fmt: skip
# From small to large, as PostgreSQL prints an amount: in the largest unit that leaves a whole number.
LADDERS = (("B", "kB", "MB", "GB", "TB"), ("ms", "s", "min", "h", "d"))
STEPS = {"kB": 1024, "MB": 1024, "GB": 1024, "TB": 1024, "s": 1000, "min": 60, "h": 60, "d": 24}
COUNTED = re.compile(r"(\d{0,9})(B|kB|MB|GB|ms|s|min)")
PRAGMA = re.compile(r"(?:.{0,20}>)? {0,9}PRAGMA (?:\w{1,30}\.)?(\w{1,40}) {0,9};? {0,9}", re.IGNORECASE)
WORD = re.compile(r"-?[\w.]{1,40}")
HEADLESS = re.compile(r"[| ]{0,9}([a-z][a-z0-9_.]{2,63}) {0,80}([\t|:])\s{0,80}(.*)")
PAIRED = re.compile(r'\s*"([^"]{0,300})",?\s*')
PAIR_LINES = 6  # from one to the next
SURE_MIN = 5  # names of one engine alone, by which a list is known
NAMES = ("variable_name", "name", "setting_name", "rdb$config_name", "guc", "parameter")
VALUES = ("value", "variable_value", "setting", "current_setting", "rdb$config_value", "current_value")
STATUS = re.compile(r"[A-Z][a-z]")  # "Innodb_rows_read": SHOW STATUS, which counts and sets nothing


def shown(number: str, unit: str) -> str:
    """A number of pg_settings with its unit, as SHOW prints it: "16384" of "8kB" is "128MB"."""
    match = COUNTED.fullmatch(unit)
    if not match or not re.fullmatch(r"\d{1,15}", number) or number == "0":
        return number
    amount, of = int(number) * int(match[1] or 1), match[2]
    ladder = next(ladder for ladder in LADDERS if of in ladder)
    for larger in ladder[ladder.index(of) + 1 :]:
        if amount % STEPS[larger]:
            break
        amount, of = amount // STEPS[larger], larger
    return f"{amount}{of}"


@dataclass
class Table:
    """A table as a shell prints it. ``names`` are the columns' in lower case; each row has its line, from 1."""

    names: tuple[str, ...]
    line: int
    rows: list[tuple[int, tuple[str, ...]]] = field(default_factory=list)


def _cells(line: str, mark: str = "|") -> tuple[str, ...]:
    bare = line.rstrip("\r\n") if mark == "\t" else line.strip()
    if mark == "|" and bare[:1] == "|" and bare[-1:] == "|" and len(bare) > 1:
        bare = bare[1:-1]
    return tuple(cell.strip()[:CELL_MAX] for cell in bare.split(mark, CELLS_MAX))


def _names(cells: Sequence[str]) -> tuple[str, ...]:
    return tuple(cell.lower().strip('"`') for cell in cells)


def _ruled(lines: Sequence[str]) -> Iterator[Table]:
    """Tables whose heading has a rule under it."""
    end = 0
    for at in range(1, len(lines)):
        rule, above = lines[at].strip(), lines[at - 1].lstrip()
        if at <= end or not RULE.fullmatch(rule) or (rule[0] == "+" and above[:1] != "|"):  # a frame's first line
            continue
        table = Table(_names(_cells(lines[at - 1])), at)
        for end in range(at + 1, len(lines)):
            line, cells = lines[end].strip(), _cells(lines[end])
            if (
                not line
                or RULE.fullmatch(line)
                or (len(cells) == 1 and line[0] == "(")
                or len(cells) != len(table.names)
            ):
                break
            # Without a name it is a value that goes on in the next line.
            if (cells[0] or not table.rows) and len(table.rows) < ROWS_MAX:
                table.rows.append((end + 1, cells))
        if table.rows and any(table.names):
            yield table


def _split(lines: Sequence[str], head: int, mark: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    if mark != ",":
        yield from ((number + 1, _cells(lines[number], mark)) for number in range(head, len(lines)))
        return
    reader = csv.reader(lines[number] + "\n" for number in range(head, len(lines)))
    with suppress(csv.Error):  # a field of more than 128 KB
        for row in reader:
            yield head + reader.line_num, tuple(cell.strip()[:CELL_MAX] for cell in row)


def _of_table(table: Table, file: File) -> Configuration | None:
    name_at, value_at, unit_at = (
        next((table.names.index(name) for name in names if name in table.names), None)
        for names in (NAMES, VALUES, ("unit",))
    )
    if name_at is None or value_at is None:
        return _of_columns(table, file)
    firebird = "rdb$config_name" in table.names
    found = [
        (line, cells[name_at], cells[value_at] if unit_at is None else shown(cells[value_at], cells[unit_at]))
        for line, cells in table.rows
        if firebird or not STATUS.match(cells[name_at])
    ]
    engine = "firebird" if firebird else _engine(name for _, name, _ in found)
    if engine is None and "variable_name" in table.names and any(known.has("mysql", name) for _, name, _ in found):
        engine = "mysql"
    return _dump(file, engine, found, table.line)


def _of_columns(table: Table, file: File) -> Configuration | None:
    """A single row whose columns are named as settings: "@@sync_binlog", or "shared_buffers" of SHOW."""
    if len(table.rows) != 1:
        return None
    line, cells = table.rows[0]
    names = [re.sub(r"^@@(?:global\.|session\.)?", "", name) for name in table.names]
    asked = any(name.startswith("@@") for name in table.names)
    engine: EngineName | None = "mysql" if asked else _engine(names)
    if engine not in ("mysql", "postgresql") or not all(asked or known.has(engine, name) for name in names):
        return None
    return _dump(file, engine, [(line, *pair) for pair in zip(names, cells, strict=True)], table.line)


def _engine(names: Iterable[str]) -> EngineName | None:
    """Whose settings these are, by those that only one engine has."""
    votes = Counter(engine for name in names if (engine := known.owner(name)))
    return max(votes, key=votes.__getitem__, default=None)


def _dump(
    file: File, engine: EngineName | None, found: Sequence[tuple[int, str, str]], line: int
) -> Configuration | None:
    named = [(known.spelled(name), name, value, at) for at, name, value in found]
    settings = tuple(
        Setting(low, value, file.at(at), name if name != low else "")
        for low, name, value, at in named
        if re.fullmatch(r"[a-z_][\w.]{1,63}", low)
    )
    if engine is None or not settings:
        return None
    held = {setting.name: setting.value for setting in settings}
    version = held.get("version" if engine == "mysql" else "server_version", "")
    return Configuration(
        file.at(line),
        known.of_family(engine, version, held.get("version_comment", ""), file.name),
        {"mysql": "SHOW VARIABLES", "postgresql": "SHOW ALL", "firebird": "RDB$CONFIG"}.get(engine, "dump"),
        settings,
        source="dump",
        version=release(version),
    )


def release(text: str) -> str:
    """The version at the beginning of what an engine says of it: "8.0.36" of "8.0.36-28-log"."""
    match = re.match(r"\d{1,3}(?:\.\d{1,3}){0,3}", text.strip().removeprefix("PostgreSQL "))
    return match[0] if match else ""


def _separated(lines: Sequence[str], file: File) -> Iterator[Configuration]:
    """mysql's batch form, psql's unaligned form and CSV. Without a header only what is surely SHOW VARIABLES."""
    after = count = 0
    for at, line in enumerate(lines):
        if count > ROWS_MAX:
            return
        low = line[:400].lower()
        if at < after or not any(name in low for name in (*NAMES, "@@")):
            continue
        for mark in ("\t", "|", ","):
            names = [cell.strip().strip('"`') for cell in low.split(mark)]
            asked = mark == "\t" and all(name.startswith("@@") for name in names)
            if asked or (any(name in names for name in NAMES) and any(name in names for name in VALUES)):
                rows = _split(lines, at, mark)
                head = _names(next(rows, (0, ()))[1])
                below = takewhile(lambda row, wide=len(head): len(row[1]) == wide, rows)  # type: ignore[misc]
                table = Table(head, at + 1, list(islice(below, ROWS_MAX)))
                after = table.rows[-1][0] if table.rows else at + 1
                count += len(table.rows)
                if table.rows and (one := _of_table(table, file)):
                    yield one
                break


def _headless(lines: Sequence[str], file: File) -> Iterator[Configuration]:
    """``mysql -N``, ``psql -At`` and what programs print: lines "name, tab, bar or colon, value", five of them with
    names of one engine alone. With colons YAML sets what it says, and is no dump."""
    run: list[tuple[int, str, str]] = []
    sets = file.base.endswith((".yml", ".yaml"))
    for number, line in enumerate([*lines, ""], start=1):
        match = HEADLESS.match(line[:CELLS])
        # "name<tab>= value" is a configuration.
        if match and not (match[2] == ":" and sets) and match[3][:1] not in ("=", ":"):
            value = match[3] if match[2] != "|" else match[3].partition("|")[0]
            run.append((number, match[1], value.strip()))
            continue
        engine = _engine(name for _, name, _ in run) if len(run) >= 5 else None
        sure = engine and sum(known.owner(name) == engine for _, name, _ in run) >= 5
        if sure and (one := _dump(file, engine, run, run[0][0])):
            yield one
        run = []


def _pairs(lines: Sequence[str], file: File) -> Iterator[Configuration]:
    """JSON that is laid out: a list of a name and a value each, in lines of their own."""
    run: list[tuple[int, str, str]] = []
    for number, (line, following) in enumerate(pairwise([*lines, "", ""]), start=1):
        name = PAIRED.fullmatch(line) if line.endswith('",') else None
        if value := PAIRED.fullmatch(following) if name and WORD.fullmatch(name[1]) else None:
            run.append((number, name[1] if name else "", value[1]))
        elif run and (not line or number - run[-1][0] > PAIR_LINES):
            if sum(known.owner(name) is not None for _, name, _ in run) >= SURE_MIN:
                yield from filter(None, [_dump(file, _engine(name for _, name, _ in run), run, run[0][0])])
            run = []


CELLS = 8192


def _pragmas(lines: Sequence[str], file: File) -> Iterator[Configuration]:
    """What SQLite's shell answered: the statement, then the value in the next line."""
    found = []
    for number, line in enumerate(lines[:-1], start=1):
        match = PRAGMA.fullmatch(line.strip()[:120])
        answer = lines[number].strip()
        if match and known.has("sqlite", match[1]) and WORD.fullmatch(answer):
            found.append(Setting(match[1].lower(), answer, file.at(number + 1)))
    if found:
        yield Configuration(found[0].where, "sqlite", "PRAGMA", tuple(found), source="dump")


def of_lines(lines: Sequence[str], file: File) -> list[Configuration]:
    """What engines say of themselves in ``lines``, whose first is the file's first."""
    found: list[Configuration] = []
    read: set[int | None] = set()
    ruled = (one for table in _ruled(lines) if (one := _of_table(table, file)))
    for part in chain(ruled, *(parse(lines, file) for parse in (_separated, _headless, _pairs, _pragmas))):
        # A table that two readings recognise is one.
        settings = tuple(setting for setting in part.settings if setting.where.line not in read)
        if settings:
            read |= {setting.where.line for setting in settings}
            found.append(replace(part, settings=settings))
    return found


def lines(parts: Iterable[object]) -> set[int | None]:
    """Those of a file that say what a setting is."""
    said = (part for part in parts if isinstance(part, Configuration) and part.source == "dump")
    return {setting.where.line for part in said for setting in part.settings} - {None}


def _read(file: File) -> Sequence[Configuration] | None:
    if file.size > TEXT_MAX or known.is_prose(file.base):
        return None
    if (b"\0" in file.head and file.head[:2] not in (b"\xff\xfe", b"\xfe\xff")) or not known.holds(file, HINTS):
        return None
    return of_lines(file.lines, file) or None


IMPORTER = Importer("settings in force", _read, beside=True)
