"""MySQL and MariaDB, private servers."""

from __future__ import annotations

from builds import Build, brought
from families.base import Family

FAMILY = Family(
    family="mysql",
    private=("mariadb-10.11", "mariadb-11.8", "mysql-5.5", "mysql-9.7"),  # the first is Debian's where it is installed
    typical=("mariadb-10.11", "mysql-9.7"),
    builds={"built-mariadb-11.8": Build("mariadb", brought("mariadb-11.8"))},
    dialects=("mariadb-10.11", "mysql-5.5", "mysql-9.7"),
    asked={
        "innodb_buffer_pool_mb": 64, "sort_buffer_mb": 3,
        "innodb_doublewrite": False, "log_bin": True, "sync_binlog": 1, "innodb_io_capacity": 300,
        "isolation": "repeatable_read", "innodb_lock_wait_timeout_s": 7,
    },
    asked_of_newer={
        "port": {"connection": "tcp"},
        "innodb_log_file_mb": {"innodb_log_file_mb": 16},
        "innodb_redo_log_capacity_mb": {"innodb_redo_log_capacity_mb": 16},
        "innodb_flush_method": {"innodb_flush_method": "O_DSYNC"},
        "innodb_page_size": {"innodb_page_size": 8192, "innodb_flush_neighbors": 0},
        "innodb_log_file_buffering": {"innodb_log_file_buffering": True},
        "innodb_snapshot_isolation": {"innodb_snapshot_isolation": True},
        "tls": {"tls": True},
    },
    lie=("innodb_flush_log_at_trx_commit", "0"),
    contradiction={"innodb_flush_log_at_trx_commit": 0},
    discard="set autocommit = 0",
    empties=("drop database acidtest", "create database acidtest"),
    rises="Innodb_os_log_written",
    untold={"mysql-5.5": ("Innodb_checkpoint_age", "Innodb_history_list_length")},
)  # fmt: skip
