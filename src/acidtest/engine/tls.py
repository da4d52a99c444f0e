"""TLS of private servers: certificates that are thrown away with them, and what is refused of the setting ``tls``."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING

from acidtest.engine.base import SettingSpec
from acidtest.errors import BadInput
from acidtest.journal.models import Scalar, SettingInForce
from acidtest.journal.protocol import Identity, Tls

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.x509 import Certificate, Name

EARLIER, LATER = datetime.timedelta(days=1), datetime.timedelta(days=365)  # clocks differ; no run takes longer

SPEC = SettingSpec(
    "tls",
    "Sessions are encrypted, and verify the server by a CA that acidtest makes for it; connection must be tcp.",
    (False, True),
    default=False,
)
RECORDED = ("tls_version", "tls_cipher")


def check(engine_id: str, family: str, settings: Mapping[str, Scalar], *, tcp: bool) -> None:
    """Raise BadInput where TLS is asked for and sessions do not go over TCP."""
    if settings.get("tls") and not tcp:
        raise BadInput(
            f"{engine_id}: {family}.tls = true needs TCP, and sessions go through a Unix socket",
            f'ask for {family}.connection = "tcp", with and without TLS alike, or leave tls out',
        )


@dataclass(frozen=True)
class Files:
    """PEM files of one private server."""

    ca: Path
    certificate: Path
    key: Path  # for its owner only

    @property
    def trusting(self) -> Tls:
        """What a session asks for that trusts this server and no other."""
        return Tls(ca=str(self.ca), identity=None)


def absolute(asked: Tls | None) -> Tls | None:
    """With paths that hold wherever the rig runs."""
    if asked is None:
        return None

    def found(path: str) -> str:
        return str(Path(path).absolute())

    of = asked.identity
    identity = Identity(certificate=found(of.certificate), key=found(of.key)) if of is not None else None
    return Tls(ca=found(asked.ca) if asked.ca is not None else None, identity=identity)


def make(directory: Path, host: str) -> Files:
    """A CA and a certificate of it for ``host``, an address, in the existing ``directory``. The CA's key is never
    written."""
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415 - it takes a while, and few servers need it

    ca_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    name, server = _name("acidtest, CA of one server"), _name("acidtest, one server")
    files = Files(*(directory / f"tls-{part}.pem" for part in ("ca", "server", "server-key")))
    files.ca.write_bytes(_pem(_signed(name, ca_key, name, ca_key, None)))
    files.certificate.write_bytes(_pem(_signed(server, key, name, ca_key, host)))
    _write_key(files.key, key)
    return files


def _name(text: str) -> Name:
    from cryptography import x509  # noqa: PLC0415

    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])


def _signed(
    subject: Name, key: EllipticCurvePrivateKey, issuer: Name, issuer_key: EllipticCurvePrivateKey, host: str | None
) -> Certificate:
    """A certificate for ``host``, or, without one, of a CA."""
    from cryptography import x509  # noqa: PLC0415
    from cryptography.hazmat.primitives.hashes import SHA256  # noqa: PLC0415

    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - EARLIER)
        .not_valid_after(now + LATER)
        .add_extension(x509.BasicConstraints(ca=host is None, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False)
    )
    if host is not None:
        names = x509.SubjectAlternativeName([x509.IPAddress(ip_address(host)), x509.DNSName("localhost")])
        builder = builder.add_extension(names, critical=False)
    return builder.sign(issuer_key, SHA256())


def _pem(certificate: Certificate) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding  # noqa: PLC0415

    return certificate.public_bytes(Encoding.PEM)


def _write_key(path: Path, key: EllipticCurvePrivateKey) -> None:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat  # noqa: PLC0415

    text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path.unlink(missing_ok=True)  # of the start before
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(text)


def in_force(asked: Tls | None, answers: Sequence[SettingInForce]) -> list[SettingInForce]:
    """What servers answered of TLS, with what the sessions verified; what is not known of a session without it is left
    out."""
    if asked is None:
        verified = ""
    else:
        verified = f"; the server verified by {Path(asked.ca).name}" if asked.ca else "; the server not verified"
    return [
        setting.model_copy(update={"source": setting.source + verified}) if setting.name == "tls" else setting
        for setting in answers
        if setting.name == "tls" or setting.in_force
    ]
