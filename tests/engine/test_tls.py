"""TLS with real servers: what is in force is what they say of the session, and each way in which it fails is one line."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from acidtest.engine import Engine, Instance, catalogue, tls
from acidtest.engine.mysql.instance import MysqlInstance, MysqlTarget
from acidtest.engine.postgres.instance import PostgresTarget
from acidtest.errors import BadInput, CellFailed
from acidtest.journal.models import Scalar
from acidtest.journal.protocol import Identity, Tls
from acidtest.place import Ledger
from rig_jobs import in_force, talk
from support import MYSQLS, POSTGRESES

Adopt = Callable[..., Instance]
HAVING = [*POSTGRESES, *(name for name in MYSQLS if "tls" in catalogue.describe(name).setting_specs())]
TCP: Mapping[str, Scalar] = {"connection": "tcp"}
ENCRYPTED: Mapping[str, Scalar] = {**TCP, "tls": True}
ANYBODY = Tls(ca=None, identity=None)


@pytest.fixture(scope="module", params=HAVING)
def engine(request: pytest.FixtureRequest, engines_installed: None) -> Engine:
    return catalogue.find(request.param)


def target(instance: Instance, **changed: Any) -> PostgresTarget | MysqlTarget:
    of = instance.target()
    assert isinstance(of, PostgresTarget | MysqlTarget)
    return of.model_copy(update=changed)


def opened(instance: Instance, ledger: Ledger, **changed: Any) -> dict[str, tuple[str | None, bool]]:
    """Open a session, with the target ``changed``: each setting in force, and whether it agrees with what was asked."""
    events = talk(instance, ledger, target=target(instance, **changed), inspect=instance.inspections())
    return {name: (setting.in_force, setting.agrees) for name, setting in in_force(instance, events).items()}


def refused(instance: Instance, ledger: Ledger, **changed: Any) -> str:
    """Why no session can be opened: one line, without the password."""
    with pytest.raises(CellFailed) as caught:
        opened(instance, ledger, **changed)
    message = caught.value.message.removeprefix("opening the database: ")
    assert "\n" not in message
    assert str(target(instance).password) not in message
    return message


def another(directory: Path) -> tls.Files:
    """A CA that nobody here trusts, and a certificate of it."""
    directory.mkdir()
    return tls.make(directory, "127.0.0.1")


def test_what_is_in_force_is_what_the_server_sees_and_one_that_is_not_the_one_is_refused(
    adopt: Adopt, ledger: Ledger, tmp_path: Path
) -> None:
    instance = adopt(**ENCRYPTED)
    instance.start(ledger)
    found = opened(instance, ledger)
    assert found["tls"] == ("true", True)
    assert found["tls_version"][0] in ("TLSv1.2", "TLSv1.3")
    assert found["tls_cipher"][0]
    # Without being asked for the server says that there is none, and that is not what was asked for.
    assert opened(instance, ledger, tls=None)["tls"] == ("false", False)
    # Nobody is verified where no CA is named.
    assert opened(instance, ledger, tls=ANYBODY)["tls"] == ("true", True)
    other = another(tmp_path / "other").ca
    said = refused(instance, ledger, tls=Tls(ca=str(other), identity=None))
    assert said == f"TLS: the server's certificate is not signed by a CA of {other}"
    wrong = refused(instance, ledger, password="wrong")
    assert "password" in wrong
    nowhere = Tls(ca=str(tmp_path / "none.pem"), identity=None)
    assert refused(instance, ledger, tls=nowhere) == f"TLS: {nowhere.ca}: No such file or directory (os error 2)"
    instance.release()
    plain = adopt(**TCP)
    plain.start(ledger)
    found = opened(plain, ledger)
    assert found["tls"] == ("false", True)
    assert not {"tls_version", "tls_cipher"} & set(found)
    assert refused(plain, ledger, tls=ANYBODY) == "TLS: the server has none"


@pytest.mark.covering
@pytest.mark.parametrize(
    ("hours", "said"),
    [((-72, -36.5), "has expired (36 h ago)"), ((60, 90), "is not valid yet (2 days to go)")],
    ids=["expired", "not yet"],
)
def test_a_certificate_out_of_its_time_is_refused(
    adopt: Adopt, ledger: Ledger, monkeypatch: pytest.MonkeyPatch, hours: tuple[float, float], said: str
) -> None:
    monkeypatch.setattr(tls, "EARLIER", -datetime.timedelta(hours=hours[0]))
    monkeypatch.setattr(tls, "LATER", datetime.timedelta(hours=hours[1]))
    instance = adopt(**ENCRYPTED)
    instance.start(ledger)
    assert refused(instance, ledger) == f"TLS: the server's certificate {said}"


def test_a_certificate_of_another_host_is_refused(
    adopt: Adopt, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = tls.make
    monkeypatch.setattr(tls, "make", lambda directory, host: make(directory, "127.0.0.2"))
    instance = adopt(**ENCRYPTED)
    instance.start(ledger)
    text = "TLS: the server's certificate is made out to 127.0.0.2, localhost, not to 127.0.0.1"
    assert refused(instance, ledger) == text
    assert opened(instance, ledger, host="localhost")["tls"] == ("true", True)


def test_a_client_certificate_is_shown_where_it_is_demanded(
    adopt: Adopt, ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, others = another(tmp_path / "ours"), another(tmp_path / "others")
    instance = adopt(**ENCRYPTED)
    demand_certificate(instance, ours.ca, monkeypatch)
    instance.start(ledger)
    trusted = target(instance).tls
    assert trusted is not None

    def identified(by: tls.Files, key: tls.Files | None = None) -> Tls:
        return trusted.model_copy(
            update={"identity": Identity(certificate=str(by.certificate), key=str((key or by).key))}
        )

    assert opened(instance, ledger, tls=identified(ours))["tls"] == ("true", True)
    assert "client certificate" in refused(instance, ledger)
    said = refused(instance, ledger, tls=identified(others))
    assert said == f"TLS: the server does not take the client certificate of {others.certificate} (UnknownCA)"
    assert f"TLS: {others.key} is no key that fits {ours.certificate}" in refused(
        instance, ledger, tls=identified(ours, others)
    )
    no_key = trusted.model_copy(
        update={"identity": Identity(certificate=str(ours.certificate), key=str(ours.certificate))}
    )
    said = refused(instance, ledger, tls=no_key)
    assert said == f"TLS: {ours.certificate} holds no private key without a passphrase (PEM)"


def demand_certificate(instance: Instance, ca: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the server take our user only with a certificate of ``ca``."""
    if isinstance(instance, MysqlInstance):
        lines, introduction = instance._lines, instance._introduction
        monkeypatch.setattr(instance, "_lines", lambda: [*lines(), f"ssl_ca = {ca}"])

        def demanding() -> str:
            said = introduction()
            demand = "alter user {} require x509" if "alter user" in said else "grant usage on *.* to {} require x509"
            (user,) = set(re.findall(r"'acidtest'@'[\d.%]+'", said))
            return f"{said}{demand.format(user)};\n"

        monkeypatch.setattr(instance, "_introduction", demanding)
        return
    data = instance.directory / "data"
    (data / "pg_hba.conf").write_text("hostssl all all 127.0.0.1/32 scram-sha-256 clientcert=verify-ca\n")
    with (data / "postgresql.auto.conf").open("a") as file:
        file.write(f"ssl_ca_file = '{ca}'\n")


@pytest.mark.parametrize("name", [*POSTGRESES, *MYSQLS])
def test_a_unix_socket_is_not_encrypted(name: str) -> None:
    engine = catalogue.describe(name)
    if name not in HAVING:
        with pytest.raises(BadInput, match='setting "tls"'):
            engine.check_settings({"tls": True})
        return
    engine.check_settings({"tls": True})  # each setting is looked at alone first
    assert engine.durability("os", ENCRYPTED).level == "os"
    for settings in ({"tls": True}, {"tls": True, "connection": "socket"}):
        with pytest.raises(BadInput, match="tls = true needs TCP") as caught:
            engine.durability("os", settings)
        assert 'connection = "tcp"' in (caught.value.remedy or "")


def test_the_keys_of_a_private_server_are_its_owners(tmp_path: Path) -> None:
    files = tls.make(tmp_path, "127.0.0.1")
    assert files.key.stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tls-ca.pem", "tls-server-key.pem", "tls-server.pem"]
    first = files.key.read_bytes()
    assert tls.make(tmp_path, "127.0.0.1").key.read_bytes() != first
