"""What a connection URL asks for is followed or refused."""

from __future__ import annotations

import pytest

from acidtest import experiment
from acidtest.errors import BadInput

TEXT = 'name = "t"\nengine = "mine"\ndurability = "os"\n[workload.commits]\ncount = 5\n[servers.mine]\nurl = "{url}"\n'


def read(url: str) -> experiment.Experiment:
    return experiment.parse(TEXT.format(url=url), "t.toml")


@pytest.mark.parametrize(
    ("url", "error", "remedy"),
    [
        ("postgresql://a@b/c?bogus=1", "bogus: is no parameter that acidtest follows", "leave it out"),
        ("postgresql://a@b/c?application_name=x", "application_name: is no parameter", "leave it out"),
        ("postgresql://a@b/c?bogus", "bogus: is no parameter", "leave it out"),
        ("postgresql://a@b/c?sslmode=require", "sslmode=require: acidtest connects without TLS", "sslmode=disable"),
        ("postgresql://a@b/c?sslmode=foo", "sslmode=foo: acidtest connects without TLS", "sslmode=disable"),
        ("mysql://a@b/c?ssl-mode=REQUIRED", "ssl-mode=REQUIRED: acidtest connects without TLS", "ssl-mode=disabled"),
        ("mysql://a@b/c?ssl=true", "ssl: is no parameter", "leave it out"),
        ("postgresql://a@b/c?host=/run/x&host=/run/y", "host stands there twice", "leave one out"),
        ("postgresql://a@b/c#d", "#d: has no meaning", "%23"),
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
    assert read(url).servers["mine"].host == host
