"""The reference says of every key what the models and rules do, and the files that are made of it are as it is now."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import pytest
from pydantic import BaseModel, Field

from acidtest import __version__, conductor
from acidtest.errors import BadInput
from acidtest.experiment import parse
from acidtest.experiment.places import KEYS_OF_KIND, NEEDS
from acidtest.keys import BYTES, FIRST_VERSION, Since, Unset
from acidtest.reference.__main__ import written
from acidtest.reference.key import Allowed, Key
from acidtest.reference.tables import _key, keys, tables
from acidtest.workload import DRIVING, kinds_with
from acidtest.workload import NEEDS as OF_WORKLOADS
from asked import PLACE

BY_NAME = {key.name: key for key in keys()}
HEAD = 'name = "t"\nrepetitions = 1\ndurability = "drive"\n'
UNITS = {
    "_kb": "KiB", "_mb": "MiB", "_bytes": "bytes", "_s": "seconds", "_ms": "milliseconds", "_us": "microseconds",
    "_percent": "percent", "_pages": "pages", "_per_s": "transactions a second",
}  # fmt: skip


def accepted(text: str, *, cuts: bool | None = None) -> bool:
    """Whether a command would run it: one of acidtest run and powercut, or either."""
    try:
        read = parse(text, "t.toml")
        asked = read if cuts is None else read.to_cut() if cuts else read.to_run()
        conductor.verify(conductor.plan_of(asked, cuts=cuts), Path("t.toml"))
    except BadInput:
        return False
    return True


@pytest.mark.parametrize("path", written(), ids=lambda path: path.name)
def test_the_files_made_of_it_are_as_it_is_now(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == written()[path], "make docs writes it anew"


def test_every_key_is_told_once_with_one_sentence_and_what_holds_without_it() -> None:
    told = list(keys())
    assert len({key.path for key in told}) == len(told)
    assert [key.name for key in told if not re.fullmatch(r'("?[A-Z]|mkfs |acidtest )[^\n]*[^.\s]\.', key.says)] == []
    assert [key.name for key in told if ". " in key.says] == []
    # "none" says nothing of a key that is no table.
    assert [key.name for key in told if key.otherwise == "none" and "table" not in key.type] == []
    assert [table.heading for table in tables() if not table.says] == []


def test_a_unit_stands_beside_the_numbers_that_its_name_promises() -> None:
    """Of two keys that end alike the longer ending counts: rate_per_s is no time."""
    for key in keys():
        ending = max((end for end in UNITS if key.bare.endswith(end)), key=len, default="")
        if not ending or key.type.startswith("text"):
            continue
        if key.name != "workload.scan.size_mb":  # whose values are counted in 10^6 bytes, as its results are
            assert key.unit == UNITS[ending], key.name


def test_no_version_is_to_come() -> None:
    def numbers(version: str) -> list[int]:
        return [int(number) for number in version.split(".")]

    assert [key.name for key in keys() if numbers(key.since) > numbers(__version__)] == []


def test_what_stands_beside_a_field_is_told() -> None:
    class Later(BaseModel):
        width: Annotated[int | None, BYTES, Unset("as wide as it is"), Since("0.7")] = Field(
            default=None, gt=3, le=4000, description="It is this wide."
        )
        plain: float = Field(default=2.0, ge=0, description="It is plain.")

    width, plain = (_key(("later", name), field) for name, field in Later.model_fields.items())
    assert (width.kind, width.takes) == ("whole number, bytes", "above 3, at most 4,000")
    assert (width.otherwise, width.since) == ("as wide as it is", "0.7")
    assert (plain.kind, plain.takes, plain.otherwise) == ("number", "at least 0", "2")
    assert plain.since == FIRST_VERSION


# ---------------------------------------------------------------------------------------------- what a key works with


def needed(key: str) -> dict[str, object]:
    """The other keys of a place that this one needs, with a value."""
    values: dict[str, object] = {}
    for need in NEEDS.get(key, ()):
        if need.value is None and not need.differs:
            continue  # another one must be left out
        values[need.key] = need.value if not need.differs else next(one for one in PLACE[need.key] if one != need.value)
    return values


def place(kind: str, key: str) -> str:
    """An experiment on such a place, with this key and what it needs."""
    values: dict[str, object] = {"kind": kind}
    if kind in ("loop", "device", "guest", "disk", "machine"):
        values["filesystem"] = "ext4"
    if kind == "device":
        values["device"] = "/dev/null"
    # An external journal would not lose its power with the simulated disk.
    values |= needed(key) | {key: PLACE[key][-1 if (kind, key) == ("disk", "journal") else 0]}
    engine = "firebird-5.0" if kind in ("raw", "guest") else "sqlite"
    written = "".join(f"{name} = {str(v).lower() if isinstance(v, bool) else repr(v)}\n" for name, v in values.items())
    return f'{HEAD}engine = "{engine}"\n[place]\n{written}'


@pytest.mark.parametrize("name", PLACE)
def test_a_key_of_a_place_works_with_what_it_says_and_nothing_else(name: str) -> None:
    key = BY_NAME[f"place.{name}"]
    at_a_cut = "acidtest powercut" in key.needs
    workload = "[workload.numbered]\ncount = 5\n" if at_a_cut else "[workload.commits]\ncount = 5\n"
    for kind in KEYS_OF_KIND:
        takes = not key.places or kind in key.places
        assert accepted(place(kind, name) + workload, cuts=at_a_cut) == takes, kind
    told = {"acidtest powercut", "acidtest run"} & set(key.needs)
    if told and "disk" in (key.places or KEYS_OF_KIND):
        text = place("disk", name) + "[workload.numbered]\ncount = 5\n"
        assert accepted(text, cuts=at_a_cut)
        assert not accepted(text, cuts=not at_a_cut)


def settings_text(engine: str, name: str, value: object) -> str:
    server = '[servers.mine]\nurl = "ENGINE://me@db/test"\n'.replace("ENGINE", name.partition(".")[0])
    level = [
        f'[factors]\n"{name}" = [{Allowed((value,)).words}]\n',  # type: ignore[arg-type]
        "[workload.commits]\ncount = 5\n",
        server if engine == "mine" else "",
    ]
    return f'{HEAD}engine = "{engine}"\n{"".join(level)}'


def of_level_drive(key: Key) -> object:
    """A value that level drive can have."""
    by_level = {
        "sqlite.synchronous": "full", "firebird.forced_writes": True, "postgresql.fsync": True,
        "postgresql.synchronous_commit": "on", "mysql.innodb_flush_log_at_trx_commit": 1, "mysql.sync_binlog": None,
    }  # fmt: skip
    if key.name in by_level:
        return by_level[key.name]
    first = next(iter(key.allowed), Allowed((True,)))
    return first.values[0] if first.values else int(first.minimum or 0)


@pytest.mark.parametrize("name", [key.name for key in keys() if key.by_url is not None])
def test_a_setting_may_be_demanded_of_a_server_by_url_as_it_says(name: str) -> None:
    value = of_level_drive(BY_NAME[name])
    if value is not None:  # it goes with another setting only
        assert accepted(settings_text("mine", name, value)) == BY_NAME[name].by_url


def test_a_setting_names_the_engines_that_have_it() -> None:
    key = BY_NAME["firebird.read_consistency"]
    assert key.engines == ("firebird-4.0", "firebird-5.0", "firebird-4.0-server")
    assert accepted(settings_text("firebird-5.0", key.name, True))
    assert not accepted(settings_text("firebird-3.0", key.name, True))
    page_size = {one.engines: one.values for one in BY_NAME["firebird.page_size"].allowed}
    assert [32768 in values for values in page_size.values()] == [False, True]
    assert not accepted(settings_text("firebird-3.0", "firebird.page_size", 32768))


VALUES = {
    "warmup_limit_s": "60",
    "threads": "2", "arrivals": '"fixed"', "observe": "true", "sample_engine": "false", "connect": '"per_transaction"',
    "stages": "[{ seconds = 1, rate_per_s = 9 }]", "classes": '[{ name = "a" }]',
    "sleeping_in_transaction": "true\nsleeping_sessions = 1",
}  # fmt: skip


@pytest.mark.parametrize("name", DRIVING)
def test_a_key_of_every_workload_has_a_condition_if_and_only_if_it_can_be_without_effect(name: str) -> None:
    def runs(engine: str, more: str, cuts: bool) -> bool:
        extent = "" if name in ("duration_s", "stages") else "count = 5\n"
        values = VALUES | {"rate_per_s": "5", "duration_s": "5", "count": "5"}
        key = "" if name == "count" else f"{name} = {values.get(name, 1)}\n"
        place = '[place]\nkind = "disk"\nfilesystem = "ext4"\n' if cuts else ""
        table = f"[workload.numbered]\n{extent}{key}"
        states = 'disk_failure = "crash-states"\n' if more == "states" else ""
        rate = "rate_per_s = 9\n" if more == "rate" and name not in ("rate_per_s", "think_ms", "classes") else ""
        if more == "classes" and name not in ("rate_per_s", "classes", "stages"):
            rate = 'classes = [{ name = "a", think_ms = 1 }]\n'
        if more == "sleeping" and name == "sleeping_in_transaction":
            table = table.replace("sleeping_sessions = 1\n", "")
        return accepted(f'{HEAD}engine = "{engine}"\n{table}{rate}{place}{states}', cuts=cuts)

    tried = [
        runs(engine, more, cuts)
        for engine in ("sqlite", "firebird-3.0-server")
        for more, cuts in (
            ("", False),
            ("rate", False),
            ("classes", False),
            ("sleeping", False),
            ("", True),
            ("states", True),
        )
    ]
    assert any(tried)
    assert (not all(tried)) == bool(BY_NAME[f"workload.NAME.{name}"].needs)


OPERATIONS = ("backup", "restore", "incremental_backup", "sweep")
OF_OPERATIONS = {
    "level": "1", "changed_percent": "5", "page_size": "8192", "parallel": "2", "compress": "true",
    "garbage_collect": "false", "replace": "true",
}  # fmt: skip


def test_a_key_of_some_operations_works_with_those_that_it_names_and_no_other() -> None:
    assert set(OF_OPERATIONS) == set(OF_WORKLOADS["maintenance"])
    for name, value in OF_OPERATIONS.items():
        (said,) = BY_NAME[f"workload.maintenance.{name}"].needs
        for operation in OPERATIONS:
            table = f'[workload.maintenance]\noperation = "{operation}"\n{name} = {value}\n'
            assert accepted(f'{HEAD}engine = "firebird-5.0"\n{table}') == (f'"{operation}"' in said), (name, operation)


def test_procedures_and_kinds_of_places_name_the_engines_that_cannot() -> None:
    assert BY_NAME["workload.tpcc.procedures"].needs == ("an engine with stored procedures (not sqlite)",)
    raw, guest = BY_NAME["place.kind"].needs
    assert "sqlite" not in raw
    assert "server" not in guest
    assert not accepted(HEAD + 'engine = "sqlite"\n[place]\nkind = "raw"\n[workload.commits]\ncount = 5\n')


def test_a_key_that_may_be_a_factor_is_one_by_that_name() -> None:
    for key in keys():
        if key.path[0] == "workload" and len(key.path) > 1 and key.factor:
            assert kinds_with(key.factor.removesuffix(".NAME"))
    text = HEAD + 'engine = "sqlite"\n[workload.tpcb]\nduration_s = 1\n[factors]\n'
    assert accepted(text + f"{BY_NAME['workload.tpcb.scale'].factor} = [1, 2]\n")
    assert accepted(text + f'"{BY_NAME["sqlite.page_size"].factor}" = [4096, 8192]\n')
    assert accepted(text + f'"{BY_NAME["place.memory_mb"].factor}" = [64, 128]\n')
    assert not any(BY_NAME[name].factor for name in ("seed", "growth.sizes", "servers.NAME.url", "workload.NAME.kind"))


def test_the_page_names_every_field_that_programs_get() -> None:
    closing = next(path for path in written() if path.suffix == ".md").read_text().partition("## --json")[2]
    words = set(re.findall(r"`([a-z_]+)`", closing))
    key = next(iter(keys())).as_json()
    assert key.keys() | Allowed((1,)).as_json().keys() | tables()[0].as_json().keys() <= words
