"""``acidtest engines``: lists, installs and removes engines."""

from __future__ import annotations

import json as json_
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from acidtest import families
from acidtest.conductor import rig_version
from acidtest.engine import catalogue
from acidtest.engine.base import shown
from acidtest.errors import AcidtestError

app = typer.Typer(help="List, install and remove engines.", invoke_without_command=True)

Ids = Annotated[list[str], typer.Argument(help="Engines, as acidtest engines lists them.", metavar="ENGINE...")]


@app.callback()
def engines(
    context: typer.Context,
    json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False,
) -> None:
    """List the engines: version, architecture, where each comes from, whether it is installed, what it lacks."""
    if context.invoked_subcommand:
        return
    offers = [asdict(offer) for offer in catalogue.offers()]
    for offer in offers:
        if offer["installed"] and not offer["version"]:
            offer["version"] = _version_in_rig(str(offer["id"]))
    if json:
        print(json_.dumps(offers, indent=2))
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("engine", "version", "architecture", "from", "state"):
        table.add_column(heading)
    for offer in offers:
        table.add_row(offer["id"], offer["version"], offer["architecture"] or "–", offer["source"], _state(offer))
    Console(highlight=False).print(table)


@app.command()
def install(ids: Ids) -> None:
    """Install engines, each version into a folder of its own."""
    for id in ids:  # noqa: A001
        catalogue.describe(id).install(print)
        catalogue.find(id)


@app.command()
def remove(ids: Ids) -> None:
    """Remove installed engines."""
    for id in ids:  # noqa: A001
        catalogue.describe(id).remove(print)


@app.command()
def settings(id: Annotated[str, typer.Argument(metavar="ENGINE")]) -> None:  # noqa: A002
    """Show the settings that an experiment may vary, and what each durability level means."""
    engine = catalogue.describe(id)
    console = Console(highlight=False)
    for spec in engine.setting_specs().values():
        values = ", ".join(map(shown, spec.allowed)) if spec.allowed else f"{spec.minimum} to {spec.maximum}"
        default = f"= {shown(spec.default)}" if spec.default is not None else "[dim]the engine's own default[/]"
        if spec.by_level:
            default = "[dim]follows from the durability level[/]"
        console.print(f"[bold]{engine.family}.{spec.name}[/] {default}")
        console.print(Padding(f"{spec.doc}: {values}", (0, 0, 0, 4)))
    console.print()
    for level in engine.durability_levels():
        console.print(f"[bold]durability {level}[/]")
        console.print(Padding(engine.durability(level, {}).means, (0, 0, 0, 4)))


def _state(offer: dict[str, object]) -> str:
    missing = offer["missing_libraries"]
    if missing:
        return f"[red]lacks {', '.join(f'{library} (Debian: {package})' for library, package in missing)}[/]"  # type: ignore[attr-defined]
    return "[green]ready[/]" if offer["installed"] else "[dim]not installed[/]"


def _version_in_rig(id: str) -> str:  # noqa: A002
    """Of an engine that is built into the rig, which names it as its makers do."""
    product = families.product_of_engine(id)
    try:
        version = rig_version().partition(f"{product.title} ")[2].partition(")")[0] if product else ""
    except AcidtestError:
        return "unknown"
    return version or "unknown"
