"""What ioping prints at its end, 0.6 to 1.3. See ioping.c (print_int, print_size, print_time)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from acidtest.audit.amounts import NUMBER
from acidtest.audit.bench import Published
from acidtest.audit.importers.file import File, Importer

BEGIN = re.compile(r"\W{0,6}--- (\S.{0,200}) ioping statistics ---")
DONE = re.compile(
    rf"\W{{0,6}}{NUMBER} ?([kMG]?) requests completed in {NUMBER} (ns|us|ms|s|min|hour)\b"
    rf"(.{{0,60}}?){NUMBER} ?([kMG]?) iops"
)
TIMES = re.compile(r"\W{0,6}min/avg/max/mdev = (.{1,200})")
TIME = re.compile(rf"{NUMBER} ?(ns|us|ms|s|min)?")
KILO = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}
MS = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1000.0, "min": 60_000.0, "hour": 3_600_000.0}


def _read(file: File) -> Sequence[Published] | None:
    if not any(BEGIN.match(line) for line in file.first_lines):
        return None
    published: list[Published] = []
    begun = ""
    for at, line in enumerate(file.stream(), start=1):
        if match := BEGIN.match(line):
            begun = match[1]
        elif begun and (match := DONE.match(line)):
            published.append(
                Published(
                    file.at(at),
                    "ioping",
                    begun[:200],
                    rate=float(match[6]) * KILO[match[7]],
                    terminals=1,
                    unit="writes" if "written" in match[5] else "reads",
                    written=f"{match[6]} {match[7]} iops".replace("  ", " "),
                    parameters={"requests": str(int(float(match[1]) * KILO[match[2]]))},
                )
            )
        elif published and begun and (match := TIMES.match(line)):
            # Old ones give one unit for all four, behind the last.
            times = TIME.findall(match[1])
            if len(times) >= 3:
                last = times[-1][1] or "ms"
                mean, longest = (float(value) * MS[unit or last] for value, unit in times[1:3])
                published[-1] = replace(published[-1], latency_ms={"mean": mean, "max": longest})
            begun = ""
    return published or None


IMPORTER = Importer("ioping output", _read)
