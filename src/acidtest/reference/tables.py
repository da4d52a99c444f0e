"""Gathers every key from where it is defined: models, engines' settings, and the rules by which keys have an effect."""

from __future__ import annotations

import typing
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import chain
from types import NoneType
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from acidtest.engine import DURABILITY_LEVELS, Engine, SettingSpec, catalogue
from acidtest.engine.foreign import Address, ForeignServer
from acidtest.errors import BadInput
from acidtest.experiment import Experiment, GrowthSpec, LoadSpec, PlaceSpec, ProgramLevel, ProgramSpec, SearchSpec
from acidtest.experiment.places import KEYS_OF_KIND, NEEDS, OF_CUTS, OF_MEMORY, RAW
from acidtest.experiment.reader import ALWAYS_FACTORS
from acidtest.experiment.short_forms import BuildForm, LevelForm, ServerForm, TopForm
from acidtest.families import FAMILIES, PRODUCTS
from acidtest.filesystems import FILESYSTEMS
from acidtest.journal.models import Scalar
from acidtest.keys import FIRST_VERSION, Form, Since, Unit, Unset
from acidtest.plan.effect import DRIVING as DRIVING_NEEDS
from acidtest.reference.key import Allowed, Key, Table, plain
from acidtest.workload import (
    BY_KIND,
    DRIVING,
    KINDS,
    OF_TABLES,
    PARAMETERS,
    GrowingWorkload,
    Stage,
    TerminalClass,
    WorkloadSpec,
    keys_of,
)

NAME = "NAME"  # in a path: whatever the user calls it
# Keys of ``[program]`` and those without which they are refused.
OF_SERVERS = {"start": ("ready",), "ready": ("start",), "stop": ("start",)}
Meta = typing.TypeVar("Meta")


@cache
def tables() -> tuple[Table, ...]:
    """Every table of an experiment's file, in the order in which they are told."""
    return (
        _top(),
        _of_model(("factors", NAME), LevelForm, "A level is a plain value, or a table with these keys."),
        _driving(),
        _of_model(("workload", NAME, "stages"), Stage, _first_line(Stage), "LOAD.md"),
        _classes(),
        *map(_workload, KINDS),
        *map(_settings, FAMILIES),
        _place(),
        _of_model(("growth",), GrowthSpec, _said(Experiment, "growth"), "GROWTH.md"),
        _of_model(("search",), SearchSpec, _said(Experiment, "search"), "SEARCH.md"),
        _of_model(("load",), LoadSpec, _said(Experiment, "load"), "FLEET.md", needs={"machines": ("--fleet",)}),
        _of_model(("program",), ProgramSpec, _said(Experiment, "program"), "YOUR-PROGRAM.md", needs=OF_SERVERS),
        _of_model(("program", "durability", NAME), ProgramLevel, "A durability level of a program.", "YOUR-PROGRAM.md"),
        _of_model(("servers", NAME), ServerForm, _said(Experiment, "servers"), "ENGINES.md"),
        _of_model(
            ("engines", NAME),
            BuildForm,
            _said(Experiment, "engines"),
            "ENGINES.md",
            needs={"mode": ('family = "firebird"',)},
            allowed={"family": Allowed(tuple(PRODUCTS))},
        ),
    )


def keys() -> Iterator[Key]:
    """Every key of every table."""
    return chain.from_iterable(table.keys for table in tables())


# ---------------------------------------------------------------------------------------------- the tables


def _of_model(
    path: tuple[str, ...],
    model: type[BaseModel],
    says: str,
    *pages: str,
    needs: Mapping[str, tuple[str, ...]] = {},  # by key
    allowed: Mapping[str, Allowed] = {},
) -> Table:
    made = [
        _key((*path, name), field, allowed=allowed.get(name), needs=needs.get(name, ()))
        for name, field in _written(model).items()
    ]
    return Table(path, says, tuple(made), pages)


def _top() -> Table:
    fields = {**_written(Experiment), **_written(TopForm)}
    allowed = {"engine": Allowed(catalogue.known()), "durability": Allowed(DURABILITY_LEVELS)}
    needs = {"durability": _lacking_levels()}
    made = [
        _key(
            (name,),
            field,
            allowed=allowed.get(name),
            needs=needs.get(name, ()),
            factor=name if name in ALWAYS_FACTORS else "",
        )
        for name, field in fields.items()
    ]
    made.sort(key=lambda key: "table" in key.type)  # stable
    return Table((), "A file begins with these keys; those that are tables come after all others.", tuple(made))


def _driving() -> Table:
    fields = WorkloadSpec.model_fields
    made = [_key(("workload", NAME, "kind"), fields["kind"], allowed=Allowed(KINDS))]
    for name in DRIVING:
        needs = (DRIVING_NEEDS[name].needs,) if name in DRIVING_NEEDS else ()
        unset = _extents() if name == "count" else ""
        made.append(
            _key(
                ("workload", NAME, name),
                fields[name],
                needs=needs,
                unset=unset,
                factor=name if name in PARAMETERS else "",
            )
        )
    says = "Every workload has these keys; duration_s or count must be among them."
    return Table(("workload", NAME), says, tuple(made), ("WORKLOADS.md",))


def _classes() -> Table:
    made = [_key(("workload", NAME, "classes", name), field) for name, field in TerminalClass.model_fields.items()]
    for kind, spec in BY_KIND.items():
        own = typing.get_args(spec.model_fields["classes"].annotation)[0]
        more = [name for name in own.model_fields if name not in TerminalClass.model_fields]
        made += [_key(("workload", NAME, "classes", name), own.model_fields[name], workloads=(kind,)) for name in more]
    return Table(("workload", NAME, "classes"), "Terminals that are alike.", tuple(made), ("LOAD.md",))


def _workload(kind: str) -> Table:
    spec = BY_KIND[kind]
    made = []
    own = {name: field for name, field in keys_of(kind).items() if name != "kind" and name not in DRIVING}
    for name, field in own.items():
        needs = [f"an engine with stored procedures (not {', '.join(_without_procedures())})"]
        grown = ""
        if not _asks_for_procedures(spec, name):
            needs = []
        needs += [str(spec.NEEDS[name])] if name in spec.NEEDS else []
        if issubclass(spec, GrowingWorkload):
            needs += ["no [growth], whose sizes say how many"] if name == spec.UNIT_OF_SIZE else []
            grown = f"{plain(spec.GROWN_DEFAULTS[name])} with [growth]" if name in spec.GROWN_DEFAULTS else ""
        path = ("workload", kind, name)
        factor = name if name in PARAMETERS else f"{name}.NAME" if name in OF_TABLES else ""
        made.append(_key(path, field, workloads=(kind,), needs=tuple(needs), unset=grown, factor=factor))
    return Table(("workload", kind), _first_line(spec), tuple(made), (f"WORKLOADS.md#{kind}",))


def _place() -> Table:
    fields = PlaceSpec.model_fields
    allowed = {"filesystem": Allowed((*FILESYSTEMS, RAW))}
    made = []
    for name, field in fields.items():
        having = [kind for kind, known in KEYS_OF_KIND.items() if name in known]
        made.append(
            _key(
                ("place", name),
                field,
                allowed=allowed.get(name),
                places=() if len(having) == len(KEYS_OF_KIND) else tuple(having),
                needs=_kinds() if name == "kind" else (*map(str, NEEDS.get(name, ())), *_commands(name)),
                factor=f"place.{name}",
            )
        )
    says = f"{_said(Experiment, 'place')} A server by URL keeps its databases where it has them."
    pages = ("PLACES.md", "ACCESS-HINTS.md", "SIMULATED-DISK.md", "POWER-CUTS.md", "GUEST.md")
    return Table(("place",), says, tuple(made), pages)


def _settings(family: str) -> Table:
    engines = [engine for engine in _engines() if engine.family == family]
    server = _server_by_url(family)
    specs: dict[str, dict[str, SettingSpec]] = {}  # name -> engine -> what that engine says of it
    for engine in engines:
        for name, spec in engine.setting_specs().items():
            specs.setdefault(name, {})[engine.id] = spec
    made = [_setting(family, of, len(of) == len(engines), server) for of in specs.values()]
    products = " and ".join(product.title for product in FAMILIES[family].products)
    says = f"All engines of the family are run with these settings of {products}."
    if server:
        says += " A server by URL is not changed: it must have them."
    return Table(("settings", family), says, tuple(made), ("ENGINES.md", "DURABILITY.md"))


# ---------------------------------------------------------------------------------------------- one key


def _key(
    path: tuple[str, ...], field: FieldInfo, *, allowed: Allowed | None = None, unset: str = "", **facts: Any
) -> Key:
    """The key of a model's field, with other ``facts`` of Key; ``unset`` is said beside what the field says of it."""
    unit, form, words, since = _meta(field, Unit), _meta(field, Form), _meta(field, Unset), _meta(field, Since)
    default = field.default if isinstance(field.default, str | int | float | bool) else None
    missing = words.words if words else "must be given" if field.is_required() else ""
    return Key(
        path=path,
        name=".".join(path),
        says=field.description or "",
        type=_type(field.annotation),
        default=None if words else default,
        since=since.version if since else FIRST_VERSION,
        unit=unit.name if unit else "",
        unset="; ".join(filter(None, (missing, unset))),
        form=form.words if form else "",
        allowed=(allowed,) if allowed else _allowed(field),
        **facts,
    )


def _setting(family: str, of: Mapping[str, SettingSpec], everywhere: bool, server: ForeignServer | None) -> Key:
    """A setting of a family, by what each engine says of it."""
    first = next(iter(of.values()))
    ranges: dict[Allowed, list[str]] = {}
    defaults: dict[str, list[str]] = {}
    for engine, spec in of.items():
        ranges.setdefault(Allowed(spec.allowed or (), spec.minimum, spec.maximum), []).append(engine)
        defaults.setdefault(spec.unset if spec.default is None else plain(spec.default), []).append(engine)
    allowed = [
        replace(one, engines=() if len(ranges) == 1 else tuple(engines))
        for one, engines in ranges.items()
        if set(ranges) != {Allowed((True, False))}  # the type says it
    ]
    if first.by_level:
        unset = "follows from durability"
    elif len(defaults) > 1:
        unset = "; ".join(f"{default} ({', '.join(engines)})" for default, engines in defaults.items())
    else:
        unset = first.unset if first.default is None else ""
    return Key(
        path=("settings", family, first.name),
        name=f"{family}.{first.name}",
        says=first.doc,
        type=_type_of(tuple(chain.from_iterable(spec.allowed or () for spec in of.values()))),
        default=None if unset else first.default,
        since=first.since,
        unit=first.unit.name if first.unit else "",
        unset=unset,
        allowed=tuple(allowed),
        engines=() if everywhere else tuple(of),
        by_url=_can_be_demanded(server, first) if server else None,
        factor=f"{family}.{first.name}",
    )


def _meta(field: FieldInfo, kind: type[Meta]) -> Meta | None:
    return next((one for one in field.metadata if isinstance(one, kind)), None)


def _allowed(field: FieldInfo) -> tuple[Allowed, ...]:
    words = [word for one in _without_none(field.annotation) for word in typing.get_args(one)]
    if words and typing.get_origin(_without_none(field.annotation)[0]) is typing.Literal:
        return (Allowed(tuple(words)),)
    low, above, high = (
        next((getattr(one, word) for one in field.metadata if hasattr(one, word)), None) for word in ("ge", "gt", "le")
    )
    return () if (low, above, high) == (None, None, None) else (Allowed((), low, high, above),)


def _without_none(annotation: Any) -> list[Any]:
    if typing.get_origin(annotation) in (typing.Literal, dict, list):
        return [annotation]
    return [argument for argument in typing.get_args(annotation) or (annotation,) if argument is not NoneType]


def _type(annotation: Any) -> str:
    """What a file holds there: "whole number", "list of texts"."""
    kinds = _without_none(annotation)
    if len(kinds) > 1:
        return "text, number, true or false"
    (kind,) = kinds
    match typing.get_origin(kind):
        case typing.Literal:
            return _type_of(typing.get_args(kind))
        case origin if origin in (list, Sequence):
            of = typing.get_args(kind)[0]
            return "list of texts" if of is str else "list of tables"
        case origin if origin is dict or (isinstance(kind, type) and issubclass(kind, BaseModel)):
            return "table"
    return {str: "text", int: "whole number", float: "number", bool: "true or false"}[kind]


def _type_of(values: Sequence[Scalar]) -> str:
    """Of a key that takes these values; without any, of one that takes a range of whole numbers."""
    names = {bool: "true or false", int: "whole number", str: "text"}
    return ", ".join(dict.fromkeys(names[type(value)] for value in values)) or "whole number"


def _written(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """The fields that a file has, by the names that it has for them."""
    return {field.alias or name: field for name, field in model.model_fields.items() if not field.exclude}


def _said(model: type[BaseModel], name: str) -> str:
    return model.model_fields[name].description or ""


def _first_line(documented: type) -> str:
    return (documented.__doc__ or "").strip().partition("\n")[0]


def _commands(key: str) -> list[str]:
    """Of a key of ``[place]``: the command without which it has no effect."""
    return ["acidtest run"] if key in OF_MEMORY else ["acidtest powercut"] if key in OF_CUTS else []


# ---------------------------------------------------------------------------------------------- engines


@cache
def _engines() -> tuple[Engine, ...]:
    return tuple(map(catalogue.describe, catalogue.known()))


def _without_procedures() -> list[str]:
    return [engine.id for engine in _engines() if not engine.has_procedures]


def _lacking_levels() -> tuple[str, ...]:
    """Which engines do not have a level of durability."""
    lacking = {
        level: [engine.id for engine in _engines() if level not in engine.durability_levels()]
        for level in DURABILITY_LEVELS
    }
    return tuple(f'"{level}": not {", ".join(engines)}' for level, engines in lacking.items() if engines)


def _kinds() -> tuple[str, ...]:
    """Which engines a kind of place takes, of those that do not take all."""
    raw = [engine.id for engine in _engines() if engine.on_raw_device]
    guest = [engine.id for engine in _engines() if engine.embedded]
    return f'"raw": only {", ".join(raw)}', f'"guest", "machine": only {", ".join(guest)}'


def _extents() -> str:
    """How much workloads are measured for that need neither duration_s nor count."""
    counts = {}
    for kind, spec in BY_KIND.items():
        with suppress(ValidationError):
            counts[kind] = spec.model_validate({}).count
    return ", ".join(f"{count} of {kind}" for kind, count in counts.items())


def _asks_for_procedures(spec: type[WorkloadSpec], name: str) -> bool:
    """Whether the key, set to true, asks for stored procedures."""
    if spec.model_fields[name].annotation is not bool:
        return False
    with suppress(ValidationError):  # one that needs a file of the user's runs what that says
        return spec.model_validate({"count": 1, name: True}).needs_procedures()
    return False


def _server_by_url(family: str) -> ForeignServer | None:
    address = Address(host="h", port=1, user="u", password=None, database="d", schema=None)
    return catalogue.server("mine", family, address) if family in catalogue.SERVERS else None


def _can_be_demanded(server: ForeignServer, spec: SettingSpec) -> bool:
    value = spec.allowed[0] if spec.allowed else spec.minimum
    try:
        server.check_settings({spec.name: value})
    except BadInput:
        return False
    return True
