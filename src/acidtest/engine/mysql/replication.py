"""A MariaDB server with a replica, asynchronous or semi-synchronous.

The replica begins with a copy of the primary's files, and the primary with an empty binary log. Sources:
https://mariadb.com/kb/en/semisynchronous-replication/ and https://mariadb.com/kb/en/change-master-to/; for what makes
a primary of a replica, https://mariadb.com/kb/en/changing-a-replica-to-become-the-primary/.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from acidtest.engine.base import Ask, Engine, Launcher
from acidtest.engine.mysql.instance import BINLOG, MysqlInstance
from acidtest.engine.replication import Ends, Mode, Pair, Replication, Seen, paired
from acidtest.engine.server import password
from acidtest.errors import BadInput, CellFailed
from acidtest.journal.models import Scalar

REPLICA_USER = "acidtest_replica"
PORT = 3306  # nobody else is in the server's network
APPLIED_S = 120.0  # for what the replica has received and not applied yet
TIMEOUT_S = 10.0  # rpl_semi_sync_master_timeout by default: then commits wait no longer
WAIT_POINTS = {"semi-synchronous": "AFTER_SYNC", "semi-synchronous-after-commit": "AFTER_COMMIT"}
SEMI = "rpl_semi_sync_master_enabled = 1, rpl_semi_sync_master_wait_point = {}"
# A replica answers when the events are in its relay log, which is not flushed for it (sync_relay_log = 10000).
MODES = (
    Mode("asynchronous", "rpl_semi_sync_master_enabled = 0", "nothing"),
    *(Mode(name, SEMI.format(point), "arrival", gives_up_after_s=TIMEOUT_S) for name, point in WAIT_POINTS.items()),
)
STATUS = (
    "show global status where variable_name in "
    "('Rpl_semi_sync_master_status', 'Rpl_semi_sync_master_clients', 'Rpl_semi_sync_master_no_tx')"
)
REPLICA_STATUS = "show slave status"
# Columns of SHOW SLAVE STATUS, which has had them in this order since 5.0.
READ_LOG, READ_AT, APPLIED_LOG, RECEIVES, APPLIES, APPLIED_AT, WHY = 5, 6, 9, 10, 11, 21, 35


class MariadbPair(Pair):
    def __init__(self, primary: MysqlInstance, replica: MysqlInstance, mode: Mode, ends: Ends) -> None:
        super().__init__(mode, ends)
        self.primary: MysqlInstance = primary
        self.replica: MysqlInstance = replica
        self._secret = password()
        self._joins: list[str] = []  # what makes the replica one, carried out when it starts

    def prepare(self) -> None:
        self.primary.configure()

    def replicate(self) -> None:
        for instance in (self.primary, self.replica):
            for file in instance.data.glob(f"{BINLOG}.*"):
                file.unlink()
        account = f"'{REPLICA_USER}'@'{self.ends.replica}'"
        with_grants = [
            f"create or replace user {account} identified by '{self._secret}'",
            f"grant replication slave on *.* to {account}",
        ]
        self.primary.introduce(with_grants)
        self.replica.play(
            [
                "server_id = 2",
                "read_only = 1",
                "skip_slave_start = 1",
                "relay_log = relay",
                f"rpl_semi_sync_slave_enabled = {int(self._waits)}",
            ]
        )
        source = {"host": f"'{self.ends.primary}'", "port": PORT, "user": f"'{REPLICA_USER}'"}
        source |= {"password": f"'{self._secret}'", "use_gtid": "slave_pos", "connect_retry": 1}
        source |= {"ssl": 0, "ssl_verify_server_cert": 0}  # on by default from 11.4 on
        named = ", ".join(f"master_{name} = {value}" for name, value in source.items())
        self._joins = [f"grant all privileges on *.* to {self.replica.account}"]
        self._joins += [f"change master to {named}", "start slave"]
        self.join()
        for instance in (self.primary, self.replica):
            instance.configure()

    def join(self) -> None:
        self._play(waiting=True)
        self.replica.introduce(self._joins)

    @property
    def _waits(self) -> bool:
        return self.mode.waits_for != "nothing"

    def _play(self, *, waiting: bool) -> None:
        lines = ["server_id = 1", f"rpl_semi_sync_master_enabled = {int(waiting and self._waits)}"]
        if self._waits:
            lines.append(f"rpl_semi_sync_master_wait_point = {WAIT_POINTS[self.mode.name]}")
        self.primary.play(lines, listens=(self.ends.primary, PORT))

    def seen(self, ask_primary: Ask, ask_replica: Ask, *, loaded: bool) -> Seen:
        status = {str(row[0]).lower(): str(row[1]) for row in ask_primary(STATUS)}
        rows = ask_replica(REPLICA_STATUS)
        if not rows:
            return Seen("the replica has no primary", in_force=False)
        receives, applies = rows[0][RECEIVES], rows[0][APPLIES]
        on, clients = status.get("rpl_semi_sync_master_status"), status.get("rpl_semi_sync_master_clients")
        missed = status.get("rpl_semi_sync_master_no_tx")
        said = (
            f"Rpl_semi_sync_master_status {on}, _clients {clients}, _no_tx {missed}; "
            f"Slave_IO_Running {receives}, Slave_SQL_Running {applies}"
        ) + (f": {rows[0][WHY]}" if rows[0][WHY] else "")
        keeps_up = (receives, applies) == ("Yes", "Yes")
        as_asked = (on, clients, missed) == ("ON", "1", "0") if self._waits else on == "OFF"
        return Seen(said, in_force=keeps_up and as_asked)

    def start_alone(self, launcher: Launcher) -> None:
        self._play(waiting=False)
        self.primary.start(launcher)

    def take_over(self, launcher: Launcher, ask: Ask) -> None:
        """What it has received is applied first, whose end no statement awaits on a server without a primary."""
        if self.replica.runs:
            ask("stop slave io_thread")
        else:
            # Received and not applied is what only its relay log has: a new connection to a primary would drop that.
            self.replica.introduce([self._joins[0], "start slave sql_thread"])
            self.replica.start(launcher)
        end = time.monotonic() + APPLIED_S
        while True:
            row = ask(REPLICA_STATUS)[0]
            if (row[READ_LOG], row[READ_AT]) == (row[APPLIED_LOG], row[APPLIED_AT]):
                break
            if row[APPLIES] != "Yes":
                break  # what it could not apply the survey finds missing
            if time.monotonic() > end:
                raise CellFailed(f"the replica did not apply what it had received within {APPLIED_S:.0f} s")
            time.sleep(0.05)
        for statement in ("stop slave", "reset slave all", "set global read_only = 0"):
            ask(statement)


def _modes(engine: Engine) -> Sequence[Mode]:
    return MODES if engine.known_as.startswith("mariadb") else ()


def _refuse(engine: Engine, settings: Mapping[str, Scalar], durability: str) -> None:
    for name in ("connection", "port"):
        if settings.get(name, "socket") != "socket":
            raise BadInput(
                f"{engine.id}: the load reaches a server with a replica by its socket: {name} is without effect",
                f"leave {name} out",
            )
    if settings.get("log_bin") is False:
        raise BadInput(f"{engine.id}: a replica is kept up by the binary log, and log_bin = false", "leave log_bin out")


REPLICATION = Replication(_modes, paired(MysqlInstance, MariadbPair, {"log_bin": True}, {"log_bin": False}), _refuse)
