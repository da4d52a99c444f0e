"""Keys that only a file has: short forms, which the reader writes out. It takes no more than their names from here."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from acidtest.experiment.models import Experiment, Level
from acidtest.keys import Form, Model, Scalar, Unset, keys_in


class TopForm(Model):
    """Beside the keys of ``Experiment``: factors of one level, and what ``--quick`` lays over the file."""

    engine: Annotated[
        str,
        Form("or the name of a build that was added, or of a table of [engines] or [servers]"),
        Unset("none: it must be a factor then"),
    ] = Field(description="Every cell runs this engine.")
    durability: Annotated[str, Unset("none: it must be a factor then")] = Field(
        description="Every commit is this durable when the engine acknowledges it."
    )
    quick: Annotated[dict[str, Any], Form("any key of the file, in the same tables")] = Field(
        default_factory=dict, description="With --quick these keys are laid over the file: its small size."
    )


class LevelForm(Level):
    """A level that is written as a table."""

    value: Annotated[Scalar, Unset("what set says")] = Field(description="The factor has this value at the level.")


class ServerForm(Model):
    """``[servers.NAME]``, which becomes a ``ServerSpec``."""

    url: Annotated[str, Form('"postgresql://USER@HOST:PORT/DATABASE", "mysql://…" or "firebird://…"')] = Field(
        description="acidtest connects to the server by this URL; its password may stand in ACIDTEST_PASSWORD_NAME."
    )
    schema_name: Annotated[
        str | None,
        Form("lower-case letters, digits and _, no digit first"),
        Unset("acidtest, in a database that holds no other tables"),
    ] = Field(
        default=None,
        alias="schema",
        description="On PostgreSQL tables go into this schema, which is made, marked and removed.",
    )


class BuildForm(Model):
    """``[engines.NAME]``, which becomes a ``BuildSpec``."""

    family: str = Field(description="The build is one of this product.")
    path: Annotated[str, Form('"/opt/pg-master", which begins at the working directory')] = Field(
        description="The build lies there, as a prefix, a build tree, an unpacked archive, or SQLite's shared library."
    )
    mode: Annotated[Literal["embedded", "server"] | None, Unset("server, of a build that has one")] = Field(
        default=None, description="A Firebird runs embedded in the rig, or as a server."
    )


TOP_KEYS = (*keys_in(Experiment), *keys_in(TopForm))
