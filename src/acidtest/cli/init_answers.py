"""Reads the answers that ``acidtest init`` needs: from the command line, else from a dialogue, else by default."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from acidtest import experiment
from acidtest.cli import doctor, own_sql
from acidtest.cli.dialogue import Asker, Choice
from acidtest.cli.own_sql import Found
from acidtest.cli.spans import seconds_of
from acidtest.engine import catalogue
from acidtest.engine.base import Offer
from acidtest.errors import BadInput, not_among
from acidtest.experiment.servers import FIRST_SERVER
from acidtest.families import FAMILIES, SERVERS
from acidtest.keys import Scalar
from acidtest.place import drives_mounted, machine_facts, place_facts
from acidtest.place.facts import mounts_now
from acidtest.place.mkfs import can_be_made
from acidtest.question import QUESTIONS, Answers, Chosen, InForce, Question, Storage, StorageKind, parts, toml

Answer = TypeVar("Answer")
TIME = "10m"
ROOM_BYTES = 1_000_000_000  # free on a drive that is offered
DEVICES = "/dev/"
OWN_SQL = next(name for name, question in QUESTIONS.items() if question.of_sql)


@dataclass(frozen=True)
class Given:
    """What the command line says."""

    file: Path | None
    question: str | None
    engines: tuple[str, ...]
    servers: tuple[str, ...]
    storage: tuple[str, ...]
    time: str | None
    force: bool
    sql: tuple[str, ...] = ()
    whole: bool = False  # without levels at which the database may break
    found: tuple[str, ...] = ()  # "page_size=8192"

    def complete(self, *, defaults: bool) -> None:
        """Raise BadInput for what is not said, and cannot be asked; with ``defaults`` only the question has none."""
        wanted = {"--question": self.question is not None}
        asked = QUESTIONS.get(self.question or "")
        if not defaults or (asked and asked.compares_engines):
            wanted["--engine or --server"] = bool(self.engines or self.servers)
        if not defaults and asked and asked.of_sql:
            wanted["--sql"] = bool(self.sql)
        if not defaults:
            wanted["--storage"] = bool(self.storage) or (bool(self.servers) and not self.engines)
            wanted["--time"] = self.time is not None
        if missing := [option for option, said in wanted.items() if not said]:
            raise BadInput(
                f"init: there is no terminal to ask on, and the command does not say {', '.join(missing)}",
                "give it" if defaults else "give them; with --yes all but --question have a default",
            )


def answers(
    given: Given, asker: Asker | None, fits: Callable[[Question, Answers, Found | None], object]
) -> tuple[Question, Answers, Found | None]:
    """The question, all its answers, and the user's SQL of a question about it. Raises BadInput for what the command
    line says wrongly.

    ``fits`` raises BadInput where the time is too short; who is asked for the time is then asked again.
    """
    if given.file is not None:
        free(given.file, force=given.force)
    question = _read(given.question, _question, asker, _ask_question)
    found = _sql(given, question, asker)
    engines = _whole(given, question, _engines(given, question, asker), asker)
    storage = _storages(given, question, engines, asker)
    found_there = in_force(given.found, engines)
    answered = replace(with_storage(agreeing(engines, found_there), storage), found=found_there)
    if found is not None:
        answered = replace(answered, sql=found.named(given.file or Path(answered.file)))

    def timed(text: str) -> Answers:
        return replace(answered, seconds=seconds_of(text), time=text.strip())

    def fitting(text: str) -> Answers:
        fits(question, timed(text), found)
        return timed(text)

    answered = _read(given.time, timed, asker, lambda asker: _ask_time(asker, fitting), TIME)
    file = given.file or _file(question, asker, force=given.force)
    sql = found.named(file) if found is not None else None
    return question, replace(answered, file=str(file), name=_name(file), sql=sql), found


def with_storage(engines: tuple[Chosen, ...], storage: Storage) -> Answers:
    """What is known when these two are."""
    parent = Path(storage.paths[0]) if storage.paths else Path()
    return Answers(
        engines=engines,
        storage=storage,
        filesystems=_usual_first(can_be_made(), parent),
        memory_bytes=machine_facts().memory_bytes,
        free_bytes=place_facts(parent).free_bytes,
    )


def free(file: Path, *, force: bool) -> None:
    """Raise BadInput where ``file`` cannot be written, or is there and not to be overwritten."""
    if file.is_dir():
        raise BadInput(f"{file}: is a directory", "name a file (.toml)")
    if not file.parent.is_dir():
        raise BadInput(f"{file}: {file.parent} is no directory", "make it first, or name another file")
    if file.exists() and not force:
        raise BadInput(f"{file}: is there already", "name another file, or give --force to overwrite it")
    if not _name(file):
        raise BadInput(f"{file}: gives the experiment no name", "name it with letters and digits: my-disk.toml")


def _read(
    given: str | None,
    read: Callable[[str], Answer],
    asker: Asker | None,
    ask: Callable[[Asker], Answer],
    default: str = "",
) -> Answer:
    if given is not None or asker is None:
        return read(default if given is None else given)
    return ask(asker)


def _single(read: Callable[[str], Answer]) -> Callable[[list[str]], Answer]:
    def one(words: list[str]) -> Answer:
        if len(words) > 1:
            raise BadInput(f"{', '.join(words)}: only one can be the answer", "give one")
        return read(words[0])

    return one


# ------------------------------------------------------------------------------------------------- question and time


def _question(word: str) -> Question:
    if word not in QUESTIONS:
        raise BadInput(not_among("--question", word, QUESTIONS))
    return QUESTIONS[word]


def _ask_question(asker: Asker) -> Question:
    # What doctor finds out about the means of a question.
    means = {"file-system": doctor.loop_places, "growth": doctor.memory_limit, "power-cut": doctor.simulated_disk}
    choices = []
    for name, question in QUESTIONS.items():
        found = means[name]() if name in means else {"state": "ok"}
        lack = "" if found["state"] == "ok" else f"\nnot yet: {found['detail']} → {found['remedy']}"
        beside = f" ({question.elsewhere})" if question.elsewhere else ""
        choices.append(Choice(name, f"{question.asks}{beside}{lack}"))
    return asker.ask("What is to be found out?", _single(_question), choices=choices)


def _sql(given: Given, question: Question, asker: Asker | None) -> Found | None:
    if given.sql and not question.takes_sql:
        questions = " or ".join(name for name, other in QUESTIONS.items() if other.takes_sql)
        raise BadInput(f"--sql: {question.name} {question.no_sql}", f"--question {questions}")
    if not given.sql and not question.of_sql:
        return None
    if given.sql or asker is None:
        return own_sql.read(given.sql or [own_sql.FOLDER])
    hint = "A folder of SQL, or files of it with commas, as scripts of pgbench's. One that is not there is written."
    return asker.ask("Which SQL?", own_sql.read, default=own_sql.FOLDER, hint=hint)


def _ask_time(asker: Asker, read: Callable[[str], Answer]) -> Answer:
    hint = "More time gives more repetitions, longer measurements and more levels."
    return asker.ask("How long may it take?", _single(read), default=TIME, hint=hint)


# ------------------------------------------------------------------------------------------------------------- engines


def _engines(given: Given, question: Question, asker: Asker | None) -> tuple[Chosen, ...]:
    def read(words: Sequence[str]) -> tuple[Chosen, ...]:
        engines = chosen(words)
        question.check_engines(engines)
        return engines

    if given.engines or given.servers:
        return read([*given.engines, *given.servers])
    offers = sorted(catalogue.offers(), key=lambda offer: offer.lack() is not None)  # stable: those that are here first
    # Of two that are compared, only the user knows which.
    default = "" if question.compares_engines else offers[0].id
    if asker is None:
        return read([default])
    choices = [Choice(offer.id, _state(offer)) for offer in offers]
    hint = "One or more, with commas."
    if not question.no_servers:
        hint += f" Or a server of yours: {' or '.join(f'{name}://USER@HOST:PORT/DATABASE' for name in SERVERS)}"
    beside = "Which ones? The others are held against the first."
    heading = beside if question.compares_engines else "On which engine?"
    return asker.ask(heading, read, choices=choices, default=default, hint=hint)


def _whole(given: Given, question: Question, engines: tuple[Chosen, ...], asker: Asker | None) -> tuple[Chosen, ...]:
    """The engines with the levels that are wanted: some lose the last commits, others may break the database."""
    breaking = parts.breaking(engines)
    if not question.of_levels or not breaking:
        return engines

    def read(word: str) -> tuple[Chosen, ...]:
        if word not in ("yes", "no"):
            raise BadInput(f"{word}: is neither yes nor no", "give one of the two")
        if word == "yes":
            return engines
        kept = tuple(map(parts.whole, engines))
        if all(len(engine.levels) < 2 for engine in kept):
            raise BadInput(
                "without them each engine has one level left, and nothing is compared",
                "leave --whole out, or answer yes",
            )
        return kept

    if given.whole or asker is None or (given.storage and given.time):  # who has said all else is asked nothing
        return read("no" if given.whole else "yes")
    levels = "; ".join(f"{level}: {', '.join(ids)}" for level, ids in breaking.items())
    choices = [Choice("yes", f"all levels; the database may break at {levels}"), Choice("no", "leave these out")]
    return asker.ask(
        "Also levels at which a power cut may break the database, not only lose commits?",
        _single(read), choices=choices, default="yes",
    )  # fmt: skip


def _state(offer: Offer) -> str:
    if lack := offer.lack():
        return f"{offer.version}, {lack[0]} → {lack[1]}"
    return f"{offer.version or 'built in'}, ready"


def agreeing(engines: tuple[Chosen, ...], found: InForce | None) -> tuple[Chosen, ...]:
    """The engines with those levels alone that do not contradict the settings that are in force."""
    if found is None or len(engines) > 1:
        return engines
    engine = catalogue.describe(engines[0].id)
    levels = []
    for level in engines[0].levels:
        with suppress(BadInput):
            engine.durability(level, found.settings)
            levels.append(level)
    return (replace(engines[0], levels=tuple(levels)),)


def in_force(words: Sequence[str], engines: Sequence[Chosen]) -> InForce | None:
    """What ``--found`` says is in force on the database in question."""
    level, settings = "drive", dict[str, Scalar]()
    if not words:
        return None
    if engines[0].url:
        raise BadInput("--found: these are settings of an engine that acidtest starts", "name one as --engine")
    all_specs = catalogue.describe(engines[0].id).setting_specs()
    specs = {name: spec for name, spec in all_specs.items() if not spec.by_level}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals:
            raise BadInput(f"--found {word}: says no value", "write NAME=VALUE, as in page_size=8192")
        if name == "durability":
            if text not in engines[0].levels:
                raise BadInput(not_among("--found durability", text, engines[0].levels))
            level = text
            continue
        if name not in specs:
            raise BadInput(not_among("--found", name, ["durability", *specs]))
        value: Scalar = int(text) if text.isdecimal() else {"true": True, "false": False}.get(text, text)
        if complaint := specs[name].complaint(value):
            raise BadInput(f"--found {word}: must be {complaint}")
        settings[name] = value
    return InForce(settings, level)


def chosen(words: Sequence[str]) -> tuple[Chosen, ...]:
    """Ids of engines, and URLs of servers. Raises BadInput."""
    urls = [word for word in words if "://" in word]
    names = [FIRST_SERVER if number == 1 else f"{FIRST_SERVER}_{number}" for number in range(1, len(urls) + 1)]
    servers = {url: _server(name, url) for name, url in zip(names, urls, strict=True)}
    return tuple(servers[word] if word in servers else _engine(word) for word in dict.fromkeys(words))


def _engine(id: str) -> Chosen:  # noqa: A002
    engine = catalogue.describe(id)
    key = FAMILIES[engine.family].page_size
    page = engine.setting_specs().get(key) if key else None
    sizes = [size for size in (page.allowed or ()) if isinstance(size, int)] if page else []
    usual = page.default if page and isinstance(page.default, int) else 8192
    return Chosen(id, engine.family, engine.durability_levels(), tuple(sizes), usual, engine.on_raw_device)


def _server(name: str, url: str) -> Chosen:
    """A server by URL, which the reader of experiments must accept; its password is left out."""
    bare = without_password(url)
    text = (
        f'name = "x"\nengine = "{name}"\ndurability = "drive"\n[workload.commits]\ncount = 1\n[servers.{name}]\nurl = '
    )
    read = experiment.parse(text + toml(bare), "--server")
    return Chosen(name, read.servers[name].family, url=bare)


def without_password(url: str) -> str:
    """The URL as it may stand in a file."""
    before, at, _ = url.partition("://")[2].partition("/")[0].rpartition("@")
    user = before.partition(":")[0]
    return url.replace(f"{before}@", f"{user}@", 1) if at else url


# ------------------------------------------------------------------------------------------------------------- storage


def _storages(given: Given, question: Question, engines: tuple[Chosen, ...], asker: Asker | None) -> Storage:
    def read(words: Sequence[str]) -> Storage:
        storage = _storage(question, words)
        question.check_storage(with_storage(engines, storage))
        return storage

    if all(engine.url for engine in engines) and not given.storage:
        return Storage("directory")  # the servers have it
    if given.storage:
        return read(given.storage)
    if asker is None:
        return Storage(question.storages[0])
    choices = _offered(question)
    hint = "Or the path of a directory, or a device (/dev/X) that may be overwritten."
    if question.compares_directories:
        hint += " Several directories, with commas, are compared with each other."
    hint += " An image may lie elsewhere: loop, /mnt/data"
    one = len(question.storages) == 1
    return asker.ask("On which storage?", read, choices=choices, default=choices[0].word, hint="" if one else hint)


def _offered(question: Question) -> list[Choice]:
    """What can be named, as far as it is here."""
    made = doctor.file_systems()
    loop = f"an image file, with a file system made for each cell: {made['detail']}"
    loop += f" → {made['remedy']}" if made["remedy"] else ""
    offered: dict[StorageKind, list[Choice]] = {
        "directory": _directories(),
        "loop": [Choice("loop", f"{loop}{_not_yet(doctor.loop_places())}")],
        "disk": [Choice("disk", f"a simulated disk of known timing{_not_yet(doctor.simulated_disk())}")],
        "device": [],  # which nobody is offered unasked
    }
    return [choice for kind in question.storages for choice in offered[kind]]


def _directories() -> list[Choice]:
    here = place_facts(Path())
    facts = [(".", here), *((found.path, found) for found in drives_mounted(ROOM_BYTES) if found.device != here.device)]
    return [
        Choice(
            word,
            f"{one.filesystem} on {one.device}, {one.free_bytes / 1e9:,.0f} GB free"
            + (", memory: flushes cost nothing there" if one.in_memory else ""),
        )
        for word, one in facts
    ]


def _not_yet(found: doctor.Finding) -> str:
    return "" if found["state"] == "ok" else f"; not yet: {found['detail']} → {found['remedy']}"


def _storage(question: Question, words: Sequence[str]) -> Storage:
    """A kind, a device or directories; an image or a simulated disk may lie in a directory. Raises BadInput."""
    kinds = [word for word in words if word in ("loop", "disk")]
    devices = [word for word in words if word.startswith(DEVICES) and not Path(word).is_dir()]
    paths = tuple(_directory(word) for word in words if word not in (*kinds, *devices))
    if len(kinds) + len(devices) > 1 or (devices and paths):
        raise BadInput(f"--storage {', '.join(words)}: only one can be the answer", "give one")
    if devices:
        return Storage("device", device=_device(devices[0]))
    kind: StorageKind = "loop" if kinds == ["loop"] else "disk" if kinds else "directory"
    beside = str(Path.cwd())  # where the results go, and databases that have no path
    return Storage(kind, () if paths == (beside,) and not question.compares_directories else paths)


def _directory(word: str) -> str:
    path = Path(word).expanduser()
    if not path.is_dir():
        raise BadInput(f"--storage {word}: is no directory", "name one that is there, loop, disk, or a device (/dev/X)")
    if not os.access(path, os.W_OK | os.X_OK):
        raise BadInput(f"--storage {word}: may not be written to", "name another directory, or run this as root")
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise BadInput(
            f"--storage {word!r}: its name is not UTF-8, as a file of TOML must be", "name another"
        ) from None
    return str(path.resolve())


def _device(word: str) -> str:
    try:
        if stat.S_ISBLK(Path(word).stat().st_mode):
            return word
    except OSError:
        pass
    raise BadInput(f"--storage {word}: is not a block device", "name one as lsblk lists it, or a directory")


def _usual_first(filesystems: Sequence[str], parent: Path) -> tuple[str, ...]:
    """Those that this machine uses first, and of these the one that is beneath ``parent``."""
    used = [place_facts(parent).filesystem, *(mount.filesystem for mount in mounts_now())]
    newest_first = list(reversed(filesystems))
    return tuple(sorted(newest_first, key=lambda name: used.index(name) if name in used else len(used)))


# ---------------------------------------------------------------------------------------------------------------- file


def _file(question: Question, asker: Asker | None, *, force: bool) -> Path:
    def read(word: str) -> Path:
        free(Path(word), force=force)
        return Path(word)

    default = f"{question.name}.toml"
    return read(default) if asker is None else asker.ask("Into which file?", _single(read), default=default)


def _name(file: Path) -> str:
    """An experiment's name after its file's."""
    return re.sub(r"[^a-z0-9_-]+", "-", file.stem.lower()).strip("-_")[:64]
