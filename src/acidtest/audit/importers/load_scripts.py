"""Scripts of load generators that speak HTTP, and what they ask for: k6's options (JavaScript) and JMeter's plans
(XML)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from acidtest.audit.bench import Published
from acidtest.audit.importers.commands import seconds
from acidtest.audit.importers.file import File, Importer
from acidtest.formats import linear

BYTES_MAX = 1 << 20
LINE_MAX = 400
OF_K6 = linear.compile(r"\bfrom\s+['\"]k6(?:/[\w/.-]+)?['\"]|\brequire\(['\"]k6")
COMMENT = linear.compile(r"\s*(?://|#|\*|/\*|<!--)")
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


def _read(file: File) -> Sequence[Published] | None:
    if not file.base.endswith((".js", ".mjs", ".ts", ".jmx")) or file.size > BYTES_MAX or b"\0" in file.head:
        return None
    lines = [(at, line[:LINE_MAX]) for at, line in enumerate(file.lines, start=1) if not COMMENT.match(line)]
    if file.base.endswith(".jmx"):
        return list(_asked(file, lines, "jmeter")) or None
    of_k6 = "k6" in file.text and OF_K6.search(file.text)
    return list(_asked(file, lines, "k6")) or None if of_k6 else None


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
