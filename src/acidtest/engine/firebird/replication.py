"""A Firebird 4 server with a replica, synchronous or asynchronous.

The replica begins with a copy of the primary's file. Source: "Replication" in the release notes of Firebird 4,
https://www.firebirdsql.org/file/documentation/release_notes/html/en/4_0/rlsnotes40.html, and the replication.conf that
comes with it.
"""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from acidtest.engine.base import Ask, Engine, Launcher
from acidtest.engine.firebird.instance import USER
from acidtest.engine.firebird.server import FirebirdServer, ServerInstance
from acidtest.engine.replication import Mode, Pair, Replication, Seen
from acidtest.errors import BadInput, CellFailed
from acidtest.journal.models import Scalar

PORT = 3050  # nobody else is in the replica's network
CARRIER_PORT = 3051  # there too
CARRIER = [sys.executable, "-P", str(Path(__file__).with_name("carrier.py"))]
ARCHIVE_S = 1  # the least; by default a segment that is not full waits for a minute
APPLIED_S = 120.0  # for what the replica has received and not applied yet
SYNCHRONOUS = Mode("synchronous", "sync_replica, with disable_on_error = true as by default", "drive")
ASYNCHRONOUS = Mode(
    "asynchronous",
    f"journal_archive_timeout = {ARCHIVE_S}, and a journal_archive_command that sends each segment over the link",
    "nothing",
)
PUBLISHED = "select count(*) from rdb$publications where rdb$active_flag = 1"
# Of a replica's replication.log, where it is verbose.
STARTED = "Started replication for database"
NOTHING_NEW = "No new segments found"
# 1 is read-only; the sessions are those that the primary writes by.
REPLICA_STATE = (
    "select d.mon$replica_mode, (select count(*) from mon$attachments a where a.mon$remote_address starting with '{}') "
    "from mon$database d"
)


class FirebirdPair(Pair):
    """What both modes share."""

    instances = ServerInstance
    primary: ServerInstance
    replica: ServerInstance

    def prepare(self) -> None:
        self.primary.configure()
        self.primary.publish()

    def replicate(self) -> None:
        self.primary.configure()
        self.replica.configure()
        self.replica.be_replica(read_only=True)
        self.replica.listens(self.ends.replica, PORT)
        self.join()

    @property
    def _files(self) -> tuple[Path, Path]:
        """The databases, where they are."""
        primary, replica = (instance.database_files()[0].resolve() for instance in (self.primary, self.replica))
        return primary, replica

    def start_alone(self, launcher: Launcher, ask: Ask) -> None:
        self.primary.replicate_by("")  # each session reads it
        self.primary.start(launcher)

    def take_over(self, launcher: Launcher, ask: Ask) -> None:
        """The server's sessions from the primary are ended with it: a replica is made a database of its own alone."""
        self.replica.stop()
        self.replica.be_replica(read_only=False)
        self.serve(launcher, ask)

    def serve(self, launcher: Launcher, ask: Ask) -> None:
        self.replica.replicate_by("")
        self.replica.stands_beside([], 0)
        self.replica.start(launcher)


class SynchronousPair(FirebirdPair):
    def join(self) -> None:
        file, replica = self._files
        to = f"{USER}:{self.replica.password}@{self.ends.replica}/{PORT}:{replica}"
        self.primary.replicate_by(section(file, sync_replica=to))

    def seen(self, ask_primary: Ask, ask_replica: Ask, *, loaded: bool) -> Seen:
        published = ask_primary(PUBLISHED)[0][0]
        mode, sessions = ask_replica(REPLICA_STATE.format(self.ends.primary))[0]
        errors = self.primary.replication_errors()
        text = (
            f"publications that are active {published}, MON$REPLICA_MODE of the replica {mode}, its sessions from the "
        )
        text += f"primary {sessions}, replication.log: {errors or 'no error'}"
        keeps_up = published == "1" and mode == "1" and not errors and (not loaded or sessions not in ("0", None))
        return Seen(text, in_force=keeps_up)


class AsynchronousPair(FirebirdPair):
    """The primary's journal lies beside its database, on its disk, and what the replica has received on the other."""

    def replicate(self) -> None:
        for directory in (self._journal, self._received):
            directory.mkdir()
        super().replicate()

    @property
    def _journal(self) -> Path:
        return self._files[0].with_name("journal")

    @property
    def _received(self) -> Path:
        return self._files[1].with_name("received")

    def join(self) -> None:
        file, replica = self._files
        send = f"{shlex.join([*CARRIER, 'send'])} $(pathname) {self.ends.replica} {CARRIER_PORT}"
        self.primary.replicate_by(
            section(
                file,
                journal_directory=self._journal,
                journal_archive_command=send,
                journal_archive_timeout=ARCHIVE_S,
            )
        )
        # It looks for new segments each second, and says what it does with each.
        self.replica.replicate_by(
            section(replica, journal_source_directory=self._received, verbose_logging="true", apply_idle_timeout=1)
        )
        at = (self.ends.replica, CARRIER_PORT)
        self.replica.stands_beside([*CARRIER, "receive", str(self._received), at[0], str(at[1])], at[1])

    def seen(self, ask_primary: Ask, ask_replica: Ask, *, loaded: bool) -> Seen:
        published = ask_primary(PUBLISHED)[0][0]
        mode = ask_replica(REPLICA_STATE.format(self.ends.primary))[0][0]
        errors = self.primary.replication_errors() or self.replica.replication_errors()
        segments = len(list(self._journal.iterdir()))
        applies = STARTED in self.replica.replication_log()
        text = (
            f"publications that are active {published}, segments in the primary's journal {segments}, "
            f"MON$REPLICA_MODE of the replica {mode}, which {'applies' if applies else 'does not apply'} what comes; "
            f"replication.log: {errors or 'no error'}"
        )
        keeps_up = published == "1" and mode == "1" and not errors and applies and (not loaded or segments > 0)
        return Seen(text, in_force=keeps_up)

    def take_over(self, launcher: Launcher, ask: Ask) -> None:
        """What it has received is applied first: it says so each time when it has looked and found nothing more."""
        if not self.replica.runs:
            self.join()
            self.replica.start(launcher)
        before = len(self.replica.replication_log())
        end = time.monotonic() + APPLIED_S
        # It may have begun to look before the last segment came, so its second word counts.
        while (said := self.replica.replication_log()[before:]).count(NOTHING_NEW) < 2:
            if "ERROR" in said:
                break  # what it could not apply the survey finds missing
            if time.monotonic() > end:
                raise CellFailed(f"the replica did not apply what it had received within {APPLIED_S:.0f} s")
            time.sleep(0.05)
        super().take_over(launcher, ask)


def section(database: Path, **entries: object) -> str:
    """Of replication.conf."""
    lines = "".join(f"    {name} = {value}\n" for name, value in entries.items())
    return f"database = {database}\n{{\n{lines}}}\n"


def _kind(mode: Mode) -> type[Pair]:
    return SynchronousPair if mode.waits_for == "drive" else AsynchronousPair


def _modes(engine: Engine) -> Sequence[Mode]:
    has = isinstance(engine, FirebirdServer) and engine.version.has_config_table  # 3.0 has neither
    return (ASYNCHRONOUS, SYNCHRONOUS) if has else ()


def _refuse(engine: Engine, mode: Mode, settings: Mapping[str, Scalar], durability: str) -> None:
    if "port" in settings:
        raise BadInput(
            f"{engine.id}: a server with a replica is in a network of its own: port is without effect",
            "leave port out",
        )


REPLICATION = Replication(_modes, _kind, _refuse)
