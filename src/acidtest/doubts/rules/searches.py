"""Searches for the highest rate."""

from __future__ import annotations

from collections.abc import Iterator

from acidtest.analysis.search.recorded import Search
from acidtest.analysis.search.steps import refused_for
from acidtest.doubts.rules.runs import OPEN_LOOP
from acidtest.finding import Found, rule
from acidtest.words import counted

OFFER = (
    "Search again while nothing else runs on this machine, reach the server by URL on another machine, or take fewer "
    "terminals."
)


@rule(
    "search-generator-late",
    severity="doubtful",
    says="The load generator was late where a search ended: what the server can do above that is not known.",
    remedy=OFFER,
    source=OPEN_LOOP,
    about="latency",
)
def search_generator_late(search: Search) -> Iterator[Found]:
    found = search.found
    if found is None or found.ending != "generator":
        return
    why = refused_for(search.rates)
    late = why.count("generator")
    shown = "nothing here shows what the server can do" if found.confirmed is None else "the server may do more"
    yield Found(
        f"In {late:,} of {counted(len(why), 'run')} that did not hold the limit the load generator began arrivals too "
        f"late, or had no time left: {shown}."
    )
