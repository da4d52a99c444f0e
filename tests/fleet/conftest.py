"""Hosts and nodes, made once for all tests of a worker; what a test leaves running on them is ended after it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fleet_at_hand import Hands, Machine, at_hand
from fleet_commands import EXPERIMENT

from hosts import SshHosts, ssh_hosts
from slurms import Slurm, slurm


@pytest.fixture(scope="session")
def all_hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshHosts]:
    with ssh_hosts(tmp_path_factory.mktemp("hosts"), 2) as made:
        yield made


@pytest.fixture
def hosts(all_hosts: SshHosts) -> Iterator[SshHosts]:
    yield all_hosts
    all_hosts.clear()


@pytest.fixture(scope="session")
def all_nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    with slurm(tmp_path_factory.mktemp("slurm")) as made:
        yield made


@pytest.fixture
def nodes(all_nodes: Slurm) -> Iterator[Slurm]:
    yield all_nodes
    all_nodes.clear()


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    path = tmp_path / "e.toml"
    path.write_text(EXPERIMENT)
    return path


@pytest.fixture
def hands(tmp_path: Path) -> Iterator[Hands]:
    with at_hand([Machine(name, tmp_path / name) for name in ("one", "two")]) as made:
        yield made
