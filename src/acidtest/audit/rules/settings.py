"""Configurations: nobody's, or not the same on each side. Whether commits are kept is in ``durability``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from acidtest.audit import settings
from acidtest.audit.bench import Bench, Configuration, Setting, Side
from acidtest.audit.finding import Evidence, Found, rule
from acidtest.audit.rules.builds import INVESTIGATION, named

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
    return [one for one in side.configurations if one.kind != "databases.conf"]


def files(side: Side) -> list[Configuration]:
    """The same, as somebody has written them: what we have read back from an engine of ours is no file."""
    return [one for one in main(side) if one.kind != "settings in force"]


def held(side: Side, name: str) -> tuple[str | None, Evidence]:
    """What a setting is on a side, by its files or by the engine's default, and where that is seen.

    None where neither is known. The evidence of a default is the line that shows it in a comment, if there is one.
    """
    known = settings.of(side.engine).known.get(name)
    spelled = known.name if known else name
    if asked := side.in_force(name):
        return asked.setting.value, asked.setting.says()
    default = known.default(side.version) if known else None
    text = f"{spelled} is not set" + (f": {default} by default" if default is not None else "")
    all_ = main(side)
    comment = next((setting for one in all_ for setting in one.comments if setting.name == name), None)
    where = comment.where if comment else all_[0].where if all_ else None
    return (default if all_ else None), where.says(text) if where else Evidence(f"{side.name}: {text}")


def _tuned(side: Side) -> list[Setting]:
    """What is set to something else than the default and has to do with speed or safety."""
    engine = settings.of(side.engine)
    tuned = []
    for one in side.configurations:
        for setting in one.settings:
            known = engine.known.get(setting.name)
            if one.kind == "databases.conf" and known is None:
                continue  # a name of a database
            default = known.default(side.version) if known else None
            changed = default is None or settings.alike(default) != settings.alike(setting.value)
            if changed and not engine.neutral.fullmatch(setting.name):
                tuned.append(setting)
    return tuned


@rule(
    "settings-all-default",
    severity="doubtful",
    over=Bench,
    says="Nothing in the configuration has been set but ports, paths and the like: defaults are made to start "
    "anywhere, not to be compared.",
    remedy="Set caches, sorting, log and checkpoints for the machine, on each side with the same care.",
    source=INVESTIGATION,
    about="settings",
)
def settings_all_default(bench: Bench) -> Iterator[Found]:
    for side in bench.sides:
        written = files(side)
        if not written or _tuned(side):
            continue
        own = [one for file in written for one in file.settings]
        changed = ", ".join(sorted({one.written or one.name for one in own})[:8])
        evidence = [one.says() for one in own] or [written[0].where.says("sets nothing")]
        meant = []
        for name, known in settings.of(side.engine).known.items():
            default = known.default(side.version)
            if known.note and default is not None:
                meant.append(f"{known.name} = {default} ({known.means})")
                evidence.append(held(side, name)[1])
        text = f"{named(side)} runs with defaults: " + (f"only {changed} set." if changed else "nothing is set.")
        yield Found(text + (f" So {'; '.join(meant)}." if meant else ""), tuple(evidence))


@rule(
    "setting-differs",
    severity="doubtful",
    over=Bench,
    says="A setting differs between sides of one engine and is not what is compared.",
    remedy="Set it alike, or make it a factor.",
    source=INVESTIGATION,
    about="settings",
)
def setting_differs(bench: Bench) -> Iterator[Found]:
    engines: dict[str, list[Side]] = defaultdict(list)
    for side in bench.sides:
        if files(side):
            engines[side.engine or ""].append(side)
    for engine, sides in engines.items():
        neutral = settings.of(engine).neutral
        names = {one.name for side in sides for file in files(side) for one in file.settings}
        for name in sorted(names - ELSEWHERE - {factor.lower() for factor in bench.factors}):
            values = [(side, *held(side, name)) for side in sides]
            if neutral.fullmatch(name) or _unknown(engine, name, sides):
                continue
            if len({settings.alike(value) if value is not None else None for _, value, _ in values}) > 1:
                text = ", ".join(f"{value or 'not set'} in {side.name}" for side, value, _ in values)
                yield Found(f"{name} differs: {text}.", tuple(evidence for _, _, evidence in values))


def _unknown(engine: str, name: str, sides: list[Side]) -> bool:
    """Whether a side may be of a version that has no such setting."""
    known = settings.of(engine).known.get(name)
    return known is not None and any(known.default(side.version) is None for side in sides if side.version)


@rule(
    "binary-log-differs",
    severity="invalid",
    over=Bench,
    says="One side writes every change to a binary log too and another does not: a second log and a second flush.",
    remedy="Switch it on or off everywhere, or make it a factor.",
    source="MySQL's reference manual, The Binary Log; the study of commits on Windows and Linux set it alike",
    about="settings",
)
def binary_log_differs(bench: Bench) -> Iterator[Found]:
    sides = [(side, *log) for side in bench.sides if (log := binary_log(side)) is not None]
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
