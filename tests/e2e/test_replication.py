"""What a replica is worth, as a user meets it: a PostgreSQL and its standby, on disks that are cut and lost."""

from __future__ import annotations

from pathlib import Path

from support import Cut

# The link is lost before the disk: what a commit does without an answer of the replica then decides, and no moment.
REPLICATED = """
name = "replicated"
engine = "postgresql-15"
durability = "drive"
repetitions = 1
[factors]
"place.replication" = ["none", "asynchronous", "synchronous"]
"place.disk_failure" = ["lost-disk", "lost-link"]
[[exclude]]
"place.replication" = "none"
"place.disk_failure" = "lost-link"
[[exclude]]
"place.replication" = "asynchronous"
"place.disk_failure" = "lost-disk"
[[exclude]]
"place.replication" = "synchronous"
"place.disk_failure" = "lost-disk"
[workload.numbered]
terminals = 3
count = 10
[place]
kind = "disk"
filesystem = "ext4"
size_mb = 256
"""


def test_an_asynchronous_standby_lacks_what_was_acknowledged_and_a_synchronous_one_does_not(
    powercut: Cut, tmp_path: Path
) -> None:
    file, out = tmp_path / "replicated.toml", tmp_path / "out"
    file.write_text(REPLICATED)
    result = powercut(file, out)  # all that is lost is announced
    cuts = {(c["levels"]["place.replication"], c["levels"]["place.disk_failure"]): c for c in result["combinations"]}
    assert {key: cut["verdict"] for key, cut in cuts.items()} == {
        ("none", "lost-disk"): "lost", ("asynchronous", "lost-link"): "lost", ("synchronous", "lost-link"): "survived",
    }  # fmt: skip
    rows = {row["replication"]: row["failures"] for row in result["replication"]}
    assert rows["none"]["lost-disk"]["lost_commits"] == [cuts["none", "lost-disk"]["commits_acknowledged"]]
    without_link = rows["asynchronous"]["lost-link"]
    assert without_link["lost_commits"][0] > 0
    assert without_link["lost_ms"][0] > 1000  # the link was down for longer than that
    assert rows["synchronous"]["lost-link"]["looked_on"] == "replica"
    seen = {cut["cell"]: cut["cut"]["replication"] for cut in result["cuts"]}
    synchronous = seen["numbered/postgresql-15/drive/synchronous/lost-link#1"]
    assert synchronous["seen"] == "pg_stat_replication: state streaming, sync_state sync; synchronous_commit on"
    assert synchronous["after_link"] == "hung"
    assert "What a commit costs, and what survives" in (out / "report.html").read_text()
