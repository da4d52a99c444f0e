"""What Firebird's connection URLs ask of the wire, in the words of its drivers (``wireCrypt``); pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, cast

from acidtest.errors import BadInput
from acidtest.experiment.model import Model
from acidtest.families import FIREBIRD

Crypt = Literal["Required", "Enabled", "Disabled"]  # as firebird.conf has it of WireCrypt
CRYPTS: tuple[Crypt, ...] = ("Required", "Enabled", "Disabled")
CRYPT, COMPRESSION = "wireCrypt", "wireCompression"
PARAMETERS: Mapping[str, tuple[str, ...]] = {FIREBIRD.name: (CRYPT, COMPRESSION)}


class Wire(Model):
    """That a session must be encrypted or must not be, or takes what the server has; and whether it is compressed."""

    crypt: Crypt
    compression: bool


def asked(where: str, family: str, parameters: Mapping[str, str]) -> Wire | None:
    """What the parameters of a URL ask for; None of a family that has no such wire. Raises BadInput for a value that is
    not known here."""
    if family not in PARAMETERS:
        return None
    crypt = _of(where, CRYPT, parameters.get(CRYPT, "Enabled"), CRYPTS)
    compression = _of(where, COMPRESSION, parameters.get(COMPRESSION, "false"), ("true", "false"))
    return Wire(crypt=cast("Crypt", crypt), compression=compression == "true")


def _of(where: str, name: str, value: str, known: tuple[str, ...]) -> str:
    """The word of ``known`` that ``value`` is, in whatever case it is written."""
    for word in known:
        if word.lower() == value.lower():
            return word
    raise BadInput(f"{where}: {name}={value}: is not known here", f"write one of {', '.join(known)}")
