"""Reads a checkout of OLTP-EMUL: its scripts for Firebird 3.0 and later, and one of its configurations.

Nothing is written there, and nothing of it is run but one function of its shell script, which writes what isql is to
run in a session.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from acidtest.errors import BadInput, MachineLacks, Problems
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
SHELL = "1run_oltp_emul.sh"
FUNCTION = "gen_working_sql"
FUNCTION_S = 300.0  # of so many operations as a session of the kit has
_FUNCTION = re.compile(rf"^{FUNCTION}\(\) \{{$.*?^\}} # end of {FUNCTION}\(\)$", re.MULTILINE | re.DOTALL)

# Of a configuration: what takes one value only, with the reason.
ONLY = {
    "use_es": ("0", "its calls through another connection need the kit's own server and users"),
    "mon_unit_perf": ("0", "acidtest asks for the engine's counters itself"),
    "used_in_replication": ("0", "acidtest sets up no replica"),
    "sleep_max": ("0", "a pause between operations is think_ms in the experiment"),
    "unit_selection_method": ("random", "the other one is for the kit's own debugging"),
}
ACTIONS = "actions_todo_before_reconnect"
WHOLE = ("init_docs", "expected_workers", "update_conflict_percent", "recalc_idx_min_interval", "qmism_verify_bitset")
FLAGS = ("no_auto_undo", "separate_workers", "create_with_split_heavy_tabs", "create_with_separate_qdistr_idx",
         "detailed_info")  # fmt: skip
WORDS = {"create_with_compound_columns_order": ("most_selective_first", "least_selective_first")}
PLAIN = ("working_mode", "halt_test_on_errors", "test_intervals", "create_with_debug_objects")
READ = (*ONLY, ACTIONS, *WHOLE, *FLAGS, *WORDS, *PLAIN)
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
    session: Script  # for isql, with one operation
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
    shell = ""
    with problems.gather():
        content = _text(source / SHELL)
        shell, hashes[SHELL] = content.text, content.sha256
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
    session = Script(str(source / SHELL), working_script(source / SHELL, shell, said, actions=1))
    return Kit(path.resolve().name, scripts, units, said, session, hashes)


def working_script(
    path: Path,
    shell: str,
    config: Mapping[str, str],
    *,
    actions: int,
    variables: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
) -> str:
    """The script for isql that the kit's shell script ``shell``, read from ``path``, makes for a session of ``actions``
    operations.

    Its function is run by bash in an empty directory, with ``config``, and with ``variables`` where they say more: to a
    Firebird from 4.0 on it asks the database by ``isql_name``. Without them it writes what holds for all, but that the
    transaction is a snapshot. Raises BadInput for what is no such script, MachineLacks without bash.
    """
    function = _FUNCTION.search(shell.replace("\r", ""))
    if function is None:
        raise BadInput(f"{path}: has no function {FUNCTION}", "name a whole checkout of OLTP-EMUL")
    bash = shutil.which("bash")
    if bash is None:
        raise MachineLacks(f"{path}: its function {FUNCTION} is bash's", "install bash")
    with tempfile.TemporaryDirectory(prefix="acidtest-kit-") as directory:
        script = Path(directory) / "session.sql"
        told = {
            "tmpdir": directory, "log4all": "/dev/null", "shname": "acidtest", "cfg": "the kit's own", "fb": "30",
            "isql_name": "false", "dbconn": "", "dbauth": "", "usr": "", "pwd": "", "mon_unit_perf": "0",
            "mon_query_interval": "60", "warm_time": "0", "test_time": "1",
            **{key: config[key] for key in ("separate_workers", "update_conflict_percent", "expected_workers")},
            **(variables or {}),
        }  # fmt: skip
        flags = config["no_auto_undo"], config["detailed_info"]
        words = ["run_test", str(script), str(actions), *flags, "0", "0", "", ""]
        text = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in told.items())
        text += f"sho() {{ :; }}\ncatch_err() {{ :; }}\n{function[0]}\n{FUNCTION} {shlex.join(words)}\n"
        try:
            ended = subprocess.run(
                [bash, "--noprofile", "--norc"], input=text.encode(), cwd=directory, capture_output=True, check=False,
                env={"PATH": os.defpath} if environment is None else dict(environment), timeout=FUNCTION_S,
            )  # fmt: skip
            return regular.text(script, SCRIPT_BYTES_MAX).text
        except subprocess.TimeoutExpired:
            wrong = f"did not end within {FUNCTION_S:.0f} s"
        except regular.Unreadable:
            said = harmless(ended.stderr.decode(errors="replace").strip()[-300:], 300)
            wrong = f"wrote no script: {said}" if said else "wrote no script"
    raise BadInput(f"{path}: its function {FUNCTION} {wrong}", "name a checkout whose own sessions work")


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
    elif key == ACTIONS and not re.fullmatch(r"[1-9]\d{0,6}", value):
        raise BadInput(f"{path}: {key} = {shown} is none of 1 to 9999999", f"set {key} to one of them")
    elif key in WHOLE and not re.fullmatch(r"\d{1,9}", value):
        raise BadInput(f"{path}: {key} = {shown} is no whole number", f"set {key} to one of 0 to 999999999")
    elif key in FLAGS and value not in ("0", "1"):
        raise BadInput(f"{path}: {key} = {shown} is neither 0 nor 1", f"set {key} to one of them")
    elif key in WORDS and value not in WORDS[key]:
        raise BadInput(f"{path}: {key} = {shown} is none of {', '.join(WORDS[key])}", f"set {key} to one of them")
    elif not value.isprintable() or value.startswith("$") or len(value) > 160:
        raise BadInput(f"{path}: {key} = {shown} cannot be taken as it stands", "write the value itself")
