"""``acidtest doctor``: what this machine can and cannot do, and what to install."""

from __future__ import annotations

import json as json_
import os
from collections.abc import Container
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from acidtest import __version__
from acidtest.cli import fleets
from acidtest.cli.options import FleetFile, Json
from acidtest.errors import AcidtestError, MachineLacks
from acidtest.files import find_rig, kernel_text, rig_version, state_directory
from acidtest.filesystems import FILESYSTEMS
from acidtest.words import counted

Finding = dict[str, str]


def doctor(
    directory: Annotated[
        Path, typer.Argument(help="Where databases would live.", exists=True, file_okay=False)
    ] = Path(),
    fleet: FleetFile = None,
    json: Json = False,
) -> None:
    """Show what this machine can and cannot do, and what to install. Exit code 4 when nothing could run."""
    if fleet is not None:
        _on_hosts(fleet, json=json)
        return
    findings = findings_of(directory)
    if json:
        print(json_.dumps({"acidtest": __version__, "findings": findings}, indent=2))
    else:
        _show(findings)
    if any(finding["state"] == "missing" and finding["what"] == "rig" for finding in findings):
        raise typer.Exit(4)


def _on_hosts(file: Path, *, json: bool) -> None:
    with fleets.opened(file) as machines:
        answers = machines.doctor()
    if json:
        print(json_.dumps({"hosts": answers}, indent=2))
    else:
        for host, answer in answers.items():
            Console(highlight=False).print(f"\n[bold]{host}[/]")
            if "findings" in answer:
                _show(answer["findings"])
            else:
                print(f"doctor could not run there: {answer['said']}")
    if any("findings" not in answer for answer in answers.values()):
        raise typer.Exit(MachineLacks.exit_code)


def findings_of(directory: Path) -> list[Finding]:
    """All that can be said of this machine, and of databases in ``directory``."""
    return [
        rig(),
        *engines(),
        *replicas(),
        *_storage(directory),
        *_places(),
        *_machine(),
        memory_limit(),
        *_leftovers(),
    ]


def _finding(what: str, state: str, detail: str, remedy: str = "") -> Finding:
    return {"what": what, "state": state, "detail": detail, "remedy": remedy}


def rig() -> Finding:
    """Whether there is what drives load."""
    try:
        return _finding("rig", "ok", f"{rig_version()} ({find_rig()})")
    except AcidtestError as error:
        return _finding("rig", "missing", error.message, error.remedy)


def engines(ids: Container[str] | None = None) -> list[Finding]:
    """Whether each engine can run here, or each of these; ids that are no engine's are passed over."""
    from acidtest.engine import catalogue

    findings = []
    for offer in catalogue.offers():
        if ids is not None and offer.id not in ids:
            continue
        if lack := offer.lack():
            findings.append(_finding(offer.id, "missing" if offer.installed else "absent", *lack))
        else:
            findings.append(
                _finding(offer.id, "ok", f"{offer.version or 'built in'} {offer.architecture}, {offer.source}")
            )
    return findings


def replicas() -> list[Finding]:
    """What keeps installed engines from having replicas in a mode of theirs; nothing where nothing does."""
    from acidtest.engine import catalogue

    findings = []
    for engine in catalogue.all_engines().values():
        if engine.offer().lack() or engine.family not in catalogue.REPLICATIONS:
            continue
        replication = catalogue.replication_of(engine)
        for mode in replication.modes(engine):
            try:
                replication.refuse(engine, mode, {}, "drive")
            except MachineLacks as error:
                findings.append(_finding("replicas", "absent", error.message, error.remedy))
    return findings


def _storage(directory: Path) -> list[Finding]:
    from acidtest.place import place_facts

    facts = place_facts(directory)
    where = f"{facts.path} on {facts.filesystem} ({facts.device}, {facts.mount_options})"
    findings = [_finding("storage", "ok", f"{where}, {facts.free_bytes / 1e9:.1f} GB free")]
    if facts.in_memory:
        findings[0] |= {
            "state": "doubtful",
            "remedy": "this is memory: flushes cost nothing here; name a directory on the drive you want to know about",
        }
    cache = {"write back": "volatile, flushes matter", "write through": "none reported, flushes may cost nothing"}
    volatile = cache.get(facts.write_cache, "not known whether it is volatile")
    findings.append(
        _finding(
            "drive",
            "ok" if facts.write_cache != "unknown" else "unknown",
            f"model {facts.device_model}, rotational {facts.rotational}, scheduler {facts.scheduler}, "
            f"write cache {facts.write_cache} ({volatile}), FUA {facts.fua}",
        )
    )
    return findings


def file_systems() -> Finding:
    """Which could be made for a cell, and what keeps the others from it."""
    from acidtest.place.mkfs import can_be_made, in_kernel

    kernel, usable = [name for name in FILESYSTEMS if in_kernel(name)], can_be_made()
    lacking = [name for name in FILESYSTEMS if name not in kernel]
    packages = {name: FILESYSTEMS[name].package for name in kernel if name not in usable}
    detail = f"{', '.join(usable) or 'none'} can be made; this kernel has no {', '.join(lacking)}"
    if packages:
        detail += f"; {', '.join(packages)} lack their mkfs"
    remedy = f"apt-get install {' '.join(dict.fromkeys(packages.values()))} (Debian)" if packages else ""
    return _finding("file systems", "ok" if usable else "absent", detail, remedy)


def loop_places() -> Finding:
    """Whether file systems can be made for cells, and mounted."""
    from acidtest.place.loops import CONTROL

    if os.geteuid() != 0:
        return _finding("loop places", "absent", "loop, device and raw places need root", "sudo acidtest run")
    if not CONTROL.exists():
        return _finding("loop places", "absent", f"this kernel has no loop devices ({CONTROL})", "modprobe loop")
    return _finding("loop places", "ok", "loop devices and root are there")


def simulated_disk() -> Finding:
    """Whether power can be cut here: a FUSE file, and a loop device over it."""
    from acidtest.place.disk import DEVICE as FUSE
    from acidtest.place.disk import OVER_IO_URING
    from acidtest.place.loops import CONTROL

    if not FUSE.exists():
        return _finding("simulated disk", "absent", f"this kernel has no FUSE ({FUSE})", "modprobe fuse")
    if os.geteuid() != 0 or not CONTROL.exists():
        remedy = "sudo acidtest powercut" if CONTROL.exists() else "modprobe loop"
        return _finding("simulated disk", "absent", "FUSE is there, but it needs root and loop devices too", remedy)
    remedy = ""
    if OVER_IO_URING.exists() and kernel_text(OVER_IO_URING).strip() != "Y":
        remedy = f"echo Y > {OVER_IO_URING} makes a disk without a timing faster"
    return _finding(
        "simulated disk",
        "ok",
        f"FUSE ({FUSE}), loop devices and root are there: power can be cut under engines, and under programs of yours",
        remedy,
    )


def _places() -> list[Finding]:
    """What file systems could be made and mounted for a cell, and in what else a cell could be put."""
    from acidtest.place.guest.cuttable import lacks
    from acidtest.place.guest.kernel import installed
    from acidtest.place.guest.machine import can_run, qemu_version
    from acidtest.place.guest.stacks import STACKS

    findings = [file_systems(), loop_places(), simulated_disk()]
    try:
        can_run("tcg")
        has = installed()
        brought = f"{has.package} {has.version}" if has else "a kernel is brought at first use"
        findings.append(_finding("guests", "ok", f"QEMU {qemu_version()}; {brought}"))
    except MachineLacks as error:
        findings.append(_finding("guests", "absent", error.message, error.remedy))
        return findings
    for stack in STACKS:
        try:
            lacks(stack)
        except MachineLacks as error:
            findings.append(_finding("whole machines", "absent", error.message, error.remedy))
    return findings


def _machine() -> list[Finding]:
    from acidtest.place import machine_facts

    facts = machine_facts()
    findings = [
        _finding(
            "machine",
            "ok",
            f"{facts.cpu_model}, {counted(facts.cpu_count, 'core')}, {facts.memory_bytes / 2**30:.0f} GiB, "
            f"{facts.kernel}, {facts.os}",
        )
    ]
    if facts.virtualization not in ("none", "unknown"):
        findings.append(
            _finding(
                "virtualization",
                "doubtful",
                f"{facts.virtualization}: the host decides what a flush does and who shares the cores",
                "compare ratios from one machine, not absolute figures; repeat at another hour",
            )
        )
    return [*findings, _watching()]


def _watching() -> Finding:
    """How system calls could be watched."""

    from acidtest.place import tracing

    try:
        means = tracing.means()
    except MachineLacks as error:
        return _finding("system calls", "absent", error.message, error.remedy)
    if means == "kernel":
        return _finding("system calls", "ok", "can be watched by the kernel's tracing")
    detail = f"can be watched by strace, at a hundred times the cost ({tracing.kernel_lacks()})"
    return _finding("system calls", "doubtful", detail, "run as root for the kernel's tracing")


def memory_limit() -> Finding:
    """Whether an engine's memory can be limited."""
    from acidtest.place import cgroup

    try:
        hierarchy = cgroup.here()
    except AcidtestError as error:
        return _finding("memory limit", "absent", error.message, error.remedy)
    return _finding("memory limit", "ok", f"by a control group (v{hierarchy.version}) below {hierarchy.parent}")


def _leftovers() -> list[Finding]:
    from acidtest.place import leftovers
    from acidtest.place.mounts import dead_mounts

    findings = []
    if left := leftovers():
        findings.append(
            _finding("left behind", "doubtful", f"{counted(len(left), 'thing')} of a killed run", "acidtest clean")
        )
    findings += [_finding("dead mount", "doubtful", str(mount), mount.remedy) for mount in dead_mounts()]
    return findings or [_finding("left behind", "ok", f"nothing (ledger in {state_directory() / 'ledger'})")]


def _show(findings: list[Finding]) -> None:
    """What to do stands in lines of its own, which are not broken: most of it is a command to be copied."""
    styles = {"ok": "green", "absent": "dim", "missing": "red"}
    console = Console(highlight=False)
    widths = [max((len(finding[key]) for finding in findings), default=0) for key in ("what", "state")]
    for finding in findings:
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
        for width in widths:
            table.add_column(no_wrap=True, width=width)
        table.add_column(overflow="fold")
        state = Text(finding["state"], style=styles.get(finding["state"], "yellow"))
        table.add_row(Text(finding["what"]), state, Text(finding["detail"]))
        console.print(table)
        if finding["remedy"]:
            console.print(Text(f"  → {finding['remedy']}", style="bold"), soft_wrap=True)
