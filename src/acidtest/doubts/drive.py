"""What a recording knows of the drive beneath its database: how often it turns at most."""

from __future__ import annotations

from acidtest.analysis.expected_loss import BACKED, CACHE_OFF
from acidtest.doubts.flushes import VIRTUAL_WORDS
from acidtest.drives import TURNS_PER_S_COMMON, TURNS_PER_S_MOST
from acidtest.filesystems import WITHOUT_FLUSHES
from acidtest.journal.models import Machine, PlaceFacts

ROTATING = "rotating"  # the timing of a simulated disk that turns
RPM = "rpm "  # its parameter, as the place's facts write it
UNKNOWN = "unknown"
CONTROLLER_WORDS = ("raid", "perc", "array", "logical volume", "virtual disk")  # of models; these may have a battery


def turns_per_s(place: PlaceFacts, machine: Machine) -> tuple[float, str] | None:
    """How often the drive turns a second at most, and the fact that says so; None where that is not known.

    A simulated disk turns as often as it was told to. A real one does not say how often, so it is taken for one of the
    fastest, with 15,000 turns a minute. A write cache that keeps its content makes turns meaningless, so nothing is
    known unless the drive itself says that its cache is volatile; nor of what a virtual machine or a controller calls a
    drive, of an image (whose drive's cache is not in its recording), of a mapped device or an array (which may have a
    fast drive among them), and of a file system whose journal lies elsewhere.
    """
    if place.disk:
        timing, *details = place.disk.split(", ")
        if timing != ROTATING or BACKED in details:
            return None
        rpm = next((float(one.removeprefix(RPM)) for one in details if one.startswith(RPM)), 60 * TURNS_PER_S_COMMON)
        return rpm / 60, f"simulated disk: {place.disk}"
    if place.kind not in ("directory", "device", "raw") or place.image or place.journal_device or place.in_memory:
        return None
    if place.rotational != "yes" or not has_volatile_cache(place) or place.device_model == UNKNOWN:
        return None
    if machine.virtualization != "none" or any(
        word in place.device_model.lower() for word in (*VIRTUAL_WORDS, *CONTROLLER_WORDS)
    ):
        return None
    return TURNS_PER_S_MOST, f"{place.device_model} ({place.device}): rotates, with a volatile write cache"


def has_volatile_cache(place: PlaceFacts) -> bool:
    """Whether the drive itself says that a power cut takes what is in its write cache."""
    if place.disk:
        return not {CACHE_OFF, BACKED} & set(place.disk.split(", "))
    return place.write_cache == "write back"


def without_barriers(place: PlaceFacts) -> str:
    """The mount option by which the file system sends its drive no flush, or that of the one beneath an image; ""
    where there is none."""
    mounted = place.mount_options.split(",")
    beneath = place.image_on.partition("(")[2].rstrip(")").replace(",", " ").split()
    return next((option for option in sorted(WITHOUT_FLUSHES) if option in mounted or option in beneath), "")
