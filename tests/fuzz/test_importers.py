"""Every fault that fuzzing has found, and some thousands of mutations. A failure prints the seed that finds it again."""

from __future__ import annotations

from pathlib import Path

import pytest

from acidtest.audit import importers
from acidtest.audit.importers.file import File
from fuzz import harness
from support import times

pytestmark = pytest.mark.slow

SEED = 20261121
TRIES = times(600, 2500)


@pytest.mark.parametrize("files", harness.faults(), ids=lambda files: next(iter(files)))
def test_a_fault_of_the_past(files: harness.Kit, tmp_path: Path) -> None:
    harness.check(files, tmp_path)


@pytest.mark.parametrize(("name", "content"), harness.seeds(), ids=lambda one: one if isinstance(one, str) else "")
def test_a_seed_and_each_of_its_beginnings(name: str, content: bytes, tmp_path: Path) -> None:
    for length in sorted({len(content) * part // 8 for part in range(9)}):
        harness.check({name: content[:length]}, tmp_path)


@pytest.mark.parametrize("files", harness.kits(), ids=lambda files: next(iter(files)))
def test_a_whole_kit(files: harness.Kit, tmp_path: Path) -> None:
    harness.check(files, tmp_path)


def test_every_importer_has_a_seed() -> None:
    read = set()
    for path in harness.seed_paths():
        file = File(path, path.name)
        read |= {importer.read for importer in importers.importers() if harness.reads(importer, file)}
    assert [importer.read for importer in importers.importers() if importer.read not in read] == []


def test_mutations(tmp_path: Path) -> None:
    for files, fault in harness.Search(SEED).run(tmp_path, seconds=300, tries=TRIES, guided=False):
        pytest.fail(f"seed {SEED}: {fault}: {files}", pytrace=False)
