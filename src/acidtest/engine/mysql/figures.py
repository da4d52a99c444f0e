"""Where InnoDB stands, by the server's status variables.

``show global status`` needs no privilege and is there in every version. MySQL tells the length of the history list and
the age of the checkpoint elsewhere: they come under the names that MariaDB has for them.
"""

from __future__ import annotations

from acidtest.engine.instruments import Figure, Figures

TABLE = (
    Figure("Innodb_buffer_pool_pages_dirty", "dirty pages", rises=False),
    Figure("Innodb_buffer_pool_pages_flushed", "pages flushed"),
    Figure("Innodb_buffer_pool_wait_free", "waits for a free page"),
    Figure("Innodb_checkpoint_age", "log since the checkpoint", rises=False, unit="bytes"),
    Figure("Innodb_os_log_written", "log written", unit="bytes"),
    Figure("Innodb_log_waits", "waits for room in the log's buffer"),
    Figure("Innodb_history_list_length", "history list (what purge has not removed yet)", rises=False),
    Figure("Innodb_row_lock_current_waits", "transactions that wait for a row lock", rises=False),
    Figure("Threads_running", "sessions at work, this one included", rises=False),
)
STATUS = f"show global status where variable_name in ({', '.join(repr(figure.name) for figure in TABLE)})"
# Status variables of MySQL since 8.0.30; before, the age is not told. Without such rows it is null.
AGE = (
    "select 'Innodb_checkpoint_age', "
    "max(case variable_name when 'Innodb_redo_log_current_lsn' then variable_value end) "
    "- max(case variable_name when 'Innodb_redo_log_checkpoint_lsn' then variable_value end) "
    "from performance_schema.global_status "
    "where variable_name in ('Innodb_redo_log_current_lsn', 'Innodb_redo_log_checkpoint_lsn')"
)
HISTORY = (
    "select 'Innodb_history_list_length', count from information_schema.innodb_metrics "
    "where name = 'trx_rseg_history_len'"
)


def of_engine(engine_id: str) -> Figures:
    """What an engine of this id is asked for; of a server by URL what every version has."""
    if engine_id.startswith("mysql-") and engine_id != "mysql-5.5":
        questions = [STATUS, HISTORY, *([AGE] if engine_id != "mysql-5.7" else [])]
        return Figures("global status, INNODB_METRICS", questions, TABLE)
    return Figures("global status", [STATUS], TABLE)
