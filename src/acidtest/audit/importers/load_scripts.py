"""Scripts of load generators that speak HTTP: what they ask for, and how long a virtual user thinks between requests.

k6's options (JavaScript), JMeter's plans (XML), Locust's users (Python), Gatling's simulations and Artillery's files.
A closed loop with pauses cannot go faster than the pauses let it, whatever answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from acidtest.audit.bench import Published, Statement
from acidtest.audit.importers.commands import seconds
from acidtest.audit.importers.file import File, Importer
from acidtest.formats import linear

BYTES_MAX = 1 << 20
LINE_MAX = 400
KEPT = 10  # pauses of a file
SCRIPT = linear.compile(r".*\.(?:js|mjs|ts|jmx|py|scala|java|kt)")
OF_K6 = linear.compile(r"\bfrom\s+['\"]k6(?:/[\w/.-]+)?['\"]|\brequire\(['\"]k6")
OF_LOCUST = linear.compile(r"^\s*(?:from locust\b|import locust\b)", linear.M)
OF_GATLING = linear.compile(r"^import io\.gatling\.", linear.M)
COMMENT = linear.compile(r"\s*(?://|#|\*|/\*|<!--)")
VUS = linear.compile(r"\b(?:vus|target)[\"']?\s*:\s*(\d{1,6})\b")
STAGE = linear.compile(r"\btarget[\"']?\s*:")
DURATION = linear.compile(r"\bduration[\"']?\s*:\s*[\"'](\d[\dhms.]{0,12})[\"']")
ITERATIONS = linear.compile(r"\biterations[\"']?\s*:\s*(\d{1,9})\b")
OPEN = linear.compile(
    r"arrival-rate|\bconstantUsersPerSec\b|\brampUsersPerSec\b|\barrivalRate\b|constant_throughput|constant_pacing"
)
SLEEP = linear.compile(r"(?:^|[\s;{(])sleep\s?\(\s?[\w.+*/ ()-]{1,80}\)")
NO_SLEEP = linear.compile(r"sleep\s?\(\s?0?\s?\)|import|\bfunction sleep\b")
WAIT_TIME = linear.compile(r"^\s*wait_time\s*=\s*(?:between|constant)\([\d., ]{1,40}\)")
NO_WAIT = linear.compile(r"(?:between|constant)\((?:0(?:\.0)?[, ]*)+\)")
PAUSE = linear.compile(r"\.pause\([\w., ]{1,60}\)")
TIMER = linear.compile(r"<(?:Constant|UniformRandom|GaussianRandom|PoissonRandom)Timer\b[^<>]{0,300}enabled=\"true\"")
THREADS = linear.compile(r"name=\"ThreadGroup\.num_threads\">(\d{1,6})<")
LASTS = linear.compile(r"name=\"ThreadGroup\.duration\">(\d{1,9})<")


def _read(file: File) -> Sequence[Published | Statement] | None:
    if not SCRIPT.fullmatch(file.base) or file.size > BYTES_MAX or b"\0" in file.head:
        return None
    text = file.text
    if file.base.endswith(".jmx"):
        return [*_pauses(file, TIMER), *_of_jmeter(file)] or None
    if "k6" in text and OF_K6.search(text):
        pauses = () if OPEN.search(text) else _pauses(file, SLEEP, NO_SLEEP)
        return [*pauses, *_of_k6(file)] or None
    if "locust" in text and OF_LOCUST.search(text):
        return list(_pauses(file, WAIT_TIME, NO_WAIT)) or None
    if "gatling" in text and OF_GATLING.search(text) and not OPEN.search(text):
        return list(_pauses(file, PAUSE)) or None
    return None


def _pauses(
    file: File, pattern: linear.Pattern[str], without: linear.Pattern[str] | None = None
) -> Iterator[Statement]:
    kept = 0
    for number, whole in enumerate(file.lines, start=1):
        line = whole[:LINE_MAX]
        match = pattern.search(line)
        if match is None or COMMENT.match(line) or (without and without.search(line)):
            continue
        yield Statement(file.at(number), "think-time", " ".join(line.split())[:120])
        kept += 1
        if kept == KEPT:
            return


def _of_k6(file: File) -> Iterator[Published]:
    """What a script asks for in its options, where it says it plainly."""
    users: set[int] = set()
    spans: list[float] = []
    iterations: set[str] = set()
    first = staged = 0
    for number, whole in enumerate(file.lines, start=1):
        line = whole[:LINE_MAX]
        if COMMENT.match(line):
            continue
        counted, lasting, often = VUS.search(line), DURATION.search(line), ITERATIONS.search(line)
        users |= {int(counted[1])} if counted else set()
        spans += [took] if lasting and (took := seconds(lasting[1])) else []
        iterations |= {often[1]} if often else set()
        staged += STAGE.search(line) is not None
        first = first or (number if counted or lasting or often else 0)
    if not first or (len(spans) > 1 and not staged):
        return  # of several scenarios nobody knows which a result is of
    one = Published(
        file.at(first), "k6", file.base, unit="requests", planned=True, script=file.base,
        written=file.lines[first - 1].strip()[:200],
    )  # fmt: skip
    parameters = {"iterations": iterations.pop()} if len(iterations) == 1 else {}
    terminals = max(users) if users and (staged or len(users) == 1) else None
    yield replace(one, terminals=terminals, measured_s=sum(spans) or None, parameters=parameters)


def _of_jmeter(file: File) -> Iterator[Published]:
    asked: dict[str, set[int]] = {"threads": set(), "lasts": set()}
    first = 0
    for number, whole in enumerate(file.lines, start=1):
        line = whole[:LINE_MAX]
        for name, pattern in (("threads", THREADS), ("lasts", LASTS)):
            if match := pattern.search(line):
                asked[name].add(int(match[1]))
                first = first or number
    if first and all(len(of) < 2 for of in asked.values()):
        threads, lasts = (next(iter(asked[name]), 0) or None for name in ("threads", "lasts"))
        yield Published(
            file.at(first), "jmeter", file.base, unit="requests", planned=True, script=file.base,
            terminals=threads, measured_s=float(lasts) if lasts else None, written=file.lines[first - 1].strip()[:200],
        )  # fmt: skip


IMPORTER = Importer("script of a load generator", _read, beside=True)
