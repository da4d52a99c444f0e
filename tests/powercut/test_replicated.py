"""What of a replica is refused, what its files say, and what a failure looks at."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import MagicMock, Mock, patch

import pytest

from acidtest.engine.catalogue import describe, replication_of
from acidtest.engine.firebird.replication import ASYNCHRONOUS, SYNCHRONOUS, AsynchronousPair, SynchronousPair
from acidtest.engine.mysql.replication import OF_MARIADB, OF_MYSQL, MariadbPair, MysqlPair
from acidtest.engine.replication import Ends, Pair
from acidtest.errors import BadInput
from acidtest.experiment import PlaceSpec
from acidtest.journal.protocol import Survey, SurveyedTerminal
from acidtest.powercut.acknowledgement_log import Acknowledgement
from acidtest.powercut.checkers import judge
from acidtest.powercut.commit_accounting import compare, first_missing_ns
from acidtest.powercut.conductor import refuse_replication
from acidtest.powercut.evidence import CutEvidence
from acidtest.powercut.failures import FAILURES
from acidtest.powercut.replicated import ReplicatedTrial

ENDS = Ends("198.18.0.1", "198.18.0.2")
ENGINES = ("postgresql-18", "mariadb-11.8", "mysql-9.7", "firebird-4.0-server")


def cell(engine: str, replication: str, failure: str, durability: str = "drive", **settings: Any) -> Any:
    place = PlaceSpec(kind="disk", filesystem="ext4", replication=replication, disk_failure=failure)  # type: ignore[arg-type]
    return Mock(engine=engine, place=place, settings=settings, durability=durability)


@pytest.mark.parametrize(
    ("of", "message"),
    [
        (cell("postgresql-18", "none", "lost-link"), "there is one server, without place.replication"),
        (cell("postgresql-18", "none", "both-powers"), "there is one server, without place.replication"),
        (cell("postgresql-18", "synchronous", "crash-states"), "is not for a server with a replica"),
        (cell("postgresql-18", "synchronous", "cut", "none"), "synchronous_commit = off, which waits for no replica"),
        (cell("postgresql-18", "synchronous", "cut", connection="tcp"), "needs connection"),
        (cell("postgresql-18", "semi-synchronous-after-commit", "cut"), 'place.replication "semi-synchronous-after'),
        (cell("mariadb-11.8", "synchronous", "cut"), 'place.replication "synchronous" is not known'),
        (cell("mariadb-11.8", "asynchronous", "cut", log_bin=False), "log_bin = false"),
        (cell("mariadb-11.8", "galera", "cut", port=3307), "port is without effect"),
        (cell("mariadb-10.2", "galera", "cut"), 'place.replication "galera" is not known'),
        (cell("mysql-9.7", "galera", "cut"), 'place.replication "galera" is not known'),
        (cell("mysql-8.0", "asynchronous", "cut"), "acidtest gives it no replica"),
        (cell("sqlite", "asynchronous", "cut"), "acidtest gives it no replica"),
        (cell("firebird-5.0", "synchronous", "cut"), "acidtest gives it no replica"),
        (cell("firebird-3.0-server", "synchronous", "cut"), "acidtest gives it no replica"),
        (cell("firebird-4.0-server", "semi-synchronous", "cut"), 'place.replication "semi-synchronous" is not known'),
        (cell("firebird-4.0-server", "synchronous", "cut", port=3051), "port is without effect"),
    ],
)
def test_what_no_replica_goes_with_is_refused(of: Any, message: str) -> None:
    with pytest.raises(BadInput) as refused:
        refuse_replication(of, describe(of.engine), Path("x.toml"))
    assert message in str(refused.value)
    assert str(refused.value).startswith("x.toml: ")


def test_what_can_be_is_not_refused() -> None:
    for engine in ENGINES:
        for mode in replication_of(describe(engine)).modes(describe(engine)):
            for failure in ("cut", "lost-disk", "both-powers", "lost-link"):
                refuse_replication(cell(engine, mode.name, failure), describe(engine), Path("x.toml"))
    refuse_replication(cell("sqlite", "none", "lost-disk"), describe("sqlite"), Path("x.toml"))


def test_the_replica_is_looked_at_where_the_primary_is_not_there_any_more() -> None:
    assert {name for name, failure in FAILURES.items() if failure.on_replica} == {
        "lost-disk",
        "both-powers",
        "lost-link",
    }


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pair:
    """A synchronous PostgreSQL and its standby, whose servers are never started."""
    engine = describe("postgresql-18")
    for name in ("primary", "replica"):
        (tmp_path / name / "data").mkdir(parents=True)
        (tmp_path / name / "data" / "acidtest.password").write_text("secret")
    mode = replication_of(engine).mode(engine, "synchronous")
    directories = (tmp_path / "primary", tmp_path / "replica")
    return replication_of(engine).pair(engine, directories, {}, "drive", mode, ENDS)


def test_a_standby_is_told_where_its_primary_is(pair: Pair, tmp_path: Path) -> None:
    pair.replicate()
    primary, replica = (
        (tmp_path / name / "data" / "postgresql.auto.conf").read_text() for name in ("primary", "replica")
    )
    assert "synchronous_standby_names = 'acidtest_replica'" in primary
    assert "synchronous_commit = 'on'" in primary
    assert "synchronous_standby_names" not in replica
    assert "host=198.18.0.1 port=5432 user=acidtest password=secret application_name=acidtest_replica" in replica
    assert (tmp_path / "replica" / "data" / "standby.signal").exists()
    assert not (tmp_path / "primary" / "data" / "standby.signal").exists()


@pytest.mark.parametrize(
    ("rows", "in_force"),
    [
        ([["streaming", "sync", "on"]], True),
        ([["catchup", "sync", "on"]], False),
        ([["streaming", "async", "on"]], False),
        ([["streaming", "sync", "remote_write"]], False),
        ([], False),
    ],
)
def test_a_mode_is_in_force_when_the_server_says_so(pair: Pair, rows: list[list[str]], in_force: bool) -> None:
    assert pair.seen(lambda _: rows, Mock(), loaded=True).in_force is in_force


@pytest.mark.parametrize(
    ("status", "replica", "in_force"),
    [
        (("ON", "1", "0"), ("on", "on"), True),
        (("OFF", "1", "0"), ("on", "on"), False),  # it went on without the replica
        (("ON", "1", "3"), ("on", "on"), False),  # it did for a while
        (("ON", "0", "0"), ("on", "on"), False),
        (("ON", "1", "0"), ("Connecting", "on"), False),
        (("ON", "1", "0"), ("on", "off"), False),
    ],
)
def test_semi_synchronous_that_gave_up_is_not_in_force(
    status: tuple[str, ...], replica: tuple[str, str], in_force: bool
) -> None:
    """A MySQL says the same as a MariaDB in words of its own."""
    mariadb = MariadbPair(Mock(), Mock(), next(one for one in OF_MARIADB if one.name == "semi-synchronous"), ENDS)
    mysql = MysqlPair(Mock(), Mock(), next(one for one in OF_MYSQL if one.name == "semi-synchronous"), ENDS)
    of_mariadb = [{"on": "Yes", "off": "No"}.get(word, word) for word in replica]
    row: list[str | None] = [None] * 40
    row[10], row[11] = of_mariadb
    of_mysql = [word.upper() for word in replica]
    for made, source, rows, words in (
        (mariadb, "master", [row], f"Slave_IO_Running {of_mariadb[0]}"),
        (mysql, "source", [[*of_mysql, ""]], f"replication_connection_status {of_mysql[0]}"),
    ):
        names = [f"Rpl_semi_sync_{source}_{name}" for name in ("status", "clients", "no_tx")]
        answers = [list(one) for one in zip(names, status, strict=True)]
        seen = made.seen(lambda _, answers=answers: answers, lambda _, rows=rows: rows, loaded=True)  # type: ignore[misc]
        assert (seen.in_force, words in seen.said) == (in_force, True)
    assert mysql.seen(lambda _: answers, lambda _: [], loaded=True).said == "the replica has no primary"


@pytest.mark.parametrize(
    ("published", "replica", "errors", "loaded", "in_force"),
    [
        ("1", ("1", "1"), "", True, True),
        ("1", ("1", "0"), "", False, True),  # without load it has nothing to do
        ("1", ("1", "0"), "", True, False),
        ("0", ("1", "1"), "", True, False),
        ("1", ("0", "1"), "", True, False),
        ("1", ("1", "1"), "ERROR: connection lost", True, False),
    ],
)
def test_a_firebird_that_went_on_without_its_replica_is_not_in_force(
    published: str, replica: tuple[str, str], errors: str, loaded: bool, in_force: bool
) -> None:
    primary = Mock(replication_errors=Mock(return_value=errors))
    made = SynchronousPair(primary, Mock(), SYNCHRONOUS, ENDS)
    assert made.seen(lambda _: [[published]], lambda _: [list(replica)], loaded=loaded).in_force is in_force


@pytest.mark.parametrize(
    ("published", "replica", "errors", "log", "segments", "loaded", "in_force"),
    [
        ("1", "1", "", "Started replication for database x", 1, True, True),
        ("1", "1", "", "Started replication for database x", 0, False, True),  # without load there is nothing to keep
        ("1", "1", "", "Started replication for database x", 0, True, False),
        ("1", "1", "", "", 1, True, False),
        ("0", "1", "", "Started replication for database x", 1, True, False),
        ("1", "0", "", "Started replication for database x", 1, True, False),
        ("1", "1", "ERROR: no route", "Started replication for database x", 1, True, False),
    ],
)
def test_a_firebird_without_a_journal_or_with_a_replica_that_does_not_apply_it_is_not_in_force(
    published: str, replica: str, errors: str, log: str, segments: int, loaded: bool, in_force: bool, tmp_path: Path
) -> None:
    (tmp_path / "journal").mkdir()
    for number in range(segments):
        (tmp_path / "journal" / f"database.fdb.journal-{number}").touch()
    files = Mock(return_value=[tmp_path / "database.fdb"])
    primary = Mock(replication_errors=Mock(return_value=errors), database_files=files)
    of_replica = Mock(
        replication_errors=Mock(return_value=""), replication_log=Mock(return_value=log), database_files=files
    )
    made = AsynchronousPair(primary, of_replica, ASYNCHRONOUS, ENDS)
    assert made.seen(lambda _: [[published]], lambda _: [[replica, "0"]], loaded=loaded).in_force is in_force


def log(*numbers: int) -> list[Acknowledgement]:
    return [Acknowledgement(0, at, 0, number, 100 * at, 100 * at + 50) for at, number in enumerate(numbers, start=1)]


def test_a_loss_begins_with_the_first_commit_that_is_missing() -> None:
    held = Survey(terminals=[SurveyedTerminal(terminal=0, counter=1, whole=[(0, 1)], torn=[])], strays=0)
    assert first_missing_ns(log(1, 2, 3), held) == 250
    assert first_missing_ns(log(1), held) is None


def test_of_a_disk_that_is_lost_without_a_replica_all_is_lost() -> None:
    nothing = Survey(terminals=[], strays=0)
    judged = judge(CutEvidence(nothing_left=True, acknowledged=log(1, 2), fate=compare(log(1, 2), nothing)))
    assert judged.verdict == "lost"
    assert judged.reasons[0] == "the disk is lost for good, and there is no replica"
    assert judged.checks["file-system-mounts"] == "unknown"
    assert "something-is-left" not in judge(CutEvidence()).checks


@pytest.mark.parametrize(("in_force", "gave_up"), [(True, ""), (False, "replication is off")])
def test_a_primary_that_gave_up_waiting_is_told_as_one(in_force: bool, gave_up: str) -> None:
    trial = Mock(
        **{"_asks.return_value": (), "pair.seen.return_value": Mock(in_force=in_force, said="replication is off")}
    )
    trial._mode.gives_up_after_s = 1.0
    load, replicated = Mock(acknowledged=MagicMock()), Mock()
    ReplicatedTrial._without_link(trial, load, replicated)
    assert replicated.model_copy.call_args.kwargs["update"]["gave_up"] == gave_up
    trial.link.down.assert_called_once_with()


def test_the_link_is_down_before_the_primary_fails_and_everything_is_released() -> None:
    done = Mock()
    trial = MagicMock(link=done.link, place=done.place, _link=done.link, _replica_place=done.replica, _pair=done.pair)
    trial._failure = FAILURES["cut"]
    trial._bring_back.return_value = None
    with (
        patch("acidtest.powercut.replicated.Replicated", Mock()),
        patch("acidtest.powercut.replicated.Moment", Mock()),
        patch("acidtest.powercut.replicated._in_force", Mock()),
    ):
        ReplicatedTrial.cycle(trial, Mock(), Mock())
    order = [name for name, _, _ in done.mock_calls if name in ("link.down", "place.cut")]
    assert order == ["link.down", "place.cut"]
    ReplicatedTrial.release(trial)
    released = {name for name, _, _ in done.mock_calls if name.endswith("release")}
    assert released == {
        "link.release",
        "place.release",
        "replica.release",
        "pair.primary.release",
        "pair.replica.release",
    }
