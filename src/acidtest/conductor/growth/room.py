"""How much room a database that grows takes, and whether it is there."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from acidtest.engine import Engine
from acidtest.errors import BadInput
from acidtest.experiment import PlaceSpec
from acidtest.place import image_bytes
from acidtest.plan import Cell, size_bytes

ROOM = 1.25  # times what is added: what sorting for indexes takes, and the terminals' own rows
MOUNTED_SHARE = 0.9  # of an image that a file system leaves to its files


def refuse_what_does_not_fit(cells: Sequence[Cell], engines: Mapping[str, Engine], parent: Path) -> None:
    """Raise BadInput where the largest size of a series does not fit, with what it needs."""
    for cell in largest_of_series(cells, engines).values():
        engine, spec = engines[cell.engine], cell.place
        needed, size = room_for(cell, engine), cell.size
        assert size is not None
        at = Path(spec.path or parent)
        what = f"{cell.series}: growing to {size.asked} needs about {needed / 1e6:,.0f} MB"
        if spec.size_mb is not None and spec.kind in ("loop", "disk") and (spec.size_mb << 20) * MOUNTED_SHARE < needed:
            raise BadInput(
                f"{what}, and place.size_mb is {spec.size_mb}",
                f"raise it to {_image_mb(needed)}, leave it out, or leave out the larger sizes",
            )
        if spec.kind != "directory":
            needed = image_bytes(with_image_for(spec, needed), needed)
        if spec.device is None and at.is_dir() and (free := free_bytes(at)) < needed:
            raise BadInput(
                f"{what}, and {at} has {free / 1e6:,.0f} MB free",
                "free some space, name another place, or leave out the larger sizes",
            )


def largest_of_series(cells: Sequence[Cell], engines: Mapping[str, Engine]) -> dict[str, Cell]:
    """Of each series the cell with the largest size."""
    largest: dict[str, Cell] = {}
    for cell in cells:
        family = engines[cell.engine].family
        if cell.series not in largest or size_bytes(cell, family) > size_bytes(largest[cell.series], family):
            largest[cell.series] = cell
    return largest


def room_for(cell: Cell, engine: Engine) -> int:
    """Bytes that a database of the cell's size takes in the end, on the generous side."""
    return int(ROOM * size_bytes(cell, engine.family)) + engine.empty_bytes + engine.log_bytes(cell.settings)


def with_image_for(spec: PlaceSpec, needed: int) -> PlaceSpec:
    """``spec`` with an image large enough for ``needed`` bytes, where it has one and its size is not given."""
    if spec.kind not in ("loop", "disk") or spec.device is not None or spec.size_mb is not None:
        return spec
    return spec.model_copy(update={"size_mb": max(512, _image_mb(needed))})


def free_bytes(path: Path) -> int:
    return shutil.disk_usage(path).free


def _image_mb(needed: int) -> int:
    return -(-int(needed / MOUNTED_SHARE) >> 20) + 64
