"""What must hold of any folder that a user calls a workload, whatever its bytes are."""

from __future__ import annotations

import itertools
import json
import os
import random
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from acidtest.errors import BadInput
from acidtest.experiment import parse
from acidtest.families import FAMILIES
from acidtest.words import harmless
from acidtest.workload.base import Runner
from fuzz.harness import CORPUS, Fault, Kit, Seed, mutate
from workloads import SHOP

FAULTS = CORPUS / "folders"
SECONDS_MAX = 10.0  # of processor time for one folder
NAMES = (
    "buy.firebird.sql", "buy.mysql.sqlite.sql", "load.sql", "pay.sql", "Workload.toml", "customer.csv", "a b.sql", ".sql",
    "..sql", ".csv", "x.CSV", "schema.postgresql.sql", "conditions.oracle.sql", "ü.sql", "line\nbreak.sql", "con.csv.sql",
)  # fmt: skip
TOML = (
    b"[variables]\n", b"[transactions]\n", b"[load.customer]\n", b'csv = "country.csv"\n', b"rows = 1e3\n", b"buy = 0\n",
    b"columns = { }\n", b'x = "\\u0000"\n', b"x = 0x" + b"f" * 6_000 + b"\n", b"x = 2026-01-01\n", b"scale = nan\n",
    b"x = -9223372036854775809\n", b"[load.'']\n", b'"a\\nb" = 1\n', b"description = '\x7f'\n", b"[[load]]\n",
)  # fmt: skip
# Beside the folder: a database file that takes the place of its load, and a command that brings a prepared one back.
DATABASE, RESTORE = "the.database", "the.restore"
OF_DATABASES: tuple[Seed, ...] = (
    (DATABASE, b"SQLite format 3\0\x10\x00\x01\x01\x00\x40\x20\x20" + bytes(76)),
    (DATABASE, b"\x01\x00" + bytes(14) + b"\x00\x20\x0d\x80" + bytes(22) + b"\x12\x00" + bytes(20) + b"\x01\x00" + bytes(62)),
    (RESTORE, b"sh restore.sh 'a b' \\c"), (RESTORE, b"\"\n\x00'"), (RESTORE, b"$(x) `y` \xc2\x85 \xed\xa0\x80"),
)  # fmt: skip
EXPERIMENT = 'name = "t"\nengine = "sqlite"\ndurability = "drive"\n[workload.t]\nkind = "sql"\ncount = 1\npath = "w"\n'


def check(files: Kit, directory: Path) -> None:
    """Read the folder in the empty ``directory``, which is emptied again. Raises Fault."""
    folder = directory / "w"
    folder.mkdir()
    experiment = EXPERIMENT
    for name, content in files.items():
        if name == RESTORE:
            experiment += f"prepared = true\nrestore = {json.dumps(content.decode(errors='replace'))}\n"
            continue
        if name == DATABASE:
            experiment += f'database_file = "{DATABASE}"\n'
        (directory if name == DATABASE else folder).joinpath(name).write_bytes(content)
    begin = time.process_time()
    try:
        made = parse(experiment, "t.toml", base=directory).workload["t"]
        made.message().model_dump_json(by_alias=True)
        made.loaded_text()
        made.told_before()
        for family, private in itertools.product(FAMILIES, (False, True)):
            made.refused(Runner(family=family, release=(5, 0), private=private, raw=False))
    except BadInput as error:
        for problem in error.problems:
            told = problem.message + problem.remedy
            begins = (str(folder), str(directory / DATABASE), "t.toml: ")
            if "\n" in told or harmless(told, 100_000) != told or not problem.message.startswith(begins):
                raise Fault(f"is not told in a plain line that names the file: {problem.message!r}") from error
    except Exception as error:
        raise Fault(f"{type(error).__name__}: {error}") from error
    finally:
        shutil.rmtree(folder)
        (directory / DATABASE).unlink(missing_ok=True)
    if (took := time.process_time() - begin) > SECONDS_MAX:
        raise Fault(f"took {took:.1f} s for {sum(map(len, files.values())):,} bytes")


def faults() -> list[Kit]:
    """Folders that were faults once."""
    folders = sorted(FAULTS.iterdir()) if FAULTS.is_dir() else []
    return [{path.name: path.read_bytes() for path in sorted(folder.iterdir())} for folder in folders]


def folders(seed: int) -> Iterator[Kit]:
    """The shop, again and again with other mistakes in it."""
    whole = {path.name: path.read_bytes() for path in sorted(SHOP.iterdir())}
    others: list[Seed] = [*whole.items(), *(("workload.toml", line) for line in TOML)]
    chance = random.Random(seed)
    while True:
        files = dict(whole)
        if chance.random() < 0.2:
            name, content = chance.choice(OF_DATABASES)
            files[name] = mutate(content, OF_DATABASES, chance) if chance.random() < 0.8 else content
        for _ in range(chance.choice((1, 1, 2, 4))):
            # workload.toml has the most to be got wrong.
            name = "workload.toml" if chance.random() < 0.5 else chance.choice(sorted(files) or ["workload.toml"])
            content = files.pop(name, b"")
            match chance.randrange(8):
                case 0:
                    continue
                case 1:
                    name = chance.choice((*NAMES, os.fsdecode(b"\xff.sql")))
                case 2 | 3:
                    lines = content.splitlines(keepends=True)
                    lines.insert(chance.randrange(len(lines) + 1), chance.choice(TOML))
                    content = b"".join(lines)
                case _:
                    content = mutate(content, others, chance)
            files[name] = content
        yield files


def run(seed: int, directory: Path, seconds: float, tries: int | None = None) -> Iterator[tuple[Kit, Fault]]:
    """Every fault that is found in that time, or in so many tries."""
    end = time.monotonic() + seconds
    for tried, files in enumerate(folders(seed)):
        if time.monotonic() > end or tried == tries:
            return
        try:
            check(files, directory)
        except Fault as fault:
            yield files, fault
