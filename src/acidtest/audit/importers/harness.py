"""What a benchmark's own scripts and programs ask for, where they call none of the known tools: ``CLIENTS=8``,
``RUNS=${RUNS:-5}``, ``const warmupSeconds = 10``, ``--duration`` with a default of 30. One plan for each file."""

from __future__ import annotations

import re
from collections.abc import Sequence

from acidtest.audit.amounts import number
from acidtest.audit.bench import Published
from acidtest.audit.importers import commands, known
from acidtest.audit.importers.file import File, Importer
from acidtest.formats import linear

BYTES_MAX = 1 << 20
LINE_MAX = 400
LINES_MAX = 20_000
ASSIGNED_MIN = 2  # parameters of a run that a file must set, to be one that asks for one
PARAMETERS_MAX = 40
FILES = linear.compile(
    r".*\.(?:sh|bash|zsh|py|js|mjs|cjs|ts|go|java|kt|scala|rs|rb|php|pl|lua|cs|c|cc|cpp|h|hpp|ps1|bat|cmd|ya?ml|toml|"
    r"ini|cfg|conf|env|properties|mk|txt|tcl|r|jl|swift|ipynb)(?:\.(?:example|sample|dist|template))?"
    r"|\.env.*|makefile.*|justfile|config|params?|run[-_.\w]{0,20}|bench[-_.\w]{0,20}"
)
BENCH = linear.compile(
    r"bench|load[-_ ]?test|stress|perf(?:ormance|[-_]test)|pgbench|sysbench|workload|throughput|latency", linear.I
)
# "export RUNS=${RUNS:-5}", "const runs: number = 5;", "private static final int RUNS = 5;", "runs: 5", "RUNS ?= 5".
ASSIGNED = linear.compile(
    r"\s*(?:[-@]\s)?(?:(?:export|readonly|local|set|declare|let|const|var|val|static|final|public|private|protected|"
    r"constexpr|unsigned|int|long|short|size_t|double|float|auto|def|#define|my|our|number|u?int(?:8|16|32|64)(?:_t)?|"
    r"usize|[iu](?:32|64))\s+){0,6}[\"']?\$?([A-Za-z_][\w.-]{2,50})[\"']?(?:\s*:\s*\w{2,12})?\s*(?::=|\?=|=|:|\s)\s*"
    r"[\"']?(?:\$\{\w{1,50}:-|os\.(?:getenv|environ\.get)\([\"']\w{1,50}[\"'],\s*[\"']?|"
    r"(?:process\.env\.\w{1,50}|parseInt\(.{1,80}?)\s*\|\|\s*[\"']?|int\(os\.\w{3,8}(?:\.get)?\([\"']\w{1,50}[\"'],\s*[\"']?)?"
    r"(\d[\d_',]{0,14}(?:\.\d{1,3})?)\s?(ms|s|sec|m|min|h)?[\"'})]{0,4}\s*"
    r"(\* ?time\.(?:Second|Minute|Millisecond))?[;,)]{0,3}\s*(?:(?:#|//|--|/\*).*)?"
)
BEGINS = tuple("_\"'$-@#")
HAS_DIGIT = re.compile(r"[0-9]")
OPTION = linear.compile(r"[\"']--?([A-Za-z][\w-]{2,40})[\"']")
DEFAULT = linear.compile(r"\bdefault\s?[=:]\s?(\d[\d_]{0,12}(?:\.\d{1,3})?)")
OPTION_LINES = 8  # between an option's name and its default
WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
CLIENTS = re.compile(
    r"clients?|threads?|concurren(?:cy|ts?)|workers?|connections|vus?|(?:go)?routines?|terminals|users|parallel(?:ism)?|jobs"
)
LASTS = re.compile(r"duration|runtimes?|seconds|testtime")
TIMES = re.compile(r"time|secs?")
OF_RUN = re.compile(r"run|test|bench|benchmark|max|pgbench|measure")
WARMS = re.compile(r"warm(?:up)?|ramp(?:up)?|prewarm")
OTHERS = re.compile(
    r"runs|repeats?|repetitions?|rounds|trials|iterations|reps|rows|records?|operations?|ops|requests|docs|documents|"
    r"inserts|batch|tables|transactions|messages|samples|keys|size|queries|tablesize|recordcount|operationcount|vusers"
)
SCALES = re.compile(r"scale|warehouses?|scalefactor")
# Of something else than of a run.
ASIDE = re.compile(
    r"port|timeout|retry|retries|interval|version|delay|sleep|wait|ttl|replicas|buffer|cache|memory|page|width|height|font|"
    r"fig|color|dpi|limits|health|healthcheck|poll|checkpoint|login|idle|keepalive|columns?|string|length|bytes|file|"
    r"queue|chunk|pool|backup|log|http|field|average|elapsed|end"
)
LIMITS = re.compile(r"max|min")
LONGEST_S = 30 * 86_400.0
IN_MILLISECONDS = linear.compile(r".*\.(?:js|mjs|cjs|ts|java|kt|cs|php)")


def _read(file: File) -> Sequence[Published] | None:
    if file.size > BYTES_MAX or b"\0" in file.head[:4096] or not FILES.fullmatch(file.base):
        return None
    if not BENCH.search(file.name) and not BENCH.search(file.text[: 1 << 16]):
        return None
    if file.once(commands.IMPORTER.read):
        return None  # of whose tool it is known what it was asked for
    asked: dict[str, str] = {}
    first: int | None = None
    own: dict[str, str] = {}
    option, option_at = "", 0
    for at, line in enumerate(file.lines[:LINES_MAX], start=1):
        bare = line[:LINE_MAX]
        name = value = unit = ""
        if _may_assign(bare) and (match := ASSIGNED.fullmatch(bare)) and match[1] != "default":
            name, value, unit = match[1], match[2], match[3] or _unit(match[4])
        else:
            if ("'-" in bare or '"-' in bare) and (match := OPTION.search(bare)):
                option, option_at = match[1], at
            if option and at - option_at <= OPTION_LINES and (match := DEFAULT.search(bare)):
                name, value, option = option, match[1], ""
        kind = _kind(name) if name else ""
        if not kind or len(own) >= PARAMETERS_MAX:
            continue
        amount = value.replace("_", "").replace("'", "").replace(",", "")
        if number(amount) is None or known.owner(name):
            continue
        first = first or at
        own[name] = f"{value}{unit}"
        seconds = _seconds(file, name, amount, unit) if kind in commands.TIMES else None
        if kind in commands.TIMES and seconds is not None:
            asked.setdefault(kind, f"{seconds:g}")
        elif kind in ("terminals", "scale"):
            asked.setdefault(kind, amount)
    if first is None or len(own) < ASSIGNED_MIN:
        return None
    one = Published(
        file.at(first), "", file.base, planned=True, written=", ".join(f"{n}={v}" for n, v in own.items())[:200]
    )
    return [commands.filled(one, {**own, **asked})]


def _may_assign(line: str) -> bool:
    """Whether ``ASSIGNED`` needs to be asked, which takes long: by what such a line begins with and has."""
    begin = line.lstrip(" \t\r\f\v")[:1]
    return (begin.isalpha() or begin in BEGINS) and HAS_DIGIT.search(line) is not None


def _unit(of_go: str | None) -> str:
    return {"Second": "s", "Minute": "m", "Millisecond": "ms"}.get((of_go or "").rpartition(".")[2], "")


def _kind(name: str) -> str:
    """What a parameter of this name is: a field of ``Published``, "other" for a further one of a run, "" of none."""
    words = [word.lower() for word in WORDS.findall(name)]

    def says(of: re.Pattern[str]) -> bool:
        return any(of.fullmatch(word) for word in words)

    if says(WARMS):
        return "warmup_s"
    if says(ASIDE):
        return ""
    if says(SCALES):
        return "scale"
    if says(CLIENTS) and not says(LIMITS):
        return "terminals"
    if says(LASTS) or (says(TIMES) and says(OF_RUN)):
        return "measured_s"
    return "other" if says(OTHERS) else ""


def _seconds(file: File, name: str, amount: str, unit: str) -> float | None:
    """How long, where the value, the name or the language leave no doubt of the unit."""
    low = name.lower()
    if unit:
        return commands.seconds(f"{amount}{unit}")
    if low.endswith(("_ms", "millis", "ms")):
        return float(amount) / 1000
    if low.endswith(("minutes", "_min", "mins")):
        return float(amount) * 60
    sure = "sec" in low or low.endswith("_s") or not IN_MILLISECONDS.fullmatch(file.base)
    return float(amount) if sure and 0 < float(amount) <= LONGEST_S else None


IMPORTER = Importer("parameters of a run", _read, beside=True)
