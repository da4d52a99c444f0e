"""One planted fault: a patch with headers, and the tests that could see it."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

FORM = re.compile(r"What: (?P<what>.+?)\nSees: (?P<sees>.+?)\n\s*diff --git (?P<diff>.+)", re.DOTALL)


@dataclass(frozen=True)
class Fault:
    """``tests`` are arguments of pytest: a file, or a file, -k and an expression."""

    patch: Path
    what: str
    tests: tuple[tuple[str, ...], ...]
    crates: tuple[str, ...]
    digest: str  # of the change

    @property
    def name(self) -> str:
        return self.patch.stem


def read(patch: Path) -> Fault:
    """Raises ValueError for a patch without its headers."""
    if (found := FORM.fullmatch(patch.read_text())) is None:
        raise ValueError(f"{patch}: it begins with the headers What: and Sees:, and then comes a diff of git")
    sees = [" ".join(part.split()) for part in re.split(r",|\n", found["sees"]) if part.strip()]
    return Fault(
        patch,
        " ".join(found["what"].split()),
        tuple(tuple(re.split(r" (-k) ", part)) for part in sees if not part.startswith("cargo:")),
        tuple(part.removeprefix("cargo:").strip() for part in sees if part.startswith("cargo:")),
        hashlib.sha256(found["diff"].encode()).hexdigest()[:12],
    )
