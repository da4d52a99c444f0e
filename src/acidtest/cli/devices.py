"""The options that name real block devices, for every command that may write to one."""

from __future__ import annotations

from typing import Annotated

import typer

UseDevice = Annotated[
    list[str] | None,
    typer.Option("--use-device", help="A real block device that may be written to.", metavar="/dev/X"),
]
Erase = Annotated[
    list[str] | None,
    typer.Option("--erase", help="One of these devices on which everything may be destroyed.", metavar="/dev/X"),
]
