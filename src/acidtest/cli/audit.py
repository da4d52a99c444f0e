"""``acidtest audit``: what makes a benchmark wrong, ours or another user's."""

from __future__ import annotations

import json as json_
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from acidtest.cli import complete, streams
from acidtest.cli.options import Json, option
from acidtest.cli.report import opened
from acidtest.errors import BadInput
from acidtest.words import harmless

if TYPE_CHECKING:
    from acidtest.audit.bench import Bench
    from acidtest.finding import Finding, Unchecked

    Audited = tuple[Bench, list[Finding], list[Unchecked]]


def audit(
    path: Annotated[
        Path | None, typer.Argument(help="A directory: a run of acidtest, or anybody's benchmark.", metavar="PATH")
    ] = None,
    except_: Annotated[
        list[str] | None,
        option("--except", "Set a rule's findings aside, with the reason.", "RULE=REASON", complete.rules),
    ] = None,
    rules: Annotated[bool, option("--rules", "List every rule with its source.")] = False,
    json: Json = False,
    init: Annotated[
        bool,
        option("--init", "Write a first benchmark.toml into the directory, which says what it compares."),
    ] = False,
    html: Annotated[
        Path | None,
        option("--html", "Also write a page for readers, with what to run instead.", "FILE"),
    ] = None,
    sarif: Annotated[Path | None, option("--sarif", "Also write them as SARIF, for CI systems.")] = None,
) -> None:
    """Look for what makes a benchmark wrong. Exit code 1: by a finding it is not reliable."""
    from acidtest.audit import findings_output
    from acidtest.audit.rules import rules as all_rules
    from acidtest.cli.suggested_experiment import instead
    from acidtest.finding import check_waivers
    from acidtest.journal import NAMES

    console = Console(stderr=streams.is_taken(json=json, html=html, sarif=sarif), highlight=False)
    if rules:
        findings_output.print_rules(all_rules(), console, json=json)
        return
    if path is None:
        raise BadInput("audit: needs a directory", "acidtest audit PATH; acidtest audit --rules lists the rules")
    waivers = {name.strip(): reason.strip() for name, _, reason in (one.partition("=") for one in except_ or [])}
    check_waivers(waivers, "--except", all_rules() if waivers else ())
    try:
        journals = [path / name for name in NAMES if (path / name).exists()]
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}", "allow reading it") from None
    bench, findings, unchecked = _of_run(journals, waivers) if journals else _of_kit(path, waivers)
    if init:
        if journals:
            raise BadInput(f"{path}: is a run of acidtest, which says what it compares itself", "leave out --init")
        from acidtest.cli import audit_init

        written = audit_init.write(path, bench, findings)
        console.print(f"{written}: says what was understood. Change it, then: acidtest audit {path}", markup=False)
        return
    if sarif is not None:
        from acidtest.audit.sarif import as_sarif

        with streams.written(sarif, "--sarif") as file:
            file.write_text(json_.dumps(as_sarif(bench, findings, unchecked), indent=2), encoding="utf-8")
    run_instead = instead(bench, findings, whole=html is not None) if not journals else None
    if html is not None:
        from acidtest.audit.page import write_page

        with streams.written(html, "--html") as file:
            write_page(path, bench, findings, unchecked, run_instead, file)
    if json:
        print(json_.dumps(findings_output.as_json(bench, findings, unchecked, run_instead), indent=2))
    else:
        findings_output.print_findings(bench, findings, unchecked, console, run_instead)
    if any(finding.severe for finding in findings):
        raise typer.Exit(1)


def _of_run(journals: Sequence[Path], waivers: Mapping[str, str]) -> Audited:
    """Of a run of acidtest, by its journals."""
    from acidtest.audit import own_journal
    from acidtest.audit.bench import Bench
    from acidtest.doubts import judge as doubts
    from acidtest.doubts.unchecked import of_run
    from acidtest.finding import Evidence, in_order, waived
    from acidtest.journal import CUTS, NAME, SEARCH

    held = {file.name: opened(file) for file in journals}
    findings: list[Finding] = []
    broken: list[Evidence] = []
    for name, journal in held.items():
        broken += [Evidence(f"damaged: {line.why}", name, line.line) for line in journal.damaged]
        judged = {NAME: doubts.findings, CUTS: doubts.of_cuts, SEARCH: doubts.of_searches}[name](journal)
        if name != CUTS:
            judged += own_journal.compared(journal) if name == NAME else own_journal.compared_searches(journal)
        findings += waived(judged, {**journal.header.experiment.get("waive", {}), **waivers})
    unchecked = doubts.not_shown(held.get(NAME), held.get(CUTS))
    if SEARCH in held and len(held) == 1:
        unchecked = of_run(doubts.claimed(held[SEARCH]))
    bench = Bench(sides=[], read=[(file.name, "journal") for file in journals], broken=broken)
    return bench, in_order(findings), unchecked


def _of_kit(path: Path, waivers: Mapping[str, str]) -> Audited:
    """Of anybody's benchmark. Raises BadInput where nothing in the directory can be audited."""
    from acidtest.audit import importers, judge, unchecked
    from acidtest.finding import waived

    bench = importers.read(path)
    if not bench.read:
        raise BadInput(
            f"{path}: nothing in it could be audited{_why(bench)}",
            "acidtest help docs/AUDIT.md lists what can be audited",
        )
    return bench, waived(judge.of_bench(bench), waivers), unchecked.unchecked(bench)


def _why(bench: Bench) -> str:
    """What there is instead: broken files, files of an unknown kind, or none at all."""
    said = [f"{one.file} {one.text}" for one in bench.broken] + [
        f"{evidence.file}: {evidence.text}" for evidence in bench.passed
    ]
    if said:
        return f": {harmless(said[0])}" + (f", and {len(said) - 1:,} more" if len(said) > 1 else "")
    names = harmless(", ".join(bench.unread[:3])) + (", …" if len(bench.unread) > 3 else "")
    return f": {names} {'is' if len(bench.unread) == 1 else 'are'} of an unknown kind" if names else ": it is empty"
