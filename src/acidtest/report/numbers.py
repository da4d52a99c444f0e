"""Figures as words and for programs: the same on the page, in the terminal, and wherever else they stand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from acidtest.analysis.kinds import KindSummary
    from acidtest.analysis.summary import Interval, Summary


def percent(summary: Summary | None) -> str:
    """A ratio with the base as 100."""
    return "–" if summary is None or summary.median is None else number(100 * summary.median)


def interval(summary: Summary | None, scale: float = 1.0) -> str:
    """``low – high``, or "–" where the sample cannot bear an interval."""
    if summary is None or summary.interval is None:
        return "–"
    return f"{number(scale * summary.interval.low)} – {number(scale * summary.interval.high)}"


def number(value: float | None, digits: int = 3) -> str:
    """Three significant digits, thousands set apart; "–" for None."""
    if value is None:
        return "–"
    if value == 0:
        return "0"
    if abs(value) >= 10 ** (digits - 1):
        return f"{float(f'{value:.{digits}g}'):,.0f}"
    return f"{value:#.{digits}g}".rstrip(".")


def mib(value: float | None) -> str:
    return number(value / (1 << 20)) if value is not None else "–"


def summary_json(summary: Summary) -> dict[str, Any]:
    """For programs: nothing is rounded."""
    return {"n": summary.n, "median": summary.median, **bounds_json(summary.interval)}


def kind_json(kind: KindSummary) -> dict[str, Any]:
    counted = ("name", "committed", "rolled_back", "conflicts", "given_up", "errors", "limit_ms", "limit_kept")
    return attributes(kind, *counted) | {"latency_ms_p90": kind.p90.value_ms}


def attributes(row: Any, *names: str) -> dict[str, Any]:
    """Those of its attributes that programs get by their own names."""
    return {name: getattr(row, name) for name in names}


def bounds_json(bounds: Interval | None) -> dict[str, float | None]:
    return {"low": bounds.low if bounds else None, "high": bounds.high if bounds else None}


def lower_by(ratio: float | None) -> str:
    """``12 % lower``, of a ratio of the lower rate to the higher."""
    return "–" if ratio is None else f"{100 * (1 - ratio):.2g} % lower"


def share(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"
