"""Settings of somebody's configuration in the words of our engines."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acidtest.conductor.imported_settings import carried
from acidtest.engine import catalogue
from acidtest.errors import BadInput
from acidtest.families import product_of_engine
from acidtest.journal.models import Scalar


@pytest.mark.parametrize(
    ("engine", "found", "wanted", "level"),
    [
        (
            "postgresql-17",
            {"shared_buffers": "16384", "max_wal_size": "2GB", "checkpoint_timeout": "15min", "commit_delay": "100"},
            {"shared_buffers_mb": 128, "max_wal_size_mb": 2048, "checkpoint_timeout_s": 900, "commit_delay_us": 100},
            "drive",
        ),
        ("postgresql-17", {"fsync": "off"}, {"fsync": False}, "os"),
        ("postgresql-17", {"synchronous_commit": "off"}, {"synchronous_commit": "off"}, "none"),
        (
            "mariadb-11.8",
            {"innodb_buffer_pool_size": "8G", "innodb_flush_log_at_trx_commit": "2", "sort_buffer_size": "4M"},
            {"innodb_buffer_pool_mb": 8192, "innodb_flush_log_at_trx_commit": 2, "sort_buffer_mb": 4},
            "os",
        ),
        (
            "firebird-5.0",
            {"defaultdbcachepages": "4096", "tempcachelimit": "134217728", "servermode": "Classic"},
            {"page_buffers": 4096, "temp_cache_limit_mb": 128, "server_mode": "Classic"},
            "drive",
        ),
        ("firebird-5.0", {"deadlocktimeout": "10"}, {"deadlock_timeout_s": 10}, "drive"),
    ],
)
def test_what_is_carried(engine: str, found: dict[str, str], wanted: dict[str, Scalar], level: str) -> None:
    product = product_of_engine(engine)
    assert product is not None
    taken = carried(catalogue.describe(engine), product.name, found)
    assert (taken.settings, taken.level) == (wanted, level)
    assert set(taken.as_ours) == set(found)


def test_what_is_not_carried_is_told() -> None:
    found = {"wobble": "3", "shared_buffers": "a lot", "fsync": "off"}
    taken = carried(catalogue.describe("postgresql-17"), "postgresql", found)
    assert set(taken.why_not) == {"wobble", "shared_buffers"}
    assert "no such setting" in taken.why_not["wobble"]
    assert "does not take this value" in taken.why_not["shared_buffers"]


def test_what_the_database_says_itself_holds() -> None:
    own: dict[str, Scalar] = {"page_size": 4096, "page_buffers": 75, "forced_writes": False}
    taken = carried(catalogue.describe("firebird-5.0"), "firebird", {"defaultdbcachepages": "4096"}, own)
    assert (taken.settings, taken.level) == (own, "os")
    assert "the database says page_buffers = 75 itself" in taken.why_not["defaultdbcachepages"]
    old = carried(catalogue.describe("firebird-5.0"), "firebird", {}, {"page_size": 1024})
    assert (old.settings, old.own_refused) == ({}, ("page_size = 1024",))


def test_what_would_harm_the_server_in_question_is_bounded_or_left_out() -> None:
    taken = carried(
        catalogue.describe("mariadb-11.8"),
        "mariadb",
        {"innodb_buffer_pool_size": "64G", "innodb_log_file_size": "16G", "port": "3306"},
        cache_bytes_most=1 << 30,
    )
    assert taken.settings == {"innodb_buffer_pool_mb": 1024, "innodb_log_file_mb": 512}
    assert "65536 was found" in taken.as_ours["innodb_buffer_pool_size"]
    assert taken.why_not == {"port": "the scratch database has its own"}
    own: dict[str, Scalar] = {"page_size": 16384, "page_buffers": 1_000_000}
    firebird = carried(catalogue.describe("firebird-5.0"), "firebird", {}, own, cache_bytes_most=1 << 30)
    assert firebird.settings["page_buffers"] == 65536
    assert firebird.own_refused == ("page_buffers = 1000000",)


VALUES = st.text(max_size=12) | st.integers(-5, 10**20).map(str) | st.sampled_from(("on", "off", "8G", "10 ms", "1.5"))


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(("postgresql-17", "mariadb-11.8", "firebird-5.0", "sqlite")), st.data())
def test_whatever_stands_there_the_engine_takes_what_is_carried(id: str, data: st.DataObject) -> None:  # noqa: A002
    engine = catalogue.describe(id)
    product = product_of_engine(id)
    assert product is not None
    names = [name.removesuffix("_mb").removesuffix("_s") for name in engine.setting_specs()]
    found = data.draw(st.dictionaries(st.sampled_from(names) | st.text(max_size=5), VALUES, max_size=6))
    taken = carried(engine, product.name, found)
    engine.check_settings(taken.settings)
    try:
        engine.durability(taken.level, taken.settings)
    except BadInput as error:
        pytest.fail(error.message)
    assert set(found) == set(taken.as_ours) | set(taken.why_not)
