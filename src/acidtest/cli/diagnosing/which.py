"""Which engine the cells of a diagnosis run on: the one in question, as near as one is installed."""

from __future__ import annotations

import re
from pathlib import Path

from acidtest.cli.diagnosing.course import Course
from acidtest.engine import Engine, catalogue
from acidtest.errors import BadInput
from acidtest.families import PRODUCTS, SQLITE, of_engine, of_word, product_of_engine
from acidtest.journal.diagnosis import Audited, Inside


def product_of(course: Course, audited: Audited | None, inside: Inside | None) -> tuple[str, str]:
    """The engine in question as people name it, and its version; "" where it is not known."""
    version = audited.version if audited else ""
    is_server = course.database is not None and course.database.bytes is None
    if inside and is_server and (release := re.search(r"\d+(\.\d+)*", inside.looked_at)):
        version = release[0]  # it has answered itself
    version = version or (course.database.version if course.database else "") or _of_data(course.asked.config)
    if audited and audited.engine:
        return audited.engine, version
    if course.database is None:
        return "", ""
    if is_server:  # its scheme names the product
        word = course.database.where.partition("://")[0]
        return next((name for name in PRODUCTS if name == word), course.database.family), version
    return course.database.family, course.database.version


def _of_data(directory: Path | None) -> str:
    """The version that a data directory of PostgreSQL names; "" where it is none."""
    try:
        said = (directory / "PG_VERSION").read_text(encoding="ascii").strip() if directory else ""
    except (OSError, UnicodeDecodeError):
        return ""
    return said if re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,3})?", said) else ""


def engine_of(product: str, version: str) -> tuple[Engine, bool | None]:
    """An engine of that product that can run here, of the user's version or the nearest; and whether it is that.

    Raises BadInput where there is none.
    """
    ready = [
        offer.id
        for offer in catalogue.offers()
        if offer.lack() is None and (one := product_of_engine(offer.id)) is not None and one.name == product
    ]
    if not ready:
        family = of_word(product)
        ready = [
            offer.id
            for offer in catalogue.offers()
            if offer.lack() is None and family is not None and of_engine(offer.id) is family
        ]
    if not ready:
        raise BadInput(f"no engine of {product} is installed: acidtest engines lists which can be")
    if version:
        same = [one for one in ready if f"{version}.".startswith(f"{_number(one)}.")]
        if same:
            return catalogue.find(same[0]), True
    wanted = _parts(version)

    def distance(id: str) -> tuple[list[int], list[int], int]:  # noqa: A002
        """Smaller is nearer; of two that are as near the newer one."""
        own = _parts(_number(id))
        return [abs(a - b) for a, b in zip(own, wanted, strict=False)], [-part for part in own], len(id)

    nearest = min(ready, key=distance)
    if product == SQLITE.name:
        return catalogue.find(nearest), None
    return catalogue.find(nearest), False if version else None


def _parts(number: str) -> list[int]:
    return [int(part) for part in number.split(".") if part.isdigit()]


def _number(id: str) -> str:  # noqa: A002
    """ "5.0" of "firebird-5.0-server"."""
    return ([*id.split("-"), ""])[1]
