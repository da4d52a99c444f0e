"""HammerDB: its log or console from 3 to 6. See the drivers in src/."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from acidtest.audit.bench import EngineName, Published
from acidtest.audit.importers import commands
from acidtest.audit.importers.file import Broken, File, Importer
from acidtest.families import PRODUCTS

# "Vuser 1:TEST RESULT : System achieved 42332 NOPM from 97427 PostgreSQL TPM", and up to 3.2
# "… System achieved 60501 SQL Server TPM at 13207 NOPM"
RESULT = re.compile(
    r"\bSystem achieved (?:(\d{1,12}) NOPM from (\d{1,12}) ([A-Za-z0-9 ]{1,40}?) TPM|"
    r"(\d{1,12}) ([A-Za-z0-9 ]{1,40}?) TPM at (\d{1,12}) NOPM)"
)
# What a log has and a text about HammerDB has not.
HINT = re.compile(
    r"^HammerDB CLI v|^Hammerdb Log @|^(?:Vuser \d{1,6}:)?TEST RESULT : System achieved|"
    r"^[\s\"'\[,\d:-]{0,60}(?:Vuser \d{1,6}:)?TEST RESULT : System achieved \d|^\W{0,9}System achieved \d|"
    r"^(?:Vuser 1:)?>>>>> (?:PROC:|VIRTUAL USER|SUMMARY OF)|^Vuser 1[: ]"
)
FACTS = {
    "users": re.compile(r"(\d{1,6}) Active Virtual Users configured"),
    "ramp_up": re.compile(r"rampup time of (\d{1,6}) minutes"),
    "period": re.compile(r"Timing test period of (\d{1,6}) in minutes"),
}
FAILED = re.compile(r"Vuser \d{1,6}:FINISHED FAILED")


def _log(file: File) -> Sequence[Published] | None:
    if file.head.lstrip()[:1] == b"{" or not any(HINT.search(line) for line in file.first_lines):
        return None
    runs: list[Published] = []
    facts: dict[str, int] = {}
    failed = begun = 0
    for at, line in enumerate(file.stream(), start=1):
        for name, pattern in FACTS.items():
            if match := pattern.search(line):
                facts[name] = int(match[1])
                begun = at if name == "period" else begun
        failed += FAILED.search(line) is not None
        if match := RESULT.search(line):
            runs.append(_result(file, at, match[1] or match[6], match[2] or match[4], match[3] or match[5], facts))
            begun = 0
    if not runs and begun:
        raise Broken("is HammerDB's log of a timed test that ends before its result", begun)
    if failed and runs:
        runs[-1] = replace(runs[-1], errors=failed)
    return runs


def _result(file: File, at: int, nopm: str, tpm: str, engine: str, facts: dict[str, int]) -> Published:
    return Published(
        file.at(at), "hammerdb", file.base, rate=float(tpm) / 60 or None, tpm=float(tpm) or None, nopm=float(nopm),
        terminals=facts.get("users"), measured_s=facts["period"] * 60.0 if facts.get("period") else None,
        warmup_s=facts["ramp_up"] * 60.0 if "ramp_up" in facts else None, engine=_engine(engine), script="TPROC-C",
        written=f"{nopm} NOPM from {tpm} {engine} TPM",
    )  # fmt: skip


def _engine(word: str) -> EngineName | None:
    """Of what HammerDB calls a database: one of a product that is not known here is None."""
    name = word.strip().lower()
    return commands.PRODUCTS.get(name, name if name in PRODUCTS else None)


LOG = Importer("HammerDB log", _log)
