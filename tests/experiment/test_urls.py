"""What a connection URL asks for is followed or refused."""

from __future__ import annotations

import pytest

from acidtest import experiment
from acidtest.errors import BadInput

TEXT = 'name = "t"\nengine = "mine"\ndurability = "os"\n[workload.commits]\ncount = 5\n[servers.mine]\nurl = "{url}"\n'

PLAIN = "postgresql://me@db.example/shop"


def read(url: str) -> experiment.Experiment:
    return experiment.parse(TEXT.format(url=url), "t.toml")


@pytest.mark.parametrize(
    ("url", "error", "remedy"),
    [
        ("postgresql://a@b/c?bogus=1", "bogus: is no parameter that acidtest follows", "leave it out"),
        ("postgresql://a@b/c?application_name=x", "application_name: is no parameter", "leave it out"),
        ("postgresql://a@b/c?bogus", "bogus: is no parameter", "leave it out"),
        ("postgresql://a@b/c?sslmode=foo", "sslmode=foo: is not known here", "disable, require"),
        ("postgresql://a@b/c?sslmode=verify-ca", "sslmode=verify-ca: is not known here", "verify-full"),
        ("postgresql://a@b/c?ssl-mode=REQUIRED", "ssl-mode: is no parameter", "leave it out"),
        ("postgresql://a@b/c?sslmode=verify-full", "sslmode=verify-full: needs sslrootcert", "sslrootcert=FILE"),
        ("postgresql://a@b/c?sslmode=require&sslrootcert=f", "sslrootcert: has no effect", "sslmode=verify-full"),
        ("postgresql://a@b/c?sslrootcert=f", "sslrootcert: has no effect without TLS", "sslmode=verify-full"),
        ("postgresql://a@b/c?sslmode=prefer&sslkey=f", "sslkey: has no effect without TLS", "sslmode=verify-full"),
        ("postgresql://a@b/c?sslmode=require&sslcert=f", "sslcert: needs sslkey", "sslkey=FILE"),
        ("postgresql://a@b/c?sslmode=require&sslkey=f", "sslkey: needs sslcert", "sslcert=FILE"),
        ("postgresql://a@b/c?sslmode=verify-full&sslrootcert=", "sslrootcert: names no file", "PEM file"),
        ("postgresql://a@/c?host=/run/x&sslmode=require", "sslmode=require: a Unix socket is not", "name a host"),
        ("mysql://a@b/c?ssl-mode=VERIFY_CA", "ssl-mode=VERIFY_CA: is not known here", "VERIFY_IDENTITY"),
        ("mysql://a@b/c?ssl-mode=VERIFY_IDENTITY", "ssl-mode=VERIFY_IDENTITY: needs ssl-ca", "ssl-ca=FILE"),
        ("mysql://a@b/c?ssl-cert=x", "ssl-cert: has no effect without TLS", "ssl-mode=VERIFY_IDENTITY"),
        ("mysql://a@b/c?ssl=true", "ssl: is no parameter", "leave it out"),
        ("postgresql://a@b/c?host=/run/x&host=/run/y", "host stands there twice", "leave one out"),
        ("postgresql://a@b/c#d", "#d: has no meaning", "%23"),
        ("firebird://a@b/c?wireCrypt=Maybe", "wireCrypt=Maybe: is not known here", "Required, Enabled, Disabled"),
        ("firebird://a@b/c?wireCompression=1", "wireCompression=1: is not known here", "true, false"),
        ("firebird://a@b/c?sslmode=require", "sslmode: is no parameter", "leave it out"),
        ("firebird://a@b/c?host=/run/x", "host: is no parameter", "leave it out"),
        ("firebird://a@b", "names no database", "firebird://USER@HOST:PORT/DATABASE"),
        ("postgresql://a@b/c?wireCrypt=Required", "wireCrypt: is no parameter", "leave it out"),
    ],
)
def test_what_is_not_followed_is_refused(url: str, error: str, remedy: str) -> None:
    with pytest.raises(BadInput) as refused:
        read(url)
    assert refused.value.message.startswith(f"t.toml: servers.mine.url: {error}"), refused.value.message
    assert remedy in (refused.value.remedy or "")


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("postgresql://a@b/c", "b"),
        ("postgresql://a@b/c?sslmode=disable", "b"),
        ("postgresql://a@b/c?sslmode=prefer", "b"),
        ("postgresql://a@/c?host=/run/postgresql", "/run/postgresql"),
        ("mysql://a@b/c?ssl-mode=DISABLED", "b"),
    ],
)
def test_what_is_followed_is_read(url: str, host: str) -> None:
    server = read(url).servers["mine"]
    assert (server.host, server.tls) == (host, None)


@pytest.mark.parametrize(
    ("url", "ca", "certificate", "key"),
    [
        ("postgresql://a@b/c?sslmode=require", None, None, None),
        ("postgresql://a@b/c?sslmode=verify-full&sslrootcert=/x/ca%20of.pem", "/x/ca of.pem", None, None),
        ("postgresql://a@b/c?sslmode=require&sslcert=c.pem&sslkey=k.pem", None, "c.pem", "k.pem"),
        ("mysql://a@b/c?ssl-mode=REQUIRED", None, None, None),
        ("mysql://a@b/c?ssl-mode=verify_identity&ssl-ca=ca.pem&ssl-cert=c&ssl-key=k", "ca.pem", "c", "k"),
    ],
)
def test_tls_is_asked_for_in_the_words_of_each_family(
    url: str, ca: str | None, certificate: str | None, key: str | None
) -> None:
    tls = read(url).servers["mine"].tls
    assert tls is not None
    assert tls.ca == ca
    assert (tls.identity.certificate, tls.identity.key) == (certificate, key) if tls.identity else certificate is None


@pytest.mark.parametrize(
    ("url", "database"),
    [
        ("firebird://a@b/employee", "employee"),
        ("firebird://a@b/data/x.fdb", "/data/x.fdb"),
        ("firebird://a@b//data/x.fdb", "/data/x.fdb"),
        ("firebird://a@b/%2Fdata%2Fa%20b%231.fdb", "/data/a b#1.fdb"),
        ("firebird://a@b/C:/data/x.fdb", "C:/data/x.fdb"),
        ("firebird://a@b/C:%5Cdata%5Cx.fdb", "C:\\data\\x.fdb"),
        ("postgresql://a@b/c/", "c"),
    ],
)
def test_firebirds_database_is_an_alias_or_an_absolute_path(url: str, database: str) -> None:
    assert read(url).servers["mine"].database == database


@pytest.mark.parametrize(
    ("parameters", "crypt", "compression"),
    [
        ("", "Enabled", False),
        ("?wireCrypt=required", "Required", False),
        ("?wireCrypt=Disabled&wireCompression=TRUE", "Disabled", True),
    ],
)
def test_the_wire_is_asked_for_in_firebirds_words(parameters: str, crypt: str, compression: bool) -> None:
    server = read(f"firebird://a@b/c{parameters}").servers["mine"]
    assert server.wire is not None
    assert (server.port, server.wire.crypt, server.wire.compression) == (3050, crypt, compression)
    assert "wire" not in read("postgresql://a@b/c").model_dump(mode="json")["servers"]["mine"]


def test_what_has_no_tls_has_the_digest_of_before() -> None:
    plain, same = read("postgresql://a@b/c"), read("postgresql://a@b/c?sslmode=disable")
    assert plain.digest() == same.digest()
    assert "tls" not in plain.model_dump(mode="json")["servers"]["mine"]
    assert plain.digest() != read("postgresql://a@b/c?sslmode=require").digest()


@pytest.mark.parametrize(
    ("variables", "url", "password"),
    [
        ({}, PLAIN, None),
        ({"MINE": "of-run"}, PLAIN, "of-run"),
        ({"INSPECT": "own", "MINE": "of-run"}, PLAIN, "own"),
        ({"MINE": "of-run"}, PLAIN.replace("me@", "me:given@"), "given"),
    ],
)
def test_the_password_of_run_serves_here_too(
    variables: dict[str, str], url: str, password: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MINE", "INSPECT"):
        monkeypatch.delenv(f"ACIDTEST_PASSWORD_{name}", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(f"ACIDTEST_PASSWORD_{name}", value)
    held = experiment.server_of(url, PLAIN).password
    assert (held.get_secret_value() if held else None) == password
