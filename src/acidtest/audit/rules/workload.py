"""What was run on each side: the same load, or another one on each."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from acidtest.audit.bench import Bench, Published
from acidtest.audit.result_sides import by_side, without_products
from acidtest.audit.result_text import and_more, called
from acidtest.finding import Evidence, Found, rule
from acidtest.words import counted

SAME = "G. Heiser, Systems Benchmarking Crimes: the same benchmark on both sides; TPC-C, clause 5.6: one configuration"
DRIVE = ("reads", "writes", "flushes")
# Options of tools that decide what is done, as the tools spell them, without dashes and underscores.
SIZES = frozenset((
    "tables", "tablesize", "tablescount", "oltptablesize", "oltptablescount", "recordcount",
    "fieldcount", "fieldlength", "readproportion", "updateproportion", "insertproportion", "scanproportion",
    "requestdistribution",
    "randtype", "scalefactor", "rangesize", "pointselects", "batchsize", "blocksize", "bs", "rw", "iodepth", "size",
))  # fmt: skip
BUILT_IN = re.compile(
    r"builtin|oltp_\w+|select_random_\w+|bulk_insert|work ?load ?[a-f]\b|tpc-?[bch]|simple update|select only"
)
EVIDENCE_EACH = 3
LABELS = (("random", re.compile(r"rand")), ("sequential", re.compile(r"seq")))


def _differs(
    bench: Bench, of: Sequence[Published], value: Callable[[Published], object], shown: Callable[[object], str]
) -> tuple[str, tuple[Evidence, ...]] | None:
    """What every side has for itself: "8 in a, 64 in b". None where two sides share a value, as a series of runs has
    it, and where one is not known."""
    values: dict[str, dict[object, list[Published]]] = {}
    for side, results in by_side(bench, of).items():
        held: dict[object, list[Published]] = defaultdict(list)
        for result in results:
            held[value(result)].append(result)
        if None in held or "" in held:
            return None
        values[side] = held
    if len(values) < 2 or any(
        set(value) & set(other) for side, value in values.items() for name, other in values.items() if name > side
    ):
        return None
    text = ", ".join(f"{_all(held, shown)} with {side}" for side, held in values.items())
    evidence = (
        result.where.says(f"{side}: {shown(key)}")
        for side, held in values.items()
        for key, results in held.items()
        for result in results[:EVIDENCE_EACH]
    )
    return text, tuple(dict.fromkeys(evidence))


def _all(held: dict[object, list[Published]], shown: Callable[[object], str]) -> str:
    texts = sorted({shown(key) for key in held}, key=lambda text: (len(text), text))
    return texts[0] if len(texts) == 1 else f"{texts[0]} to {texts[-1]}"


def _kinds(bench: Bench) -> Iterator[list[Published]]:
    """Results that are to be compared: of one tool, and of one workload of it where that is known."""
    kinds: dict[tuple[str, str], list[Published]] = defaultdict(list)
    for one in bench.measured:
        kinds[one.tool, without_products(one.script)].append(one)
    yield from kinds.values()


@rule(
    "workload-differs",
    severity="doubtful",
    says="The sides were given different loads: what is compared is not the engines alone.",
    remedy="Run the same workload, data, clients and time on every side, or make the difference a factor.",
    disproved_by="outputs of the same load from every side, or a text that makes it a factor",
    source=SAME,
)
def workload_differs(bench: Bench) -> Iterator[Found]:
    if "workload" in bench.factors:
        return
    for of in _kinds(bench):
        told: list[str] = []
        evidence: list[Evidence] = []
        for what, value, shown in _measures(of):
            if what not in bench.factors and (found := _differs(bench, of, value, shown)):
                told.append(f"{what.replace('_', ' ')}: {found[0]}")
                evidence += found[1]
        if told:
            yield Found(f"{of[0].tool} ran with another load on each side: {'; '.join(told)}.", tuple(evidence))
    scripts = [one for one in bench.measured if BUILT_IN.search(one.script.lower())]
    by_tool: dict[str, list[Published]] = defaultdict(list)
    for script in scripts:
        by_tool[script.tool].append(script)
    for of in by_tool.values():
        if found := _differs(bench, of, lambda one: one.script, str):
            yield Found(f"{of[0].tool} ran another workload on each side: {found[0]}.", found[1])

    yield from _otherwise_labelled(bench)


def _otherwise_labelled(bench: Bench) -> Iterator[Found]:
    """Jobs of fio that are random where their name or file calls them sequential, or the other way round."""
    known = [(one, _order(one.parameters.get("rw") or one.parameters.get("readwrite") or "")) for one in bench.published
             if one.tool == "fio"]  # fmt: skip
    jobs = [(one, order, _labelled(one)) for one, order in known if order]
    agree = {(one.where.file, label[0]) for one, order, label in jobs if label and label[0] == order}
    seen = [
        (one, order, label)
        for one, order, label in jobs
        if label and label[0] != order and (label[1] == "name" or (one.where.file, label[0]) in agree)
    ]
    if seen:
        one, order, label = seen[0]
        more = and_more(len(seen) - 1, "job", before="the like in ")
        text = f"{called(one)} is called {label[0]} by its {label[1]}, and what fio was asked for is {order}{more}."
        evidence = (job.where.says(f"{job.written or called(job)}") for job, _, _ in seen)
        yield Found(text, tuple(dict.fromkeys(evidence)))


def _order(rw: str) -> str:
    return "random" if rw.startswith("rand") else "sequential" if rw in ("read", "write", "rw", "readwrite") else ""


def _labelled(one: Published) -> tuple[str, str] | None:
    """What a job's own name, or else that of its file, calls it."""
    names = (("name", one.parameters.get("name") or one.script), ("file", one.where.file.rpartition("/")[2]))
    for which, text in names:
        called_ = {what for what, pattern in LABELS if pattern.search(text.lower())}
        if called_:
            return (called_.pop(), which) if len(called_) == 1 else None
    return None


def _measures(
    of: Sequence[Published],
) -> Iterator[tuple[str, Callable[[Published], object], Callable[[object], str]]]:
    yield "clients", lambda one: one.terminals, lambda value: f"{value:,}"
    yield "scale", lambda one: one.scale or one.warehouses, lambda value: f"{value:,g}"
    yield "isolation", lambda one: re.sub(r"transaction|[-_ ]", "", one.isolation.lower()) or None, str
    yield "query_mode", lambda one: one.query_mode.lower() or None, str
    yield "connections", lambda one: one.reconnects, lambda anew: "one for each transaction" if anew else "kept"
    options = {
        name for published in of for name in published.parameters if re.sub(r"[-_ .]", "", name.lower()) in SIZES
    }
    for name in sorted(options):
        yield name, lambda one, name=name: one.parameters.get(name), str  # type: ignore[misc]


@rule(
    "connect-per-transaction",
    severity="note",
    says="Every transaction has a connection of its own: what it costs to connect is most of the figure.",
    remedy="Keep connections, or state that it is connecting that is measured.",
    disproved_by="the tool's output without a connection for each transaction",
    source="PostgreSQL's manual of pgbench: --connect measures the overhead of connections; Good Practices",
)
def connect_per_transaction(bench: Bench) -> Iterator[Found]:
    anew = [one for one in (*bench.measured, *bench.plans) if one.reconnects]
    if anew and "connections" not in bench.factors:
        text = f"{counted(len(anew), 'result')} with a connection for each transaction, such as {called(anew[0])}."
        yield Found(text, tuple(dict.fromkeys(one.where.says("a connection for each transaction") for one in anew)))
