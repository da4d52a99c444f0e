"""The rig's layers: which crate may use which, as import-linter says it for the lab (pyproject.toml)."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import pytest

CHECKOUT = Path(__file__).parents[2]
RIG = CHECKOUT / "rig"

# A crate, the crates of ours that it uses, and why it uses no others.
ARROWS: dict[str, tuple[set[str], str]] = {
    "protocol": (set(), "what the lab and the rig exchange stands below all that either does"),
    "measure": ({"protocol"}, "clock and histograms serve every measurement, so they know of none"),
    "transaction": ({"measure", "protocol"}, "the contract knows nobody who keeps it: no engine, no workload, no terminal"),
    "fuzzing": (set(), "texts are changed the same for every reader"),
    "language": ({"fuzzing"}, "a script is read the same for every engine and without one; its tests are fuzzed"),
    "wire-mysql": ({"transaction"}, "bytes in, bytes out: a codec is tested without a server, and reused without our session"),
    "wire-postgres": ({"transaction"}, "as wire-mysql"),
    "session": (
        {"protocol", "transaction", "wire-mysql", "wire-postgres"},
        "an engine is the same to every workload: a session that knew one could favour it",
    ),
    "workload": (
        {"language", "measure", "protocol", "transaction"},
        "a workload runs on every engine and under every pacing, so it knows no session and no terminal; a log that is "
        "replayed has times of statements, which are measured as all are",
    ),
    "terminal": (
        {"measure", "protocol", "transaction"},
        "what is measured must not depend on which workload or engine is measured",
    ),
    "disk": (
        {"fuzzing", "measure", "protocol"},
        "others use the simulated disk without our sessions, workloads and terminals; its tests are fuzzed",
    ),
    "observe": ({"measure", "protocol"}, "it watches from another process, and its findings hold for any program"),
    "probe": ({"measure", "protocol"}, "it asks the device alone: an engine in it would be one more thing to explain"),
    "pages": ({"protocol"}, "bytes in, figures out: no engine is asked, for an engine would write"),
    "acidtest-rig": (
        {
            "disk", "measure", "observe", "pages", "probe", "protocol", "session", "terminal", "transaction", "workload",
        },
        "only the command knows all of them; codecs are its sessions' own affair",
    ),
}  # fmt: skip


def packages() -> dict[str, dict[str, Any]]:
    asked = ["cargo", "metadata", "--no-deps", "--locked", "--offline", "--format-version", "1"]
    answered = subprocess.run(asked, cwd=CHECKOUT, capture_output=True, text=True, check=True, timeout=120).stdout
    return {package["name"]: package for package in json.loads(answered)["packages"]}


PACKAGES = packages()


def test_every_crate_has_its_rule() -> None:
    assert set(PACKAGES) == set(ARROWS)


@pytest.mark.parametrize("name", sorted(ARROWS))
def test_a_crate_uses_those_below_it_only(name: str) -> None:
    """In tests and build scripts too: a test that needs a higher crate belongs there."""
    used = {dependency["name"] for dependency in PACKAGES[name]["dependencies"] if "path" in dependency}
    allowed, reason = ARROWS[name]
    assert used == allowed, f"{name} uses {sorted(used)} of ours, its rule says {sorted(allowed)}: {reason}"


@pytest.mark.parametrize("name", ["wire-mysql", "wire-postgres"])
def test_a_codec_touches_nothing_outside_its_memory(name: str) -> None:
    """No crate that reaches the system, and nothing of the standard library that does."""
    foreign = {each["name"] for each in PACKAGES[name]["dependencies"] if "path" not in each and each["kind"] != "dev"}
    assert foreign <= {"bytes", "curve25519-dalek", "fallible-iterator", "postgres-protocol", "sha1", "sha2"}
    for source in (RIG / name / "src").rglob("*.rs"):
        assert not re.search(r"\bstd::(net|fs|os|process|thread|env|time)\b|\bunsafe\b", source.read_text()), source


def test_every_crate_keeps_the_common_lints() -> None:
    """``undocumented_unsafe_blocks`` among them, which is denied in the workspace's manifest."""
    workspace = tomllib.loads((CHECKOUT / "Cargo.toml").read_text())["workspace"]
    assert workspace["lints"]["clippy"]["undocumented_unsafe_blocks"] == "deny"
    manifests = [Path(package["manifest_path"]) for package in PACKAGES.values()]
    assert [path for path in manifests if tomllib.loads(path.read_text()).get("lints") != {"workspace": True}] == []


def test_no_crate_passes_on_all_of_another() -> None:
    """What a crate offers is listed by name, so that the cut between two crates can be read."""
    sources = [source for source in RIG.glob("*/src/**/*.rs") if re.search(r"pub use .*\*", source.read_text())]
    assert sources == []


TESTS, COMMENTS = re.compile(r"#\[cfg\(test\)\]\n(?:pub )?mod tests \{"), re.compile(r"//[^\n]*")
PATH = re.compile(r"\b(crate|super|self)(?=::)((?:::\w+)*)(?:::\{([^;]*)\})?")


def uses(source: str) -> set[tuple[str, ...]]:
    """The paths that a file names by ``crate``, ``super`` or ``self``, its tests apart."""
    source = COMMENTS.sub("", TESTS.split(source)[0])
    found = set()
    for first, rest, group in PATH.findall(source):
        names = re.findall(r"\w+", re.sub(r"\{.*?\}", "", group)) or [""]
        found |= {(first, *rest.split("::")[1:], *filter(None, [name])) for name in names}
    return found


def imports(crate: Path) -> dict[Path, set[Path]]:
    """Which files of a crate take something from which. A file of a folder may use its folder's ``mod.rs``."""
    root = crate / "lib.rs" if (crate / "lib.rs").exists() else crate / "main.rs"
    modules: dict[tuple[str, ...], Path] = {(): root}
    for file in crate.rglob("*.rs"):
        path = file.relative_to(crate).with_suffix("").parts
        if path not in (("lib",), ("main",), ("tests",)):
            modules[path[:-1] if path[-1] == "mod" else path] = file
    offered = {
        name: (module,)
        for module, names in re.findall(r"pub use (\w+)::(\{[^}]*\}|\w+);", root.read_text())
        for name in re.findall(r"\w+", names)
    }
    taken: dict[Path, set[Path]] = {file: set() for file in modules.values()}
    for module, file in modules.items():
        for first, *rest in uses(file.read_text()):
            at = {"crate": (), "self": module, "super": module[:-1]}[first]
            up = sum(name == "super" for name in rest)
            path = (*at[: len(at) - up], *rest[up:])
            if path[:1] not in modules:
                path = offered.get("".join(path[:1]), path)
            while path not in modules:
                path = path[:-1]
            if path != module and (path == () or module[: len(path)] != path):
                taken[file].add(modules[path])
    own = re.sub(r"pub use [^;]*;", "", COMMENTS.sub("", TESTS.split(root.read_text())[0]))
    taken[root] |= {
        file for path, file in modules.items() if len(path) == 1 and re.search(rf"(?<![\w:]){path[0]}::", own)
    }
    return taken


@pytest.mark.parametrize("name", sorted(ARROWS))
def test_the_files_of_a_crate_use_one_another_in_one_direction(name: str) -> None:
    crate = Path(PACKAGES[name]["manifest_path"]).parent / "src"
    TopologicalSorter(imports(crate)).prepare()  # CycleError names the circle
