"""Where a database lives, what storage that is, and the ledger of everything the lab made."""

from acidtest.place.directory import DirectoryPlace
from acidtest.place.facts import machine_facts, place_facts
from acidtest.place.ledger import Ledger, Leftover, leftovers, release_leftovers

__all__ = [
    "DirectoryPlace",
    "Ledger",
    "Leftover",
    "leftovers",
    "machine_facts",
    "place_facts",
    "release_leftovers",
]
