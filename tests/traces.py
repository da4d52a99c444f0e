"""What Firebird's trace writes, as versions 3 to 5 were seen to; times, numbers and names are ours."""

from __future__ import annotations

HEADER = (
    "Table                              Natural     Index    Update    Insert    Delete   Backout     Purge   Expunge\n"
    + "*" * 112
    + "\n"
)


def counts(table: str, **columns: int) -> str:
    names = ("natural", "index", "update", "insert", "delete", "backout", "purge", "expunge")
    return table.ljust(32) + "".join(f"{columns[name]:10d}" if columns.get(name) else " " * 10 for name in names) + "\n"


def record(event: str, *, attachment: int = 7, at: str = "2026-11-23T17:11:20.4520", body: str = "") -> str:
    return (
        f"{at} (9655:0x7f5f040ed040) {event}\n"
        f"\t/data/cell/database.fdb (ATT_{attachment}, SYSDBA:NONE, UTF8, <internal>)\n"
        "\t\t(TRA_75, READ_COMMITTED | READ_CONSISTENCY | WAIT | READ_WRITE)\n"
        f"{body}\n"
    )


def statement(
    text: str, *, event: str = "EXECUTE_STATEMENT_FINISH", parameters: str = "", perf: str = "      0 ms, 2 fetch(es)",
    rows: int = 0, tables: str = "", attachment: int = 7, at: str = "2026-11-23T17:11:20.4520",
) -> str:  # fmt: skip
    body = f"\nStatement 394:\n{'-' * 79}\n{text}\n"
    body += f"\n{parameters}\n\n" if parameters else ""
    body += f"{rows} records fetched\n{perf}\n" + (f"\n{HEADER}{tables}" if tables else "")
    return record(event, attachment=attachment, at=at, body=body)


INSERT = statement(
    "insert into history (tid, bid) values (?, ?)", parameters='param0 = integer, "5"\n...1 more arguments skipped...',
    perf="      1 ms, 3 read(s), 1 write(s), 12 fetch(es), 4 mark(s)", tables=counts("HISTORY", insert=1),
)  # fmt: skip
SELECT = statement(
    "select abalance\nfrom accounts\nwhere aid = ?", rows=1, tables=counts("ACCOUNTS", index=1) + counts("IDLE")
)
COMMIT = record("COMMIT_TRANSACTION", body="      7 ms, 4 write(s), 1 fetch(es), 1 mark(s)\n")
START = record("START_TRANSACTION")
FULL = "\n--- Session 1 is suspended as its log is full ---\n"
FAILED = statement("update t set a = ?", event="FAILED EXECUTE_STATEMENT_FINISH")
