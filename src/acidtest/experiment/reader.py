"""Reads an experiment's TOML. Every error names the file, the key, what was found and what is allowed."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from pydantic import SecretStr, ValidationError
from pydantic_core import ErrorDetails

from acidtest import families
from acidtest.errors import BadInput, Problems, nearest, not_among
from acidtest.experiment.models import Experiment, GrowthSpec
from acidtest.experiment.places import PlaceSpec
from acidtest.experiment.sizes import check_ascending, size_of
from acidtest.families import FAMILIES, SERVERS
from acidtest.journal.models import SIZE
from acidtest.workload import BY_KIND, KINDS, PARAMETERS, GrowingWorkload, growing, kinds_with

TOP_KEYS = (
    "name", "title", "question", "seed", "repetitions", "base", "engine", "durability",
    "factors", "exclude", "workload", "settings", "place", "growth", "servers", "waive",
    "quick",
)  # fmt: skip
PLACE_KEYS = tuple(PlaceSpec.model_fields)
EXTENTS = ("duration_s", "count")  # a workload has one of them
ALWAYS_FACTORS = ("workload", "engine", "durability")


def read(path: Path, *, quick: bool = False) -> Experiment:
    """Read and validate ``path``. With ``quick``, the file's ``[quick]`` table is laid over it."""
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
    return parse(text, str(path), quick=quick)


def parse(text: str, where: str, *, quick: bool = False) -> Experiment:
    """Validate the TOML ``text``; ``where`` stands for the file in errors."""
    try:
        written = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{where}: not TOML: {error}", "mend that line") from None
    _known_keys(where, "", written, TOP_KEYS)
    small = written.pop("quick", None)
    if quick:
        if small is None:
            raise BadInput(f"{where}: has no small size", "leave out --quick, or add a [quick] table")
        if not isinstance(small, dict):
            raise BadInput(f"{where}: quick: found {_shown(small)}, must be a table")
        _known_keys(where, "quick", small, [k for k in TOP_KEYS if k != "quick"])
        written = _overlay(written, small)
    given = _given(small if quick else written)
    return _validate(where, _normalise(where, written) | {"given": given})


def _given(written: dict[str, Any]) -> frozenset[tuple[str, ...]]:
    """The paths of what the user wrote, as in Experiment.given; what is no table is refused elsewhere."""

    def table(value: object) -> dict[str, Any]:
        return value if isinstance(value, dict) else {}

    paths: set[tuple[str, ...]] = {
        (top, key) for top in ("place", "growth", "servers", "factors") for key in table(written.get(top))
    }
    paths |= {("base", factor) for factor, _ in _flat(table(written.get("base")))}
    paths |= {("exclude", str(n)) for n, _ in enumerate(_listed(written.get("exclude", [])), start=1)}
    for top in ("settings", "workload"):
        for name, values in table(written.get(top)).items():
            # A duration or a count of 0 says that it is the other one.
            paths |= {
                (top, name, key)
                for key, value in table(values).items()
                if key != "kind" and not (top == "workload" and key in EXTENTS and value == 0)
            }
    return frozenset(paths)


def _overlay(under: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    merged = dict(under)
    for key, value in over.items():
        below = merged.get(key)
        merged[key] = _overlay(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged


def _normalise(where: str, written: dict[str, Any]) -> dict[str, Any]:
    """The short forms of the file become the long forms of the model."""
    plain, problems = dict(written), Problems()
    workloads = _table(where, "workload", plain.get("workload", {}))
    if not workloads:
        raise BadInput(f"{where}: no workload", f"add a table [workload.{KINDS[0]}]")
    for name, parameters in workloads.items():
        with problems.gather():
            workloads[name] = _workload(where, f"workload.{name}", name, parameters)
    plain["workload"] = workloads
    with problems.gather():
        settings = _table(where, "settings", plain.get("settings", {}))
        _known_keys(where, "settings", settings, tuple(FAMILIES))
        for family, table in settings.items():
            _table(where, f"settings.{family}", table)
    with problems.gather():
        _known_keys(where, "place", _table(where, "place", plain.get("place", {})), PLACE_KEYS)
    servers: dict[str, Any] = {}
    with problems.gather():
        for name, table in _table(where, "servers", plain.get("servers", {})).items():
            with problems.gather():
                servers[name] = _server(where, f"servers.{name}", _table(where, f"servers.{name}", table))
    plain["servers"] = servers
    plain["factors"] = _factors(where, plain, workloads, problems)
    problems.check()
    if "growth" in plain:
        sizes = _growth(where, plain)
        plain["factors"][SIZE] = [{"name": size, "set": {}} for size in sizes]
    with problems.gather():
        plain["exclude"] = _excludes(where, plain.get("exclude", []), plain["factors"])
    with problems.gather():
        plain["base"] = _base(where, plain.get("base", {}), plain["factors"])
    problems.check()
    if "growth" in plain:
        plain["base"].setdefault(SIZE, sizes[0])
    return plain


def _workload(where: str, key: str, name: str, parameters: Any) -> dict[str, Any]:
    """The keys of one workload, its kind among them."""
    table = _table(where, key, parameters, hint="write [workload.commits] or [workload.tpcb] tables, one a workload")
    kind = table.setdefault("kind", name)
    if kind not in KINDS:
        raise BadInput(f"{where}: {not_among(f'{key}: workload', str(kind), KINDS)}")
    _workload_keys(where, key, str(kind), table)
    _extent_overlay(table)
    return table


def _factors(where: str, plain: dict[str, Any], workloads: dict[str, Any], problems: Problems) -> dict[str, Any]:
    """The levels of every factor; those that are fixed at the top of the file are factors of one level."""
    given = _table(where, "factors", plain.get("factors", {}))
    factors: dict[str, Any] = {}
    for name in ALWAYS_FACTORS:
        fixed = plain.pop(name, None) if name != "workload" else None
        if name in given and fixed is not None:
            problems.add(
                BadInput(f"{where}: {name} is both fixed and a factor", f"keep one: {name} = ... or factors.{name}")
            )
        elif name in given:
            factors[name] = given[name]
        elif fixed is not None:
            factors[name] = [fixed]
        elif name == "workload":
            factors[name] = list(workloads)
        else:
            problems.add(BadInput(f"{where}: no {name}", f'add {name} = "..." or a factor of that name'))
    factors.update({name: levels for name, levels in given.items() if name not in factors})
    by_factor: dict[str, Any] = {}
    for name, levels in factors.items():
        with problems.gather():
            by_factor[name] = _levels(where, name, levels, workloads)
    return by_factor


def _growth(where: str, plain: dict[str, Any]) -> list[str]:
    """The sizes, once they and what stands beside them are such that databases can grow to them."""
    table = _table(where, "growth", plain["growth"])
    _known_keys(where, "growth", table, tuple(GrowthSpec.model_fields))
    texts = table.get("sizes")
    if not isinstance(texts, list) or not texts or not all(isinstance(size, str) for size in texts):
        raise BadInput(f"{where}: growth.sizes: found {_shown(texts)}, must be a list of texts", '["1 GB", "2 GB"]')
    sets = {target: None for levels in plain["factors"].values() for level in levels for target in level["set"]}
    if SIZE in plain["factors"]:
        raise BadInput(f"{where}: factors.{SIZE}: [growth] has a factor of that name", "give the factor another name")
    for name, workload in plain["workload"].items():
        spec_kind = workload["kind"]
        spec = BY_KIND[spec_kind]
        if not issubclass(spec, GrowingWorkload):
            raise BadInput(
                f"{where}: workload.{name}: databases grow under {', '.join(growing())}, and this is {spec_kind}",
                "leave the workload out, or leave [growth] out",
            )
        unit = spec.UNIT_OF_SIZE
        if unit in workload or unit in sets:
            raise BadInput(f"{where}: {unit}: growth.sizes say how many there are", f"leave {unit} out")
        for key, value in spec.GROWN_DEFAULTS.items():
            workload.setdefault(key, value)
    given = [level["set"].get("place.memory_mb") for levels in plain["factors"].values() for level in levels]
    given.append(plain.get("place", {}).get("memory_mb"))
    memories: list[int | None] = [memory for memory in given if isinstance(memory, int)]
    memories = memories or [None]
    try:
        sizes = [size_of(size) for size in texts]
        for size in sizes:
            size.with_memory(memories[0])
        if table.get("load") != "fresh":
            check_ascending(sizes, memories)
    except BadInput as error:
        raise BadInput(f"{where}: {error.message}", error.remedy) from None
    if twice := next((size for size in texts if texts.count(size) > 1), None):
        raise BadInput(f'{where}: growth.sizes: "{twice}" stands twice', "leave one out")
    return texts


def _server(where: str, key: str, table: dict[str, Any]) -> dict[str, Any]:
    """A connection URL, taken apart. Its password may also stand in ``$ACIDTEST_PASSWORD_NAME``."""
    _known_keys(where, key, table, ("url", "schema"))
    form = f"write it as {' or '.join(f'{scheme}://USER@HOST:PORT/DATABASE' for scheme in SERVERS)}"
    if not isinstance(table.get("url"), str):
        raise BadInput(f"{where}: {key}: has no url", form)
    try:
        url = urlsplit(table["url"])
        port = url.port
    except ValueError as error:
        raise BadInput(f"{where}: {key}.url: is no URL: {error}", form) from None
    family = families.of_word(url.scheme)
    if family is None or family.server_port is None:
        raise BadInput(f"{where}: {not_among(f'{key}.url: scheme', url.scheme, SERVERS)}", form)
    database = unquote(url.path.strip("/"))
    host = _host_of(f"{where}: {key}.url", url)
    for part, what in ((host, "host"), (url.username, "user"), (database, "database")):
        if not part:
            raise BadInput(f"{where}: {key}.url: names no {what}", form)
    if not family.server_schemas and "schema" in table:
        why = f"{family.products[0].title} has none: the URL's database is where tables go"
        raise BadInput(f"{where}: {key}.schema: {why}", "leave it out")
    name = key.partition(".")[2]
    password = unquote(url.password) if url.password else os.environ.get(f"ACIDTEST_PASSWORD_{name.upper()}")
    return {
        "family": family.name,
        "host": host,
        "port": port or family.server_port,
        "user": unquote(url.username or ""),
        "password": SecretStr(password) if password is not None else None,
        "database": database,
        "schema_name": table.get("schema"),
    }


WITHOUT_TLS = {"sslmode": ("disable", "allow", "prefer"), "ssl-mode": ("disabled", "preferred")}


def _host_of(where: str, url: SplitResult) -> str:
    """The host, or the socket, of a connection URL. Raises BadInput for what else the URL asks for."""
    parameters = parse_qs(url.query, keep_blank_values=True)
    for name, values in parameters.items():
        if len(values) > 1:
            raise BadInput(f"{where}: {name} stands there twice", "leave one out")
        if name in WITHOUT_TLS:
            if values[0].lower() not in WITHOUT_TLS[name]:
                raise BadInput(
                    f"{where}: {name}={values[0]}: acidtest connects without TLS",
                    f"write {name}={WITHOUT_TLS[name][0]} where the server takes that, or leave it out",
                )
        elif name != "host":
            raise BadInput(f"{where}: {name}: is no parameter that acidtest follows", "leave it out")
    if url.fragment:
        raise BadInput(
            f"{where}: #{url.fragment}: has no meaning in a connection URL", "write # as %23, or leave it out"
        )
    # As libpq has it: a socket cannot stand where a host does.
    return parameters.get("host", [url.hostname or ""])[0]


def _extent_overlay(table: dict[str, Any]) -> None:
    # A [quick] table that shortens a run by the other measure replaces it: 0 means "not this one".
    for key in EXTENTS:
        if table.get(key) == 0 and any(table.get(other) for other in EXTENTS if other != key):
            del table[key]


def _levels(where: str, factor: str, levels: Any, workloads: dict[str, Any]) -> list[dict[str, Any]]:
    key = f"factors.{factor}"
    if not isinstance(levels, list) or not levels:
        raise BadInput(f"{where}: {key}: found {_shown(levels)}, must be a list of at least one level")
    dotted = "." in factor
    if dotted:
        _settable(where, key, factor)
    known = factor in ALWAYS_FACTORS or factor in PARAMETERS or dotted
    result: list[dict[str, Any]] = []
    for position, level in enumerate(levels, start=1):
        at = f"{key}, level {position}"
        if isinstance(level, dict):
            _known_keys(where, at, level, ("name", "set", "value"))
            if not isinstance(level.get("name"), str) or not level["name"]:
                raise BadInput(f"{where}: {at}: a level written as a table needs a name", 'write { name = "...", ... }')
            settings = dict(_flat(_table(where, f"{at}.set", level.get("set", {}))))
            if "value" in level:
                if not known:
                    raise _unknown_factor(where, factor)
                settings[factor] = level["value"]
            elif known and factor not in settings:
                raise BadInput(f"{where}: {at}: has a name but no value", "write { name = ..., value = ... }")
            name = level["name"]
        else:
            if not known:
                raise _unknown_factor(where, factor)
            name, settings = _shown(level) if not isinstance(level, str) else level, {factor: level}
        for target, value in settings.items():
            _settable(where, at, target)
            if not isinstance(value, str | int | float | bool):
                raise BadInput(f"{where}: {at}: {target}: found {_shown(value)}, must be a single value")
        if "workload" in settings and settings["workload"] not in workloads:
            raise BadInput(
                f"{where}: {not_among(f'{at}: workload', str(settings['workload']), workloads)}",
                f"add a table [workload.{settings['workload']}] or mend the name",
            )
        result.append({"name": name, "set": settings})
    names = [level["name"] for level in result]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise BadInput(f'{where}: {key}: level "{twice}" stands twice', "name each level differently")
    return result


def _unknown_factor(where: str, factor: str) -> BadInput:
    allowed = (*ALWAYS_FACTORS, *PARAMETERS)
    near = nearest(factor, allowed)
    meant = f' (did you mean "{near}"?)' if near else ""
    return BadInput(
        f"{where}: factors.{factor}: no such factor{meant}; allowed: {', '.join(allowed)}, FAMILY.SETTING or place.KEY",
        'for a factor with a name of your own write its levels as { name = "...", set = { ... } }',
    )


def _settable(where: str, at: str, target: str) -> None:
    owner, _, setting = target.partition(".")
    if setting and owner == "place":
        if setting not in PLACE_KEYS:
            raise BadInput(f"{where}: {not_among(f'{at}: place', setting, PLACE_KEYS)}")
    elif setting:
        if owner not in FAMILIES:
            raise BadInput(f"{where}: {not_among(f'{at}: engine family', owner, (*FAMILIES, 'place'))}")
    elif target not in ALWAYS_FACTORS and target not in PARAMETERS:
        raise BadInput(f"{where}: {not_among(f'{at}: setting', target, (*ALWAYS_FACTORS, *PARAMETERS))}")


def _flat(table: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """``{firebird = {page_size = 1}}`` and ``{"firebird.page_size" = 1}`` say the same."""
    flat: list[tuple[str, Any]] = []
    for name, value in table.items():
        flat += _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else [(prefix + name, value)]
    return flat


def _excludes(where: str, excludes: Any, factors: dict[str, list[dict[str, Any]]]) -> list[dict[str, list[str]]]:
    if not isinstance(excludes, list):
        raise BadInput(f"{where}: exclude: found {_shown(excludes)}, must be [[exclude]] tables")
    result = []
    for position, entry in enumerate(excludes, start=1):
        table = _table(where, f"exclude {position}", entry)
        if not table:
            raise BadInput(f"{where}: exclude {position}: is empty", "name the factors and levels to leave out")
        result.append(
            {
                factor: [_level_name(where, f"exclude {position}", factor, one, factors) for one in _listed(levels)]
                for factor, levels in _flat(table)
            }
        )
    return result


def _base(where: str, base: Any, factors: dict[str, list[dict[str, Any]]]) -> dict[str, str]:
    return {
        factor: _level_name(where, "base", factor, level, factors)
        for factor, level in _flat(_table(where, "base", base))
    }


def _level_name(where: str, at: str, factor: str, level: Any, factors: dict[str, list[dict[str, Any]]]) -> str:
    if factor not in factors:
        raise BadInput(f"{where}: {not_among(f'{at}: factor', factor, factors)}")
    names = [known["name"] for known in factors[factor]]
    name = level if isinstance(level, str) else _shown(level)
    if name not in names:
        raise BadInput(f"{where}: {not_among(f'{at}: {factor}', name, names)}")
    return name


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _table(where: str, key: str, value: Any, hint: str = "") -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadInput(f"{where}: {key}: found {_shown(value)}, must be a table", hint)
    return dict(value)


def _known_keys(where: str, prefix: str, table: dict[str, Any], allowed: tuple[str, ...] | list[str]) -> None:
    problems = Problems()
    for key in table:
        if key not in allowed:
            at = f"{prefix}: key" if prefix else "key"
            problems.add(BadInput(f"{where}: {not_among(at, key, allowed)}"))
    problems.check()


def _workload_keys(where: str, key: str, kind: str, table: dict[str, Any]) -> None:
    """Refuse the keys that this kind of workload does not have, and say which ones do."""
    problems = Problems()
    own = tuple(BY_KIND[kind].model_fields)
    for name in table:
        if name not in own and (others := kinds_with(name)):
            has = f"{name} is a key of {', '.join(others)}, and this workload is {kind}"
            problems.add(BadInput(f"{where}: {key}: {has}", f'leave it out, or write kind = "{others[0]}"'))
    with problems.gather():
        _known_keys(where, key, {name: value for name, value in table.items() if not kinds_with(name)}, own)
    problems.check()


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _validate(where: str, plain: dict[str, Any]) -> Experiment:
    try:
        return Experiment.model_validate(plain, strict=True)
    except ValidationError as error:
        problems = Problems()
        for one in error.errors():
            problems.add(BadInput(f"{where}: {_said(one)}"))
        raise problems.together() from None


def _said(error: ErrorDetails) -> str:
    """One of pydantic's findings in our words."""
    where = error["loc"]
    if where[0] == "workload":
        where = (*where[:2], *where[3:])  # pydantic names the kind of a workload after its name
    key = ".".join(str(part) for part in where)
    value = _shown(error["input"])
    context = error.get("ctx", {})
    match error["type"]:
        case "missing":
            return f"{key}: is missing; add {key} = ..."
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
        case "string_pattern_mismatch":
            return f"{key}: found {value}, must be lower-case letters, digits, - and _"
        case "value_error":
            return f"{key}: {context['error']}"
        case _:
            return f"{key}: found {value}: {error['msg'][0].lower()}{error['msg'][1:]}"
