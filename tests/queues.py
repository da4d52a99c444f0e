"""A server with one terminal and a known service time, simulated: what the rig would report of it, and the truth."""

from __future__ import annotations

import math
from decimal import Decimal, getcontext
from typing import Literal

import numpy as np

from acidtest.analysis.search.recorded import Asked
from acidtest.analysis.search.run import judged
from acidtest.analysis.search.steps import Found, Rules, Taken, next_step
from acidtest.journal.protocol import ArrivalCounts, Counts, Cpu, Histogram, RunResult, Second
from acidtest.limits import limit_of

Kind = Literal["M/M/1", "M/D/1"]
WARMUP_S = 5.0
STALL_S = 3.0
EMPTY = Histogram(count=0, min_ns=0, max_ns=0, mean_ns=0.0, buckets=[])
CPU = Cpu(process_user_s=0.0, process_system_s=0.0, sampled_transactions=0, generator_us_per_transaction=0.0,
          session_us_per_transaction=0.0, clock_read_ns=0.0)  # fmt: skip


def histogram(values_ns: np.ndarray) -> Histogram:
    """With three significant figures, as the rig's."""
    if not len(values_ns):
        return EMPTY
    values = np.maximum(values_ns, 1)
    unit = 10.0 ** (np.floor(np.log10(values)) - 2)
    kept, times = np.unique((np.ceil(values / unit) * unit).astype(np.int64), return_counts=True)
    buckets = list(zip(kept.tolist(), times.tolist(), strict=True))
    return Histogram.model_construct(
        count=len(values),
        min_ns=int(values.min()),
        max_ns=int(values.max()),
        mean_ns=float(values.mean()),
        buckets=buckets,
    )


class Server:
    """Serves one transaction after the other, in the order of arrival; arrivals are Poisson's."""

    def __init__(self, kind: Kind, service_ms: float, seconds: float, seed: int, stalls: float = 0.0) -> None:
        """``stalls``: in that share of the runs it stands still once, for ``STALL_S``."""
        self.kind, self.service_s, self.seconds, self.stalls = kind, service_ms / 1e3, seconds, stalls
        self._random = np.random.default_rng(seed)

    def run(self, rate_per_s: float | None) -> RunResult:
        """What a run at that rate shows; without one, in a closed loop."""
        end_s = WARMUP_S + self.seconds
        if rate_per_s is None:
            services = self._services(int(end_s / self.service_s * 1.5) + 100)
            ended = np.cumsum(services)
            measured = (ended > WARMUP_S) & (ended < end_s)
            return self._result(services[measured], ended[measured] - WARMUP_S, 0, 0, 0.0)
        arrived = np.cumsum(self._random.exponential(1 / rate_per_s, int(end_s * rate_per_s * 1.2) + 200))
        arrived = arrived[arrived < end_s]
        services = self._services(len(arrived))
        if self.stalls and self._random.random() < self.stalls:
            services[self._random.integers(len(services) // 2)] += STALL_S
        worked = np.cumsum(services)
        ended = worked + np.maximum.accumulate(arrived - (worked - services))  # Lindley's recursion, unrolled
        due = arrived >= WARMUP_S
        begun = ended - services < end_s
        waiting = arrived[due & ~begun]
        served = due & begun
        waited_ms = float((end_s - waiting.min()) * 1e3) if len(waiting) else 0.0
        return self._result(
            (ended - arrived)[served], ended[served] - WARMUP_S, int(due.sum()), len(waiting), waited_ms
        )

    def _services(self, count: int) -> np.ndarray:
        if self.kind == "M/D/1":
            return np.full(count, self.service_s)
        return self._random.exponential(self.service_s, count)

    def _result(
        self, latency_s: np.ndarray, ended_s: np.ndarray, scheduled: int, waiting: int, waited_ms: float
    ) -> RunResult:
        latency = latency_s * 1e9
        splits = np.searchsorted(ended_s, np.arange(1, int(self.seconds) + 1))
        series = [
            Second.model_construct(
                at_s=float(second), length_s=1.0, committed=len(part), conflicts=0, errors=0,
                latency_ns_p50=int(np.median(part)) if len(part) else 0, latency_ns_p99=0, latency_ns_max=0,
            )
            for second, part in enumerate(np.split(latency, splits)[:-1])
        ]  # fmt: skip
        counts = Counts(committed=len(latency), rolled_back=0, conflicts=0, retries=0, given_up=0, errors=0, classes=[])
        arrivals = ArrivalCounts(
            scheduled=scheduled, late=0, unfinished=waiting, unfinished_wait_ms_max=waited_ms, lateness=EMPTY
        )
        shown = histogram(latency)
        return RunResult.model_construct(
            terminals=1, threads=1, warmup_s=WARMUP_S, measured_s=self.seconds, counts=counts,
            arrivals=arrivals if scheduled else None, throughput_per_s=len(latency) / self.seconds,
            goodput_per_s=len(latency) / self.seconds, latency=shown, service=shown, kinds=[], series=series, cpu=CPU,
            error_samples=[],
        )  # fmt: skip


def searched(server: Server, limit: str, rules: Rules = Rules()) -> tuple[Found, list[Taken]]:
    """A whole search of that server, with every run that it took."""
    asked = Asked(limit_of(limit), rules, 0.01)
    taken: list[Taken] = []
    while not isinstance(step := next_step(taken, rules), Found):
        result = server.run(step.rate_per_s)
        run = judged(result, asked.limit, rate_per_s=step.rate_per_s, unserved_max=asked.unserved_max, embedded=False)
        taken.append(Taken(step, run))
    return step, taken


def true_rate_per_s(kind: Kind, service_ms: float, share: float, limit_ms: float) -> float:
    """The rate at which that share of all transactions take less than the limit, in the long run.

    M/M/1: the time in the system is exponential with mean 1 / (mu - lambda). M/D/1: A. K. Erlang's distribution of the
    wait, as in G. D. Crommelin, Delay probability formulae (1932), in arithmetic of 120 digits, for its terms cancel.
    """
    per_s = 1e3 / service_ms
    if kind == "M/M/1":
        return per_s + math.log(1 - share) / (limit_ms / 1e3)
    low, high = 1e-3 * per_s, (1 - 1e-6) * per_s
    for _ in range(50):
        middle = (low + high) / 2
        waits_less = _waits_less(middle, service_ms / 1e3, (limit_ms - service_ms) / 1e3)
        low, high = (middle, high) if waits_less > share else (low, middle)
    return low


def _waits_less(rate_per_s: float, service_s: float, time_s: float) -> float:
    getcontext().prec = 120
    rate, service, time = Decimal(rate_per_s), Decimal(service_s), Decimal(time_s)
    total, factorial = Decimal(0), Decimal(1)
    for k in range(int(time_s / service_s + 1e-9) + 1):
        factorial *= max(k, 1)
        z = rate * (k * service - time)
        total += z**k / factorial * (-z).exp() if k else (-z).exp()
    return float((1 - rate * service) * total)
