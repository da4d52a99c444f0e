"""Configurations: nobody's, or not the same on each side. Whether commits are kept is in ``durability``."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import PurePosixPath

from acidtest import settings
from acidtest.audit import disclosed, measured_sides, stores
from acidtest.audit.bench import Bench, Configuration, Setting, Side
from acidtest.audit.rules.builds import INVESTIGATION, named
from acidtest.finding import FAIR, Evidence, Found, listed, rule
from acidtest.words import counted

ENGINES_COMPARED = 2
LETTERS = "abcdefghijklmnopqrstuvwxyz_"
WHOLE_MIN = 10  # settings of a text that are a configuration and no excerpt
NAME_MIN = 8  # letters of a setting that a side is named after
TOLD_MAX = 6  # settings that a sentence names
CONFIGURED = (".cnf", ".conf", ".ini")  # how a folder of results ends that has the name of a configuration
NUMBERED_PAGE = re.compile(r"(?:^|/)\d{2,8}[^/]{0,80}\.(?:md|markdown|rst|adoc|txt|html?)$", re.IGNORECASE)

# What has rules of its own.
ELSEWHERE = frozenset(
    (
        "innodb_flush_log_at_trx_commit",
        "sync_binlog",
        "innodb_doublewrite",
        "log_bin",
        "skip_log_bin",
        "disable_log_bin",
        "fsync",
        "synchronous_commit",
        "full_page_writes",
        "readconsistency",
        "servermode",
        "innodb_flush_method",
        "filesystemcachesize",
        "usefilesystemcache",
        "filesystemcachethreshold",
    )
)


def main(side: Side) -> list[Configuration]:
    """The files that set what holds for the whole server."""
    return [configuration for configuration in side.configurations if configuration.kind != "databases.conf"]


def files(side: Side) -> list[Configuration]:
    """The same, as somebody has written them: what we have read back from an engine of ours is no file."""
    return [one for one in main(side) if one.kind != "settings in force"]


def held(side: Side, name: str) -> tuple[str | None, Evidence]:
    """What a setting is on a side, by what sets it or by the engine's default, and where that is seen.

    None where neither is known: nobody sets it and a part of the configuration is not in the kit, or it is set to
    several values, and nothing tells which holds. The evidence of a default is the line that shows it in a comment, if
    there is one.
    """
    known = settings.of(side.engine).known.get(name)
    if asked := side.in_force(name):
        if asked.contested:
            other = asked.contested[0]
            spelled = asked.setting.written or name
            place = f"{other.where.file}:{other.where.line}" if other.where.line else other.where.file
            return None, asked.setting.where.says(f"{spelled} = {asked.setting.value}, but {other.value} in {place}")
        return asked.setting.value, asked.setting.says()
    spelled = known.name if known else name
    default = known.default(side.version) if known and side.tells_all else None
    text = f"{spelled} is not set" + (f": {default} by default" if default is not None else "")
    all_ = main(side)
    comment = next((setting for one in all_ for setting in one.comments if setting.name == name), None)
    where = comment.where if comment else all_[0].where if all_ else None
    return default, where.says(text) if where else Evidence(f"{side.name}: {text}")


def _tuned(side: Side) -> bool:
    """Whether something is set to something else than the default and has to do with speed or safety."""
    engine = settings.of(side.engine)
    names = {
        setting.name
        for configuration in side.configurations
        for setting in configuration.settings
        # A dump has everything in it; the aliases of databases.conf are none of the engine's settings.
        if engine.has(setting.name) or (configuration.source != "dump" and configuration.kind != "databases.conf")
    }
    storage = side.in_force("default_storage_engine")
    uses_all = storage is not None and storage.setting.value.lower() != "innodb"
    for name in names:
        asked = side.in_force(name)
        if engine.idle.fullmatch(name) and not uses_all:
            continue
        known = engine.known.get(name)
        default = known.default(side.version) if known else None
        dumped = asked and asked.source == "dump"
        if asked is None or engine.neutral.fullmatch(name) or (dumped and default is None):
            continue
        if asked.contested or default is None or engine.alike(name, default) != engine.alike(name, asked.setting.value):
            return True
    return False


@rule(
    "settings-all-default",
    severity="doubtful",
    says="Nothing in the configuration has been set but ports, paths and the like: defaults are made to start "
    "anywhere, not to be compared.",
    remedy="Set caches, sorting, log and checkpoints for the machine, on each side with the same care.",
    disproved_by="a dump of the settings in force while it was measured, with other values",
    source=INVESTIGATION,
)
def settings_all_default(bench: Bench) -> Iterator[Found]:
    used = measured_sides.in_use(bench, bench.sides)
    # Of one engine alone the defaults are the same for all that is compared.
    engines = {side.engine for side in used} | {store for together in stores.compared(bench) for store in together}
    alone = len(engines) < ENGINES_COMPARED
    bare = [one for one in bench.said("as-it-comes") if one.text in engines - stores.set_otherwise(bench).keys()]
    if bare and not alone:
        titles = stores.titles(list(dict.fromkeys(one.text for one in bare)))
        evidence_ = tuple(one.where.says(f"nothing is set of {one.text}") for one in bare)
        yield Found(f"{titles} run with defaults: no command, variable or file sets anything.", evidence_)
    for side in used:
        written = files(side)
        if not written or not side.tells_all or _tuned(side):
            continue
        own = [setting for file in written for setting in file.settings if file.source != "dump"]
        changed = ", ".join(sorted({one.written or one.name for one in own})[:8])
        nothing = "holds nothing but defaults" if written[0].source == "dump" else "sets nothing"
        evidence = [one.says() for one in own] or [written[0].where.says(nothing)]
        meant = []
        for name, known in settings.of(side.engine).known.items():
            default = known.default(side.version)
            if known.note and default is not None:
                meant.append(f"{known.name} = {default} ({known.means})")
                evidence.append(held(side, name)[1])
        text = f"{named(side, bench.sides)} runs with defaults: " + (
            f"only {changed} set." if changed else "nothing is set."
        )
        yield Found(text + (f" So {'; '.join(meant)}." if meant else ""), tuple(evidence), noted=alone)


@rule(
    "settings-undisclosed",
    severity="note",
    says="Of something that was measured no file shows a setting: its caches and its promises may be any.",
    remedy="Keep beside the results what the server says of itself while it is measured: SHOW VARIABLES, pg_settings, "
    "RDB$CONFIG.",
    disproved_by="a configuration or a dump of what was measured",
    source="Hoefler and Belli, Scientific Benchmarking of Parallel Computing Systems (SC 2015), rule 9",
)
def settings_undisclosed(bench: Bench) -> Iterator[Found]:
    measured = disclosed.measured(bench)
    if not measured or disclosed.of_drives(bench):
        return
    results = [other for other in bench.others if not other.planned]
    held = [configuration for side in bench.sides for configuration in side.configurations]
    bases = tuple(f"{mark}{PurePosixPath(side.where.file).name}" for side in held for mark in "-_/")
    absent: dict[str, Evidence] = {}
    for result in results:
        for name in (part for part in PurePosixPath(result.where.file).parts[:-1] if part.endswith(CONFIGURED)):
            if not any(f"/{name}" in f"/{of.where.file}" for of in held) and not f"/{name}".endswith(bases):
                absent.setdefault(name, result.where.says(f"a result that is named after {name}"))
    known = {side.engine for side in bench.sides if side.configurations}
    known |= {*stores.set_otherwise(bench), *stores.started(bench)}
    compared = {store: said for together in stores.compared(bench) for store, said in together.items()}
    folders = {measured_sides.top(side.where.file) for side in held} or {""}
    apart = {measured_sides.top(result.where.file): result.where.says("a result") for result in results}
    if absent:
        yield Found(
            f"Results are named after configurations that the kit lacks: {listed(absent)}.", tuple(absent.values())
        )
    elif not held and not known:
        yield Found("No file shows a setting of what was measured.", tuple(measured))
    elif bare := [one for one in compared if one not in known]:
        said_of = {(one, said.file): said for one in bare for said in compared[one]}
        evidence = (*said_of.values(), *(side.where.says("settings") for side in held))
        yield Found(f"No file shows a setting of {stores.titles(bare)}.", tuple(dict.fromkeys(evidence)))
    elif folders <= apart.keys() - {""} and (others := [one for one in apart if one not in folders | {""}]):
        evidence = (*(apart[other] for other in others), *(side.where.says("settings") for side in held))
        yield Found(f"The results in {listed(others)} have no settings beside them, as others have.", evidence)


@rule(
    "setting-differs",
    severity="doubtful",
    says="A setting differs between sides of one engine and is not what is compared.",
    remedy="Set it alike, or make it a factor.",
    disproved_by="a dump of the settings in force while it was measured, or a text that makes it a factor",
    source=FAIR,
)
def setting_differs(bench: Bench) -> Iterator[Found]:
    engines: dict[tuple[str, str], list[Side]] = defaultdict(list)
    for side in measured_sides.measured(bench):
        if files(side):
            # Each of numbered texts is a study of its own.
            text = side.name if NUMBERED_PAGE.search(side.name) else ""
            engines[side.engine or "", text].append(side)
    for (engine, _), sides in engines.items():
        differing = [one for name in _names(engine, sides, bench) if (one := _differs(engine, name, sides))]
        evidence = tuple(said for _, said_of_it in differing for said in said_of_it)
        if len(differing) == 1:
            yield Found(differing[0][0].replace(" (", " differs: ", 1).removesuffix(")") + ".", evidence)
        elif differing:
            more = f"; and {len(differing) - TOLD_MAX:,} more" if len(differing) > TOLD_MAX else ""
            told = "; ".join(text for text, _ in differing[:TOLD_MAX])
            yield Found(f"{counted(len(differing), 'setting differs', 'settings differ')}: {told}{more}.", evidence)
        yield from _by_default(engine, sides)
        for side in sides:
            yield from _within(engine, side)


def _by_default(engine: str, sides: list[Side]) -> Iterator[Found]:
    """What nobody sets, and is not the same by default in the versions that are compared."""
    of = settings.of(engine)
    whole = [side for side in sides if side.tells_all and side.version]
    told, evidence = [], []
    for known in of.known.values():
        held_ = [(side, known.default(side.version) or "") for side in whole]
        unlike = len({of.alike(known.name, default) for _, default in held_}) > 1
        if unlike and all(default for _, default in held_) and not any(side.in_force(known.name) for side in sides):
            told.append(f"{known.name} ({', '.join(f'{default} in {side.version}' for side, default in held_)})")
            for side, default in held_:
                where = next(
                    (configuration for configuration in side.configurations if configuration.version),
                    side.configurations[0],
                ).where
                evidence.append(where.says(f"version {side.version}: {known.name} = {default} by default"))
    if told:
        yield Found(f"By default {'; '.join(told)}: nothing sets it.", tuple(dict.fromkeys(evidence)), noted=True)


@rule(
    "no-difference-in-settings",
    severity="note",
    says="Of two configurations that are compared one is named after a setting, and both set the same.",
    remedy="Set what is to be compared, and show with a dump that it was in force.",
    disproved_by="a dump of the settings in force while it was measured that shows a difference",
    source="Hoefler and Belli, Scientific Benchmarking of Parallel Computing Systems (SC 2015), rule 9",
)
def no_difference_in_settings(bench: Bench) -> Iterator[Found]:
    sides = [
        side for side in measured_sides.measured(bench) if sum(len(file.settings) for file in files(side)) >= WHOLE_MIN
    ]
    for side in sides:
        low, engine = side.name.lower(), side.engine or ""
        meant = next((one for one in side.set_anywhere if len(one) >= NAME_MIN and one in low), None)
        others = [one for one in sides if one is not side and (one.engine, one.version) == (engine, side.version)]
        for other in others if meant else ():
            names = (
                one
                for one in (*side.set_anywhere, *other.set_anywhere)
                if not settings.of(engine).neutral.fullmatch(one)
            )
            if not any(_differs(engine, name, [side, other]) for name in names):
                evidence = tuple(held(one, meant or "")[1] for one in (side, other))
                yield Found(f"{side.name} is named after {meant}, and sets nothing else than {other.name}.", evidence)
                break


def _within(engine: str, side: Side) -> Iterator[Found]:
    """Whole configurations in one text that differ: it tells of more than one."""
    of = settings.of(engine)
    whole = [
        configuration
        for configuration in side.configurations
        if configuration.prose and len(configuration.settings) >= WHOLE_MIN
    ]
    for one, other in pairwise(whole):
        if one.where.file == other.where.file and one.kind == other.kind:
            pairs = [(mine, theirs) for mine in one.settings if (theirs := other.get(mine.name))]
            differing = [(mine, theirs) for mine, theirs in pairs if _apart(of, mine, theirs)]
            if differing:
                text = "; ".join(
                    f"{mine.name} ({mine.value} and {theirs.value})" for mine, theirs in differing[:TOLD_MAX]
                )
                evidence = tuple(each.says() for pair in differing for each in pair)
                yield Found(f"Two configurations in {one.where.file} differ: {text}.", evidence, noted=True)


def _apart(of: settings.Engine, one: Setting, other: Setting) -> bool:
    return not of.neutral.fullmatch(one.name) and of.alike(one.name, one.value) != of.alike(one.name, other.value)


def _names(engine: str, sides: list[Side], bench: Bench) -> list[str]:
    """What is set on one of the sides and may matter."""
    of = settings.of(engine)
    names = {
        setting.name
        for side in sides
        for file in files(side)
        for setting in file.settings
        if file.source != "dump" or of.has(setting.name)
    }
    names -= ELSEWHERE | {factor.lower() for factor in bench.factors}
    return sorted(name for name in names if not of.neutral.fullmatch(name) and not _unknown(engine, name, sides))


def _differs(engine: str, name: str, sides: list[Side]) -> tuple[str, tuple[Evidence, ...]] | None:
    """What a setting is on each side and where that is seen, if it is not the same."""
    # Where the configuration is not whole, what is not set may be set in what is missing.
    values = [(side, *held(side, name)) for side in sides]
    told = [value for value in values if value[1] is not None or (value[0].tells_all and not value[0].in_force(name))]
    of = settings.of(engine)
    if len({of.alike(name, value) if value is not None else None for _, value, _ in told}) < 2:
        return None
    text = ", ".join(f"{value or 'not set'} in {side.name}" for side, value, _ in told)
    return f"{_spelled(name, sides, of)} ({text})", tuple(evidence for _, _, evidence in told)


def _spelled(name: str, sides: list[Side], of: settings.Engine) -> str:
    """A setting's name as the manual writes it, or else as somebody has written it."""
    asked = (asked.setting.written for side in sides if (asked := side.in_force(name)))
    return of.known[name].name if name in of.known else next(asked, "") or name


def _unknown(engine: str, name: str, sides: list[Side]) -> bool:
    """Whether a side may be of a version that has no such setting."""
    known = settings.of(engine).known.get(name)
    return known is not None and any(known.default(side.version) is None for side in sides if side.version)


@rule(
    "settings-told-differ",
    severity="note",
    says="A text tells another value of a setting than the kit's own files set.",
    remedy="Tell what the server says of itself while it is measured.",
    disproved_by="a dump of the settings in force while it was measured, with the value that is told",
    source="Hoefler and Belli, Scientific Benchmarking of Parallel Computing Systems (SC 2015), rule 9",
)
def settings_told_differ(bench: Bench) -> Iterator[Found]:
    for side in measured_sides.measured(bench):
        of = settings.of(side.engine)
        for name in sorted(
            {setting.name for held_ in side.configurations if held_.prose for setting in held_.settings}
        ):
            asked = side.in_force(name)
            if asked is None or asked.contested or asked.setting.where.file in bench.texts:
                continue
            told = [one for one in asked.overridden if one.where.file in bench.texts]
            if told and all(_apart(of, one, asked.setting) for one in told):
                values = f"{told[0].value} is told, {asked.setting.value} is set"
                text = f"{_spelled(name, [side], of)} of {side.name}: {values}."
                yield Found(text, (*(one.says() for one in told), asked.setting.says()))


@rule(
    "setting-unknown",
    severity="doubtful",
    says="A configuration sets what its engine does not know: a server that is started with it ends with an error.",
    remedy="Write the name as the manual has it, and keep what the server says of itself beside the results.",
    disproved_by="a dump of the settings in force that has this name",
    source="PostgreSQL's manual, Setting Parameters: an unrecognized parameter is an error",
)
def setting_unknown(bench: Bench) -> Iterator[Found]:
    of = settings.of("postgresql")
    seen: dict[Setting, str] = {}
    for one in (configuration for side in bench.sides for configuration in side.configurations):
        if one.kind == "postgresql.conf" and one.source == "file" and not one.prose:
            seen |= {said: meant for said in one.settings if (meant := _meant(of, said.name))}
    for said, meant in seen.items():
        yield Found(f"PostgreSQL has no setting {said.name}; there is {meant}.", (said.says(),))


def _meant(of: settings.Engine, name: str) -> str:
    """The setting that a name misses by one letter which is left out, added or another; "" of one that is known."""
    if of.has(name) or of.neutral.fullmatch(name):
        return ""
    spelled = {one for one in f"{of.names.pattern}|{of.neutral.pattern}".split("|") if re.fullmatch(r"[a-z_]{8,}", one)}
    halves = [(name[:at], name[at:]) for at in range(len(name) + 1)]
    near = (left + letter + right[more:] for left, right in halves for letter in ("", *LETTERS) for more in (0, 1))
    return next((one for one in near if one in spelled or one in of.known), "")


@rule(
    "settings-of-run-unknown",
    severity="doubtful",
    says="Several configurations of one engine lie in the kit, and nothing shows with which of them any result was "
    "measured.",
    remedy="Lay each result beside the configuration that it was measured with, or write down what was in force.",
    disproved_by="a dump of the settings in force, or a name by which results and configurations belong together",
    source="Hoefler and Belli, Scientific Benchmarking of Parallel Computing Systems (SC 2015), rule 9",
)
def settings_of_run_unknown(bench: Bench) -> Iterator[Found]:
    for sides in measured_sides.alternatives(bench):
        engine = sides[0].engine or ""
        differing = [one for name in _names(engine, sides, bench) if (one := _differs(engine, name, sides))]
        if differing:
            names = listed(side.name for side in sides)
            text = f"No result tells with which of {names} it was measured; they differ in {differing[0][0]}"
            more = f" and {counted(len(differing) - 1, 'more setting')}" if len(differing) > 1 else ""
            yield Found(f"{text}{more}.", tuple(said for _, said_of_it in differing for said in said_of_it))


@rule(
    "binary-log-differs",
    severity="doubtful",
    says="One side writes every change to a binary log too and another does not: a second log and a second flush.",
    remedy="Switch it on or off everywhere, or make it a factor.",
    disproved_by="SHOW VARIABLES of the measured servers, with log_bin alike",
    source="MySQL's reference manual, The Binary Log; the study of commits on Windows and Linux set it alike",
)
def binary_log_differs(bench: Bench) -> Iterator[Found]:
    sides = [(side, *log) for side in measured_sides.measured(bench) if (log := binary_log(side)) is not None]
    if "log_bin" not in bench.factors and len({on for _, on, _ in sides}) > 1:
        names = {wanted: ", ".join(side.name for side, on, _ in sides if on is wanted) for wanted in (True, False)}
        yield Found(
            f"The binary log is on in {names[True]}; and off in {names[False]}.",
            tuple(evidence for _, _, evidence in sides),
        )


def binary_log(side: Side) -> tuple[bool, Evidence] | None:
    """Whether MySQL or MariaDB writes one; None where that is not known."""
    if side.engine not in ("mysql", "mariadb"):
        return None
    for off in ("skip_log_bin", "disable_log_bin"):
        if setting := next(side.settings(off), None):
            return False, setting.where.says(off)
    value, evidence = held(side, "log_bin")
    # The value may be the log's name.
    return None if value is None else (settings.alike(value) != "off", evidence)
