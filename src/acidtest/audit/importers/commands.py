"""Command lines and scripts that start a benchmark: what they ask for is what was run, as far as no result says it.

One function for each tool reads its options, as ``getopt`` would, into the names of ``Published``'s fields; any other
option is a parameter, as it is written. See the manuals of pgbench, sysbench, mysqlslap, YCSB, go-tpc, tpcc-mysql, fio,
dd, k6 and HammerDB.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from acidtest.audit.amounts import number
from acidtest.audit.bench import EngineName, Published, Unit
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


def filled(one: Published, asked: Mapping[str, str]) -> Published:
    """The result with what was asked for where it does not say so itself; a value that is no number is a parameter."""
    known: dict[str, object] = {}
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
    return replace(one, **known, parameters={**parameters, **one.parameters})  # type: ignore[arg-type]


def seconds(value: str) -> float | None:
    """ "90", "90s", "5m", "1h30m" in seconds; None of what is no time."""
    parts = list(SECONDS.finditer(value.strip()))
    if not parts or "".join(part[0] for part in parts) != value.strip():
        return None
    return sum(float(part[1]) * UNITS_S[part[2]] for part in parts)


# ---------------------------------------------------------------------------------------------------- each tool's own


def options(words: Sequence[str], flags: str = "", valued: Sequence[str] = ()) -> tuple[Asked, list[str]]:
    """Options and what stands between them. ``flags`` are the letters and names (between spaces) without a value."""
    bare = set(flags.split())
    given: Asked = {}
    rest: list[str] = []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if len(word) < 2 or word[0] != "-" or word[1].isdigit():
            rest.append(word)
            continue
        long = word.startswith("--") or word.lstrip("-") in valued
        name, equals, value = word.lstrip("-").partition("=") if long else (word[1], "", word[2:])
        if not long and word[1] in bare:
            given[word[1]] = ""
            if word[2:]:
                words = [*words[: at - 1], f"-{word[2:]}", *words[at:]]
                at -= 1
            continue
        if not value and not equals and name not in bare and at < len(words) and not _is_option(words[at]):
            value = words[at]
            at += 1
        given[name] = f"{given[name]}, {value}" if name in given and name in REPEATED else value
    return given, rest


REPEATED = frozenset(("f", "file", "b", "builtin", "query", "D"))


def _is_option(word: str) -> bool:
    return len(word) > 1 and word[0] == "-" and not word[1].isdigit()


def _named(given: Asked, names: Mapping[str, str]) -> Asked:
    """By the fields' names; the others under their own. Passwords are nobody's business."""
    asked: Asked = {}
    for name, value in given.items():
        if name.lower() not in SECRET:
            asked[names.get(name, name)] = value
    return asked


SECRET = frozenset(
    (
        *("password", "pass", "user", "username", "host", "port", "u", "p", "U", "h", "P"),
        *(f"{engine}-{what}" for engine in ("mysql", "pgsql") for what in ("password", "user", "host", "port")),
    )
)
PGBENCH = {
    "c": "terminals", "client": "terminals", "j": "threads", "jobs": "threads", "T": "measured_s", "time": "measured_s",
    "s": "scale", "scale": "scale", "M": "query_mode", "protocol": "query_mode", "R": "asked_rate",
    "rate": "asked_rate",
    "f": "script", "file": "script", "b": "script", "builtin": "script", "t": "transactions", "P": "progress",
    "D": "define", "F": "fillfactor",
}  # fmt: skip


def pgbench(words: Sequence[str]) -> Asked:
    given, rest = options(
        words,
        "C S N i l n v r d q connect select-only skip-some-updates initialize log no-vacuum vacuum-all "
        "report-latencies report-per-command failures-detailed quiet",
    )
    if len(rest) > 1:
        return {}  # one database at most: this is a sentence
    asked = _named({name: value for name, value in given.items() if name not in "U h p d"}, PGBENCH)
    asked["reconnects"] = "yes" if "C" in given or "connect" in given else "no"
    for names, script in ((("S", "select-only"), "select only"), (("N", "skip-some-updates"), "simple update")):
        if any(name in given for name in names):
            asked["script"] = script
            for name in names:
                asked.pop(name, None)
    if "i" in given or "initialize" in given:
        asked = {"script": "initialize", "scale": asked.get("scale", "1")}
    return {name: value for name, value in asked.items() if name not in ("C", "connect", "i")}


SYSBENCH = {
    "threads": "terminals", "num-threads": "terminals", "time": "measured_s", "max-time": "measured_s",
    "rate": "asked_rate",
    "tx-rate": "asked_rate", "warmup-time": "warmup_s", "mysql-ignore-errors": "ignored errors",
}  # fmt: skip


def sysbench(words: Sequence[str]) -> Asked:
    given, rest = options(words)
    script = given.pop("test", "") or next(
        (word for word in rest if word not in ("run", "prepare", "cleanup", "warmup")), ""
    )
    phase = next((word for word in rest if word in ("prepare", "cleanup", "warmup", "prewarm", "help")), "")
    if phase in ("cleanup", "help"):
        return {}
    asked = _named(given, SYSBENCH) | {"script": script.rpartition("/")[2].removesuffix(".lua")}
    if "oltp-table-size" in asked or "table-size" in asked or "table_size" in asked:
        asked["rows a table"] = asked.get("oltp-table-size") or asked.get("table-size") or asked.get("table_size", "")
    return asked | ({"phase": phase} if phase else {})


YCSB = {
    "threads": "terminals",
    "threadcount": "terminals",
    "target": "asked_rate",
    "P": "script",
    "recordcount": "scale",
}


def ycsb(words: Sequence[str]) -> Asked:
    given: Asked = {}
    at = 0
    while at < len(words):
        word = words[at]
        value = words[at + 1] if at + 1 < len(words) else ""
        if word == "-p" and "=" in value:
            name, _, of = value.partition("=")
            given[YCSB.get(name, name)] = of.strip("\"'")
            at += 1
        elif word in ("-P", "-threads", "-target", "-db"):
            given[YCSB.get(word[1:], word[1:])] = value
            at += 1
        elif word in ("load", "-load"):
            given["phase"] = "load"
        at += 1
    given["script"] = given.get("script", "").rpartition("/")[2]
    secret = ("password", "passwd", "user", "url", "uri", "host")
    return {name: value for name, value in given.items() if value and not any(part in name.lower() for part in secret)}


MYSQLSLAP = {
    "c": "terminals",
    "concurrency": "terminals",
    "i": "iterations",
    "q": "query",
    "e": "engine",
    "F": "delimiter",
    "a": "auto-generate-sql",
}


def mysqlslap(words: Sequence[str]) -> Asked:
    given, _ = options(words, "a auto-generate-sql no-drop debug-info verbose v T")
    asked = _named(
        {name: value for name, value in given.items() if name not in ("u", "p", "h", "P", "S", "socket")}, MYSQLSLAP
    )
    return asked | {"script": asked.get("query", "") or ("auto-generate-sql" if "auto-generate-sql" in asked else "")}


GO_TPC = {
    "T": "terminals",
    "threads": "terminals",
    "warehouses": "warehouses",
    "time": "measured_s",
    "isolation": "isolation",
    "ignore-error": "ignored errors",
}


def go_tpc(words: Sequence[str]) -> Asked:
    given, rest = options(words, "wait dropdata ignore-error silence")
    script = next((word for word in rest if word in ("tpcc", "tpch", "ch", "rawsql", "ycsb")), "")
    phase = next((word for word in rest if word in ("prepare", "cleanup", "check")), "")
    asked = _named({name: value for name, value in given.items() if name not in ("H", "P", "U", "p", "D")}, GO_TPC)
    asked["scale"] = asked.get("warehouses", "10" if script == "tpcc" else "")
    return asked | {"script": script} | ({"phase": phase} if phase else {})


TPCC_MYSQL = {"w": "warehouses", "c": "terminals", "r": "warmup_s", "l": "measured_s", "i": "interval"}


def tpcc_mysql(words: Sequence[str]) -> Asked:
    given, _ = options(words)
    asked = {TPCC_MYSQL[name]: value for name, value in given.items() if name in TPCC_MYSQL}
    return asked | {"script": "tpcc", "scale": asked.get("warehouses", "")}


FIO = {"numjobs": "jobs", "runtime": "measured_s", "ramp_time": "warmup_s", "rate_iops": "asked_rate", "name": "script"}


def fio(words: Sequence[str]) -> Asked:
    given, rest = options(words, "time_based group_reporting thread minimal append-terse", valued=())
    asked = _named(given, FIO)
    return (
        asked
        if asked.get("rw") or asked.get("readwrite") or any(word.endswith((".fio", ".job")) for word in rest)
        else {}
    )


def dd(words: Sequence[str]) -> Asked:
    asked = {name: value for name, equals, value in (word.partition("=") for word in words) if equals}
    return asked if asked.keys() >= {"if", "of"} and "bs" in asked else {}


K6 = {
    "vus": "terminals",
    "u": "terminals",
    "duration": "measured_s",
    "d": "measured_s",
    "i": "iterations",
    "rps": "asked_rate",
}


def k6(words: Sequence[str]) -> Asked:
    given, rest = options(words, "q quiet no-summary insecure-skip-tls-verify")
    if not rest or rest[0] != "run":
        return {}
    scripts = [word for word in rest[1:] if word.endswith((".js", ".ts"))]
    return _named({name: value for name, value in given.items() if name not in "e o"}, K6) | {
        "script": scripts[0].rpartition("/")[2] if scripts else ""
    }


Tool = tuple[str, re.Pattern[str], Callable[[Sequence[str]], Asked], Unit, EngineName | None]
BEGINS = r"(?:^|[\s;|&(\"'`/])"
# A variable or a template's word that stands for the program: "$PGBENCH", "${pgbench_bin}", "ARG_PGBENCH_PATH".


def _held(tool: str) -> str:
    return (
        rf"|(?:^|[\s;|&(\"'`])(?:\$\{{?\w{{0,20}}(?:{tool}|{tool.upper()})\w{{0,20}}\}}?|"
        rf"[A-Z_]{{0,20}}{tool.upper()}[A-Z_]{{0,20}})\"?(?=\s+-)"
    )


TOOLS: tuple[Tool, ...] = (
    ("pgbench", re.compile(rf"{BEGINS}pgbench(?:\.exe)?(?=\s+-){_held('pgbench')}"), pgbench, "transactions",
     "postgresql"),
    ("sysbench", re.compile(rf"{BEGINS}sysbench(?:\.exe)?(?=\s+[\w/.$\"-]){_held('sysbench')}"), sysbench,
     "transactions", None),
    ("ycsb", re.compile(rf"{BEGINS}(?:ycsb(?:\.sh|\.bat)?|go-ycsb)(?=\s+(?:load|run)\s)"), ycsb, "operations", None),
    ("mysqlslap", re.compile(rf"{BEGINS}(?:mysqlslap|mariadb-slap)(?=\s+-)"), mysqlslap, "queries", None),
    ("go-tpc", re.compile(rf"{BEGINS}(?:go-tpc|tiup bench)(?=\s+(?:tpcc|tpch|ch|-))"), go_tpc, "transactions", None),
    ("tpcc-mysql", re.compile(rf"{BEGINS}tpcc_start(?=\s+-)"), tpcc_mysql, "transactions", None),
    ("fio", re.compile(rf"{BEGINS}fio(?=\s+[-\w])"), fio, "operations", None),
    ("dd", re.compile(rf"{BEGINS}dd(?=\s+(?:if|of|bs)=)"), dd, "writes", None),
    ("k6", re.compile(rf"{BEGINS}k6(?=\s+run\s)"), k6, "requests", None),
)  # fmt: skip
ANY = re.compile("|".join(f"(?:{pattern.pattern})" for _, pattern, *_ in TOOLS))
# Its names, to find out quickly that none is there.
NAMED = linear.compile(
    r"(?:pgbench|sysbench|ycsb(?:\.sh|\.bat)?|mysqlslap|mariadb-slap|go-tpc|tiup bench|tpcc_start|fio|dd|k6)"
    r"(?:\.exe)?\s+[\w/.$\"-]"
    r"|(?:pgbench|sysbench|PGBENCH|SYSBENCH)[A-Za-z_]{0,20}\}?\"?\s+-"
    r"|(?:pgbench|sysbench)[\"'],\s?f?[\"']"
)
# The words of a program's list: subprocess.run(["pgbench", "-c", clients]).
LISTED = linear.compile(r"(?:pgbench|sysbench)[\"'],\s?f?[\"'][^\]]{0,1000}")
MARKS = str.maketrans({"'": " ", '"': " ", ",": " "})
ENDS = re.compile(r"\s(?:\||\|\||&&|;|>|>>|2>|2>&1|&)(?=\s|$|\S)|[;`]\s|`$|\)\s*$")
ASSIGNED = linear.compile(
    r"\s*(?:\[{1,2}\s[^\]]{1,80}\]{1,2}\s+&&\s+)?(?:export\s+|readonly\s+|local\s+|set\s+|declare\s+-?\w*\s*)?"
    r"([A-Za-z_]\w{0,60})\s{0,3}=\s{0,3}[\"']?([\w./-]{0,60})[\"']?\s*;?\s*(?:#.*)?"
)
DEFAULTED = linear.compile(
    r"\s*(?:export\s+|readonly\s+|local\s+)?(?:([A-Za-z_]\w{0,60})=\"?\$\{\w{1,60}:[-=]([\w./-]{1,60})\}\"?"
    r"|:\s+\"?\$\{([A-Za-z_]\w{0,60}):=([\w./-]{1,60})\}\"?)\s*;?\s*(?:#.*)?"
)
# A file of variables that a script takes in, as it stands beside it.
TAKEN_IN = linear.compile(r"\s*(?:\.|source)\s+[\"']?(?:\S{0,80}/)?([\w-][\w.-]{0,60})[\"']?\s*(?:#.*)?")
TAKEN_BYTES_MAX = 1 << 16
TAKEN_MAX = 4
VARIABLE = re.compile(r"\$\{([A-Za-z_]\w{0,60})(?::-([\w./-]{0,60}))?\}|\$([A-Za-z_]\w{0,60})|%([A-Za-z_]\w{0,60})%")
PROMPTS = "$>#"
SHOWN = linear.compile(r"\s*(?:[$>]|\w[\w@.-]{0,60}[:~/\w-]{0,60}[$#])\s+")  # a shell's prompt
# What speaks of a command and does not give it.
SPOKEN = linear.compile(
    r"(?:^|[\s(])(?:echo|printf|print|log\w{0,10}|info|warn|error|puts|help=|usage|write-host|console\.log)\b"
    r"|[a-z]{2,} [a-z]{2,} [a-z]{2,} $",
    linear.IGNORECASE,
)
INLINE_WORDS_MIN = 3  # of a command in the midst of a sentence
COMMENT = re.compile(r"\s*(?:#|//|--|rem\s|::)", re.IGNORECASE)
# HammerDB's scripts; Python's form of them since 4.6: diset('tpcc','pg_rampup','2').
DISET = linear.compile(
    r"\s*(?:hammerdb>\s*)?(diset|dbset|vuset)\s*\(?[\s\"']*(\w{1,40})[\"']?[\s,]+[\"']?(\S{1,120}?)[\"']?(?:[\s,]+[\"']?([^\s\"')]{1,120}))?[\"')]*\s*(?:#.*|;.*)?"
)
HAMMERDB = {
    "count_ware": "warehouses",
    "rampup": "warmup_s",
    "duration": "measured_s",
    "num_vu": "loaders",
    "driver": "driver",
}
PREFIXES = re.compile(r"(?:pg|mysql|maria|mssqls|ora|db2)_")
PRODUCTS: dict[str, EngineName] = {
    "pg": "postgresql",
    "postgresql": "postgresql",
    "mysql": "mysql",
    "maria": "mariadb",
    "mariadb": "mariadb",
}


def _read(file: File) -> Sequence[Published] | None:
    if file.size > BYTES_MAX or b"\0" in file.head[:4096]:
        return None
    if not NAMED.search(file.text) and "diset" not in file.text:
        return None
    found = [*_started(file), *_hammerdb(file)]
    return found[:COMMANDS_MAX] or None


def _started(file: File) -> Iterator[Published]:
    variables: dict[str, str] = {}
    taken = 0
    prose, fenced = PROSE.fullmatch(file.base) is not None, False
    for at, line in _joined(file.lines):
        if prose and FENCE.match(line):
            fenced = not fenced
            continue
        inline = prose and not fenced and not line.startswith(("    ", "\t"))
        head = line[:300]
        if "=" in head and (match := ASSIGNED.fullmatch(head)):
            variables.setdefault(match[1], match[2])
            continue
        if match := DEFAULTED.fullmatch(head):
            variables.setdefault(match[1] or match[3], match[2] or match[4])
            continue
        if taken < TAKEN_MAX and (match := TAKEN_IN.fullmatch(head)):
            taken += 1
            for name, value in _taken(file, match[1]).items():
                variables.setdefault(name, value)
            continue
        bare = line[:LINE_MAX]
        if any(mark in bare for mark in PROMPTS) and (match := SHOWN.search(bare)):
            bare = bare[: match.start()] + bare[match.end() :]
        if prose and bare.startswith("# "):
            bare = bare[2:]  # root's prompt, and no comment
        if (COMMENT.match(bare) and not prose) or not NAMED.search(bare):
            continue
        if not prose and (listed := LISTED.search(bare)):
            bare = bare[: listed.start()].rstrip("\"'") + " " + " ".join(listed[0].translate(MARKS).split())
        if not ANY.search(bare):
            continue
        for tool, pattern, read, unit, engine in TOOLS:
            if (match := pattern.search(bare)) and not SPOKEN.search(bare[: match.start() + 1]):
                if inline and match[0][0] != "`":
                    continue
                rest = bare[match.end() :].partition("`")[0] if inline else _until_end(bare[match.end() :])
                if inline and len(rest.split()) < INLINE_WORDS_MIN:
                    continue
                asked = {name: value for name, value in read(_words(_filled_in(rest, variables))).items() if value}
                if len(asked) > 1:
                    one = Published(
                        file.at(at),
                        tool,
                        asked.get("script") or tool,
                        unit=unit,
                        engine=engine,
                        planned=True,
                        written=bare.strip()[:200],
                    )
                    yield filled(one, asked)


def _taken(file: File, base: str) -> dict[str, str]:
    """The plain values that another script sets, which this one takes in."""
    other = file.beside(base)
    if other is None or other.size > TAKEN_BYTES_MAX or b"\0" in other.head:
        return {}
    found: dict[str, str] = {}
    for line in other.lines:
        if match := ASSIGNED.fullmatch(line[:300]):
            found.setdefault(match[1], match[2])
    return found


def _joined(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Lines with those that they are continued in, and where each begins."""
    begun, held = 0, ""
    for at, line in enumerate(lines, start=1):
        ends = line.rstrip()
        # PowerShell's mark; a text's own are two of a kind, or a fence.
        marked = ends.endswith(("\\", "^")) or (ends.endswith("`") and ends.count("`") % 2 and not FENCE.match(line))
        if marked and len(held) < LINE_MAX and len(ends) > 1:
            begun = begun or at
            held += ends[:-1] + " "
            continue
        yield begun or at, held + line
        begun, held = 0, ""
    if held:
        yield begun, held


def _until_end(text: str) -> str:
    end = ENDS.search(text)
    return text[: end.start()] if end else text


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text, comments=True)
    except ValueError:
        return [word.strip("\"',[]") for word in text.split()]


def _filled_in(text: str, variables: Mapping[str, str]) -> str:
    """With the variables that the same file sets to a plain value."""

    def value(match: re.Match[str]) -> str:
        name = match[1] or match[3] or match[4]
        return variables.get(name) or match[2] or match[0]

    return VARIABLE.sub(value, text)


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
