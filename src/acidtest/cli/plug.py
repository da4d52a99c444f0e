"""``acidtest plug``: cuts the power of a real machine, while another one keeps what it has acknowledged."""

from __future__ import annotations

import json as json_
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from acidtest.cli import complete, planning, stop_signals
from acidtest.cli.options import Cuts, ExperimentFile, Json, Only, Out, Quick, option
from acidtest.cli.powercut import exit_by_verdicts
from acidtest.errors import BadInput

if TYPE_CHECKING:
    from acidtest.experiment import Experiment
    from acidtest.plan import Plan

app = typer.Typer(
    help="Cut the power of a real machine: serve on the one that is cut, witness on another. acidtest help "
    "docs/PLUG.md.",
    no_args_is_help=True,
)


@app.command()
def serve(
    file: ExperimentFile,
    at: Annotated[Path, option("--at", "Where the databases lie: on the drive that is to be tried.", "DIR")],
    listen: Annotated[
        str,
        option(
            "--listen",
            "Where the witness finds this machine; by default it must be here.",
            "ADDRESS[:PORT]",
        ),
    ] = "127.0.0.1",
    quick: Quick = False,
    json: Json = False,
) -> None:
    """On the machine that is to be cut: drive load, pass on what is acknowledged, and look for it after the restart."""
    from acidtest.powercut import plug

    def say(line: str) -> None:
        print(json_.dumps({"says": line}) if json else line, flush=True)

    address = plug.Address.named(listen, "--listen")
    plan = _planned(file, quick=quick, cuts=None)
    if not address.is_loopback:
        say(f"Anybody who reaches {address} can have load driven here without a password: use a private network.")
    with stop_signals.leaving("no power was cut, and the same command begins anew"):
        plug.serve(plan, file, at, address, say)


@app.command()
def witness(
    file: ExperimentFile,
    server: Annotated[str, option("--server", "Where acidtest plug serve listens.", "ADDRESS[:PORT]")],
    out: Out,
    switch_off: Annotated[str | None, option("--switch-off", "This cuts the machine's power.", "COMMAND")] = None,
    switch_on: Annotated[str | None, option("--switch-on", "This gives it back.", "COMMAND")] = None,
    off_for: Annotated[float, option("--off-for", "Leave it without power so long.", "SECONDS", min=0)] = 10.0,
    back_within: Annotated[
        float, option("--back-within", "Wait so long for it to come back.", "SECONDS", min=1)
    ] = 600.0,
    cuts: Cuts = None,
    only: Only = None,
    quick: Quick = False,
    json: Json = False,
) -> None:
    """On another machine: keep what is acknowledged, have the power cut at random moments, and report what is gone.

    Without --switch-off and --switch-on it says when to pull the plug."""
    from acidtest.cli.progress import watching
    from acidtest.cli.report import show_cuts
    from acidtest.powercut import plug

    if (switch_off is None) != (switch_on is None):
        given, other = ("--switch-off", "--switch-on") if switch_off is not None else ("--switch-on", "--switch-off")
        raise BadInput(f"{given}: needs {other} too", "give both, or neither to pull the plug by hand")
    if switch_off is not None and not (switch_off.strip() and (switch_on or "").strip()):
        raise BadInput("--switch-off and --switch-on: an empty command switches nothing", "name a command for each")
    switch = plug.Switch(switch_off, switch_on) if switch_off is not None and switch_on is not None else None
    address = plug.Address.named(server, "--server")
    plan = _planned(file, quick=quick, cuts=cuts)
    options = (("--server", server), ("--switch-off", switch_off), ("--switch-on", switch_on))
    command = [str(file), *(["--quick"] if quick else [])]
    command += [word for option, value in options if value is not None for word in (option, value)]
    console = Console(stderr=json, highlight=False)
    with stop_signals.leaving(stop_signals.GOES_ON), watching(console) as watcher:
        outcome = plug.watch(
            plan,
            file,
            out,
            watcher,
            address,
            switch,
            patience=plug.Patience(off_for, back_within),
            only=only or (),
            tell=watcher.brings,
            command=["plug", "witness", *command],
        )
    page = show_cuts(outcome.journal, out, console, json=json)
    exit_by_verdicts(outcome.journal.recordings, unwritten=bool(page.unwritten))


guests = typer.Typer(
    help="Try it all without a plug: a guest stands in for the machine that is cut. acidtest help docs/PLUG.md.",
    no_args_is_help=True,
)
app.add_typer(guests, name="guest")
Name = Annotated[str, typer.Argument(help="What the guest is called.", metavar="NAME", autocompletion=complete.disks)]


@guests.command()
def create(
    name: Annotated[str, typer.Argument(help="What the guest, and its disk, will be called.", metavar="NAME")],
    file: ExperimentFile,
    quick: Quick = False,
    size: Annotated[str, option("--size", "How large its disk is.", "SIZE")] = "1G",
    filesystem: Annotated[
        str,
        option("--filesystem", "Make this file system on its disk.", "FILESYSTEM", complete.filesystems),
    ] = "ext4",
    faults: Annotated[
        list[str] | None,
        option("--fault", "What its disk does wrong, as acidtest help docs/DISK.md words it. Repeatable.", "FAULT"),
    ] = None,
    port: Annotated[int, option("--port", "It is found at this port of 127.0.0.1.", min=1, max=65535)] = 7583,
    memory_mb: Annotated[int, option("--memory-mb", "Its memory.", "MIB", min=256)] = 1024,
    cpus: Annotated[int, option("--cpus", "How many processors it has.", min=1)] = 1,
    accelerator: Annotated[str, option("--accelerator", "tcg, which emulates its processor, or kvm.", "KIND")] = "tcg",
    json: Json = False,
) -> None:
    """Make a guest that runs acidtest plug serve on a simulated disk, and switch it on."""
    from acidtest.cli.disk import megabytes
    from acidtest.errors import not_among
    from acidtest.place import disk_service
    from acidtest.place.guest import machine_service as guest
    from acidtest.powercut.plug.admission import admit

    if accelerator not in ("tcg", "kvm"):
        raise BadInput(not_among("--accelerator", accelerator, ("tcg", "kvm")))
    for fault in faults or []:
        disk_service.check_fault(fault)
    size_mb = megabytes(size)
    admit(_planned(file, quick=quick, cuts=None), file)
    words = ["plug", "serve", str(file.absolute()), *(["--quick"] if quick else [])]
    words += ["--at", guest.AT, "--listen", f"{guest.ADDRESS}:{port}"]
    command = [sys.executable, "-c", "from acidtest.cli import main; main()", *words]
    say = partial(print, file=sys.stderr if json else sys.stdout, flush=True)
    how = "is emulated" if accelerator == "tcg" else "has this machine's processors"
    say(f"making {name}: it boots now, and {how}")
    console = guest.create(
        name,
        guest.Service(command, Path.cwd(), f"listens at {guest.ADDRESS}"),
        size_mb=size_mb,
        filesystem=filesystem,
        port=port,
        memory_mb=memory_mb,
        cpus=cpus,
        accelerator=accelerator,
        faults=faults or [],
        say=say,
    )
    served = f"127.0.0.1:{port}"
    if json:
        print(json_.dumps({"name": name, "server": served, "console": str(console)}))
    else:
        print(f"{name}: acidtest plug serve listens at {served}; its console is {console}")


@guests.command()
def off(name: Name, json: Json = False) -> None:
    """Take the guest's power: what its disk has not flushed is lost."""
    from acidtest.place.guest import machine_service as guest

    with guest.opened(name) as machine:
        machine.switch_off()
    _told(name, "off", json=json)


@guests.command()
def on(name: Name, json: Json = False) -> None:
    """Give the guest its power: it boots on what its disk has kept."""
    from acidtest.place.guest import kernel
    from acidtest.place.guest import machine_service as guest

    with guest.opened(name) as machine:
        machine.switch_on(kernel.ready(partial(print, file=sys.stderr if json else sys.stdout)))
    _told(name, "on", json=json)


@guests.command()
def remove(name: Name, json: Json = False) -> None:
    """End the guest, and remove it and its disk."""
    from acidtest.place.guest import machine_service as guest

    with guest.opened(name) as found:
        found.remove()
    _told(name, "removed", json=json)


def _told(name: str, state: str, *, json: bool) -> None:
    if json:
        print(json_.dumps({"name": name, "state": state}))


def _planned(file: Path, *, quick: bool, cuts: int | None) -> Plan:

    def to_cut(whole: Experiment) -> Experiment:
        return whole.to_cut().model_copy(update={} if cuts is None else {"repetitions": cuts})

    return planning.planned(file, quick=quick, cuts=True, part=to_cut)
