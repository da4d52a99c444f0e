"""A data directory of a server in place of a configuration: its configuration is read, its data is not."""

from __future__ import annotations

from pathlib import Path

from acidtest.audit import importers


def test_of_a_data_directory_the_configuration_and_the_logs_alone_are_read(tmp_path: Path) -> None:
    for name in ("base/5", "global", "pg_wal", "pg_xact", "log", "pg_log", "conf.d"):
        (tmp_path / name).mkdir(parents=True)
    for number in range(30):
        (tmp_path / "base" / "5" / str(number)).write_bytes(bytes(100))
    (tmp_path / "postgresql.conf").write_text("shared_buffers = 64MB\n")
    (tmp_path / "conf.d" / "more.conf").write_text("fsync = off\n")
    (tmp_path / "log" / "postgresql.log").write_text("2026-01-01 00:00:00 UTC [1] LOG:  database system is ready\n")

    def named() -> set[str]:
        bench = importers.read(tmp_path)
        return {*bench.unread, *(name for name, _ in bench.read), *(one.file for one in bench.broken)}

    assert any(name.startswith("base/5/") for name in named()), "without its mark it is a directory like any other"
    (tmp_path / "PG_VERSION").write_text("17\n")
    assert not any(name.startswith(("base", "global", "pg_wal", "pg_xact")) for name in named())
    assert {"postgresql.conf", "conf.d/more.conf"} <= named()
    passed = {evidence.file: evidence.text for evidence in importers.read(tmp_path).passed}
    assert "holds a server's data" in passed["base"] and "log" not in passed
