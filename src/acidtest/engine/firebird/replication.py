"""A Firebird 4 server with a replica that is kept up synchronously.

The replica begins with a copy of the primary's file. Source: "Replication" in the release notes of Firebird 4,
https://www.firebirdsql.org/file/documentation/release_notes/html/en/4_0/rlsnotes40.html, and the replication.conf that
comes with it. Asynchronous replication is not here: the engine leaves it to a program of the administrator's to carry
the segments of the journal to the replica.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from acidtest.engine.base import Ask, Engine, Launcher
from acidtest.engine.firebird.instance import USER
from acidtest.engine.firebird.server import FirebirdServer, ServerInstance
from acidtest.engine.replication import Ends, Mode, Pair, Replication, Seen, paired
from acidtest.errors import BadInput
from acidtest.journal.models import Scalar

PORT = 3050  # nobody else is in the replica's network
SYNCHRONOUS = Mode("synchronous", "sync_replica, with disable_on_error = true as by default", "drive")
PUBLISHED = "select count(*) from rdb$publications where rdb$active_flag = 1"
# 1 is read-only; the sessions are those that the primary writes by.
REPLICA_STATE = (
    "select d.mon$replica_mode, (select count(*) from mon$attachments a where a.mon$remote_address starting with '{}') "
    "from mon$database d"
)


class FirebirdPair(Pair):
    def __init__(self, primary: ServerInstance, replica: ServerInstance, mode: Mode, ends: Ends) -> None:
        super().__init__(mode, ends)
        self.primary: ServerInstance = primary
        self.replica: ServerInstance = replica

    def prepare(self) -> None:
        self.primary.configure()
        self.primary.publish()

    def replicate(self) -> None:
        self.primary.configure()
        self.replica.configure()
        self.replica.be_replica(read_only=True)
        self.replica.listens(self.ends.replica, PORT)
        self.join()

    def join(self) -> None:
        file, replica = (instance.database_files()[0].resolve() for instance in (self.primary, self.replica))
        to = f"{USER}:{self.replica.password}@{self.ends.replica}/{PORT}:{replica}"
        self.primary.replicate_by(f"database = {file}\n{{\n    sync_replica = {to}\n}}\n")

    def seen(self, ask_primary: Ask, ask_replica: Ask, *, loaded: bool) -> Seen:
        published = ask_primary(PUBLISHED)[0][0]
        mode, sessions = ask_replica(REPLICA_STATE.format(self.ends.primary))[0]
        errors = self.primary.replication_errors()
        said = (
            f"publications that are active {published}, MON$REPLICA_MODE of the replica {mode}, its sessions from the "
        )
        said += f"primary {sessions}, replication.log: {errors or 'no error'}"
        keeps_up = published == "1" and mode == "1" and not errors and (not loaded or sessions not in ("0", None))
        return Seen(said, in_force=keeps_up)

    def start_alone(self, launcher: Launcher) -> None:
        self.primary.replicate_by("")  # each session reads it
        self.primary.start(launcher)

    def take_over(self, launcher: Launcher, ask: Ask) -> None:
        """The server's sessions from the primary are ended with it: a replica is made a database of its own alone."""
        self.replica.stop()
        self.replica.be_replica(read_only=False)
        self.replica.start(launcher)


def _modes(engine: Engine) -> Sequence[Mode]:
    has = isinstance(engine, FirebirdServer) and engine.version.has_config_table  # 3.0 has neither
    return (SYNCHRONOUS,) if has else ()


def _refuse(engine: Engine, settings: Mapping[str, Scalar], durability: str) -> None:
    if "port" in settings:
        raise BadInput(
            f"{engine.id}: a server with a replica is in a network of its own: port is without effect",
            "leave port out",
        )


REPLICATION = Replication(_modes, paired(ServerInstance, FirebirdPair), _refuse)
