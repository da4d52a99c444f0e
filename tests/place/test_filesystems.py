"""The table of file systems is the one place that knows them by name."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

import acidtest
from acidtest import filesystems
from acidtest.filesystems import FILESYSTEMS
from acidtest.place import fsck
from acidtest.place.facts import Mount
from acidtest.place.mounts import in_force

# Words in code that are no file system of a place, each with its reason.
ALLOWED = {
    "place/ledger.py": "files that live no longer than a process lie in memory",
    "place/guest/initramfs.py": "shared memory of the guest is a tmpfs, whatever its disk has",
    "place/guest/machine_service.py": "what a guest that stays writes beside its disk lies in memory",
    "cli/plug.py": "what is made on a guest's disk for which no file system is named",
    "analysis/diagnosis.py": "which file systems copy on write, and what an append costs on those that were counted",
    "audit/declared.py": "the name of a rule",
    "cli/disk.py": "what is made on a disk for which no file system is named",
    "audit/importers/containers.py": "what compose files and manifests call a mount of memory",
    "audit/importers/server_commands.py": "what docker run calls a mount of memory",
    "audit/rules/durability.py": "the file system that repairs torn pages by itself",
    "audit/rules/in_memory.py": "what texts and manuals call a mount of memory",
    "report/survival_table.py": "whose journal hides that a directory was not flushed, as far as that was measured",
    "doubts/rules/storage.py": "a manual page, tmpfs(5), is the source of a rule",
}


def in_code(module: Path) -> list[str]:
    """String literals of a module, without docstrings."""
    tree = ast.parse(module.read_text())
    texts = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in texts]
    return [node.value for node in constants if isinstance(node.value, str)]


def test_no_other_module_names_a_file_system() -> None:
    root = Path(str(acidtest.__file__)).parent
    names = re.compile(rf"\b(?:{'|'.join(filesystems.NAMES)})\b")
    found = {}
    for module in sorted(root.rglob("*.py")):
        path = module.relative_to(root).as_posix()
        if path != "filesystems.py" and (words := [text for text in in_code(module) if names.search(text)]):
            found[path] = words
    assert {path: words for path, words in found.items() if path not in ALLOWED} == {}
    assert set(found) == set(ALLOWED), "an allowance that nothing needs"


@pytest.mark.parametrize("name", FILESYSTEMS)
def test_an_entry_is_whole(name: str) -> None:
    table = FILESYSTEMS[name]
    assert table.program
    assert table.package
    assert name in filesystems.NAMES
    assert set(table.without_flushes) <= filesystems.WITHOUT_FLUSHES
    if (check := table.check) is not None:
        assert not set(check.clean) & set(check.errors)
        assert bool(check.repair) == bool(check.repaired)
        assert not check.before_mount or check.repair
    assert fsck.checked_before_mount(name) is (check is not None and check.before_mount)


def test_one_that_no_program_checks_is_not_called_clean(tmp_path: Path) -> None:
    said, words = fsck.look("unheard-of", tmp_path)
    assert (said, words) == ("unknown", "there is no program here that checks unheard-of")
    assert fsck.repair("unheard-of", tmp_path) == (False, "")
    assert not fsck.checked_before_mount("unheard-of")


def test_what_a_program_says_while_it_mends_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acidtest.place.fsck.shutil.which", lambda name: f"/sbin/{name}")
    printed = """jfs_fsck version 1.1.15, 04-Mar-2011
processing started: 11/27/2026 0:46:2
The current device is:  /dev/vda
Block size in bytes:  4096
Filesystem size in blocks:  49152
**Phase 0 - Replay Journal Log
LOGREDO:  Invalid RedoPage record at 0x00d8f8.
logredo failed (rc=-274).  fsck continuing.
**Phase 1 - Check Blocks, Files/Directories, and  Directory Entries
Filesystem is clean.
"""
    ran: list[list[str]] = []

    def run(command: Sequence[str]) -> tuple[int, str]:
        ran.append(list(command))
        return 0, printed

    assert fsck.repair("jfs", Path("/dev/vda"), run) == (
        True,
        "LOGREDO:  Invalid RedoPage record at 0x00d8f8. / logredo failed (rc=-274).  fsck continuing. / Filesystem is clean.",
    )
    assert ran == [["jfs_fsck", "-a", "/dev/vda"]]


@pytest.mark.parametrize(
    ("asked", "shown", "holds"),
    [
        ("noatime", "rw,noatime", True),
        ("noatime", "rw,relatime", False),
        ("atime", "rw,relatime", True),  # not shown, and nothing contradicts it
        ("atime", "rw,noatime", False),
        ("async", "rw,sync", False),
        ("barrier", "rw,noatime", True),
        ("barrier", "rw,nobarrier", False),
        ("norecovery", "ro,noload", True),
        ("stripe", "rw,stripe:8", True),
        ("nobh", "rw", False),
    ],
)
def test_an_option_holds_if_it_is_shown_or_is_a_default_that_nothing_contradicts(
    asked: str, shown: str, holds: bool
) -> None:
    mount = Mount("7:0", "/", "/mnt", shown, "ext4", "/dev/loop0")
    (found,) = in_force([asked], mount, {"norecovery": "noload"}, {"barrier": ("nobarrier",)})
    assert (found.agrees, found.in_force) == (holds, asked if holds else shown)
