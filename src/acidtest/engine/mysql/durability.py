"""What InnoDB's settings promise at a commit, and which of them contradict a level; pure.

See https://mariadb.com/kb/en/innodb-system-variables/ and https://dev.mysql.com/doc/refman/5.5/en/innodb-parameters.html.
"""

from __future__ import annotations

from collections.abc import Mapping

from acidtest.engine.base import shown, without
from acidtest.engine.compare import promised, spoken
from acidtest.errors import BadInput
from acidtest.families import innodb_skips_flushes
from acidtest.journal.models import Scalar

AT_COMMIT = {"none": 0, "os": 2, "drive": 1}  # innodb_flush_log_at_trx_commit
LEVELS = tuple(AT_COMMIT)


def sync_binlog_of(level: str) -> int:
    """The ``sync_binlog`` that a level means: MariaDB rolls back after a crash what its binary log has lost."""
    return 1 if level == "drive" else 0


def refuse_contradictions(engine_id: str, level: str, settings: Mapping[str, Scalar]) -> None:
    """Raise BadInput for a setting under which no drive and no file system could make the level true."""

    def contradicts(name: str, why: str, remedy: str) -> BadInput:
        return BadInput(f"{engine_id}: {name} = {shown(settings[name])} contradicts durability {level}{why}", remedy)

    at_commit = settings.get("innodb_flush_log_at_trx_commit")
    if at_commit is not None and at_commit != AT_COMMIT[level]:
        name = "innodb_flush_log_at_trx_commit"
        meant = [level for level, value in AT_COMMIT.items() if value == at_commit]
        raise contradicts(name, f", which means {AT_COMMIT[level]}", without(name, meant))
    binlog = settings.get("sync_binlog")
    if binlog is not None:
        if not settings.get("log_bin"):
            raise BadInput(
                f"{engine_id}: sync_binlog = {binlog} has no effect without a binary log",
                "ask for log_bin = true as well, or leave sync_binlog out",
            )
        if level == "drive" and binlog != 1:
            why = ": the binary log belongs to the commit and would not be flushed with it"
            raise contradicts("sync_binlog", why, without("sync_binlog", ("none", "os")))
        if level != "drive" and binlog == 1:
            raise contradicts("sync_binlog", ": it flushes at each commit", without("sync_binlog", ("drive",)))
    if level == "os" and settings.get("innodb_log_file_buffering") is False:
        why = ": with innodb_flush_log_at_trx_commit = 2 the log always goes through the OS file cache"
        name = "innodb_log_file_buffering"
        raise contradicts(name, why, without(name, ("none", "drive")))
    if level == "os" and (through := _writes_log_through(settings)):
        why = ": each write of the log goes through to the drive, which is level drive"
        raise contradicts(through, why, without(through, ("drive",)))
    if level == "drive" and (skips := innodb_skips_flushes({name: spoken(value) for name, value in settings.items()})):
        raise contradicts(skips[0], f": {skips[1]}", without(skips[0], ("os",)))


def meaning(level: str, settings: Mapping[str, Scalar]) -> str:
    """One line: the settings behind the level, and what a power cut or OS crash may lose."""
    named = [f"innodb_flush_log_at_trx_commit={AT_COMMIT[level]}"]
    named += [
        f"{name}={spoken(settings[name])}"
        for name in (
            "innodb_flush_method",
            "innodb_log_file_buffering",
            "innodb_log_file_write_through",
            "innodb_data_file_buffering",
            "innodb_data_file_write_through",
            "innodb_doublewrite",
        )
        if name in settings
    ]
    if settings.get("log_bin"):
        named.append(f"sync_binlog={settings.get('sync_binlog', sync_binlog_of(level))}")
    through = _writes_log_through(settings) is not None
    binlog = bool(settings.get("log_bin"))
    does = {
        "none": f"the log is {'written through' if through else 'written and flushed'} about once a second, not at "
        "commit",
        "os": f"the log {'and the binary log are' if binlog else 'is'} handed to the OS at commit, the log is flushed "
        "about once a second",
        "drive": f"the log is {'written through' if through else 'flushed'} "
        f"{'and the binary log is flushed ' if binlog else ''}to the drive at each commit",
    }[level]
    return f"{', '.join(named)}: {promised(does, 'mysql', level, settings)}"


def _writes_log_through(settings: Mapping[str, Scalar]) -> str | None:
    """The setting by which each write of the log waits for the drive."""
    if settings.get("innodb_flush_method") == "O_DSYNC":
        return "innodb_flush_method"
    return "innodb_log_file_write_through" if settings.get("innodb_log_file_write_through") else None
