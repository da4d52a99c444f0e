"""``acidtest clean``: releases what a killed run left behind."""

from __future__ import annotations

import json as json_
from typing import Annotated

import typer


def clean(
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Only list what would be released.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print what was released as JSON.")] = False,
) -> None:
    """Release what a killed run left behind: processes, control groups, mounts, loop devices, queue settings,
    directories.

    Only what is written in a ledger is touched.
    """
    from acidtest.place import leftovers, release_leftovers

    lines = [f"{left.kind} {left.what}" for left in leftovers()] if dry_run else release_leftovers()
    if json:
        print(json_.dumps({"would_release" if dry_run else "released": lines}, indent=2))
    else:
        print("\n".join(lines) or "Nothing was left behind.")
