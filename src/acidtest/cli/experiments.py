"""``acidtest experiments``: lists the shipped experiments, and copies one with what it names."""

from __future__ import annotations

import json as json_
import re
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from acidtest.cli import complete, shipped
from acidtest.cli.options import Json
from acidtest.cli.spans import span
from acidtest.errors import BadInput, cannot_write

if TYPE_CHECKING:
    from acidtest.plan import Plan

app = typer.Typer(
    help="List and copy the shipped experiments. Every command that takes FILE.toml takes @NAME for one of them.",
    no_args_is_help=True,
)
ELSEWHERE = "name another directory"


@dataclass(frozen=True)
class _Listed:
    name: str
    title: str
    question: str
    quick_s: int  # at the small size
    whole_s: int
    file: str


@app.command("list")
def list_(json: Json = False) -> None:
    """List the shipped experiments: name, title, question, and about how long each takes."""
    from acidtest.cli.planning import planned

    rows = []
    for name, file in shipped.experiments().items():
        small, whole = (planned(file, quick=quick) for quick in (True, False))
        question = " ".join(whole.experiment.question.split())
        rows.append(_Listed(name, whole.experiment.title, question, _seconds(small), _seconds(whole), str(file)))
    if json:
        print(json_.dumps([asdict(row) for row in rows], indent=2))
        return
    console = Console(highlight=False)
    for row in rows:
        console.print(Text.assemble((f"{shipped.MARK}{row.name}", "bold"), f"  {row.title}"))
        asks = re.split(r"(?<=[.?])\s", row.question, maxsplit=1)[0]
        lasts = f"About {span(row.quick_s)} with --quick, {span(row.whole_s)} without."
        console.print(Padding(Text(f"{asks}\n{lasts}", "dim"), (0, 0, 0, 4), expand=False))


def _seconds(plan: Plan) -> int:
    """How long it is assumed to take, as ``acidtest plan`` says."""
    from acidtest.conductor import assumed_seconds
    from acidtest.plan import typical_seconds

    return round(assumed_seconds(plan) if plan.experiment.search is None else typical_seconds(plan))


@app.command()
def copy(
    name: Annotated[
        str, typer.Argument(help="A shipped experiment.", metavar="NAME", autocompletion=complete.shipped_experiments)
    ],
    directory: Annotated[Path, typer.Argument(help="Where to; by default here.", metavar="[DIR]")] = Path(),
    json: Json = False,
) -> None:
    """Copy a shipped experiment, with the workloads and programs that it names, to change it. Overwrites nothing."""
    copies = {directory / below: file for below, file in shipped.parts(name).items()}
    try:
        missing = {to: file for to, file in copies.items() if not to.exists()}
        for to in copies.keys() - missing.keys():
            if not to.is_file() or to.read_bytes() != copies[to].read_bytes():
                raise BadInput(
                    f"{to}: is there already, and is not the shipped one", f"{ELSEWHERE}; nothing was copied"
                )
        for to, file in missing.items():
            to.parent.mkdir(parents=True, exist_ok=True)
            with to.open("xb") as target:
                target.write(file.read_bytes())
            shutil.copymode(file, to)
    except OSError as error:
        raise cannot_write(Path(error.filename or directory), error, ELSEWHERE) from None
    if json:
        print(json_.dumps([str(to) for to in copies], indent=2))
        return
    for to in copies:
        print(to if to in missing else f"{to} (was there already)")
