"""A MariaDB or MySQL server with a replica, asynchronous or semi-synchronous; Galera is in ``galera``.

The replica begins with a copy of the primary's files, and the primary with an empty binary log. Sources of MariaDB:
https://mariadb.com/kb/en/semisynchronous-replication/ and https://mariadb.com/kb/en/change-master-to/; for what makes
a primary of a replica, https://mariadb.com/kb/en/changing-a-replica-to-become-the-primary/. Of MySQL:
https://dev.mysql.com/doc/refman/9.7/en/replication-semisync.html, change-replication-source-to.html and
replication-solutions-switch.html there.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from acidtest.engine.base import Ask, Engine, Instance, Launcher
from acidtest.engine.mysql import galera
from acidtest.engine.mysql.engine import Mysql
from acidtest.engine.mysql.instance import BINLOG, MysqlInstance
from acidtest.engine.replication import Ends, Mode, Pair, Replication, Seen
from acidtest.engine.server import password
from acidtest.errors import BadInput, CellFailed
from acidtest.journal.models import Scalar

REPLICA_USER = "acidtest_replica"
PORT = 3306  # nobody else is in the server's network
APPLIED_S = 120.0  # for what the replica has received and not applied yet
TIMEOUT_S = 10.0  # of a semi-synchronous commit, by default: then commits wait no longer
WAIT_POINTS = {"semi-synchronous": "AFTER_SYNC", "semi-synchronous-after-commit": "AFTER_COMMIT"}
# Columns of MariaDB's SHOW SLAVE STATUS, which has had them in this order since 5.0.
READ_LOG, READ_AT, APPLIED_LOG, RECEIVES, APPLIES, APPLIED_AT, WHY = 5, 6, 9, 10, 11, 21, 35
RSA_BITS = 2048


def modes(source: str) -> tuple[Mode, ...]:
    """By the name that the server's variables have for a primary."""
    semi = f"rpl_semi_sync_{source}_enabled = 1, rpl_semi_sync_{source}_wait_point = {{}}"
    # A replica answers when the events are in its relay log, which is not flushed for it (sync_relay_log = 10000).
    return (
        Mode("asynchronous", f"rpl_semi_sync_{source}_enabled = 0", "nothing"),
        *(Mode(name, semi.format(point), "arrival", gives_up_after_s=TIMEOUT_S) for name, point in WAIT_POINTS.items()),
    )


class BinlogPair(Pair):
    """What both products share; they differ in the words for it, and in what the words begin with."""

    source: str  # a primary, in names of variables
    receiver: str  # a replica, there
    keyword: str  # a replica, in statements
    instances = MysqlInstance
    primary_settings = MappingProxyType({"log_bin": True})
    replica_settings = MappingProxyType({"log_bin": False})
    primary: MysqlInstance
    replica: MysqlInstance

    def __init__(self, primary: Instance, replica: Instance, mode: Mode, ends: Ends) -> None:
        super().__init__(primary, replica, mode, ends)
        self._secret = password()
        self._joins: list[str] = []  # what makes the replica one, carried out when it starts

    def prepare(self) -> None:
        self.primary.configure()

    def replicate(self) -> None:
        for instance in (self.primary, self.replica):
            for file in instance.data.glob(f"{BINLOG}.*"):
                file.unlink()
        account = f"'{REPLICA_USER}'@'{self.ends.replica}'"
        made = self._made_account(account, f"identified by '{self._secret}'")
        self.primary.introduce([*made, f"grant replication slave on *.* to {account}"])
        lines = ["server_id = 2", "read_only = 1", f"skip_{self.keyword}_start = 1", "relay_log = relay"]
        lines += [*self._loads("receiver"), f"rpl_semi_sync_{self.receiver}_enabled = {int(self._waits)}"]
        self.replica.play(lines)
        self._joins = [f"grant all privileges on *.* to {self.replica.account}", self._follow()]
        self._joins.append(f"start {self.keyword}")
        self.join()
        for instance in (self.primary, self.replica):
            instance.configure()

    @abstractmethod
    def _made_account(self, account: str, identified: str) -> list[str]:
        """Statements by which the primary has it, whether it had one before or not."""

    @abstractmethod
    def _follow(self) -> str:
        """The statement by which the replica knows its primary."""

    def _loads(self, part: str) -> list[str]:
        """Lines by which a server has semi-synchronous replication, where it is a plugin."""
        return []

    @property
    def _reaches(self) -> dict[str, object]:
        """Where the primary is, without the prefix that each name has."""
        of = {"host": f"'{self.ends.primary}'", "port": PORT, "user": f"'{REPLICA_USER}'"}
        return {**of, "password": f"'{self._secret}'", "connect_retry": 1}

    def join(self) -> None:
        self._play(waiting=True)
        self.replica.introduce(self._joins)

    @property
    def _waits(self) -> bool:
        return self.mode.waits_for != "nothing"

    def _play(self, *, waiting: bool) -> None:
        lines = ["server_id = 1", *self._loads("source")]
        lines.append(f"rpl_semi_sync_{self.source}_enabled = {int(waiting and self._waits)}")
        if self._waits:
            lines.append(f"rpl_semi_sync_{self.source}_wait_point = {WAIT_POINTS[self.mode.name]}")
        self.primary.play(lines, listens=(self.ends.primary, PORT))

    def seen(self, ask_primary: Ask, ask_replica: Ask, *, loaded: bool) -> Seen:
        prefix = f"Rpl_semi_sync_{self.source}_"
        names = ", ".join(f"'{prefix}{name}'" for name in ("status", "clients", "no_tx"))
        rows = ask_primary(f"show global status where variable_name in ({names})")
        status = {str(row[0]).lower().removeprefix(prefix.lower()): str(row[1]) for row in rows}
        state = self._state(ask_replica)
        if state is None:
            return Seen("the replica has no primary", in_force=False)
        receives, applies, why = state
        on, clients, missed = (status.get(name) for name in ("status", "clients", "no_tx"))
        text = f"{prefix}status {on}, _clients {clients}, _no_tx {missed}; {self._told(receives, applies)}"
        as_asked = (on, clients, missed) == ("ON", "1", "0") if self._waits else on == "OFF"
        keeps_up = {str(receives).upper(), str(applies).upper()} <= {"YES", "ON"}
        return Seen(text + (f": {why}" if why else ""), in_force=keeps_up and as_asked)

    @abstractmethod
    def _state(self, ask: Ask) -> tuple[str | None, str | None, str | None] | None:
        """Whether the replica receives, whether it applies, and why not; None where it is no replica."""

    @abstractmethod
    def _told(self, receives: str | None, applies: str | None) -> str:
        """The same in the server's own names."""

    @abstractmethod
    def _has_applied(self, ask: Ask) -> bool:
        """All that the replica has received."""

    def start_alone(self, launcher: Launcher, ask: Ask) -> None:
        self._play(waiting=False)
        self.primary.start(launcher)

    def take_over(self, launcher: Launcher, ask: Ask) -> None:
        """What it has received is applied first, whose end no statement awaits on a server without a primary."""
        if self.replica.runs:
            ask(f"stop {self.keyword} io_thread")
        else:
            # Received and not applied is what only its relay log has: a new connection to a primary would drop that.
            self.replica.introduce([self._joins[0], f"start {self.keyword} sql_thread"])
            self.replica.start(launcher)
        end = time.monotonic() + APPLIED_S
        while not self._has_applied(ask):
            state = self._state(ask)
            if state is None or str(state[1]).upper() not in ("YES", "ON"):
                break  # what it could not apply the survey finds missing
            if time.monotonic() > end:
                raise CellFailed(f"the replica did not apply what it had received within {APPLIED_S:.0f} s")
            time.sleep(0.05)
        for statement in (f"stop {self.keyword}", f"reset {self.keyword} all", "set global read_only = 0"):
            ask(statement)

    def serve(self, launcher: Launcher, ask: Ask) -> None:
        self.replica.play(["server_id = 2"])
        self.replica.introduce([])
        self.replica.start(launcher)


class MariadbPair(BinlogPair):
    source, receiver, keyword = "master", "slave", "slave"
    STATUS = "show slave status"

    def _made_account(self, account: str, identified: str) -> list[str]:
        return [f"create or replace user {account} {identified}"]

    def _follow(self) -> str:
        # TLS is on by default from 11.4 on.
        of = {**self._reaches, "use_gtid": "slave_pos", "ssl": 0, "ssl_verify_server_cert": 0}
        return f"change master to {', '.join(f'master_{name} = {value}' for name, value in of.items())}"

    def _state(self, ask: Ask) -> tuple[str | None, str | None, str | None] | None:
        rows = ask(self.STATUS)
        return (rows[0][RECEIVES], rows[0][APPLIES], rows[0][WHY]) if rows else None

    def _told(self, receives: str | None, applies: str | None) -> str:
        return f"Slave_IO_Running {receives}, Slave_SQL_Running {applies}"

    def _has_applied(self, ask: Ask) -> bool:
        row = ask(self.STATUS)[0]
        return (row[READ_LOG], row[READ_AT]) == (row[APPLIED_LOG], row[APPLIED_AT])


class MysqlPair(BinlogPair):
    source, receiver, keyword = "source", "replica", "replica"
    STATE = (
        "select c.service_state, a.service_state, concat(c.last_error_message, coalesce((select max("
        "w.last_error_message) from performance_schema.replication_applier_status_by_worker w), '')) "
        "from performance_schema.replication_connection_status c "
        "join performance_schema.replication_applier_status a using (channel_name)"
    )
    # What is in the relay log, also after a start, against what has been carried out.
    APPLIED = (
        "select gtid_subset(received_transaction_set, @@global.gtid_executed) "
        "from performance_schema.replication_connection_status"
    )

    def replicate(self) -> None:
        (self.replica.data / "auto.cnf").unlink()  # the primary's UUID; without one it makes itself another
        # It takes a while, and few commands need it.
        from cryptography.hazmat.primitives import serialization  # noqa: PLC0415
        from cryptography.hazmat.primitives.asymmetric import rsa  # noqa: PLC0415

        private, public = self._keys
        key = rsa.generate_private_key(public_exponent=65537, key_size=RSA_BITS)
        private.touch(mode=0o600)
        private.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.TraditionalOpenSSL,
                serialization.NoEncryption(),
            )
        )
        public.write_bytes(
            key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        )
        super().replicate()

    @property
    def _keys(self) -> tuple[Path, Path]:
        """By which a password comes over a link without TLS."""
        private, public = (self.primary.directory / f"{name}_key.pem" for name in ("private", "public"))
        return private, public

    def _made_account(self, account: str, identified: str) -> list[str]:
        return [f"create user if not exists {account} {identified}", f"alter user {account} {identified}"]

    def _loads(self, part: str) -> list[str]:
        of = "source" if part == "source" else "replica"
        lines = [f"plugin_load_add = semisync_{of}.so"]
        if part == "source":
            private, public = self._keys
            lines += [f"caching_sha2_password_private_key_path = {private}"]
            lines += [f"caching_sha2_password_public_key_path = {public}"]
        return lines

    def _follow(self) -> str:
        of = {**self._reaches, "auto_position": 1, "ssl": 0}
        named = ", ".join(f"source_{name} = {value}" for name, value in of.items())
        return f"change replication source to {named}, get_source_public_key = 1"

    def _state(self, ask: Ask) -> tuple[str | None, str | None, str | None] | None:
        rows = ask(self.STATE)
        return (rows[0][0], rows[0][1], rows[0][2]) if rows else None

    def _told(self, receives: str | None, applies: str | None) -> str:
        return f"replication_connection_status {receives}, replication_applier_status {applies}"

    def _has_applied(self, ask: Ask) -> bool:
        return ask(self.APPLIED)[0][0] == "1"


OF_MARIADB, OF_MYSQL = modes("master"), modes("source")


def _kind(mode: Mode) -> type[Pair]:
    if mode is galera.MODE:
        return galera.GaleraPair
    return MysqlPair if mode in OF_MYSQL else MariadbPair


def _modes(engine: Engine) -> Sequence[Mode]:
    if engine.known_as.startswith("mariadb"):
        return (*OF_MARIADB, galera.MODE) if galera.has_galera(engine) else OF_MARIADB
    return OF_MYSQL if isinstance(engine, Mysql) and engine.version.says_source else ()


def _refuse(engine: Engine, mode: Mode, settings: Mapping[str, Scalar], durability: str) -> None:
    for name in ("connection", "port"):
        if settings.get(name, "socket") != "socket":
            raise BadInput(
                f"{engine.id}: the load reaches a server with a replica by its socket: {name} is without effect",
                f"leave {name} out",
            )
    if mode is galera.MODE:
        galera.check(engine)
    elif settings.get("log_bin") is False:
        raise BadInput(f"{engine.id}: a replica is kept up by the binary log, and log_bin = false", "leave log_bin out")


REPLICATION = Replication(_modes, _kind, _refuse)
