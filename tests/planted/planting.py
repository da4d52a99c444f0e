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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from acidtest.errors import AcidtestError
from acidtest.place import release_leftovers

ROOT = Path(__file__).parents[2]
LIMIT_S, TEST_LIMIT_S = 900, 240  # for the tests of one fault, and for one test; what hangs is ended
HUNG = "the tests had to be ended"
SELECTED = {"fast": "fast", "test": "not long", "long": ""}
COLLECTED, FAILED, NONE_SELECTED = 0, 1, 5  # exit codes of pytest

Failures = dict[str, str]  # test to its extent


class Untried(Exception):
    """A fault could not be planted, or its tests could not be run."""


@dataclass(frozen=True)
class Copy:
    """``tree`` is a worktree of git, at one path from run to run: so Cargo builds again only what has changed."""

    directory: Path
    tree: Path
    workers: int
    is_old: bool  # of a commit that lacks some of the tests

    @contextlib.contextmanager
    def planted(self, patch: Path) -> Iterator[None]:
        """Raises Untried for a patch that does not apply."""
        _git(self.tree, "apply", "--whitespace=nowarn", str(patch))
        changed = [self.tree / name for name in _git(self.tree, "diff", "--name-only").splitlines()]
        try:
            _forget_compiled(changed)
            yield
        finally:
            _git(self.tree, "checkout", "--force", ".")
            _git(self.tree, "clean", "-fdq")
            _forget_compiled(changed)
            self._release()

    def _release(self) -> None:
        """What the tests have left, by the code without the fault; then their files."""
        temporary = self.directory / "t"
        for home, directories, _ in os.walk(temporary):  # which passes over what goes away meanwhile
            if "ledger" not in directories:
                continue
            with (
                mock.patch.dict(os.environ, ACIDTEST_HOME=home),
                contextlib.suppress(AcidtestError, OSError),
            ):
                release_leftovers()
        if str(temporary) not in Path("/proc/self/mounts").read_text():
            shutil.rmtree(temporary, ignore_errors=True)
        shutil.rmtree(self.tree / ".hypothesis", ignore_errors=True)

    def pytest(self, arguments: Sequence[str], extent: str, *options: str, rig: str = "", workers: int = 0) -> Failures:
        """What fails of these tests. Raises Untried when pytest could not run them."""
        (self.directory / "t").mkdir(exist_ok=True)
        told = self.directory / "tests.jsonl"
        told.write_text("")
        environment = {
            "PYTHONPATH": os.pathsep.join(map(str, (self.tree / "src", self.tree, Path(__file__).parent))),
            "PYTEST_DEBUG_TEMPROOT": str(self.directory / "t"),
            "ACIDTEST_TESTS": {"test": "whole"}.get(extent, extent),
            "PLANTED_TESTS": str(told),
        } | ({"ACIDTEST_RIG": rig} if rig else {})  # fmt: skip
        code, output = self._run(
            [
                ".venv/bin/python", "-m", "pytest", "-q", "-p", "noticing", "-p", "no:cacheprovider", "-n", str(workers),
                "--dist", "loadgroup", "--timeout", str(TEST_LIMIT_S), "--hypothesis-seed=0", "-m", SELECTED[extent],
                *options, *arguments,
            ],
            environment,
        )  # fmt: skip
        lines = map(json.loads, told.read_text().splitlines())
        failed = {line["test"]: line["extent"] for line in lines if line["failed"]}
        if code is None:
            return failed or {HUNG: extent}
        if code not in (COLLECTED, FAILED, NONE_SELECTED) and not failed:
            raise Untried(f"pytest ended with {code}: {output[-1500:]}")
        return failed

    def cargo(self, crates: Sequence[str]) -> Failures:
        """What fails of these crates' tests. Raises Untried when they cannot be built."""
        packages = [argument for crate in crates for argument in ("-p", crate)]
        self._build("test", "--no-run", *packages)
        code, output = self._run(["cargo", "test", "--locked", "--no-fail-fast", *packages], self._target())
        lines = [line.split() for line in output.splitlines()]
        failed = {f"cargo {words[1]}": "test" for words in lines if words[:1] == ["test"] and words[-1] == "FAILED"}
        if code and not failed:
            raise Untried(f"cargo test ended with {code}: {output[-1500:]}")
        return failed or ({HUNG: "test"} if code is None else {})

    def rig(self) -> str:
        """Build the rig as it is now. Raises Untried."""
        self._build("build", "-p", "acidtest-rig")
        return str(self.directory / "target" / "debug" / "acidtest-rig")

    def _build(self, *arguments: str) -> None:
        code, output = self._run(["cargo", *arguments, "--locked"], self._target())
        if code != 0:
            raise Untried(f"cargo {arguments[0]} ended with {code}: {output[-1500:]}")

    def _target(self) -> dict[str, str]:
        return {"CARGO_TARGET_DIR": str(self.directory / "target"), "CARGO_TERM_COLOR": "never"}

    def _run(self, command: Sequence[str], environment: dict[str, str]) -> tuple[int | None, str]:
        """The exit code, None after ``LIMIT_S``; whatever still runs has been killed then."""
        with (self.directory / "output").open("w+b") as file:
            process = subprocess.Popen(
                command,
                cwd=self.tree,
                env={**os.environ, **environment},
                stdout=file,
                stderr=file,
                start_new_session=True,
            )
            code: int | None = None
            try:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    code = process.wait(LIMIT_S)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            file.seek(0)
            return code, file.read().decode(errors="replace")


@contextlib.contextmanager
def copied(revision: str, workers: int) -> Iterator[Copy]:
    """A copy of ``revision``, "" for the tree as it is now, that nobody else uses meanwhile. Raises Untried."""
    commit = _git(ROOT, "rev-parse", "--verify", f"{revision}^{{commit}}") if revision else _as_it_is()
    shared = ("rev-parse", "--path-format=absolute", "--git-common-dir")
    for number in range(100):
        directory = Path(tempfile.gettempdir()) / f"planted-{number}"  # short: sockets lie below it
        directory.mkdir(exist_ok=True)
        with (directory / "lock").open("w") as lock, contextlib.suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            tree = directory / "tree"
            if not tree.exists():
                _git(ROOT, "worktree", "prune")
                _git(ROOT, "worktree", "add", "--force", "--detach", str(tree), commit)
                (tree / ".venv").symlink_to((ROOT / ".venv").resolve())
            if _git(tree, *shared) == _git(ROOT, *shared):  # else it is of another clone
                _git(tree, "checkout", "--force", "--detach", commit)
                _git(tree, "clean", "-fdq")
                yield Copy(directory, tree, workers, bool(revision))
                return
    raise Untried("no copy of the tree could be made")


def _as_it_is() -> str:
    """A commit of the tree with what is not committed yet; no branch names it."""
    with tempfile.TemporaryDirectory() as directory:
        who = {f"GIT_{role}_{what}": "planted" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        with mock.patch.dict(os.environ, who, GIT_INDEX_FILE=f"{directory}/index"):
            _git(ROOT, "read-tree", "HEAD")
            _git(ROOT, "add", "--all")
            return _git(ROOT, "commit-tree", _git(ROOT, "write-tree"), "-p", "HEAD", "-m", "The tree as it is")


def _forget_compiled(files: Sequence[Path]) -> None:
    """Python tells a compiled file by seconds and size, which a change within the second need not alter."""
    for file in files:
        for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*.pyc"):
            compiled.unlink()


def _git(where: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=where, check=False, capture_output=True, text=True)
    if done.returncode:
        raise Untried(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout.strip()
