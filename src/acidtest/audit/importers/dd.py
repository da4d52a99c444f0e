"""What dd says when it ends: GNU's and BusyBox's ("copied, 5.4 s, 198 MB/s") and BSD's ("transferred in 5.4 secs"),
with the command line above it, without which it is not known what was read or written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from acidtest.audit.amounts import NUMBER
from acidtest.audit.bench import Published
from acidtest.audit.importers import commands
from acidtest.audit.importers.file import File, Importer

GNU = re.compile(
    rf"\W{{0,20}}(\d{{1,18}}) bytes(?: \([^()]{{1,40}}\))? copied, {NUMBER} (?:s|seconds), ({NUMBER} ?[kMGT]?i?B/s)"
)
BSD = re.compile(r"\W{0,20}(\d{1,18}) bytes transferred in (\d{1,9}\.\d{1,9}) secs")
COMMAND = re.compile(r"(?:^|[\s$#>`])dd(\s+(?:if|of|bs)=.{1,400})")
FLUSHING = ("dsync", "sync")


def _read(file: File) -> Sequence[Published] | None:
    if not any("bytes" in line and (GNU.match(line) or BSD.match(line)) for line in file.first_lines):
        return None
    published = []
    asked: dict[str, str] = {}
    for at, line in enumerate(file.stream(), start=1):
        if match := COMMAND.search(line[:2_000]):
            asked = commands.dd(match[1].split())
        elif match := GNU.match(line) or BSD.match(line):
            size, took = int(match[1]), float(match[2])
            reads = asked.get("of", "").startswith("/dev/null")
            flags = asked.get("oflag", "").split(",")
            one = Published(
                file.at(at),
                "dd",
                "dd of a file" if not asked else f"dd {asked.get('if', '')} to {asked.get('of', '')}",
                terminals=1,
                unit="reads" if reads else "writes",
                measured_s=took or None,
                bytes_per_s=size / took if took else None,
                flushed=any(flag in FLUSHING for flag in flags) and not reads,
                written=match[3] if match.re is GNU else f"{size} bytes in {took} secs",
                parameters={"bytes": str(size)},
            )
            published.append(replace(one, parameters=asked | one.parameters))
            asked = {}
    return published


IMPORTER = Importer("dd output", _read)
