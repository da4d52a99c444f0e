"""What goes over the wire to a Firebird server: whether it is encrypted and compressed, as the server sees it."""

from __future__ import annotations

from collections.abc import Mapping

from acidtest.engine.base import SettingSpec
from acidtest.engine.compare import Answers, spoken
from acidtest.journal.models import SettingInForce

CRYPT = SettingSpec(
    "wire_crypt",
    "What goes over the wire is encrypted (WireCrypt is Required on both sides, else Disabled).",
    (False, True),
    default=False,
)
COMPRESSION = SettingSpec(
    "wire_compression", "What goes over the wire is compressed (WireCompression).", (False, True), default=False
)
SPECS = (CRYPT, COMPRESSION)

# Names of ours, and of the variables of RDB$GET_CONTEXT. Firebird has the first two since 3.0.4, the third since 4.0.
VARIABLES = {
    CRYPT.name: "WIRE_ENCRYPTED",
    COMPRESSION.name: "WIRE_COMPRESSED",
    "wire_crypt_plugin": "WIRE_CRYPT_PLUGIN",
    "network_protocol": "NETWORK_PROTOCOL",
}
SOURCE = "RDB$GET_CONTEXT"


def _told(name: str, variable: str) -> str:
    """Of one that a version does not know it says nothing."""
    return (
        f"name = '{name}'; said = null; "
        f"begin said = rdb$get_context('SYSTEM', '{variable}'); when any do begin end end suspend; "
    )


# Names and values, of a session with a server of any version.
QUESTION = (
    "execute block returns (name varchar(30), said varchar(255)) as begin "
    f"{''.join(_told(name, variable) for name, variable in VARIABLES.items())}end"
)


def entries(*, crypt: str, compression: bool) -> dict[str, str]:
    """Of firebird.conf, for either side; ``crypt`` in its words: "Required", "Enabled", "Disabled"."""
    return {"WireCrypt": crypt, "WireCompression": spoken(compression)}


def in_force(asked: Mapping[str, bool | None], given: Answers) -> list[SettingInForce]:
    """Both settings against what the session was told; what a server does not tell is not verifiable. Names that
    ``asked`` has not are only recorded."""
    found = []
    for name in VARIABLES:
        wanted = asked.get(name)
        words = spoken(wanted) if wanted is not None else None
        if name in (CRYPT.name, COMPRESSION.name):
            setting = given.compare(name, words, SOURCE, translate=str.lower)
        else:
            setting = given.compare(name, words, SOURCE)
        if setting.in_force is not None:
            found.append(setting)
        elif words is not None:
            nothing = "nothing: this server does not tell it"
            found.append(setting.model_copy(update={"agrees": None, "source": nothing}))
    return found
