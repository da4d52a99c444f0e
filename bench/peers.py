"""The same work on the same server by the rig and by a peer, in turn: processor time of the client a transaction, and
transactions a second.

The peer's statements, tables, durability and protocol are the rig's. Times of a client are user and system time of its
process, as the kernel accounts them. A ratio is of two runs one after the other, shown as median and range of all such
pairs; absolute figures are this machine's at this hour. With TLS both work on one server, without and with it in turn,
over TCP; neither verifies the server, as pgbench does not with sslmode=require.
"""

from __future__ import annotations

import os
import statistics
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from acidtest.conductor.rig import converse
from acidtest.engine import Instance, catalogue
from acidtest.errors import BadInput, CellFailed
from acidtest.journal.models import Scalar
from acidtest.journal.protocol import (
    CheckPhase,
    ClosedLoop,
    Duration,
    Job,
    LoadPhase,
    Phase,
    Result,
    RunPhase,
    Target,
    Tls,
    WorkloadMessage,
)
from acidtest.place import Ledger
from acidtest.words import counted
from bench.clients import ENCRYPTION
from bench.peer import Figures, Peer, asked

TCP, TLS = "TCP", "TLS"
WARMUP_S = 0.2


@dataclass(frozen=True)
class Plan:
    """How often and how long each client works, and with how many sessions."""

    terminals: int
    threads: int | None
    rounds: int
    seconds: int
    tls: bool = False


@dataclass(frozen=True)
class Pair:
    """Two runs one after the other."""

    ours: Figures
    theirs: Figures


Pairs = dict[tuple[str, int], list[Pair]]  # by way to the server, and threads


def compare(peer: Peer, engine: str | None, plan: Plan) -> None:
    """Run the rig and the peer in turn, with as many threads each; print what each cost and the ratios.

    Without flushes, so that the drive takes no part.
    """
    if plan.tls and peer.encryption is None:
        raise BadInput(f"{peer.name}: --tls compares pgbench only", "leave --tls out")
    widths = [plan.threads] if plan.threads else sorted({1, 2, plan.terminals})
    settings = {**peer.settings, "connection": "tcp", "tls": True} if plan.tls else peer.settings
    with closing(Ledger()) as ledger, _server(peer, engine or peer.engine, settings, ledger) as (instance, directory):
        ways = _ways(peer, instance.target(), plan)
        peer.prepare(instance.target(), directory)
        for way, target in ways.items():
            if way == TLS and peer.encryption is not None:
                ours, theirs = asked(target, ENCRYPTION), peer.encryption(target, directory)
                print(f"TLS: {ours or 'none'} of the rig, {theirs or 'none'} of {peer.name}")
        pairs = _in_turn(peer, ways, widths, plan, directory, ledger, instance.environment())
        _perform(peer.workload, instance.target(), [CheckPhase()], ledger, instance.environment())
    print(f"{instance.directory.name}, {plan.terminals} sessions, {plan.rounds} rounds of {plan.seconds} s\n")
    _show(peer, pairs)
    if plan.tls:
        _show_what_tls_costs(peer, pairs, widths)


def _ways(peer: Peer, target: Target, plan: Plan) -> Mapping[str, Target]:
    """To one and the same server."""
    if not plan.tls:
        return peer.ways(target)
    required = Tls(ca=None, identity=None)
    return {TCP: target.model_copy(update={"tls": None}), TLS: target.model_copy(update={"tls": required})}


def _in_turn(
    peer: Peer,
    ways: Mapping[str, Target],
    widths: Sequence[int],
    plan: Plan,
    directory: Path,
    ledger: Ledger,
    environment: Mapping[str, str],
) -> Pairs:
    def ours(target: Target, width: int) -> Figures:
        run = RunPhase(
            terminals=plan.terminals,
            threads=width,
            pacing=ClosedLoop(think_ms=0),
            warmup_s=WARMUP_S,
            extent=Duration(seconds=plan.seconds),
            retries=10,
        )
        (result,) = _perform(peer.measured or peer.workload, target, [run], ledger, environment)
        cpu_s, counts = result.cpu.process_user_s + result.cpu.process_system_s, result.counts
        if counts.errors or counts.given_up:
            raise CellFailed(f"the rig's transactions fail: {counts.errors} errors, {counts.given_up} given up")
        # A peer counts what was rolled back by intent too.
        transactions = counts.committed + counts.rolled_back
        return Figures(transactions, cpu_s, result.goodput_per_s * transactions / max(counts.committed, 1))

    ours(next(iter(ways.values())), 1)  # finds everything cold
    pairs: Pairs = {(way, width): [] for way in ways for width in widths}
    for turn in range(plan.rounds):
        for way, width in pairs if turn % 2 else reversed(pairs):
            target = ways[way]
            theirs = partial(peer.run, target, plan.terminals, width, plan.seconds, directory)
            if turn % 2:
                pairs[way, width].append(Pair(ours(target, width), theirs()))
            else:
                of_peer = theirs()
                pairs[way, width].append(Pair(ours(target, width), of_peer))
    return pairs


@contextmanager
def _server(
    peer: Peer, engine_id: str, settings: Mapping[str, Scalar], ledger: Ledger
) -> Iterator[tuple[Instance, Path]]:
    """A private server with the peer's workload loaded, nothing flushed."""
    engine = catalogue.find(engine_id)
    with tempfile.TemporaryDirectory(prefix="acidtest-bench-") as name:
        template, directory = Path(name) / "template", Path(name) / engine_id
        template.mkdir()
        directory.mkdir()
        loading = engine.create(template, settings)
        try:
            loading.start(ledger)
            phases: list[Phase] = [LoadPhase(sessions=os.cpu_count() or 1)]
            _perform(peer.workload, loading.target(), phases, ledger, loading.environment())
            loading.seal()
        finally:
            loading.release()
        for file in loading.database_files():
            file.rename(directory / file.name)
        instance = engine.adopt(directory, settings, peer.durability)
        try:
            instance.start(ledger)
            yield instance, Path(name)
        finally:
            instance.release()


def _perform(
    workload: WorkloadMessage, target: Target, phases: list[Phase], ledger: Ledger, environment: Mapping[str, str]
) -> list[Result]:
    job = Job(seed=1, target=target, workload=workload, inspect=[], phases=phases)
    return [event for event in converse(job, ledger, environment) if isinstance(event, Result)]


def _show(peer: Peer, pairs: Pairs) -> None:
    print(f"{'client':<28}{'CPU µs/transaction':>26}{'transactions/s':>30}")
    for (way, width), runs in pairs.items():
        for name, of_client in (("rig", [pair.ours for pair in runs]), (peer.name, [pair.theirs for pair in runs])):
            threads = width if peer.has_threads or name == "rig" else None
            costs, rates = [run.cpu_us for run in of_client], [run.per_s for run in of_client]
            print(f"{_words(name, way, _threads(threads)):<28}{_spread(costs, '.1f'):>26}{_spread(rates, ',.0f'):>30}")
    print(f"\n{'rig / ' + peer.name:<28}{'CPU':>26}{'transactions/s':>30}")
    for (way, width), runs in pairs.items():
        _show_ratios(_words(way, _threads(width)), [(pair.ours, pair.theirs) for pair in runs])


def _show_what_tls_costs(peer: Peer, pairs: Pairs, widths: Sequence[int]) -> None:
    """Each client against itself: two runs of one round, with and without."""
    print(f"\n{f'{TLS} / {TCP}':<28}{'CPU':>26}{'transactions/s':>30}")
    for width in widths:
        plain, encrypted = pairs[TCP, width], pairs[TLS, width]
        both = list(zip(encrypted, plain, strict=True))
        _show_ratios(_words("rig", _threads(width)), [(one.ours, other.ours) for one, other in both])
        _show_ratios(_words(peer.name, _threads(width)), [(one.theirs, other.theirs) for one, other in both])


def _show_ratios(head: str, runs: Sequence[tuple[Figures, Figures]]) -> None:
    costs = [one.cpu_us / other.cpu_us for one, other in runs]
    rates = [one.per_s / other.per_s for one, other in runs]
    print(f"{head:<28}{_spread(costs, '.2f'):>26}{_spread(rates, '.2f'):>30}")


def _words(*parts: str) -> str:
    return ", ".join(part for part in parts if part)


def _threads(count: int | None) -> str:
    return "" if count is None else counted(count, "thread")


def _spread(values: list[float], form: str) -> str:
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{middle:{form}} ({low:{form}} to {high:{form}})"
