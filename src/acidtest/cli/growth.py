"""``acidtest growth``: how a rate changes as the database grows, and what to expect of sizes that were not measured."""

from __future__ import annotations

import csv
import json as json_
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from acidtest.cli.options import Json, Predict, option
from acidtest.cli.report import opened
from acidtest.errors import BadInput
from acidtest.words import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from acidtest.analysis.growth.series import Series

HEADER = 'its first line names the columns, as in "size,rate" or "size_gb,rate"; then one line a measurement'
UNIT = re.compile(r"size(?:[ _]*\(?\[?([a-z]+)\]?\)?)?", re.IGNORECASE)
BYTES_MAX = 16 * 1024 * 1024  # of a file of rates


def growth(
    where: Annotated[
        Path, typer.Argument(help="A run's directory, or a CSV file of sizes and rates.", metavar="WHERE")
    ],
    predict: Predict = None,
    memory: Annotated[str | None, option("--memory", 'Memory of the machine: "16GB".')] = None,
    json: Json = False,
) -> None:
    """Show what is lost as a database grows, whether there is a knee, and what to expect of other sizes."""
    sizes = [_size("--predict", text) for text in predict or []]
    limit = _size("--memory", memory) if memory is not None else None
    series = _recorded(where, limit) if where.is_dir() else _published(where, limit)

    from acidtest.report.growth import growth as concluded
    from acidtest.report.growth_tables import print_growth

    conclusion = concluded(series, sizes)
    if json:
        print(json_.dumps(conclusion.as_json(), indent=2))
    else:
        print_growth(conclusion, Console(highlight=False))


def _size(option: str, text: str) -> int:
    from acidtest.experiment.sizes import bytes_of

    try:
        return bytes_of(text)
    except BadInput as error:
        raise BadInput(f"{option}: {error.message}", error.remedy) from None


def _recorded(directory: Path, memory: int | None) -> Sequence[Series]:
    """Of a run: those that have a rate."""
    from acidtest.analysis import samples
    from acidtest.analysis.growth.recorded import recorded
    from acidtest.journal.reader import NAME

    journal = opened(directory / NAME)
    rows = samples.rows(journal.header, journal.recordings)
    series = [one for one in recorded(journal.header, rows, memory, journal.forecasts) if one.points]
    if not series:
        raise BadInput(
            f"{directory / NAME}: no database in it grew",
            "give the directory of an experiment with [growth] sizes, at least one of whose cells is done",
        )
    return series


def _published(path: Path, memory: int | None) -> Sequence[Series]:
    """Columns size and rate, and series where there are several; repeated sizes are repetitions."""
    from acidtest.analysis.growth.series import MEMORY, Landmark, Series, SizePoint

    try:
        with path.open("rb") as file:
            raw = file.read(BYTES_MAX + 1)
        text = raw.decode("utf-8-sig")
    except FileNotFoundError:
        raise BadInput(f"{path}: no such file or directory", "give a run's directory, or a CSV file") from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadInput(f"{path}: not a text file", HEADER) from None
    if len(raw) > BYTES_MAX:
        raise BadInput(f"{path}: larger than {BYTES_MAX >> 20} MiB", "that is no file of sizes and rates")
    lines = [(n, line) for n, line in enumerate(text.splitlines(), start=1) if line.strip() and line.lstrip()[0] != "#"]
    if not lines:
        raise BadInput(f"{path}: empty", HEADER)
    separator = ";" if ";" in lines[0][1] else ","
    names = [name.strip() for name in _fields(path, *lines[0], separator)]
    unit, at_size, at_rate, at_name = _columns(path, names)
    rates: dict[str, dict[int, list[float]]] = {}
    for n, line in lines[1:]:
        fields = [field.strip() for field in _fields(path, n, line, separator)]
        if len(fields) != len(names):
            raise BadInput(
                f"{path}, line {n}: {counted(len(fields), 'field')} where the first line has {len(names):,}",
                'numbers have a decimal point, as in "9.04 GB"',
            )
        bare = unit and fields[at_size][-1:].isdecimal()
        size = _size(f"{path}, line {n}", f"{fields[at_size]} {unit}" if bare else fields[at_size])
        series = rates.setdefault(fields[at_name] if at_name is not None else path.stem, {})
        series.setdefault(size, []).append(_rate(path, n, fields[at_rate]))
    if not rates:
        raise BadInput(f"{path}: no measurement in it", HEADER)
    landmarks = (Landmark(MEMORY, memory),) if memory is not None else ()
    return [
        Series(name, tuple(SizePoint(size, tuple(of[size])) for size in sorted(of)), landmarks)
        for name, of in rates.items()
    ]


def _fields(path: Path, n: int, line: str, separator: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=separator, strict=True))
    except csv.Error as error:
        raise BadInput(f"{path}, line {n}: not CSV: {error}", HEADER) from None


def _columns(path: Path, names: Sequence[str]) -> tuple[str, int, int, int | None]:
    """The unit of sizes without one, and where size, rate and series stand."""
    sizes = [n for n, name in enumerate(names) if UNIT.fullmatch(name)]
    rates = [n for n, name in enumerate(names) if name.lower().startswith("rate")]
    if len(sizes) != 1 or len(rates) != 1:
        raise BadInput(f"{path}: needs one column size and one column rate, has {', '.join(names)}", HEADER)
    match = UNIT.fullmatch(names[sizes[0]])
    unit = (match and match[1]) or ""
    if unit:
        _size(f"{path}: column {names[sizes[0]]}", f"1 {unit}")
    series = [n for n, name in enumerate(names) if name.lower() in ("series", "place", "engine")]
    return unit, sizes[0], rates[0], series[0] if series else None


def _rate(path: Path, n: int, text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = math.nan
    if not (math.isfinite(rate) and 0 <= rate < 1e15):
        raise BadInput(f'{path}, line {n}: "{text}" is not a rate', "a number of transactions a second, 0 or more")
    return rate
