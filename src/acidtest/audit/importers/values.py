"""Settings as values of something else: of Ansible, Helm or an operator, of a benchmark tool's own file, of
a program. By the engines' names for them: nothing else says what these are."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from acidtest import settings
from acidtest.audit.bench import Configuration, EngineName, Setting
from acidtest.audit.importers import blocks, known, shell, trees
from acidtest.audit.importers.file import Broken, File, Importer
from acidtest.audit.importers.trees import Node
from acidtest.formats import linear

# Files that ``configurations`` or ``markdown`` reads, and what only shows something.
CONFIGURATIONS = linear.compile(r".*\.(?:conf|cnf|ini)(?:[.-].*)?|(?:.*\.)?(?:csv|tsv|svg|html?|ipynb|lock|txt)")
UNITS = {"kb": "kB", "mb": "MB", "gb": "GB", "sec": "s", "min": "min", "ms": "ms"}  # at the end of a name
NAMED = ("option", "variable", "parameter", "name", "ParameterName", "setting", "key", "parameter_name")
VALUED = ("value", "ParameterValue", "parameter_value", "val")
SCRIPTS = frozenset(("shell", "cmd", "command", "script", "run", "ExecStart", "raw", "inline", "user_data", "content"))
# Who connects and where to, and nothing of how the engine works.
ACCESS = frozenset(
    ("port", "user", "socket", "datadir", "basedir", "version", "ssl", "data_directory", "encoding", "flush")
)
LITERAL = r"(?:-?\d[\w.]{0,30}|on|off|true|false|[A-Za-z][A-Za-z_-]{1,30})"
ENTRY = linear.compile(
    r"\s*(?:[\w.]{1,40}\.)?[\"'`]?(--)?([A-Za-z][\w-]{2,63})[\"'`]?\s{0,40}(?:=>|[:=])\s{0,40}"
    rf"(?:[\"']({LITERAL}(?: ?[kKMGT]?B)?)[\"']|({LITERAL}))\s{{0,9}}[,;]?\s{{0,40}}(?:(?:#|//|--).*)?",
    linear.I,
)
IN_STRING = linear.compile(
    rf"[\"'](?:--)?([A-Za-z][\w-]{{2,63}})\s?=\s?({LITERAL}(?: ?[kKMGT]?B)?)(?:\\n)?[\"']", linear.I
)
OPTION = linear.compile(rf"[\"']-c[\"']\s?,\s?[\"']([a-z_]{{2,63}})=({LITERAL})[\"']", linear.I)
LINE_MAX = 2000


Groups = dict[EngineName, list[Setting]]


def _setting(key: str, value: str, file: File, line: int) -> Setting:
    """A variable as a setting: "postgres_max_wal_size_gb: 96" is max_wal_size = 96GB."""
    name, unit = known.stripped(key)
    value = f"{value}{UNITS[unit]}" if unit and re.fullmatch(r"\d{1,12}", value) else value
    return Setting(name, value, file.at(line), key if key != name else "")


def _sort(entries: Sequence[Setting], said: EngineName | None, groups: Groups) -> None:
    """Into ``groups`` by whose settings these are: all known ones beside one that only that engine has, or under a key
    that says the engine those that matter."""
    votes = Counter(engine for entry in entries if (engine := known.owner(entry.name)))
    if votes:
        engine = votes.most_common(1)[0][0]
        groups[engine] += [entry for entry in entries if known.has(engine, entry.name) and entry.name not in ACCESS]
    elif said is not None:
        groups[said] += [entry for entry in entries if entry.name in settings.of(said).known]


def _usable(value: str | None) -> bool:
    return bool(value) and not re.search(r"[\0{}$\n]|__template__|<[a-z]", value or "") and len(value or "") < 300


def _of_trees(roots: Sequence[Node], file: File) -> Iterator[Configuration]:
    composed = any(root.get("services") is not None for root in roots)
    for root in roots:
        resource = root.says("kind") if root.says("apiVersion") else ""
        side = root.says("metadata", "name") if resource not in ("", "ConfigMap", "Secret") else ""
        groups: Groups = defaultdict(list)
        for path, node in trees.walk(root):
            if composed and path[:1] == ("services",):
                continue
            said = next((engine for key in reversed(path) if (engine := known.called(key))), known.called(file.name))
            _sort(_of_node(node, file), said, groups)
            for text in _in_texts(node, file, plain=not composed and not resource):
                yield replace(text, side=side) if side and not text.side else text
        version = root.says("spec", "postgresql", "version") if side else ""
        for one in _made(groups, file, list(root.pairs)[:100]):
            yield replace(one, side=side, version=version)


def _made(groups: Groups, file: File, names: Sequence[str] = ()) -> Iterator[Configuration]:
    for engine, found in groups.items():
        if kept := undisputed(found):
            named = known.of_family(engine, file.name, *names)
            yield Configuration(kept[0].where, named, "values", kept, source="environment", whole=False)


def undisputed(found: Iterable[Setting]) -> tuple[Setting, ...]:
    """Those that one file sets to one value. Of others, which are for several cases, nobody can say which holds."""
    values: dict[str, set[str]] = defaultdict(set)
    kept: dict[str, Setting] = {}
    for setting in found:
        values[setting.name].add(settings.alike(setting.value))
        kept.setdefault(setting.name, setting)
    return tuple(one for name, one in kept.items() if len(values[name]) == 1)


def _of_node(node: Node, file: File) -> list[Setting]:
    """Settings among a mapping's pairs, and in a sequence of mappings with a name and a value each."""
    found = [
        _setting(key, held.text.strip(), file, held.line)
        for key, held in node.pairs.items()
        if held.text is not None and _usable(held.text) and len(key) < 80
    ]
    for one in node if node.is_list else [node]:
        name = next((text for key in NAMED if (text := one.says(key))), "")
        value = next((held for key in VALUED if (held := one.get(key)) is not None), None)
        if name and len(name) < 80 and value is not None and value.text is not None and _usable(value.text):
            found.append(Setting(known.spelled(name), value.text.strip(), file.at(value.line), name))
    return found


def _in_texts(node: Node, file: File, *, plain: bool) -> Iterator[Configuration]:
    """Configurations in a text of several lines, and commands where a key says that it is run."""
    for name, value in node.pairs.items():
        text = value.text
        if text is None or len(text) < 6 or not ("=" in text or "\n" in text):
            continue
        lines = text.split("\n")
        first = value.line + (len(lines) > 1)  # a block begins in the line after its key
        if name in SCRIPTS and plain and shell.PROGRAM.search(text):
            yield from (part for part in shell.of_lines(lines, file, first) if isinstance(part, Configuration))
        elif known.mentioned(text):
            for line in blocks.of_lines(lines, file, first, context=f"{name} {file.name}"):
                # Of folded lines, or a quoted text with "\\n", no line is known better than the first.
                known_lines = all((setting.where.line or 0) <= len(file.lines) for setting in line.settings)
                where = file.at(value.line)
                placed = tuple(replace(setting, where=where) for setting in line.settings)
                yield line if known_lines else replace(line, settings=placed)


def _of_lines(file: File) -> Iterator[Configuration]:
    """Settings in a program or in another tool's own file: "name: value" in lines that follow each other, or within
    a string."""
    groups: Groups = defaultdict(list)
    run: list[Setting] = []
    strings: list[Setting] = []
    for number, line in enumerate((*file.lines, "end"), start=1):
        head = line[:LINE_MAX]
        bare = head.strip()
        if not bare or bare.startswith(("#", ";", "//", "--", "*", "/*")):
            continue
        if match := ENTRY.fullmatch(head):
            run.append(_setting(match[2], match[3] or match[4], file, number))
        else:
            _sort(run, None, groups)
            run = []
            for match in IN_STRING.finditer(head) if "=" in head else ():
                strings.append(Setting(known.spelled(match[1]), match[2], file.at(number), match[1]))
            for match in OPTION.finditer(head) if "=" in head else ():
                if known.has("postgresql", match[1]) and not known.owner(match[1]):
                    groups["postgresql"].append(Setting(match[1].lower(), match[2], file.at(number)))
    _sort(strings, None, groups)
    yield from _made(groups, file)


def _read(file: File) -> Sequence[Configuration] | None:
    if file.size > trees.TEXT_MAX or b"\0" in file.head or known.is_prose(file.base):
        return None
    if CONFIGURATIONS.fullmatch(file.base) or not file.once(known.mentioned_in):
        return None
    if file.base.endswith((".yml", ".yaml", ".json", ".tpl")) or (trees.looks(file.text) and ": " in file.text[:4096]):
        try:
            return list(_of_trees(trees.of_file(file), file)) or None
        except Broken:
            pass  # no YAML: what its lines say
    return list(_of_lines(file)) or None


IMPORTER = Importer("values", _read, beside=True)
