"""What a journal holds: one header, then one recording a cell.

``docs/FORMAT.md`` describes the same for readers of the file. ``FORMAT`` rises when a field changes meaning.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from acidtest.filesystems import IN_MEMORY
from acidtest.journal.protocol import Checked, Cpu, Loaded, Maintenance, ObservedCalls, Replay, RunResult, Sample

FORMAT = 1

Scalar = str | int | float | bool | None
SIZE = "size"  # the factor of an experiment whose databases grow
HOST = "host"  # the factor of an experiment that is run on each host of a fleet
RATE, CLOSED_LOOP = "rate_per_s", "closed loop"  # the factor that a search varies, and its level without a rate
NOT_APPLICABLE = "–"  # level of a factor that a cell's engine or workload does not have


class Record(BaseModel):
    """A part of the journal; unknown fields are refused so that a newer format is noticed."""

    model_config = ConfigDict(extra="forbid", defer_build=True)


class Warning(Record):  # noqa: A001 - the word of the design
    """A doubt about one number of a recording or of a table."""

    code: str  # stable, kebab-case: "generator-bound", "not-steady", ...
    about: str  # the number it concerns: "goodput_per_s", "latency", "settings", ...
    text: str  # one plain sentence, with the remedy if there is one


class SettingInForce(Record):
    """One setting: what the experiment asked for, what the engine answered, and whether they agree.

    ``asked`` is None when nothing was asked and the engine's value is only recorded. ``agrees`` is None when the value
    in force cannot be verified: nothing shows it but what acidtest itself wrote.
    """

    name: str
    asked: str | None
    in_force: str | None
    agrees: bool | None
    source: str  # where it was read: "MON$DATABASE", "header page", "PRAGMA", "RDB$CONFIG"

    @property
    def is_verifiable(self) -> bool:
        """Whether anything shows what is in force."""
        return self.agrees is not None

    @property
    def is_wrong(self) -> bool:
        """Whether something else is in force than was asked for."""
        return self.agrees is False

    @property
    def disagreement(self) -> str:
        """What was asked for and what is in force, in words."""
        return f"{self.name}: asked for {self.asked}, in force is {self.in_force} ({self.source})"

    @property
    def shown(self) -> str:
        """The value in force in a table; one that cannot be verified is marked."""
        if self.is_verifiable:
            return self.in_force if self.in_force is not None else "–"
        return f"{self.in_force or self.asked} (not verifiable)"


class BuildFacts(Record):
    """An installation of the user's own, as its files were when the cell ran."""

    file: str  # the program or library that is the engine
    sha256: str  # of that file
    options: list[str]  # how it was built, as it reports it itself
    series: str  # the id of the engine that acidtest took it for: "postgresql-18"


class EngineFacts(Record):
    id: str  # "firebird-5.0", "sqlite"
    version: str  # as the engine reports it: "5.0.4.1812"
    architecture: str  # "x86-64"
    source: str  # where it came from: "PyPI firebird-embedded 5.0.4.4", "built into acidtest-rig"
    mode: str  # "embedded", "SuperServer", ...
    # None of an engine that acidtest brings, or of the system's; left out there, as version 0.1 wrote it.
    build: BuildFacts | None = Field(default=None, exclude_if=lambda build: build is None)
    # Of a program of the user's that reports no version: the files that its commands name, and the SHA-256 of each.
    files: dict[str, str] = Field(default={}, exclude_if=lambda files: not files)

    @property
    def identity(self) -> str:
        """What two builds of the user's have in common that are one; "" of any other engine."""
        return f"{self.build.sha256} {self.mode}" if self.build else ""

    @property
    def known_as(self) -> str:
        """The id that tells its family: its own, or of a build, which the user has named, that of the series it is."""
        return self.build.series if self.build else self.id


class Promise(Record):
    """What a durability level of a program may lose at a power cut, by the word of its user."""

    may_lose: str  # "about the last second of writes"; "" nothing
    may_break: bool  # any of its data


class Machine(Record):
    cpu_model: str
    cpu_count: int
    memory_bytes: int
    kernel: str
    os: str
    virtualization: str  # "kvm", "none", "unknown"


class GuestFacts(Record):
    """The virtual machine that the rig and the engine ran in. Rates of one guest are compared with its own only."""

    kernel: str  # package and version
    kernel_sha256: str  # of the package
    qemu: str
    accelerator: str  # "tcg": the processor is emulated in software; "kvm"
    cache: str  # of QEMU's disk: "none" passes by the host's page cache
    cpus: int
    memory_mb: int

    @property
    def name(self) -> str:
        kernel = self.kernel.removeprefix("linux-image-")
        return (
            f"guest {kernel}, QEMU {self.qemu.partition(' ')[0]} {self.accelerator}, {self.cpus} × {self.memory_mb} MiB"
        )


class PlaceFacts(Record):
    """The storage as read back from mountinfo and sysfs; a fact that could not be read is "unknown"."""

    kind: str  # "directory", "loop", "device", "raw", "guest", "disk", "machine"
    path: str
    filesystem: str
    mount_point: str
    mount_options: str
    device: str
    device_model: str
    rotational: str  # "yes", "no", "unknown"
    write_cache: str  # "write back", "write through", "unknown"
    fua: str  # "yes", "no", "unknown"
    scheduler: str
    read_ahead_kb: str
    free_bytes: int
    nr_requests: str = "unknown"
    mkfs: str = ""  # the command that made the file system; "" where acidtest made none
    journal_device: str = ""  # of a file system whose journal lies apart
    image: str = ""  # the file behind a loop device, and the size that it was made with
    image_on: str = ""  # the file system, device and mount options that the image lies on
    direct_io: str = ""  # whether the image's user passes by the host's page cache: "yes", "no", "" without an image
    disk: str = ""  # of a simulated one: timing, write cache, sectors, faults
    guest: GuestFacts | None = None  # of kinds "guest" and "machine"

    def alike(self) -> dict[str, Any]:
        """What two places have in common that were made alike, and two readings of the same one."""
        names = {"path", "free_bytes", *(("device", "journal_device", "mount_point") if self.image else ())}
        guest = {f"guest_{name}": getattr(self.guest, name, "") for name in GuestFacts.model_fields}
        return self.model_dump(exclude={*names, "guest"}) | guest

    @property
    def drive(self) -> str:
        """The drive's model, or its device where that is not known."""
        return self.device_model if self.device_model != "unknown" else self.device

    @property
    def beneath(self) -> str:
        """What an image in this place lies on."""
        return f"{self.filesystem} ({self.device}, {self.mount_options})"

    @property
    def memory(self) -> str:
        """The file system, or that of the image, if it is memory: flushes cost nothing there. Else "", also of a
        simulated disk, whose flushes cost what it says."""
        if self.disk:
            return ""
        return next((one for one in (self.filesystem, self.image_on.partition(" ")[0]) if one in IN_MEMORY), "")

    @property
    def in_memory(self) -> bool:
        return self.memory != ""


class MemorySample(Record):
    """What memory held at one time. Counts rise from the moment the engine was started; pages are the kernel's."""

    at_s: float  # from the beginning of the measurement, to about 0.1 s; negative before it
    usage_bytes: int | None  # of the control group; None without a limit, as the next ones
    file_bytes: int | None  # file cache
    engine_bytes: int | None  # the processes' own memory and shared memory: where the engine's cache is
    swap_bytes: int | None
    refaults_file: int | None  # pages of files that were pushed out and had to be read again
    refaults_engine: int | None
    major_faults: int | None
    stalled_some_us: int | None  # time in which some process, or every one, waited for memory
    stalled_full_us: int | None
    database_bytes: int  # size of the database's files
    resident_bytes: int  # of those, in the file cache
    dirty_bytes: int | None  # of those, not yet written
    read_calls: int  # of the engine's processes that live
    storage_read_bytes: int  # what they had to have fetched from storage
    # The next ones are None in older journals. Time in which some process, or every one, waited for a device: as above.
    io_stalled_some_us: int | None = None
    io_stalled_full_us: int | None = None
    # Of the whole machine, the engine included: what the rest of it has left, and what it waited.
    machine_available_bytes: int | None = None
    machine_swapped_out_pages: int | None = None
    machine_memory_stalled_us: int | None = None  # some process
    machine_io_stalled_us: int | None = None


class Memory(Record):
    """The memory that a cell was given, how its file cache began, and what it held over time."""

    limit_bytes: int | None  # in force; None: without a limit
    limit_source: str | None  # "cgroup v1", "cgroup v2"
    swap: str | None  # how swapping was held off, or limited, as read back
    peak_bytes: int | None  # the most the control group held, by the kernel's account
    killed: int  # processes that the kernel killed because of the limit
    start: str  # in force when the engine was started: "as-left", "cold", "warm", "cold-machine"
    resident_bytes_at_start: int  # of the database's files in the file cache, just before the engine was started
    residency_source: str  # "cachestat", "mincore"
    pressure_source: str | None  # "control group", or "machine" where the group has no figure of its own
    access: str  # the hint on the engine's open database files: "as-engine", "normal", "random", "sequential"
    hinted_descriptors: int  # that had the hint; the kernel cannot be asked for it
    cache_bytes: int | None  # the engine's own page cache, from its settings in force; None where it is not known
    samples: list[MemorySample]

    @property
    def twice_bytes_max(self) -> int | None:
        """Double caching: the most of the database that engine and file cache can both have held at the end.

        An upper bound: neither says which pages it holds.
        """
        if self.cache_bytes is None or not self.samples:
            return None
        return min(self.cache_bytes, self.samples[-1].resident_bytes)


class TableStatistics(Record):
    """One table, as the engine's own means count it; None where this engine has no such figure."""

    name: str  # lower case
    records: int | None = None
    record_bytes: float | None = None  # mean length as stored, without versions
    versions: int | None = None  # older or dead ones that still take room
    version_bytes: float | None = None  # their mean length
    versions_max: int | None = None  # of one record
    data_pages: int | None = None
    slots: int | None = None  # places for data pages in Firebird's pointer pages
    bytes: int  # of its data pages, with what is stored beside them (blobs, TOAST)
    index_bytes: int  # of its indexes, without the one that it is stored in
    fill_percent: float | None = None  # of the data pages, mean, by whatever lies there
    real_fill_percent: float | None = (
        None  # what the live records fill of them, each with what the engine keeps beside it
    )


class IndexStatistics(Record):
    """One index; a table that is stored in its primary key's index is listed as that index too."""

    name: str  # lower case
    table: str
    depth: int | None = None  # levels from the root to the leaves, both counted
    keys: int | None = None
    key_bytes: float | None = None  # mean, as stored, after prefix compression where the engine has it
    duplicates: int | None = None  # keys that are equal to one before them
    duplicates_max: int | None = None  # of one value
    unique: int | None = None  # different values
    bytes: int
    fill_percent: float | None = None  # of the leaf pages, mean


class Transactions(Record):
    """Counters of an engine's transactions: a gap between oldest and next holds garbage that cannot be removed."""

    oldest: int
    oldest_active: int
    next: int
    history: int | None = None  # InnoDB's history list: committed transactions whose old versions are still kept


class DatabaseStatistics(Record):
    """What the tables and indexes of a database look like inside."""

    source: str  # "gstat -a -r (5.0.4)", "pgstattuple 1.5", "dbstat", "information_schema, mysql.innodb_index_stats"
    estimated: list[str] = []  # fields above that the engine samples instead of counting, with how: "records: ..."
    page_bytes: int
    bytes: int  # of the database's files
    took_s: float = 0  # to take them, timed reads and all
    read_s_cold: float | None = None  # a full read by the engine's own means, file cache emptied before
    read_s_warm: float | None = None  # the same again, with what the engine's and the file cache then hold
    read_bytes: int | None = None  # that one such read goes through
    tables: list[TableStatistics]
    indexes: list[IndexStatistics]
    transactions: Transactions | None = None


class LoadSample(Record):
    at_s: float  # from the start of this load
    bytes: int  # of the database's files
    rows: int  # written by this load


class DatabaseSize(Record):
    """The size that a database was brought to before it was measured."""

    asked: str  # as the experiment has it: "9.04 GB", "40 warehouses", "2x memory"
    asked_bytes: int | None  # None where warehouses were asked for
    warehouses: int
    bytes: int  # of the database's files after the load, before anything was measured
    # Of the load that brought it here; a cell that found the size already loaded has none.
    warehouses_before: int | None = None  # 0: loaded from nothing
    bytes_before: int | None = None
    load_s: float | None = None
    load: list[LoadSample] = []
    statistics: DatabaseStatistics | None = None  # taken once at each size, before it is measured
    statistics_said: str = ""  # why there are none


class DeviceSample(Record):
    """What the device did between two looks, about a second apart; as in :class:`DeviceWork`."""

    at_s: float  # from the beginning of the measurement
    length_s: float
    reads: int
    read_bytes: int
    writes: int
    write_bytes: int
    flushes: int | None
    flush_s: float | None
    busy_s: float


class SizeSample(Record):
    """How large files were at one time."""

    at_s: float  # from the beginning of the measurement
    database_bytes: int  # of tables and indexes
    log_bytes: int | None  # of the engine's log; None of an engine that has none


class Sizes(Record):
    """How large the database and the engine's log were during the measurement, about once a second.

    What the engine does when its last session closes is in none of the samples.
    """

    log: str  # its file or directory: "database.db-wal", "pg_wal"; "" of an engine that has none
    log_limit_bytes: int | None  # from which on the engine reuses it, by its settings in force; None: no such limit
    samples: list[SizeSample]


class LogLine(Record):
    """One entry of the engine's own log that bears a time, written while its work was measured."""

    at_s: float  # from the beginning of the measurement, as exact as the log's own time, which may be whole seconds
    text: str  # its first line, at most 200 characters


class DeviceWork(Record):
    """What the block device beneath the database did during the measurement, by /proc/diskstats.

    Times are sums over requests: ten reads of 1 ms side by side are 10 ms. The kernel counts a flush that carries
    nothing as a write of no bytes too, and a write's time has that of the flushes in it that it brings along.
    """

    device: str  # "loop3", "vda": of all that use it, not of the engine alone
    reads: int
    read_bytes: int
    read_s: float
    writes: int
    write_bytes: int
    write_s: float
    flushes: int | None  # None where they are not counted: before Linux 5.5, of an array
    flush_s: float | None
    busy_s: float  # in which at least one request was under way
    samples: list[DeviceSample] = []  # over the measurement; none in journals of older versions


class EngineCounter(Record):
    """What one of the engine's own counters rose by."""

    name: str  # "page_reads"
    unit: str  # of what it counts: "pages"
    sessions: int | None  # by the sessions of the terminals together; None where the engine does not tell it
    database: int | None  # in the whole database: also by the engine's own threads, and by others who use it


class EngineCounts(Record):
    """What the engine itself counted during the measurement: the difference of two readings.

    The last is taken when all terminals have ended. The first is taken before the first transaction, or, after a
    warm-up, in that one's last moments, so that no reading falls into the measurement.
    """

    source: str  # "MON$IO_STATS, MON$RECORD_STATS"
    not_counted: str | None  # why there are no figures; ``counters`` is empty then
    from_s: float  # when the first reading was done, from the start of the measurement; negative: in the warm-up
    first_reading_s: float  # what it took
    last_reading_s: float
    committed: int  # transactions between the readings
    uncertain: int  # of those, under way at the first reading, or ended during it: they may be counted in part
    counters: list[EngineCounter]


AT_WORK = "sessions at work"  # the engine's figure of sessions that had something to do when it was asked
AT_WORK_IN = "at work: "  # before what some of those were seen in, in the names of figures; not told: none of them


class EngineFigure(Record):
    """One figure of those that the engine was asked for while its work was measured."""

    name: str  # the engine's name for it: "buffers_checkpoint"
    says: str  # what it is, in words that a number follows: "buffers written by checkpoints"
    rises: bool  # counts since some moment, so that two samples make a rate; otherwise it stands at a value
    unit: str  # "bytes", or "" where the words say what is counted


class EngineSamples(Record):
    """Where the engine stood during the measurement, by its own account, about once a second.

    One session beside the terminals' asked: at the beginning, each second, and when the last terminal had ended.
    """

    source: str  # "pg_stat_bgwriter, pg_stat_activity"
    not_sampled: str | None  # why there are no samples, or none after the last
    figures: list[EngineFigure]
    samples: list[Sample]  # values in the order of the figures


class TracedStatement(Record):
    """One statement of the terminals' sessions, or one kind of act on transactions, by the engine's own trace."""

    kind: str  # "" of a statement; "commit", "rollback", "start of a transaction"
    text: str  # of a statement, as the engine logs it: cut off where it is long; "" otherwise
    count: int
    failed: int  # of those
    ms: int  # together; of each the engine tells whole milliseconds, rounded down
    ms_max: int
    reads: int  # pages
    writes: int
    fetches: int
    marks: int
    rows: int  # fetched
    record_seq_reads: int
    record_idx_reads: int
    record_updates: int
    record_inserts: int
    record_deletes: int
    record_backouts: int
    record_purges: int
    record_expunges: int


class TracedStatements(Record):
    """What a trace session of the engine reported of the terminals' sessions, warm-up included."""

    source: str  # "Firebird's trace API"
    not_traced: str | None  # why there is nothing; ``statements`` is empty then
    records: int  # events that were read and understood
    not_understood: int
    left_out: int  # events of statements beyond the first 500 that differ
    suspended: int  # times that the trace's log was full: what ran meanwhile is missing
    commits: int  # of the terminals' sessions that were seen
    committed: int  # that the engine acknowledged; more than were seen: the rest was lost
    statements: list[TracedStatement]  # that which took longest first

    @property
    def lost(self) -> bool:
        """Whether something is missing, so that every figure is a lower bound."""
        return bool(self.suspended or self.not_understood or self.left_out) or self.commits < self.committed


Verdict = Literal["survived", "lost", "unknown"]


class Fate(Record):
    """The fate of numbered transactions in a power cut."""

    acknowledged: int  # before the cut
    present: int  # of those, whole in the database
    lost: int  # of those, not there, or not whole
    loaded_lost: int  # terminals whose loaded rows are not whole
    unacknowledged: int  # whole in the database though no acknowledgement was drained: allowed
    torn: int  # there in parts, acknowledged or not
    order_broken: bool  # a transaction is there that began after a lost one had been acknowledged
    examples: list[str]


class Integrity(Record):
    """What the engine's own check of its files says."""

    holds: Literal["holds", "broken", "unknown"]  # unknown: it could not run, or crashed
    check: str  # "PRAGMA integrity_check"
    said: str  # its first words where it does not hold, or where it holds with warnings


class FilesLeft(Record):
    """The files that a power cut has left, as the file system gave them back and before anything was started on them.

    Paths are below the mount point, sizes in bytes. Of each kind the first are named, in the order of their names.
    """

    count: int  # of all files
    bytes: dict[str, int]
    than: Literal["power failed", "load", "every write"]  # the state that they are compared with
    missing_count: int
    missing: dict[str, int]  # its size before
    shorter_count: int
    shorter: dict[str, tuple[int, int]]  # its size, and that before


class States(Record):
    """Crash states built from one log of a disk, and what came back from each."""

    looked_at: int
    survived: int
    lost: int
    unknown: int
    # Of those that lost the ones that show more than missing commits, as ``Cut.damage``; None in older journals.
    damaged: int | None = None
    lost_all: int | None = None  # of those that lost the ones that lack all acknowledged commits, and show no damage
    survived_undemanded: int | None = None  # of those that survived the ones before the first acknowledged commit
    per_s: float
    writes: int  # in the log, from the start of the load
    flushes: int
    shortest: str | None  # file of the failing state that departs least from the disk as it was; --replay runs it again
    # Of a state that shows damage, where the shortest one shows none; None where no state does, and in older journals.
    shortest_damaged: str | None = None
    # None in older journals, which lack these.
    images: int | None = None  # different contents of the disk among them
    outcomes: int | None = None  # different ends that recovery came to
    drawn: int | None = None  # of those looked at, the ones drawn at random
    # The decimal logarithm of how many images a cut during this load could have left, counted for each moment: at most.
    legal_log10: float | None = None
    drawn_outcomes_once: int | None = None  # of the ends that drawn states came to, those that came up once
    # By what the blocks are (powercut/blocks.py): moments at which a state lacked one of them that was pending, and all
    # moments at which one was. Moments lie before each flush, and at the end.
    exercised: dict[str, tuple[int, int]] | None = None
    at_once: int | None = None  # looked at side by side, each on a disk of its own; None also of a fleet's


class RecoveryTimes(Record):
    """How long it takes from a power cut until all is as before, in pieces that follow one another.

    Taken after the verdict, on the same bytes of the disk once more. None: that piece was not come to, or not told.
    """

    mount_s: float  # with the journal's replay, and a check before it where there is no journal
    clean_mount_s: float  # the same file system, unmounted in order, before the load
    start_s: float | None  # from the engine's start until it takes sessions, with its redo
    clean_start_s: float | None  # the same before the load, when there was next to nothing to redo
    first_commit_s: float | None  # from then to the first commit that was acknowledged
    full_speed_s: float | None  # from then to the first of three seconds that are as fast as those before the cut
    watched_s: float  # whole seconds of load after the first commit
    limit_s: float  # asked for
    before: Literal["steady", "drifts", "steps", "too short to tell"]  # the rate before the cut
    before_per_s: list[float]  # commits in each whole second before the cut, the last one last
    after_per_s: list[float]  # in each whole second after the first commit
    why: str  # why a piece is missing; "" where none is

    @property
    def replay_s(self) -> float:
        """What the mount took longer than one with nothing to replay."""
        return max(0.0, self.mount_s - self.clean_mount_s)

    @property
    def redo_s(self) -> float | None:
        """What the engine's start took longer than one with next to nothing to redo."""
        if self.start_s is None or self.clean_start_s is None:
            return None
        return max(0.0, self.start_s - self.clean_start_s)


class Replicated(Record):
    """The replica of a server whose power, disk or link failed, and what a commit waited for."""

    mode: str  # as ``place.replication`` has it
    means: str  # the engine's own settings
    waits_for: Literal["nothing", "arrival", "drive"]  # of the replica, before a commit is acknowledged
    seen: str  # before the failure, in the servers' own words
    gave_up: str  # how they say that commits no longer waited when all was over; "" where they did, or none ever does
    looked_on: Literal["primary", "replica"]  # where the acknowledged commits were looked for
    chosen_by: str = ""  # of both-powers, where what both disks had decided on whom: that, in the servers' own words
    # Of lost-link: what commits did while the link carried nothing, and how many were acknowledged.
    after_link: Literal["stopped", "went on", "hung"] | None = None
    acknowledged_after_link: int | None = None


# What was made to fail under load (``place.disk_failure``).
DiskFailure = Literal[
    "cut", "cut-in-recovery", "failed-flush", "dropped-flush", "kernel-crash", "kill", "crash-states", "lost-disk",
    "both-powers", "lost-link", "read-error", "rot", "lost-write", "misdirected-write", "full-disk", "slow-disk",
    "stopped-disk", "vanished-disk",
]  # fmt: skip


class Notice(Record):
    """What the engine or the file system has said of it."""

    # session: an error in answer to a statement; stop, start: it did not do so; ended: the server ended by itself;
    # log: a line of its log; file system: it could not be mounted; check, fsck: the engine's own check and the file
    # system's, when they were asked for
    by: Literal["session", "stop", "start", "ended", "log", "file system", "check", "fsck"]
    said: str


class StorageFailure(Record):
    """What storage did wrong with its power on, and whether anybody noticed."""

    fault: str  # as the disk was given it; of a file system that was filled, how far
    aimed_at: str  # file, or how many, whose blocks it was to strike; "" the whole disk
    struck: int  # requests; of a file system that was filled whether the engine or the load met that
    read_back: (
        int | None
    )  # of a spoiled block, requests that read it afterwards; None where it is not known which it is
    # What the load did under the fault, and how many commits were acknowledged then; None where none was driven on.
    after: Literal["stopped", "went on", "hung"] | None
    acknowledged_after: int | None
    notices: list[Notice]
    served: Literal[
        "right", "wrong", "refused", "unknown"
    ]  # what sessions got afterwards, beside what was acknowledged
    # noticed: without being asked; by check: only by such a check; silent: served wrong, and nobody noticed;
    # unnoticed: served right, and nobody noticed
    outcome: Literal["noticed", "by check", "silent", "unnoticed", "unknown"]
    why: str  # of unknown


class Cut(Record):
    """One power cut: what was done, what came back, and the verdict."""

    verdict: Verdict
    reasons: list[str]  # for any other verdict than survived
    failure: DiskFailure | Literal["plug"]  # plug: a real machine's power, by acidtest plug
    # stopped: its error ended the load before power failed; hung: it answered nothing any more
    after_failed_flush: Literal["stopped", "went on", "hung"] | None
    failed_flush_said: str  # that error
    acknowledged_after_failed_flush: int | None
    drive: str  # what the disk does, in one word or a few: "honest", "lie-about-flush"
    at_s: float  # from the start of the load to the cut
    kept_bytes: int | None  # of the disk's write cache; None of a real drive, into which nobody can look
    lost_bytes: int | None
    torn_writes: int | None
    fate: Fate | None  # None of a workload that does not number its transactions, or that could not be surveyed
    integrity: Integrity | None
    filesystem_check: Literal["clean", "errors", "unknown"]  # after all, unmounted
    filesystem_said: str
    filesystem_repaired: bool  # it could be mounted only after a repair
    filesystem_mending_said: str = ""  # by its own program where that looked before the mount, or repaired it
    filesystem_recovery_s: (
        float | None
    )  # the mount, with the journal's replay; a check before it, where there is no journal
    engine_recovery_s: float | None  # from the start of the engine to its first answer
    cycle_s: float  # from the load's start to the verdict
    state: str | None = None  # file of what a cut that lost had left; --replay looks at it again
    states: States | None = None  # of crash-states; fate and checks are then those of the shortest failing state
    recovery: RecoveryTimes | None = None  # None where it was not asked for, and in older journals
    replication: Replicated | None = None  # None where there was no replica
    storage: StorageFailure | None = None  # None where power failed, the kernel or the engine, and in older journals
    # Median of the acknowledged transactions, from their begin to the acknowledgement; None in older journals.
    commit_ms: float | None = None
    lost_ms: float | None = None  # from the first acknowledged commit that is missing to the failure; None: none is
    # What each checker answers, by its name. Empty in journals of older versions.
    checks: dict[str, Verdict] = {}
    # Of lost: what shows more than that the last commits are missing. None in journals of older versions.
    damage: list[str] | None = None
    # None where they could not be seen, of what was not a cut, and in journals of older versions. Of crash-states those
    # of the shortest failing state.
    files: FilesLeft | None = None


class RecoveryOutcome(Record):
    """One end that recovery came to."""

    verdict: Verdict
    unannounced: bool  # it lost what neither level nor drive announces
    damaged: bool  # as in ``Cut.damage``
    lost_all: bool = False  # every acknowledged commit is missing, and nothing shows damage
    found: str  # in words: of the file system, the database and the commits
    checks: dict[str, Verdict]


class FailingState(Record):
    """A crash state that did not survive: the records ``[start, to)`` of the load's log, but for some writes."""

    start: int
    to: int
    without: list[int]
    torn: list[tuple[int, list[int]]]  # write, and its sectors that are there
    of: str  # what kind of state it is
    outcome: int  # index into ``Explored.outcomes``
    reasons: list[str]
    files: FilesLeft | None = None  # None where it cannot be mounted, and in older journals


class Forecast(Record):
    """What was predicted of a held-out size of a series, before anything of it was loaded."""

    kind: Literal["forecast"] = "forecast"
    written_at: str
    levels: dict[str, str]  # factor -> level of the series: all but the size
    size: str  # as the experiment has it
    bytes: float | None  # for which it was predicted; None where nobody can say how many that will be
    rate_per_s: float | None = None  # of the model that predicts best; None where it was refused
    low: float | None = None  # ends of the 95 % interval, over all plausible models
    high: float | None = None
    model: str | None = None
    measured: list[str]  # the sizes that it was predicted from
    doubts: list[str] = []
    refused: str | None = None  # why nothing was predicted


class Explored(Record):
    """Crash states of one load that one host has looked at: part of the one list of what was looked at.

    A state is an image, and the number of acknowledged commits that must be in it. Lines of a load that is not the last
    one recorded for the cell do not count.
    """

    kind: Literal["explored"] = "explored"
    cell: str
    load: str  # SHA-256 of the file of the recorded load
    host: str | None = None
    ended_at: str
    took_s: float
    elapsed_s: float = 0.0  # of the budget, when it came in
    # Of each its image (32 hexadecimal digits), the commits demanded, an index into ``outcomes``, whether a random one.
    states: list[tuple[str, int, int, bool]]
    outcomes: list[RecoveryOutcome]
    worst: FailingState | None  # of these states
    worst_damaged: FailingState | None = None  # of those that show damage; None also in older journals

    @property
    def id(self) -> str:
        """Tells it from all other lines of a journal."""
        image, demanded, *_ = self.states[0]
        return f"{self.load[:16]} {image} {demanded}"


class HostRecord(Record):
    """A machine of a fleet, as it was when a run began to use it; the last line of a host is the one in force."""

    kind: Literal["host"] = "host"
    name: str  # the level of the factor host, and ``Recording.host``
    address: str  # of the Dask worker on it
    read_at: str  # ISO 8601, UTC, by the clock of the machine that keeps the journal
    user: str  # that the cells run as
    machine: Machine
    place: PlaceFacts  # where its databases live
    rig_sha256: str
    clock_offset_s: float  # its clock less that of the machine that keeps the journal
    clock_error_s: float  # at most, by the shortest of several exchanges
    # The calibration: the same short work on each host, so that hosts can be distinguished without an engine.
    hash_mb_per_s: float  # SHA-256 by one processor, the median of several
    flushes_per_s: float | None  # 4 KiB overwritten and fdatasync, one writer, in that place; None: not admitted there


class OwnReport(Record):
    """A table that a workload's own database reports of a run."""

    title: str
    columns: list[str]
    rows: list[list[str | None]]
    by_kind: bool = False  # the first column names kinds of transactions, some rows perhaps parts of those


class Generator(Record):
    """One of the machines from which the load of a cell came."""

    host: str
    terminals: int
    threads: int  # that drove them
    committed: int
    ended: int  # transactions, whatever their end
    measured_s: float
    cpu: Cpu
    cpu_count: int  # processors of the host
    service_mean_ns: float  # of its committed transactions
    # How late it began the arrivals that a free terminal of its had waited for. None under a closed loop, and of none.
    lateness_ms_p99: float | None
    lateness_ms_max: float | None
    stood_still_ms_max: (
        float  # its process did not come to what it does ten times a second: it was stopped, or overloaded
    )
    began_late_ms: float  # after the moment at which all were to begin, by its own clock
    clock_offset_s: float  # its clock less that of the client, right before the load began
    clock_error_s: float  # the offset may be wrong by this much, and so may the moment at which it began

    @property
    def busy(self) -> float:
        """Processor time of the generator's process over what its threads could have had."""
        whole_s = self.measured_s * self.threads
        return (self.cpu.process_user_s + self.cpu.process_system_s) / whole_s if whole_s else 0.0


class HostSample(Record):
    """What the host of a server was like, from the sample before it."""

    at_s: float  # from the start of the measurement
    busy: float  # of all its processors, 0 to 1
    io_wait: float  # in which they were idle and a request was under way, 0 to 1
    available_bytes: int  # of memory
    pressure_cpu: float | None  # part of the time in which some process waited for it; None of a kernel without PSI
    pressure_io: float | None
    pressure_memory: float | None


class ServerHost(Record):
    """The machine of the server that a load from several machines was for, during the measurement."""

    host: str
    cpu_count: int
    samples: list[HostSample]


class SteadyWait(Record):
    """How a warm-up went that was to end with a steady rate, or at a bound."""

    earliest_s: float  # asked for
    limit_s: float  # asked for
    window_s: int  # that many of the last seconds were judged, anew with each
    windows: int  # that many in a row had to be steady
    waited_s: float  # after which the measurement began
    reached: bool  # whether they were, before the bound
    state: Literal["steady", "drifts", "steps", "too short to tell"]  # of the last window
    change: float | None  # found in it, as a share of its median rate: -0.2 is a loss of a fifth
    per_s: list[float]  # the rate from news to news, about once a second, from the beginning of the load


class RecordedCell(Record):
    """Which cell a recording is of, what became of it, and with what it was run."""

    kind: Literal["recording"] = "recording"
    cell: str  # stable id, unique in the journal
    levels: dict[str, str]  # factor -> level name, in the experiment's order
    # The machine of a fleet that ran it; left out of a run without one.
    host: str | None = Field(default=None, exclude_if=lambda host: host is None)
    repetition: int  # 1-based
    order: int  # 1-based position in the plan's order
    seed: int
    status: Literal["done", "invalid", "failed"]
    reason: str | None  # why it is invalid or failed; None when done
    started_at: str  # ISO 8601, UTC
    ended_at: str
    acidtest_version: str
    workload: dict[str, Any]  # the parameters in force: name, scale, terminals, pacing, warmup_s, ...
    durability: str
    durability_means: str  # one line: which engine settings this level stands for
    # Of a program of the user's; left out of any engine, whose family's levels are known.
    promise: Promise | None = Field(default=None, exclude_if=lambda promise: promise is None)
    engine: EngineFacts | None
    settings: list[SettingInForce]
    machine: Machine
    place: PlaceFacts

    @property
    def engine_id(self) -> str:
        """Of the engine under test; "" where neither a level nor the engine itself says it."""
        return self.levels.get("engine") or (self.engine.id if self.engine else "")

    @property
    def known_as(self) -> str:
        """The known engine as which it is run; "" where none was started."""
        return self.engine.known_as if self.engine else ""


class Observations(Record):
    """What was observed of a cell, as far as it came."""

    model_config = ConfigDict(populate_by_name=True)

    database_bytes: int = 0  # size of the database's files when the run began
    checks_before: Checked | None = None
    checks_after: Checked | None = None
    load: Loaded | None = None  # how the template was loaded that this cell's database is a copy of
    memory: Memory | None = None  # None where neither a limit nor a start nor a hint was asked for
    # Of a database that grows from size to size. In the file it has the name of before.
    database_size: DatabaseSize | None = Field(default=None, alias="grown")
    device: DeviceWork | None = None  # None where the database is not on a block device that this kernel sees
    sizes: Sizes | None = None  # None where the files cannot be seen from here, and in older journals
    # Where the warm-up was to end with a steady rate; left out of any other.
    steady_wait: SteadyWait | None = Field(default=None, exclude_if=lambda wait: wait is None)
    # None of an engine that is not asked for its counters, and in older journals.
    engine_counts: EngineCounts | None = None
    # None of an engine that is not asked for where it stands, and in older journals.
    engine_samples: EngineSamples | None = None
    result: RunResult | None = None  # None when failed before the run ended
    cut: Cut | None = None  # of a power cut
    calls: ObservedCalls | None = None  # None where nobody watched
    # None where nobody watched, of an engine that does not trace statements, and in older journals.
    traced_statements: TracedStatements | None = None
    maintenance: Maintenance | None = None  # None of a workload that submits transactions
    replay: Replay | None = None  # None of a workload that replays no log
    # Of a load from several machines; left out of any other.
    generators: list[Generator] = Field(default=[], exclude_if=lambda generators: not generators)
    # The machine of the server, where the fleet reaches it.
    server_host: ServerHost | None = Field(default=None, exclude_if=lambda host: host is None)
    own_reports: list[OwnReport] = []  # none of a workload whose database reports nothing, and in older journals
    warnings: list[Warning] = []
    engine_log: str = ""  # what the engine wrote to its own log during the cell, cut to 16 KiB
    # What the log says of the time of the measurement, routine included. None in journals of older versions.
    log_lines: list[LogLine] = []


class Recording(Observations, RecordedCell):
    """All that one cell produced. In the file the fields of ``RecordedCell`` come first."""


class Header(Record):
    """First line of a journal."""

    kind: Literal["header"] = "header"
    format: int = FORMAT
    acidtest_version: str
    created_at: str
    experiment: dict[str, Any]  # the experiment as validated, every default filled in
    digest: str  # of the above; a journal takes cells of this experiment only
    factors: dict[str, list[str]]  # factor -> level names, in order
    base: dict[str, str]  # factor -> level whose result is 100; may name some factors only
    cells: int  # that were asked for, repetitions included
    asked: list[str] = []  # of power cuts: what followed "acidtest powercut", the experiment's file first

    @property
    def title(self) -> str:
        return str(self.experiment.get("title") or self.experiment["name"])


class DamagedLine(Record):
    """A line of a journal that is no recording any more: what it held counts as not run."""

    file: str
    line: int  # 1-based
    cell: str | None  # whose recording it was, where that can still be read
    why: str

    @property
    def told(self) -> str:
        """One line for the user."""
        again = f"{self.cell or 'the cell in it'} counts as not run, and the same command runs it again"
        return f"{self.file}, line {self.line}: damaged ({self.why}): {again}"


class Journal(Record):
    """A journal read into memory."""

    path: str
    header: Header
    recordings: list[Recording]
    hosts: list[HostRecord] = []  # of a fleet, of each its last line
    forecasts: list[Forecast] = []  # of a series and a size the last one before anything of that size was measured
    lines: dict[str, int] = {}  # cell -> line of its recording
    torn_bytes: int  # bytes of a last line cut off by a crash; 0 when whole
    damaged: list[DamagedLine] = []  # in the order of the file, but for those whose cell was recorded again since
