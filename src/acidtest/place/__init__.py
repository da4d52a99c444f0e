"""Where a database lives, what storage that is, and the ledger of everything the lab made."""

from acidtest.place.base import DirectoryPlace, Place
from acidtest.place.device_safety import admit
from acidtest.place.facts import drives_mounted, machine_facts, place_facts
from acidtest.place.guest.place import GuestPlace, Guests
from acidtest.place.ledger import Ledger, Leftover, leftovers, release_leftovers
from acidtest.place.making import check, check_machine, image_bytes, make, ready_guests

__all__ = [
    "DirectoryPlace",
    "GuestPlace",
    "Guests",
    "Ledger",
    "Leftover",
    "Place",
    "admit",
    "check",
    "check_machine",
    "drives_mounted",
    "image_bytes",
    "leftovers",
    "machine_facts",
    "make",
    "place_facts",
    "ready_guests",
    "release_leftovers",
]
