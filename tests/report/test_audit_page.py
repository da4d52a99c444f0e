"""The page of an audit, and the experiment that it offers instead."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace

import pytest
from playwright.sync_api import Browser, Page
from rich.console import Console

from acidtest import experiment, question
from acidtest.audit import findings_output, importers, judge
from acidtest.audit import unchecked as kit
from acidtest.audit.bench import Bench, Claim, Declared, Published, Setting, Side, Where
from acidtest.audit.page import write_page
from acidtest.cli.suggested_experiment import QUESTIONS, instead
from acidtest.finding import in_order, waived
from pages import opened, turned, unreadable

LONG = "a_word_" * 40
README = f"""# Two engines on an NVMe drive

PostgreSQL is 2 times faster than MySQL. It reaches 12,345 tps.
MySQL is <b>slower</b> in {LONG} by 40%, and PostgreSQL beats it.
The best of 5 runs is shown.
"""
FILES = {
    "README.md": README,
    "my/my.cnf": "[mysqld]\ninnodb_flush_log_at_trx_commit = 2\ninnodb_buffer_pool_size = 8G\n",
    "pg/postgresql.conf": f"shared_buffers = 8GB\nfsync = on\nautovacuum = off\nlog_line_prefix = '{LONG}'\n",
    "pg/pgbench.txt": "transaction type: <builtin: TPC-B (sort of)>\nscaling factor: 100\nquery mode: simple\n"
    "number of clients: 8\nnumber of threads: 2\nduration: 600 s\nnumber of transactions actually processed: 7407000\n"
    "latency average = 0.648 ms\ntps = 12345.000000 (without initial connection time)\n",
    "my/sysbench.txt": "sysbench 1.0.20 (using bundled LuaJIT 2.1.0)\n\nRunning the test with following options:\n"
    "Number of threads: 8\n\nSQL statistics:\n    transactions:                        3703500 (6172.50 per sec.)\n\n"
    "General statistics:\n    total time:                          600.0 s\n",
    "benchmark.toml": '[[claim]]\nsides = ["postgresql", "mysql"]\nis = "faster"\nby = 2\n'
    'text = "PostgreSQL is <b>twice</b> as fast."\n',
    "</script><b>.bin": "\0",
}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    root = tmp_path_factory.mktemp("audited") / "kit"
    for name, text in FILES.items():
        file = root / name.replace("</script>", "script")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return importers.read(root)


@pytest.fixture(scope="module")
def page(browser: Browser, bench: Bench, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    directory = tmp_path_factory.mktemp("page")
    findings = waived(judge.of_bench(bench), {"autovacuum-off": "on <purpose>"})
    write_page(
        directory / "kit",
        bench,
        findings,
        kit.unchecked(bench),
        instead(bench, findings, whole=True),
        directory / "audit.html",
    )
    page, trouble = opened(browser, directory / "audit.html", plots=False)
    yield page
    page.context.close()
    assert trouble == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 420])
def test_it_can_be_read(page: Page, width: int, scheme: str) -> None:
    turned(page, width, scheme)
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert unreadable(page) == []


def test_it_says_what_is_claimed_and_what_was_found(page: Page) -> None:
    claimed, found = page.locator("section.group").nth(0), page.locator("section.group").nth(1)
    assert "cannot tell" in claimed.inner_text() and "<b>twice</b> as fast" in claimed.inner_text()
    assert found.locator("article h3").first.inner_text().startswith("invalid")
    assert "durability-differs" in found.inner_text()
    assert "It would be disproved by" in found.inner_text()
    assert "file system and its options\tnot recorded" in page.locator("main").inner_text()


def test_marks_of_other_people_stay_words(page: Page) -> None:
    assert page.locator("main b").count() == 0
    assert "on <purpose>" in page.locator("main").inner_text()


def test_links_lead_to_findings(page: Page) -> None:
    targets = page.eval_on_selector_all("a[href^='#']", "all => all.map(one => one.getAttribute('href'))")
    assert all(page.locator(target).count() == 1 for target in targets)


def test_what_it_offers_instead_is_an_experiment(bench: Bench) -> None:
    offered = instead(bench, [], whole=True)
    assert offered is not None
    read = experiment.parse(offered.text, "offered")
    assert offered.command.startswith("acidtest init fair.toml --question build")
    assert read.name == "fair"


@pytest.mark.parametrize(
    ("sides", "words"),
    [
        (
            (Side("a", "postgresql", "17.2"), Side("b", "postgresql", "16.1")),
            "build --engine postgresql-17,postgresql-16",
        ),
        ((Side("a", "firebird", "2.5.9"), Side("b", "firebird", "4.0.0")), "durability --engine firebird-4.0"),
        ((Side("a", "mysql", "8.4.2"), Side("b", "mariadb", "10.11.2")), "--engine mariadb-10.11 --server mysql://"),
        ((Side("a", "mysql", "8.0.36"), Side("b", "mariadb", "10.11.2")), "build --engine mysql-8.0,mariadb-10.11"),
        ((Side("a", "sqlite"),), "durability --engine sqlite"),
    ],
)
def test_what_is_offered(sides: tuple[Side, ...], words: str) -> None:
    offered = instead(Bench(sides), [], whole=False)
    assert offered is not None
    assert words in offered.command


@pytest.mark.parametrize(("varies", "question"), [("", "highest-rate"), ("durability", "durability")])
def test_a_claim_of_one_engine_is_answered_by_its_own_question(varies: str, question: str) -> None:
    where = Where("benchmark.toml")
    declared = Declared(
        where, varies=(Setting(varies, "", where),) * bool(varies), claims=(Claim(where, ("a", "b"), "faster"),)
    )
    sides = (Side("a", "postgresql", "15.18"), Side("b", "postgresql", "15.18"))
    offered = instead(Bench(sides, factors=frozenset({varies}), declared=declared), [], whole=False)
    assert offered is not None
    assert f"--question {question} --engine postgresql-15" in offered.command


@pytest.mark.parametrize("sides", [(), (Side("pg", "postgresql"),)])
def test_what_is_offered_has_the_version_that_results_print(sides: tuple[Side, ...]) -> None:
    run = Published(
        Where("run.out", 3), "pgbench", "run", rate=100.0, engine="postgresql", parameters={"version": "15.18"}
    )
    for results, engine in (
        ([run], "postgresql-15"),
        ([run, replace(run, parameters={"version": "16.4"})], "postgresql-1"),
    ):
        offered = instead(Bench(sides, published=results), [], whole=False)
        assert offered is not None and f"--engine {engine}" in offered.command


def test_nothing_is_offered_where_no_engine_is_known() -> None:
    assert instead(Bench([Side("a")]), [], whole=True) is None


def test_the_terminal_begins_with_the_claims(bench: Bench) -> None:
    output = io.StringIO()
    findings = in_order(judge.of_bench(bench))
    findings_output.print_findings(
        bench, findings, [], Console(file=output, width=100), instead(bench, findings, whole=False)
    )
    text = output.getvalue()
    assert text.startswith("cannot tell  PostgreSQL is <b>twice</b> as fast.\n")
    assert text.count("durability-differs\n") == 1
    assert "acidtest init fair.toml" in text


def test_json_has_each_claim(bench: Bench) -> None:
    told = findings_output.as_json(bench, judge.of_bench(bench), [], instead(bench, [], whole=False))
    (first,) = told["claims"]
    assert (first["file"], first["line"], first["verdict"]) == ("benchmark.toml", 1, "cannot tell")
    assert {"what": "kernel", "how": "not recorded"} in told["disclosed"]
    assert told["instead"]["command"].startswith("acidtest init")


def test_its_questions_are_those_of_init() -> None:
    assert set(QUESTIONS) <= set(question.QUESTIONS)
