"""What a benchmark does not tell, so that nobody can judge or repeat it; and what of it was not understood."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import PurePosixPath

from acidtest.audit import disclosed
from acidtest.audit.bench import EMPTY, Bench
from acidtest.audit.repeated import DRIVE_TOOLS
from acidtest.audit.result_text import and_more, rate
from acidtest.finding import Evidence, Found, rule
from acidtest.words import counted

REPRODUCE = "ACM, Artifact Review and Badging: what others need to repeat a result"
LOOPBACK = re.compile(
    r"(?<![\w.])(?:127\.0\.0\.1|localhost|\[?::1\]?|/(?:var/)?(?:run|tmp)/[\w./-]*(?:sock|postgresql)\w*)"
)
RESULTS = re.compile(r"result|output|dump|\.(?:log|csv|out)", re.IGNORECASE)
PROSE = frozenset(("text", "listing of a machine"))
NAMED = 3  # folders in the sentence
READABLE = "acidtest help docs/RESULT-FILES.md lists what is read; a result without its unit can be read by nobody"


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
    "client-on-server",
    severity="note",
    says="The load comes from the machine that is measured: it takes processor time and memory from the engine.",
    remedy="Run the clients on a machine of their own, or on processors that the engine does not use, and say so.",
    disproved_by="an address that leads to another machine, as a tunnel's does",
    source="HammerDB's documentation: the driver is to run on another system than the database",
)
def client_on_server(bench: Bench) -> Iterator[Found]:
    runs = [one for one in bench.published if one.planned and one.parameters.get("phase") is None]
    started = [run for run in runs if run.tool not in (*DRIVE_TOOLS, "") and LOOPBACK.search(run.written)]
    evidence = [run.where.says(f"{run.tool} connects to its own machine") for run in started]
    if evidence:
        what = f"{started[0].tool} connects to its own machine"
        more = and_more(len(evidence) - 1, "line", before="the like on ")
        yield Found(f"{what}{more}.", tuple(evidence))


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
    empty = [
        evidence for evidence in bench.passed if evidence.text == EMPTY and PurePosixPath(evidence.file).suffix in kinds
    ]
    if empty:
        more = and_more(len(empty) - 1, "file", after=" like it")
        yield Found(f"{empty[0].file} is empty, where other files of its kind hold results{more}.", tuple(empty))
    if bench.measured or bench.not_understood or any(RESULTS.search(name) for name in bench.unread):
        return
    told = [other for other in bench.others if other.told]
    if any(other.repetition is not None for other in told):
        return  # a table of runs is what they put out
    plans = [one for one in bench.published if one.planned and one.tool and one.parameters.get("phase") is None]
    if told:
        text = "The figures stand in texts alone: no output of a run is in the kit."
        yield Found(text, tuple(other.where.says(rate(other)) for other in told))
    elif plans:
        evidence = tuple(plan.where.says(f"{plan.tool} is started here") for plan in plans)
        yield Found("The kit starts runs, and holds no result of any.", evidence)


@rule(
    "unknown-results",
    severity="doubtful",
    says="Figures or settings of the kit were not understood: what is wrong with them is not known.",
    remedy="Give them in a form that is read, with their unit, or look at them yourself.",
    disproved_by="a reading of these files in which nothing is wrong",
    source=READABLE,
)
def unknown_results(bench: Bench) -> Iterator[Found]:
    if bench.not_understood:
        by_folder: dict[str, list[Evidence]] = defaultdict(list)
        for one in bench.not_understood:
            by_folder[one.file.rpartition("/")[0]].append(one)
        files = len({one.file for one in bench.not_understood})
        folders = sorted(by_folder, key=lambda name: (-len(by_folder[name]), name))
        told = ", ".join(
            f"{name or 'the kit itself'} ({len({one.file for one in by_folder[name]}):,})" for name in folders[:NAMED]
        )
        more = f" and {counted(len(folders) - NAMED, 'more folder')}" if len(folders) > NAMED else ""
        # One of each folder first, so that a reader sees them all.
        evidence = [by_folder[name][0] for name in folders]
        evidence += [one for name in folders for one in by_folder[name][1:]]
        yield Found(
            f"{counted(files, 'file')} with figures or settings that are not understood, in {told}{more}.",
            tuple(evidence),
        )
    elif (
        bench.read
        and all(kind in PROSE for _, kind in bench.read)
        and not (bench.published or bench.sides or bench.routines)
    ):
        text = "Nothing but prose was understood: no result, no configuration, no log."
        unread = tuple(Evidence("is of an unknown kind", name) for name in bench.unread)
        yield Found(text, unread or (Evidence("prose", bench.read[0][0]),))
