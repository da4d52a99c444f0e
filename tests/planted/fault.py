"""One planted fault: a patch with headers, and the tests that could see it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

DIRECTORY = Path(__file__).parent


@dataclass(frozen=True)
class Fault:
    name: str
    patch: Path
    digest: str
    what: str
    tests: tuple[tuple[str, ...], ...]  # arguments of pytest: a file, or a file and -k with an expression
    crates: tuple[str, ...]

    @property
    def room(self) -> str:
        return self.name.partition("-")[0]


def read(patch: Path) -> Fault:
    """Raises ValueError for a patch without the headers ``What:`` and ``Sees:``."""
    head, _, diff = patch.read_text().partition("\ndiff --git ")
    headers: dict[str, list[str]] = {}
    name = ""
    for line in head.splitlines():
        if line[:1].isspace():
            headers[name].append(line)
        else:
            name, _, value = line.partition(":")
            headers.setdefault(name, []).append(value)
    what = " ".join(" ".join(headers.get("What", [])).split())
    parts = [part.strip() for part in ",".join(headers.get("Sees", [])).replace(",,", ",").split(",")]
    crates = tuple(part.partition(":")[2].strip() for part in parts if part.startswith("cargo:"))
    tests = tuple(_arguments(part) for part in parts if part and not part.startswith("cargo:"))
    if not what or not (crates or tests) or set(headers) != {"What", "Sees"}:
        raise ValueError(
            f"{patch}: a planted fault begins with the headers What: and Sees:, and then comes a diff of git"
        )
    return Fault(patch.stem, patch, hashlib.sha256(diff.encode()).hexdigest()[:12], what, tests, crates)


def _arguments(part: str) -> tuple[str, ...]:
    file, _, expression = part.partition(" -k ")
    return (file, "-k", expression.strip()) if expression else (file,)
