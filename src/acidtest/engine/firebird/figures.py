"""Where a Firebird database stands, by the information that its API has of it: isc_database_info.

A MON$ table is not asked: each look at one makes every attachment write down where it is. Pages are those of a cache
that sessions share; in the other modes the session that asks would tell of its own.
"""

from __future__ import annotations

from acidtest.engine.sampling import Figure, Figures

TRANSACTIONS = (
    Figure("next_transaction", "transactions begun"),
    Figure("oldest_gap", "transactions from the oldest interesting one to the next", rises=False),
    Figure("active_gap", "transactions from the oldest active one to the next", rises=False),
)
PAGES = (
    Figure("page_reads", "pages read"),
    Figure("page_writes", "pages written"),
    Figure("page_marks", "pages changed"),
    Figure("page_fetches", "pages fetched from the cache"),
)


def of_cache(*, shared: bool) -> Figures:
    """What a database is asked for, whose sessions share a cache or have one each."""
    return Figures("isc_database_info", [], (*(PAGES if shared else ()), *TRANSACTIONS))
