"""What must hold of any kit, whatever its bytes are; mutations of seeds; and a search guided by what code they reach."""

from __future__ import annotations

import importlib
import json
import pkgutil
import random
import re
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from acidtest import formats
from acidtest.audit import findings_output, importers, judge
from acidtest.audit import unchecked as kit
from acidtest.audit.importers.file import Broken, File, Importer
from acidtest.audit.sarif import as_sarif
from acidtest.errors import BadInput
from acidtest.formats import linear
from backtracking import adversaries

HERE = Path(__file__).parent
CORPUS = HERE / "corpus"
KITS = HERE.parent / "kits"
SEED_BYTES_MAX = 16_384
BYTES_MAX = 65_536
COSTLY = 400  # characters of a text that is made to cost a pattern much, times how often it is repeated
WHOLE = 0.1  # of all that is tried
SECONDS_MAX = 10.0  # of processor time for one kit of this size
SECONDS = 3.0  # for a kit, of which the first reads all tables, and for each of its bytes
SECONDS_A_BYTE = 40e-6  # traced, which makes it some ten times slower
AUDITED = (str(Path(judge.__file__).parent), str(Path(formats.__file__).parent))

Kit = dict[str, bytes]  # files by name, with "/"
Seed = tuple[str, bytes]  # a file's name and content


class Fault(AssertionError):
    """A kit that is not read as it must be."""


def check(files: Kit, directory: Path) -> None:
    """Read and judge a kit in the empty ``directory``, which is emptied again. Raises Fault."""
    for name, content in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(content)
    begin = time.process_time()
    try:
        bench = importers.read(directory)
        found = judge.of_bench(bench)
        unchecked = kit.unchecked(bench)
        json.dumps(findings_output.as_json(bench, found, unchecked), allow_nan=False)
        as_sarif(bench, found, unchecked)
    except BadInput as error:
        if str(error).partition(":")[0] not in files:  # a declaration that is wrong says so
            raise Fault(f"{type(error).__name__}: {error}") from error
        return
    except Exception as error:
        raise Fault(f"{type(error).__name__}: {error}") from error
    finally:
        for path in directory.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    size = sum(map(len, files.values()))
    if (took := time.process_time() - begin) > min(SECONDS_MAX, SECONDS + size * SECONDS_A_BYTE):
        raise Fault(f"took {took:.1f} s for {size:,} bytes")
    told = {*(name for name, _ in bench.read), *bench.unread, *(one.file for one in (*bench.broken, *bench.passed))}
    if told != set(files):
        raise Fault(f"says nothing of {sorted(set(files) - told)}")
    lines = {name: content.count(b"\n") + content.count(b"\r") + 1 for name, content in files.items()}
    for finding in found:
        for one in finding.evidence:
            if one.file and (one.file not in files or (one.line or 1) < 1):
                raise Fault(f"{finding.rule.name} points at {one.file}:{one.line}, of {lines.get(one.file)} lines")


def seed_paths() -> list[Path]:
    found = [path for folder in (KITS, CORPUS / "seeds") for path in sorted(folder.rglob("*")) if path.is_file()]
    return [path for path in found if not path.name.endswith(".expected.json")]


def seeds() -> list[Seed]:
    """Files to begin from, with the names that they are known by."""
    return [(path.name, path.read_bytes()[:SEED_BYTES_MAX]) for path in seed_paths()]


def kits() -> list[Kit]:
    """Whole kits to begin from: what lies together is held against one another."""
    found = []
    for folder in sorted(path for path in KITS.iterdir() if path.is_dir() and path.name != "fixtures"):
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        found.append({path.relative_to(folder).as_posix(): path.read_bytes()[:SEED_BYTES_MAX] for path in paths})
    return found


@cache
def costly() -> list[bytes]:
    """Texts that cost the most steps of each pattern that reads files of other people, were it to backtrack."""
    patterns: dict[str, re.Pattern[str]] = {}
    for package in (importers, formats):
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            for value in vars(importlib.import_module(module.name)).values():
                if isinstance(value, re.Pattern | linear.Pattern) and isinstance(value.pattern, str):
                    try:
                        patterns[value.pattern] = re.compile(value.pattern)
                    except re.error:
                        continue  # RE2 writes it otherwise
    return sorted(
        {text.encode(errors="replace") for pattern in patterns.values() for text in adversaries(pattern, COSTLY)}
    )


def by_kind() -> dict[str, list[Seed]]:
    """The seeds by the importer that reads them, so that each has the same chance however many seeds it has."""
    found: dict[str, list[Seed]] = {}
    for path in seed_paths():
        kinds = [importer.kind for importer in importers.importers() if reads(importer, File(path, path.name))]
        # A text may be another kind of file too.
        kind = next((kind for kind in kinds if kind != "text"), "text")
        found.setdefault(kind, []).append((path.name, path.read_bytes()[:SEED_BYTES_MAX]))
    return found


def reads(importer: Importer, file: File) -> bool:
    try:
        return importer.read(file) is not None
    except Broken:
        return True


def faults() -> list[Kit]:
    """Kits that were faults once; each is a folder."""
    folders = sorted(path for path in CORPUS.iterdir() if path.is_dir() and path.name not in ("seeds", "folders"))
    return [
        {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
        for folder in folders
    ]


INTERESTING = [
    b"0", b"-1", b"1", b"nan", b"inf", b"1e999", b"-0.0", b"9" * 15, b"9" * 19, b"9" * 400, b"9" * 5000, b"0." + b"0" * 30,
    b"1795297566", b"null", b"true", b'""', b"{}", b"[]", b"[" * 3000, b'{"a":' * 2000, b"\0", b"\xff\xfe", b"\xef\xbb\xbf",
    b"\r", b"\n", b"\x85", "\u2028".encode(), b"\x0c", b",", b'"', b"'", b" " * 300, b"%", b"\\", "٣".encode(), "²".encode(),
    b"skipped", b"failed", b"checkpoint_timeout = 1", b"= ", b"16777216",
]  # fmt: skip
NUMBER = re.compile(rb"\d+(?:\.\d+)?")


def mutate(content: bytes, others: Sequence[Seed], chance: random.Random) -> bytes:
    """``content`` changed in one to six places."""
    raw = bytearray(content)
    for _ in range(chance.choice((1, 1, 1, 2, 3, 6))):
        at = chance.randrange(len(raw) + 1)
        until = min(len(raw), at + chance.choice((1, 2, 8, 40, 200, 2000)))
        match chance.randrange(11):
            case 0 if raw:
                raw[min(at, len(raw) - 1)] ^= 1 << chance.randrange(8)
            case 1:
                del raw[at:until]
            case 2:
                raw[at:at] = raw[at:until]
            case 3:
                raw[at:at] = chance.choice(INTERESTING)
            case 4 | 5:
                numbers = list(NUMBER.finditer(raw))
                if numbers:
                    one = chance.choice(numbers)
                    raw[one.start() : one.end()] = chance.choice((*INTERESTING[:13], chance.choice(numbers)[0]))
            case 6:
                del raw[at:]
            case 7 | 8:
                lines = raw.splitlines(keepends=True)
                other = chance.choice(others)[1].splitlines(keepends=True)
                if lines and other:
                    place = chance.randrange(len(lines))
                    begin = chance.randrange(len(other))
                    taken = other[begin : begin + chance.choice((1, 1, 3, 20))]
                    lines[place : place + chance.randrange(3)] = map(bytearray, taken)
                    raw = bytearray(b"".join(lines))
            case 9 if chance.random() < 0.5:
                raw[at:at] = chance.choice(costly()) * chance.choice((1, 1, 4, 40))
            case 9:
                lines = raw.splitlines(keepends=True)
                chance.shuffle(lines)
                raw = bytearray(b"".join(lines))
            case _:
                raw[at:until] = raw[at:until] * chance.choice((2, 3, 50))
    return bytes(raw[:BYTES_MAX])


class Reached:
    """Which steps from line to line of the audited code have ever been taken."""

    def __init__(self) -> None:
        self.steps: set[tuple[CodeType, int, int]] = set()
        self._last = 0

    def __call__(self, frame: FrameType, event: str, arg: Any) -> Any:
        return self._line if frame.f_code.co_filename.startswith(AUDITED) else None

    def _line(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "line":
            self.steps.add((frame.f_code, self._last, frame.f_lineno))
            self._last = frame.f_lineno
        return self._line


@dataclass
class Search:
    """Mutates what has reached new code before, and keeps what does."""

    seed: int
    pool: dict[str, list[Seed]] = field(default_factory=by_kind)
    reached: Reached = field(default_factory=Reached)
    tried: int = 0
    whole: list[Kit] = field(default_factory=kits)
    kinds: dict[str, str] = field(default_factory=dict)  # of the files of the last kit, by name

    def kits(self) -> Iterator[Kit]:
        chance = random.Random(self.seed)
        every = [one for of in self.pool.values() for one in of]
        yield from ({name: content} for name, content in every)
        while True:
            self.kinds = {}
            if chance.random() < WHOLE:
                yield self._whole(chance, every)
                continue
            files: Kit = {}
            for _ in range(chance.choice((1, 1, 1, 2, 3))):
                kind = chance.choice(list(self.pool))
                of = self.pool[kind]
                # What was found last is as likely as all that was there before.
                name, content = chance.choice(of[-10:] if chance.random() < 0.5 else of)
                if chance.random() < 0.05:
                    name = chance.choice(every)[0]
                self.kinds[name] = kind
                files[name] = mutate(content, every, chance)
            yield files

    def _whole(self, chance: random.Random, every: Sequence[Seed]) -> Kit:
        """One of the kits, with some of its files changed, some gone, and some under another's name."""
        files = dict(chance.choice(self.whole))
        for name in chance.sample(sorted(files), min(len(files), chance.choice((1, 1, 2, 4, 8)))):
            content = files.pop(name)
            if chance.random() < 0.1:
                continue
            if chance.random() < 0.1:
                name = f"{chance.choice(('a/', 'b/bin/', ''))}{chance.choice(every)[0]}"  # noqa: PLW2901
            if not any(file.startswith(f"{name}/") or name.startswith(f"{file}/") for file in files):
                files[name] = mutate(content, every, chance)
        return files

    def run(
        self, directory: Path, seconds: float, tries: int | None = None, *, guided: bool = True
    ) -> Iterator[tuple[Kit, Fault]]:
        """Every fault that is found in that time, or in so many tries."""
        end = time.monotonic() + seconds
        for files in self.kits():
            if time.monotonic() > end or self.tried == tries:
                return
            self.tried += 1
            before = len(self.reached.steps)
            sys.settrace(self.reached if guided else None)
            try:
                check(files, directory)
            except Fault as fault:
                sys.settrace(None)
                yield files, fault
            finally:
                sys.settrace(None)
            if len(self.reached.steps) > before:
                for name, kind in self.kinds.items():
                    if len(files[name]) <= SEED_BYTES_MAX:
                        self.pool[kind].append((name, files[name]))


def keep(files: Kit, corpus: Path = CORPUS) -> Path:
    """Put a fault into the corpus, from where the tests replay it."""
    digest = sha256(b"".join(name.encode() + content for name, content in sorted(files.items()))).hexdigest()[:12]
    folder = corpus / digest
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder
