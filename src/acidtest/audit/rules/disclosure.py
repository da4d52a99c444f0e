"""What a benchmark does not tell, so that nobody can judge or repeat it: machine, settings, versions, results."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

from acidtest.audit.bench import Bench, Published, Statement
from acidtest.audit.compared import product
from acidtest.audit.repeated import DRIVE_TOOLS
from acidtest.audit.said import and_more
from acidtest.families import PRODUCTS
from acidtest.finding import Evidence, Found, rule
from acidtest.words import counted

DISCLOSE = "B. Schwartz et al., High Performance MySQL, chapter 2: what a benchmark has to document"
REPRODUCE = "ACM, Artifact Review and Badging: what others need to repeat a result"
LOOPBACK = re.compile(
    r"(?<![\w.])(?:127\.0\.0\.1|localhost|\[?::1\]?|/(?:var/)?(?:run|tmp)/[\w./-]*(?:sock|postgresql)\w*)"
)
RESULTS = re.compile(r"result|output|dump|\.(?:log|csv|out)", re.IGNORECASE)
PROSE = re.compile(r"\.(?:md|markdown|rst|adoc)$|(?:^|/)readme[^/]*$", re.IGNORECASE)
SUMMARY = re.compile(r"\.(?:summary|res|out|log)$", re.IGNORECASE)
PICTURES_MIN = 2
FIGURE = re.compile(r"\d")
QUOTED = 200  # files of each sort
VERSIONS_TOLD = 5


def _texts(bench: Bench) -> list[Evidence]:
    return [one.where.says("a text of the kit") for one in bench.said("text")]


def _results(bench: Bench) -> list[Evidence]:
    """Whatever holds figures, one of each file: what tools printed, what somebody wrote down, what nobody parsed."""
    files: dict[str, Evidence] = {}
    for one in bench.others:
        if not one.planned:
            files.setdefault(one.where.file, one.where.says(f"a result{f' of {one.tool}' if one.tool else ''}"))
    for said in bench.not_understood:
        if "settings" not in said.text:
            files.setdefault(said.file, Evidence("figures", said.file, said.line))
    for sentence in bench.sentences:
        files.setdefault(sentence.where.file, sentence.where.says(sentence.text))
    return list(files.values())


def _told(bench: Bench) -> list[Evidence]:
    """The texts, then the results: where something would have to be disclosed."""
    by_file = {one.file: one for one in reversed([*_texts(bench), *_results(bench)])}
    return list(reversed(by_file.values()))


def _all(said: Sequence[Statement]) -> str:
    more = and_more(len(said) - 1, "line", before="the like on ")
    return f"{said[0].text}{more}"


@rule(
    "machine-undisclosed",
    severity="note",
    over=Bench,
    says="No file of the kit names the processor of the machine that was measured, or how many it has.",
    remedy="Name processor, cores, memory and drive, or the kind of the cloud's machine, of server and client.",
    disproved_by="a file or a picture that names it in words that are not known here",
    source=DISCLOSE,
    about="place",
)
def machine_undisclosed(bench: Bench) -> Iterator[Found]:
    told = [*_told(bench), *_started(bench)]
    if not _shows_something(bench) or not told or bench.said("machine"):
        return
    machines = bench.declared.machines if bench.declared else ()
    if not any(not fact.name.startswith("memory") for one in machines for fact in one.facts):
        yield Found("No file of the kit names a processor, cores or the kind of a machine.", tuple(told), "guessed")


def _shows_something(bench: Bench) -> bool:
    tabled = any(FIGURE.search(cell) for row in bench.rows for cell in row.cells[1:])
    planned = any(one.planned for one in bench.published)
    return bool(_results(bench) or bench.said("picture elsewhere") or (tabled and planned))


def _started(bench: Bench) -> list[Evidence]:
    """The scripts and configurations that it ran with, and the files of its results, where no text says on what."""
    plans = [one.where.says(f"{one.tool} is started here") for one in bench.plans]
    configured = [one.where.says("a configuration") for side in bench.sides for one in side.configurations]
    read = [Evidence(kind, name) for name, kind in bench.read if kind != "text"]
    read += [Evidence("a result", name) for name in bench.unread if SUMMARY.search(name)]
    return list({one.file: one for one in (*read[:QUOTED], *configured[:QUOTED], *plans[:QUOTED])}.values())


@rule(
    "settings-undisclosed",
    severity="note",
    over=Bench,
    says="No file of the kit names a setting of the engines that were measured: caches and flushes are not known.",
    remedy="Put the configuration in force beside the results, or state that it is the default of a version.",
    disproved_by="a file that states them in words that are not known here",
    source=DISCLOSE,
    about="settings",
)
def settings_undisclosed(bench: Bench) -> Iterator[Found]:
    if _results(bench) and of_engines(bench) and not (names_settings(bench) or bench.said("server")):
        yield Found("No file of the kit names a setting of an engine.", tuple(_told(bench)), "guessed")


def of_engines(bench: Bench) -> bool:
    """Whether it is of engines, and not of drives alone."""
    if bench.published and all(one.tool in DRIVE_TOOLS for one in bench.published):
        return False
    return bool(bench.sides or bench.said("engine"))


def names_settings(bench: Bench) -> bool:
    """Whether any file of the kit tells what some setting is."""
    configured = any(one.settings for side in bench.sides for one in side.configurations)
    unread = any("settings" in one.text for one in bench.not_understood)
    return configured or unread or bool(bench.said("setting"))


@rule(
    "version-undisclosed",
    severity="note",
    over=Bench,
    says="No file of the kit tells the version of what was measured.",
    remedy="Give the versions of engine, driver and tool, as the server and the tool print them.",
    disproved_by="a file that tells it in words that are not known here",
    source=DISCLOSE,
)
def version_undisclosed(bench: Bench) -> Iterator[Found]:
    if not (_results(bench) and of_engines(bench)):
        return
    told = {one.machine for one in bench.said("version")} | {side.engine for side in bench.sides if side.version}
    if not told and not any(side.version for side in bench.sides):
        yield Found("No file of the kit tells a version of an engine.", tuple(_told(bench)), "guessed")
        return
    results: dict[str, list[Evidence]] = defaultdict(list)
    for one in bench.others:
        if not one.planned and (of := product(one)):
            results[of].append(one.where.says(f"a result{f' of {one.tool}' if one.tool else ''}"))
    # CockroachDB is "cockroach" to some.
    unknown = [of for of in results if not any(one and (one.startswith(of) or of.startswith(one)) for one in told)]
    # A version whose product nobody names may be that of any of them.
    if len(results) > 1 and unknown and "" not in told:
        names = " and ".join(PRODUCTS[of].title if of in PRODUCTS else of for of in sorted(unknown))
        evidence = dict.fromkeys(said for of in unknown for said in results[of][:QUOTED])
        text = f"No file of the kit tells the version of {names}, of which it publishes results."
        yield Found(text, (*_texts(bench), *evidence), "guessed")


@rule(
    "version-not-pinned",
    severity="note",
    over=Bench,
    says="What is measured, or measures, is taken in whatever version is the newest on that day.",
    remedy="Name a version, or a digest, of every image and tool.",
    disproved_by="a result that prints the version it is of",
    source=REPRODUCE,
)
def version_not_pinned(bench: Bench) -> Iterator[Found]:
    if said := bench.said("unfixed version"):
        yield Found(f"No version is fixed of {_all(said)}.", tuple(one.where.says(one.text) for one in said))


@rule(
    "pre-release",
    severity="note",
    over=Bench,
    says="A version before its release is measured: it may hold checks and lack work that the release has.",
    remedy="Measure the release, or say beside each figure that it is of a version before it.",
    disproved_by="a version query of the measured server that shows a release",
    source="PostgreSQL's developers on beta versions: not for production; MySQL's manual on milestone releases",
)
def pre_release(bench: Bench) -> Iterator[Found]:
    said = {(one.where.file, one.text): one for one in bench.said("pre-release")}
    if said:
        versions = ", ".join(list(dict.fromkeys(one.text for one in said.values()))[:VERSIONS_TOLD])
        yield Found(f"Before their release: {versions}.", _says(list(said.values())))


@rule(
    "client-on-server",
    severity="note",
    over=Bench,
    says="The load comes from the machine that is measured: it takes processor time and memory from the engine.",
    remedy="Run the clients on a machine of their own, or on processors that the engine does not use, and say so.",
    disproved_by="an address that leads to another machine, as a tunnel's does",
    source="HammerDB's documentation: the driver is to run on another system than the database",
)
def client_on_server(bench: Bench) -> Iterator[Found]:
    started = [one for one in bench.published if one.planned and one.tool not in (*DRIVE_TOOLS, "") and _is_local(one)]
    said = bench.said("local client")
    evidence = [one.where.says(f"{one.tool} connects to its own machine") for one in started]
    evidence += [one.where.says(one.text) for one in said]
    if evidence:
        what = (
            f"{started[0].tool} connects to its own machine"
            if started
            else f"{said[0].where.file} has “{said[0].text}”"
        )
        more = and_more(len(evidence) - 1, "line", before="the like on ")
        yield Found(f"{what}{more}.", tuple(evidence))


def _is_local(one: Published) -> bool:
    return LOOPBACK.search(one.written) is not None and one.parameters.get("phase") is None


@rule(
    "results-missing",
    severity="note",
    over=Bench,
    says="What the benchmark rests on is not in the kit: nobody can look at the results themselves.",
    remedy="Put the output of every run into the kit, those that failed among them.",
    disproved_by="the files themselves",
    source=REPRODUCE,
)
def results_missing(bench: Bench) -> Iterator[Found]:
    empty = bench.said("empty")
    if empty:
        files = counted(len(empty), "file")
        yield Found(f"{files} that should hold results {'is' if len(empty) == 1 else 'are'} empty.", _says(empty))
    known = {*bench.unread, *(name for name, _ in bench.read), *(one.file for one in (*bench.broken, *bench.passed))}
    lost = [one for one in bench.said("link") if one.text not in known]
    if lost:
        more = and_more(len(lost) - 1, "link", after=" like it")
        yield Found(
            f"In {lost[0].where.file} there is a link to {lost[0].text}, which is not in the kit{more}.", _says(lost)
        )
    yield from _named_and_gone(bench, known)
    printed = any(not PROSE.search(one.file) for one in _results(bench)) or bench.measured
    if printed or not bench.said("text"):
        return
    pictures = bench.said("picture elsewhere")
    figures = _results(bench)
    if figures:
        text = "The figures stand in texts alone: no output of a run is in the kit"
        yield Found(f"{text}.", tuple(dict.fromkeys((*figures, *_says(pictures)))))
    elif len(pictures) >= PICTURES_MIN:
        yield Found(
            f"What was measured is shown in {counted(len(pictures), 'picture')} outside of the kit.", _says(pictures)
        )
    elif len(charts := bench.said("picture")) >= PICTURES_MIN and of_engines(bench):
        text = f"What was measured is shown in {counted(len(charts), 'picture')} alone: no figure of it is in the kit."
        yield Found(text, _says(charts))
    elif not any(RESULTS.search(name) for name in (*bench.unread, *(name for name, _ in bench.read))) and (
        plans := [one for one in bench.published if one.planned and one.tool and one.parameters.get("phase") is None]
    ):
        evidence = [one.where.says(f"{one.tool} is started here") for one in plans]
        yield Found("The kit starts runs, and holds no result of any.", (*evidence, *_texts(bench)))


def _named_and_gone(bench: Bench, known: Collection[str]) -> Iterator[Found]:
    """Files of results that a text calls by name, and that lie in no folder of the kit."""
    names = {name.rpartition("/")[2].lower() for name in known}
    gone = [one for one in bench.said("named result") if one.text.lower() not in names]
    if gone and (_results(bench) or bench.plans):
        more = and_more(len({one.text for one in gone}) - 1, "file", after=" like it")
        text = f"{gone[0].text} is a result by the words of {gone[0].where.file}, and no such file is in the kit{more}."
        yield Found(text, _says(gone), "read from prose")


def _says(said: Sequence[Statement]) -> tuple[Evidence, ...]:
    return tuple(one.where.says(one.text) for one in said)
