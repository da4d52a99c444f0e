"""A store with dbm.gnu, as acidtest powercut starts it: ``version``, ``load`` or ``check``."""

import dbm.gnu
import hashlib
import os
import platform
import signal
import sys
from pathlib import Path

FILE = Path(os.environ.get("ACIDTEST_DATA", "."), "store.gdbm")


def value_of(item: str) -> bytes:
    """What is stored under the item: a torn value does not match it."""
    return hashlib.sha256(item.encode()).hexdigest().encode() * 4


def load() -> None:
    """Store item after item, and print each once it is stored, and synchronised where that is asked for."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # the database is closed on the way out
    synced = os.environ["SYNC"] == "yes"
    with dbm.gnu.open(str(FILE), "c") as store:
        for number in range(1, int(os.environ["ACIDTEST_COUNT"]) + 1):
            item = f"key-{number}"
            store[item] = value_of(item)
            if synced:
                store.sync()
            print(item, flush=True)


def check() -> None:
    """Answer for each item. A database that is damaged says so itself; one that is not there has lost all of them."""
    items = Path(os.environ["ACIDTEST_ITEMS"]).read_text(encoding="utf-8").split()
    answers = [f"missing {item}" for item in items]
    if FILE.exists():
        try:
            with dbm.gnu.open(str(FILE), "r") as store:
                answers = [f"{state_of(item, store.get(item))} {item}" for item in items]
        except (dbm.gnu.error, OSError) as error:
            answers.append(f"damaged {error}")
    print("\n".join(answers))


def state_of(item: str, found: bytes | None) -> str:
    """What an answer says of an item of which this was found."""
    if found is None:
        return "missing"
    return "present" if found == value_of(item) else "torn"


if __name__ == "__main__":
    match sys.argv[1]:
        case "version":
            print(f"Python {platform.python_version()} dbm.gnu")
        case "load":
            load()
        case "check":
            check()
