"""The configuration and the logs of the server in question: audited, and its settings as they are in force."""

from __future__ import annotations

from collections.abc import Mapping

from acidtest.audit import importers, judge
from acidtest.audit import unchecked as kit
from acidtest.audit.bench import Side
from acidtest.audit.findings_output import each, in_short
from acidtest.audit.rules.builds import named
from acidtest.cli.diagnosing.subject import Course
from acidtest.conductor.imported_settings import Carried
from acidtest.families import of_word
from acidtest.finding import in_order
from acidtest.journal.diagnosis import Audited, FoundSetting, Logged
from acidtest.report import diagnosis as report
from acidtest.words import harmless

LOG_SILENT = frozenset(("checkpoint",))  # kinds of messages that are no trouble
SETTINGS_MAX = 500  # of one server, that are shown and carried


def audited(course: Course) -> tuple[Audited | None, Mapping[str, str]]:
    """What lies in the directory, and the settings in force of the server in question, by name."""
    directory = course.asked.config
    if directory is None:
        course.missing(report.CONFIGURATION, "--config DIR was not given")
        return None, {}
    course.say("The configuration and the logs are audited")
    bench = importers.read(directory)
    findings = in_order(judge.of_bench(bench))
    not_read = [f"{which}: {why}" for which, why in [*each(bench.broken), *in_short(bench.passed)]]
    not_read += [f"{name}: is of an unknown kind" for name in bench.unread]
    not_read += [f"{one.file}:{one.line}: was not understood: {one.text}" for one in bench.not_understood]
    of_family = [side for side in bench.sides if side.configurations and _fits(course, side)]
    if not of_family:
        whose = f" of {course.database.family}" if course.database else ""
        course.missing("settings in force", f"no configuration{whose} was understood in {directory}")
    elif len(of_family) > 1:
        names = ", ".join(named(side, bench.sides) for side in of_family[:5])
        course.missing(
            "settings in force", f"{directory} has those of several servers ({names}): name the directory of one"
        )
    side = of_family[0] if len(of_family) == 1 else None
    shown, found = _settings(side) if side else ([], {})
    if side and any(configuration.includes for configuration in side.configurations):
        course.missing("parts of the configuration", "it reads files that do not lie in the directory")
    log = [
        Logged(kind=one.kind, text=one.text, count=one.count, at=_at(one.where.file, one.where.line))
        for one in (entry for each in bench.sides for entry in each.log)
        if one.kind not in LOG_SILENT
    ]
    if not any(side.log for side in bench.sides) and not any("log" in kind for _, kind in bench.read):
        course.missing(report.LOG, f"no log of an engine was found in {directory}")
    answer = Audited(
        directory=str(directory.resolve()),
        engine=(side.engine or "") if side else "",
        version=side.version if side else "",
        settings=shown,
        findings=[finding.as_json() for finding in findings],
        log=log,
        read=len(bench.read),
        not_read=[harmless(one) for one in not_read],
        unchecked=[str(one) for one in kit.unchecked(bench)],
    )
    return answer, found


def _fits(course: Course, side: Side) -> bool:
    """Whether a configuration may be that of the database in question."""
    family = of_word(side.engine or "")
    return family is not None and (course.database is None or family.name == course.database.family)


def _settings(side: Side) -> tuple[list[FoundSetting], dict[str, str]]:
    """All settings of a server: as they are shown, and by name with the value in force."""
    names = dict.fromkeys(setting.name for of in side.configurations for setting in of.settings)
    shown: list[FoundSetting] = []
    found: dict[str, str] = {}
    for name in list(names)[:SETTINGS_MAX]:
        holds = side.in_force(name)
        if holds is None:
            continue
        one = holds.setting
        why = ""
        if holds.contested:
            others = ", ".join(_at(each.where.file, each.where.line) for each in holds.contested)
            why = f"it is set otherwise in {others}: which holds is not known"
        else:
            found[name] = one.value
        shown.append(
            FoundSetting(
                name=one.written or one.name,
                value=one.value,
                at=_at(one.where.file, one.where.line),
                overridden=[f"{_at(each.where.file, each.where.line)}: {each.value}" for each in holds.overridden],
                why_not=why,
            )
        )
    return shown, found


def with_ours(settings: list[FoundSetting], taken: Carried) -> list[FoundSetting]:
    """What became of each in the cells."""
    return [
        setting.model_copy(
            update={
                "ours": taken.as_ours.get(
                    setting.name.lower().replace("-", "_"), taken.as_ours.get(setting.name.lower(), "")
                ),
                "why_not": setting.why_not or taken.why_not.get(setting.name.lower().replace("-", "_"), ""),
            }
        )
        for setting in settings
    ]


def _at(file: str, line: int | None) -> str:
    return file if line is None else f"{file}:{line}"
