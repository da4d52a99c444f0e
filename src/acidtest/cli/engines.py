"""``acidtest engines``: lists, installs, adds and removes engines."""

from __future__ import annotations

import json as json_
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.padding import Padding

from acidtest import families
from acidtest.cli import complete
from acidtest.cli.options import Json, option
from acidtest.errors import AcidtestError

if TYPE_CHECKING:
    from acidtest.engine import Engine, Offer, SettingSpec

app = typer.Typer(help="List, install, add and remove engines.", invoke_without_command=True)

HELP = "Engines, as acidtest engines lists them."
Ids = Annotated[list[str], typer.Argument(help=HELP, metavar="ENGINE...", autocompletion=complete.known_engines)]
Removable = Annotated[
    list[str], typer.Argument(help=HELP, metavar="ENGINE...", autocompletion=complete.installed_engines)
]


@app.callback()
def engines(
    context: typer.Context,
    json: Json = False,
) -> None:
    """List the engines: version, architecture, where each comes from, whether it is installed, what it lacks. Builds of
    yours that were added are among them."""
    context.obj = json  # "engines --json install" asks for it too
    if context.invoked_subcommand:
        return
    from acidtest.engine import catalogue
    from acidtest.report.table import Cell, Column, Table, print_table

    found = catalogue.offers()
    offers = [_listed(offer) for offer in found]
    if json:
        print(json_.dumps(offers, indent=2))
        return
    columns = [
        Column("engine", lambda offer: offer["id"], right=False, typed=True),
        Column("version", lambda offer: offer["version"], right=False, drop=1),
        Column("architecture", lambda offer: offer["architecture"] or "–", right=False, drop=2),
        Column("from", lambda offer: offer["source"], right=False, drop=3),
        Column("state", lambda offer: Cell(*_state(offer)), right=False),
    ]
    notes = [note for offer in found for note in _notes(offer)]
    print_table(Table(columns, offers, notes=notes), Console(highlight=False), "--json has all")


@app.command()
def install(context: typer.Context, ids: Ids, json: Json = False) -> None:
    """Install engines, each version into a folder of its own."""
    from acidtest.engine import catalogue

    def bring(engine: Engine, say: Callable[[str], None]) -> None:
        engine.install(say)
        catalogue.find(engine.id)

    _each(ids, bring, json=json or context.obj)


@app.command()
def add(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="What experiments call the build.", metavar="NAME")],
    path: Annotated[
        Path,
        typer.Argument(
            help="An installation, a build tree, an unpacked archive, or SQLite's shared library.", metavar="PATH"
        ),
    ],
    family: Annotated[
        str,
        option("--family", "Which engine it is; told by its files where it is left out.", "FAMILY", complete.families),
    ] = "",
    mode: Annotated[str, option("--mode", "Of a Firebird: embedded or server.", "MODE")] = "",
    json: Json = False,
) -> None:
    """Keep a build of yours for every experiment. It stays where it is, and is looked at again at each use."""
    from acidtest.engine import catalogue

    engine = catalogue.keep(name, path.absolute(), family, mode)
    offer = engine.offer()
    for note in engine.notes():
        print(note, file=sys.stderr)
    if json or context.obj:
        print(json_.dumps([_listed(offer)], indent=2))
        return
    print(f"added {name}: {catalogue.title_of(engine)} {offer.version}, {offer.architecture}, {offer.source}")


@app.command()
def remove(context: typer.Context, ids: Removable, json: Json = False) -> None:
    """Remove installed engines, and builds that were added; the files of a build stay."""
    from acidtest.engine import catalogue

    as_json = json or context.obj
    built = [id for id in ids if catalogue.is_kept(id)]  # noqa: A001
    for name in built:
        catalogue.forget(name)
        print(f"{name} is kept no longer; its files stay", file=sys.stderr if as_json else sys.stdout)
    others = [id for id in ids if id not in built]  # noqa: A001
    if others or as_json:
        _each(others, lambda engine, say: engine.remove(say), json=as_json)


@app.command()
def settings(
    context: typer.Context,
    id: Annotated[  # noqa: A002
        str, typer.Argument(help="An engine, installed or not.", metavar="ENGINE", autocompletion=complete.engines)
    ],
    json: Json = False,
) -> None:
    """Show the settings that an experiment may vary, and what each durability level means."""
    from acidtest.engine import catalogue

    engine = catalogue.describe(id)
    specs = engine.setting_specs().values()
    levels = [engine.durability(level, {}) for level in engine.durability_levels()]
    if json or context.obj:
        described = {
            "engine": engine.id,
            "family": engine.family,
            "settings": [_setting_json(engine.family, spec) for spec in specs],
            "durability": [asdict(level) for level in levels],
        }
        print(json_.dumps(described, indent=2))
        return
    console = Console(highlight=False)
    if id not in catalogue.known():
        console.print(
            f"{id} is a build of yours, and its keys are those of its family: {engine.family}.KEY as a factor, KEY "
            f"under [settings.{engine.family}].\n",
            markup=False,
        )
    for spec in specs:
        console.print(f"[bold]{engine.family}.{spec.name}[/] {_default(spec)}")
        console.print(Padding(f"{spec.doc.removesuffix('.')}: {_values(spec)}", (0, 0, 0, 4), expand=False))
    console.print()
    for level in levels:
        console.print(f"[bold]durability {level.level}[/]")
        console.print(Padding(level.means, (0, 0, 0, 4), expand=False))


def _each(ids: list[str], do: Callable[[Engine, Callable[[str], None]], None], *, json: bool) -> None:
    """Do it to each engine, one after the other; then print what is here of them, as JSON."""
    from acidtest.engine import catalogue

    def say(line: str) -> None:
        print(line, file=sys.stderr if json else sys.stdout)

    for id in ids:  # noqa: A001
        do(catalogue.describe(id), say)
    if json:
        print(json_.dumps([_listed(catalogue.describe(id).offer()) for id in ids], indent=2))  # noqa: A001


def _listed(offer: Offer) -> dict[str, Any]:
    listed = asdict(offer)
    if offer.installed and not offer.version and not offer.damage:
        listed["version"] = _version_in_rig(offer.id)
    return listed


def _default(spec: SettingSpec) -> str:
    from acidtest.engine.base import shown

    if spec.by_level:
        return "[dim]follows from the durability level[/]"
    return f"= {shown(spec.default)}" if spec.default is not None else f"[dim]{spec.unset}[/]"


def _values(spec: SettingSpec) -> str:
    from acidtest.engine.base import shown

    values = ", ".join(map(shown, spec.allowed)) if spec.allowed else f"{spec.minimum:,} to {spec.maximum:,}"
    return f"{values} {spec.unit.name}" if spec.unit else values


def _setting_json(family: str, spec: SettingSpec) -> dict[str, Any]:
    return {
        "name": f"{family}.{spec.name}",
        "says": spec.doc,
        "unit": spec.unit.name if spec.unit else None,
        "values": list(spec.allowed) if spec.allowed else None,
        "minimum": spec.minimum,
        "maximum": spec.maximum,
        "default": spec.default,
        "unset": "follows from durability" if spec.by_level else spec.unset if spec.default is None else None,
        "shapes_files": spec.shapes_files,
        "since": spec.since,
    }


def _state(offer: dict[str, Any]) -> tuple[str, str]:
    """In a word or two, so that no column makes room for a path; and what they mean, as of ``table.Cell``."""
    if offer["damage"]:
        return "damaged, see below", "bad"
    if offer["doubts"]:
        return "ready, but see below", "unknown"
    if offer["missing_libraries"]:
        return "lacks libraries, see below", "bad"
    return ("ready", "survived") if offer["installed"] else ("not installed", "soft")


def _notes(offer: Offer) -> list[str]:
    """The sentences that the state refers to."""
    lack = offer.lack() if offer.installed else None
    return [*([f"{offer.id} {lack[0]}; {lack[1]}"] if lack else []), *filter(None, [offer.doubts])]


def _version_in_rig(id: str) -> str:  # noqa: A002
    """Of an engine that is built into the rig, which names it as its makers do."""
    from acidtest.files import rig_version

    product = families.product_of_engine(id)
    try:
        version = rig_version().partition(f"{product.title} ")[2].partition(")")[0] if product else ""
    except AcidtestError:
        return "unknown"
    return version or "unknown"
