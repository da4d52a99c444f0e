"""A copy of the tree in which faults are planted: tests run there, and nothing of it reaches the tree itself."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from acidtest.errors import AcidtestError
from acidtest.place import release_leftovers

ROOT = Path(__file__).parents[2]
LIMIT_S = 900.0  # for the tests of one fault; one that hangs is ended
TEST_LIMIT_S = 240
SELECTED = {"fast": "fast", "test": "not long", "long": ""}


class Failed(Exception):
    """A fault could not be planted, or its tests could not be run."""


@dataclass(frozen=True)
class Ended:
    """A run of tests."""

    failed: dict[str, str]  # test to its extent
    ended: bool  # it hung, and was ended


@dataclass(frozen=True)
class Copy:
    """``tree`` is a worktree of git, at one path from run to run: so Cargo builds again only what has changed."""

    directory: Path
    tree: Path
    workers: int
    is_old: bool  # of a commit that lacks some of the tests

    @contextlib.contextmanager
    def planted(self, patch: Path) -> Iterator[None]:
        """Raises Failed for a patch that does not apply."""
        done = subprocess.run(
            ["git", "apply", "--whitespace=nowarn", patch], cwd=self.tree, check=False, capture_output=True, text=True
        )
        if done.returncode:
            raise Failed(f"the patch does not apply: {done.stderr.strip()}")
        changed = _git(self.tree, "diff", "--name-only").splitlines()
        try:
            self._forget_compiled(changed)
            yield
        finally:
            _git(self.tree, "checkout", "--force", ".")
            _git(self.tree, "clean", "-fdq")
            self._forget_compiled(changed)
            self._release()

    def _forget_compiled(self, changed: list[str]) -> None:
        """Python tells a compiled file by seconds and size, which a change within the second need not alter."""
        for file in (self.tree / name for name in changed if name.endswith(".py")):
            for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*.pyc"):
                compiled.unlink()

    def _release(self) -> None:
        """What the tests have left, by the code without the fault; then their files."""
        temporary = self.directory / "t"
        for ledgers in temporary.rglob("ledger"):
            with (
                mock.patch.dict(os.environ, ACIDTEST_HOME=str(ledgers.parent)),
                contextlib.suppress(AcidtestError, OSError),
            ):
                release_leftovers()
        if str(temporary) not in Path("/proc/self/mounts").read_text():
            shutil.rmtree(temporary, ignore_errors=True)
        shutil.rmtree(self.tree / ".hypothesis", ignore_errors=True)

    def pytest(
        self, arguments: list[str], extent: str, *, first: bool, rig: Path | None = None, workers: int | None = None
    ) -> Ended:
        """Run tests of this extent, with ``first`` until one has failed. Raises Failed when pytest could not run them."""
        (self.directory / "t").mkdir(exist_ok=True)
        told = self.directory / "tests.jsonl"
        told.write_text("")
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, (self.tree / "src", self.tree, Path(__file__).parent))),
            "PYTEST_DEBUG_TEMPROOT": str(self.directory / "t"),
            "ACIDTEST_TESTS": {"test": "whole"}.get(extent, extent),
            "PLANTED_TESTS": str(told),
            **({"ACIDTEST_RIG": str(rig)} if rig else {}),
        }
        command = [
            ".venv/bin/python", "-m", "pytest", "-q", "-p", "noticing", "-p", "no:cacheprovider", "-n", str(self.workers if workers is None else workers),
            "--dist", "loadgroup", "--timeout", str(TEST_LIMIT_S), "--hypothesis-seed=0", "-m", SELECTED[extent],
            *(["--maxfail=1"] if first else []), *arguments,
        ]  # fmt: skip
        code, output = self._run(command, environment)
        failed = {}
        for line in map(json.loads, told.read_text().splitlines()):
            if line["failed"]:
                failed[line["test"]] = line["extent"]
        if code in (0, 1, 5) or code is None or failed:
            return Ended(failed, ended=code is None)
        raise Failed(f"pytest ended with {code}: {output[-1500:]}")

    def cargo(self, crates: tuple[str, ...]) -> Ended:
        """The tests of these crates. Raises Failed when they cannot be built."""
        packages = [argument for crate in crates for argument in ("-p", crate)]
        self._build(["test", "--no-run", *packages])
        code, output = self._run(["cargo", "test", "--locked", "--no-fail-fast", *packages], self._cargo_environment())
        lines = [line.split() for line in output.splitlines()]
        failed = {f"cargo {words[1]}": "test" for words in lines if words[:1] == ["test"] and words[-1] == "FAILED"}
        if code and not failed:
            raise Failed(f"cargo test ended with {code}: {output[-1500:]}")
        return Ended(failed, ended=code is None)

    def rig(self) -> Path:
        """Build the rig as it is now. Raises Failed."""
        self._build(["build", "-p", "acidtest-rig"])
        return self.directory / "target" / "debug" / "acidtest-rig"

    def _build(self, arguments: list[str]) -> None:
        code, output = self._run(["cargo", *arguments, "--locked"], self._cargo_environment())
        if code != 0:
            raise Failed(f"cargo {arguments[0]} ended with {code}: {output[-1500:]}")

    def _cargo_environment(self) -> dict[str, str]:
        return {**os.environ, "CARGO_TARGET_DIR": str(self.directory / "target"), "CARGO_TERM_COLOR": "never"}

    def _run(self, command: list[str], environment: dict[str, str]) -> tuple[int | None, str]:
        """The exit code, None after ``LIMIT_S``; then all its processes have been killed."""
        with (self.directory / "output").open("w+b") as file:
            process = subprocess.Popen(
                command, cwd=self.tree, env=environment, stdout=file, stderr=subprocess.STDOUT, start_new_session=True
            )
            try:
                code: int | None = process.wait(LIMIT_S)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            file.seek(0)
            return code, file.read().decode(errors="replace")


@contextlib.contextmanager
def copied(revision: str, workers: int) -> Iterator[Copy]:
    """A copy of ``revision``, "" for the tree as it is now, that nobody else uses meanwhile."""
    commit = _git(ROOT, "rev-parse", "--verify", f"{revision}^{{commit}}") if revision else _as_it_is()
    shared = Path(_git(ROOT, "rev-parse", "--path-format=absolute", "--git-common-dir"))
    for number in range(100):
        directory = Path(tempfile.gettempdir()) / f"planted-{number}"  # short: sockets lie below it
        directory.mkdir(exist_ok=True)
        with (directory / "lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue
            tree = directory / "tree"
            if not tree.exists():
                _git(ROOT, "worktree", "prune")
                _git(ROOT, "worktree", "add", "--force", "--detach", str(tree), commit)
                (tree / ".venv").symlink_to((ROOT / ".venv").resolve())
            elif _git(tree, "rev-parse", "--path-format=absolute", "--git-common-dir") != str(shared):
                continue  # of another clone
            _git(tree, "checkout", "--force", "--detach", commit)
            _git(tree, "clean", "-fdq")
            yield Copy(directory, tree, workers, bool(revision))
            return
    raise Failed("no copy of the tree could be made")


def _as_it_is() -> str:
    """A commit of the tree with what is not committed yet; no branch names it."""
    with tempfile.TemporaryDirectory() as directory:
        index = {**os.environ, "GIT_INDEX_FILE": str(Path(directory) / "index")}
        _git(ROOT, "read-tree", "HEAD", environment=index)
        _git(ROOT, "add", "--all", environment=index)
        tree = _git(ROOT, "write-tree", environment=index)
        who = {f"GIT_{role}_{what}": "planted" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        return _git(
            ROOT, "commit-tree", tree, "-p", "HEAD", "-m", "The tree as it is", environment={**os.environ, **who}
        )


def _git(where: Path, *arguments: str, environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(["git", *arguments], cwd=where, env=environment, check=False, capture_output=True, text=True)
    if done.returncode:
        raise Failed(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout.strip()
