"""Containers as files describe them: compose files, Kubernetes manifests, Dockerfiles, ``docker inspect``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from acidtest.audit.bench import Configuration, Database, Mount, Source, Statement, Where
from acidtest.audit.importers import blocks, documents, known, server_commands, volumes
from acidtest.audit.importers.documents import Node
from acidtest.audit.importers.file import Broken, File, Importer
from acidtest.audit.importers.shell import resolved

HINTS = ("mysql", "mariadb", "percona", "postg", "timescale", "pgvector", "citus", "spilo", "firebird")
CONTAINER = re.compile(
    r"^[ \t]{0,80}-?[ \t]{0,20}[\"']?(?:services|image|kind|Image|containers)[\"']?[ \t]{0,20}:"
    r"|\"(?:services|[iI]mage)\"[ ]{0,3}:",
    re.MULTILINE,
)
CONFIGURATION = re.compile(r"(?:.*[./](?:cnf|conf|ini)|.*/conf\.d|.*/mysql\.conf\.d|/etc/.*)/?")
ENV_LINE = re.compile(r"\s*(?:export )?([A-Za-z_]\w{0,60})=(.{0,2000})")
FROM = re.compile(r"\s*FROM\s+(?:--\S+\s+)?(\S{1,200})(?:\s+AS\s+\S+)?\s*", re.IGNORECASE)
ENV_BYTES_MAX = 1 << 16
CLOCK = ("/etc/localtime", "/etc/timezone", "/etc/ssl", "/etc/certs")  # mounted, and no settings
Part = Configuration | Mount | Database | Statement
ASIDE = re.compile(
    r"(?:dev|development|debug|tests?|testing|tools?|admin|monitoring|ci|docs?|examples?)", re.IGNORECASE
)


def _variables(file: File) -> dict[str, str]:
    """What the ``.env`` beside a compose file sets."""
    beside = file.beside(".env")
    if beside is None or beside.size > ENV_BYTES_MAX:
        return {}
    return {m[1]: m[2].strip().strip("\"'") for line in beside.lines if (m := ENV_LINE.fullmatch(line))}


def _words(node: Node | None, held: dict[str, str]) -> list[str]:
    """A command, which is one string or a list."""
    if node is None:
        return []
    if node.text is not None:
        return server_commands.split(resolved(node.text, held))
    return [resolved(one.text, held) for one in node if one.text is not None]


def _environment(node: Node | None, file: File, held: dict[str, str]) -> tuple[dict[str, str], dict[str, Where]]:
    """Variables from a mapping, a list of "NAME=value", or Kubernetes' list of name and value; and where each is."""
    found: dict[str, str] = {}
    places: dict[str, Where] = {}

    def add(name: str, value: str, line: int) -> None:
        found[name], places[name] = resolved(value, held), file.at(line)

    if node is not None:
        for name, held_by in node.mapping().items():
            add(name, held_by.text or "", held_by.line)
        for one in node:
            if one.text is not None:
                name, _, value = one.text.partition("=")
                add(name, value, one.line)
            elif one.says("name"):
                add(one.says("name"), one.says("value"), one.line)
    return found, places


def _compose(root: Node, file: File) -> Iterator[Part]:
    services = root.get("services")
    # Version 1 had no "services": each key is one.
    of = services.mapping() if services is not None else {k: v for k, v in root.mapping().items() if v.says("image")}
    held = _variables(file)
    for name, service in list(of.items())[:500]:
        image = resolved(service.says("image"), held)
        if "\0" in image or not image:
            # Built in the kit, or of a version that is only said elsewhere: its name says what it is.
            image = image.partition(":")[0] if image and "\0" not in image.partition(":")[0] else name
            build = service.get("build")
            if build is None and not service.says("image"):
                continue
        yield from _misplaced(service, image, file, held)
        if server_commands.image(image) is None:
            continue
        environment, places = _environment(service.get("environment"), file, held)
        if _is_aside(service):
            continue
        mounts, reads, elsewhere = _volumes(root, service, file, held)
        elsewhere = elsewhere or any(service.get(key) is not None for key in ("env_file", "extends"))
        told = [*_words(service.get("entrypoint"), held), *_words(service.get("command"), held)]
        command = service.get("command") or service
        where = file.at(command.line)
        parts = server_commands.container(
            image, told, environment, mounts, where, name, places=places, reads=reads, elsewhere=elsewhere
        )
        yield from _placed(parts, service, file)


def _misplaced(service: Node, image: str, file: File, held: dict[str, str]) -> Iterator[Statement]:
    """Volumes of a service that lie beside the data of its image."""
    targets: dict[str, int] = {}
    for one in service.get("volumes") or ():
        if one.text is not None:
            target = resolved(one.text, held).partition(":")[2].partition(":")[0]
        else:
            target = resolved(one.says("target"), held)
        if target.startswith("/"):
            targets[target.rstrip("/") or "/"] = one.line
    environment, _ = _environment(service.get("environment"), file, held)
    words = [*_words(service.get("entrypoint"), held), *_words(service.get("command"), held)]
    for point, place in volumes.beside(image, list(targets), " ".join((*environment, *words))):
        yield Statement(
            file.at(targets.get(point)), "volume-elsewhere", f"a volume at {point}; {image} keeps its data in {place}"
        )


def _is_aside(service: Node) -> bool:
    """Whether it is only started by who asks for a profile of another purpose than to measure."""
    profiles = service.get("profiles")
    named = [one.text or "" for one in profiles or ()]
    return bool(named) and all(ASIDE.fullmatch(one) for one in named)


def _placed(parts: Iterator[Part], node: Node, file: File) -> Iterator[Part]:
    """The parts with each setting of a command in the line where it stands."""
    begin = node.line
    last = _last_line(node)
    lines = file.lines[begin - 1 : min(last + 40, begin + 1000)]
    for part in parts:
        if isinstance(part, Configuration) and part.source == "command line":
            shifted = replace(part, settings=tuple(replace(one, where=file.at(begin)) for one in part.settings))
            yield from server_commands.placed([shifted], lines, begin)
        else:
            yield part


def _last_line(node: Node) -> int:
    return max((below.line for _, below in documents.walk(node)), default=node.line)


def _volumes(root: Node, service: Node, file: File, held: dict[str, str]) -> tuple[list[Mount], list[str], bool]:
    """What is mounted into a service, which files of the kit are its configuration, and whether a configuration is
    mounted that is not in the kit."""
    mounts: list[Mount] = []
    reads: list[str] = []
    elsewhere = False
    tmpfs = service.get("tmpfs")
    for one in (tmpfs if tmpfs.is_list else [tmpfs]) if tmpfs is not None else ():
        if one.text:
            mounts.append(Mount(file.at(one.line), one.text.partition(":")[0], "tmpfs", frozenset()))
    for one in service.get("volumes") or ():
        where = file.at(one.line)
        if one.text is not None:
            text = resolved(one.text, held)
            source, _, target = text.partition(":")
            target = target.partition(":")[0]
            made = list(server_commands.volume(text, where))
        else:
            source, target = resolved(one.says("source"), held), resolved(one.says("target"), held)
            made = [Mount(where, target, one.says("type") or "volume", frozenset())] if target.startswith("/") else []
        if CONFIGURATION.fullmatch(target) and not target.startswith(CLOCK):
            path = server_commands.in_kit(file.name, source)
            reads += _files_of(file, path) if path else []
            elsewhere = elsewhere or not path
            if path:
                continue
        options = root.get("volumes", source, "driver_opts")
        if options is not None and options.says("type") == "tmpfs":
            made = [replace(mount, filesystem="tmpfs") for mount in made]
        mounts += made
    for one in service.get("configs") or ():
        source = one.text if one.text is not None else one.says("source")
        if path := server_commands.in_kit(file.name, root.says("configs", source, "file")):
            reads += _files_of(file, path)
        else:
            elsewhere = elsewhere or root.get("configs", source, "content") is None
    return mounts, reads, elsewhere


def _files_of(file: File, path: str) -> list[str]:
    """The file of that name below the kit, or those in the folder of that name."""
    root = file.path
    for _ in range(file.name.count("/") + 1):
        root = root.parent
    try:
        folder = (root / path).is_dir() and not (root / path).is_symlink()
        return sorted(f"{path}/{one.name}" for one in (root / path).iterdir())[:50] if folder else [path]
    except OSError:
        return []


def _kubernetes(root: Node, file: File, maps: dict[str, Node]) -> Iterator[Part]:
    """The containers of one object, wherever its kind keeps them; a name for each from the object's."""
    named = root.says("metadata", "name")
    for _, node in documents.walk(root):
        containers = node.mapping().get("containers")
        if containers is None or not containers.is_list:
            continue
        volumes_of = {one.says("name"): one for one in node.mapping().get("volumes") or ()}
        for one in containers:
            image = one.says("image")
            if server_commands.image(image) is None:
                continue
            environment, places = _environment(one.get("env"), file, {})
            if place := _ephemeral(one, image, environment, volumes_of):
                text = f"{image} keeps its data in {place}, where no volume is mounted that outlives the pod"
                yield Statement(file.at(one.line), "ephemeral", text)
            mounts, inner = [], []
            elsewhere = one.get("envFrom") is not None
            for mount in one.get("volumeMounts") or ():
                volume = volumes_of.get(mount.says("name"))
                point, where = mount.says("mountPath"), file.at(mount.line)
                if volume is None:
                    mounts.append(Mount(where, point, "volume", frozenset()))  # claimed by a template of the set
                elif volume.says("emptyDir", "medium").lower() == "memory":
                    mounts.append(Mount(where, point, "tmpfs", frozenset()))
                elif volume.get("configMap") is not None:
                    inner.append(volume.says("configMap", "name"))
                else:
                    mounts.append(Mount(where, point, "bind" if volume.get("hostPath") else "volume", frozenset()))
            told = [*_words(one.get("command"), {}), *_words(one.get("args"), {})]
            side = named or one.says("name")
            where = file.at((one.get("args") or one.get("command") or one).line)
            elsewhere = elsewhere or any(name not in maps for name in inner)
            parts = server_commands.container(
                image, told, environment, mounts, where, side, places=places, elsewhere=elsewhere
            )
            yield from _placed(parts, one, file)
            for name in inner:
                if name in maps:
                    yield from _config_map(maps[name], file, side)


def _ephemeral(one: Node, image: str, environment: dict[str, str], of_pod: dict[str, Node]) -> str:
    """Where a container keeps its data, if they go with its pod; "" if they do not, or if that is not known."""
    targets = []
    for mount in one.get("volumeMounts") or ():
        volume = of_pod.get(mount.says("name"))
        empty = volume.get("emptyDir") if volume is not None else None
        if empty is None:
            targets.append(mount.says("mountPath"))
        elif empty.says("medium").lower() == "memory":
            return ""  # in memory, which another rule says
    words = (*_words(one.get("command"), {}), *_words(one.get("args"), {}))
    return volumes.lacking(image, targets, " ".join((*environment, *words)))


def _config_map(root: Node, file: File, side: str) -> Iterator[Configuration]:
    for key, value in (root.get("data") or root).mapping().items():
        if value.text is not None and "\n" in value.text:
            # A block's first line is the one after its key.
            lines, first = value.text.split("\n"), value.line + 1
            for one in blocks.of_lines(lines, file, first, f"{key} {root.says('metadata', 'name')}", source="file"):
                yield replace(one, side=side)


def _inspected(root: Node, file: File) -> Iterator[Part]:
    """``docker inspect``: what containers really ran with."""
    for one in root:
        image = one.says("Config", "Image")
        if not image or server_commands.image(image) is None:
            continue
        environment, places = _environment(one.get("Config", "Env"), file, {})
        mounts = [
            Mount(file.at(node.line), point, "tmpfs", frozenset())
            for point, node in (one.get("HostConfig", "Tmpfs") or one).mapping().items()
            if point.startswith("/")
        ]
        for mount in one.get("Mounts") or ():
            kind, point = mount.says("Type") or "volume", mount.says("Destination")
            if point and not CONFIGURATION.fullmatch(point):
                mounts.append(Mount(file.at(mount.line), point, kind, frozenset()))
        command = one.get("Config", "Cmd") or one
        told = _words(one.get("Config", "Cmd"), {})
        side = one.says("Name").strip("/")
        where = file.at(command.line)
        parts = server_commands.container(image, told, environment, mounts, where, side, places=places)
        yield from _placed(parts, command, file)


def _dockerfile(file: File) -> Iterator[Part]:
    """An image that is made of an engine's: the last stage's command and variables. Whoever starts it is a side, and it
    none of its own; a configuration that is copied in lies in the kit."""
    image = ""
    told: list[str] = []
    environment: dict[str, str] = {}
    places: dict[str, Where] = {}
    line_of_command = 1
    for number, line in enumerate(file.lines[:5000], start=1):
        bare = line.strip()[:4000]
        if match := FROM.fullmatch(bare):
            image, told, environment, line_of_command = match[1], [], {}, number
        elif bare.upper().startswith(("CMD ", "ENTRYPOINT ")):
            text = bare.partition(" ")[2].strip()
            words = re.findall(r'"((?:[^"\\]|\\.){0,1000})"', text) if text[:1] == "[" else server_commands.split(text)
            if bare[:1] in "Cc":
                told = words
                line_of_command = number
        elif bare.upper().startswith("ENV "):
            for word in server_commands.split(bare[4:]):
                key, equals, value = word.partition("=")
                if equals:
                    environment[key], places[key] = value, file.at(number)
    if image:
        where = file.at(line_of_command)
        for part in server_commands.container(image, told, environment, [], where, "", places=places):
            if isinstance(part, Configuration):
                source: Source = "environment" if part.source == "file" else part.source
                yield replace(part, side="", source=source)


def _read(file: File) -> Sequence[Part] | None:
    if file.size > documents.TEXT_MAX or b"\0" in file.head or known.is_prose(file.base):
        return None
    text = file.text
    if not known.holds(file, HINTS):
        return None
    if re.search(r"^FROM\s", text, re.MULTILINE) and ("dockerfile" in file.base or not documents.looks(text)):
        return list(_dockerfile(file)) or None
    if not CONTAINER.search(text) or not documents.looks(text):
        return None
    try:
        roots = documents.of_file(file)
    except Broken:
        return None
    maps = {one.says("metadata", "name"): one for one in roots if one.says("kind") == "ConfigMap"}
    parts: list[Part] = []
    for root in roots:
        if root.says("kind") == "ConfigMap":
            continue
        if root.says("kind") and root.says("apiVersion"):
            for one in root.get("items") or [root]:
                parts += _kubernetes(one, file, maps)
        elif root.is_list:
            parts += _inspected(root, file)
        else:
            parts += _compose(root, file)
    return parts or None


IMPORTER = Importer("containers", _read, beside=True)
