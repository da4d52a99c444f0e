"""Command lines and scripts that start a benchmark: what they ask for is what was run, as far as no result says it.

``TOOLS`` says of each tool how it is called and which of ``Published``'s fields its options are; any other option is a
parameter, as it is written. See the manuals of pgbench, sysbench, YCSB, fio, dd, k6 and HammerDB.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from acidtest.audit.amounts import number
from acidtest.audit.bench import EngineName, Published, Unit
from acidtest.audit.importers import shell
from acidtest.audit.importers.file import File, Importer
from acidtest.audit.importers.tables import FENCE, PROSE
from acidtest.formats import linear

BYTES_MAX = 1 << 20
LINE_MAX = 8_000
COMMANDS_MAX = 2_000  # of one file
Asked = dict[str, str]
FIELDS: dict[str, type] = {
    "terminals": int, "threads": int, "scale": float, "warehouses": int, "measured_s": float, "warmup_s": float,
    "asked_rate": float,
}  # fmt: skip
SECONDS = re.compile(r"(\d{1,9}(?:\.\d{1,3})?)\s?(ms|s|sec|m|min|h|d)?")
UNITS_S = {"ms": 0.001, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86_400.0, None: 1.0}
TIMES = frozenset(("measured_s", "warmup_s"))


def filled(one: Published, asked: dict[str, str]) -> Published:
    """The result with what was asked for where it does not say so itself; a value that is no number is a parameter."""
    known: dict[str, Any] = {}
    parameters: Asked = {}
    for name, value in asked.items():
        if name in FIELDS:
            amount = seconds(value) if name in TIMES else number(value)
            if amount is None:
                parameters[name] = value
            elif getattr(one, name) is None:
                known[name] = FIELDS[name](amount)
        elif name == "reconnects":
            known[name] = value == "yes" if one.reconnects is None else one.reconnects
        elif name in ("script", "query_mode", "isolation"):
            known[name] = getattr(one, name) or value
        else:
            parameters[name] = value
    return replace(one, **known, parameters={**parameters, **one.parameters})


def seconds(value: str) -> float | None:
    """ "90", "90s", "5m", "1h30m" in seconds; None of what is no time."""
    parts = list(SECONDS.finditer(value.strip()))
    if not parts or "".join(part[0] for part in parts) != value.strip():
        return None
    return sum(float(part[1]) * UNITS_S[part[2]] for part in parts)


# ---------------------------------------------------------------------------------------------------- each tool's own

# Who connects and where to.
SECRET = frozenset(
    (
        *("password", "pass", "user", "username", "host", "port", "u", "p", "h"),
        *(f"{engine}-{what}" for engine in ("mysql", "pgsql") for what in ("password", "user", "host", "port")),
    )
)
REPEATED = frozenset(("f", "file", "b", "builtin", "query", "D"))
Read = Callable[[Asked, list[str]], Asked]  # of what was given by name and what stands between: what was asked for


def options(words: Sequence[str], flags: str = "") -> tuple[Asked, list[str]]:
    """Options and what stands between them. ``flags`` are the letters and names (between spaces) without a value."""
    bare = set(flags.split())
    given: Asked = {}
    rest: list[str] = []
    waiting = list(reversed(words))
    while waiting:
        word = waiting.pop()
        if not _is_option(word):
            rest.append(word)
            continue
        long = word.startswith("--")
        name, equals, value = word[2:].partition("=") if long else (word[1], "", word[2:])
        if not long and name in bare:
            given[name] = ""
            waiting += [f"-{value}"] if value else []
            continue
        if not value and not equals and name not in bare and waiting and not _is_option(waiting[-1]):
            value = waiting.pop()
        given[name] = f"{given[name]}, {value}" if name in given and name in REPEATED else value
    return given, rest


def _is_option(word: str) -> bool:
    return len(word) > 1 and word[0] == "-" and not word[1].isdigit()


def _base(path: str) -> str:
    return path.rpartition("/")[2]


def _pgbench(asked: Asked, rest: list[str]) -> Asked:
    if len(rest) > 1:
        return {}  # one database at most: this is a sentence
    if {"i", "initialize"} & asked.keys():
        return {"script": "initialize", "scale": asked.get("scale", "1")}
    for names, script in ((("S", "select-only"), "select only"), (("N", "skip-some-updates"), "simple update")):
        if any(name in asked for name in names):
            asked = {name: value for name, value in asked.items() if name not in names} | {"script": script}
    connects = [asked.pop(name) for name in ("C", "connect") if name in asked]
    return asked | {"reconnects": "yes" if connects else "no"}


def _sysbench(asked: Asked, rest: list[str]) -> Asked:
    phase = next((word for word in rest if word in ("prepare", "cleanup", "warmup", "prewarm", "help")), "")
    if phase in ("cleanup", "help"):
        return {}
    script = asked.pop("test", "") or next((word for word in rest if word not in ("run", phase)), "")
    rows = [value for name, value in asked.items() if name in ("oltp-table-size", "table-size", "table_size")]
    asked |= {"rows a table": rows[0]} if rows else {}
    return asked | {"script": _base(script).removesuffix(".lua")} | ({"phase": phase} if phase else {})


def _ycsb(asked: Asked, rest: list[str]) -> Asked:
    secret = ("password", "passwd", "user", "url", "uri", "host")
    asked = {name: value for name, value in asked.items() if not any(part in name.lower() for part in secret)}
    phase = {"phase": "load"} if "load" in rest or asked.pop("load", None) is not None else {}
    return asked | {"script": _base(asked.get("script", ""))} | phase


def _long(words: Sequence[str]) -> list[str]:
    """YCSB's "-p name=value" and "-threads 8" as options with two hyphens."""
    before = ["", *words]
    longer = [f"-{word}" if re.match(r"-[a-z]{2}", word) else word for word in words if word != "-p"]
    return [f"--{word}" if "=" in word and word[0] != "-" and "-p" in before else word for word in longer]


def _fio(asked: Asked, rest: list[str]) -> Asked:
    jobs = any(word.endswith((".fio", ".job")) for word in rest)
    return asked if asked.get("rw") or asked.get("readwrite") or jobs else {}


def _k6(asked: Asked, rest: list[str]) -> Asked:
    if rest[:1] != ["run"]:
        return {}
    return asked | {"script": next((_base(word) for word in rest if word.endswith((".js", ".ts"))), "")}


def dd(words: Sequence[str]) -> Asked:
    asked = {name: value for name, equals, value in (word.partition("=") for word in words) if equals}
    return asked if asked.keys() >= {"if", "of"} and "bs" in asked else {}


BEGINS = r"(?:^|[\s;|&(\"'`/])"


def _held(tool: str) -> str:
    """The tool's program, or a variable or a template's word for it: "$PGBENCH", "ARG_PGBENCH_PATH"."""
    upper = tool.upper()
    return (
        rf"{BEGINS}{tool}(?:\.exe)?(?=\s+[\w/.$\"-])"
        rf"|(?:^|[\s;|&(\"'`])(?:\$\{{?\w{{0,20}}(?:{tool}|{upper})\w{{0,20}}\}}?|[A-Z_]{{0,20}}{upper}[A-Z_]{{0,20}})"
        r"\"?(?=\s+-)"
    )


@dataclass(frozen=True)
class Tool:
    name: str
    called: str  # a pattern
    unit: Unit
    fields: dict[str, str] = field(default_factory=dict)  # by the field or parameter, the options that give it
    flags: str = ""  # options without a value
    aside: str = ""  # options that are of no interest
    read: Read = lambda asked, rest: asked
    engine: EngineName | None = None

    def asked(self, words: Sequence[str]) -> Asked:
        if self.name == "dd":
            return dd(words)
        given, rest = options(_long(words) if self.name == "ycsb" else words, self.flags)
        names = {option: name for name, of in self.fields.items() for option in of.split()}
        aside = SECRET.union(self.aside.split())
        counts = {name: value for name, value in given.items() if name in names or not {name, name.lower()} & aside}
        return self.read({names.get(name, name): value for name, value in counts.items()}, rest)


TOOLS = (
    Tool("pgbench", _held("pgbench"), "transactions", {
        "terminals": "c client", "threads": "j jobs", "measured_s": "T time", "scale": "s scale",
        "query_mode": "M protocol", "asked_rate": "R rate", "script": "f file b builtin", "transactions": "t",
        "progress": "P", "define": "D", "fillfactor": "F",
    }, "C S N i l n v r d q connect select-only skip-some-updates initialize log no-vacuum vacuum-all report-latencies "
       "report-per-command failures-detailed quiet", "d", _pgbench, "postgresql"),
    Tool("sysbench", _held("sysbench"), "transactions", {
        "terminals": "threads num-threads", "measured_s": "time max-time", "asked_rate": "rate tx-rate",
        "warmup_s": "warmup-time", "ignored errors": "mysql-ignore-errors",
    }, read=_sysbench),
    Tool("ycsb", rf"{BEGINS}(?:ycsb(?:\.sh|\.bat)?|go-ycsb)(?=\s+(?:load|run)\s)", "operations", {
        "terminals": "threads threadcount", "asked_rate": "target", "script": "P", "scale": "recordcount",
    }, "s load t", "s t", _ycsb),
    Tool("fio", rf"{BEGINS}fio(?=\s+[-\w])", "operations", {
        "jobs": "numjobs", "measured_s": "runtime", "warmup_s": "ramp_time", "asked_rate": "rate_iops",
        "script": "name",
    }, "time_based group_reporting thread minimal append-terse", read=_fio),
    Tool("dd", rf"{BEGINS}dd(?=\s+(?:if|of|bs)=)", "writes"),
    Tool("k6", rf"{BEGINS}k6(?=\s+run\s)", "requests", {
        "terminals": "vus u", "measured_s": "duration d", "iterations": "i", "asked_rate": "rps",
    }, "q quiet no-summary insecure-skip-tls-verify", "e o", _k6),
)  # fmt: skip
_, SYSBENCH, YCSB, FIO, _, _ = TOOLS
sysbench, ycsb, fio = SYSBENCH.asked, YCSB.asked, FIO.asked
CALLED = {tool.name: re.compile(tool.called) for tool in TOOLS}

# ------------------------------------------------------------------------------------------------------------ scripts

# Their names, to find out quickly that none is there.
NAMED = linear.compile(
    r"(?:pgbench|sysbench|ycsb(?:\.sh|\.bat)?|fio|dd|k6)"
    r"(?:\.exe)?\s+[\w/.$\"-]"
    r"|(?:pgbench|sysbench|PGBENCH|SYSBENCH)[A-Za-z_]{0,20}\}?\"?\s+-"
    r"|(?:pgbench|sysbench)[\"'],\s?f?[\"']"
)
# The words of a program's list: subprocess.run(["pgbench", "-c", clients]).
LISTED = linear.compile(r"(?:pgbench|sysbench)[\"'],\s?f?[\"'][^\]]{0,1000}")
MARKS = str.maketrans({"'": " ", '"': " ", ",": " "})
ENDS = re.compile(r"\s(?:\||\|\||&&|;|>|>>|2>|2>&1|&)(?=\s|$|\S)|[;`]\s|`$|\)\s*$")
# A file of variables that a script takes in, as it stands beside it.
TAKEN_IN = linear.compile(r"\s*(?:\.|source)\s+[\"']?(?:\S{0,80}/)?([\w-][\w.-]{0,60})[\"']?\s*(?:#.*)?")
TAKEN_BYTES_MAX = 1 << 16
SHOWN = linear.compile(r"^\s*(?:[$>#]|\w[\w@.-]{0,60}[:~/\w-]{0,60}[$#])\s+")  # a shell's prompt
# What speaks of a command and does not give it.
SPOKEN = linear.compile(
    r"(?:^|[\s(])(?:echo|printf|print|log\w{0,10}|info|warn|error|puts|help=|usage|write-host|console\.log)\b"
    r"|[a-z]{2,} [a-z]{2,} [a-z]{2,} $",
    linear.IGNORECASE,
)
COMMENT = re.compile(r"\s*(?:#|//|--|rem\s|::)", re.IGNORECASE)
# HammerDB's scripts; Python's form of them since 4.6: diset('tpcc','pg_rampup','2').
DISET = linear.compile(
    r"\s*(?:hammerdb>\s*)?(diset|dbset|vuset)\s*\(?[\s\"']*(\w{1,40})[\"']?[\s,]+[\"']?(\S{1,120}?)[\"']?"
    r"(?:[\s,]+[\"']?([^\s\"')]{1,120}))?[\"')]*\s*(?:#.*|;.*)?"
)
HAMMERDB = {"count_ware": "warehouses", "rampup": "warmup_s", "duration": "measured_s", "num_vu": "loaders"}
PREFIXES = re.compile(r"(?:pg|mysql|maria|mssqls|ora|db2)_")
PRODUCTS = {"pg": "postgresql", "postgresql": "postgresql", "mysql": "mysql", "maria": "mariadb", "mariadb": "mariadb"}


def _read(file: File) -> Sequence[Published] | None:
    if file.size > BYTES_MAX or b"\0" in file.head[:4096]:
        return None
    if not NAMED.search(file.text) and "diset" not in file.text:
        return None
    found = [*_started(file), *_hammerdb(file)]
    return found[:COMMANDS_MAX] or None


def _started(file: File) -> Iterator[Published]:
    variables: dict[str, str] = {}
    prose, fenced = PROSE.fullmatch(file.base) is not None, False
    for at, line in joined(file.lines):
        if prose and FENCE.match(line):
            fenced = not fenced
        if prose and not fenced and not line.startswith(("    ", "\t")):
            continue
        head, bare = line[:300], line[:LINE_MAX]
        if match := TAKEN_IN.fullmatch(head):
            _take(file, match[1], variables)
        elif not NAMED.search(bare) or not (prose or not COMMENT.match(bare)):
            shell.assignments(head, variables)
        else:
            match = SHOWN.search(bare)
            bare = bare[match.end() :] if match else bare
            if not prose and (listed := LISTED.search(bare)):
                bare = bare[: listed.start()].rstrip("\"'") + " " + " ".join(listed[0].translate(MARKS).split())
            for tool in TOOLS:
                if (match := CALLED[tool.name].search(bare)) and not SPOKEN.search(bare[: match.start() + 1]):
                    asked = tool.asked(_words(bare[match.end() :], variables))
                    asked = {name: value for name, value in asked.items() if value}
                    if len(asked) > 1:
                        one = Published(
                            file.at(at), tool.name, asked.get("script") or tool.name, unit=tool.unit,
                            engine=tool.engine, planned=True, written=bare.strip()[:200],
                        )  # fmt: skip
                        yield filled(one, asked)


def _take(file: File, base: str, variables: Asked) -> None:
    """Adds what another script sets, which this one takes in."""
    other = file.beside(base)
    if other is not None and other.size <= TAKEN_BYTES_MAX and b"\0" not in other.head:
        for line in other.lines:
            shell.assignments(line[:300], variables)


def joined(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Lines with those that they are continued in, and where each begins."""
    begun, held = 0, ""
    for at, line in enumerate(lines, start=1):
        ends = line.rstrip()
        # PowerShell's mark; a text's own are two of a kind, or a fence.
        marked = ends.endswith(("\\", "^")) or (ends.endswith("`") and ends.count("`") % 2 and not FENCE.match(line))
        if marked and len(held) < LINE_MAX and len(ends) > 1 and not ends.lstrip().startswith("#"):
            begun = begun or at
            held += ends[:-1] + " "
            continue
        yield begun or at, held + line
        begun, held = 0, ""
    if held:
        yield begun, held


def _words(text: str, variables: Asked) -> list[str]:
    """The words of a command up to its end, with the variables that the same file sets to a plain value."""
    end = ENDS.search(text)
    text = shell.resolved(text[: end.start()] if end else text, variables, keep=True)
    try:
        return shlex.split(text, comments=True)
    except ValueError:
        return [word.strip("\"',[]") for word in text.split()]


def _hammerdb(file: File) -> Iterator[Published]:
    """One of each script: what it sets before it runs."""
    asked: Asked = {}
    first, engine = 0, ""
    for at, line in enumerate(file.lines, start=1):
        if "set" not in line or (match := DISET.fullmatch(line[:300])) is None:
            continue
        verb, group, name, value = match[1], match[2], match[3].strip("\"',"), (match[4] or "").strip("\"',")
        first = first or at
        if verb == "dbset":
            engine = name if group == "db" else engine
            asked |= {"script": name} if group == "bm" else {}
        elif verb == "vuset":
            asked |= {"terminals": name} if group == "vu" else {}
        elif group in ("tpcc", "tpch") and value and "pass" not in name and "user" not in name:
            of = HAMMERDB.get(PREFIXES.sub("", name), PREFIXES.sub("", name))
            asked[of] = f"{value}m" if of in TIMES and value.isdigit() else value
    if first and len(asked) > 1:
        asked.setdefault("scale", asked.get("warehouses", ""))
        name = asked.get("script") or file.base
        yield filled(
            Published(file.at(first), "hammerdb", name, engine=PRODUCTS.get(engine), planned=True),
            {name: value for name, value in asked.items() if value},
        )


IMPORTER = Importer("command of a benchmark", _read, beside=True)
