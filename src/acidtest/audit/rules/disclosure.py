"""What a benchmark does not tell, so that nobody can judge or repeat it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from acidtest.audit import disclosed
from acidtest.audit.bench import EMPTY, Bench, Published
from acidtest.audit.repeated import DRIVE_TOOLS
from acidtest.audit.result_text import and_more, rate
from acidtest.finding import Found, rule

REPRODUCE = "ACM, Artifact Review and Badging: what others need to repeat a result"
LOOPBACK = re.compile(
    r"(?<![\w.])(?:127\.0\.0\.1|localhost|\[?::1\]?|/(?:var/)?(?:run|tmp)/[\w./-]*(?:sock|postgresql)\w*)"
)
RESULTS = re.compile(r"result|output|dump|\.(?:log|csv|out)", re.IGNORECASE)


@rule(
    "not-disclosed",
    severity="note",
    says="No file records, and benchmark.toml does not declare, what a reader needs to judge or repeat the figures.",
    remedy="Keep what the machine and the servers print beside the results, or declare it in benchmark.toml "
    "([machines.NAME], engine, client).",
    disproved_by="a file of the kit that records it",
    source="B. Schwartz et al., High Performance MySQL, chapter 2: what a benchmark has to document",
)
def not_disclosed(bench: Bench) -> Iterator[Found]:
    table = disclosed.table(bench)
    missing = [one.what for one in table if one.where is None and one.what != disclosed.SETTINGS]
    if missing and (evidence := disclosed.measured(bench)):
        evidence += [one.where.says(f"{one.what}: {one.how(bench)}") for one in table if one.where]
        yield Found(f"Not recorded: {', '.join(missing)}.", tuple(evidence), "certain")


@rule(
    "version-not-pinned",
    severity="note",
    says="What is measured, or measures, is taken in whatever version is the newest on that day.",
    remedy="Name a version, or a digest, of every image and tool.",
    disproved_by="a result that prints the version it is of",
    source=REPRODUCE,
)
def version_not_pinned(bench: Bench) -> Iterator[Found]:
    if said := bench.said("unfixed version"):
        more = and_more(len(said) - 1, "line", before="the like on ")
        yield Found(f"No version is fixed of {said[0].text}{more}.", tuple(one.where.says(one.text) for one in said))


@rule(
    "client-on-server",
    severity="note",
    says="The load comes from the machine that is measured: it takes processor time and memory from the engine.",
    remedy="Run the clients on a machine of their own, or on processors that the engine does not use, and say so.",
    disproved_by="an address that leads to another machine, as a tunnel's does",
    source="HammerDB's documentation: the driver is to run on another system than the database",
)
def client_on_server(bench: Bench) -> Iterator[Found]:
    started = [one for one in bench.published if one.planned and one.tool not in (*DRIVE_TOOLS, "") and _is_local(one)]
    evidence = [one.where.says(f"{one.tool} connects to its own machine") for one in started]
    if evidence:
        what = f"{started[0].tool} connects to its own machine"
        more = and_more(len(evidence) - 1, "line", before="the like on ")
        yield Found(f"{what}{more}.", tuple(evidence))


def _is_local(one: Published) -> bool:
    return LOOPBACK.search(one.written) is not None and one.parameters.get("phase") is None


@rule(
    "results-missing",
    severity="note",
    says="What the benchmark rests on is not in the kit: nobody can look at the results themselves.",
    remedy="Put the output of every run into the kit, those that failed among them.",
    disproved_by="the files themselves",
    source=REPRODUCE,
)
def results_missing(bench: Bench) -> Iterator[Found]:
    kinds = {PurePosixPath(one.where.file).suffix for one in bench.measured} - {""}
    empty = [one for one in bench.passed if one.text == EMPTY and PurePosixPath(one.file).suffix in kinds]
    if empty:
        more = and_more(len(empty) - 1, "file", after=" like it")
        yield Found(f"{empty[0].file} is empty, where other files of its kind hold results{more}.", tuple(empty))
    if bench.measured or bench.not_understood or any(RESULTS.search(name) for name in bench.unread):
        return
    told = [one for one in bench.others if one.told]
    if any(one.repetition is not None for one in told):
        return  # a table of runs is what they put out
    plans = [one for one in bench.published if one.planned and one.tool and one.parameters.get("phase") is None]
    if told:
        text = "The figures stand in texts alone: no output of a run is in the kit."
        yield Found(text, tuple(one.where.says(rate(one)) for one in told))
    elif plans:
        evidence = tuple(one.where.says(f"{one.tool} is started here") for one in plans)
        yield Found("The kit starts runs, and holds no result of any.", evidence)
