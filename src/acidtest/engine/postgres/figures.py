"""Where PostgreSQL stands, by its own statistics views; chapter "The Cumulative Statistics System" of its manual.

Columns of ``pg_stat_bgwriter`` come by their names, whatever a version has of them: those of checkpoints moved to
``pg_stat_checkpointer`` in 17. What the role may not see is not told, rather than told as 0: the checkpointer is
always there, so that a role that does not see it sees no other process of the server's own either.

What the sessions of the terminals' role in its database wait for is told session by session: those at work, and of
these how many were in each of ``WAITS``. Their names differ from version to version in capitals, underlines and a
"Lock" at the end.
"""

from __future__ import annotations

from acidtest.engine.instruments import Figure, Figures
from acidtest.journal.models import AT_WORK, AT_WORK_IN

OF_WRITER = (
    "select e.key, e.value from pg_stat_bgwriter b cross join lateral jsonb_each_text(to_jsonb(b)) e "
    "where e.key <> 'stats_reset'"
)
OF_CHECKPOINTER = (
    "select v.name, v.figure::text from pg_stat_checkpointer c cross join lateral "
    "(values ('checkpoints_timed', c.num_timed), ('checkpoints_req', c.num_requested), "
    "('buffers_checkpoint', c.buffers_written)) v (name, figure)"
)
OF_LOG = (
    "select v.name, v.figure::text from pg_stat_wal w cross join lateral "
    "(values ('wal_fpi', w.wal_fpi), ('wal_buffers_full', w.wal_buffers_full)) v (name, figure)"
)
OF_PROCESSES = (
    "select v.name, v.figure::text from (select "
    "count(*) filter (where backend_type = 'checkpointer') as visible, "
    "count(*) filter (where backend_type = 'checkpointer' and wait_event is distinct from 'CheckpointerMain') as c, "
    "count(*) filter (where backend_type = 'autovacuum worker') as a, "
    "count(*) filter (where backend_type = 'client backend' and wait_event_type = 'Lock') as l, "
    "count(*) filter (where backend_type = 'client backend' and wait_event_type = 'LWLock') as w, "
    "count(*) filter (where backend_type = 'client backend' and wait_event_type = 'IO') as i "
    "from pg_stat_activity where pid <> pg_backend_pid()) s cross join lateral (values "
    "('checkpointer_at_work', case when visible > 0 then c end), "
    "('autovacuum_workers', case when visible > 0 then a end), "
    "('waiting_for_locks', l), ('waiting_for_lwlocks', w), ('waiting_for_io', i), "
    "('wal_bytes', pg_current_wal_insert_lsn() - '0/0'::pg_lsn)) v (name, figure)"
)

WAITS = {
    "IO": ("WALSync", "WALWrite", "DataFileRead", "DataFileWrite", "DataFileExtend", "DataFileFlush", "DataFileSync",
           "BufFileRead", "BufFileWrite", "SLRURead", "SLRUWrite", "SLRUSync"),
    "LWLock": ("WALWrite", "WALInsert", "BufferContent", "BufferMapping", "LockManager", "ProcArray", "XactSLRU",
               "XactBuffer"),
    "Lock": ("transactionid", "tuple", "relation", "extend", "advisory"),
    "IPC": ("SyncRep", "ProcArrayGroupUpdate", "XactGroupUpdate"),
    "Client": ("ClientRead", "ClientWrite"),
    "Timeout": ("PgSleep", "SpinDelay"),
}  # fmt: skip
PROCESSOR, OTHER = "processor", "other waits"  # of a session that waits for nothing that the server knows of


def _label(kind: str, event: str) -> str:
    return f"{event} ({kind})" if kind in ("LWLock", "Lock") else event


_KNOWN = ", ".join(
    f"('{kind}', '{event.lower()}', '{_label(kind, event)}')" for kind, events in WAITS.items() for event in events
)
_AT_WORK = (
    "with a as (select coalesce(wait_event_type, '') as kind, "
    "regexp_replace(replace(lower(coalesce(wait_event, '')), '_', ''), 'lock$', '') as event from pg_stat_activity "
    "where pid <> pg_backend_pid() and backend_type = 'client backend' and state = 'active' "
    "and datname = current_database() and usename = current_user)"
)
OF_SESSIONS = (
    f"{_AT_WORK} select '{AT_WORK_IN}' || "  # noqa: S608 - all of it is ours
    f"coalesce(k.label, case a.kind when '' then '{PROCESSOR}' else '{OTHER}' end), "
    f"count(*)::text from a left join (values {_KNOWN}) k (kind, event, label) "
    "on k.kind = a.kind and k.event = a.event "
    f"group by 1 union all select '{AT_WORK}', count(*)::text from a"
)

TABLE = (
    Figure("checkpoints_timed", "checkpoints begun for the time"),
    Figure("checkpoints_req", "checkpoints begun for the size of the log, or asked for"),
    Figure("checkpointer_at_work", "checkpointers at work", rises=False),
    Figure("buffers_checkpoint", "buffers written by checkpoints"),
    Figure("buffers_clean", "buffers written by the background writer"),
    Figure("buffers_backend", "buffers written by sessions"),  # before 17
    Figure("wal_bytes", "log written", unit="bytes"),
    Figure("wal_fpi", "whole pages in the log"),
    Figure("wal_buffers_full", "times that the log's buffers were full"),
    Figure("autovacuum_workers", "autovacuum workers at work", rises=False),
    Figure("waiting_for_locks", "sessions that wait for a lock", rises=False),
    Figure("waiting_for_lwlocks", "sessions that wait for a lock in the server's memory (LWLock)", rises=False),
    Figure("waiting_for_io", "sessions that wait for a read or a write", rises=False),
    Figure(AT_WORK, "sessions of this role at work", rises=False),
    *(
        Figure(f"{AT_WORK_IN}{label}", f"sessions of this role in {label}", rises=False)
        for label in (PROCESSOR, *(_label(kind, event) for kind, events in WAITS.items() for event in events), OTHER)
    ),
)


def of_version(major: int | None) -> Figures:
    """What a version is asked for; None where it is not known, as of a server by URL."""
    questions = [OF_WRITER, OF_PROCESSES, OF_SESSIONS]
    views = ["pg_stat_bgwriter", "pg_stat_activity"]
    if major is not None and major >= 14:
        questions.append(OF_LOG)
        views.append("pg_stat_wal")
    if major is not None and major >= 17:
        questions.append(OF_CHECKPOINTER)
        views.append("pg_stat_checkpointer")
    return Figures(", ".join(views), questions, TABLE)
