"""A PostgreSQL server with a streaming standby.

Sources: https://www.postgresql.org/docs/current/warm-standby.html (streaming replication, synchronous replication,
failover) and https://www.postgresql.org/docs/current/backup-file.html (a standby from a cold copy).
"""

from __future__ import annotations

from collections.abc import Mapping

from acidtest.engine.base import Ask, Engine, Launcher, shown
from acidtest.engine.postgres.instance import NAME, PASSWORD_FILE, SOCKET_PORT, PostgresInstance
from acidtest.engine.replication import Mode, Pair, Replication, Seen
from acidtest.errors import BadInput
from acidtest.journal.models import Scalar

STANDBY = "acidtest_replica"  # its application_name, which synchronous_standby_names names
# synchronous_commit and what a commit waits for; see
# https://www.postgresql.org/docs/current/runtime-config-wal.html#GUC-SYNCHRONOUS-COMMIT
COMMITS = {
    "asynchronous": "local",
    "semi-synchronous": "remote_write",
    "synchronous": "on",
    "synchronous-apply": "remote_apply",
}
MODES = (
    Mode("asynchronous", "synchronous_commit = local", "nothing"),
    Mode("semi-synchronous", "synchronous_commit = remote_write", "arrival"),
    Mode("synchronous", "synchronous_commit = on", "drive"),
    Mode("synchronous-apply", "synchronous_commit = remote_apply", "drive"),
)
STATE = (
    "select state, sync_state, current_setting('synchronous_commit') from pg_stat_replication "  # noqa: S608 - our words
    f"where application_name = '{STANDBY}'"
)


class PostgresPair(Pair):
    """The standby has the primary's files as they were copied, and gets all that is new over the link."""

    instances = PostgresInstance
    primary: PostgresInstance
    replica: PostgresInstance

    def prepare(self) -> None:
        self.primary.play({"wal_level": "replica"}, commit="on")
        self.primary.configure()
        self.primary.carry_out(f"alter role {NAME} replication")
        self.primary.let_in(f"host replication {NAME} {self.ends.replica}/32 scram-sha-256")

    def replicate(self) -> None:
        self.join()
        self.primary.configure()
        secret = (self.replica.data / PASSWORD_FILE).read_text(encoding="utf-8")
        reach = {"host": self.ends.primary, "port": SOCKET_PORT, "user": NAME, "password": secret}
        reach |= {"application_name": STANDBY}
        conninfo = " ".join(f"{name}={value}" for name, value in reach.items())
        self.replica.play({"wal_level": "replica", "primary_conninfo": conninfo}, commit="on")
        self.replica.configure()
        (self.replica.data / "standby.signal").touch()

    def join(self) -> None:
        waits = {"synchronous_standby_names": STANDBY} if self.mode.waits_for != "nothing" else {}
        commit = COMMITS[self.mode.name]
        self.primary.play({"wal_level": "replica", **waits}, commit=commit, listens=self.ends.primary)

    def seen(self, ask_primary: Ask, ask_replica: Ask, *, loaded: bool) -> Seen:
        rows = ask_primary(STATE)
        if not rows:
            return Seen("pg_stat_replication has no standby", in_force=False)
        state, kept, commit = rows[0]
        wanted = ("streaming", "async" if self.mode.waits_for == "nothing" else "sync", COMMITS[self.mode.name])
        return Seen(
            f"pg_stat_replication: state {state}, sync_state {kept}; synchronous_commit {commit}",
            in_force=(state, kept, commit) == wanted,
        )

    def start_alone(self, launcher: Launcher, ask: Ask) -> None:
        self.primary.play({"wal_level": "replica"}, commit="on")
        self.primary.configure()
        self.primary.start(launcher)

    def take_over(self, launcher: Launcher, ask: Ask) -> None:
        if not self.replica.runs:
            self.replica.start(launcher)
        self.replica.promote()

    def serve(self, launcher: Launcher, ask: Ask) -> None:
        self.replica.start(launcher)


def _refuse(engine: Engine, mode: Mode, settings: Mapping[str, Scalar], durability: str) -> None:
    if durability == "none":
        raise BadInput(
            f"{engine.id}: durability none is synchronous_commit = off, which waits for no replica",
            "ask for os or drive, or for place.replication none",
        )
    for name, needed in (("connection", "socket"), ("port", SOCKET_PORT), ("wal_level", "replica")):
        if settings.get(name, needed) != needed:
            raise BadInput(
                f"{engine.id}: a server with a replica needs {name} = {shown(needed)}, found {shown(settings[name])}",
                f"leave {name} out",
            )


REPLICATION = Replication(lambda engine: MODES, lambda mode: PostgresPair, _refuse)
