"""Reads an experiment's TOML. Every error names the file, the key, what was found and what is allowed."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from acidtest import registered_builds
from acidtest.errors import BadInput, Problems, nearest, not_among
from acidtest.experiment import program
from acidtest.experiment.models import Experiment, GrowthSpec, LoadSpec, SearchSpec
from acidtest.experiment.places import PlaceSpec
from acidtest.experiment.reading import Reading, cut, shown
from acidtest.experiment.servers import server_table
from acidtest.experiment.short_forms import TOP_KEYS, BuildForm, LevelForm
from acidtest.experiment.sizes import check_ascending, check_held_out, size_of
from acidtest.families import FAMILIES, PRODUCTS, SERVERS
from acidtest.files import refuse_foreign_bytes
from acidtest.journal.models import SIZE
from acidtest.keys import keys_in
from acidtest.names import BUILD, EXPERIMENT, SHOWN
from acidtest.workload import (
    BY_KIND,
    KINDS,
    OF_TABLES,
    PARAMETERS,
    GrowingWorkload,
    fixed,
    growing,
    keys_of,
    kinds_with,
)

PLACE_KEYS = tuple(PlaceSpec.model_fields)
MODES = ("embedded", "server")  # of a Firebird
EXTENTS = ("duration_s", "count")  # a workload has one of them
ALWAYS_FACTORS = ("workload", "engine", "durability")
EXAMPLES = {"engine": ('"sqlite"', '["sqlite", "firebird-5.0"]'), "durability": ('"drive"', '["os", "drive"]')}
STAND_IN = "unnamed"  # in place of a name that cannot be, so that the rest is looked at


def read(path: Path, *, quick: bool = False, problems: Problems | None = None) -> Experiment:
    """Read and validate ``path``, as ``parse`` does. With ``quick``, the file's ``[quick]`` table is laid over it."""
    refuse_foreign_bytes(path)
    try:
        text = path.read_bytes().decode()
    except FileNotFoundError:
        raise BadInput(f"{path}: no such file", "give the path of an experiment (.toml)") from None
    except IsADirectoryError:
        raise BadInput(f"{path}: is a directory", "give the path of an experiment (.toml)") from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: not UTF-8 text (byte {error.start})", "save it as UTF-8") from None
    return parse(text, str(path), base=path.parent, quick=quick, problems=problems)


def parse(
    text: str, where: str, *, base: Path = Path(), quick: bool = False, problems: Problems | None = None
) -> Experiment:
    """Validate the TOML ``text``; ``where`` stands for the file in errors, and ``base`` is its directory.

    Raises BadInput with everything that is wrong. With ``problems`` that is added there instead, and the experiment is
    what is sound of the text, so that more of it can be looked at; raised is only what leaves nothing to look at.
    """
    reading = Reading(where, Problems() if problems is None else problems)
    try:
        written = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise reading.bad(f"not TOML: {error}", "correct that line") from None
    written = reading.known_keys("", written, TOP_KEYS)
    small = written.pop("quick", None)
    if quick:
        if not isinstance(small, dict):
            found = "has no small size" if small is None else f"quick: found {shown(small)}, must be a table"
            reading.refuse(found, "leave out --quick, or add a [quick] table")
            raise reading.problems.together()
        small = reading.known_keys("quick", small, [k for k in TOP_KEYS if k != "quick"])
        whole = written.get("factors")
        reading.whole = {name: list(map(_written_name, _listed(of))) for name, of in _flat(_table(whole))}
        written = _overlay(written, small)
    given = _given(small if quick else written)
    if "program" in written:
        with reading.gather():
            program.take(reading, written, base)
        if reading.problems and "workload" not in written:  # nothing is left to look at
            raise reading.problems.together()
    experiment = _validate(reading, _normalise(reading, written, base), given)
    if problems is None:
        reading.problems.check()
    return experiment


def _given(written: dict[str, Any]) -> frozenset[tuple[str, ...]]:
    """The paths of what the user wrote, as in Experiment.given; what is no table is refused elsewhere."""
    paths: set[tuple[str, ...]] = {
        (top, key)
        for top in ("place", "growth", "load", "servers", "engines", "factors")
        for key in _table(written.get(top))
    }
    paths |= {("base", factor) for factor, _ in _flat(_table(written.get("base")))}
    paths |= {("exclude", str(n)) for n, _ in enumerate(_listed(written.get("exclude", [])), start=1)}
    for top in ("settings", "workload"):
        for name, values in _table(written.get(top)).items():
            # A duration or a count of 0 says that it is the other one.
            paths |= {
                (top, name, key)
                for key, value in _entries(_table(values))
                if key != "kind" and not (top == "workload" and key in EXTENTS and value == 0)
            }
    return frozenset(paths)


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _entries(table: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Each key with its value; of one that is a table each of its entries, "variables.scale"."""
    for key, value in table.items():
        if key in OF_TABLES and isinstance(value, dict) and value:
            yield from ((f"{key}.{name}", one) for name, one in value.items())
        else:
            yield key, value


def _overlay(under: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    merged = dict(under)
    for key, value in over.items():
        below = merged.get(key)
        merged[key] = _overlay(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged


def _normalise(reading: Reading, written: dict[str, Any], base: Path) -> dict[str, Any]:
    """The short forms of the file become the long forms of the model, of what is sound in it."""
    plain = dict(written)
    plain["workload"] = _workloads(reading, written, base)
    plain["settings"] = _settings(reading, written)
    plain["place"] = {}
    with reading.gather():
        place = reading.table("place", written.get("place", {}))
        plain["place"] = reading.known_keys("place", place, PLACE_KEYS)
    for name, model in (("search", SearchSpec), ("load", LoadSpec)):
        if name in written:
            plain[name] = {}
            with reading.gather():
                plain[name] = reading.known_keys(name, reading.table(name, written[name]), keys_in(model))
    plain["servers"] = _servers(reading, written)
    plain["engines"] = _builds(reading, written, plain["servers"])
    plain["factors"] = _factors(reading, plain, written)
    _take_kept(reading, plain)
    if "growth" in plain:
        with reading.gather(SIZE):
            _growth(reading, plain)
        if SIZE in reading.broken:
            del plain["growth"]
            plain["factors"].pop(SIZE, None)
    plain["exclude"] = _excludes(reading, plain.get("exclude", []), plain["factors"])
    plain["base"] = _base(reading, plain.get("base", {}), plain["factors"])
    if "growth" in plain:
        plain["base"].setdefault(SIZE, plain["growth"]["sizes"][0])
    return plain


def _workloads(reading: Reading, written: dict[str, Any], base: Path) -> dict[str, Any]:
    """By name. A table that is none stands in as one of the first kind, for others may name it."""
    if "program" in written:
        return dict(written["workload"])
    tables: dict[str, Any] = {}
    with reading.gather():
        tables = reading.table("workload", written.get("workload", {}))
        if not tables and "workload" not in reading.meant:
            reading.refuse("no workload", f"add a table [workload.{KINDS[0]}]")
    if not tables:
        raise reading.problems.together()
    workloads: dict[str, Any] = {}
    for name, parameters in tables.items():
        if not reading.check_name(f"workload.{cut(name)}", name, SHOWN):
            continue
        workloads[name] = {"kind": KINDS[0], "count": 1}
        with reading.gather():
            workloads[name] = _workload(reading, f"workload.{cut(name)}", name, parameters, base)
    return workloads


def _workload(reading: Reading, key: str, name: str, parameters: Any, base: Path) -> dict[str, Any]:
    """The keys of one workload, its kind among them."""
    table = reading.table(key, parameters, hint="write [workload.commits] or [workload.tpcb] tables, one a workload")
    kind = table.setdefault("kind", name)
    if kind not in KINDS:
        raise reading.bad(not_among(f"{key}: workload", cut(str(kind)), KINDS))
    table = _workload_keys(reading, key, str(kind), table)
    _extent_overlay(table)
    return BY_KIND[str(kind)].completed(table, base)


def _workload_keys(reading: Reading, key: str, kind: str, table: dict[str, Any]) -> dict[str, Any]:
    """Leave out the keys that this kind of workload does not have, and say which ones do."""
    own = tuple(keys_of(kind))
    for name in table:
        if name not in own and (others := kinds_with(name)):
            has = f"{name} is a key of {', '.join(others)}, and this workload is {kind}"
            reading.refuse(f"{key}: {has}", f'leave it out, or write kind = "{others[0]}"')
    rest = {name: value for name, value in table.items() if name in own or not kinds_with(name)}
    return reading.known_keys(key, rest, own)


def _extent_overlay(table: dict[str, Any]) -> None:
    # A [quick] table that shortens a run by the other measure replaces it: 0 means "not this one".
    for key in EXTENTS:
        if table.get(key) == 0 and any(table.get(other) for other in EXTENTS if other != key):
            del table[key]


def _settings(reading: Reading, written: dict[str, Any]) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    with reading.gather():
        given = reading.table("settings", written.get("settings", {}))
        for name in _table(written.get("servers")).keys() & given.keys() - FAMILIES.keys():
            reading.refuse(
                f"settings.{cut(name)}: settings are named after a family of engines, and {cut(name)} is a server",
                f"write {' or '.join(f'[settings.{family}]' for family in SERVERS)}, after the scheme of its URL",
            )
            del given[name]
        for family, table in reading.known_keys("settings", given, tuple(FAMILIES)).items():
            with reading.gather():
                settings[family] = _single(reading, family, reading.table(f"settings.{family}", table))
    return settings


def _single(reading: Reading, family: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Those of ``values`` that are what a setting can be."""
    single = {name: value for name, value in values.items() if isinstance(value, str | int | float | bool)}
    for name in values.keys() - single.keys():
        reading.refuse(f"settings.{family}.{cut(name)}: found {shown(values[name])}, must be a single value")
    return single


def _factors(reading: Reading, plain: dict[str, Any], written: dict[str, Any]) -> dict[str, Any]:
    """The levels of every factor; those that are fixed at the top of the file are factors of one level."""
    given: dict[str, Any] = {}
    with reading.gather():
        given = reading.table("factors", plain.get("factors", {}))
    factors: dict[str, Any] = {}
    for name in ALWAYS_FACTORS:
        fixed = plain.pop(name, None) if name != "workload" else None
        if name in given and fixed is not None:
            reading.refuse(f"{name} is both fixed and a factor", f"keep one: {name} = ... or factors.{name}")
            reading.broken.add(name)
        if name in given:
            factors[name] = given[name]
        elif fixed is not None:
            factors[name] = [fixed]
        elif name == "workload":
            factors[name] = list(written["workload"])
        elif not reading.meant & {name, f"factors.{name}"}:
            one, several = EXAMPLES[name]
            remedy = f"write {name} = {one} above the first table, or {name} = {several} under [factors]"
            reading.refuse(f"no {name}", remedy)
    factors.update({name: levels for name, levels in given.items() if name not in factors})
    servers = _table(written.get("servers")).keys()
    named = _Named(plain["workload"].keys(), servers)
    by_factor: dict[str, Any] = {}
    for name, levels in factors.items():
        with reading.gather(name):
            reading.check_name(f"factors.{cut(name)}", name, SHOWN)
            by_factor[name] = _levels(reading, name, levels, named)
    if unread := servers - plain["servers"].keys():
        # Something is amiss with these servers: what is asked of them is not looked at.
        reading.broken.add("engine")
        by_factor["engine"] = [one for one in by_factor.get("engine", []) if one["set"].get("engine") not in unread]
    if not all(by_factor.get(name) for name in ALWAYS_FACTORS):
        raise reading.problems.together()
    return {name: levels for name, levels in by_factor.items() if levels}


def _growth(reading: Reading, plain: dict[str, Any]) -> None:
    """Make the sizes a factor, once they and what stands beside them are such that databases can grow to them."""
    table = reading.table("growth", plain["growth"])
    plain["growth"] = table = reading.known_keys("growth", table, keys_in(GrowthSpec))
    texts = table.get("sizes")
    if texts is None and "growth.sizes" in reading.meant:
        return
    if not isinstance(texts, list) or not texts or not all(isinstance(size, str) for size in texts):
        raise reading.bad(f"growth.sizes: found {shown(texts)}, must be a list of texts", '["1 GB", "2 GB"]')
    held_out = table.get("held_out", [])
    if not isinstance(held_out, list) or not all(isinstance(size, str) for size in held_out):
        raise reading.bad(f"growth.held_out: found {shown(held_out)}, must be a list of texts", '["4 GB"]')
    sets = {target: None for levels in plain["factors"].values() for level in levels for target in level["set"]}
    if SIZE in plain["factors"]:
        reading.refuse(f"factors.{SIZE}: [growth] has a factor of that name", "give the factor another name")
    for name, workload in plain["workload"].items():
        spec_kind = workload["kind"]
        spec = BY_KIND[spec_kind]
        if not issubclass(spec, GrowingWorkload):
            reading.refuse(
                f"workload.{name}: databases grow under {', '.join(growing())}, and this is {spec_kind}",
                "leave the workload out, or leave [growth] out",
            )
            continue
        unit = spec.UNIT_OF_SIZE
        if unit in workload or unit in sets:
            reading.refuse(f"{unit}: growth.sizes say how many there are", f"leave {unit} out")
        for key, value in spec.GROWN_DEFAULTS.items():
            workload.setdefault(key, value)
    given = [level["set"].get("place.memory_mb") for levels in plain["factors"].values() for level in levels]
    given.append(plain["place"].get("memory_mb"))
    memories: list[int | None] = [memory for memory in given if isinstance(memory, int)]
    memories = memories or [None]
    try:
        sizes = [size_of(size) for size in texts]
        for size in sizes:
            size.with_memory(memories[0])
        if table.get("load") != "fresh":
            check_ascending(sizes, memories)
        for size in (later := [size_of(size) for size in held_out]):
            size.with_memory(memories[0])
        if later:
            check_held_out(sizes, later, memories)
    except BadInput as error:
        raise reading.bad(error.message, error.remedy) from None
    if twice := next((size for size, count in Counter(texts).items() if count > 1), None):
        raise reading.bad(f'growth.sizes: "{twice}" stands twice', "leave one out")
    plain["factors"][SIZE] = [{"name": size, "set": {}} for size in texts + held_out]


def _servers(reading: Reading, written: dict[str, Any]) -> dict[str, Any]:
    """By name, those that are sound."""
    servers: dict[str, Any] = {}
    with reading.gather():
        for name, table in reading.table("servers", written.get("servers", {})).items():
            with reading.gather():
                if not reading.check_name(f"servers.{cut(name)}", name, SHOWN):
                    continue
                if entry := server_table(reading, f"servers.{cut(name)}", name, table):
                    servers[name] = entry
    return servers


def _builds(reading: Reading, written: dict[str, Any], servers: Collection[str]) -> dict[str, Any]:
    """The builds at paths, by name, those that are sound."""
    builds: dict[str, Any] = {}
    with reading.gather():
        for name, table in reading.table("engines", written.get("engines", {})).items():
            with reading.gather():
                key = f"engines.{cut(name)}"
                if not reading.check_name(key, name, BUILD):
                    continue
                if name in servers:
                    raise reading.bad(f"{key}: servers.{name} has this name too", "name one of them otherwise")
                if build := _build(reading, key, table):
                    builds[name] = build
    return builds


def _build(reading: Reading, key: str, given: Any) -> dict[str, Any] | None:
    """One build; None where what it lacks seems to stand under a key that is not known."""
    table = reading.known_keys(key, reading.table(key, given), keys_in(BuildForm))
    for name in ("family", "path"):
        value = table.get(name)
        if name not in table and f"{key}.{name}" in reading.meant:
            return None
        if not isinstance(value, str) or not value:
            found = f"has no {name}" if name not in table else f"{name}: found {shown(value)}, must be a text"
            raise reading.bad(f"{key}: {found}", 'write family = "postgresql" and path = "/opt/pg-master", for example')
    if table["family"] not in PRODUCTS:
        raise reading.bad(not_among(f"{key}: family", cut(table["family"]), PRODUCTS))
    if table.get("mode", MODES[0]) not in MODES:
        raise reading.bad(f"{key}.mode: found {shown(table['mode'])}, must be {' or '.join(MODES)}")
    return table


def _take_kept(reading: Reading, plain: dict[str, Any]) -> None:
    """Builds that ``acidtest engines add`` keeps, and that the file names, are taken as if it had their tables."""
    for level in plain["factors"].get("engine", []):
        name = str(level["set"].get("engine", ""))
        if name in plain["servers"] or name in plain["engines"] or BUILD.complaint(name):
            continue
        with reading.gather():
            if (there := registered_builds.find(name)) is not None:
                plain["engines"][name] = {"family": there.family, "path": there.path, "mode": there.mode or None}


class _Named(NamedTuple):
    """What levels may refer to."""

    workloads: Collection[str]
    servers: Collection[str]


def _levels(reading: Reading, factor: str, levels: Any, named: _Named) -> list[dict[str, Any]]:
    """Those levels that are sound, each with its name and what it sets."""
    key = f"factors.{cut(factor)}"
    if not isinstance(levels, list) or not levels:
        raise reading.bad(f"{key}: found {shown(levels)}, must be a list of at least one level")
    if "." in factor:
        _settable(reading, key, factor, named)
    result: list[dict[str, Any]] = []
    for position, level in enumerate(levels, start=1):
        if isinstance(level, str) and level in reading.misnamed:
            reading.broken.add(factor)
            continue
        with reading.gather():
            result.append(_level(reading, factor, f"{key}, level {position}", level, named))
    for name, count in Counter(level["name"] for level in result).items():
        if count > 1:
            reading.refuse(f'{key}: level "{cut(name)}" stands twice', "name each level differently")
    return list({level["name"]: level for level in result}.values())


def _level(reading: Reading, factor: str, at: str, level: Any, named: _Named) -> dict[str, Any]:
    """One level, with its name and what it sets."""
    known = (
        factor in ALWAYS_FACTORS or factor in PARAMETERS or "." in factor or factor in OF_TABLES or bool(fixed(factor))
    )
    if isinstance(level, dict):
        level = reading.known_keys(at, level, keys_in(LevelForm))
        if not isinstance(level.get("name"), str) or not level["name"]:
            raise reading.bad(f"{at}: a level written as a table needs a name", 'write { name = "...", ... }')
        settings = dict(_flat(reading.table(f"{at}.set", level.get("set", {}))))
        if "value" in level:
            if not known:
                raise _unknown_factor(reading, factor)
            settings[factor] = level["value"]
        elif known and factor not in settings:
            raise reading.bad(f"{at}: has a name but no value", "write { name = ..., value = ... }")
        name, remedy = level["name"], ""
    else:
        if not known:
            raise _unknown_factor(reading, factor)
        name, settings = level if isinstance(level, str) else shown(level), {factor: level}
        remedy = 'give the level a name: { name = "...", value = ... }'
    for target, value in settings.items():
        _settable(reading, at, target, named)
        if not isinstance(value, str | int | float | bool):
            raise reading.bad(f"{at}: {target}: found {shown(value)}, must be a single value")
    if "workload" in settings and settings["workload"] not in named.workloads:
        asked = cut(str(settings["workload"]))
        raise reading.bad(
            not_among(f"{at}: workload", asked, named.workloads), f"add a table [workload.{asked}] or correct the name"
        )
    if wrong := SHOWN.complaint(name):
        raise reading.bad(f"{at}: found {shown(name)}, {wrong}", remedy)
    return {"name": name, "set": settings}


def _unknown_factor(reading: Reading, factor: str) -> BadInput:
    allowed = (*ALWAYS_FACTORS, *PARAMETERS)
    near = nearest(factor, (*allowed, *(f"place.{key}" for key in PLACE_KEYS)))
    meant = f' (did you mean "{near}"?)' if near else ""
    if near:
        reading.meant.add(f"factors.{near}")
    return reading.bad(
        f"factors.{cut(factor)}: no such factor{meant}; allowed: {', '.join(allowed)}, FAMILY.SETTING or place.KEY",
        'for a factor with a name of your own write its levels as { name = "...", set = { ... } }',
    )


def _settable(reading: Reading, at: str, target: str, named: _Named) -> None:
    owner, _, setting = target.partition(".")
    if not setting and (instead := fixed(target)):
        raise reading.bad(f"{at}: {target} cannot be set by a factor", instead)
    if not setting and target in OF_TABLES:
        raise reading.bad(f"{at}: {target} is a table, and a level sets one entry of it", f'write "{target}.NAME"')
    if setting and owner in OF_TABLES:
        return  # whether a workload has the entry is for the plan to say
    if setting and owner == "place":
        if setting not in PLACE_KEYS:
            raise reading.bad(not_among(f"{at}: place", cut(setting), PLACE_KEYS))
    elif setting:
        if owner not in FAMILIES and owner in named.servers:
            raise reading.bad(
                f"{at}: {cut(target)}: settings are named after a family of engines, and {cut(owner)} is a server",
                f"write {' or '.join(f'{family}.{cut(setting)}' for family in SERVERS)}, after the scheme of its URL",
            )
        if owner not in FAMILIES:
            raise reading.bad(not_among(f"{at}: engine family", cut(owner), (*FAMILIES, "place")))
    elif target not in ALWAYS_FACTORS and target not in PARAMETERS:
        places = (f"place.{key}" for key in PLACE_KEYS)
        raise reading.bad(not_among(f"{at}: setting", cut(target), (*ALWAYS_FACTORS, *PARAMETERS, *places)))


def _flat(table: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """``{firebird = {page_size = 1}}`` and ``{"firebird.page_size" = 1}`` say the same."""
    flat: list[tuple[str, Any]] = []
    for name, value in table.items():
        flat += _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else [(prefix + name, value)]
    return flat


Names = Mapping[str, Collection[str]]  # of each factor's levels, in their order


def _names(factors: dict[str, list[dict[str, Any]]]) -> Names:
    return {factor: dict.fromkeys(level["name"] for level in levels) for factor, levels in factors.items()}


def _excludes(reading: Reading, excludes: Any, factors: dict[str, list[dict[str, Any]]]) -> list[dict[str, list[str]]]:
    if not isinstance(excludes, list):
        reading.refuse(f"exclude: found {shown(excludes)}, must be [[exclude]] tables")
        return []
    names = _names(factors)
    result = []
    for position, entry in enumerate(excludes, start=1):
        with reading.gather():
            if (found := _exclude(reading, f"exclude {position}", entry, names)) is not None:
                result.append(found)
    return result


def _exclude(reading: Reading, at: str, entry: Any, names: Names) -> dict[str, list[str]] | None:
    """One entry; None where it is about something that is broken, or cannot be as it is."""
    table = reading.table(at, entry)
    if not table:
        raise reading.bad(f"{at}: is empty", "name the factors and levels to leave out")
    named = {factor: _listed(levels) for factor, levels in _flat(table)}
    if named.keys() & reading.broken:
        return None

    def is_dropped(factor: str, level: Any) -> bool:
        name = _written_name(level)
        return name in reading.whole.get(factor, ()) and name not in names.get(factor, ())

    here = {factor: [level for level in levels if not is_dropped(factor, level)] for factor, levels in named.items()}
    found = {factor: _level_names(reading, at, factor, levels, names) for factor, levels in here.items()}
    return found if all(len(found[factor]) == len(levels) for factor, levels in here.items()) else None


def _written_name(level: Any) -> str:
    """Of a level as it is written."""
    name = level.get("name") if isinstance(level, dict) else level
    return name if isinstance(name, str) else shown(name)


def _base(reading: Reading, base: Any, factors: dict[str, list[dict[str, Any]]]) -> dict[str, str]:
    names = _names(factors)
    named: list[tuple[str, Any]] = []
    with reading.gather():
        named = _flat(reading.table("base", base))
    return {
        factor: name
        for factor, level in named
        if factor not in reading.broken
        for name in _level_names(reading, "base", factor, [level], names)
    }


def _level_names(reading: Reading, at: str, factor: str, levels: list[Any], names: Names) -> list[str]:
    """The names of those levels that there are."""
    if factor not in names:
        reading.refuse(not_among(f"{at}: factor", cut(factor), names))
        return []
    asked = [_written_name(level) for level in levels]
    for name in asked:
        if name not in names[factor]:
            reading.refuse(not_among(f"{at}: {factor}", cut(name), names[factor]))
    return [name for name in asked if name in names[factor]]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _validate(reading: Reading, plain: dict[str, Any], given: frozenset[tuple[str, ...]]) -> Experiment:
    """The experiment; of what is wrong in it the default. Raises BadInput where that makes no experiment."""
    if isinstance(name := plain.get("name"), str) and EXPERIMENT.complaint(name):
        reading.check_name("name", name, EXPERIMENT)
        plain["name"] = STAND_IN
    try:
        return Experiment.model_validate(plain | {"given": given}, strict=True)
    except ValidationError as error:
        errors = error.errors()
    for one in errors:
        key = ".".join(map(str, _path(one)))
        if not _only_follows(reading, one, key):
            reading.refuse(complaint(one, key), f"acidtest help {key}")
        _drop(plain, one)
    try:
        return Experiment.model_validate(plain | {"given": given}, strict=True)
    except ValidationError:
        raise reading.problems.together() from None


def _only_follows(reading: Reading, error: ErrorDetails, key: str) -> bool:
    """Whether something is missing that seems to stand under a key that is not known."""
    if error["type"] == "value_error":
        return bool(reading.meant & {f"{key}.{extent}" for extent in EXTENTS})
    return error["type"] == "missing" and key in reading.meant


def _drop(plain: dict[str, Any], error: ErrorDetails) -> None:
    """Take out of ``plain`` what pydantic complains of."""
    path = _path(error)
    if path == ("name",):
        plain["name"] = STAND_IN
    elif path[0] == "workload" and len(path) == 2:  # its keys do not go together
        plain["workload"][path[1]] = {"kind": error["loc"][2], "count": 1}
    else:
        table: Any = plain
        for part in path[:-1]:
            table = table.get(part) if isinstance(table, dict) else None
        if isinstance(table, dict):
            table.pop(path[-1], None)


def _path(error: ErrorDetails) -> tuple[int | str, ...]:
    """Where an error of the whole experiment is: pydantic names the kind of a workload after its name."""
    at = error["loc"]
    return (*at[:2], *at[3:]) if at[0] == "workload" else at


def complaint(error: ErrorDetails, key: str) -> str:
    """One of pydantic's findings, which is about ``key``, in our words."""
    value = shown(error["input"])
    context = error.get("ctx", {})
    match error["type"]:
        case "missing":
            *tables, last = key.split(".")
            at = f"under [{'.'.join(tables)}]" if tables else "above the first table"
            return f"{key}: is missing; write {last} = … {at}"
        case "greater_than_equal":
            return f"{key}: found {value}, must be at least {context['ge']}"
        case "greater_than":
            return f"{key}: found {value}, must be above {context['gt']}"
        case "less_than_equal":
            return f"{key}: found {value}, must be at most {context['le']}"
        case "literal_error":
            return not_among(
                f"{key}:",
                str(error["input"]),
                [w.strip(" '") for w in context["expected"].replace(" or ", ",").split(",")],
            )
        case "value_error":
            return f"{key}: {context['error']}"
        case _:
            return f"{key}: found {value}: {error['msg'][0].lower()}{error['msg'][1:]}"
