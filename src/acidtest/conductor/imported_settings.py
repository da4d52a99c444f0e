"""Settings that somebody's configuration names, in the words of an engine of ours. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from acidtest import settings as known_settings
from acidtest.engine import Engine
from acidtest.engine.base import SettingSpec, shown
from acidtest.errors import BadInput
from acidtest.families import FAMILIES
from acidtest.journal.models import Scalar
from acidtest.risk import LEVELS

# What our names say beside those of the configurations: the unit that the number counts in.
UNITS = {"_kb": 1 << 10, "_mb": 1 << 20}
TIMES_MS = {"_us": 0.001, "_ms": 1.0, "_s": 1000.0}
OTHERWISE = {  # where the names share nothing
    "firebird": {"page_buffers": "defaultdbcachepages"},
    "postgresql": {"isolation": "default_transaction_isolation"},
    "mysql": {"isolation": "transaction_isolation"},
}
# How a server is reached, which is a matter of the one that runs: its port is taken, and its sessions are not ours.
REACHED = frozenset(("port", "connection", "tls", "max_connections"))
PAGE_BYTES = 8192  # of a database that does not say
LOG_MB_MOST = 512  # of a log that is made at its size: making it would write for minutes
LOGS = frozenset(("innodb_log_file_mb", "innodb_redo_log_capacity_mb"))
TIME = re.compile(r"([0-9.]{1,20}) ms")
DIGITS = re.compile(r"[0-9]{1,18}")


@dataclass(frozen=True)
class Carried:
    """What of a configuration an engine of ours can be given."""

    settings: Mapping[str, Scalar]  # by our names
    level: str  # of durability, that these mean
    as_ours: Mapping[str, str]  # by the configuration's names: "innodb_buffer_pool_mb = 8192"
    why_not: Mapping[str, str]  # by the configuration's names, those that could not be given
    cache_bytes: int | None = None  # of the page cache as it was found, before it was bounded; None: none was found
    own_refused: tuple[str, ...] = ()  # what the database itself sets and the engine does not take: "page_size = 1024"


def carried(
    engine: Engine,
    product: str,
    found: Mapping[str, str],
    own: Mapping[str, Scalar] | None = None,
    *,
    cache_bytes_most: int = 1 << 62,
) -> Carried:
    """``found`` has names in lower case and values as they are written; ``own`` what the database itself sets, by our
    names, which holds against the configuration. ``product`` is as of ``families.PRODUCTS``.

    A page cache is bounded to ``cache_bytes_most``, for the server in question may run beside the scratch database.
    """
    specs = engine.setting_specs()
    names = {_bare(theirs): name for name, spec in specs.items() for theirs in _theirs(engine.family, name)}
    settings: dict[str, Scalar] = {}
    cache_bytes: int | None = None
    as_ours: dict[str, str] = {}
    why_not: dict[str, str] = {}
    for theirs, value in found.items():
        name = names.get(_bare(theirs))
        if name is None:
            why_not[theirs] = f"acidtest has no such setting for {engine.id}"
            continue
        taken = _value(specs[name], name, known_settings.of(product).alike(theirs, value))
        if taken is None or specs[name].complaint(taken):
            why_not[theirs] = f"{engine.family}.{name} does not take this value"
            continue
        if own and name in own:
            why_not[theirs] = f"the database says {name} = {shown(own[name])} itself"
            continue
        if name in REACHED:
            why_not[theirs] = "the scratch database has its own"
            continue
        settings[name] = _bounded(engine, name, taken, own or {}, cache_bytes_most)
        cache_bytes = _cache_bytes(engine, name, taken, own or {}) or cache_bytes
        as_ours[theirs] = f"{name} = {shown(settings[name])}"
        if settings[name] != taken:
            as_ours[theirs] += f", bounded for a scratch database: {shown(taken)} was found"
    refused: list[str] = []
    for name, said in (own or {}).items():
        if name in specs and not specs[name].complaint(said):
            settings[name] = _bounded(engine, name, said, own or {}, cache_bytes_most)
            cache_bytes = _cache_bytes(engine, name, said, own or {}) or cache_bytes
            if settings[name] != said:
                refused.append(f"{name} = {shown(said)}")
        else:
            refused.append(f"{name} = {shown(said)}")
    level, settings = _levelled(engine, settings)
    kept = {theirs: ours for theirs, ours in as_ours.items() if ours.partition(" = ")[0] in settings}
    why_not |= dict.fromkeys(as_ours.keys() - kept.keys(), "no durability level agrees with it beside the others")
    return Carried(settings, level, kept, why_not, cache_bytes, tuple(refused))


def _theirs(family: str, name: str) -> Iterable[str]:
    """How configurations may call our setting."""
    configured = FAMILIES[family].configured_as.get(name) or OTHERWISE.get(family, {}).get(name)
    if configured:
        yield configured
        return
    yield name
    for unit in (*UNITS, *TIMES_MS):
        if name.endswith(unit):
            yield name.removesuffix(unit)
            yield f"{name.removesuffix(unit)}_size"


def _bare(name: str) -> str:
    return name.replace("_", "").lower()


def _value(spec: SettingSpec, name: str, alike: str) -> Scalar:
    """The value as our setting has it; None where it is none of its kind."""
    if spec.allowed is not None:
        if alike in ("on", "off") and True in spec.allowed:
            return alike == "on"
        words = {re.sub("[ -]", "_", str(one).lower()): one for one in spec.allowed}
        return words.get(re.sub("[ -]", "_", alike))
    if name.endswith("_s") and DIGITS.fullmatch(alike):
        return int(alike)  # without a unit it counts in the unit of the setting
    if time := TIME.fullmatch(alike):
        unit = next((ms for end, ms in TIMES_MS.items() if name.endswith(end)), None)
        return None if unit is None else int(float(time[1]) / unit)
    if not DIGITS.fullmatch(alike):
        return {"on": 1, "off": 0}.get(alike)
    unit_bytes = next((count for end, count in UNITS.items() if name.endswith(end)), 1)
    return int(alike) // unit_bytes


def _bounded(engine: Engine, name: str, value: Scalar, own: Mapping[str, Scalar], cache_bytes_most: int) -> Scalar:
    """The value, or the most that a scratch database may have of it."""
    if not isinstance(value, int) or isinstance(value, bool):
        return value
    if name in LOGS:
        return min(value, LOG_MB_MOST)
    if name != FAMILIES[engine.family].cache.setting:
        return value
    least = engine.setting_specs()[name].minimum or 0
    return max(least, min(value, cache_bytes_most // _cache_unit(engine, own)))


def _cache_bytes(engine: Engine, name: str, value: Scalar, own: Mapping[str, Scalar]) -> int | None:
    is_cache = name == FAMILIES[engine.family].cache.setting and isinstance(value, int)
    return int(value or 0) * _cache_unit(engine, own) if is_cache else None


def _cache_unit(engine: Engine, own: Mapping[str, Scalar]) -> int:
    """Bytes."""
    page = own.get("page_size", PAGE_BYTES)
    return FAMILIES[engine.family].cache.unit_bytes or (page if isinstance(page, int) else PAGE_BYTES)


def _levelled(engine: Engine, settings: Mapping[str, Scalar]) -> tuple[str, dict[str, Scalar]]:
    """The strongest durability level that does not contradict the settings; where there is none, as few of them are
    left out as one, or else those that contradict the ones before them."""
    if level := _level(engine, settings):
        return level, dict(settings)
    for left_out in settings:
        rest = {name: value for name, value in settings.items() if name != left_out}
        if level := _level(engine, rest):
            return level, rest
    kept: dict[str, Scalar] = {}
    for name, value in settings.items():
        if _level(engine, {**kept, name: value}):
            kept[name] = value
    return _level(engine, kept), kept


def _level(engine: Engine, settings: Mapping[str, Scalar]) -> str:
    for level in reversed([level for level in LEVELS if level in engine.durability_levels()]):
        try:
            engine.durability(level, settings)
        except BadInput:
            continue
        return level
    return ""
