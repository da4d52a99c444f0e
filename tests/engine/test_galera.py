"""Nodes of a Galera cluster: where its files lie, what they are told, what they say, and which of two goes on."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from acidtest.cli.doctor import replicas
from acidtest.engine.catalogue import describe, replication_of
from acidtest.engine.mysql import galera
from acidtest.engine.mysql.galera import MODE, SCRIPT, GaleraPair, galera_of
from acidtest.engine.mysql.instance import MysqlInstance
from acidtest.engine.mysql.origins import Installation
from acidtest.engine.replication import Ends
from acidtest.engine.server import Ended
from acidtest.errors import CellFailed, MachineLacks

ENDS = Ends("198.18.0.1", "198.18.0.2", "198.18.0.3")
HISTORY, OTHER = "f888f185-e9f6-11f1-b3f8-2af4d8c1ce8f", "9aee0ebf-e9f7-11f1-bded-bf1622143349"
NOBODY = galera.NOBODY


def installed(base: Path, *loader: str) -> Installation:
    program = base / "sbin" / "mariadbd"
    return Installation(program, (*loader, str(program)), base, base / "share", None, base, "11.8.9", "here")


def with_files(base: Path, *names: str) -> Path:
    for name in names:
        (base / name).parent.mkdir(parents=True, exist_ok=True)
        (base / name).touch()
    return base


def test_a_prefix_has_galera_of_its_own_before_the_systems(tmp_path: Path) -> None:
    base = with_files(tmp_path, "lib64/galera-4/libgalera_smm.so", "bin/garbd")
    found = galera_of(installed(base))
    assert found is not None
    assert found.provider == base / "lib64/galera-4/libgalera_smm.so"
    assert found.arbitrator == (str(base / "bin/garbd"),)


def test_with_a_loader_of_its_own_a_server_takes_nothing_of_the_system(tmp_path: Path) -> None:
    base = with_files(tmp_path / "usr", "lib/x86_64-linux-gnu/ld-linux-x86-64.so.2")
    loader = str(base / "lib/x86_64-linux-gnu/ld-linux-x86-64.so.2")
    assert galera_of(installed(base, loader)) is None
    with_files(base, "lib/galera/libgalera_smm.so", "bin/garbd")
    found = galera_of(installed(base, loader))
    assert found is not None
    assert found.provider == base / "lib/galera/libgalera_smm.so"
    assert (found.arbitrator[0], found.arbitrator[-1]) == (loader, str(base / "bin/garbd"))


def test_a_server_without_galera_beside_it_is_told_of_before_anything_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(galera, "galera_of", lambda files: None)
    engine = describe("mariadb-11.8")
    monkeypatch.setattr(type(engine), "installation", lambda self: installed(Path("/opt/mariadb")))
    with pytest.raises(MachineLacks, match=r"libgalera_smm\.so and garbd, which are not there"):
        replication_of(engine).refuse(engine, MODE, {}, "drive")
    replication_of(engine).refuse(engine, replication_of(engine).mode(engine, "asynchronous"), {}, "drive")
    monkeypatch.setattr(type(engine), "offer", lambda self: Mock(lack=Mock(return_value=None)))
    found = {finding["detail"].partition(":")[0] for finding in replicas()}
    assert found == {"mariadb-10.11", "mariadb-11.4", "mariadb-11.8"}


def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **positions: str | Exception) -> GaleraPair:
    """Of nodes that are never started, and have recovered so far."""
    monkeypatch.setattr(galera, "galera_of", lambda files: galera.Galera(Path("/x/libgalera_smm.so"), ("/x/garbd",)))
    nodes = []
    for name in ("primary", "replica"):
        (tmp_path / name / "data").mkdir(parents=True)
        position = positions.get(name, f"{HISTORY}:7")
        recovered = Mock(side_effect=position) if isinstance(position, Exception) else Mock(return_value=position)
        node = Mock(spec=MysqlInstance, directory=tmp_path / name, data=tmp_path / name / "data")
        node.recovered_position = recovered
        nodes.append(node)
    return GaleraPair(nodes[0], nodes[1], MODE, ENDS)


@pytest.mark.parametrize(
    ("primary", "replica", "goes_on"),
    [
        (f"{HISTORY}:41", f"{HISTORY}:26", "primary"),
        (f"{HISTORY}:34", f"{HISTORY}:37", "replica"),
        (f"{HISTORY}:34", f"{HISTORY}:34", "primary"),  # they have the same
        (Ended("the log is torn"), f"{HISTORY}:9", "replica"),
        (f"{HISTORY}:9", f"{NOBODY}:-1", "primary"),
    ],
)
def test_after_both_powers_the_node_with_more_goes_on(
    primary: Any, replica: Any, goes_on: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = pair(tmp_path, monkeypatch, primary=primary, replica=replica).choose(Mock(), Mock())
    assert chosen.server == goes_on
    assert str(replica) in chosen.said


def test_of_two_histories_none_is_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = pair(tmp_path, monkeypatch, primary=f"{HISTORY}:4", replica=f"{OTHER}:9")
    with pytest.raises(CellFailed, match="different histories"):
        made.choose(Mock(), Mock())


def test_who_begins_a_cluster_says_that_it_may_and_where_it_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = pair(tmp_path, monkeypatch)
    monkeypatch.setattr(galera, "_await_service", Mock())
    state = tmp_path / "replica" / "data" / "grastate.dat"
    state.write_text(f"uuid:    {HISTORY}\nseqno:   -1\nsafe_to_bootstrap: 0\n")
    made.serve(Mock(), Mock())
    assert state.read_text() == f"uuid:    {HISTORY}\nseqno:   -1\nsafe_to_bootstrap: 1\n"
    lines = made.replica.play.call_args.args[0]  # type: ignore[attr-defined]
    assert {f"wsrep_start_position = {HISTORY}:7", "wsrep_new_cluster", "wsrep_node_name = replica"} <= set(lines)
    assert "wsrep_provider = /x/libgalera_smm.so" in lines


STATUS = {**galera.STATUS, "wsrep_provider_version": "4.23", "wsrep_cluster_state_uuid": HISTORY}


@pytest.mark.parametrize(
    ("of_primary", "of_replica", "in_force"),
    [
        ({}, {}, True),
        ({"wsrep_cluster_size": "2"}, {"wsrep_cluster_size": "2"}, False),  # nobody else votes
        ({}, {"wsrep_cluster_status": "non-Primary"}, False),
        ({}, {"wsrep_local_state_comment": "Joined"}, False),
        ({"wsrep_ready": "OFF"}, {}, False),
        ({"wsrep_provider_name": "none"}, {}, False),
        ({}, {"wsrep_cluster_state_uuid": OTHER}, False),
        ({}, {"innodb_flush_log_at_trx_commit": "0"}, False),  # a node that keeps less
    ],
)
def test_a_cluster_is_in_force_when_both_nodes_say_so(
    of_primary: dict[str, str],
    of_replica: dict[str, str],
    in_force: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def node(changes: dict[str, str]) -> Any:
        said = {**STATUS, "innodb_flush_log_at_trx_commit": "1", **changes}
        return lambda question: [[name, value] for name, value in said.items() if f"'{name}'" in question]

    seen = pair(tmp_path, monkeypatch).seen(node(of_primary), node(of_replica), loaded=True)
    assert seen.in_force is in_force
    assert seen.said.startswith("primary: wsrep_ready ")
    assert "wsrep_provider_version 4.23" in seen.said


class Joiner:
    """A state transfer script that waits for a donor, of a server that is a process of ours."""

    def __init__(self) -> None:
        self.server = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        asked = ["--role", "joiner", "--address", "127.0.0.1:0", "--parent", str(self.server.pid), "--datadir", "/x"]
        self.script = subprocess.Popen([*SCRIPT, *asked], stdout=subprocess.PIPE, encoding="ascii")
        assert self.script.stdout is not None
        ready, _, self.address = self.script.stdout.readline().strip().partition(" ")
        assert ready == "ready"

    def end_server(self) -> None:
        self.server.communicate(b"\n")

    def said(self) -> tuple[str, int]:
        said, _ = self.script.communicate()
        return said.strip(), self.script.returncode

    def end(self) -> None:
        self.end_server()
        self.script.wait()


@pytest.fixture
def joiner() -> Any:
    made = Joiner()
    yield made
    with contextlib.suppress(ValueError):
        made.end()


def donor(address: str, *options: str) -> subprocess.CompletedProcess[str]:
    asked = ["--role", "donor", "--address", address, "--gtid", f"{HISTORY}:4", *options]
    # As a server does: it writes what other scripts need, and closes the pipe.
    return subprocess.run([*SCRIPT, *asked], input="user\n", capture_output=True, encoding="ascii", check=False)


def test_a_joiner_is_told_where_it_is_by_a_donor_that_has_the_rest(joiner: Joiner) -> None:
    gave = donor(joiner.address, "--bypass")
    assert (gave.stdout, gave.returncode) == (f"done {HISTORY}:4\n", 0)
    assert joiner.said() == (f"{HISTORY}:4", 0)


def test_no_snapshot_is_sent(joiner: Joiner) -> None:
    gave = donor(joiner.address)
    assert (gave.stdout, gave.returncode) == ("", 1)
    assert "needs a snapshot" in gave.stderr
    assert joiner.said() == ("", 1)


def test_a_script_ends_with_its_server(joiner: Joiner) -> None:
    joiner.end_server()
    assert joiner.said() == ("", 1)
