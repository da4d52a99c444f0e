"""One guest: a small QEMU machine without a network, with a disk that is a file of ours. Linux and busybox, no more.

What lies in a directory here lies under the same path in the guest, so that an engine's configuration, and what the
rig is told, hold there as they are.
"""

from __future__ import annotations

import base64
import io
import os
import shlex
import shutil
import subprocess
import tarfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from acidtest.errors import CellFailed, MachineLacks
from acidtest.formats import elf
from acidtest.place.guest.agent import Gone, Monitor, Port
from acidtest.place.guest.initramfs import busybox, in_guest
from acidtest.place.guest.kernel import Kernel
from acidtest.place.ledger import Ledger

QEMU = "qemu-system-x86_64"
BOOT_S = 180.0  # with software emulation on a busy machine; 5 s on one that is not
COMMAND_S = 600.0  # mkfs, or copying a database in
DISK, CRATE = "/dev/vda", "/dev/vdb"
OUTBOX, SECOND = "/dev/vdc", "/dev/vdd"  # of a guest whose power is cut
CRATE_BYTES = 1 << 40  # as the guest sees it; the file is as large as what lies in it
FORKED = "virtual machine fork"  # Linux says so where it has drawn them: drivers/char/random.c, add_vmfork_randomness
ACKNOWLEDGEMENTS = "acknowledgements"  # the name of a port
BLOCK = 1 << 20
BACK_KB = 256  # a file that a run changed comes back when it is no larger
HEADER_BYTES = 1 << 16  # of each database file, these come back


@dataclass(frozen=True)
class Hardware:
    """What cannot be changed in a guest that is up."""

    memory_mb: int
    cpus: int
    accelerator: str  # "tcg", "kvm"
    disk_mb: int


@dataclass(frozen=True)
class Saved:
    """A guest that has booted, as QEMU wrote it into a file: any number of guests may go on from there."""

    file: Path
    carried: frozenset[Path]
    loaded: frozenset[Path]


class Guest:
    """A guest that is up. ``directory`` is an empty one of ours, and holds its files until it is released.

    With ``disks``, files that are there already, it has those in place of a disk of its own, and what a guest has whose
    power is cut: a port for acknowledgements, whose pipe here is ``acknowledgements``, and a disk by which files leave.
    """

    def __init__(
        self,
        directory: Path,
        ledger: Ledger,
        kernel: Kernel,
        initramfs: Path,
        hardware: Hardware,
        disks: Sequence[Path] = (),
        saved: Saved | None = None,
    ) -> None:
        """With ``saved``, of a guest with the same hardware and as many disks, it goes on from there without a boot."""
        self._saved = saved
        self.kernel, self.hardware, self._disks = kernel, hardware, disks
        self.acknowledgements = directory / "acknowledgements.out"
        self._directory, self._ledger = directory, ledger
        self._carried: set[Path] = set(saved.carried if saved else ())
        self._loaded: set[Path] = set(saved.loaded if saved else ())
        self._commands, self._jobs = Port(directory / "commands"), Port(directory / "jobs")
        self._opened: list[Port] = []
        self._lost = False
        if disks:
            for suffix in (".in", ".out"):
                os.mkfifo(self.acknowledgements.with_suffix(suffix), 0o600)
            self._monitor = Monitor(directory / "monitor")
            with (directory / "outbox").open("xb") as outbox:
                outbox.truncate(CRATE_BYTES)
        else:
            _zeros(directory / "disk", hardware.disk_mb)
        with (directory / "crate").open("xb") as crate:
            crate.truncate(CRATE_BYTES)
        with (directory / "qemu.log").open("xb") as log:
            self._id, self._process = ledger.start_process(
                self._command(initramfs), environment=os.environ, stderr=log, stdout=log
            )
        try:
            self._boot()
        except BaseException:
            self.release()
            raise

    def _command(self, initramfs: Path) -> list[str]:
        at, hardware = self._directory, self.hardware
        disk = self._disks[0] if self._disks else at / "disk"
        return [
            *started(self.kernel, initramfs, hardware), "-nic", "none",
            "-chardev", f"file,id=console,path={option(at / 'console')}", "-serial", "chardev:console",
            *drive("disk", disk), "-device", "virtio-blk-pci,drive=disk,addr=8,discard=off,write-zeroes=off",
            "-drive", f"if=none,id=crate,format=raw,cache=none,readonly=on,file={option(at / 'crate')}",
            "-device", "virtio-blk-pci,drive=crate,addr=9",
            "-device", "virtio-serial-pci,addr=10",
            "-chardev", f"pipe,id=commands,path={option(at / 'commands')}",
            "-device", "virtserialport,chardev=commands,name=commands",
            "-chardev", f"pipe,id=jobs,path={option(at / 'jobs')}",
            "-device", "virtserialport,chardev=jobs,name=jobs",
            *(self._to_be_cut() if self._disks else []),
        ]  # fmt: skip

    def _to_be_cut(self) -> list[str]:
        at = self._directory
        second = [
            *drive("second", self._disks[-1]),
            "-device", "virtio-blk-pci,drive=second,addr=12,discard=off,write-zeroes=off",
        ] if len(self._disks) > 1 else []  # fmt: skip
        return [
            *drive("outbox", at / "outbox"), "-device", "virtio-blk-pci,drive=outbox,addr=11",
            *second,
            "-device", "vmgenid,guid=auto",  # tells the kernel that it goes on from where others do: see _wake
            "-chardev", f"pipe,id=monitor,path={option(at / 'monitor')}", "-mon", "chardev=monitor,mode=control",
            *(["-incoming", f"exec:cat {_quoted(self._saved.file)}"] if self._saved else []),
            "-chardev", f"pipe,id=acknowledgements,path={option(at / 'acknowledgements')}",
            "-device", f"virtserialport,chardev=acknowledgements,name={ACKNOWLEDGEMENTS}",
        ]  # fmt: skip

    def _boot(self) -> None:
        end = time.monotonic() + BOOT_S
        try:
            for port in (self._commands, self._jobs):
                while not port.open():
                    if self._process.poll() is not None or time.monotonic() > end:
                        raise Gone("QEMU did not start")
                    time.sleep(0.02)
                self._opened.append(port)
            if self._saved:
                self._wake(end)
                return
            for port in (self._commands, self._jobs):
                for _ in port.lines(max(1.0, end - time.monotonic())):
                    pass
        except Gone as error:
            raise CellFailed(f"the guest did not come up: {error.message}: {self._last_words()}") from None

    def _wake(self, end: float) -> None:
        """Its agents wait for their next line. Its clock is that of the guest that was saved, and so are its random
        numbers until its kernel draws new ones: with them a database would repeat the salts of its log."""
        self._jobs.code = 0
        self._commands.send(f"until dmesg | grep -q '{FORKED}'; do sleep 0.05; done; date -s @{int(time.time())}")
        for _ in self._commands.lines(max(1.0, end - time.monotonic())):
            pass

    def save(self, file: Path) -> Saved:
        """End it, and leave in ``file`` what it was. It must have been given its disks. Raises Gone."""
        self._monitor.save(file)
        self.kill()
        return Saved(file, frozenset(self._carried), frozenset(self._loaded))

    def _last_words(self) -> str:
        """The end of what QEMU and the guest's console said."""
        lines = [
            line.strip()
            for name in ("qemu.log", "console")
            for line in _tail(self._directory / name).splitlines()
            if line.strip()
        ]
        panic = [line for line in lines if "Kernel panic" in line]  # a trace of calls comes after it
        return " / ".join(panic or lines[-4:]) or "it left no message"

    @property
    def alive(self) -> bool:
        """Whether it can be used further."""
        return not self._lost and self._process.poll() is None

    def run(self, doing: str, script: str, limit_s: float = COMMAND_S) -> str:
        """Run a shell script there and return what it printed. Raises CellFailed with what it complained of."""
        try:
            return self._commands.run(doing, script, limit_s)
        except Gone as error:
            raise self.gone(doing, error) from None
        finally:
            # Interrupted: the answer that is still to come would be taken for that to the next script.
            self._lost = self._lost or self._commands.code is None

    def gone(self, doing: str, error: Gone) -> Gone:
        """Note that the guest is of no more use, and say so with the last words of its console."""
        self._lost = True
        return Gone(f"{doing}: {error.message}: {self._last_words()}")

    def load(self, modules: Iterable[str]) -> None:
        """Load kernel modules, with those that they need. Raises CellFailed for one that the kernel does not have."""
        files = [file for file in self.kernel.modules(modules) if file not in self._loaded]
        if files:
            script = "\n".join(
                f"grep -q '^{_module(file)} ' /proc/modules || insmod {in_guest(file)}" for file in files
            )
            self.run(f"loading {files[-1].stem} into the guest's kernel", f"set -e\n{script}")
            self._loaded.update(files)

    def carry(self, paths: Iterable[Path]) -> None:
        """Put files and folders of this machine into the guest's memory, with the libraries that they need."""
        new = [path for path in paths if path not in self._carried]
        if not new:
            return
        inside = {file: None for path in new for file in (sorted(path.rglob("*")) if path.is_dir() else [path])}
        led_to = {file.resolve(): None for file in inside if file.is_symlink()}
        files = [file for file in (*inside, *led_to) if file.is_file()]
        libraries = elf.closure(files)
        others = {file: None for file in (*led_to, *libraries) if file not in inside and file.is_file()}
        real = {file: file.resolve() for file in others if file not in self._carried}
        self._copy("carrying the rig and the engine into the guest", {file: file for file in inside} | real)
        self._carried.update(new, others)

    def put(self, directory: Path, raw: Path | None = None) -> None:
        """Put ``directory`` there under its own path, and have it all written; ``raw``, a file in it, onto the disk."""
        files = {file: file for file in sorted(directory.rglob("*")) if file != raw}
        if raw is not None:
            self._copy("copying the database onto the raw device", {Path(DISK): raw})
        self._copy("copying the database into the guest", files)
        if raw is not None:
            self.run("linking the database to the raw device", f"ln -sfn {DISK} {_quoted(raw)}")
        # A second back: some file systems keep whole seconds only.
        settle = f"sync && blockdev --flushbufs {CRATE} && touch -d @$(($(date +%s) - 1)) /run/put"
        self.run("flushing the database in the guest", settle)

    def bring_back(self, directory: Path, databases: Sequence[Path]) -> None:
        """Bring here what a run left in ``directory``: the first bytes of its database files (their header), and files
        that changed and are small, as an engine's log."""
        for database in databases:
            encoded = self.run("reading the database's header", f"head -c {HEADER_BYTES} {_quoted(database)} | base64")
            with database.open("r+b") as file:
                file.write(base64.b64decode(encoded))
        changed = f"find . -type f -newer /run/put -size -{BACK_KB}k -exec tar -c -f - {{}} + | base64"
        encoded = self.run("bringing back the engine's files", f"cd {_quoted(directory)} && {changed}")
        if not encoded:
            return  # tar makes no archive of nothing
        with tarfile.open(fileobj=io.BytesIO(base64.b64decode(encoded))) as archive:
            for member in archive:
                target = directory / member.name
                if member.isfile() and target not in databases and ".." not in Path(member.name).parts:
                    target.unlink(missing_ok=True)  # it may share its bytes with the installed engine
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(archive.extractfile(member).read())  # type: ignore[union-attr]

    def acknowledges_to(self) -> str:
        """The port for acknowledgements, as a file of the guest."""
        name = self.run("looking for its ports", f"grep -lx {ACKNOWLEDGEMENTS} /sys/class/virtio-ports/*/name").strip()
        return f"/dev/{Path(name).parent.name}"

    def fetch(self, directory: Path) -> None:
        """Bring here the files of ``directory`` as they are in the guest, in place of those that are here."""
        box = f"dd of={OUTBOX} bs={BLOCK} iflag=fullblock conv=fsync 2>/run/dd"
        script = f"set -e -o pipefail; blockdev --flushbufs {OUTBOX}; cd {_quoted(directory)}; tar -c -f - . | {box}"
        self.run("bringing back the database", script)
        for old in directory.iterdir():
            shutil.rmtree(old) if old.is_dir() else old.unlink()
        with tarfile.open(self._directory / "outbox", mode="r:") as archive:
            archive.extractall(directory, filter="data")

    def kill(self) -> None:
        """Its power fails: QEMU is gone when this returns. A second call does nothing."""
        self._lost = True
        if self._id:
            id, self._id = self._id, ""  # noqa: A001
            self._ledger.end_process(id, self._process)

    def rig(self, program: Path, job: bytes, environment: Mapping[str, str], after: Callable[[], None]) -> GuestRig:
        """Start the rig ``program``, which was carried there, on ``job``; call ``after`` when it has been stopped."""
        variables = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in environment.items())
        self._jobs.send(
            f"cat >/run/job <<'THE-END-OF-THE-JOB'\n{job.decode()}\nTHE-END-OF-THE-JOB\n{variables}"
            f"echo $$ >/run/job.pid\nexec {_quoted(program)} job </run/job\n"
        )
        return GuestRig(self, self._jobs, after)

    def release(self) -> None:
        """End the guest; its files stay until the directory is removed. A second call does nothing."""
        self.kill()
        while self._opened:
            self._opened.pop().close()

    def _copy(self, doing: str, files: Mapping[Path, Path]) -> None:
        """Copy files of this machine into the guest: where they go, and where they are. Links stay links.

        By the second disk: an archive of what is small, then, at whole blocks, what is large; dd is quicker than tar.
        """
        large = {to: file for to, file in files.items() if file.stat(follow_symlinks=False).st_size > BLOCK}
        script = ["set -e", f"blockdev --flushbufs {CRATE}"]
        with (self._directory / "crate").open("r+b") as crate:
            crate.truncate(0)
            with tarfile.open(fileobj=crate, mode="w", format=tarfile.GNU_FORMAT) as archive:
                for to, file in files.items():
                    if to not in large:
                        archive.add(file, str(to), recursive=False)
            # busybox's tar reads on to the end of the device, past that of the archive.
            script.append(f"dd if={CRATE} bs=64k count={-(-crate.tell() >> 16)} 2>/dev/null | tar -xf - -C /")
            for to, file in large.items():
                start, size = -(-crate.tell() // BLOCK), file.stat().st_size
                crate.seek(start * BLOCK)
                with file.open("rb") as source:
                    shutil.copyfileobj(source, crate, BLOCK)
                script.append(f"mkdir -p {_quoted(to.parent)}")
                script.append(f"dd if={CRATE} of={_quoted(to)} bs={BLOCK} skip={start} count={-(-size // BLOCK)}")
                if str(to) != DISK:
                    mode = file.stat().st_mode & 0o777
                    script.append(f"truncate -s {size} {_quoted(to)}; chmod {mode:o} {_quoted(to)}")
            crate.truncate(CRATE_BYTES)
            crate.flush()
            os.fsync(crate.fileno())
        self.run(doing, "\n".join(script))


@dataclass
class GuestRig:
    """The rig at work in a guest."""

    _guest: Guest
    _port: Port
    _after: Callable[[], None]

    def lines(self, silence_s: float) -> Iterator[bytes]:
        """Its events, as they come. Raises CellFailed when the guest ends or says nothing for ``silence_s``."""
        try:
            yield from self._port.lines(silence_s)
        except Gone as error:
            raise self._guest.gone("the rig", error) from None

    def ended(self, limit_s: float) -> tuple[int, str]:
        """Its exit code (below zero: the signal that killed it) and the end of its standard error."""
        for _ in self.lines(limit_s):
            pass
        code = self._port.code or 0
        return (128 - code if code > 128 else code), self._port.complaint

    def stop(self) -> None:
        """End it if it still runs."""
        if self._port.code is None and self._guest.alive:
            self._guest.run("ending the rig", "kill -9 $(cat /run/job.pid) 2>/dev/null || true", 60.0)
            self.ended(60.0)
        if self._guest.alive:
            self._after()


def started(kernel: Kernel, initramfs: Path, hardware: Hardware) -> list[str]:
    """The command of QEMU with what all guests have in common."""
    return [
        QEMU, "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
        "-machine", "q35", "-accel", hardware.accelerator, "-cpu", "max",
        "-smp", str(hardware.cpus), "-m", str(hardware.memory_mb),
        "-kernel", str(kernel.image), "-initrd", str(initramfs),
        "-append", "console=ttyS0 quiet panic=-1 mitigations=off",
    ]  # fmt: skip


def drive(name: str, file: Path) -> list[str]:
    """With cache=none: O_DIRECT, and a flush of the guest is an fdatasync here; the page cache here hides nothing."""
    return ["-drive", f"if=none,id={name},format=raw,cache=none,file={option(file)}"]


def can_run(accelerator: str) -> None:
    """Raise MachineLacks unless this machine can run guests."""
    if shutil.which(QEMU) is None:
        raise MachineLacks(f"a guest needs {QEMU}", "apt-get install qemu-system-x86 (Debian)")
    busybox()
    if accelerator == "kvm" and not os.access("/dev/kvm", os.R_OK | os.W_OK):
        raise MachineLacks("/dev/kvm: not there, or not to be opened", 'say guest_accelerator = "tcg" in [place]')


def qemu_version() -> str:
    """As QEMU says it: "7.2.22 (Debian 1:7.2+dfsg-7+deb12u18)"."""
    output = subprocess.run(
        [QEMU, "--version"], capture_output=True, encoding="utf-8", errors="replace", check=False, timeout=120
    ).stdout
    return output.partition("\n")[0].partition("version ")[2] or "unknown"


def _zeros(path: Path, size_mb: int) -> None:
    """A file with all of its blocks written: a first write must not cost more here than a later one."""
    block = bytes(BLOCK)
    with path.open("xb") as file:
        for _ in range(size_mb):
            file.write(block)
        file.flush()
        os.fsync(file.fileno())


def _module(file: Path) -> str:
    return file.stem.replace("-", "_")


def option(path: Path) -> str:
    """A path as a part of an option of QEMU's."""
    return str(path).replace(",", ",,")  # qemu(1): a comma in an option's value is doubled


def _quoted(path: Path) -> str:
    return shlex.quote(str(path))


def _tail(path: Path) -> str:
    try:
        return path.read_bytes()[-4000:].decode(errors="replace")
    except OSError:
        return ""
