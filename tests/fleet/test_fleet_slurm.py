"""An experiment over nodes that Slurm gives: the table and the journal are those of any fleet."""

from __future__ import annotations

from pathlib import Path

from fleet_commands import Command, each_once, nothing_left

from acidtest.journal import reader
from slurms import Slurm


def test_an_experiment_over_the_nodes_of_slurm_of_which_one_loses_its_power(
    tmp_path: Path, experiment: Path, nodes: Slurm
) -> None:
    fleet = nodes.fleet(tmp_path / "fleet.toml")
    arguments = ("run", experiment, "--fleet", fleet, "--out", tmp_path / "out")
    run = Command(tmp_path, *arguments, **nodes.environment)
    run.await_line(r"^\[1/12\]")
    nodes.restart_node(0)
    assert run.ended() == 0, run.said
    assert f"{nodes.names[0]}: is gone; waiting" in run.said
    each_once(tmp_path / "out")
    journal = reader.read(tmp_path / "out" / "journal.jsonl")
    assert sorted(recording.cell for recording in journal.recordings) == sorted(
        f"commits/sqlite/{level}/{node}#{repetition}"
        for level in ("os", "drive") for node in nodes.names for repetition in range(1, 4)
    )  # fmt: skip
    assert {recording.host for recording in journal.recordings} == set(nodes.names)
    assert {host.name for host in journal.hosts} == set(nodes.names)
    homes = {name: str(host.home) for name, host in zip(nodes.names, nodes.hosts, strict=True)}
    assert all(recording.place.path.startswith(homes[str(recording.host)]) for recording in journal.recordings)
    assert "durability by host" in run.said
    nothing_left(nodes.hosts)
    nodes.await_idle()
    assert nodes.run("squeue", "-h").strip() == ""
