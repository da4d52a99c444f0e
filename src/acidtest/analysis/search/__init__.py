"""The highest rate that holds a limit of latency: runs judged, the next rate decided on, and what was found. Pure."""

from acidtest.analysis.search.recorded import (
    Asked,
    Search,
    figures,
    judge_of,
    name_of,
    replayed,
    searches,
    varying,
)
from acidtest.analysis.search.run import SearchRun, judged
from acidtest.analysis.search.steps import Found, Rate, Rules, Step, Taken, next_step, refused_for, unordered

__all__ = [
    "Asked",
    "Found",
    "Rate",
    "Rules",
    "Search",
    "SearchRun",
    "Step",
    "Taken",
    "figures",
    "judge_of",
    "judged",
    "name_of",
    "next_step",
    "refused_for",
    "replayed",
    "searches",
    "unordered",
    "varying",
]
