"""One combination whose server has a replica: each on a disk of its own, in a network of its own, with a link between.

In order, of one failure: both start from the state that the disks keep, replication is read back, load on the primary,
the failure, and the server that is left is made to serve alone: the primary is started again on what its disk kept, or
the replica is promoted. Load, acknowledgement log, survey and verdict are those of one server.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal

from acidtest.analysis import disk_log
from acidtest.conductor.rig import Process
from acidtest.conductor.template import Template
from acidtest.engine import Engine, Instance
from acidtest.engine.base import Ask
from acidtest.engine.catalogue import replication_of
from acidtest.engine.replication import Chosen, Ends, Mode, Pair, Seen
from acidtest.errors import CellFailed
from acidtest.files import sync_filesystem
from acidtest.journal.models import Replicated, SettingInForce
from acidtest.journal.protocol import DiskCut
from acidtest.place import DirectoryPlace, Ledger
from acidtest.place import link as cables
from acidtest.place.cuttable import CuttablePlace, Drive, Recovery
from acidtest.place.disk import faults
from acidtest.place.link import Link
from acidtest.place.trees import copy_tree
from acidtest.plan import Cell
from acidtest.powercut.acknowledgement_log import Acknowledgement
from acidtest.powercut.checkers import Judgement
from acidtest.powercut.crash_states import State
from acidtest.powercut.evidence import CutEvidence
from acidtest.powercut.inspector import Inspector
from acidtest.powercut.load import Load, Moment, Unledgered
from acidtest.powercut.subject import EngineSubject
from acidtest.powercut.trial import Trial

ServerName = Literal["primary", "replica"]
IN_FORCE_S = 60.0  # for both servers to say that the replica keeps up
AFTER_LINK_S = 2.0  # with the link down, beyond what a commit waits for a replica that does not answer


class ReplicatedTrial(Trial):
    """A primary and its replica, prepared once and made to fail any number of times from the same state."""

    def __init__(
        self,
        cell: Cell,
        engine: Engine,
        template: Template,
        home: DirectoryPlace,
        drive: Drive,
        ledger: Ledger,
        *,
        replica_home: DirectoryPlace,
        replica_drive: Drive,
        blank: bool = False,
    ) -> None:
        """With ``blank`` nothing is started: a state of the disk that was looked at is to be looked at again."""
        self._replication = replication_of(engine)
        self._mode: Mode = self._replication.mode(engine, cell.place.replication)
        self._replica_home, self._replica_drive = replica_home, replica_drive
        self._replica_place = CuttablePlace(cell.place, replica_home, replica_drive, ledger, faults(cell.place))
        self._link: Link | None = None
        self._pair: Pair | None = None
        self._looks: dict[str, Inspector] = {}
        self._looked_on: ServerName = "primary"
        self._replicated: Replicated | None = None
        super().__init__(cell, engine, template, home, drive, ledger, blank=blank)

    @property
    def link(self) -> Link:
        assert self._link is not None
        return self._link

    @property
    def pair(self) -> Pair:
        assert self._pair is not None
        return self._pair

    def _look_on(self, server: ServerName) -> None:
        """From now on it is this server that has to give back what was acknowledged."""
        self._looked_on, self.subject.inspector = server, self._looks[server]

    @property
    def _looked_at(self) -> tuple[Instance, CuttablePlace]:
        """The server that has to give back what was acknowledged, and its place."""
        if self._looked_on == "replica":
            return self.pair.replica, self._replica_place
        return self.pair.primary, self.place

    def _prepare(self, template: Template, *, blank: bool) -> None:
        cell, names = self._cell, [path.name for path in template.paths]
        if blank:
            for drive in (self.drive, self._replica_drive):
                drive.snapshot()
        if cell.place.disk_cache_is_volatile and not blank:
            cut = self._replica_place if self._failure.cuts_replica else self.place
            self._disk_loses = cut.loses(self._keep, seeds=(1, 2, 3))
        self._link = Link(self._ledger, arbitrated=self._mode.arbitrated)
        self.place.prepare(template.paths)
        self._replica_place.prepare([])
        directory, of_replica = (
            _linked(home, place, names)
            for home, place in ((self._home, self.place), (self._replica_home, self._replica_place))
        )
        ends = Ends(cables.PRIMARY, cables.REPLICA, cables.ARBITRATOR if self._mode.arbitrated else "")
        pair = self._pair = self._replication.pair(
            self.engine, (directory, of_replica), cell.settings, cell.durability, self._mode, ends
        )
        start_rig = partial(_rig_in, self.link.primary.network)
        self._subject = EngineSubject(cell, self.engine, pair.primary, self._ledger, start_rig=start_rig)
        starts = {
            "primary": (
                pair.primary,
                partial(pair.start_alone, self.link.primary, self._ask_primary),
                self.link.primary,
            ),
            "replica": (pair.replica, partial(pair.take_over, self.link.replica, self._ask_replica), self.link.replica),
        }
        for name, (instance, begin, inside) in starts.items():
            self._looks[name] = Inspector(
                cell,
                instance,
                self._ledger,
                embedded=self.engine.embedded,
                begin=begin,
                start_rig=partial(_rig_in, inside.network),
            )
        self._look_on("replica" if self._failure.on_replica else "primary")
        pair.prepare()
        if not blank:
            pair.primary.start(self.link.primary)
            pair.primary.seal()
        for name in names:
            copy_tree(self.place.path / name, self._replica_place.path / name)
        pair.replicate()
        if blank:
            self._end_both()
            return
        self._start_both()
        for instance in self._both():
            instance.lose_power()
        pair.end_beside()
        for place in (self.place, self._replica_place):
            sync_filesystem(place.path)
            place.keep()
        # Without a failure all must be found on the server that is looked at: what is amiss later is then its doing.
        evidence = replace(self.evidence(), disk_loses=None)
        self.place.begin()
        self._replica_place.begin()
        try:
            self._start_both()
            pair.primary.lose_power()
            self.inspector.inspect(evidence, [])
        finally:
            self._end_both()
        self._judge_without_cut(evidence)

    def _both(self) -> tuple[Instance, Instance]:
        return self.pair.primary, self.pair.replica

    def _ask_primary(self, question: str) -> list[list[str | None]]:
        return self._looks["primary"].ask(question)

    def _ask_replica(self, question: str) -> list[list[str | None]]:
        return self._looks["replica"].ask(question)

    def _asks(self) -> tuple[Ask, Ask]:
        return self._ask_primary, self._ask_replica

    def _start_both(self) -> Seen:
        """Start both and wait until they say that the replica keeps up. Raises CellFailed when it does not."""
        self.link.up()
        self.pair.start(self.link.primary, self.link.replica, self.link.arbitrator)
        end = time.monotonic() + IN_FORCE_S
        while not (seen := self.pair.seen(*self._asks(), loaded=False)).in_force:
            if time.monotonic() > end:
                raise CellFailed(f"replication {self._mode.name} did not come into force: {seen.said}")
            time.sleep(0.05)
        return seen

    def _end_both(self) -> None:
        self.pair.end_beside()
        for instance, place in zip(self._both(), (self.place, self._replica_place), strict=True):
            instance.lose_power()
            place.abandon()

    def abandon(self) -> None:
        self._end_both()

    def begin(self, evidence: CutEvidence) -> None:
        """From the kept states, with the replica keeping up."""
        self.place.begin()
        self._replica_place.begin()
        self._read_back(evidence)
        self._start_both()

    def cycle(self, cell: Cell, evidence: CutEvidence) -> Judgement:
        """One failure, from the load to what the server that is left gives back."""
        failure = self._failure
        self._look_on("replica" if failure.on_replica else "primary")
        self.begin(evidence)
        with self.loaded(cell) as load:
            load.until(Moment.drawn(cell))
            seen = self.pair.seen(*self._asks(), loaded=True)
            evidence.replication = replicated = Replicated(
                mode=self._mode.name,
                means=self._mode.means,
                waits_for=self._mode.waits_for,
                seen=seen.said,
                gave_up="",
                looked_on=self._looked_on,
            )
            evidence.settings.append(_in_force(self._mode, seen))
            if failure.cuts_link:
                evidence.replication = self._without_link(load, replicated)
            evidence.at_s = load.elapsed_s()
            # What the primary has not sent by now is not sent any more, and what was acknowledged by now counts.
            load.acknowledged.drain()
            evidence.cut_ns = time.monotonic_ns()
            self.link.down()
            evidence.cut = self.place.cut(self._keep, cell.seed)
            if failure.cuts_replica:
                self._replica_place.cut(self._keep, cell.seed + 1)
            evidence.acknowledged = acknowledged = self.killed(load, evidence)
        if failure.cuts_replica or not failure.on_replica:
            self.pair.replica.lose_power()
        looked_at = self._bring_back(evidence)
        if looked_at is None:
            return self.judged(evidence)
        self._replicated = evidence.replication
        self.inspector.inspect(evidence, acknowledged)
        for instance in self._both():
            instance.lose_power()
        evidence.filesystem_check, evidence.filesystem_message = looked_at.end()
        return self.judged(evidence)

    def _bring_back(self, evidence: CutEvidence) -> CuttablePlace | None:
        """The place of the server that is looked at, mounted; the other one is let go of, as nobody looks there again.
        None where it cannot be mounted."""
        failure = self._failure
        if failure.cuts_replica and self.pair.chooses:
            self._choose(evidence)
        elif failure.cuts_replica or not failure.on_replica:
            self._recover(self._looked_on, evidence)
        if evidence.mount_error is not None:
            self.place.abandon()
            self._replica_place.abandon()
            return None
        (self.place if self._looked_on == "replica" else self._replica_place).abandon()
        return self._looked_at[1]

    def _recover(self, server: ServerName, evidence: CutEvidence) -> Recovery | None:
        """Mount what its disk has kept; None, with the reason in the evidence, where that cannot be."""
        place = self._replica_place if server == "replica" else self.place
        try:
            recovery = place.recover()
        except CellFailed as error:
            evidence.mount_error = error.message
            return None
        evidence.mounted(recovery.seconds, repaired=recovery.repaired, said=recovery.said)
        return recovery

    def _choose(self, evidence: CutEvidence) -> None:
        """Look on at the server whose disk has more."""
        replica, primary = self._recover("replica", evidence), self._recover("primary", evidence)
        if replica and primary:
            chosen = self.pair.choose(self.link.primary, self.link.replica)
        elif replica or primary:
            chosen = Chosen("replica" if replica else "primary", f"only its disk is there: {evidence.mount_error}")
        else:
            return
        recovery = replica if chosen.server == "replica" else primary
        assert recovery is not None
        evidence.mount_error = None
        evidence.mounted(recovery.seconds, repaired=recovery.repaired, said=recovery.said)
        self._look_on(chosen.server)
        assert evidence.replication is not None
        update = {"looked_on": chosen.server, "chosen_by": chosen.said}
        evidence.replication = evidence.replication.model_copy(update=update)

    def replicated(self) -> Replicated | None:
        return self._replicated

    def save_survivors(self, file: Path) -> State:
        """As of one server, of the disk that was looked at. Where its own power had not failed it is as the look has
        left it, with the replica promoted."""
        _, place = self._looked_at
        if self._promoted:
            place.save_as_it_is(file)
        else:
            _, found = disk_log.read(place.survivors)
            place.save(State(0, len(found)).on(place.survivors), file)
        _, records = disk_log.read(file)
        return State(0, len(records), of="what a failure left")

    @property
    def _promoted(self) -> bool:
        """Whether what can be saved of the replica is no replica any more."""
        return self._failure.on_replica and not self._failure.cuts_replica

    def look_again(
        self, state: State, log: Path, acknowledged: Sequence[Acknowledgement], evidence: CutEvidence
    ) -> None:
        """At what ``save_survivors`` has written. Raises CellFailed."""
        if evidence.replication is not None:
            self._look_on(evidence.replication.looked_on)
        instance, place = self._looked_at
        evidence.cut = DiskCut(kept_bytes=0, lost_bytes=0, torn_writes=0)
        if self._promoted:
            self._looks["replica"].begin = partial(self.pair.serve, self.link.replica, self._ask_replica)
        place.begin(state.on(log))
        try:
            recovery = place.mount_survivor()
            evidence.mounted(recovery.seconds, repaired=recovery.repaired, said=recovery.said)
        except CellFailed as error:
            evidence.mount_error = error.message
        else:
            self.inspector.inspect(evidence, acknowledged)
        finally:
            instance.lose_power()
            place.abandon()

    def _without_link(self, load: Load, replicated: Replicated) -> Replicated:
        """The link carries nothing, long enough for commits that give up waiting to do so."""
        load.acknowledged.drain()
        before = len(load.acknowledged)
        self.link.down()
        limit_s = self._mode.gives_up_after_s or self._mode.stops_after_s or 0.0
        after = load.after(AFTER_LINK_S + limit_s)
        load.acknowledged.drain()
        text = ""
        if self._mode.gives_up_after_s is not None:
            seen = self.pair.seen(*self._asks(), loaded=True)
            text = "" if seen.in_force else seen.said
        return replicated.model_copy(
            update={
                "after_link": after,
                "acknowledged_after_link": len(load.acknowledged) - before,
                "gave_up": text,
            }
        )

    def release(self) -> None:
        """Let go of both servers, of the link, and of the disks' devices; disks and homes are the caller's."""
        with ExitStack() as held:
            if self._link is not None:
                held.callback(self._link.release)
            held.callback(self.place.release)
            held.callback(self._replica_place.release)
            if self._pair is not None:
                held.callback(self._pair.primary.release)
                held.callback(self._pair.replica.release)
                held.callback(self._pair.end_beside)


def _linked(home: DirectoryPlace, place: CuttablePlace, names: Sequence[str]) -> Path:
    """The directory of an engine in ``home`` whose database files lie in ``place``."""
    directory = home.subdirectory("engine")
    for name in names:
        (directory / name).symlink_to(place.path / name)
    return directory


def _rig_in(network: Path, job: bytes, environment: Mapping[str, str]) -> Process:
    """A rig in a server's own network."""
    return Process(Unledgered(network), "job", job, environment)


def _in_force(mode: Mode, seen: Seen) -> SettingInForce:
    return SettingInForce(
        name="place.replication",
        asked=mode.name,
        in_force=mode.name if seen.in_force else seen.said,
        agrees=seen.in_force,
        source="the servers",
    )
