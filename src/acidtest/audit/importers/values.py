"""Settings as values of something else: of Ansible, Helm, an operator or Terraform, of a benchmark tool's own file, of
a program. By the engines' names for them: nothing else says what these are."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from acidtest import settings
from acidtest.audit.bench import Configuration, EngineName, Setting
from acidtest.audit.importers import blocks, documents, known, shell
from acidtest.audit.importers.documents import Node
from acidtest.audit.importers.file import Broken, File, Importer

# Files that ``configurations`` or ``markdown`` reads, and what only shows something.
CONFIGURATIONS = re.compile(r".*\.(?:conf|cnf|ini)(?:[.-].*)?|(?:.*\.)?(?:csv|tsv|svg|html?|ipynb|lock|txt)")
UNITS = {"kb": "kB", "mb": "MB", "gb": "GB", "sec": "s", "min": "min", "ms": "ms"}
NAMED = ("option", "variable", "parameter", "name", "ParameterName", "setting", "key", "parameter_name")
VALUED = ("value", "ParameterValue", "parameter_value", "val")
SCRIPTS = frozenset(("shell", "cmd", "command", "script", "run", "ExecStart", "raw", "inline", "user_data", "content"))
# Who connects and where to, and nothing of how the engine works.
ACCESS = frozenset(
    ("port", "user", "socket", "datadir", "basedir", "version", "ssl", "data_directory", "encoding", "flush")
)
LITERAL = r"(?:-?\d[\w.]{0,30}|on|off|true|false|[A-Za-z][A-Za-z_-]{1,30})"
ENTRY = re.compile(
    r"\s*(?:[\w.]{1,40}\.)?[\"'`]?(--)?([A-Za-z][\w-]{2,63})[\"'`]?\s{0,40}(?:=>|[:=])\s{0,40}"
    rf"(?:[\"']({LITERAL}(?: ?[kKMGT]?B)?)[\"']|({LITERAL}))\s{{0,9}}[,;]?\s{{0,40}}(?:(?:#|//|--).*)?",
    re.IGNORECASE,
)
IN_STRING = re.compile(
    rf"[\"'](?:--)?([A-Za-z][\w-]{{2,63}})\s?=\s?({LITERAL}(?: ?[kKMGT]?B)?)(?:\\n)?[\"']", re.IGNORECASE
)
OPTION = re.compile(rf"[\"']-c[\"']\s?,\s?[\"']([a-z_]{{2,63}})=({LITERAL})[\"']", re.IGNORECASE)
TERRAFORM_NAME = re.compile(r"\s*name\s{0,20}[=:]\s{0,20}\"([a-z_]{3,63})\"\s*+(?:,\s*+)?")
TERRAFORM_VALUE = re.compile(r"\s*value\s{0,20}[=:]\s{0,20}\"?([^\"\s]{1,100})\"?\s*+(?:,\s*+)?")
LINE_MAX = 2000


def _plain(name: str, value: str) -> tuple[str, str]:
    """A variable's name and value as a setting's: "postgres_max_wal_size_gb: 96" is max_wal_size = 96GB."""
    low, unit = known.stripped(name)
    return low, f"{value}{UNITS[unit]}" if unit and re.fullmatch(r"\d{1,12}", value) else value


Entry = tuple[str, str, int, str]  # name, value, line, name as written


def _chosen(entries: Sequence[Entry], said: EngineName | None) -> tuple[EngineName | None, list[Entry]]:
    """Whose settings these are, and which of them: all known ones beside one that only that engine has, or under a key
    that says the engine those that matter."""
    votes: dict[EngineName, int] = defaultdict(int)
    for name, _, _, _ in entries:
        if engine := known.owner(name):
            votes[engine] += 1
    if votes:
        engine = max(votes, key=votes.__getitem__)
        mine = [one for one in entries if known.has(engine, one[0]) and one[0] not in ACCESS]
        return engine, mine
    if said is None:
        return None, []
    of = settings.of(said).known
    return said, [one for one in entries if one[0] in of]


def _usable(value: str) -> bool:
    return bool(value) and not re.search(r"[\0{}$]|__template__|<[a-z]", value) and len(value) < 300


def _of_trees(roots: Sequence[Node], file: File) -> Iterator[Configuration]:
    composed = any(one.get("services") is not None for one in roots)
    has_containers = any("containers" in node.mapping() for root in roots for _, node in documents.walk(root))
    for root in roots:
        resource = root.says("kind") if root.says("apiVersion") else ""
        side = root.says("metadata", "name") if resource not in ("", "ConfigMap", "Secret") else ""
        if resource == "ConfigMap" and has_containers:
            continue  # ``containers`` knows into which of them it goes
        groups: dict[EngineName, list[Setting]] = defaultdict(list)
        for path, node in documents.walk(root):
            if composed and path[:1] == ("services",):
                continue
            said = next((engine for key in reversed(path) if (engine := known.called(key))), None)
            said = said or known.called(file.name)
            for engine, entry in _of_node(node, said):
                name, value, line, written = entry
                groups[engine].append(Setting(name, value, file.at(line), written if written != name else ""))
            for one in _in_texts(node, file, plain=not composed and not resource):
                yield replace(one, side=side) if side and not one.side else one
        for engine, found in groups.items():
            kept = undisputed(found)
            if kept:
                named = known.of_family(engine, file.name, *_keys(root))
                version = root.says("spec", "postgresql", "version") if side else ""
                yield Configuration(
                    kept[0].where, named, "values", kept, source="environment", side=side, version=version, whole=False
                )


def _keys(root: Node) -> list[str]:
    return list(root.mapping())[:100]


def undisputed(found: Iterable[Setting]) -> tuple[Setting, ...]:
    """Those that one file sets to one value. Of others, which are for several cases, nobody can say which holds."""
    values: dict[str, set[str]] = defaultdict(set)
    kept: dict[str, Setting] = {}
    for one in found:
        values[one.name].add(settings.alike(one.value))
        kept.setdefault(one.name, one)
    return tuple(one for name, one in kept.items() if len(values[name]) == 1)


def _of_node(node: Node, said: EngineName | None) -> Iterator[tuple[EngineName, Entry]]:
    """Settings among a mapping's pairs, and in a sequence of mappings with a name and a value each."""
    entries: list[Entry] = []
    for key, held in node.mapping().items():
        if held.text is not None and _usable(held.text) and len(key) < 80 and "\n" not in held.text:
            name, plain = _plain(key, held.text.strip())
            entries.append((name, plain, held.line, key))
    for one in node if node.is_list else [node]:
        name = next((text for key in NAMED if (text := one.says(key))), "")
        value = next((found for key in VALUED if (found := one.get(key)) is not None), None)
        if name and len(name) < 80 and value is not None and value.text is not None and _usable(value.text):
            entries.append((known.spelled(name), value.text.strip(), value.line, name))
    engine, chosen = _chosen(entries, said)
    if engine is not None:
        for entry in chosen:
            yield engine, entry


def _in_texts(node: Node, file: File, *, plain: bool) -> Iterator[Configuration]:
    """Configurations in a text of several lines, and commands where a key says that it is run."""
    last = len(file.lines)
    for name, value in node.mapping().items():
        text = value.text
        if text is None or len(text) < 6 or not ("=" in text or "\n" in text):
            continue
        lines = text.split("\n")
        # A block begins in the line after its key.
        first = value.line + 1 if len(lines) > 1 else value.line
        if name in SCRIPTS and plain and shell.PROGRAM.search(text):
            for part in shell.of_lines(lines, file, first):
                if isinstance(part, Configuration):
                    yield part
        elif known.mentioned(text):
            for one in blocks.of_lines(lines, file, first, context=f"{name} {file.name}"):
                if all(setting.where.line is not None and setting.where.line <= last for setting in one.settings):
                    yield one
                else:  # folded lines, or a quoted text with "\\n": the line is not known better than this
                    where = file.at(value.line)
                    yield replace(one, settings=tuple(replace(setting, where=where) for setting in one.settings))


def _of_lines(lines: Sequence[str], file: File) -> Iterator[Configuration]:
    """Settings in a program or in another tool's own file: "name: value" in lines that follow each other, or within
    a string."""
    groups: dict[EngineName, list[Setting]] = defaultdict(list)
    said = known.called(file.name)
    run: list[Entry] = []
    strings: list[Entry] = []
    waits: tuple[str, int] | None = None

    def end() -> None:
        if run:
            engine, chosen = _chosen(run, None)
            if engine is not None:
                for name, value, line, written in chosen:
                    groups[engine].append(Setting(name, value, file.at(line), written if written != name else ""))
            run.clear()

    for number, line in enumerate(lines, start=1):
        head = line[:LINE_MAX]
        bare = head.strip()
        if not bare or bare[0] in "#;" or bare.startswith(("//", "--", "*", "/*")):
            continue
        if waits and number - waits[1] > 3:
            waits = None
        if match := TERRAFORM_NAME.fullmatch(head):
            waits = (match[1], number) if known.owner(match[1]) or (said and known.has(said, match[1])) else None
        elif waits and (match := TERRAFORM_VALUE.fullmatch(head)):
            if (engine := known.owner(waits[0]) or said) and _usable(match[1]):
                groups[engine].append(Setting(waits[0], match[1], file.at(number)))
            waits = None
        elif match := ENTRY.fullmatch(head):
            name, value = _plain(match[2], match[3] or match[4])
            run.append((name, value, number, match[2]))
        else:
            end()
            if "=" not in head:
                continue
            strings += [(known.spelled(m[1]), m[2], number, m[1]) for m in IN_STRING.finditer(head)]
            for match in OPTION.finditer(head):
                if known.has("postgresql", match[1]) and not known.owner(match[1]):
                    groups["postgresql"].append(Setting(match[1].lower(), match[2], file.at(number)))
    end()
    engine, chosen = _chosen(strings, None)
    if engine is not None:
        for name, value, at, written in chosen:
            groups[engine].append(Setting(name, value, file.at(at), written if written != name else ""))
    for engine, found in groups.items():
        if kept := undisputed(found):
            named = known.of_family(engine, file.name)
            yield Configuration(kept[0].where, named, "values", kept, source="environment", whole=False)


def _read(file: File) -> Sequence[Configuration] | None:
    if file.size > documents.TEXT_MAX or b"\0" in file.head or known.is_prose(file.base):
        return None
    if CONFIGURATIONS.fullmatch(file.base) or not file.once(known.mentioned_in):
        return None
    if file.base.endswith((".yml", ".yaml", ".json", ".tpl")) or (
        documents.looks(file.text) and ": " in file.text[:4096]
    ):
        try:
            return list(_of_trees(documents.of_file(file), file)) or None
        except Broken:
            pass  # no YAML: what its lines say
    return list(_of_lines(file.lines, file)) or None


IMPORTER = Importer("values", _read, beside=True)
