"""A Firebird database on a server by URL: what its MON$ tables and its catalogue say, and what the server's own gstat
counts of its pages, which its services run.

A session on a server takes transaction numbers, as every client does; nothing else is changed. gstat reads the file of
a database that is in use, so that a page may be another one than it result for by the time that it gets there.
"""

from __future__ import annotations

from dataclasses import replace

from acidtest.engine.base import Ask
from acidtest.engine.firebird.by_url import VERSION, FirebirdByUrlInstance
from acidtest.engine.firebird.inspection import of_gstat
from acidtest.engine.foreign import ForeignInstance
from acidtest.engine.inspection import InspectionResult, ServerInspection, TolerantSession, number
from acidtest.errors import CellFailed
from acidtest.formats import gstat
from acidtest.journal.models import Scalar

COUNTERS = {
    "page_bytes": "mon$page_size",
    "pages": "mon$pages",
    "page_buffers": "mon$page_buffers",
    "sweep_interval": "mon$sweep_interval",
    "sql_dialect": "mon$sql_dialect",
    "oldest_transaction": "mon$oldest_transaction",
    "oldest_active": "mon$oldest_active",
    "oldest_snapshot": "mon$oldest_snapshot",
    "next_transaction": "mon$next_transaction",
}
FLAGS = {
    "forced_writes": "mon$forced_writes",
    "reserves_space": "mon$reserve_space",
    "read_only": "mon$read_only",
    "is_shut_down": "mon$shutdown_mode",
    "backup_locked": "mon$backup_state",
}
DATABASE = f"select {', '.join((*COUNTERS.values(), *FLAGS.values()))} from mon$database"  # noqa: S608 - our words
OLDEST = (
    "select first 1 trim(a.mon$user), datediff(second from t.mon$timestamp to current_timestamp) "
    "from mon$transactions t join mon$attachments a on a.mon$attachment_id = t.mon$attachment_id "
    "where a.mon$attachment_id <> current_connection and a.mon$system_flag = 0 order by t.mon$transaction_id"
)
OFF = (
    "select trim(rdb$index_name), trim(rdb$relation_name) from rdb$indices where rdb$index_inactive = 1 "
    "and coalesce(rdb$system_flag, 0) = 0 order by 1"
)
SOURCE = "the server's gstat -a -r, run by its services"
MAY_NOT = "Unable to perform operation"  # isc_adm_task_denied, by any version of the client library
NO_RIGHT = (
    "the server counts pages only for SYSDBA, the database's owner and, from Firebird 4 on, who has the privilege "
    "USE_GSTAT_UTILITY"
)
PASSING = (
    'While others changed the database, gstat came to a page that was another one by then ("{}"): figures of different '
    "parts are of different moments."
)
NO_SCANS = "whoever reads a table has Firebird clear up the old versions that it meets, which is writing"
ANSWER_S, SLOW_BYTES_PER_S = 900.0, 1e6  # no server takes longer, nor reads slower
BYTES_PER_S = 100e6  # that its pages are assumed to be read with


def inspect(ask: Ask) -> InspectionResult:
    """Raises CellFailed where the server does not answer at all."""
    said = dict(zip((*COUNTERS, *FLAGS), ask(DATABASE)[0], strict=True))
    session = TolerantSession(ask)
    facts: dict[str, Scalar] = {name: number(said[name]) for name in COUNTERS}
    facts |= {name: said[name] not in (None, "0") for name in FLAGS}
    facts["database_bytes"] = number(said["pages"]) * number(said["page_bytes"])
    if oldest := session.row("open transactions", OLDEST):
        facts |= {"held_by": f"a transaction of {oldest[0]}", "oldest_transaction_s": number(oldest[1])}
    off = [f"{index} of {table}" for index, table in session.rows("indexes", OFF)]
    version = next(iter(session.row("the version", VERSION)), None)
    return InspectionResult(
        version=f"Firebird {version}",
        facts=facts,
        statistics=None,
        listed={"indexes_off": off} if off else {},
        notes=session.refused,
        scans_said=NO_SCANS,
    )


def count_pages(instance: ForeignInstance, result: InspectionResult, within_s: float | None = None) -> InspectionResult:
    """With what gstat counts; with the reason where the server does not let it, or would take longer."""
    assert isinstance(instance, FirebirdByUrlInstance)
    size = number(str(result.facts["database_bytes"]))
    if within_s is not None and size > within_s * BYTES_PER_S:  # it cannot be ended once it has begun
        why = f"the server would read {size / 1e6:,.0f} MB for them; acidtest inspect has it do that"
        return replace(result, statistics_said=why)
    limit_s = ANSWER_S + size / SLOW_BYTES_PER_S if within_s is None else within_s
    try:
        output = instance.gstat(limit_s)
        if output.damaged:
            passing, output = output.damaged, instance.gstat(limit_s)
            if output.damaged != passing:
                result = replace(result, notes=[*result.notes, PASSING.format(passing)])
                output = replace(output, damaged="")
        statistics = of_gstat(output, SOURCE).model_copy(update={"bytes": size})
    except CellFailed as error:
        may_not = MAY_NOT in error.message
        return replace(result, statistics_said=NO_RIGHT if may_not else f"the server's gstat says: {error.message}")
    except (KeyError, ValueError) as error:
        return replace(result, statistics_said=f"what the server's gstat says cannot be read ({error})")
    facts = {**result.facts, **_facts(output)}
    return replace(result, statistics=statistics, facts=facts, damaged=output.damaged)


def _facts(output: gstat.Output) -> dict[str, Scalar]:
    def of_all(words: str) -> list[int]:
        return [int(table.figures.get(words, 0)) for table in output.tables]

    return {
        "fragments": sum(of_all("total fragments")),
        "fragmented_records_max": max(of_all("max fragments"), default=0),
        "blob_bytes": sum(of_all("total length")),
    }


SERVER_INSPECTION = ServerInspection(inspect, (), count_pages)
