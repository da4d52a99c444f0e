"""What stands beside a key of an experiment, where the key is defined: unit, form, what holds without it, since when.

A key is a field of a model with a ``description``: one plain sentence. All else that its reference says, beyond the
field's own type, default and range, is one of these values in its ``Annotated`` type.
"""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

FIRST_VERSION = "0.1"
Scalar = str | int | float | bool  # the value of a key that is no table and no list


class Model(BaseModel):
    """A table of an experiment; it is built when it is first used, for few commands read one."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, defer_build=True)


def keys_in(model: type[BaseModel]) -> tuple[str, ...]:
    """The keys of a model as a file writes them, without those that no file has."""
    return tuple(field.alias or name for name, field in model.model_fields.items() if not field.exclude)


@dataclass(frozen=True)
class Unit:
    """In which a key's numbers count."""

    name: str


@dataclass(frozen=True)
class Form:
    """How a key's text is written, where neither type nor range shows it."""

    words: str


@dataclass(frozen=True)
class Unset:
    """What holds where the key is not given, of one whose default does not show it."""

    words: str


@dataclass(frozen=True)
class Since:
    """The version that brought the key, of one that was not there in ``FIRST_VERSION``."""

    version: str


@dataclass(frozen=True)
class Fixed:
    """That no factor may set the key, and what to do where one is to."""

    instead: str


@dataclass(frozen=True)
class Kept:
    """That no file has the key: acidtest writes it into recordings."""


BYTES = Unit("bytes")
KIB = Unit("KiB")
MIB = Unit("MiB")
MEGABYTES = Unit("10^6 bytes")
MICROSECONDS = Unit("microseconds")
MILLISECONDS = Unit("milliseconds")
SECONDS = Unit("seconds")
TRANSACTIONS_PER_SECOND = Unit("transactions a second")
PERCENT = Unit("percent")
PAGES = Unit("pages")
PAGES_PER_SECOND = Unit("pages a second")
