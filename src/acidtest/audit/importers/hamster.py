"""What the benchmark hamster prints, a tool that there is not."""

from __future__ import annotations

import re
from collections.abc import Sequence

from acidtest.audit.bench import Published
from acidtest.audit.importers.file import Broken, File, Importer
from acidtest.audit.importers.numbers import NUMBER

TITLE = "hamster benchmark results"
LINE = re.compile(rf"wheel (\w{{1,60}}): {NUMBER} turns/s with (\d{{1,4}}) hamsters")


def _read(file: File) -> Sequence[Published] | None:
    if TITLE not in file.first_lines[:1]:
        return None
    found = [
        Published(file.at(number), "hamster", match[1], rate=float(match[2]), terminals=int(match[3]))
        for number, line in enumerate(file.stream(), start=1)
        if (match := LINE.fullmatch(line))
    ]
    if not found:
        raise Broken("is hamster's output without a figure")
    return found


IMPORTER = Importer("hamster output", _read)
