"""MySQL and MariaDB, private servers."""

from __future__ import annotations

from families.base import Family

FAMILY = Family(
    family="mysql",
    private=("mariadb-10.11", "mysql-5.5"),  # Debian's, or brought as the other is
    dialects=("mariadb-10.11", "mysql-5.5"),
    asked={
        "innodb_buffer_pool_mb": 64, "sort_buffer_mb": 3, "innodb_log_file_mb": 16, "innodb_flush_method": "O_DSYNC",
        "innodb_doublewrite": False, "log_bin": True, "sync_binlog": 1, "innodb_io_capacity": 300,
        "isolation": "repeatable_read", "innodb_lock_wait_timeout_s": 7, "connection": "tcp",
    },
    asked_of_newer={
        "innodb_page_size": {"innodb_page_size": 8192, "innodb_flush_neighbors": 0},
        "innodb_log_file_buffering": {"innodb_log_file_buffering": True},
    },
    lie=("innodb_flush_log_at_trx_commit", "0"),
    contradiction={"innodb_flush_log_at_trx_commit": 0},
    discard="set autocommit = 0",
)  # fmt: skip
