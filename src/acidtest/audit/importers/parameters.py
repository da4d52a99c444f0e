"""What texts tell of how a benchmark is run, number by number, and what scripts, configurations and results have for
it: "Warm-up: 10,000 iterations", ``WARMUP_ITERATIONS=10``. A number's key is the words that name it, whoever writes
them: "clients" of connections, threads, workers and users."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from acidtest.audit.bench import Statement
from acidtest.audit.importers.file import File, Importer
from acidtest.audit.texts import PROSE
from acidtest.formats import linear

TEXT_MAX = 1 << 20  # characters of a file that are looked through
LINE_MAX = 500
KEPT_MAX = 60  # numbers of a file
VALUES_MAX = 3  # of one key in a file; more are a series
CODE = linear.compile(
    r".*\.(?:sh|bash|zsh|ps1|bat|cmd|py|js|mjs|ts|go|rb|pl|lua|tcl|java|kt|cs|rs|php|ya?ml|json|toml|cfg|conf|ini|env|"
    r"properties)|\.env(?:\.\w+)?|makefile|justfile"
)
ASIDE = linear.compile(r".*(?:lock|package|tsconfig|composer|manifest|test|spec|example|sample).*\.\w+")
NUMBER = r"\d{1,3}(?:[,_' ]\d{3}){1,4}|\d{1,12}(?:\.\d{1,3})?[kKM]?"
SAME = {
    "client": "clients", "clients": "clients", "connection": "clients", "connections": "clients", "threads": "clients",
    "workers": "clients", "worker": "clients", "users": "clients", "vus": "clients", "concurrency": "clients",
    "terminals": "clients", "sessions": "clients", "concurrent": "clients", "parallelism": "clients",
    "warmup": "warm-up", "warmups": "warm-up", "warm": "warm-up", "iteration": "iterations", "iterations": "iterations",
    "iters": "iterations", "iter": "iterations", "runs": "runs", "repetitions": "runs", "repeats": "runs",
    "repetition": "runs", "repeat": "runs", "trials": "runs", "rounds": "runs", "duration": "duration",
    "operations": "operations", "ops": "operations", "requests": "requests", "rows": "rows", "records": "rows",
    "row": "rows", "record": "rows", "inserts": "inserts", "insert": "inserts", "queries": "queries",
    "query": "queries", "updates": "updates", "update": "updates", "deletes": "deletes", "delete": "deletes",
    "transactions": "transactions", "scale": "scale", "warehouses": "warehouses", "batch": "batch",
    "scenario": "scenario", "samples": "samples",
}  # fmt: skip
# Words of a name that say nothing of what is counted.
IDLE = frozenset(
    "num number of n no count counts total default defaults test bench the size benchmark measurement measured per up "  # noqa: SIM905
    "factor s sec secs seconds second in time run level virtual each complete full parallel simultaneous and".split()
)
CORE = frozenset(
    "clients iterations operations requests runs warm-up duration rows transactions warehouses".split()  # noqa: SIM905
)
WORDS = linear.compile(r"[A-Z]?[a-z]+|[A-Z]+(?:[^a-z]|$)")
NAME = r"[A-Za-z][A-Za-z _-]{2,40}?"
ITEM = linear.compile(
    rf"^\s{{0,8}}[-*+] {{1,3}}(?:\*\*|__)?({NAME})(?:\*\*|__)?:(?:\*\*|__)? {{0,3}}[~≈]?({NUMBER})"
    r"(?: ?([A-Za-z]{1,20}))?(?:\.?|[^\w/%.–—-](.*)|\. .*)$"
)
ROW = linear.compile(
    rf"^\s{{0,8}}\|[ *_`]{{0,60}}({NAME})(?: \((s|sec|seconds)\))?[ *_`]{{0,60}}\|"
    rf"[ *_`]{{0,60}}({NUMBER})(?: ?([A-Za-z]{{1,20}}))?[ *_`]{{0,60}}\|"
)
# The heading of a table of such numbers.
PARAMETERS = linear.compile(
    r"^\s{0,8}\|[^|]{0,60}\b(?:parameter|setting|option|variable|configuration|property)s?\b", linear.I
)
DEFAULTS = linear.compile(
    r"\b(?:defaults|default (?:parameters?|settings?|values?|options?|configuration|arguments?))\b"
    r"[^()\n]{0,60}\(([^()\n]{3,200})\)",
    linear.I,
)
DEFAULT_PART = linear.compile(rf"^(?:({NAME})[ :=]{{1,3}}({NUMBER})|({NUMBER}) ({NAME}))$")
# "`--clients` (default: 50)": a name as a program has it.
OPTION = linear.compile(
    r"`-{0,2}([A-Za-z][A-Za-z0-9_-]{2,40})(?:[ =][^`]{0,20})?`[^\n|]{0,80}?\bdefaults?(?: is| to|:|=)? {0,2}"
    rf"[`*\"]{{0,3}}({NUMBER})[`*\"]{{0,3}}(?:[^\w.]|$)"
)
WORD = r"[A-Za-z][A-Za-z0-9_-]{2,40}"
ASSIGNED = linear.compile(
    r"^[ \t]{0,40}(?:(?:export|readonly|local|const|let|var|final|static|public|private|int|long|declare -i|-|:)"
    rf"[ \t]{{1,4}}){{0,4}}[\"'$]?(?:self\.|this\.)?({WORD})[\"']?[ \t]{{0,20}}"
    r"(?::[ \t]{0,3}(?:int|number|float|usize|u64|i32)[ \t]{0,3})?(?:\?=|:=|=|:)[ \t]{0,20}[\"']?"
    rf"(?:\$\{{[A-Za-z0-9_]{{1,40}}:?[-=])?({NUMBER})[\"']?\}}?[\"']?[ \t]{{0,20}}(?:[,;#/)\r].*)?$",
    linear.M,
)
ARGUMENT = linear.compile(
    rf"[\"']--([A-Za-z][A-Za-z0-9-]{{2,40}})[\"'][^\n]{{0,200}}?\bdefault ?[=:] ?[\"']?({NUMBER})[\"']?\b"
)
SHELL_DEFAULT = linear.compile(rf"\$\{{([A-Z][A-Z0-9_]{{2,40}}):?[-=]({NUMBER})\}}")
OF_SERVERS = linear.compile(
    r"\bmax[ _-]{0,2}(?:connections|clients|users|sessions)|pool|timeout|retr(?:y|ies)|per_?s", linear.I
)
RATED = linear.compile(r"\b(?:per|a|each) (?:s|sec|second|min|minute|hour)\b|/ ?s(?:ec)?\b", linear.I)
SECONDS = {"s": 1, "sec": 1, "secs": 1, "second": 1, "seconds": 1, "min": 60, "mins": 60, "minute": 60, "minutes": 60,
           "h": 3600, "hour": 3600, "hours": 3600}  # fmt: skip


def key_of(*names: str) -> str:
    """The words that say what a number counts, in order of the alphabet; "" of a name that says nothing known."""
    words: set[str] = set()
    for name in names:
        for found in WORDS.findall(name):
            word = found.strip("_- 0123456789:").lower()
            if word and word not in IDLE:
                words.add(SAME.get(word, word))
    return " ".join(sorted(words)) if words & set(SAME.values()) else ""


def value_of(written: str) -> float:
    """The number that is written: "10,000", "10k", "2.5"."""
    factor = {"k": 1e3, "K": 1e3, "M": 1e6}.get(written[-1], 1.0)
    bare = written.rstrip("kKM").replace(",", "").replace("_", "").replace("'", "").replace(" ", "")
    return float(bare) * factor


def _told(file: File) -> Iterator[tuple[int, str, float, str]]:
    """Line, key, number and text of each number of a text."""
    tabled = False
    for number, whole in enumerate(file.lines, start=1):
        line = whole[:LINE_MAX]
        if "|" not in line:
            tabled = False
        elif PARAMETERS.match(line):
            tabled = True
        if not any(one.isdigit() for one in line):
            continue
        if match := ITEM.match(line):
            yield from _measured(number, match[1], match[2], match[3] or "", line)
            if match[4]:  # another one of the same beside it, as "(quick mode: 5,000)"
                key = _key(match[1], match[3] or "")
                for other in OTHER.findall(match[4]) if key else ():
                    yield number, key, value_of(other), line
        elif tabled and (match := ROW.match(line)):
            yield from _measured(number, match[1], match[3], match[4] or match[2] or "", line)
        for found in DEFAULTS.finditer(line):
            for part in found[1].split(","):
                if one := DEFAULT_PART.fullmatch(part.strip()):
                    key = key_of(one[1] or one[4])
                    if key:
                        yield number, f"default {key}", value_of(one[2] or one[3]), line
        for found in OPTION.finditer(line):
            if key := key_of(found[1]):
                yield number, f"default {key}", value_of(found[2]), line


OTHER = linear.compile(r"(?:^|[^\w.])(\d{1,3}(?:,\d{3}){1,4}|\d{1,9})(?:[^\w.%]|$)")


def _key(label: str, unit: str) -> str:
    low = unit.lower()
    if OF_SERVERS.search(label):
        return ""
    return key_of(label) if low in SECONDS else key_of(label, unit if low in SAME else "")


def _measured(number: int, label: str, written: str, unit: str, line: str) -> Iterator[tuple[int, str, float, str]]:
    key, low = _key(label, unit), unit.lower()
    known = set(key.split())
    # Nothing but what such a number is called by: "Insert throughput" is a result.
    if not known or not known <= set(SAME.values()) or not known & CORE or RATED.search(line):
        return
    if ("duration" in known) != (low in SECONDS) and not ("warm-up" in known or "|" in line):
        return
    yield number, key, value_of(written) * SECONDS.get(low, 1), line


def _assigned(file: File) -> Iterator[tuple[int, str, float, str]]:
    text = file.text[:TEXT_MAX]
    number, counted = 1, 0
    for match in ASSIGNED.finditer(text):
        key = key_of(match[1]) if not OF_SERVERS.search(match[1]) else ""
        known = set(key.split())
        if not known or not known <= set(SAME.values()):
            continue
        number += text.count("\n", counted, match.start())
        counted = match.start()
        line = match[0].strip()
        yield number, key, value_of(match[2]), line
    for pattern in (ARGUMENT, SHELL_DEFAULT):
        for match in pattern.finditer(text):
            if key := key_of(match[1]):
                yield text.count("\n", 0, match.start()) + 1, key, value_of(match[2]), match[0]


def _kept(found: Iterator[tuple[int, str, float, str]]) -> Mapping[str, dict[float, tuple[int, str]]]:
    """Of each key its numbers, each with the first line that has it."""
    of_key: dict[str, dict[float, tuple[int, str]]] = defaultdict(dict)
    for number, key, value, text in found:
        if len(of_key[key]) <= VALUES_MAX:
            of_key[key].setdefault(value, (number, " ".join(text.split())[:120]))
        if len(of_key) > KEPT_MAX:
            break
    return of_key


def _read(file: File) -> Sequence[Statement] | None:
    text = PROSE.fullmatch(file.base) is not None
    code = not text and CODE.fullmatch(file.base) is not None and ASIDE.fullmatch(file.base) is None
    if not (text or code) or file.size > TEXT_MAX or b"\0" in file.head:
        return None
    found: list[Statement] = []
    for key, values in _kept(_told(file) if text else _assigned(file)).items():
        varied = len(values) > VALUES_MAX
        for value, (number, said) in list(values.items())[: 1 if varied else None]:
            kind = "parameter told" if text else "parameter"
            found.append(Statement(file.at(number), kind, said, None if varied else value, key))  # type: ignore[arg-type]
    return found or None


IMPORTER = Importer("", _read, beside=True)
