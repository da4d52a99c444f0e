"""``--fleet FILE`` of the commands that can work on many machines; Dask is imported only where it is given."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acidtest.errors import AcidtestError, BadInput, MachineLacks

if TYPE_CHECKING:
    from acidtest.conductor.admission import Devices
    from acidtest.conductor.conduct import RunOutcome
    from acidtest.conductor.watcher import Watcher
    from acidtest.experiment import Experiment
    from acidtest.fleet.cluster import Fleet, Host
    from acidtest.plan import Plan


class Machines:
    """The hosts of a fleet that are there, for one command."""

    def __init__(self, fleet: Fleet, hosts: Sequence[Host]) -> None:
        self.fleet, self.hosts = fleet, hosts

    @property
    def names(self) -> list[str]:
        return [host.name for host in self.hosts]

    def part(self, part: Callable[[Experiment], Experiment]) -> Callable[[Experiment], Experiment]:
        """As ``part``, and with the factor ``host`` where the fleet compares its hosts."""
        from acidtest.fleet.conduct import with_hosts

        def on_hosts(whole: Experiment) -> Experiment:
            experiment = part(whole)
            return with_hosts(experiment, self.names) if experiment.machines == 1 else experiment

        return on_hosts if self.fleet.spec.compares else part

    def run(self, plan: Plan, where: Path, out: Path, watcher: Watcher, *, retry_failed: bool) -> RunOutcome:
        from acidtest.fleet import conduct, load

        task = conduct.Task.of_run(plan, where, out, watcher, retry_failed=retry_failed)
        if plan.experiment.machines > 1:
            return load.conduct_together(self.fleet, self.hosts, task)
        if self.fleet.spec.server is not None:
            server = f"server = {self.fleet.spec.server} in the fleet's file"
            watcher.doubts([f"{server} is for loads from several machines, and here each comes from one"])
        return conduct.conduct(self.fleet, self.hosts, task)

    def cut_power(
        self,
        plan: Plan,
        where: Path,
        out: Path,
        watcher: Watcher,
        *,
        only: Sequence[str],
        seed: int | None,
        command: Sequence[str],
    ) -> RunOutcome:
        from acidtest.fleet import conduct
        from acidtest.powercut.conductor import cuts_of

        cuts, output = cuts_of(plan, out, only=only, seed=seed, command=command)
        return conduct.conduct(self.fleet, self.hosts, conduct.Task(cuts, output, where, watcher, cuts=True))

    def doctor(self) -> dict[str, dict[str, Any]]:
        from acidtest.fleet import host_client

        return host_client.doctor(self.fleet, self.hosts)

    def clean(self, *, dry_run: bool) -> dict[str, dict[str, list[str]]]:
        from acidtest.fleet import host_client

        return host_client.clean(self.fleet, self.hosts, dry_run=dry_run)


@contextmanager
def opened(file: Path) -> Iterator[Machines]:
    """The fleet of ``file``, with a worker on each host, for as long as the command needs it."""
    from acidtest.fleet.spec import read

    spec = read(file)
    try:
        from acidtest.fleet import cluster
    except ModuleNotFoundError as error:
        raise MachineLacks(f"{file}: {error.name} is not installed here", "pip install 'acidtest[fleet]'") from None
    with cluster.opened(spec, file) as machines:
        hosts = machines.hosts()
        if not hosts:
            raise AcidtestError(f"{file}: no host is there", "start a worker on each, and run the same command again")
        yield Machines(machines, hosts)


def refuse_devices(file: Path, devices: Devices) -> None:
    """Raise BadInput where the command line names devices: a fleet's are named by host."""
    if devices.use:
        raise BadInput(
            f"{min(devices.use)}: with --fleet, devices are named by host",
            f'write [hosts.NAME] use_devices = ["{min(devices.use)}"] in {file}',
        )
