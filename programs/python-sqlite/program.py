"""A till on sqlite3, as acidtest powercut starts it: ``load`` or ``check``."""

import os
import sqlite3
import sys
from pathlib import Path

FILE = Path(os.environ["ACIDTEST_DATA"], "till.db")


def load() -> None:
    """Commit sale after sale, and print each once it is committed."""
    till = sqlite3.connect(FILE)
    till.execute("PRAGMA journal_mode = WAL")
    till.execute(f"PRAGMA synchronous = {os.environ['SYNCHRONOUS']}")
    till.execute("CREATE TABLE IF NOT EXISTS sale (name TEXT PRIMARY KEY, content TEXT)")
    for number in range(1, int(os.environ["ACIDTEST_COUNT"]) + 1):
        name = f"sale-{number}"
        with till:  # commits
            till.execute("INSERT INTO sale VALUES (?, ?)", (name, f"content of {name}"))
        print(name, flush=True)


def check() -> None:
    """Answer for each item. A power cut may have taken the table, or all of the file: then every sale is missing."""
    items = Path(os.environ["ACIDTEST_ITEMS"]).read_text(encoding="utf-8").split()
    there: dict[str, str] = {}
    if FILE.exists():
        try:
            till = sqlite3.connect(FILE)
            if till.execute("SELECT 1 FROM sqlite_master WHERE name = 'sale'").fetchone():
                there = dict(till.execute("SELECT name, content FROM sale"))
            for (said,) in till.execute("PRAGMA integrity_check"):
                if said != "ok":
                    print(f"damaged {said}")
        except sqlite3.DatabaseError as error:
            print(f"damaged {error}")
    for item in items:
        state = "missing" if item not in there else "present" if there[item] == f"content of {item}" else "torn"
        print(f"{state} {item}")


if __name__ == "__main__":
    {"load": load, "check": check}[sys.argv[1]]()
