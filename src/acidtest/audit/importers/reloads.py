"""Scripts that change what PostgreSQL reads only when it starts, and then reload it."""

from __future__ import annotations

from collections.abc import Sequence

from acidtest.audit.bench import Statement
from acidtest.audit.importers.file import File, Importer
from acidtest.formats import linear

BYTES_MAX = 1 << 20
LINE_MAX = 1_000
# Context "postmaster" in pg_settings, of 9.6 to 18.
POSTMASTER = linear.compile(
    r"archive_mode|autovacuum_freeze_max_age|autovacuum_max_workers|autovacuum_multixact_freeze_max_age|"
    r"autovacuum_worker_slots|commit_timestamp_buffers|data_sync_retry|debug_io_direct|"
    r"dynamic_shared_memory_type|hot_standby|huge_page_size|huge_pages|io_max_concurrency|io_method|"
    r"jit_provider|listen_addresses|logging_collector|max_connections|max_files_per_process|"
    r"max_locks_per_transaction|max_logical_replication_workers|max_pred_locks_per_transaction|"
    r"max_prepared_transactions|max_replication_slots|max_wal_senders|max_worker_processes|"
    r"min_dynamic_shared_memory|multixact_member_buffers|multixact_offset_buffers|notify_buffers|"
    r"old_snapshot_threshold|port|reserved_connections|serializable_buffers|shared_buffers|"
    r"shared_memory_type|shared_preload_libraries|subtransaction_buffers|superuser_reserved_connections|"
    r"track_activity_query_size|track_commit_timestamp|transaction_buffers|wal_buffers|"
    r"wal_decode_buffer_size|wal_level|wal_log_hints"
)
SETS = linear.compile(r"\bALTER\s{1,20}SYSTEM\s{1,20}SET\s{1,20}\"?(\w{1,63})\"?\s{0,20}(?:=|\bTO\b)", linear.I)
RELOADS = linear.compile(r"\bpg_reload_conf\s{0,9}\(|\breload\b", linear.I)
STARTS = linear.compile(r"\b(?:restart|pg_ctl\b.{0,200}\bstart|start\s{1,9}postgres|up -d)\b", linear.I)


def _read(file: File) -> Sequence[Statement] | None:
    if file.size > BYTES_MAX or b"\0" in file.head or "alter system" not in file.low:
        return None
    changed: list[Statement] = []
    waits: list[Statement] = []  # for a start, after a reload
    for at, line in enumerate(file.lines, start=1):
        low = line[:LINE_MAX].strip()
        if low.startswith(("#", "--", "//")):
            continue
        if STARTS.search(low):
            changed, waits = [], []
            continue
        changed += [
            Statement(file.at(at), "reloaded", name.lower())
            for name in SETS.findall(low)
            if POSTMASTER.fullmatch(name.lower())
        ]
        if RELOADS.search(low):
            waits, changed = [*waits, *changed], []
    return waits or None


IMPORTER = Importer("text", _read, beside=True)
