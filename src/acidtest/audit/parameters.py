"""Numbers that texts tell of a run, held against those of scripts, configurations, results and other texts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from acidtest.audit.bench import Bench, Statement
from acidtest.audit.said import and_more
from acidtest.finding import Found
from acidtest.formats import linear

VALUES_MAX = 3  # that scripts give one key; more are varied
DEFAULT = "default "
# What every run has once: a script that has another number of these is another run's, or the text is wrong.
OF_ALL = frozenset(("runs", "warm-up", "iterations warm-up", "iterations"))
DOCUMENTS = ("doc", "docs", "documentation")

OF_RESULTS = linear.compile(
    r"(?:^|[/_.-])(?:results?|outputs?|exports?|runs?|raw|data)[/_.-].*\.(?:json|ya?ml|toml)$", linear.I
)

Told = Mapping[str, list[Statement]]
Pair = tuple[Statement, list[Statement]]  # what a text tells, and all that others have instead


def against_results(bench: Bench) -> Iterator[Found]:
    """Numbers of texts of which all results of the kit that tell it have another."""
    yield from _found(bench, of_results=True)


def contradicted(bench: Bench) -> Iterator[Found]:
    """Numbers of texts of which all scripts and configurations have another, or else other texts."""
    yield from _found(bench, of_results=False)


def _found(bench: Bench, *, of_results: bool) -> Iterator[Found]:
    """One finding for each text."""
    told = _by_key(bench.said("parameter told"))
    results = _by_key([one for one in bench.said("parameter") if OF_RESULTS.search(one.where.file)])
    scripts = _by_key([one for one in bench.said("parameter") if not OF_RESULTS.search(one.where.file)])
    # What results tell of how they were made counts before what a script would do today.
    held = results if of_results else {key: of for key, of in scripts.items() if key not in results}
    by_file: dict[str, list[Pair]] = defaultdict(list)
    sure: set[str] = set()
    for key, said in told.items():
        by_text: dict[str, list[Statement]] = defaultdict(list)
        for one in said:
            by_text[one.where.file].append(one)
        for file, of in by_text.items():
            own = [one for one in held.get(key.removeprefix(DEFAULT), ()) if _is_about(file, one.where.file)]
            texts = [one for one in said if one.where.file != file and _is_about(file, one.where.file)]
            others = own or ([] if of_results or key in results else texts)
            if _apart(of, others):
                by_file[file].append((of[0], others))
                if own and (key.startswith(DEFAULT) or key in OF_ALL):
                    sure.add(file)
    for file, pairs in by_file.items():
        one, others = pairs[0]
        more = and_more(len(pairs) - 1, "number", after=" like it")
        text = f"{file} has “{one.text}”, and {others[0].where.file} “{others[0].text}”{more}."
        evidence = [said.where.says(said.text) for first, of in pairs for said in (first, *of)]
        yield Found(text, tuple(dict.fromkeys(evidence)), "read from prose", noted=file not in sure)


def _by_key(said: Sequence[Statement]) -> Told:
    found: dict[str, list[Statement]] = defaultdict(list)
    for one in said:
        found[one.machine].append(one)
    return found


def _apart(told: Sequence[Statement], others: Sequence[Statement]) -> bool:
    """Whether both are single numbers, or a few, and have none in common."""
    mine, theirs = ({one.value for one in of} for of in (told, others))
    return bool(mine and theirs) and None not in mine | theirs and len(theirs) <= VALUES_MAX and not mine & theirs


def _is_about(text: str, other: str) -> bool:
    """Whether a text may tell of a file: it lies in its folder or above it; or in a folder of documents beside it."""
    folder = text.rpartition("/")[0]
    while folder.rpartition("/")[2].lower() in DOCUMENTS:
        folder = folder.rpartition("/")[0]
    return not folder or other.startswith(f"{folder}/")
