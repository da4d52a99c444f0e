"""The client's side: what hosts report of themselves, whether they may measure together, and what each is asked."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from acidtest import __version__
from acidtest.errors import BadInput, CellFailed, Problems
from acidtest.fleet import tasks
from acidtest.fleet.cluster import Fleet, Host
from acidtest.fleet.messages import refused
from acidtest.fleet.spec import HostSpec

CLOCK_TIMES = 7
CLOCK_MAX_S = 10.0  # that clocks may differ: the times of recordings and of engines' logs are read side by side


@dataclass(frozen=True)
class Clock:
    """A host's clock less ours, and how far off that may be."""

    offset_s: float
    error_s: float


@dataclass(frozen=True)
class Facts:
    """What a host is."""

    host: Host
    clock: Clock
    rig_sha256: str
    user: str
    architecture: str


def answered(host: Host, reply: Mapping[str, Any]) -> dict[str, Any]:
    """The answer in the reply of a lab on ``host``. Raises what it refused, with the host's name, and CellFailed where
    it died."""
    if "died" in reply:
        raise _death(host, reply["died"], reply["said"])
    answer: dict[str, Any] = reply["answer"]
    if errors := refused(answer, host.name):
        problems = Problems()
        for error in errors:
            problems.add(error)
        raise problems.together()
    return answer


def _death(host: Host, code: int, said: str) -> CellFailed:
    last = said.splitlines()[-1] if said else "it left no message"
    how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
    return CellFailed(f"{host.name}: the lab there {how}: {last}", "run the same command again: it goes on")


def facts(fleet: Fleet, hosts: Sequence[Host]) -> list[Facts]:
    """What the hosts are. Raises BadInput where one has no acidtest, or one of another version."""
    answers = _answers(fleet, hosts, lambda host, spec: fleet.run(tasks.facts, host))
    return [Facts(host, clock(fleet, host), **answer) for host, answer in answers.items()]


def _answers_of_labs(
    fleet: Fleet, hosts: Sequence[Host], request: Callable[[Host, HostSpec], Mapping[str, Any]]
) -> dict[Host, dict[str, Any]]:
    """What a lab on each host answers to its ``request``; all that they refuse is raised together."""

    def ask(host: Host, spec: HostSpec) -> Any:
        return fleet.run(tasks.once, host, spec.home, json.dumps(request(host, spec)))

    return _answers(fleet, hosts, ask)


def _answers(fleet: Fleet, hosts: Sequence[Host], ask: Callable[[Host, HostSpec], Any]) -> dict[Host, dict[str, Any]]:
    """The answers to the tasks that ``ask`` begins; all that is refused is raised together."""
    problems = Problems()
    answers: dict[Host, dict[str, Any]] = {}
    for host, reply in _replies(fleet, hosts, ask):
        with problems.gather():
            answers[host] = answered(host, reply)
    problems.check()
    return answers


def _replies(
    fleet: Fleet, hosts: Sequence[Host], ask: Callable[[Host, HostSpec], Any]
) -> Iterator[tuple[Host, dict[str, Any]]]:
    """What the hosts reply, side by side, when they are known to have this acidtest; ``ask`` begins a task on one."""
    problems = Problems()
    _refuse_without(fleet, hosts, problems)
    problems.check()
    futures = {host: ask(host, fleet.spec.of_host(host.name)) for host in hosts}
    for host, future in futures.items():
        yield host, json.loads(fleet.awaited(host, future))


def _refuse_without(fleet: Fleet, hosts: Sequence[Host], problems: Problems) -> None:
    """Add the hosts that have no acidtest, or another one. What is asked travels whole and needs none."""

    def version() -> str:
        try:
            import acidtest.fleet
        except ImportError as error:
            return f"missing: {error}"
        return acidtest.__version__

    versions: dict[str, str] = fleet.client.run(version, workers=[host.address for host in hosts])
    for host in hosts:
        if (has := versions[host.address]) != __version__:
            found = (
                f"acidtest is {has}" if has.startswith("missing") else f"has acidtest {has}, and this is {__version__}"
            )
            problems.add(BadInput(f"{host.name}: {found}", "install the same version on every host"))


def doctor(fleet: Fleet, hosts: Sequence[Host]) -> dict[str, dict[str, Any]]:
    """What ``acidtest doctor`` says on each host, by name; "said" where it could not."""

    def ask(host: Host, spec: HostSpec) -> Any:
        return fleet.run(tasks.doctor, host, spec.home, spec.directory)

    return {host.name: reply for host, reply in _replies(fleet, hosts, ask)}


def farewell(run: str, host: str, spec: HostSpec, acknowledged: Sequence[str]) -> dict[str, Any]:
    """Has the lab of ``run``, or a new one where that is gone, release all of it, and remove what is acknowledged."""
    return {"do": "end", "run": run, "host": host, "directory": spec.directory, "acknowledged": list(acknowledged)}


def dismiss(fleet: Fleet, hosts: Sequence[Host], run: str, acknowledged: Sequence[str]) -> None:
    """Have the hosts remove what they keep of a ``run`` that is complete; who was gone when it ended still does."""
    _answers_of_labs(fleet, hosts, lambda host, spec: farewell(run, host.name, spec, acknowledged))


def clean(fleet: Fleet, hosts: Sequence[Host], *, dry_run: bool) -> dict[str, dict[str, list[str]]]:
    """Have each host release what labs that are gone left there: "released", and "kept" with why, by its name."""
    answers = _answers_of_labs(
        fleet, hosts, lambda host, spec: {"do": "clean", "dry_run": dry_run, "directory": spec.directory}
    )
    return {host.name: answer for host, answer in answers.items()}


def clock(fleet: Fleet, host: Host) -> Clock:
    """By the shortest of several exchanges, as in RFC 5905: half of it is how far off the offset may be."""
    return _clock(lambda: fleet.awaited(host, fleet.run(tasks.clock, host)))


def clock_beside(fleet: Fleet, host: Host) -> Clock:
    """The same, while a task is at work there."""
    return _clock(lambda: fleet.beside(host, tasks.clock))


def _clock(there: Callable[[], float]) -> Clock:
    exchanges = []
    for _ in range(CLOCK_TIMES):
        asked = time.time()
        theirs = there()
        heard = time.time()
        exchanges.append(Clock(theirs - (asked + heard) / 2, (heard - asked) / 2))
    return min(exchanges, key=lambda exchange: exchange.error_s)


def refuse_unlike(hosts: Iterable[Facts], rig_sha256: str) -> None:
    """Raise BadInput where hosts may not measure for one journal: other versions, or clocks far apart."""
    problems = Problems()
    for facts in hosts:
        name = facts.host.name
        if facts.architecture == platform.machine() and facts.rig_sha256 != rig_sha256:
            problems.add(
                BadInput(
                    f"{name}: its rig is another build (sha256 {facts.rig_sha256[:16]}, here {rig_sha256[:16]})",
                    "install the same wheel of acidtest on every host",
                )
            )
        if abs(facts.clock.offset_s) - facts.clock.error_s > CLOCK_MAX_S:
            problems.add(
                BadInput(
                    f"{name}: its clock differs from this machine's by {facts.clock.offset_s:+,.1f} s "
                    f"(± {facts.clock.error_s:.3f} s)",
                    "set the clocks, by NTP for example",
                )
            )
    problems.check()


def refuse_other_engines(engines: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise BadInput where an engine is another one on different hosts. ``engines`` has its facts by host, by id."""
    problems = Problems()
    first: dict[str, tuple[str, Any]] = {}
    for host, of_host in engines.items():
        for id, facts in of_host.items():  # noqa: A001
            other, known = first.setdefault(id, (host, facts))
            for key, words in (("version", ""), ("build", "another build of ")):
                if known.get(key) != facts.get(key):
                    has = f"{words}{id} {facts['version']}"
                    problems.add(
                        BadInput(
                            f"{host}: has {has}, and {other} has {known['version']}", "install the same on every host"
                        )
                    )
                    break
    problems.check()


def refuse_other_devices(devices: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise BadInput where a device is another one on different hosts, which are to be alike. ``devices`` has what each
    is by host, by name."""
    problems = Problems()
    first: dict[str, tuple[str, Any]] = {}
    for host, of_host in devices.items():
        for name, facts in of_host.items():
            other, known = first.setdefault(name, (host, facts))
            if known != facts:
                problems.add(
                    BadInput(
                        f"{host}: {name} is {_device(facts)}, and on {other} it is {_device(known)}",
                        'take hosts that are alike, or compare them: spread = "compare"',
                    )
                )
    problems.check()


def _device(facts: Mapping[str, Any]) -> str:
    return f"{facts['model']} of {facts['size_bytes'] / 1e9:,.1f} GB"
