"""TLS as connection URLs ask for it, in the words of each family's own clients; pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from acidtest.errors import BadInput
from acidtest.journal.protocol import Identity, Tls


@dataclass(frozen=True)
class Words:
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


OF_FAMILIES: Mapping[str, Words] = {
    "postgresql": Words(
        "sslmode", ("disable", "allow", "prefer"), "require", "verify-full", "sslrootcert", "sslcert", "sslkey"
    ),
    "mysql": Words(
        "ssl-mode", ("DISABLED", "PREFERRED"), "REQUIRED", "VERIFY_IDENTITY", "ssl-ca", "ssl-cert", "ssl-key"
    ),
}
PARAMETERS = {family: (words.mode, *words.files) for family, words in OF_FAMILIES.items()}


def asked(where: str, family: str, parameters: Mapping[str, str], host: str) -> Tls | None:
    """What the parameters of a URL ask for. Raises BadInput for what contradicts itself or is not known here."""
    words = OF_FAMILIES.get(family)
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
        one, other = (words.certificate, words.key) if key is None else (words.key, words.certificate)
        raise BadInput(f"{where}: {one}: needs {other}", f"add {other}=FILE (PEM)")
    return Tls(ca=ca, identity=Identity(certificate=certificate, key=key))
