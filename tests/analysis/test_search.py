"""The search for the highest rate: over simulated servers whose truth is known, and decision by decision."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import factory
from acidtest.analysis.search.run import SearchRun, growing, judged
from acidtest.analysis.search.steps import Found, Rules, Step, Taken, next_step, unordered
from acidtest.journal.protocol import ArrivalCounts, Histogram, Second
from acidtest.limits import limit_of
from queues import Kind, Server, searched, true_rate_per_s
from support import times

SEEDS = times(20, 100)
SECONDS = 120.0
SERVICE_MS = 1.0
# The limit lies where 54 and 89 % of a server that takes 1 ms are used, of either kind.
PLANTED: list[tuple[Kind, float]] = [("M/M/1", 10.0), ("M/D/1", 20.0)]


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("kind", "limit_ms"), [PLANTED[0], pytest.param(*PLANTED[1], marks=pytest.mark.long)])
def test_a_planted_limit_is_found_within_5_percent_in_19_of_20_searches(kind: Kind, limit_ms: float) -> None:
    truth = true_rate_per_s(kind, SERVICE_MS, 0.99, limit_ms)
    near, runs = 0, []
    for seed in range(SEEDS):
        found, taken = searched(Server(kind, SERVICE_MS, SECONDS, seed), f"p99 < {limit_ms} ms")
        assert found.ending == "limit", seed
        assert found.confirmed is not None, seed
        near += abs(found.confirmed.rate_per_s / truth - 1) <= 0.05
        runs.append(len(taken))
    assert near >= 0.95 * SEEDS
    assert sorted(runs)[SEEDS // 2] <= 20
    assert max(runs) <= 45


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["M/M/1", "M/D/1"])
@pytest.mark.parametrize("seed", range(2))
def test_a_server_that_is_full_before_the_limit_is_named_saturated(kind: Kind, seed: int) -> None:
    found, _ = searched(Server(kind, SERVICE_MS, 60.0, seed), "p99 < 5 s")
    assert found.ending == "saturated"
    assert found.confirmed is not None
    assert found.confirmed.rate_per_s == pytest.approx(1e3 / SERVICE_MS, rel=0.05)


def test_a_limit_below_what_a_server_needs_is_held_by_no_rate() -> None:
    found, taken = searched(Server("M/M/1", SERVICE_MS, 120.0, 1), "p99 < 3 ms")
    assert (found.ending, found.confirmed) == ("none", None) or found.ending == "too few"
    assert len(taken) < 15


def test_runs_that_are_too_short_for_a_percentile_are_named() -> None:
    found, _ = searched(Server("M/M/1", 100.0, 30.0, 1), "p99 < 5 s")
    assert found.ending == "too few"
    assert found.confirmed is None


def test_the_same_runs_give_the_same_search_again() -> None:
    found, taken = searched(Server("M/D/1", SERVICE_MS, 20.0, 3), "p99 < 20 ms")
    again: list[Taken] = []
    for one in taken:
        step = next_step(again, Rules())
        assert step == one.step
        again.append(one)
    assert next_step(again, Rules()) == found


@pytest.mark.slow
def test_a_server_that_stands_still_in_a_tenth_of_its_runs_is_not_taken_for_a_slower_one() -> None:
    truth = true_rate_per_s("M/D/1", SERVICE_MS, 0.99, 20.0)
    near = dict.fromkeys((False, True), 0)
    for again in near:
        for seed in range(8):
            server = Server("M/D/1", SERVICE_MS, 60.0, seed, stalls=0.1)
            found, _ = searched(server, "p99 < 20 ms", Rules(again=again))
            near[again] += found.confirmed is not None and found.confirmed.rate_per_s > 0.9 * truth
    assert near[True] >= 7
    assert near[False] < near[True], "and it is the second run at a rate that finds it"


# ------------------------------------------------------------------------------------------- decision by decision


def run(rate: float | None, ratio: float, why: str | None = "as it is", served: float = 1000.0) -> SearchRun:
    """A run whose latency is ``ratio`` times the limit."""
    if why == "as it is":
        why = None if rate is None or ratio < 1 else "limit"
    return SearchRun(rate, served, (ratio * 10,), ratio, why, 0.0, 1.0, ratio * 10, 1.0)  # type: ignore[arg-type]


def answered(curve, rules: Rules = Rules()) -> tuple[Found, list[Taken]]:  # type: ignore[no-untyped-def]
    """A search over a server of which each run at a rate shows ``curve(rate)``, without noise."""
    taken: list[Taken] = []
    while not isinstance(step := next_step(taken, rules), Found):
        shown = run(None, 0.1) if step.rate_per_s is None else curve(step.rate_per_s)
        taken.append(Taken(step, replace(shown, rate_per_s=step.rate_per_s)))
        assert len(taken) <= rules.runs_max
    return step, taken


@settings(max_examples=40)
@given(crossing=st.floats(60, 990), steep=st.floats(0.5, 40), step=st.floats(0.005, 0.1), wanted=st.integers(1, 9))
def test_without_noise_the_highest_rate_of_the_grid_is_found(
    crossing: float, steep: float, step: float, wanted: int
) -> None:
    found, taken = answered(
        lambda rate: run(rate, (rate / crossing) ** steep), Rules(confirmations=wanted, step=step, runs_max=1000)
    )
    assert found.ending == "limit"
    assert found.confirmed is not None
    assert found.refuted is not None
    assert crossing / (1 + step) * 0.999 <= found.confirmed.rate_per_s <= crossing * 1.001
    assert found.refuted.rate_per_s == pytest.approx(found.confirmed.rate_per_s * (1 + step), rel=2e-3)
    assert len(found.confirmed.fresh) == wanted
    assert len({(one.step.rate_per_s, one.step.number) for one in taken}) == len(taken)


@given(
    ratios=st.lists(st.floats(0.01, 50) | st.just(math.inf), min_size=1, max_size=80),
    whys=st.lists(st.sampled_from([None, "limit", "unserved", "growing", "generator"]), min_size=80, max_size=80),
)
def test_whatever_the_runs_show_a_search_ends_and_confirms_only_what_held(
    ratios: list[float], whys: list[str | None]
) -> None:
    shown = iter(range(10_000))

    def curve(rate: float) -> SearchRun:
        n = next(shown)
        ratio, why = ratios[n % len(ratios)], whys[n % 80]
        return run(rate, ratio, why if ratio < 1 or why else "limit")

    rules = Rules(confirmations=3, runs_max=40)
    found, taken = answered(curve, rules)
    if found.confirmed:
        assert all(one.holds for one in found.confirmed.fresh)
        assert len(found.confirmed.fresh) >= 3
        refuted = [one.step.rate_per_s for one in taken if one.step.phase == "confirming" and not one.run.holds]
        assert all(found.confirmed.rate_per_s < rate for rate in refuted if rate is not None)
    if found.ending in ("limit", "saturated", "generator"):
        assert found.refuted is not None


def test_the_ladder_ends_where_the_server_is_full() -> None:
    found, taken = answered(lambda rate: run(rate, 0.2) if rate < 600 else run(rate, 30, "unserved"))
    ladder = [one.step.rate_per_s for one in taken if one.step.phase == "ladder"]
    assert ladder[0] == pytest.approx(250, rel=0.01)
    assert len(set(ladder)) == 3
    assert ladder[-1] == pytest.approx(700, rel=0.01)
    assert found.ending == "saturated"
    assert found.confirmed is not None
    assert 590 < found.confirmed.rate_per_s < 600


@pytest.mark.parametrize("why", ["limit", "unserved", "growing"])
def test_a_lone_refusal_below_a_rate_that_holds_is_tried_again_and_set_aside(why: str) -> None:
    stalled: list[float] = []

    def curve(rate: float) -> SearchRun:
        if 450 < rate < 550 and not stalled:
            stalled.append(rate)
            return run(rate, 3.3, why)
        return run(rate, rate / 900)

    found, _ = answered(curve)
    assert found.confirmed is not None
    assert 880 < found.confirmed.rate_per_s <= 900
    (rate,) = [rate for rate in found.rates if rate.aside]
    assert (rate.rate_per_s, len(rate.taken), rate.clearly_holds) == (stalled[0], 2, True)
    assert unordered(found.rates) is None


def test_rates_that_stay_out_of_order_are_named() -> None:
    found, taken = answered(lambda rate: run(rate, 3.3 if 450 < rate < 550 else rate / 900))
    pair = unordered(found.rates)
    assert pair is not None
    assert 450 < pair[0].rate_per_s < 550 < pair[1].rate_per_s
    assert len(pair[0].first) == 2
    assert sum(one.step.number == 2 and one.step.phase != "confirming" for one in taken) <= 2


def test_rates_whose_runs_are_too_short_are_not_tried_again() -> None:
    found, taken = answered(lambda rate: run(rate, 3, "limit" if rate > 200 else "too few"))
    assert (found.ending, found.confirmed) == ("too few", None)
    assert sum(one.run.why == "too few" for one in taken) == 1


def test_a_rung_that_is_too_low_for_a_percentile_stops_nobody() -> None:
    found, _ = answered(lambda rate: run(rate, rate / 700, "too few" if rate < 300 else "as it is"))
    assert found.ending == "limit"
    assert found.confirmed is not None
    assert 690 < found.confirmed.rate_per_s <= 700


def test_a_generator_that_is_the_bottleneck_is_named() -> None:
    found, _ = answered(lambda rate: run(rate, 0.3) if rate < 800 else run(rate, 3, "generator"))
    assert found.ending == "generator"
    assert found.confirmed is not None
    assert 785 < found.confirmed.rate_per_s < 800


def test_a_generator_that_is_late_at_every_rate_ends_the_search_without_going_further_down() -> None:
    found, taken = answered(lambda rate: run(rate, 8, "generator"))
    assert (found.ending, found.confirmed) == ("generator", None)
    assert min(one.step.rate_per_s or math.inf for one in taken) == pytest.approx(250, rel=0.01)
    # Nor does it further down, where lower rates have too few transactions for a percentile.
    found, _ = answered(lambda rate: run(rate, 8, "generator" if rate > 200 else "too few"))
    assert found.ending == "generator"


def test_confirming_ends_where_the_generator_was_late_at_each_rate() -> None:
    seen: set[float] = set()

    def curve(rate: float) -> SearchRun:
        fresh = rate in seen or 300 < rate < 699
        seen.add(rate)
        return run(rate, 8, "generator") if fresh else run(rate, rate / 700)

    found, taken = answered(curve)
    assert (found.ending, found.confirmed) == ("generator", None)
    assert min(one.step.rate_per_s or math.inf for one in taken) > 200


def test_a_server_that_holds_no_rate_is_still_said_to_where_the_generator_was_late_higher_up() -> None:
    found, _ = answered(lambda rate: run(rate, 8, "generator" if rate > 800 else "limit"))
    assert found.ending == "none"


def test_a_limit_that_is_never_crossed_is_said_so() -> None:
    found, taken = answered(lambda rate: run(rate, 0.2))
    assert found.ending == "open"
    assert max(one.step.rate_per_s or 0 for one in taken) > 3_000
    assert found.confirmed is not None


def test_a_limit_that_every_rate_breaks_ends_soon() -> None:
    found, taken = answered(lambda rate: run(rate, 3))
    assert (found.ending, found.confirmed) == ("none", None)
    assert len(taken) <= 12


def test_a_closed_loop_without_a_commit_ends_the_search() -> None:
    closed = Taken(Step("closed loop", None, 1), run(None, 0.1, served=0.0))
    found = next_step([closed], Rules())
    assert isinstance(found, Found)
    assert found.ending == "closed loop"


def test_one_bad_run_near_the_limit_does_not_decide() -> None:
    # The first run at each rate is 20 % slower than the others.
    seen: set[float] = set()

    def curve(rate: float) -> SearchRun:
        slow = rate not in seen
        seen.add(rate)
        return run(rate, rate / 700 * (1.2 if slow and rate > 500 else 1))

    found, taken = answered(curve)
    assert found.confirmed is not None
    fresh_first = [one for one in taken if one.step.phase == "confirming" and one.step.number == 1]
    assert fresh_first, "rates that nobody tried before are confirmed too"


# ------------------------------------------------------------------------------------------------- one run, judged


def seconds(latencies_ms: list[float]) -> list[Second]:
    return [
        Second(at_s=float(n), length_s=1.0, committed=100, conflicts=0, errors=0, latency_ns_p50=int(ms * 1e6),
               latency_ns_p99=int(ms * 1e6), latency_ns_max=int(ms * 1e6))
        for n, ms in enumerate(latencies_ms)
    ]  # fmt: skip


def test_a_queue_that_grows_is_seen_and_noise_is_not() -> None:
    assert growing(seconds([1 + 2 * n for n in range(10)]))
    assert not growing(seconds([5, 6, 5, 7, 5, 6, 5, 6, 7, 5]))
    assert not growing(seconds([5 + 0.1 * n for n in range(10)])), "a drift of a fifth is no queue"
    assert not growing(seconds([5.0] * 10))
    assert not growing(seconds([1, 2, 4, 8])), "four seconds tell nothing"


def of_latencies(values_ms: list[float], **arrivals: object):  # type: ignore[no-untyped-def]
    """A run of an open loop with these latencies."""
    scheduled = {"scheduled": len(values_ms), "late": 0, "unfinished": 0, "unfinished_wait_ms_max": 0.0} | arrivals
    latency = factory.histogram([value * 1e6 for value in values_ms])
    return factory.result(100.0, latency=latency, arrivals=ArrivalCounts.model_validate(scheduled))


def of_run(result, limit: str = "p99 < 10 ms", **more: object) -> SearchRun:  # type: ignore[no-untyped-def]
    given = {"rate_per_s": 100.0, "unserved_max": 0.01, "embedded": False} | more
    return judged(result, limit_of(limit), **given)  # type: ignore[arg-type]


def test_arrivals_without_an_answer_count_as_those_that_took_forever() -> None:
    values = [1.0] * 2000
    assert of_run(of_latencies(values)).holds
    kept = of_run(of_latencies(values, scheduled=2010, unfinished=10, unfinished_wait_ms_max=50.0))
    assert kept.holds
    assert kept.unserved == pytest.approx(10 / 2010)
    lost = of_run(of_latencies(values, scheduled=2030, unfinished=30, unfinished_wait_ms_max=50.0))
    assert (lost.why, lost.ratio) == ("unserved", math.inf)
    waiting = of_run(of_latencies(values, scheduled=2010, unfinished=10, unfinished_wait_ms_max=2.0), "p99.5 < 10 ms")
    assert waiting.holds, "what waits for less than the limit has broken nothing"


def test_each_statistic_has_its_own_limit() -> None:
    result = of_latencies([1.0] * 1500 + [30.0] * 10)
    assert of_run(result, "p99 < 10 ms and mean < 2 ms").holds
    over = of_run(result, "max < 20 ms and p99 < 10 ms")
    assert (over.why, round(over.ratio, 1)) == ("limit", 1.5)
    assert of_run(result, "mean < 1.1 ms").why == "limit"


def test_too_few_transactions_for_a_percentile_are_no_answer() -> None:
    few = of_run(of_latencies([1.0] * 500))
    assert (few.why, few.needed) == ("too few", 1000)


def test_a_generator_that_begins_late_is_not_the_servers_fault() -> None:
    late = factory.histogram([8e6] * 2000)
    slow = of_latencies([12.0] * 2000, lateness=late)
    assert of_run(slow).why == "generator"
    little = Histogram.model_validate(factory.histogram([1e5] * 2000).model_dump())
    assert of_run(of_latencies([12.0] * 2000, lateness=little)).why == "limit"
    few = factory.histogram([8e6] * 10)
    assert of_run(of_latencies([12.0] * 2000, lateness=few)).why == "limit", "ten late ones of 2,000 are no p99"
