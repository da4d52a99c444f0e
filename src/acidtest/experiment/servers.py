"""``[servers]``: servers by their connection URLs, taken apart; TLS is asked for in the words of each family's own
clients."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from pydantic import SecretStr

from acidtest import families
from acidtest.errors import BadInput, Problems, not_among
from acidtest.experiment.models import Crypt, ServerSpec, Wire
from acidtest.experiment.reading import Reading
from acidtest.experiment.short_forms import ServerForm
from acidtest.families import FIREBIRD, SERVERS, Family
from acidtest.journal.protocol import Identity, Tls
from acidtest.keys import keys_in
from acidtest.names import SCHEMA

INSPECTED = "inspect"
FIRST_SERVER = "mine"  # as acidtest init calls it, so that one password serves all commands
CRYPTS: tuple[Crypt, ...] = ("Required", "Enabled", "Disabled")
CRYPT, COMPRESSION = "wireCrypt", "wireCompression"  # as Firebird's drivers have it
WIRE_PARAMETERS = {FIREBIRD.name: (CRYPT, COMPRESSION)}


@dataclass(frozen=True)
class TlsWords:
    """Parameters of a connection URL, and the modes that are known here."""

    mode: str
    without: tuple[str, ...]  # the first is what it is called; the others would do without TLS too
    required: str
    verified: str
    ca: str
    certificate: str
    key: str

    @property
    def files(self) -> tuple[str, str, str]:
        return self.ca, self.certificate, self.key


TLS_WORDS: Mapping[str, TlsWords] = {
    "postgresql": TlsWords(
        "sslmode", ("disable", "allow", "prefer"), "require", "verify-full", "sslrootcert", "sslcert", "sslkey"
    ),
    "mysql": TlsWords(
        "ssl-mode", ("DISABLED", "PREFERRED"), "REQUIRED", "VERIFY_IDENTITY", "ssl-ca", "ssl-cert", "ssl-key"
    ),
}
TLS_PARAMETERS = {family: (words.mode, *words.files) for family, words in TLS_WORDS.items()}


def server_of(url: str, shown_as: str) -> ServerSpec:
    """A server by its URL alone, as ``acidtest inspect`` is given it. Its password may also stand in
    ``$ACIDTEST_PASSWORD_INSPECT`` or ``_MINE``. Errors call it ``shown_as``. Raises BadInput."""
    key = f"servers.{INSPECTED}"
    authority, *behind = re.split("[/?#]", url.partition("://")[2], maxsplit=1)
    if "@" not in authority and any("@" in part for part in behind):
        # The part that would be complained of may be of a password.
        raise BadInput(f"{shown_as}: its user or password holds a / or ? or #", "write it as %2F, %3F or %23")
    try:
        made = server_table(Reading(shown_as, Problems()), key, INSPECTED, {"url": url})
    except BadInput as error:
        message = error.message.replace(f"{key}.url: ", "")
        if " is no URL: " in message:  # with the part that is wrong, which may be of a password
            message = f"{shown_as}: cannot be read as a URL"
        raise BadInput(message, error.remedy) from None
    assert made is not None  # there is a url
    return ServerSpec.model_validate(made)


def server_table(reading: Reading, key: str, name: str, given: Any) -> dict[str, Any] | None:
    """A connection URL, taken apart. Its password may also stand in ``$ACIDTEST_PASSWORD_NAME``.

    None where the URL seems to stand under a key that is not known.
    """
    table = reading.known_keys(key, reading.table(key, given), keys_in(ServerForm))
    form = f"write it as {' or '.join(f'{scheme}://USER@HOST:PORT/DATABASE' for scheme in SERVERS)}"
    if not isinstance(table.get("url"), str):
        if "url" not in table and f"{key}.url" in reading.meant:
            return None
        raise reading.bad(f"{key}: has no url", form)
    try:
        url = urlsplit(table["url"])
        port = url.port
    except ValueError as error:
        raise reading.bad(f"{key}.url: is no URL: {error}", form) from None
    family = families.of_word(url.scheme)
    if family is None or family.server_port is None:
        raise reading.bad(not_among(f"{key}.url: scheme", url.scheme, SERVERS), form)
    database = _database(family, url)
    at = f"{reading.where}: {key}.url"
    known = (*TLS_PARAMETERS.get(family.name, ()), *WIRE_PARAMETERS.get(family.name, ()))
    parameters = _parameters(at, url, (*(("host",) if family.server_sockets else ()), *known))
    # As libpq has it: a socket cannot stand where a host does.
    host = parameters.get("host", url.hostname or "")
    for part, what in ((host, "host"), (url.username, "user"), (database, "database")):
        if not part:
            raise reading.bad(f"{key}.url: names no {what}", form)
    if not family.server_schemas and "schema" in table:
        why = f"{family.products[0].title} has none: the URL's database is where tables go"
        raise reading.bad(f"{key}.schema: {why}", "leave it out")
    if isinstance(schema := table.get("schema"), str):
        reading.check_name(f"{key}.schema", schema, SCHEMA)
    named = (name, FIRST_SERVER) if name == INSPECTED else (name,)
    variables = [f"ACIDTEST_PASSWORD_{owner.upper()}" for owner in named]
    passwords = [os.environ[variable] for variable in variables if variable in os.environ]
    password = unquote(url.password) if url.password else next(iter(passwords), None)
    return {
        "family": family.name,
        "host": host,
        "port": port or family.server_port,
        "user": unquote(url.username or ""),
        "password": SecretStr(password) if password is not None else None,
        "database": database,
        "tls": _tls(at, family.name, parameters, host),
        "wire": _wire(at, family.name, parameters),
        "schema_name": None if isinstance(schema, str) and SCHEMA.complaint(schema) else schema,
    }


def _database(family: Family, url: SplitResult) -> str:
    """The database of a connection URL. Firebird's is an alias or a path. A path is absolute, for nobody knows to which
    folder of the server another belongs; one of Windows begins with its drive."""
    if family.name != FIREBIRD.name:
        return unquote(url.path.strip("/"))
    path = unquote(url.path).lstrip("/")
    of_windows = path[1:2] == ":"
    return f"/{path}" if "/" in path and not of_windows else path


def _parameters(where: str, url: SplitResult, known: Collection[str]) -> dict[str, str]:
    """What stands behind the ``?`` of a connection URL. Raises BadInput for what is not among ``known``."""
    parameters = parse_qs(url.query, keep_blank_values=True)
    for name, values in parameters.items():
        if len(values) > 1:
            raise BadInput(f"{where}: {name} stands there twice", "leave one out")
        if name not in known:
            raise BadInput(f"{where}: {name}: is no parameter that acidtest follows", "leave it out")
    if url.fragment:
        raise BadInput(
            f"{where}: #{url.fragment}: has no meaning in a connection URL", "write # as %23, or leave it out"
        )
    return {name: values[0] for name, values in parameters.items()}


def _tls(where: str, family: str, parameters: Mapping[str, str], host: str) -> Tls | None:
    """What the parameters of a URL ask for. Raises BadInput for what contradicts itself or is not known here."""
    words = TLS_WORDS.get(family)
    if words is None:
        return None
    mode = parameters.get(words.mode, words.without[0])
    given = {name: parameters[name] for name in words.files if name in parameters}
    if empty := [name for name, path in given.items() if not path]:
        raise BadInput(f"{where}: {empty[0]}: names no file", "name a PEM file, or leave it out")
    if mode.lower() in map(str.lower, words.without):
        if given:
            raise BadInput(
                f"{where}: {next(iter(given))}: has no effect without TLS", f"ask for {words.mode}={words.verified}"
            )
        return None
    if mode.lower() not in (words.required.lower(), words.verified.lower()):
        known = f"{words.without[0]}, {words.required} (encrypted, the server not verified) or {words.verified}"
        raise BadInput(f"{where}: {words.mode}={mode}: is not known here", f"write one of {known}")
    if host.startswith("/"):
        raise BadInput(
            f"{where}: {words.mode}={mode}: a Unix socket is not encrypted", f"name a host, or leave {words.mode} out"
        )
    ca = given.get(words.ca)
    if mode.lower() == words.required.lower() and ca is not None:
        raise BadInput(
            f"{where}: {words.ca}: has no effect with {words.mode}={words.required}, which verifies nothing",
            f"write {words.mode}={words.verified}, or leave {words.ca} out",
        )
    if mode.lower() == words.verified.lower() and ca is None:
        raise BadInput(
            f"{where}: {words.mode}={words.verified}: needs {words.ca}",
            f"add {words.ca}=FILE: the certificate of the CA that has signed the server's (PEM)",
        )
    certificate, key = given.get(words.certificate), given.get(words.key)
    if certificate is None and key is None:
        return Tls(ca=ca, identity=None)
    if certificate is None or key is None:
        parameter, missing = (words.certificate, words.key) if key is None else (words.key, words.certificate)
        raise BadInput(f"{where}: {parameter}: needs {missing}", f"add {missing}=FILE (PEM)")
    return Tls(ca=ca, identity=Identity(certificate=certificate, key=key))


def _wire(where: str, family: str, parameters: Mapping[str, str]) -> Wire | None:
    """What the parameters of a URL ask for; None of a family that has no such wire. Raises BadInput for a value that is
    not known here."""
    if family not in WIRE_PARAMETERS:
        return None
    crypt = _word(where, CRYPT, parameters.get(CRYPT, "Enabled"), CRYPTS)
    compression = _word(where, COMPRESSION, parameters.get(COMPRESSION, "false"), ("true", "false"))
    return Wire(crypt=cast("Crypt", crypt), compression=compression == "true")


def _word(where: str, name: str, value: str, known: tuple[str, ...]) -> str:
    """The word of ``known`` that ``value`` is, in whatever case it is written."""
    for word in known:
        if word.lower() == value.lower():
            return word
    raise BadInput(f"{where}: {name}={value}: is not known here", f"write one of {', '.join(known)}")
