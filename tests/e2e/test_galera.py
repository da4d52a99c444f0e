"""A Galera cluster, as a user meets it: two nodes and an arbitrator, of which first one node is lost, and then both."""

from __future__ import annotations

from pathlib import Path

from replicas import EXPERIMENT
from support import Cut


def test_a_cluster_gives_back_what_it_acknowledged(powercut: Cut, tmp_path: Path) -> None:
    file, out = tmp_path / "galera.toml", tmp_path / "out"
    file.write_text(EXPERIMENT.format(engine="mariadb-10.11", mode="galera", failure="both-powers"))
    result = powercut(file, out)
    (cut,) = (cut["cut"] for cut in result["cuts"])
    # Without a failure all was found on a node whose primary had been killed: it went on with the arbitrator's vote.
    assert cut["verdict"] == "survived", cut["reasons"]
    assert cut["checks"]["holds-without-a-cut"] == "survived"
    seen = cut["replication"]["seen"]
    assert seen.count("wsrep_cluster_size 3, wsrep_cluster_status Primary, wsrep_local_state_comment Synced") == 2
    assert seen.count("wsrep_provider_name Galera") == 2
    assert cut["replication"]["chosen_by"].startswith("--wsrep-recover: primary ")
    (row,) = result["replication"]
    assert row["failures"]["both-powers"]["survived"] == 1
