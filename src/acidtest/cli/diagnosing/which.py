"""Which engine the cells of a diagnosis run on: the one in question, as near as one is installed."""

from __future__ import annotations

from acidtest.cli.diagnosing.course import Course
from acidtest.engine import Engine, catalogue
from acidtest.errors import BadInput
from acidtest.families import PRODUCTS, SQLITE, of_engine, of_word, product_of_engine
from acidtest.journal.diagnosis import Audited


def product_of(course: Course, audited: Audited | None) -> tuple[str, str]:
    """The engine in question as people name it, and its version; "" where it is not known."""
    if audited and audited.engine:
        version = audited.version or (course.database.version if course.database else "")
        return audited.engine, version
    if course.database is None:
        return "", ""
    if course.database.bytes is None:  # a server: its scheme names the product
        word = course.database.where.partition("://")[0]
        return next((name for name in PRODUCTS if name == word), course.database.family), ""
    return course.database.family, course.database.version


def engine_of(product: str, version: str) -> tuple[Engine, bool | None]:
    """An engine of that product that can run here, of the user's version if there is one; and whether it is that.

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
    newest = max(ready, key=lambda one: ([int(n) for n in _number(one).split(".") if n.isdigit()], -len(one)))
    if product == SQLITE.name:
        return catalogue.find(newest), None
    return catalogue.find(newest), False if version else None


def _number(id: str) -> str:  # noqa: A002
    """ "5.0" of "firebird-5.0-server"."""
    return ([*id.split("-"), ""])[1]
