"""Reads a checkout of OLTP-EMUL: its scripts for Firebird 3.0 and later, and one of its configurations.

Nothing of it is run here, and nothing is written there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from acidtest.errors import BadInput, Problems
from acidtest.formats import regular
from acidtest.words import counted, harmless

SOURCE = "src"
CONFIG = "oltp40_config.nix"
SCRIPT_BYTES_MAX = 8 << 20
UNITS_MAX = 32

BUILD = ("oltp30_DDL.sql", "oltp30_sp.sql", "oltp_common_sp.sql", "oltp_misc_debug.sql", "oltp_main_filling.sql")
SPLIT = "oltp_split_heavy_tabs_{}.sql"
FILL = ("oltp_data_filling.sql",)
ADJUST = ("oltp_adjust_DDL.sql", "oltp_replication_DDL.sql", "oltp_adjust_eds_calls.sql", "oltp_adjust_eds_perf.sql")
UNITS_OF = "oltp_main_filling.sql"

# Of a configuration: what takes one value only, with the reason.
ONLY = {
    "use_es": ("0", "its calls through another connection need the kit's own server and users"),
    "mon_unit_perf": ("0", "acidtest asks for the engine's counters itself"),
    "used_in_replication": ("0", "acidtest sets up no replica"),
    "sleep_max": ("0", "a pause between operations is think_ms in the experiment"),
    "unit_selection_method": ("random", "the other one is for the kit's own debugging"),
}
WHOLE = ("init_docs", "expected_workers", "update_conflict_percent", "recalc_idx_min_interval", "qmism_verify_bitset")
FLAGS = ("no_auto_undo", "separate_workers", "create_with_split_heavy_tabs", "create_with_separate_qdistr_idx")
WORDS = {"create_with_compound_columns_order": ("most_selective_first", "least_selective_first")}
PLAIN = ("working_mode", "halt_test_on_errors", "test_intervals", "create_with_debug_objects")
READ = (*ONLY, *WHOLE, *FLAGS, *WORDS, *PLAIN)
_UNIT = re.compile(r"insert\s+into\s+business_ops\s*\([^()]*\)\s*values\s*\(\s*'([a-z0-9_$]+)'", re.IGNORECASE)
_COMMENT = re.compile(r"--[^\n]*")


@dataclass(frozen=True)
class Script:
    path: str  # as messages name it
    text: str


@dataclass(frozen=True)
class Kit:
    """What is read of a checkout, sound as far as the lab can tell."""

    title: str
    scripts: Mapping[str, Script]  # by name
    units: tuple[str, ...]  # its business operations
    config: Mapping[str, str]  # of READ
    hashes: Mapping[str, str]  # SHA-256 of each file, by its name

    def split(self) -> str:
        """The name of the script that splits the tables most written to, or leaves them whole."""
        return SPLIT.format(self.config["create_with_split_heavy_tabs"])


def read(path: Path, config: Path | None) -> Kit:
    """The checkout at ``path`` with the configuration ``config``; None: the kit's own for Firebird 4.0 on Linux.

    Raises BadInput with everything that is wrong in them.
    """
    source = path / SOURCE
    if not source.is_dir():
        raise BadInput(
            f"{path}: is no checkout of OLTP-EMUL: it has no folder {SOURCE}",
            "clone https://github.com/FirebirdSQL/oltp-emul and name its folder",
        )
    problems = Problems()
    scripts: dict[str, Script] = {}
    hashes: dict[str, str] = {}
    for name in (*BUILD, *(SPLIT.format(flag) for flag in (0, 1)), *FILL, *ADJUST):
        with problems.gather():
            content = _text(source / name)
            scripts[name], hashes[name] = Script(str(source / name), content.text), content.sha256
    at = config or source / CONFIG
    said: dict[str, str] = {}
    with problems.gather():
        content = _text(at)
        hashes[at.name] = content.sha256
        said = _config(at, content.text)
    units: tuple[str, ...] = ()
    if UNITS_OF in scripts:
        with problems.gather():
            units = _units(scripts[UNITS_OF])
    problems.check()
    return Kit(path.resolve().name, scripts, units, said, hashes)


def _text(path: Path) -> regular.Text:
    try:
        return regular.text(path, SCRIPT_BYTES_MAX)
    except regular.Unreadable as error:
        raise BadInput(f"{path}: {error}", "name a whole checkout of OLTP-EMUL") from None


def _units(script: Script) -> tuple[str, ...]:
    """The business operations that the script puts into their table."""
    units = tuple(dict.fromkeys(unit.lower() for unit in _UNIT.findall(_COMMENT.sub("", script.text))))
    if not 0 < len(units) <= UNITS_MAX:
        filled = counted(len(units), "operation")
        raise BadInput(
            f"{script.path}: fills business_ops with {filled}, and acidtest takes 1 to {UNITS_MAX}",
            "name a checkout whose script inserts them row by row, as OLTP-EMUL's does",
        )
    return units


def _config(path: Path, text: str) -> dict[str, str]:
    """The entries that acidtest reads. Raises BadInput for all that it cannot follow."""
    given: dict[str, str] = {}
    for line in text.splitlines():
        key, equals, value = line.strip().partition("=")
        if equals and not key.startswith("#"):
            given[key.strip().lower()] = value.strip()
    problems = Problems()
    for key in READ:
        if key not in given:
            problems.add(BadInput(f"{path}: has no {key}", "take it from the kit's own configuration"))
            continue
        with problems.gather():
            _check(path, key, given[key])
    if given.get("use_external_to_stop"):
        problems.add(
            BadInput(f"{path}: use_external_to_stop: acidtest ends a run itself", "comment it out, as the kit has it")
        )
    problems.check()
    return {key: given[key] for key in READ}


def _check(path: Path, key: str, value: str) -> None:
    shown = harmless(value, 80)
    if key in ONLY:
        only, why = ONLY[key]
        if value != only:
            raise BadInput(f"{path}: {key} = {shown}: {why}", f"set {key} = {only}")
    elif key in WHOLE and not re.fullmatch(r"\d{1,9}", value):
        raise BadInput(f"{path}: {key} = {shown} is no whole number", f"set {key} to one of 0 to 999999999")
    elif key in FLAGS and value not in ("0", "1"):
        raise BadInput(f"{path}: {key} = {shown} is neither 0 nor 1", f"set {key} to one of them")
    elif key in WORDS and value not in WORDS[key]:
        raise BadInput(f"{path}: {key} = {shown} is none of {', '.join(WORDS[key])}", f"set {key} to one of them")
    elif not value.isprintable() or value.startswith("$") or len(value) > 160:
        raise BadInput(f"{path}: {key} = {shown} cannot be taken as it stands", "write the value itself")
