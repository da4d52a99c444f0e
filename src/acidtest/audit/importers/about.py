"""What a kit says of itself in prose: of the drive, of repetitions, of what it compares. See ``claims`` for sizes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from acidtest import filesystems
from acidtest.audit.bench import Statement, StatementKind
from acidtest.audit.importers import importers
from acidtest.audit.importers.file import Broken, File, Importer

PROSE = re.compile(r"readme(?:\.\w+)?|.*\.(?:md|markdown|rst|adoc|txt)")
BYTES_MAX = 4 << 20  # of prose
COUNT = r"(?:\d{1,3}|two|three|four|five|six|seven|eight|nine|ten|several|multiple|all|the|many)"
RUNS = r"(?:runs?|results?|tries|attempts|repetitions|iterations|executions|passes|trials)"
BETTER = r"(?:faster|slower|better|worse|more throughput|higher throughput|improvement|speed-?up|quicker)"
SAID: tuple[tuple[StatementKind, re.Pattern[str]], ...] = (
    (
        "drive",
        re.compile(
            r"\b(?:NVMe|SSDs?|HDDs?|hard (?:disks?|drives?)|SATA|SAS|rpm|EBS|gp[23]|io[12]|pd-(?:ssd|balanced|standard)"
            r"|persistent disk|Optane|eMMC|RAID|tmpfs|ram ?disk|virtio disk|U\.2|M\.2)\b",
            re.IGNORECASE,
        ),
    ),
    ("file-system", re.compile(rf"\b(?:{'|'.join(filesystems.NAMES)})\b", re.IGNORECASE)),
    ("turns", re.compile(r"\b(\d{1,2}[,. ]?\d00|\d{1,2}(?:\.\d)?k) ?(?:rpm|revolutions)\b", re.IGNORECASE)),
    (
        "write-cache",
        re.compile(
            r"battery|\bBB(?:U|WC)\b|write[- ]back|capacitor|NV-?RAM|power[- ]loss|flash[- ]backed|RAID controller"
            r"|write cache",
            re.IGNORECASE,
        ),
    ),
    (
        "iops",
        re.compile(
            r"\b(\d[\d,]{0,9}(?:\.\d)?k?) (?:provisioned IOPS|PIOPS)\b"
            r"|provisioned (?:IOPS|with|at|for)?[^\d\n]{0,20}(\d[\d,]{2,9}k?)(?: IOPS)?\b",
            re.IGNORECASE,
        ),
    ),
    (
        "spread",
        re.compile(
            r"±|\+/-|confidence|\bintervals? of\b|std\.? dev|standard deviation|quartile|error bars?"
            r"|coefficient of variation|\bspread\b",
            re.IGNORECASE,
        ),
    ),
    (
        "best-of",
        re.compile(
            rf"\b(?:best|highest|fastest|maximum) (?:out )?(?:of|from) (?:the )?{COUNT} ?(?:\w+ )?{RUNS}"
            rf"|\b(?:best|fastest|highest)[- ]of[- ]{COUNT}\b"
            r"|\b(?:took|take|kept|keep|reported|report|show|picked|pick|chose) (?:only )?the (?:best|highest|fastest) "
            r"(?:run|result|number|value|figure)",
            re.IGNORECASE,
        ),
    ),
    (
        "tpc-word",
        re.compile(r"\btpmC\b|\bQphH\b|\btpsE\b|\bTPC-[CEH](?:-| )(?:compliant|certified|results?|scores?)\b"),
    ),
    (
        "not-tpc",
        re.compile(
            r"\bnot (?:an? )?(?:official|audited|comparable|valid|TPC)|\bunaudited|no TPC|derived from|TPC-C[- ]like"
            r"|TPROC-C|not been audited|based on (?:the )?TPC-C",
            re.IGNORECASE,
        ),
    ),
)
RELATIVE = re.compile(
    rf"\b\d{{1,6}}(?:\.\d{{1,4}})? ?(?:%|x|×|times|percent)(?: (?:\w+ )?)?{BETTER}|\btwice as fast\b", re.IGNORECASE
)
BASE = re.compile(
    r"\b(?:than|vs\.?|versus|over|against|compared|relative to|baseline|base)\b|\bfrom \d|\d ?(?:tps|tpm|ms|/s)\b",
    re.IGNORECASE,
)


def _read(file: File) -> Sequence[Statement] | None:
    if not PROSE.fullmatch(file.base) or b"\0" in file.head or file.size > BYTES_MAX:
        return None
    if file.base.endswith(".txt") and not file.base.startswith("readme") and _is_output(file):
        return None  # a tool's output, and no prose
    return [Statement(file.at(1), "text", "a text of the kit"), *_statements(file)]


def _is_output(file: File) -> bool:
    return any(_is(one, file) for one in importers() if not (one.beside or one.last))


def _is(importer: Importer, file: File) -> bool:
    try:
        return importer.read(file) is not None
    except Broken:
        return True


def _statements(file: File) -> Iterator[Statement]:
    around = ""
    for number, line in enumerate(file.lines, start=1):
        bare = line[:2000]
        for kind, pattern in SAID:
            if match := pattern.search(bare):
                value = next((_value(group) for group in match.groups() if group), None)
                yield Statement(file.at(number), kind, match[0].strip(), value)
        # A base may stand in the same paragraph, before it or in the line after it.
        around = around[-2000:] + " " + bare if bare.strip() else ""
        after = file.lines[number][:2000] if number < len(file.lines) else ""
        if (match := RELATIVE.search(bare)) and not BASE.search(around + " " + after):
            yield Statement(file.at(number), "relative", match[0].strip())


def _value(text: str) -> float | None:
    thousand = text[-1] in "kK"
    digits = re.sub(r"[^\d.]" if thousand else r"\D", "", text)
    return float(digits) * (1000 if thousand else 1) if re.fullmatch(r"\d+(\.\d+)?", digits) else None


IMPORTER = Importer("text", _read, beside=True)
