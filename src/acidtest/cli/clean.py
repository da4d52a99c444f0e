"""``acidtest clean``: releases what a killed run left behind, and removes disks that stand."""

from __future__ import annotations

import json as json_
from pathlib import Path
from typing import Annotated

import typer

from acidtest.cli import fleets
from acidtest.cli.options import FleetFile, Json


def clean(
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Only list what would be released.")] = False,
    fleet: FleetFile = None,
    json: Json = False,
) -> None:
    """Release what a killed run left behind: processes, control groups, mounts, loop devices, queue settings,
    directories. Remove the disks that acidtest disk has made, unless they are in use.

    Only what is written in a ledger is touched.
    """
    from acidtest.place import disk_service, leftovers, release_leftovers

    if fleet is not None:
        _on_hosts(fleet, dry_run=dry_run, json=json)
        return
    if dry_run:
        lines = [
            *(f"{left.kind} {left.what}" for left in leftovers()),
            *(f"disk {name}" for name in disk_service.alive()),
        ]
    else:
        lines = [*release_leftovers(), *disk_service.remove_all()]
    if json:
        print(json_.dumps({"would_release" if dry_run else "released": lines}, indent=2))
    else:
        print("\n".join(lines) or "Nothing was left behind.")


def _on_hosts(file: Path, *, dry_run: bool, json: bool) -> None:
    with fleets.opened(file) as machines:
        done = machines.clean(dry_run=dry_run)
    if json:
        print(json_.dumps({"hosts": done}, indent=2))
        return
    for host, answer in done.items():
        for line in answer["released"]:
            print(f"{host}: {line}")
        for line in answer["kept"]:
            print(f"{host}: kept {line}; the command that measured them takes them, or remove it by hand")
        if not answer["released"] and not answer["kept"]:
            print(f"{host}: nothing was left behind.")
