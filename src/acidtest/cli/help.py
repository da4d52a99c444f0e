"""``acidtest help``: a key of an experiment, a table of keys, a command, or what there is of each."""

from __future__ import annotations

import json as json_
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text
from typer.core import TyperCommand, TyperGroup

from acidtest.cli import COMMANDS, complete, shipped
from acidtest.cli.options import Json
from acidtest.errors import BadInput

if TYPE_CHECKING:
    from acidtest.reference.find import Found
    from acidtest.reference.key import Key, Table

Commands = dict[str, TyperCommand | TyperGroup]  # "engines install" -> the command


def help(  # noqa: A001 - the command's name
    context: typer.Context,
    asked: Annotated[
        list[str] | None,
        typer.Argument(
            help="A key (memory_mb, place.memory_mb), a table (place), a command (engines install) or a page of docs/.",
            metavar="[KEY|TABLE|COMMAND|PAGE]",
            autocompletion=complete.asked,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Explain a key of an experiment, a table of keys, or a command; print a page; alone: list them."""
    root = context.find_root()
    if not asked:
        _overview(dict(_commands(root.command, root)), json=json)
        return
    from acidtest.reference.find import Found, find

    name, command = " ".join(asked), _command(root, asked)
    # "engines add" is the command, and no table of a build called add.
    found = Found() if command and len(asked) > 1 else find(".".join(asked))
    named = {name: command} if command else {}
    if not (found.keys or found.tables or named):
        if (page := shipped.page_named(name)) is None:
            raise _unknown(name)
        _print_page(page, json=json)
        return
    if json:
        _print_json(found, named)
    else:
        _print(found, named, root)


def _print_page(name: str, *, json: bool) -> None:
    page = shipped.pages()[name]
    print(json_.dumps({"pages": [_page_json(name, page, whole=True)]}, indent=2) if json else _text(page))


def _commands(command: Any, context: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every command below a group, with the words that call it."""
    for name in command.list_commands(context):
        subcommand, words = command.get_command(context, name), f"{path} {name}".strip()
        yield words, subcommand
        if isinstance(subcommand, TyperGroup):
            yield from _commands(subcommand, context, words)


def _command(root: Any, words: list[str]) -> TyperCommand | TyperGroup | None:
    """The one that these words call."""
    command = root.command
    for word in words:
        command = command.get_command(root, word) if isinstance(command, TyperGroup) else None
    return cast(TyperCommand | TyperGroup | None, command)


def _unknown(name: str) -> BadInput:
    from acidtest.audit.importers import declaration
    from acidtest.fleet import spec
    from acidtest.reference.find import near
    from acidtest.reference.words import words

    if name in words("engines"):
        return BadInput(f"help: {name} is an engine, and no key", f"acidtest engines settings {name}")
    if name in words("rules"):
        return BadInput(f"help: {name} is a rule of the audit, and no key", "acidtest audit --rules lists them")
    if name.rpartition(".")[2] in declaration.ALL_KEYS:
        return BadInput(f"help: {name} is a key of benchmark.toml, and of no experiment", "acidtest help docs/AUDIT.md")
    if name.rpartition(".")[2].strip("[]") in spec.ALL_KEYS:
        return BadInput(f"help: {name} is a key of a fleet's file, and of no experiment", "acidtest help docs/FLEET.md")
    nearest = near(name, (*COMMANDS, *shipped.pages()))
    meant = f" (did you mean {' or '.join(nearest)}?)" if nearest else ""
    return BadInput(
        f'help: "{name}" is no key, table, command or page{meant}',
        "acidtest help lists commands, pages, and tables with their keys",
    )


# ---------------------------------------------------------------------------------------------- as text


def _overview(commands: Commands, *, json: bool) -> None:
    from acidtest.reference.tables import tables

    if json:
        listed = {
            "commands": _commands_json(commands),
            "tables": [table.as_json() for table in tables()],
            "keys": [],
            "pages": [_page_json(name, page) for name, page in shipped.pages().items()],
        }
        print(json_.dumps(listed, indent=2))
        return
    console = _console()
    _say(console, "Commands (acidtest help COMMAND explains one)", "bold")
    console.print(_pairs((name, command.get_short_help_str(limit=200)) for name, command in commands.items()))
    _say(console, "\nTables of an experiment, with their keys (acidtest help TABLE, acidtest help KEY)", "bold")
    console.print(_pairs((table.heading, ", ".join(key.bare for key in table.keys)) for table in tables()))
    _say(console, "\nPages (acidtest help PAGE prints one)", "bold")
    console.print(_pairs((name, _title(page)) for name, page in shipped.pages().items()))


def _print(found: Found, named: Commands, root: Any) -> None:
    console = _console()
    for number, key in enumerate(found.keys):
        if number:
            console.print()
        _print_key(key, console)
    for number, table in enumerate(found.tables):
        if number or found.keys:
            console.print()
        _print_table(table, console)
    for name in named:
        if found.keys or found.tables:
            _say(console, f"\nacidtest {name}", "bold")
        root.command.main([*name.split(), "--help"], prog_name=root.info_name, standalone_mode=False)


def _print_key(key: Key, console: Console) -> None:
    _say(console, key.name, "bold")
    facts = {
        "type": f"{key.kind}: {key.takes}" if key.takes else key.kind,
        "not given": key.otherwise,
        "works with": "; ".join(key.works_with),
        "as a factor": _as_factor(key),
        "since": key.since,
    }
    console.print(_indented(Text(key.says)))
    console.print(_pairs((label, text) for label, text in facts.items() if text))


def _as_factor(key: Key) -> str:
    if not key.factor:
        return "no"
    return f'"{key.factor}" = […] in [factors]' if "." in key.factor else f"{key.factor} = […] in [factors]"


def _print_table(table: Table, console: Console) -> None:
    _say(console, table.heading, "bold")
    console.print(_indented(Text(table.says)))
    for key in table.keys:
        console.print(_indented(Text.assemble((key.bare, "bold"), (f"  not given: {key.otherwise}", "dim"))))
        console.print(_indented(Text(key.says), by=6))
    if table.path[0] == "workload" and table.path[-1] != "NAME":
        _say(console, "  Every workload has more keys: acidtest help workload.", "dim")
    if table.pages:
        _say(console, f"  More: acidtest help {', '.join(f'docs/{page}' for page in table.pages)}", "dim")


def _pairs(rows: Iterable[tuple[str, str]]) -> Padding:
    """Of which the first are never broken, as they have to be typed."""
    grid = Grid.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for left, right in rows:
        grid.add_row(Text(left), Text(right))
    return _indented(grid)


def _indented(shown: RenderableType, by: int = 2) -> Padding:
    return Padding(shown, (0, 0, 0, by), expand=False)


def _console() -> Console:
    return Console(highlight=False)


def _say(console: Console, text: str, style: str) -> None:
    console.print(Text(text, style), soft_wrap=True)


def _text(page: Path) -> str:
    return page.read_text(encoding="utf-8").rstrip()


def _title(page: Path) -> str:
    """Its first heading."""
    return _text(page).partition("\n")[0].removeprefix("# ")


# ---------------------------------------------------------------------------------------------- as JSON


def _print_json(found: Found, named: Commands) -> None:
    keys = [*found.keys, *(key for table in found.tables for key in table.keys)]
    explained = {
        "commands": _commands_json(named),
        "tables": [table.as_json() for table in found.tables],
        "keys": [key.as_json() for key in keys],
    }
    print(json_.dumps(explained, indent=2))


def _commands_json(commands: Commands) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "says": command.get_short_help_str(limit=200),
            "parameters": [_parameter(param) for param in command.params],
        }
        for name, command in commands.items()
    ]


def _page_json(name: str, page: Path, *, whole: bool = False) -> dict[str, str]:
    return {"name": name, "title": _title(page)} | ({"text": _text(page)} if whole else {})


def _parameter(parameter: Any) -> dict[str, Any]:
    is_argument = parameter.param_type_name != "option"
    return {
        "names": [parameter.metavar or parameter.name] if is_argument else list(parameter.opts),
        "kind": parameter.param_type_name,
        "says": parameter.help,
        "required": parameter.required,
        "repeated": parameter.nargs == -1 or bool(getattr(parameter, "multiple", False)),
    }
