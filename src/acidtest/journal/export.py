"""A journal as a flat table: one row a recording, units in the column names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from acidtest.journal.models import Journal, Recording


def table(journal: Journal) -> pa.Table:
    """All recordings, in the order of the journal; a figure that a recording does not have is null."""
    rows = [_flat(recording) for recording in journal.recordings]
    names = list(dict.fromkeys(name for row in rows for name in row))
    return pa.table({name: [row.get(name) for row in rows] for name in names})


def to_csv(journal: Journal, path: Path) -> None:
    """Write ``path`` as CSV with a header line."""
    pa.csv.write_csv(table(journal), path)


def to_parquet(journal: Journal, path: Path) -> None:
    """Write ``path`` as Parquet."""
    pa.parquet.write_table(table(journal), path)


def _flat(recording: Recording) -> dict[str, Any]:
    row: dict[str, Any] = {"cell": recording.cell}
    row |= {f"level_{factor}": level for factor, level in recording.levels.items()}
    row |= {
        "repetition": recording.repetition,
        "order": recording.order,
        "seed": recording.seed,
        "status": recording.status,
        "reason": recording.reason,
        "started_at": recording.started_at,
        "ended_at": recording.ended_at,
        "durability": recording.durability,
        "engine": recording.engine.id if recording.engine else None,
        "engine_version": recording.engine.version if recording.engine else None,
        "filesystem": recording.place.filesystem,
        "device": recording.place.device,
        "mount_options": recording.place.mount_options,
        "write_cache": recording.place.write_cache,
        "scheduler": recording.place.scheduler,
        "cpu_model": recording.machine.cpu_model,
        "kernel": recording.machine.kernel,
        "database_bytes": recording.database_bytes,
    }
    if (result := recording.result) is not None:
        row |= {
            "terminals": result.terminals,
            "threads": result.threads or None,
            "warmup_s": result.warmup_s,
            "measured_s": result.measured_s,
            "throughput_per_s": result.throughput_per_s,
            "goodput_per_s": result.goodput_per_s,
            "new_order_per_min": result.new_order_per_min,
            **{name: getattr(result.counts, name) for name in ("committed", "rolled_back", "conflicts", "retries")},
            **{name: getattr(result.counts, name) for name in ("given_up", "errors")},
            "latency_ms_mean": result.latency.mean_ns / 1e6,
            "latency_ms_max": result.latency.max_ns / 1e6,
            "cpu_user_s": result.cpu.process_user_s,
            "cpu_system_s": result.cpu.process_system_s,
            "generator_us_per_transaction": result.cpu.generator_us_per_transaction,
            "session_us_per_transaction": result.cpu.session_us_per_transaction,
        }
        for kind in result.kinds:
            counted = ("committed", "rolled_back", "conflicts", "given_up", "errors")
            row |= {f"{kind.name}_{name}": getattr(kind, name) for name in counted}
            row[f"{kind.name}_latency_ms_mean"] = kind.latency.mean_ns / 1e6
        if result.arrivals:
            row |= {f"arrivals_{name}": value for name, value in result.arrivals.model_dump().items()}
    if (cut := recording.cut) is not None:
        row |= {
            "verdict": cut.verdict,
            "verdict_reason": cut.reasons[0] if cut.reasons else None,
            **{name: getattr(cut, name) for name in ("failure", "drive", "after_failed_flush", "at_s", "cycle_s")},
            **{name: getattr(cut, name) for name in ("kept_bytes", "lost_bytes", "torn_writes")},
            **{name: getattr(cut, name) for name in ("filesystem_check", "filesystem_repaired")},
            **{name: getattr(cut, name) for name in ("filesystem_recovery_s", "engine_recovery_s")},
            "integrity": cut.integrity.holds if cut.integrity else None,
        }
        if cut.fate:
            row |= {f"commits_{name}": getattr(cut.fate, name) for name in ("acknowledged", "present", "lost")}
            row |= {"commits_unacknowledged": cut.fate.unacknowledged, "transactions_torn": cut.fate.torn}
        if cut.states:
            row |= {f"crash_states_{name}": value for name, value in cut.states.model_dump().items()}
    if (load := recording.load) is not None:
        row |= {
            "load_rows": load.rows,
            "load_s": load.seconds,
            "load_sessions": load.sessions,
            "load_rows_per_s": load.rows_per_s,
            "load_mb_per_s": load.mb_per_s,
        }
    row |= {f"setting_{s.name}": s.in_force for s in recording.settings}
    return row
