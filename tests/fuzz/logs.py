"""What must hold of any file that somebody calls a log, whatever its bytes are."""

from __future__ import annotations

import io
import json
import random
import time
from collections.abc import Iterator
from pathlib import Path

from acidtest.errors import BadInput
from acidtest.formats.logs import FORMATS, lines
from acidtest.words import harmless
from acidtest.workload import replaying
from fuzz.harness import CORPUS, Fault, Kit, Seed, mutate

LOGS = Path(__file__).parents[1] / "logs"
FAULTS = CORPUS / "logs"
SECONDS_BASE, SECONDS_A_BYTE = 2.0, 20e-6  # of processor time; five readers and one that makes a replay of it
GROWN_MAX = 8  # what is made of a log, against its bytes
ENTRIES = (
    b'2026-11-23 22:42:01.936 UTC,"a","b",1,"",6b04.1,1,"",2026-11-23 22:42:01 UTC,,0,LOG,00000,"statement: begin",,,,,,,,,""\n',
    b'","""","\n', b"\x00", b"\xff\xfe", b"# Time: 2026-11-23T22:42:01.936000Z\n", b"# Query_time: 99999999.999999\n",
    b"2026-11-23T22:42:01.936000Z\t    8 Execute\tinsert into t values ('a''b;\\'c');commit;begin\n",
    b"261123 22:42:01\t   8 Query\tset autocommit=0\n", b"\t\t   8 Query\txa start 'x'\n", b"2026-11-23T22:42:01.9360 (1:0x1) ",
    b"param0 = varchar(20), \"a\nparam1 = b\"\n", b"$$ $a$ ; $a$ $$", b"/* ; */ -- ;\n", b"parameters: $1 = 'a', $2 = NULL",
    b"\t\t(TRA_75, READ_COMMITTED)\n", b'{"timestamp":"2026-11-23 22:42:01.936 UTC","message":"\\ud800","session_id":"x"}\n',
    b"9999-12-31 23:59:59.999 UTC", b"duration: 999999999999.999 ms  execute a: select $1", b"E'\\'", b"'" * 300, b"((((" * 200,
)  # fmt: skip


def seeds() -> list[Seed]:
    """A log of each format that is known."""
    return [(path.name, path.read_bytes()) for path in sorted(LOGS.iterdir())]


def check(content: bytes, directory: Path) -> None:
    """Read a log with each reader and make a replay of it, in the empty ``directory``. Raises Fault."""
    begin = time.process_time()
    try:
        for one in FORMATS:
            numbers = content.count(b"\n") + 1
            for entry in one.read(lines(io.BytesIO(content))):
                if not 0 <= entry.line <= numbers:
                    raise Fault(f"{one.name}: an entry of line {entry.line}, and there are {numbers}")
        _make(content, directory)
    except Fault:
        raise
    except Exception as error:
        raise Fault(f"{type(error).__name__}: {error}") from error
    if (took := time.process_time() - begin) > SECONDS_BASE + SECONDS_A_BYTE * len(content):
        raise Fault(f"took {took:.1f} s for {len(content):,} bytes")


def _make(content: bytes, directory: Path) -> None:
    log = directory / "a.log"
    log.write_bytes(content)
    out = io.BytesIO()
    try:
        facts = replaying.made([log], None, out)
    except BadInput as error:
        for problem in error.problems:
            told = problem.message + problem.remedy
            if "\n" in told or harmless(told, 100_000) != told or not problem.message.startswith(str(log)):
                raise Fault(f"is not told in a plain line that names the file: {problem.message!r}") from error
        return
    written = out.getvalue()
    if len(written) > GROWN_MAX * len(content) + 1000:
        raise Fault(f"{len(written):,} bytes were made of {len(content):,}")
    *statements, whole = [json.loads(line) for line in written.splitlines()]
    sessions = {statement[0] for statement in statements}
    if sorted(number for lane in whole["lanes"] for number in lane) != list(range(len(whole["sessions"]))):
        raise Fault("a session is in no lane, or in two")
    if sessions - set(range(len(whole["sessions"]))):
        raise Fault("a statement is of no session")
    _check_transactions(statements)
    if any(
        harmless(line, 100_000) != line
        for line in (*facts.notes, *(not_replayed.why for not_replayed in facts.not_replayed))
    ):
        raise Fault("what is told of it is not plain")


def _check_transactions(statements: list[list[object]]) -> None:
    """Each transaction that begins ends, and none begins within another."""
    is_open: dict[object, bool] = {}
    for session, _, what, *_ in statements:
        begins, ends = what in ("b", "i"), what in ("c", "r")
        if (begins and is_open.get(session)) or (ends and not is_open.get(session)):
            raise Fault(f"session {session}: {what} where a transaction is {'open' if begins else 'not open'}")
        is_open[session] = begins or (bool(is_open.get(session)) and not ends)
    if any(is_open.values()):
        raise Fault("a transaction does not end")


def faults() -> list[Kit]:
    """Logs that were faults once."""
    return [{path.name: path.read_bytes() for path in sorted(one.iterdir())} for one in sorted(FAULTS.glob("*"))]


def contents(seed: int) -> Iterator[bytes]:
    """The logs, again and again with other mistakes in them."""
    whole = seeds()
    others: list[Seed] = [*whole, *(("entry", entry) for entry in ENTRIES)]
    chance = random.Random(seed)
    while True:
        _, content = chance.choice(whole)
        for _ in range(chance.choice((1, 1, 2, 4))):
            if chance.random() < 0.4:
                at = chance.randrange(len(content) + 1)
                content = content[:at] + chance.choice(ENTRIES) * chance.choice((1, 1, 50)) + content[at:]
            else:
                content = mutate(content, others, chance)
        yield content


def run(seed: int, directory: Path, seconds: float, tries: int | None = None) -> Iterator[tuple[Kit, Fault]]:
    """Every fault that is found in that time, or in so many tries."""
    end = time.monotonic() + seconds
    for tried, content in enumerate(contents(seed)):
        if time.monotonic() > end or tried == tries:
            return
        try:
            check(content, directory)
        except Fault as fault:
            yield {"a.log": content}, fault
