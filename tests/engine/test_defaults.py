"""What the auditor takes for an engine's defaults is what the engine itself says of them."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable

import pytest

from acidtest import settings
from acidtest.engine import Engine, Instance, catalogue
from acidtest.engine.mysql.engine import Mysql
from acidtest.place import Ledger
from rig_jobs import ask
from support import MYSQLS, POSTGRESES

NO_LOG = "(No default value)"  # of a file's name: it is off
WRITTEN_BY_INITDB = "shared_buffers"  # what holds before 15 without its file is another


@pytest.mark.parametrize("engine_id", MYSQLS)
def test_mysql_and_mariadb(engine_id: str, engines_installed: None) -> None:
    engine = catalogue.find(engine_id)
    assert isinstance(engine, Mysql)
    here = engine.installation()
    assert here is not None
    libraries = {"LD_LIBRARY_PATH": str(here.libs)} if here.libs else {}
    printed = subprocess.run(
        [*here.command, "--no-defaults", "--user=root", "--verbose", "--help"],
        env=os.environ | libraries,
        capture_output=True,
        check=False,
    ).stdout.decode(errors="replace")
    says = {name.replace("-", "_"): value for name, value in re.findall(r"(?m)^([a-z][\w-]+) +(\S.*)$", printed)}
    assert len(says) > 100
    known = settings.of("mariadb" if engine_id.startswith("mariadb") else "mysql")
    compared = 0
    for name, setting in known.known.items():
        expected, value = setting.default(here.release), says.get(name)
        if value is None or expected is None:
            continue
        value = "OFF" if value == NO_LOG else "ON" if name == "log_bin" else value
        assert settings.alike(value) == settings.alike(expected), name
        compared += 1
    assert compared >= 2  # 5.5 tells of InnoDB only when it runs


@pytest.fixture(scope="module", params=POSTGRESES)
def engine(request: pytest.FixtureRequest, engines_installed: None) -> Engine:
    return catalogue.find(request.param)


def test_postgresql(engine: Engine, adopt: Callable[..., Instance], ledger: Ledger) -> None:
    instance = adopt()
    instance.start(ledger)
    rows = ask(instance, ledger, "SELECT name, boot_val, unit FROM pg_settings")
    known = settings.of("postgresql")
    differ, compared = {}, 0
    for name, value, unit in rows:
        setting = known.known.get(name or "")
        expected = setting.default(engine.facts().version) if setting else None
        if name is None or expected is None or value is None or name == WRITTEN_BY_INITDB:
            continue
        compared += 1
        if known.alike(name, value if value.startswith("-") else value + (unit or "")) != known.alike(name, expected):
            differ[name] = (value, unit, expected)
    assert not differ
    assert compared > 40
