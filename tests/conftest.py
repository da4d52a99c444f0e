"""What several suites share: a state directory of the run's own, a ledger, and the engines, installed as a user would."""

from __future__ import annotations

import contextlib
import gc
import os
import shutil
import signal
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import brought
from acidtest.engine import Engine, catalogue
from acidtest.errors import AcidtestError
from acidtest.files import state_directory
from acidtest.place import Ledger, release_leftovers
from acidtest.place.mounts import dead_mounts
from durations import Recorder
from extents import asks_much
from first_mounts import Mounts
from groups import arrange
from support import ENGINES, FAMILIES, one_worker_at_a_time, shared_by_workers

# A machine that is slow or busy is no defect.
settings.register_profile("acidtest", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("acidtest")

STATES = ("state", "popen-*/state", "*/home", "popen-*/*/home")  # below a run of the tests, without workers and with
MOUNTS = pytest.StashKey[Mounts]()
SHARED = ("engines", "guest", "page")  # parts of the state directory that are brought or made once for everybody


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Recorder(config), "durations")
    # Of numpy, before it is imported: its matrices here are small, and threads that wait for each other take processors
    # from the other workers.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    config.stash[MOUNTS] = Mounts()
    # Commands that tests run inherit what is ignored here, as by nohup or in the background of a script, and stay deaf.
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Release what killed runs of the tests left, and name what is left of others and would make tests fail."""
    if not hasattr(session.config, "workerinput"):
        _release_killed_runs(session.config._tmp_path_factory.getbasetemp())  # type: ignore[attr-defined]
        _name_dead_mounts(session.config.pluginmanager.getplugin("terminalreporter"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    _name_dead_mounts(terminalreporter)


def _name_dead_mounts(terminal: pytest.TerminalReporter) -> None:
    for mount in dead_mounts():
        terminal.write_line(f"{mount}. What removes it: {mount.remedy}", red=True)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """What is collected stays: the garbage collector would look through it again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Suites of which ``make test-fast`` runs nothing are not even imported."""
    return True if os.environ.get("ACIDTEST_TESTS") == "fast" and asks_much(collection_path) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    arrange(items)


@pytest.fixture(scope="session", autouse=True)
def state(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A state directory for this worker alone, so that no test meets in a ledger what another one made."""
    base = tmp_path_factory.getbasetemp()
    home, real = base / "state", state_directory()
    home.mkdir()
    for name in SHARED:
        (real / name).mkdir(parents=True, exist_ok=True)
        (home / name).symlink_to(real / name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ACIDTEST_HOME", str(home))
        request.config.pluginmanager.getplugin("durations").begin(base / "costs")
        yield home


def _release_killed_runs(base: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for run in base.parent.glob("pytest-*[0-9]"):
            if not _lives(run):
                for ledgers in [found for at in STATES for found in run.glob(f"{at}/ledger")]:
                    patch.setenv("ACIDTEST_HOME", str(ledgers.parent))
                    with contextlib.suppress(AcidtestError):  # no business of these tests
                        release_leftovers()


def _lives(run: Path) -> bool:
    """Whether the run of the tests still goes on that has this directory: pytest keeps its process id there."""
    try:
        return Path("/proc", (run / ".lock").read_text()).exists()
    except OSError:
        return False


@pytest.fixture(scope="session")
def engines_installed(state: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The engines that tests and shipped experiments run, where they are missing; one that cannot be brought fails the
    tests.

    The one engine of ``make test-fast`` is in the rig.
    """
    if os.environ.get("ACIDTEST_TESTS") == "fast":
        return
    installed = shared_by_workers(tmp_path_factory) / "engines-installed"
    with one_worker_at_a_time(tmp_path_factory, "engines"):
        if not installed.exists():
            home = str((state / "engines").resolve().parent)
            brought.install(env={**os.environ, "ACIDTEST_HOME": home}, capture_output=True, text=True)
            installed.touch()


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    ledger = Ledger()
    yield ledger
    ledger.close()


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest, engines_installed: None) -> Engine:
    """One engine after another: what a contract suite runs over."""
    builds = {name: build for family in FAMILIES.values() for name, build in family.builds.items()}
    return builds[request.param].engine(request.param) if request.param in builds else catalogue.find(request.param)


@pytest.fixture(scope="session")
def sealed(engines_installed: None, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Engine], list[Path]]:
    """The files of an engine's sealed, empty database, made once in a run for all who copy them."""
    shared = shared_by_workers(tmp_path_factory) / "sealed"

    def files(engine: Engine) -> list[Path]:
        directory = shared / engine.id
        made = directory / "made"
        with one_worker_at_a_time(tmp_path_factory, f"sealed-{engine.id}"):
            if not made.exists():
                shutil.rmtree(directory, ignore_errors=True)  # of one that could not be made
                directory.mkdir(parents=True)
                ledger = Ledger()
                instance = engine.create(directory, {})
                try:
                    instance.start(ledger)
                    instance.seal()
                    made.write_text("\n".join(path.name for path in instance.database_files()))
                finally:
                    instance.release()
                    ledger.close()
        return [directory / name for name in made.read_text().splitlines()]

    return files
