"""Where the time goes: each possible bottleneck held against the figures that there are. Pure.

A bottleneck is ``likely`` or ``unlikely`` only by a figure beyond a threshold, which is told with its source. It is
``possible`` where what is known makes it one and no figure here can show it, ``cannot tell`` where the figures do not
decide, and ``not looked at`` where there are none. Nothing that is missing is ever taken for good.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from acidtest.analysis import power, yardsticks
from acidtest.analysis.compare import Judged, judge
from acidtest.analysis.summary import Summary, median, ratio, summarise
from acidtest.filesystems import IN_MEMORY, WITHOUT_FLUSHES
from acidtest.journal.diagnosis import DURABLE, is_reference
from acidtest.words import counted, three_digits

Standing = Literal["likely", "possible", "cannot tell", "unlikely", "not looked at"]
STANDINGS: tuple[Standing, ...] = ("likely", "possible", "cannot tell", "unlikely", "not looked at")
Name = Literal[
    "the drive's flush", "the file system", "memory and cache", "the configuration", "the engine's log",
    "the database inside", "the processor",
]  # fmt: skip

FLUSH_LIKELY = 0.5  # of a commit's time: without it a commit would take half
FLUSH_UNLIKELY = 0.2  # below, a flush that costs nothing would make commits a quarter faster at most
AMDAHL = (
    "Amdahl, AFIPS Spring Joint Computer Conference 30 (1967) 483: a part of the time bounds what its removal gains"
)
APPEND_LIKELY = 4.0  # times an overwrite
APPEND_SOURCE = (
    "counted on a simulated disk: a synced append is 3 writes and 2 flushes on ext4, 2 and 2 on xfs, 7 and 2 on btrfs, "
    "where an overwrite is 1 and 1"
)
FULL = 0.95  # of the file system
FULL_SOURCE = "mke2fs(8), -m: 5 % are kept free against fragmentation"
CACHE_SMALL = 0.1  # of the database
CACHE_SOURCE = (
    "a threshold of acidtest; PostgreSQL's manual begins with a quarter of the memory (shared_buffers), MySQL's with "
    "up to 80 % of it (innodb_buffer_pool_size)"
)
MORE = "Give it more --minutes."
APART = 5.0  # times the median of a commit's time that its mean is: then both are told
STOLEN_POSSIBLE = 0.05  # of the processors' time
STOLEN_SOURCE = "proc_stat(5), steal; the share is a threshold of acidtest"
CONFIGURATION_LIKELY = 0.8  # of the rate under the reference
CONFIGURATION_SOURCE = (
    "Mann-Whitney with Holm's correction, p at most 0.05 (acidtest help docs/ANALYSIS.md); the fifth is a threshold of "
    "acidtest"
)

SYNCHRONOUS = ("sync", "dirsync")
NETWORK = frozenset(
    ("nfs", "nfs4", "cifs", "smb3", "smbfs", "ceph", "glusterfs", "fuse.glusterfs", "lustre", "afs", "9p", "virtiofs",
     "fuse.sshfs", "ocfs2", "gfs2", "beegfs")
)  # fmt: skip
STACKED = frozenset(("overlay", "aufs", "fuse.mergerfs", "ecryptfs"))
COPY_ON_WRITE = frozenset(("btrfs", "zfs", "bcachefs"))
NOT_COPIED = ("nodatacow",)
LAYERS = {"mapped": "a mapped device (LVM or dm-crypt)", "array": "an array", "loop": "a loop device over a file"}


@dataclass(frozen=True)
class Storage:
    """What lies beneath the database."""

    filesystem: str
    mount_options: tuple[str, ...]
    free_bytes: int
    all_bytes: int | None  # of the file system; None: not known
    devices: tuple[str, ...] = ()  # kinds of what lies beneath it: "partition", "mapped", "disk"
    rotational: str = ""  # as its disk reports: "yes", "no"; "" where there is none, or several


@dataclass(frozen=True)
class Probed:
    """What the probe measured, one figure a repetition."""

    verdict: str  # of ``acidtest.doubts.flushes``
    flush_us: Sequence[float]  # of fdatasync alone, after an overwrite
    overwrite_us: Sequence[float]  # a block that is overwritten and flushed
    append_us: Sequence[float]  # a block that is appended and flushed; none where that was not measured


@dataclass(frozen=True)
class Ran:
    """One workload under one configuration, one figure a repetition that counts."""

    workload: str  # "commits"
    configuration: str  # "found", "defaults", "found-durable", "found, 128 MiB cache", "reference: 128 MiB cache"
    level: str  # of durability
    rates: Sequence[float]  # commits a second
    commit_us: Sequence[float]  # median time of a transaction
    flushes: Sequence[float] = ()  # of the device, for each commit; none where they are not counted
    at_work: Sequence[float] = ()  # share of the measured time in which the device had a request; none as above
    database: int | None = None  # bytes of the scratch database when it began

    @property
    def is_reference(self) -> bool:
        return is_reference(self.configuration)


@dataclass(frozen=True)
class Sizes:
    """Bytes; None where it is not known."""

    memory: int
    database: int | None = None
    cache: int | None = None  # of the engine, as it is configured
    cell_cache: int | None = None  # the same in the cells, which may have had less


@dataclass(frozen=True)
class Processor:
    deflate_mb_per_s: float
    stolen: float  # share of the time


@dataclass(frozen=True)
class Figures:
    """All that is known. None: that part was not looked at, and ``why`` says by its name why."""

    sizes: Sizes
    storage: Storage | None = None
    probed: Probed | None = None
    ran: Sequence[Ran] = ()
    log: Sequence[str] | None = None  # what the engine's log says that matters, one sentence each
    inside: Sequence[str] | None = None  # what is unusual inside the database
    severe: Sequence[str] = ()  # what puts data at risk, one sentence each
    processor: Processor | None = None
    why: Mapping[Name, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)  # what each configuration of the cells sets
    durably: str = "With commits that wait for the drive"  # how the settings that were found are made to


@dataclass(frozen=True)
class Shown:
    text: str
    figure: Summary | None = None
    verdict: str = ""


@dataclass(frozen=True)
class Bottleneck:
    name: Name
    standing: Standing
    says: str  # one or two sentences
    figures: tuple[str, ...] = ()
    threshold: str = ""
    source: str = ""
    remedy: str = ""


@dataclass(frozen=True)
class Compared:
    """The rates of a workload under the configuration that was found, over those under the reference."""

    workload: str
    found: Ran
    reference: Ran
    ratio: Summary
    judged: Judged

    @property
    def alike(self) -> bool:
        return self.found.level == self.reference.level


@dataclass(frozen=True)
class Waited:
    """What waiting for the drive costs: the settings that were found beside the same ones, made to wait."""

    workload: str
    found: Ran
    durable: Ran
    ratio: Summary  # of the rates, found over durable

    def says(self, durably: str) -> str:
        rates = [median(one.rates) or 0.0 for one in (self.durable, self.found)]
        return (
            f"{durably} the rate of {self.workload} is {three_digits(rates[0])} a second; as it was found it is "
            f"{three_digits(rates[1])}, which is {_times(self.ratio)} as high."
        )


@dataclass(frozen=True)
class Answer:
    compared: tuple[Compared, ...]
    flush_share: Summary | None  # of a commit's time; None where it is not known
    bottlenecks: tuple[Bottleneck, ...]  # in the order of STANDINGS
    severe: tuple[str, ...] = ()  # what puts data at risk, first, and what else is severe
    waited: tuple[Waited, ...] = ()  # where commits do not wait for the drive as found, and were made to

    def of(self, standing: Standing) -> list[Bottleneck]:
        return [bottleneck for bottleneck in self.bottlenecks if bottleneck.standing == standing]

    @property
    def headline(self) -> str:
        """What is severe, then one sentence."""
        return " ".join([*(f"Severe: {one}" for one in self.severe), self._slow])

    @property
    def _slow(self) -> str:
        likely, possible = self.of("likely"), self.of("possible")
        if likely:
            return f"Likely: {_and(one.name for one in likely)}."
        if possible:
            return f"Nothing is shown to be the bottleneck; possible: {_and(one.name for one in possible)}."
        if self.of("unlikely"):
            return "No bottleneck is shown by what was looked at."
        return "Too little could be looked at for an answer."


def diagnose(figures: Figures) -> Answer:
    """Hold every bottleneck against the figures."""
    compared = tuple(_compared(figures.ran))
    share, were_counted = _flush_share(figures)
    waited = tuple(_waited(figures.ran))
    found = [
        _flush(figures, share, waited, were_counted=were_counted),
        _file_system(figures),
        _memory(figures),
        _configuration(figures, compared),
        _listed(
            "the engine's log",
            figures.log,
            figures,
            "Its log holds nothing that acidtest knows to cost time.",
            " or safety",
        ),
        _listed("the database inside", figures.inside, figures, "Nothing in it is known to cost time."),
        _processor(figures),
    ]
    found.sort(key=lambda one: STANDINGS.index(one.standing))
    return Answer(compared, share, tuple(found), tuple(figures.severe), waited)


def _not_looked(name: Name, figures: Figures) -> Bottleneck:
    return Bottleneck(name, "not looked at", figures.why.get(name, "It was not looked at."))


def _compared(ran: Sequence[Ran]) -> Iterator[Compared]:
    """Each workload's other configurations with the reference; all pairs form one family of Holm's."""
    pairs = [
        (one, other)
        for one in ran
        for other in ran
        if one.workload == other.workload and not one.is_reference and other.is_reference
    ]
    judged = judge([(one.rates, other.rates) for one, other in pairs])
    for (one, other), verdict in zip(pairs, judged, strict=True):
        yield Compared(one.workload, one, other, ratio(one.rates, other.rates), verdict)


def _waited(ran: Sequence[Ran]) -> Iterator[Waited]:
    """Each workload as it was found beside the same settings at level drive."""
    durable = {one.workload: one for one in ran if one.configuration == DURABLE and one.commit_us}
    for one in ran:
        if one.level != "drive" and not one.is_reference and (other := durable.get(one.workload)) is not None:
            yield Waited(one.workload, one, other, ratio(one.rates, other.rates))


def commits_of(ran: Sequence[Ran]) -> Ran | None:
    """The commits that are held against the probe: under the configuration that was found, else the other one."""
    commits = [one for one in ran if one.workload == "commits" and one.commit_us]
    return next((commit for commit in commits if not commit.is_reference), next(iter(commits), None))


def _flush_share(figures: Figures) -> tuple[Summary | None, bool]:
    """The time of a flush × flushes a commit, over the time of a commit; and whether the flushes were counted.

    Where they were not, one is taken, so that the share is a lower bound.
    """
    commits, probed = commits_of(figures.ran), figures.probed
    if commits is None or probed is None or commits.level != "drive" or not probed.flush_us:
        return None, False
    each = median(commits.flushes) or 0.0
    were_counted = each >= 0.5
    times = each if were_counted else 1.0
    return ratio([times * one for one in probed.flush_us], commits.commit_us), were_counted


def _flush(figures: Figures, share: Summary | None, waited: Sequence[Waited] = (), *, were_counted: bool) -> Bottleneck:
    name: Name = "the drive's flush"
    commits, probed = commits_of(figures.ran), figures.probed
    if commits is None or probed is None:
        return _not_looked(name, figures)
    flush, commit = summarise(probed.flush_us), summarise(commits.commit_us)
    each = median(commits.flushes) or 0.0
    said = [f"a flush, median: {_us(flush)}", f"a commit, median: {_us(commit)}", *_apart(commits)]
    if commits.level == "drive":
        said.append(_each(each, were_counted=were_counted))
    threshold = (
        f"likely from {FLUSH_LIKELY:.0%} of a commit's time, unlikely below {FLUSH_UNLIKELY:.0%}, or where "
        "it is as fast as drives are"
    )
    source = AMDAHL

    def is_(standing: Standing, says: str, remedy: str = "") -> Bottleneck:
        return Bottleneck(name, standing, says, tuple(said), threshold, source, remedy)

    if commits.level != "drive":
        says = "Commits do not wait for the drive: a power cut takes what was committed last."
        if one := next((one for one in waited if one.found == commits), None):
            return _made_to_wait(figures, one, is_("unlikely", says))
        return is_("unlikely", says)
    if share is None or share.median is None:
        return is_("cannot tell", "A flush could not be timed beside commits here.")
    part = f"By the probe's time of a flush, the flushes of a commit take {_times(share)} as long as it does."
    if not were_counted:
        part = f"One flush takes {_times(share)} as long as a commit; how many there are could not be counted."
    like = yardsticks.sentence(flush)
    if flush.median:
        said.append(like[:1].lower() + like[1:])
        source = "; ".join([AMDAHL, *(one.source for one in yardsticks.named(flush))])
        rotational = figures.storage.rotational if figures.storage else ""
        if contradicts := yardsticks.contradiction(rotational, flush):
            said.append(f"the device: {contradicts}")
    seen = summarise(commits.at_work) if commits.at_work else None
    if seen is not None:
        said.append(f"of the measured time the device was at work: {_percent(seen)}")
    if flush.median:
        most = 1e6 / (flush.median * (each if were_counted else 1.0))
        said.append(f"one session can commit about {three_digits(most)} times a second at most, by the flush alone")
    known = [one for one in (share, seen) if one is not None and one.median is not None]
    bounds = [one.interval for one in known if one.interval is not None]
    if len(bounds) < len(known):
        return is_("cannot tell", f"{part} There are too few repetitions for an interval: {share.reason}.")
    if any(bound.low >= FLUSH_LIKELY for bound in bounds) and all((one.median or 0) >= FLUSH_UNLIKELY for one in known):
        remedy = "Let several changes share a commit, or commits of several sessions share a flush"
        keep = "Not by giving up durability, unless its loss is accepted."
        most = yardsticks.KEEPS_CACHE.high_us
        if flush.interval and flush.interval.high <= most:
            says = f"{like}. It is not the reason: no other drive would be much faster; fewer flushes would help."
            return is_("unlikely", f"{says} {part}", f"{remedy}. {keep}")
        if flush.interval is None or flush.interval.low <= most:
            says = f"{like}. Whether another drive would be faster cannot be told. {part}"
            return is_("cannot tell", says, f"Repeat it while the machine is idle. {remedy}. {keep}")
        says = f"{like}. It is the reason, unless other programs flush beside it. {part}"
        return is_("likely", says, f"{remedy}; or a drive whose cache survives a power cut. {keep}")
    if seen and seen.interval and seen.interval.high < FLUSH_UNLIKELY and bounds[0].low >= FLUSH_LIKELY:
        says = "But the device itself was at work for a small part of the time: the wait is above it."
        remedy = "Look for other programs that flush, a busy processor, or a host that holds requests back."
        return is_("cannot tell", f"{part} {says}", remedy)
    if all(bound.high < FLUSH_UNLIKELY for bound in bounds) and were_counted:
        return is_("unlikely", part)
    return is_("cannot tell", f"{part} That does not decide.")


def _made_to_wait(figures: Figures, one: Waited, found: Bottleneck) -> Bottleneck:
    """What commits do not wait for as found, and what becomes of them when they do."""
    alone = replace(figures, ran=(one.durable,))
    share, were_counted = _flush_share(alone)
    then = _flush(alone, share, were_counted=were_counted)
    bottleneck = {"likely": "likely is", "unlikely": "is unlikely to be"}.get(then.standing, "may or may not be")
    says = f"{found.says} {one.says(figures.durably)} The drive's flush then {bottleneck} the bottleneck. {then.says}"
    lines = (*found.figures[1:], *(f"{one.durable.configuration}: {figure}" for figure in then.figures))
    return replace(found, says=says, figures=lines, source=then.source, remedy=then.remedy)


def _apart(ran: Ran) -> Iterator[str]:
    """Where few commits take most of the time, the mean, which is what a rate is of."""
    middle, rate = median(ran.commit_us), median(ran.rates)
    if middle and rate and (mean := 1e6 / rate) >= APART * middle:
        above = counted(mean / middle, "time", spec=".2g")
        yield (
            f"a commit, mean (of which the rate is): {three_digits(mean)} µs, {above} the median: most of the time "
            "went into few slow commits, or passed between commits"
        )


def _processor(figures: Figures) -> Bottleneck:
    name: Name = "the processor"
    if (seen := figures.processor) is None:
        return _not_looked(name, figures)
    lines = (
        f"one of its processors compresses {seen.deflate_mb_per_s:.0f} MB a second (zlib)",
        f"of their time the host took {seen.stolen:.1%} (steal)",
    )
    threshold = f"possible where the host takes {STOLEN_POSSIBLE:.0%} of the processors' time"
    if seen.stolen >= STOLEN_POSSIBLE:
        says = f"The host took {seen.stolen:.0%} of the processors' time: whatever runs here waited for it."
        remedy = "Ask whoever runs the host, or measure at another hour and compare (acidtest compare)."
        return Bottleneck(name, "possible", says, lines, threshold, STOLEN_SOURCE, remedy)
    says = "The host took little of it. Whether it is slow shows only beside another machine, or another time."
    remedy = "Keep this with --out, diagnose there too, and run acidtest compare."
    return Bottleneck(name, "cannot tell", says, lines, threshold, STOLEN_SOURCE, remedy)


def _each(each: float, *, were_counted: bool) -> str:
    if were_counted:
        return f"flushes of the device for each commit: {each:.2g} (those of other programs count too)"
    return "flushes for each commit: not counted by this device, taken as at least one"


def _file_system(figures: Figures) -> Bottleneck:
    name: Name = "the file system"
    if figures.storage is None:
        return _not_looked(name, figures)
    marks = list(_marks(figures.storage))
    probed = figures.probed
    said: list[str] = []
    decided = measured = False
    if layers := [LAYERS[device] for device in dict.fromkeys(figures.storage.devices) if device in LAYERS]:
        said.append(f"beneath it: {_and(layers)}, whose cost is within the probe's figures")
    if probed and probed.append_us and probed.overwrite_us:
        more = ratio(probed.append_us, probed.overwrite_us)
        decided = more.interval is not None and more.interval.high < APPEND_LIKELY
        measured = True
        said.append(f"a durable append: {_times(more)} a durable overwrite")
        if more.interval and more.interval.low >= APPEND_LIKELY:
            marks.append(
                Mark(
                    "likely",
                    "A file that grows costs many times what an overwrite costs: the file system's own journal.",
                    "Let files be made at their size (preallocation), or compare file systems.",
                    APPEND_SOURCE,
                )
            )
    threshold = f"likely where an append costs {APPEND_LIKELY:g} overwrites; nearly full from {FULL:.0%}"
    if not marks:
        says = f"{figures.storage.filesystem} is mounted without an option that is known to cost time."
        if not measured:
            return Bottleneck(
                name, "cannot tell", f"{says} What it adds to a flush was not measured.", tuple(said), threshold
            )
        if not decided:
            says += " What an append costs beside an overwrite varied too much to decide."
        return Bottleneck(name, "unlikely" if decided else "cannot tell", says, tuple(said), threshold, APPEND_SOURCE)
    worst = min((mark.standing for mark in marks), key=STANDINGS.index)
    return Bottleneck(
        name,
        worst,
        " ".join(mark.says for mark in marks),
        tuple(said),
        threshold,
        "; ".join(dict.fromkeys(mark.source for mark in marks)),
        " ".join(dict.fromkeys(mark.remedy for mark in marks)),
    )


@dataclass(frozen=True)
class Mark:
    """Something about the file system that costs time or safety."""

    standing: Standing
    says: str
    remedy: str
    source: str


def _marks(storage: Storage) -> Iterator[Mark]:
    kind, options = storage.filesystem, storage.mount_options
    if synchronous := next((option for option in options if option in SYNCHRONOUS), ""):
        says = f"It is mounted with {synchronous}: every write waits for the drive, not only those of commits."
        yield Mark("likely", says, "Mount it without that option: the engine flushes what it must.", "mount(8)")
    if kind in NETWORK:
        says = f"{kind} is reached over a network or through another system: each flush waits for it."
        yield Mark("likely", says, "Measure on a drive of this machine, and compare.", "the file system's own manual")
    if kind in IN_MEMORY:
        says = f"{kind} is memory: flushes cost nothing here, and a power cut takes everything."
        yield Mark("cannot tell", says, "Name a directory on the drive in question.", "tmpfs(5)")
    if kind in STACKED:
        says = f"With {kind}, another file system lies beneath, which cannot be seen from here."
        yield Mark(
            "possible",
            says,
            "Put the database on a volume of its own.",
            "Linux, Documentation/filesystems/overlayfs.rst",
        )
    if kind in COPY_ON_WRITE and not any(option in NOT_COPIED for option in options):
        says = (
            f"With {kind}, a changed block goes elsewhere: a database that is overwritten is scattered over the drive."
        )
        remedy = "Compare with a file system that overwrites in place; on btrfs chattr +C before the file is made."
        yield Mark("possible", says, remedy, "btrfs(5), nodatacow; OpenZFS, Performance and Tuning, recordsize")
    if without := next((option for option in options if option in WITHOUT_FLUSHES), ""):
        says = f"It is mounted with {without} and sends its drive no flush: that is fast, and commits are not safe."
        yield Mark("cannot tell", says, "Mount it without that option before you compare anything.", "ext4(5), barrier")
    if storage.all_bytes and (used := 1 - storage.free_bytes / storage.all_bytes) >= FULL:
        says = f"It is nearly full ({used:.0%}): new blocks are hard to find."
        yield Mark("possible", says, "Free some space, and measure again.", FULL_SOURCE)


def _memory(figures: Figures) -> Bottleneck:
    name: Name = "memory and cache"
    sizes = figures.sizes
    if sizes.database is None:
        return _not_looked(name, figures)
    said = [f"database: {_bytes(sizes.database)}", f"memory of this machine: {_bytes(sizes.memory)}"]
    if sizes.cache is not None:
        said.append(f"the engine's own cache: {_bytes(sizes.cache)}")
    threshold = (
        f"possible where the cache holds less than {CACHE_SMALL:.0%} of the database, or memory less than all of it"
    )

    def is_(standing: Standing, says: str, remedy: str = "") -> Bottleneck:
        return Bottleneck(name, standing, says, tuple(said), threshold, CACHE_SOURCE, remedy)

    if sizes.database > sizes.memory:
        remedy = "acidtest init --question page-and-cache with a limit of memory shows what reads from the drive cost."
        return is_("possible", "The database is larger than the memory: some reads must go to the drive.", remedy)
    if sizes.cache is None:
        return is_("cannot tell", "The database fits into memory; how large the engine's own cache is was not found.")
    if sizes.cache < CACHE_SMALL * sizes.database:
        says = (
            "The engine's own cache holds a small part of the database: pages come again and again from the system's."
        )
        return is_("possible", says, "Compare sizes of the cache (acidtest init --question page-and-cache).")
    if sizes.cache >= sizes.database:
        return is_("unlikely", "The engine's own cache holds the whole database.")
    return is_("unlikely", "The database fits into memory, and the engine's own cache holds a fair part of it.")


def _configuration(figures: Figures, compared: Sequence[Compared]) -> Bottleneck:
    name: Name = "the configuration"
    if not compared:
        return _not_looked(name, figures)
    said = tuple(
        f"{one.workload}, {one.found.configuration}: {_times(one.ratio)} the rate of the "
        f"{one.reference.configuration}: {one.judged.verdict}"
        + _smallest(one.judged)
        + (f" ({one.judged.reason})" if one.judged.verdict == "cannot tell" else "")
        + ("" if one.alike else f", at durability {one.found.level} beside {one.reference.level}")
        for one in compared
    ) + tuple(f"{name} sets {given}" for name, given in figures.settings.items())
    threshold = f"likely where a rate is shown to be below {CONFIGURATION_LIKELY:.0%} of that of the reference"
    tried = _cache_tried(figures)
    like = [one for one in compared if one.alike]
    slower = [one for one in like if one.judged.verdict == "slower" and one.ratio.median is not None]
    far = [one for one in slower if (one.ratio.median or 1.0) < CONFIGURATION_LIKELY]

    def is_(standing: Standing, says: str, remedy: str = "") -> Bottleneck:
        return Bottleneck(name, standing, says, said, threshold, CONFIGURATION_SOURCE, remedy)

    if far:
        says = f"The settings that were found make {_and(one.workload for one in far)} slower than the reference is."
        return is_("likely", f"{says}{tried}", "Change them one at a time: the experiment that is proposed does.")
    if slower:
        return is_("possible", f"The settings that were found cost something, and less than a fifth.{tried}")
    if not like:
        says = "The two promise different things of a commit, so that their rates say nothing of the other settings."
        return is_("cannot tell", says, "Compare them at one durability level.")
    if any(one.judged.verdict == "cannot tell" for one in like):
        untold = _and(
            f"{one.workload}, {one.found.configuration}" for one in like if one.judged.verdict == "cannot tell"
        )
        return is_("cannot tell", f"No setting is shown to be slower; it cannot be told of {untold}.{tried}", MORE)
    says = "On the scratch database no setting that was found is shown to be slower than the reference"
    smallest = [one.judged.smallest_ratio for one in like if one.judged.smallest_ratio is not None]
    would = f": {power.in_words(min(smallest))} {power.NOTICED}" if smallest else ""
    return is_("unlikely", f"{says}{would}.{tried}")


def _cache_tried(figures: Figures) -> str:
    """Whether the cells show what the size of the cache costs: a database that fits into it does not."""
    sizes = [one.database for one in figures.ran if one.database is not None and not one.is_reference]
    cache = figures.sizes.cell_cache
    if not sizes or cache is None:
        return ""
    if max(sizes) > cache:
        return (
            f" The scratch database ({_bytes(max(sizes))}) is larger than the cache that was found ({_bytes(cache)})."
        )
    return (
        f" The scratch database ({_bytes(max(sizes))}) fits into the cache that was found ({_bytes(cache)}): whether "
        "that is large enough for the database in question was not tried."
    )


def _smallest(judged: Judged) -> str:
    if judged.verdict != "no difference shown" or judged.smallest_ratio is None:
        return ""
    return f" ({power.in_words(judged.smallest_ratio)} {power.NOTICED})"


def _listed(name: Name, held: Sequence[str] | None, figures: Figures, nothing: str, more: str = "") -> Bottleneck:
    if held is None:
        return _not_looked(name, figures)
    if not held:
        return Bottleneck(name, "unlikely", nothing)
    says = f"What it says may cost time{more}; no figure here shows how much."
    return Bottleneck(name, "possible", says, tuple(held))


def _us(summary: Summary) -> str:
    if summary.median is None:
        return "not measured"
    between = (
        f" ({three_digits(summary.interval.low)} – {three_digits(summary.interval.high)})" if summary.interval else ""
    )
    return f"{three_digits(summary.median)} µs{between}"


def _times(summary: Summary) -> str:
    if summary.median is None:
        return "not measured beside"
    between = f" ({summary.interval.low:.2f} – {summary.interval.high:.2f})" if summary.interval else ""
    return counted(summary.median, "time", spec=".2f") + between


def _percent(summary: Summary) -> str:
    between = f" ({summary.interval.low:.0%} – {summary.interval.high:.0%})" if summary.interval else ""
    return f"{summary.median or 0.0:.0%}{between}"


def _bytes(value: int) -> str:
    return f"{value / 1e9:,.3g} GB" if value >= 1e9 else f"{value / 1e6:,.3g} MB"


def _and(names: Iterable[str]) -> str:
    *others, end = dict.fromkeys(names)
    return f"{', '.join(others)} and {end}" if others else end
