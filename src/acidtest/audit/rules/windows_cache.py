"""Firebird and the file cache of Windows: how large it may grow, and who may limit it."""

from __future__ import annotations

from collections.abc import Iterator

from acidtest import settings
from acidtest.audit.bench import Bench, Side
from acidtest.audit.rules.builds import named
from acidtest.audit.rules.settings import held
from acidtest.finding import Evidence, Found, rule

STUDY = "D. Yemanov: Firebird vs Windows: file-system caching issue (2012); CORE-3791"
SERVICES = ("localsystem", "nt authority\\system", "administrator", ".\\administrator")
PRIVILEGE = "SeIncreaseQuotaPrivilege"
FIXED = ((2, 1, 5), (2, 5, 2))


def _windows(bench: Bench) -> list[Side]:
    return [
        side
        for side in bench.sides
        if side.engine == "firebird" and any(binary.system == "Windows" for binary in side.binaries)
    ]


def _limit(side: Side) -> tuple[int, Evidence] | None:
    """FileSystemCacheSize in percent, as somebody has set it or by default; 0 leaves the system as it is."""
    value, evidence = held(side, "filesystemcachesize")
    percent = settings.size(value) if value is not None else None
    return None if percent is None else (percent, evidence)


def _asks_random(side: Side) -> bool:
    """Whether this version opens files with FILE_FLAG_RANDOM_ACCESS: up to 2.1.4, and 2.5.0 and 2.5.1."""
    of = settings.numbers(side.version)[:3]
    return bool(of) and not any(of[:2] == fixed[:2] and of >= fixed for fixed in FIXED) and of < (2, 5, 2)


@rule(
    "random-access-flag",
    severity="doubtful",
    says="This version opens its files on Windows for random access: the file cache keeps every page and may drive "
    "all else out of memory.",
    remedy="2.1.5, 2.5.2 or later; to study it, place.access makes the same hint a factor.",
    disproved_by="the size of Windows' file cache while it was measured",
    source=STUDY,
)
def random_access_flag(bench: Bench) -> Iterator[Found]:
    for side in _windows(bench):
        if _asks_random(side):
            evidence = tuple(b.where.says(f"version {b.version or side.version}") for b in side.binaries)
            yield Found(f"{named(side)} asks Windows for random access to its files.", evidence)


@rule(
    "windows-cache-unlimited",
    severity="doubtful",
    says="The file cache of Windows has no limit, and this version makes it keep every page that it visits.",
    remedy="FileSystemCacheSize, a percentage of memory, from 2.5 on (2.5.0 and 2.5.1 set it to 30 themselves), or a "
    "version that does not ask for random access.",
    disproved_by="the size of Windows' file cache while it was measured",
    source=f"{STUDY}; firebird.conf of 2.5.1",
)
def windows_cache_unlimited(bench: Bench) -> Iterator[Found]:
    for side in _windows(bench):
        limit = _limit(side)
        if _asks_random(side) and side.configurations and not (limit and limit[0]):
            evidence = limit[1] if limit else side.configurations[0].where.says("2.1 has no FileSystemCacheSize")
            yield Found(f"{named(side)} leaves the file cache without a limit.", (evidence,))


@rule(
    "cache-limit-32-bit",
    severity="doubtful",
    says="A 32-bit build may ignore FileSystemCacheSize on 64-bit Windows: the limit is more than its calls can carry.",
    remedy="A 64-bit build.",
    disproved_by="the size of Windows' file cache while it was measured",
    source=STUDY,
)
def cache_limit_32_bit(bench: Bench) -> Iterator[Found]:
    for side in _windows(bench):
        limit = _limit(side)
        small = [binary for binary in side.binaries if binary.system == "Windows" and binary.bits == 32]
        if limit and limit[0] and small:
            evidence = (limit[1], *(binary.where.says("32-bit") for binary in small))
            yield Found(f"{named(side)} sets a limit that its build may ignore.", evidence)


@rule(
    "cache-limit-not-allowed",
    severity="doubtful",
    says=f"The limit of the file cache does not hold without {PRIVILEGE}, and the log need not say so.",
    remedy="Install the service with instsvc, which grants the privilege, or run it as LocalSystem; an application "
    "with an embedded engine must be started as administrator.",
    disproved_by="a list of the account's privileges that has it",
    source=STUDY,
)
def cache_limit_not_allowed(bench: Bench) -> Iterator[Found]:
    for side in _windows(bench):
        limit = _limit(side)
        if not limit or not limit[0] or any(one.privileges and PRIVILEGE in one.privileges for one in side.accounts):
            continue
        lacking = [one for one in side.accounts if one.privileges is not None]
        others = [one for one in side.accounts if one.name and one.name.lower() not in SERVICES]
        if lacking:
            evidence = tuple(one.where.says(f"{PRIVILEGE} is not listed") for one in lacking)
            yield Found(f"{named(side)} sets a limit that its account may not set.", (limit[1], *evidence))
        elif others:
            evidence = tuple(one.where.says(f"runs as {one.name}") for one in others)
            yield Found(f"{named(side)} sets a limit, and nothing shows that its account may.", (limit[1], *evidence))
