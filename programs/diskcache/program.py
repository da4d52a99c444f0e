"""A store with DiskCache, as acidtest powercut starts it: ``version``, ``load`` or ``check``."""

import os
import random
import signal
import sqlite3
import sys
from pathlib import Path

import diskcache

BYTES = int(os.environ.get("BYTES", "100"))


def value_of(item: str) -> bytes:
    """What is stored under the item: a torn value does not match it."""
    return random.Random(item).randbytes(BYTES)


def opened() -> diskcache.Cache:
    """The store on the disk that is cut."""
    return diskcache.Cache(os.environ["ACIDTEST_DATA"], sqlite_synchronous=int(os.environ["SYNCHRONOUS"]))


def load() -> None:
    """Set entry after entry, and print each once that has returned."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # the store is closed on the way out
    with opened() as store:
        for number in range(1, int(os.environ["ACIDTEST_COUNT"]) + 1):
            item = f"entry-{number}"
            store.set(item, value_of(item))
            print(item, flush=True)


def check() -> None:
    """Answer for each item. A database that is damaged says so itself."""
    items = Path(os.environ["ACIDTEST_ITEMS"]).read_text(encoding="utf-8").split()
    answers = []
    try:
        with opened() as store:
            for item in items:
                found = store.get(item)
                state = "missing" if found is None else "present" if found == value_of(item) else "torn"
                answers.append(f"{state} {item}")
    except sqlite3.DatabaseError as error:
        answers = [f"damaged {error}", *(f"missing {item}" for item in items)]
    print("\n".join(answers))


if __name__ == "__main__":
    match sys.argv[1]:
        case "version":
            print(f"DiskCache {diskcache.__version__}")
        case "load":
            load()
        case "check":
            check()
