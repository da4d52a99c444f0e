"""What a kit says of itself in prose: of the drive, of repetitions, of what it compares. See ``claims`` for sizes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from acidtest import filesystems
from acidtest.audit.bench import Statement, StatementKind
from acidtest.audit.importers import importers, prose
from acidtest.audit.importers.file import Broken, File, Importer
from acidtest.audit.texts import WRITTEN
from acidtest.formats import linear

BYTES_MAX = 4 << 20  # of prose
LINE_MAX = 2_000
NUMBER = r"(?:\d{1,3}|two|three|four|five|six|seven|eight|nine|ten)"
COUNT = r"(?:\d{1,3}|two|three|four|five|six|seven|eight|nine|ten|several|multiple|all|the|many)"
RUNS = r"(?:runs?|results?|tries|attempts|repetitions|iterations|executions|passes|trials)"
BETTER = r"(?:faster|slower|better|worse|more throughput|higher throughput|improvement|speed-?up|quicker)"
SAID: tuple[tuple[StatementKind, linear.Pattern[str]], ...] = (
    (
        "drive",
        linear.compile(
            r"\b(?:NVMe|SSDs?|HDDs?|hard (?:disks?|drives?)|SATA|SAS|rpm|EBS|gp[23]|io[12]|pd-(?:ssd|balanced|standard)"
            r"|persistent disk|Optane|eMMC|RAID|tmpfs|ram ?disk|virtio disk|U\.2|M\.2)\b",
            linear.I,
        ),
    ),
    ("file-system", linear.compile(rf"\b(?:{'|'.join(filesystems.NAMES)})\b", linear.I)),
    ("turns", linear.compile(r"\b(\d{1,2}[,. ]?\d00|\d{1,2}(?:\.\d)?k) ?(?:rpm|revolutions)\b", linear.I)),
    (
        "write-cache",
        linear.compile(
            r"battery|\bBB(?:U|WC)\b|write[- ]back|capacitor|NV-?RAM|power[- ]loss|flash[- ]backed|RAID controller"
            r"|write cache",
            linear.I,
        ),
    ),
    (
        "iops",
        linear.compile(
            r"\b(\d[\d,]{0,9}(?:\.\d)?k?) (?:provisioned IOPS|PIOPS)\b"
            r"|provisioned (?:IOPS|with|at|for)?[^\d\n]{0,20}(\d[\d,]{2,9}k?)(?: IOPS)?\b",
            linear.I,
        ),
    ),
    (
        "spread",
        linear.compile(
            r"±(?: ?∞)?|\+/-|confidence|\bintervals? of\b|std\.? dev|standard deviation|quartile|error bars?"
            r"|coefficient of variation|\b(?:the|an?|their|its|small|wide|large|little|run-to-run|with) spread\b"
            r"|\bspread (?:of|between|is|was|in)\b|\bspread:",
            linear.I,
        ),
    ),
    (
        "best-of",
        linear.compile(
            rf"\b(?:best|highest|fastest|maximum) (?:out )?(?:of|from) (?:the )?{COUNT} ?(?:\w+ )?{RUNS}"
            rf"|\b(?:best|fastest|highest)[- ]of[- ]{NUMBER}\b"
            r"|\b(?:took|take|kept|keep|reported|report|show|picked|pick|chose) (?:only )?the (?:best|highest|fastest) "
            r"(?:run|result|number|value|figure)",
            linear.I,
        ),
    ),
    (
        "tpc-word",
        linear.compile(r"\btpmC\b|\bQphH\b|\btpsE\b|\bTPC-[CEH](?:-| )(?:compliant|certified|results?|scores?)\b"),
    ),
    (
        "not-tpc",
        linear.compile(
            r"\bnot (?:an? )?(?:official|audited|comparable|valid|TPC)|\bunaudited|no TPC|derived from|TPC-C[- ]like"
            r"|TPROC-C|not been audited|based on (?:the )?TPC-C",
            linear.I,
        ),
    ),
)
# How far apart the answers within one run lie, as tools print it: no spread of runs.
WITHIN_A_RUN = linear.compile(
    r"Thread Stats|\+/-\s{0,3}Std|Req/Sec|\b(?:events|execution time) \(avg/stddev|"
    r"\b(?:latenc(?:y|ies)|response times?|lat|rtt|ping)\b|\b(?:events|requests|queries) per (?:thread|client)\b",
    linear.I,
)
OF_SEVERAL_RUNS = linear.compile(
    rf"\b{RUNS}\b|\b(?:runs?|repetition|repeated|repeats?|replicates?|rounds?|samples?|n ?= ?\d|across|between|"
    r"error bars?|confidence|variation|tps|qps|throughput|ops)\b|/s\b",
    linear.I,
)
OF_MACHINES = frozenset(("drive", "file-system", "turns", "write-cache", "iops"))
DISCLOSED = frozenset(("drive", "file-system", "turns", "iops"))
LEAST = linear.compile(r"\b(?:min(?:imum)?|smallest|lowest|low|worst|slowest|from)\b", linear.I)
MOST = linear.compile(r"\b(?:max(?:imum)?|largest|highest|high|best|fastest|to)\b", linear.I)
LATENCY = linear.compile(r"\blat(?:ency)?\b|\bms\b|response|\btime\b|\bs\)|clients|threads|connections", linear.I)
DIGIT = linear.compile(r"^\W{0,4}\d")
RATE = (
    r"(?:tpm-?c?|nopm|tps|qps|ops|iops|rps|req(?:uests)?|transactions|queries|orders|operations|commits|rows|inserts|"
    r"ms|µs|us|s|sec|seconds)\b|(?:/|a |per )(?:s|sec|second|min|minute)\b"
)
FIGURE = r"(\d{1,9}(?:[,' \x{a0}\x{202f}]\d{3}){0,3}(?:\.\d{1,4})?)"
RANGE = linear.compile(
    rf"(\b(?:between|range[sd]? (?:from|of|between)|rang(?:e|es|ed|ing):?|var(?:y|ies|ied|ying) (?:from|between)|"
    rf"spread:?(?: of| from)?|from)[ :]{{1,3}})?{FIGURE}( ?(?:to|–|—|-|\.\.\.?|…|and|bis|à) ?){FIGURE}[ ]?({RATE})?",
    linear.I,
)
COUNTED = linear.compile(
    r"^\W{0,2}(?:clients?|threads?|connections?|users?|terminals?|warehouses?|sessions?|[kmgt]i?b|bytes?|%|years?|cores?|"
    r"cpus?|vcpus?|nodes?|rows|tables?|minutes?|hours?|days?)\b",
    linear.I,
)
LEAST_OF_SPREAD = 10  # of a figure; smaller ones are counts
APART_MAX = 2  # times: what lies further apart is a series of levels
RELATIVE = linear.compile(
    rf"\b\d{{1,6}}(?:\.\d{{1,4}})? ?(?:%|x|×|times|percent)(?: (?:\w+ )?)?{BETTER}|\btwice as fast\b", linear.I
)
BASE = linear.compile(
    r"\b(?:than|vs\.?|versus|over|against|compared|relative to|baseline|base|before)\b|"
    r"\bfrom\W{0,3}(?:about |some |roughly )?\d|\d ?[kKM]? ?(?:tps|tpm|nopm|qps|rps|iops|ms|µs|μs|us|ns)\b|"
    r"\d ?[kKM]? ?\w{0,12}(?:/| per | a )s(?:ec(?:ond)?)?\b|"
    # What it costs in turn is told, so it is known of what: "faster for reads, but twice as slow for writes".
    r"\bbut\b[^.;]{0,40}(?:faster|slower|higher|lower|more|less)\b|\b(?:can|may|might|could) be\b",
    linear.I,
)
# "Slower with encryption": than without.
IMPLIED = linear.compile(r"^\W{0,2}(?:with|without|when|if|once|after|because|due to|by using)\b", linear.I)
# Columns in which a table gives both rates.
BOTH = linear.compile(
    r"\b(?:before|after|baseline|base|old|new|speed-?up|change|improvement|diff(?:erence)?|delta|ratio)\b|Δ", linear.I
)


ANY = linear.Set([*(pattern for _, pattern in SAID), RELATIVE, RANGE])
COMPARED, RANGED = len(SAID), len(SAID) + 1  # in it


def _read(file: File) -> Sequence[Statement] | None:
    if not WRITTEN.fullmatch(file.base) or b"\0" in file.head or file.size > BYTES_MAX:
        return None
    if file.base.endswith(".txt") and not file.base.startswith("readme") and _is_output(file):
        return None  # a tool's output, and no prose
    return [Statement(file.at(1), "text", "a text of the kit"), *_statements(file)]


def _is_output(file: File) -> bool:
    return any(_is(one, file) for one in importers() if not (one.beside or one.last))


def _is(importer: Importer, file: File) -> bool:
    try:
        return file.once(importer.read) is not None
    except Broken:
        return True


def _statements(file: File) -> Iterator[Statement]:
    around = ""
    both = any(line.count("|") > 1 and BOTH.search(line[:LINE_MAX]) for line in file.prose)
    machines = prose.Machines(file.prose, LINE_MAX)
    for number, whole in enumerate(file.prose, start=1):
        line = whole[:LINE_MAX]
        within = ANY.within(line)
        for of, (kind, pattern) in enumerate(SAID):
            if of not in within:
                continue
            match = next((one for one in pattern.finditer(line) if not _unsaid(kind, line, one)), None)
            if match:
                value = next((_value(group) for group in match.groups() if group), None)
                machine = machines.of(number, match.start()) if kind in OF_MACHINES else ""
                yield Statement(file.at(number), kind, match[0].strip(), value, machine)
                if kind == "tpc-word" and prose.denied(line, *match.span()):
                    yield Statement(file.at(number), "not-tpc", match[0].strip())
        if (RANGED in within or "|" in line) and (text := spread(line, machines.heads(number))):
            yield Statement(file.at(number), "spread", text)
        # A base may stand in the same paragraph, before it or in the line after it.
        around = around[-LINE_MAX:] + " " + line if line.strip() else ""
        after = file.prose[number][:LINE_MAX] if number < len(file.prose) else ""
        match = RELATIVE.search(line) if COMPARED in within else None
        told = match is None or both or BASE.search(around + " " + after) or IMPLIED.search(line[match.end() :])
        if match and not told and not prose.denied(line, *match.span()):
            yield Statement(file.at(number), "relative", match[0].strip())


def _unsaid(kind: StatementKind, line: str, match: re.Match[str]) -> bool:
    """Whether it is denied, or, of what a machine has, only wished for; or is of the answers within one run."""
    if kind == "spread" and WITHIN_A_RUN.search(line) and not OF_SEVERAL_RUNS.search(WITHIN_A_RUN.sub(" ", line)):
        return True
    if kind in ("not-tpc", "tpc-word"):
        return False
    return prose.denied(line, *match.span()) or (kind in DISCLOSED and prose.supposed(line, match.start()))


def spread(line: str, heads: Sequence[str]) -> str:
    """How far apart repetitions lie, where a line tells their smallest and largest: "1,188 to 1,214 tps", or a row of a
    table with columns of both; "" where it tells neither."""
    if heads and LEAST.search(" | ".join(heads)) and MOST.search(" | ".join(heads)):
        least, most = (next(n for n, head in enumerate(heads) if of.search(head)) for of in (LEAST, MOST))
        row = [text for _, text in prose.cells(line)]
        timed = LATENCY.search(heads[least]) or LATENCY.search(heads[most])
        if not timed and least < len(row) and most < len(row) and DIGIT.search(row[least]) and DIGIT.search(row[most]):
            return f"{row[least]} to {row[most]}"[:100]
    for match in RANGE.finditer(line):
        low, high = (float(re.sub(r"[ ,'\u00a0\u202f]", "", match[n])) for n in (2, 4))
        alone = any(text == match[0].strip(" |") for _, text in prose.cells(line))
        told = match[1] or match[5] or (alone and "-" not in match[3])
        if told and LEAST_OF_SPREAD <= low < high <= APART_MAX * low and not COUNTED.search(line[match.end() :][:30]):
            return match[0].strip(" |")
    return ""


def _value(text: str) -> float | None:
    thousand = text[-1] in "kK"
    digits = re.sub(r"[^\d.]" if thousand else r"\D", "", text)
    return float(digits) * (1000 if thousand else 1) if re.fullmatch(r"\d+(\.\d+)?", digits) else None


IMPORTER = Importer("text", _read, beside=True)
