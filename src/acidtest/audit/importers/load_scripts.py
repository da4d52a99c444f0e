"""Scripts of load generators that speak HTTP: what they ask for, and how long a virtual user thinks between requests.

k6's options (JavaScript), JMeter's plans (XML) and Locust's users (Python). A closed loop with pauses cannot go faster
than the pauses let it, whatever answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from acidtest.audit.bench import Published, Statement
from acidtest.audit.importers.commands import seconds
from acidtest.audit.importers.file import File, Importer
from acidtest.formats import linear

BYTES_MAX = 1 << 20
LINE_MAX = 400
KEPT = 10  # pauses of a file
OF_K6 = linear.compile(r"\bfrom\s+['\"]k6(?:/[\w/.-]+)?['\"]|\brequire\(['\"]k6")
OF_LOCUST = linear.compile(r"^\s*(?:from locust\b|import locust\b)", linear.M)
COMMENT = linear.compile(r"\s*(?://|#|\*|/\*|<!--)")
OPEN = linear.compile(r"arrival-rate|constant_throughput|constant_pacing")
SLEEP = linear.compile(r"(?:^|[\s;{(])sleep\s?\(\s?[\w.+*/ ()-]{1,80}\)")
NO_SLEEP = linear.compile(r"sleep\s?\(\s?0?\s?\)|import|\bfunction sleep\b")
WAIT_TIME = linear.compile(r"^\s*wait_time\s*=\s*(?:between|constant)\([\d., ]{1,40}\)")
NO_WAIT = linear.compile(r"(?:between|constant)\((?:0(?:\.0)?[, ]*)+\)")
TIMER = linear.compile(r"<(?:Constant|UniformRandom|GaussianRandom|PoissonRandom)Timer\b[^<>]{0,300}enabled=\"true\"")
STAGE = linear.compile(r"\btarget[\"']?\s*:")
OPTIONS = {
    "k6": {
        "users": linear.compile(r"\b(?:vus|target)[\"']?\s*:\s*(\d{1,6})\b"),
        "lasts": linear.compile(r"\bduration[\"']?\s*:\s*[\"'](\d[\dhms.]{0,12})[\"']"),
        "iterations": linear.compile(r"\biterations[\"']?\s*:\s*(\d{1,9})\b"),
    },
    "jmeter": {
        "users": linear.compile(r"name=\"ThreadGroup\.num_threads\">(\d{1,6})<"),
        "lasts": linear.compile(r"name=\"ThreadGroup\.duration\">(\d{1,9})<"),
    },
}


def _read(file: File) -> Sequence[Published | Statement] | None:
    if not file.base.endswith((".js", ".mjs", ".ts", ".jmx", ".py")) or file.size > BYTES_MAX or b"\0" in file.head:
        return None
    lines = [(at, line[:LINE_MAX]) for at, line in enumerate(file.lines, start=1) if not COMMENT.match(line)]
    if file.base.endswith(".jmx"):
        return [*_pauses(file, lines, TIMER), *_asked(file, lines, "jmeter")] or None
    if "k6" in file.text and OF_K6.search(file.text):
        pauses = () if OPEN.search(file.text) else _pauses(file, lines, SLEEP, NO_SLEEP)
        return [*pauses, *_asked(file, lines, "k6")] or None
    if "locust" in file.text and OF_LOCUST.search(file.text):
        return list(_pauses(file, lines, WAIT_TIME, NO_WAIT)) or None
    return None


def _pauses(
    file: File,
    lines: Sequence[tuple[int, str]],
    pattern: linear.Pattern[str],
    without: linear.Pattern[str] | None = None,
) -> list[Statement]:
    found = [(at, line) for at, line in lines if pattern.search(line) and not (without and without.search(line))]
    return [Statement(file.at(at), "think-time", " ".join(line.split())[:120]) for at, line in found[:KEPT]]


def _asked(file: File, lines: Sequence[tuple[int, str]], tool: str) -> Iterator[Published]:
    """What a script asks for in its options, where it says it plainly."""
    patterns = OPTIONS[tool]
    found = [(at, name, match[1]) for at, line in lines for name, of in patterns.items() if (match := of.search(line))]
    users, spans, often = ([value for _, of, value in found if of == name] for name in ("users", "lasts", "iterations"))
    staged = any(STAGE.search(line) for _, line in lines)
    if not found or (len(set(spans) if tool == "jmeter" else spans) > 1 and not staged):
        return  # of several scenarios nobody knows which a result is of
    known = users and (staged or len(set(users)) == 1)
    times = [took for of in (spans[:1] if tool == "jmeter" else spans) if (took := seconds(of))]
    yield Published(
        file.at(found[0][0]), tool, file.base, unit="requests", planned=True, script=file.base,
        terminals=max(map(int, users)) if known else None, measured_s=sum(times) or None,
        written=file.lines[found[0][0] - 1].strip()[:200],
        parameters={"iterations": often[0]} if len(set(often)) == 1 else {},
    )  # fmt: skip


IMPORTER = Importer("script of a load generator", _read, beside=True)
