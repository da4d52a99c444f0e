"""What InnoDB's settings promise at a commit, and which of them contradict a level; pure.

See https://mariadb.com/kb/en/innodb-system-variables/ and https://dev.mysql.com/doc/refman/5.5/en/innodb-parameters.html.
"""

from __future__ import annotations

from collections.abc import Mapping

from acidtest.engine.base import shown
from acidtest.engine.compare import spoken
from acidtest.errors import BadInput
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

    leave = "leave {} out, or ask for the level that it means"
    at_commit = settings.get("innodb_flush_log_at_trx_commit")
    if at_commit is not None and at_commit != AT_COMMIT[level]:
        name = "innodb_flush_log_at_trx_commit"
        raise contradicts(name, f", which means {AT_COMMIT[level]}", leave.format(name))
    binlog = settings.get("sync_binlog")
    if binlog is not None:
        if not settings.get("log_bin"):
            raise BadInput(
                f"{engine_id}: sync_binlog = {binlog} has no effect without a binary log",
                "ask for log_bin = true as well, or leave sync_binlog out",
            )
        if level == "drive" and binlog != 1:
            why = ": the binary log belongs to the commit and would not be flushed with it"
            raise contradicts("sync_binlog", why, leave.format("sync_binlog"))
        if level != "drive" and binlog == 1:
            raise contradicts("sync_binlog", ": it flushes at each commit", leave.format("sync_binlog"))
    if level == "os" and settings.get("innodb_log_file_buffering") is False:
        why = ": with innodb_flush_log_at_trx_commit = 2 the log always goes through the OS file cache"
        raise contradicts("innodb_log_file_buffering", why, "leave it out, or ask for another level")
    if level == "os" and (through := _writes_log_through(settings)):
        why = ": each write of the log goes through to the drive, which is level drive"
        raise contradicts(through, why, f"ask for durability drive, or leave {through} out")
    if level == "drive" and (skips := _skips_flushes(settings)):
        raise contradicts(skips[0], f": {skips[1]}", f"ask for durability os, or leave {skips[0]} out")


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
        "commit: a crash of the engine or the OS, or a power cut, may lose the last commits",
        "os": f"the log {'and the binary log are' if binlog else 'is'} handed to the OS at commit, the log is flushed "
        "about once a second: an OS crash or power cut may lose the last commits",
        "drive": f"the log is {'written through' if through else 'flushed'} "
        f"{'and the binary log is flushed ' if binlog else ''}to the drive at each commit",
    }[level]
    doubts = []
    if skips := _skips_flushes(settings):
        doubts.append(f"since {skips[1]}")
    elif _relies_on_finished_writes(settings):
        doubts.append("where a finished direct write of a data file is not yet on the drive")
    if settings.get("innodb_doublewrite") is False:
        doubts.append("where the drive can tear a page")
    if doubts:
        breaks = f"may break the database {' and '.join(doubts)}"
        does += f"; a power cut {breaks}" if level == "drive" else f" and {breaks}"
    elif level != "drive":
        does += ", the database stays whole"
    return f"{', '.join(named)}: {does}"


def _writes_log_through(settings: Mapping[str, Scalar]) -> str | None:
    """The setting by which each write of the log waits for the drive."""
    if settings.get("innodb_flush_method") == "O_DSYNC":
        return "innodb_flush_method"
    return "innodb_log_file_write_through" if settings.get("innodb_log_file_write_through") else None


def _skips_flushes(settings: Mapping[str, Scalar]) -> tuple[str, str] | None:
    """The setting by which the log lets go of changes that only the OS has, or commits are not flushed; and why."""
    method = settings.get("innodb_flush_method")
    if method == "nosync":
        return "innodb_flush_method", "neither commits nor checkpoints wait for a flush"
    if method == "littlesync":
        return "innodb_flush_method", "it promises no flush of data files"
    buffered = settings.get("innodb_data_file_buffering") and not settings.get("innodb_data_file_write_through")
    if settings.get("innodb_doublewrite") == "fast" and buffered:
        return "innodb_doublewrite", "checkpoints do not wait for a flush of data files"
    return None


def _relies_on_finished_writes(settings: Mapping[str, Scalar]) -> bool:
    """Whether a direct write of a data file is taken for durable when it has ended, which depends on the place."""
    if settings.get("innodb_data_file_write_through"):
        return False
    return settings.get("innodb_flush_method") == "O_DIRECT_NO_FSYNC" or settings.get("innodb_doublewrite") == "fast"
