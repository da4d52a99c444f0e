"""What CrystalDiskMark copies as text, from 3 to 9. Its MB has 1,000,000 bytes, as its head says; it reports the best
of the runs it was told to make."""

from __future__ import annotations

import re
from collections.abc import Sequence

from acidtest.audit.amounts import NUMBER
from acidtest.audit.bench import Published, Statement, Unit
from acidtest.audit.importers.file import Broken, File, Importer

HEAD = re.compile(r"\W{0,6}CrystalDiskMark (\d{1,2}(?:\.\d{1,3}){0,3})")
GROUP = re.compile(r"[\s>]{0,8}\[(Read|Write|Mix)\]")
# "  SEQ    1MiB (Q=  8, T= 1):  7427.749 MB/s [   7083.7 IOPS] <   987.81 us>"
NEW = re.compile(
    rf"[\s>]{{0,8}}(SEQ|RND|Sequential|Random) +([\d.]{{1,9}} ?[KMG]i?B)? ?"
    rf"\(Q= *(\d{{1,4}}), ?T= *(\d{{1,4}})\) ?: +{NUMBER} MB/s"
    rf"(?: \[ *{NUMBER} IOPS\])?(?: < *{NUMBER} us>)?"
)
# 3 to 6: "   Random Read 4KB (QD=32) :   389.201 MB/s [ 95019.8 IOPS]", "  Sequential Read (Q= 32,T= 1) :  3445.1 MB/s"
OLD = re.compile(
    rf"[\s>]{{0,40}}(Sequential|Random) (Read|Write) ?(\d{{1,9}} ?[KMG]i?B)? ?"
    rf"(?:\(QD? ?= *(\d{{1,4}})(?:, ?T= *(\d{{1,4}}))?\))? ?: +{NUMBER} MB/s"
    rf"(?: \[ *{NUMBER} IOPS\])?"
)
TEST = re.compile(r"[\s>]{0,8}Test ?: *([\d.]{1,12}) ?([KMGT]i?B).{0,40}?\(x ?(\d{1,3})\)")
OF_SIZE = {
    "KB": 1e3,
    "MB": 1e6,
    "GB": 1e9,
    "TB": 1e12,
    "KiB": 1024.0,
    "MiB": 1024.0**2,
    "GiB": 1024.0**3,
    "TiB": 1024.0**4,
}


def _read(file: File) -> Sequence[Published | Statement] | None:
    if not any(HEAD.match(line) for line in file.first_lines):
        return None
    found: list[tuple[int, str, Unit, float, float | None, float | None, int]] = []
    parts: list[Published | Statement] = []
    group: Unit = "reads"
    size = runs = ""
    begun = 0
    for at, line in enumerate(file.lines, start=1):
        if HEAD.match(line):
            begun = at
        elif match := GROUP.match(line):
            group = "writes" if match[1] != "Read" else "reads"
        elif match := NEW.match(line):
            name = f"{match[1]} {match[2] or ''} Q{match[3]}T{match[4]} {group}".replace("  ", " ")
            latency = float(match[7]) / 1000 if match[7] else None
            found.append((at, name, group, float(match[5]), _number(match[6]), latency, int(match[3]) * int(match[4])))
        elif match := OLD.match(line):
            unit: Unit = "reads" if match[2] == "Read" else "writes"
            name = f"{match[1]} {match[3] or ''} {unit}".replace("  ", " ")
            found.append(
                (at, name, unit, float(match[6]), _number(match[7]), None, int(match[4] or 1) * int(match[5] or 1))
            )
        elif match := TEST.match(line):
            size, runs = str(int(float(match[1]) * OF_SIZE.get(match[2], 1))), match[3]
            if int(runs) > 1:
                parts.append(
                    Statement(file.at(at), "best-of", f"the best of {runs} runs, as CrystalDiskMark reports it")
                )
    if not found:
        raise Broken("is CrystalDiskMark's text without a figure", begun or None)
    parameters = {"bytes": size, "runs": runs} if size else {}
    for at, name, unit, megabytes, rate, latency, depth in found:
        parts.append(
            Published(
                file.at(at),
                "crystaldiskmark",
                name,
                rate=rate,
                terminals=depth,
                unit=unit,
                bytes_per_s=megabytes * 1e6,
                latency_ms={"mean": latency} if latency else {},
                written=f"{megabytes} MB/s",
                parameters=parameters,
                script=name.split()[0],
            )
        )
    return parts


def _number(text: str | None) -> float | None:
    return float(text) if text else None


IMPORTER = Importer("CrystalDiskMark text", _read)
